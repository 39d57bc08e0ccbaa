"""How a value became a code: the facts of an explanation, which the sentences on losses read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..spec.formats import Format
from ..spec.rounding_rules import Rounding, Stream
from .exact_values import Value

__all__ = ["ExplainedCast"]


@dataclass(frozen=True, slots=True)
class ExplainedCast:
    """How the value `x` became a code: what `lowprec.explain` returns, without the tables that show it.

    `lower` and `upper` are the finite values next to x with their codes, both x itself where it is exact, None where
    there is none; those of |x| where a float has no sign. `midpoint` lies halfway (floats only); beyond the largest
    value it is the limit of overflow. `value` is that of the resulting `code`, `rule` is what decided.

    Where a rule beyond ONNX is given, `rounding` is all of them, and `fraction` says where |x| lies: 0 at the neighbour
    nearer to zero, 1 at the other; None for NaN, Inf, and beyond both ends. A stochastic rounding has a `stream` and of
    it the number `random`: from `threshold` on x is rounded away from zero.

    `source` is the format of which x is the code `source_code`; both are None where x is a number.
    """

    format: Format
    x: Value
    lower: tuple[int, Value] | None
    upper: tuple[int, Value] | None
    midpoint: Value | None
    is_tie: bool
    rule: str
    code: int
    value: Value
    rounding: Rounding | None = None
    fraction: Fraction | None = None
    stream: Stream | None = None
    random: int | None = None
    threshold: int | None = None
    source: Format | None = None
    source_code: int | None = None
