"""Why a value became that code: its neighbours in the format, the midpoint and the rule that decided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ..spec.formats import Format, Kind, as_format
from ..spec.opset_rules import NEWEST
from ..spec.rounding_rules import RoundingOptions
from ..spec.text_tables import aligned_table, html_table
from .exact_cast import decide, rules_for
from .exact_values import Value, bracket, decode, finite_count, magnitude_of, signed_code

__all__ = ["Explanation", "explain", "hex_float"]


def hex_float(value: Value) -> str:
    """Return ``0x1.8p+3``, or nothing where there is no such text."""
    top, bottom = value.magnitude.as_integer_ratio()
    if value.special or bottom & (bottom - 1):
        return ""
    power = max(top.bit_length() - 1, 0)
    digits = f"{top << -power % 4:x}"
    fraction = f".{digits[1:]}".rstrip("0").rstrip(".")
    return "-" * value.negative + f"0x{digits[0]}{fraction}p{power + 1 - bottom.bit_length():+d}"


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """How the value `x` became a code; shown as a table, in notebooks as HTML.

    `lower` and `upper` are the finite values next to x with their codes, both x itself where it is exact, None where
    there is none; those of |x| where a float has no sign. `midpoint` lies halfway (floats only); beyond the largest
    value it is the limit of overflow. `value` is that of the resulting `code`, `rule` is what decided.
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

    def __repr__(self) -> str:
        return f"{self.format.name}: {self.rule}\n{aligned_table(self._rows())}"

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return html_table(self._rows(), f"{self.format.name}: {self.rule}")

    def _rows(self) -> list[tuple[str, ...]]:
        fmt = self.format
        rows: list[tuple[str, ...]] = [("", "code", "bits", "hex-float", "decimal")]
        cuts = (0, int(fmt.signed), fmt.bits - fmt.mantissa_bits, fmt.bits) if fmt.kind is Kind.FLOAT else (0, fmt.bits)
        near = {"x": (None, self.x), "lower": self.lower, "midpoint": (None, self.midpoint), "upper": self.upper}
        for label, pair in {**near, "result": (self.code, self.value)}.items():
            code, value = pair or (None, None)
            digits = "" if code is None else f"{code:0{fmt.bits}b}"
            bits = "|".join(digits[a:b] for a, b in pairwise(cuts) if digits[a:b])
            number = "" if code is None else f"0x{code:0{(fmt.bits + 3) // 4}x}"
            rows.append((label, number, bits, hex_float(value) if value else "", str(value or "none")))
        return rows


def _around(value: Value, fmt: Format) -> tuple[int | None, int | None, Value | None]:
    if value.special == "nan":
        return None, None, None
    if fmt.kind is not Kind.FLOAT:
        first = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        last = 1 if fmt.kind is Kind.BOOL else first + 2**fmt.bits - 1
        beyond = Fraction(first - 1 if value.negative else last + 1)
        number = beyond if value.special else value.number
        lower = None if number < first else min(math.floor(number), last) % 2**fmt.bits
        upper = None if number > last else max(math.ceil(number), first) % 2**fmt.bits
        return lower, upper, None
    if value.negative and value.magnitude and not fmt.signed and fmt.has_zero:
        return None, 0, None
    count, negative = finite_count(fmt), value.negative and fmt.signed
    below, above = (count - 1, count) if value.special else bracket(value.magnitude, fmt)
    between = 0 <= below < above and (above < count or fmt.has_zero)
    midpoint = Value((magnitude_of(below, fmt) + magnitude_of(above, fmt)) / 2, negative) if between else None
    near = None if below < 0 else signed_code(min(below, count - 1), negative, fmt)
    far = None if above >= count else signed_code(above, negative, fmt)
    return (far, near, midpoint) if negative else (near, far, midpoint)


def explain(
    x: object, fmt: object, /, *, saturate: bool = True, round_mode: str | None = None, opset: int = NEWEST
) -> Explanation:
    """Return which code Cast gives a value, and why; the result is shown as a table.

    NaN has no neighbours, Inf has the largest value for its only one; -0 is exact where the format has it.

    Parameters
    ----------
    x : str, int, float, Fraction or scalar
        The exact value: a number, or a text such as ``"0.3"``, ``"17/23"``, ``"0x1.8p+3"``, ``"-inf"``, ``"nan"``.
    fmt : str, int, dtype or Format
        A float, integer or bool format.
    saturate, round_mode, opset
        As in `lowprec.cast`.

    Returns
    -------
    Explanation
        The value, its neighbours in the format, their midpoint, the rule that decided and the code.

    Raises
    ------
    ValueError
        If `x` is no number, or a parameter is out of its range.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28; the arithmetic is that of `lowprec.reference`, in fractions.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.explain("0.3", "float8_e4m3fn")
    float8_e4m3fn: nearer to the upper neighbour
              code  bits        hex-float  decimal
    x                                      0.3
    lower     0x29  0|0101|001  0x1.2p-2   0.28125
    midpoint                    0x1.3p-2   0.296875
    upper     0x2a  0|0101|010  0x1.4p-2   0.3125
    result    0x2a  0|0101|010  0x1.4p-2   0.3125
    """
    row, value = as_format(fmt), Value.of(x)
    rules = rules_for(row, "fmt", saturate, round_mode, opset, RoundingOptions())
    code, rule = decide(value, row, rules)
    low, high, midpoint = _around(value, row)
    lower, upper = (None if near is None else (near, decode(near, row)) for near in (low, high))
    is_tie = midpoint is not None and not value.special and value.magnitude == midpoint.magnitude
    return Explanation(row, value, lower, upper, midpoint, is_tie, rule, code, decode(code, row))
