"""Many mutants of C and Cython in one build: each stands next to the text it replaces, and a variable chooses.

`a < b` becomes `(lowprec_mutant == 17 ? (a <= b) : (a < b))` in C, and the same as a conditional expression in Cython.
"""

from __future__ import annotations

import bisect
import re
from pathlib import Path
from typing import NamedTuple

from .mutant import Mutant
from .native_mutants import Token, is_cython, tokens_of

VARIABLE = "lowprec_mutant"
HEADER = f"""/* The number of the mutant in use, from the environment, when a module is loaded. */
#include <stdlib.h>
int {VARIABLE}; /* found by its name where a process chooses another (native_processes.py) */
__attribute__((constructor)) static void {VARIABLE}_chosen(void) {{
    const char *number = getenv("LOWPREC_MUTANT");
    {VARIABLE} = number ? atoi(number) : 0;
}}
"""
DECLARATION = f"cdef extern from * nogil:\n    int {VARIABLE}\n"

_ASSIGNMENT = re.compile(r"(?:[-+*/%&|^]|//|<<|>>)?=\Z")
_CONSTANT_ARGUMENTS = re.compile(r"_mm|_MM|LP_|__builtin|[A-Z][A-Z0-9_]+\Z")
_C_ENDS = {";", "{", "}", ",", "?", ":", "return", "else", "do", "case"}
_CYTHON_ENDS = {",", ":", "return", "if", "elif", "else", "for", "while", "raise", "yield", "lambda", "assert", "with"}


class Place(NamedTuple):
    """The expression that holds a change."""

    start: int
    end: int


def _matching(tokens: list[Token], at: int, step: int) -> int:
    depth = 0
    while 0 <= at < len(tokens):
        depth += (tokens[at].text in ("(", "[", "{")) - (tokens[at].text in (")", "]", "}"))
        if depth == 0:
            return at
        at += step
    return at


def _ends(tokens: list[Token], at: int, cython: bool) -> bool:
    token = tokens[at]
    if token.kind == "line" or _ASSIGNMENT.match(token.text):
        return True
    if cython and token.text == "in":  # of a loop, not of a comparison
        return any(before.text == "for" for before in tokens[max(0, at - 6) : at])
    return token.kind != "text" and token.text in (_CYTHON_ENDS if cython else _C_ENDS)


def _constant_call(tokens: list[Token], at: int) -> int | None:
    """Return where the call begins whose arguments hold a place, if it is one of an intrinsic or of a macro."""
    while at > 0 and tokens[at].text not in (";", "{", "}", "["):
        if tokens[at].text == "(":
            return at - 1 if _CONSTANT_ARGUMENTS.match(tokens[at - 1].text) else None
        at = _matching(tokens, at, -1) - 1 if tokens[at].text in (")", "]") else at - 1
    return None


def expression_around(tokens: list[Token], first: int, last: int, cython: bool) -> Place | None:
    """Return the whole expression around some tokens, whose value may be chosen while the program runs.

    The arguments of intrinsics and of macros may have to be constants: the expression is the one around the call.
    """
    call = None if cython else _constant_call(tokens, first - 1)
    if call is not None:
        return expression_around(tokens, call, _matching(tokens, call + 1, 1), cython)
    at = first - 1
    while at >= 0 and not _ends(tokens, at, cython) and tokens[at].text not in ("(", "[", "{"):
        if tokens[at].text in (")", "]"):
            opening = _matching(tokens, at, -1)
            if not cython and tokens[opening - 1].text in ("if", "for", "while", "switch"):
                break
            at = opening
        at -= 1
    start = at + 1
    at = last + 1
    while at < len(tokens) and not _ends(tokens, at, cython) and tokens[at].text not in (")", "]", "}"):
        at = _matching(tokens, at, 1) + 1 if tokens[at].text in ("(", "[", "{") else at + 1
    if at == len(tokens) or start > first or at <= last or (tokens[at].kind != "line" and "=" in tokens[at].text):
        return None
    return Place(tokens[start].start, tokens[at - 1].end)


def places(text: str, mutants: list[Mutant], cython: bool) -> dict[Mutant, Place]:
    """Return the expression of each mutant; those that have none, or one that overlaps an earlier, are left out."""
    tokens = tokens_of(text, cython)
    starts = [token.start for token in tokens]
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    found: dict[Mutant, Place] = {}
    for mutant in mutants:
        start = offsets[mutant.line - 1] + mutant.column
        first = bisect.bisect_left(starts, start)
        last = bisect.bisect_left(starts, start + len(mutant.before.rstrip())) - 1
        place = expression_around(tokens, first, last, cython)
        if place is None or place.start > start or place.end < start + len(mutant.before.rstrip()):
            continue
        if all(place == other or place.end <= other.start or other.end <= place.start for other in found.values()):
            found[mutant] = place
    return found


def text_with_choices(text: str, numbers: dict[Mutant, int], cython: bool) -> str:
    """Return the text of a file in which the variable chooses between the mutants, by their numbers."""
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    by_place: dict[Place, list[Mutant]] = {}
    for mutant, place in places(text, list(numbers), cython).items():
        by_place.setdefault(place, []).append(mutant)
    for place in sorted(by_place, reverse=True):
        whole = text[place.start : place.end]
        chosen = f"({whole})"
        for mutant in by_place[place]:
            start = offsets[mutant.line - 1] + mutant.column - place.start
            changed = whole[:start] + mutant.after + whole[start + len(mutant.before) :]
            test = f"{VARIABLE} == {numbers[mutant]}"
            chosen = f"(({changed}) if {test} else {chosen})" if cython else f"({test} ? ({changed}) : {chosen})"
        text = text[: place.start] + chosen + text[place.end :]
    return text


def write_choices(root: Path, numbers: dict[Mutant, int]) -> None:
    """Write the choices into the files of a copy of the repository."""
    for name in sorted({mutant.path for mutant in numbers}):
        path = root / name
        text = path.read_text(encoding="utf-8")
        own = {mutant: number for mutant, number in numbers.items() if mutant.path == name}
        path.write_text(text_with_choices(text, own, is_cython(path)), encoding="utf-8")
