"""The questions of the start page: choices, the right one, why, and a link that shows it; tests compute the answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from lowprec.spec.formats import FLOAT8_E4M3FN

from ...shared.format_facts import binade_sentence

__all__ = ["QUESTIONS", "UNANSWERED", "Question", "verdict"]

UNANSWERED = "none"
"""The state of a question without an answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its choices and the index of the right one, why that is so, and the page that shows it."""

    name: str
    text: str
    choices: tuple[str, ...]
    right: int
    why: str
    path: str
    query: dict[str, str] = field(default_factory=dict)


QUESTIONS: tuple[Question, ...] = (
    Question(
        "values",
        "How many values of float8_e4m3fn are there from 1 up to, but not including, 2?",
        ("3", "7", "8", "16"),
        2,
        binade_sentence(FLOAT8_E4M3FN),
        "anatomy",
        {"fmt": "float8_e4m3fn", "at": "1"},
    ),
    Question(
        "inf",
        "What does Cast without saturate make of 1e6 in float8_e5m2?",
        ("57344, the largest value", "Inf", "NaN"),
        1,
        "float8_e5m2 has codes for Inf. float8_e4m3fn has none and gives NaN.",
        "rounding",
        {"x": "1e6", "fmt": "float8_e5m2", "saturate": "0"},
    ),
    Question(
        "wrap",
        "What does Cast make of 300.0 in int8?",
        ("127", "44", "NaN"),
        1,
        "Integers wrap: 300 modulo 256 is 44. saturate concerns floats alone.",
        "rounding",
        {"x": "300", "fmt": "int8"},
    ),
    Question(
        "sum",
        "4096 ones are added one after the other in bfloat16. What is the sum?",
        ("4096", "256", "Inf"),
        1,
        "From 256 up the values of bfloat16 are 2 apart: 256 + 1 is a tie, which goes back to 256.",
        "arithmetic",
    ),
    Question(
        "byte",
        "Which byte do the int4 codes 0x1, 0xF make?",
        ("0x1F", "0xF1"),
        1,
        "The first code takes the low bits.",
        "conversion",
        {"packed": "int4", "codes": "0x1 0xF"},
    ),
)


def verdict(question: Question, answer: str) -> bool | None:
    """Return whether an answer of the state is right; None where there is none."""
    return None if answer == UNANSWERED else answer == str(question.right)
