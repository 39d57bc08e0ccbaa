"""FP8 for MI300 and back: weights stay in their layout, their codes and scales become those of the other formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...spec.formats import Format
from ..schemes.fnuz import FN, FNUZ

__all__ = ["CHANGES", "CodeChange"]


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A change of the formats of codes, in any layout; scales change by the same factor the other way.

    Attributes
    ----------
    name, summary : str
        Its name, and in a line what is written.
    layout, readers : str
        The layout that is written; the engines that read it.
    formats : mapping
        Which format becomes which.
    doubles : bool
        Whether scales are doubled, those of a layer's inputs too: codes reach half as far. Else scales of inputs stay,
        which reach farther then.
    """

    name: str
    summary: str
    layout: str
    readers: str
    formats: Mapping[Format, Format]
    doubles: bool


LAYOUT = "as it was"

CHANGES = (
    CodeChange("fnuz", "FP8 of MI300 from that of OCP, scales doubled", LAYOUT, "what computes on MI300", FNUZ, True),
    CodeChange("fn", "FP8 of OCP from that of MI300, scales halved", LAYOUT, "vLLM, SGLang, transformers", FN, False),
)
