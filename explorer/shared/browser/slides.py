"""The Streamlit component of slides: steps in large type that fill the window, gone through by keys without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..svg import Drawing
from . import _component

__all__ = ["Slide", "slides"]

_SLIDES = _component("slides")


@dataclass(frozen=True, slots=True)
class Slide:
    """Where the slide is (words, then the name of a format), its sentence, what comes next, its drawing."""

    place: str
    format: str
    sentence: str
    following: str
    drawing: Drawing


def slides(
    rows: Sequence[Slide], *, start: int, leave: str, keys: Mapping[str, tuple[str, int, int]], problem: str = ""
) -> None:
    """Show slides, counted from 1; `leave` is the address that Esc opens, `problem` a sentence below.

    A key of `keys` goes to the second of its slides, and from that to the first; its word says what it changes.
    """
    _SLIDES(
        key="slides",
        data=[{
            "slides": [
                {"place": row.place, "format": row.format, "sentence": row.sentence, "following": row.following,
                 "svg": str(row.drawing)}
                for row in rows
            ],
            "start": start,
            "leave": leave,
            "keys": {key: list(change) for key, change in keys.items()},
            "problem": problem,
        }],
    )  # fmt: skip
