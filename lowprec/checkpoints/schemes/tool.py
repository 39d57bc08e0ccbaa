"""The arithmetic of one tool that quantizes weights: its rules for scales and codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spec.formats import Format
from .scheme import Scheme

__all__ = ["Tool"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """How a tool quantizes.

    Attributes
    ----------
    name : str
        The tool's.
    quantize : callable
        Takes rows of a weight, as unsigned codes of a format, all finite, with whole blocks of rows; that format; the
        scheme; and the scale of the whole tensor or None. Returns unsigned codes of the scales, a row and a column to
        each scale, and rows of bytes of the codes. Where there is no other scale than that of the whole tensor, it is
        returned for each row.
    second_scale : callable, optional
        Takes the largest magnitude of a tensor, or of all tensors that share the scale, and their format; returns the
        scale of the whole tensor.
    rule : callable, optional
        Takes a scheme; returns the formulas of scales and codes, in lines for people.
    takes_scale_rule : bool
        Whether `quantize` takes a keyword `scale_rule`, where scales are powers of two: the name of a rule in place of
        the tool's own, None for that.
    """

    name: str
    quantize: Callable[..., tuple[Array, Array]]
    second_scale: Callable[[float, Format], np.float32] | None = None
    rule: Callable[[Scheme], Sequence[str]] | None = None
    takes_scale_rule: bool = False
