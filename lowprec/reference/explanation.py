"""Why a value became that code: its neighbours in the format, the midpoint, random numbers, the rule that decided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ..spec.arguments import as_integer, shown
from ..spec.formats import Format, Kind, as_format
from ..spec.notebook_html import code_row, html_block, html_lines, html_table, interval
from ..spec.opset_rules import NEWEST, check_type
from ..spec.option_names import NaNName, OverflowName, RoundingName, RoundModeName
from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, FIRST, RoundingOptions, rounding_arguments
from ..spec.text_tables import aligned_table
from .exact_cast import copies_bits, decide, rules_for
from .exact_values import Value, bracket, decode, finite_count, magnitude_of, signed_code
from .explained_cast import ExplainedCast
from .loss_sentences import lost
from .number_text import number_text, number_texts
from .philox import random_word
from .rounding import Place, lots_for_upper, place_of

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


_BITS_SHOWN = 32
"""Of a fraction that has more."""


def _binary(fraction: Fraction) -> str:
    """Return a fraction below 1 as binary digits."""
    digits = f"{fraction.numerator * 2**_BITS_SHOWN // fraction.denominator:0{_BITS_SHOWN}b}"
    rest = (fraction * 2**_BITS_SHOWN).denominator > 1
    return f"0b0.{digits if rest else digits.rstrip('0') or '0'}{'...' * rest}"


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(ExplainedCast):
    """How the value `x` became a code; shown as a table, in notebooks as HTML.

    `lower` and `upper` are the finite values next to x with their codes, both x itself where it is exact, None where
    there is none; those of ``|x|`` where a float has no sign. `midpoint` lies halfway (floats only); beyond the largest
    value it is the limit of overflow. `value` is that of the resulting `code`, `rule` is what decided.

    Where a rule beyond ONNX is given, `rounding` is all of them, and `fraction` says where ``|x|`` lies: 0 at the
    neighbour nearer to zero, 1 at the other; None for NaN, Inf, and beyond both ends. A stochastic rounding has a
    `stream` and of it the number `random`: from `threshold` on x is rounded away from zero.

    Where x is the code of a format, `source` is that and `source_code` the code; both are None where it is a number.
    """

    def __repr__(self) -> str:
        lines = [f"{self.format.name}: {self.rule}", aligned_table(self._rows())]
        return "\n".join([*lines, *(f"{label:8}  {text}" for label, text in self._details())])

    def _repr_html_(self) -> str:
        """Return for notebooks the result bit by bit, the interval, tables, and what was lost."""
        details = html_table([(), *self._details()], "rule") if self.rounding else ""
        table = html_table(self._rows(), f"{self.format.name}: {self.rule}")
        return html_block(
            table, code_row(self.format, self.code), self._interval(), details, html_lines(self._losses())
        )

    def _interval(self) -> str:
        """Return where x lies between its neighbours as a drawing; nothing where it is one of them, or has one."""
        if self.lower is None or self.upper is None or self.x.special or self.lower[1] == self.upper[1]:
            return ""
        low, high = self.lower[1], self.upper[1]
        number = self.x.number if low.number <= self.x.number <= high.number else self.x.magnitude  # a float: no sign
        place = (number - low.number) / (high.number - low.number)
        ends = number_texts(low, high)
        where = f"x lies {float(place):.6g} of the way from {ends[0]} to {ends[1]}"
        results = [one == self.value for one in (low, high)]
        became = f"; it becomes {number_text(self.value)}" if any(results) else ""
        return interval(ends, place, results.index(True) if any(results) else None, where + became)

    def _losses(self) -> list[str]:
        """Return the error, and in sentences what was lost but digits."""
        lines = []
        if not self.x.special and not self.value.special and self.format.kind is not Kind.BOOL:
            error = abs(self.value.number - self.x.number)
            relative = f", {number_text(Value(error / self.x.magnitude))} of x" if self.x.magnitude and error else ""
            lines = [f"error: {number_text(Value(error))}{relative}"]
        lost_text = lost(self)
        return [*lines, *([f"lost: {lost_text}"] if lost_text else [])]

    def _details(self) -> list[tuple[str, str]]:
        """Return what a rounding beyond ONNX is decided by."""
        if self.rounding is None:
            return []
        mode, overflow, nan, bits = self.rounding
        found = [("rounding", f"{mode}, overflow {overflow}, nan {nan}")]
        if self.fraction is not None:
            found.append(("fraction", f"{self.fraction} = {_binary(self.fraction)}"))
        if self.stream is not None:
            found.append(
                (
                    "random",
                    f"{self.random} = 0b{self.random:0{bits}b}, place {self.stream.offset} of seed {self.stream.seed}",
                )
            )
        if self.threshold is not None:
            lots = 2**bits - self.threshold
            found.append(("chance", f"{lots} of 2**{bits}, the numbers from {self.threshold} on, round away from zero"))
        return found

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("", "code", "bits", "hex-float", "decimal")]
        near = {
            "x": (self.source_code, self.x),
            "lower": self.lower,
            "midpoint": (None, self.midpoint),
            "upper": self.upper,
        }
        for label, pair in {**near, "result": (self.code, self.value)}.items():
            code, value = pair or (None, None)
            number, bits = _code_cells(code, self.source if label == "x" and self.source else self.format)
            rows.append((label, number, bits, hex_float(value) if value else "", str(value or "none")))
        return rows


def _code_cells(code: int | None, fmt: Format) -> tuple[str, str]:
    """Return a code in hexadecimal and in bits, field by field; nothing for None."""
    if code is None:
        return "", ""
    cuts = (0, int(fmt.signed), fmt.bits - fmt.mantissa_bits, fmt.bits) if fmt.kind is Kind.FLOAT else (0, fmt.bits)
    digits = f"{code:0{fmt.bits}b}"
    return f"0x{code:0{(fmt.bits + 3) // 4}x}", "|".join(digits[a:b] for a, b in pairwise(cuts) if digits[a:b])


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


def _fraction(value: Value, fmt: Format) -> Fraction | None:
    """Return where a number lies between magnitude codes of which one, or both, are finite values."""
    if value.special or not (value.magnitude or fmt.has_zero):
        return None
    place = place_of(value.magnitude, fmt) if value.magnitude else Place(0, Fraction(0))
    return place.fraction if -1 <= place.lower < finite_count(fmt) else None


def _code_of(x: object, source: Format) -> int:
    """Return the code that the caller of `explain` gave, or raise ValueError; bits above a narrow code are ignored."""
    check_type(source, NEWEST, "source")
    code, last = as_integer(x), 2 ** max(8, source.bits) - 1
    if code is None or not 0 <= code <= last:
        raise ValueError(f"`x` must be a code of {source.name}, 0 to {last}, where `source` is given; got {shown(x)}")
    return code % (1 << source.bits)


def explain(
    x: object,
    fmt: object,
    *,
    source: object = None,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Explanation:
    """Return which code Cast gives a value, and why; the result is shown as a table.

    NaN has no neighbours, Inf has the largest value for its only one; -0 is exact where the format has it.

    Parameters
    ----------
    x : str, int, float, Fraction or scalar
        The exact value: a number, or a text such as ``"0.3"``, ``"17/23"``, ``"0x1.8p+3"``, ``"-inf"``, ``"nan"``.
    fmt : str, int, dtype or Format
        A float, integer or bool format.
    source : str, int, dtype or Format, optional
        The format of which `x` is a code, an unsigned integer, instead of a number.
    saturate, round_mode, opset
        As in `lowprec.cast`.
    rounding, overflow, nan, seed, random_bits, offset
        As in `lowprec.cast`; `offset` is the place of x in the random numbers of the seed.

    Returns
    -------
    Explanation
        The value, its neighbours in the format, their midpoint, the rule that decided and the code.

    Raises
    ------
    ValueError
        If `x` is no number, or no code of `source`, or a parameter is out of its range.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28, and IEEE P3109 4.0, 4.7.4 and 4.7.5; the arithmetic is that of
    `lowprec.reference`, in fractions.

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
    >>> lp.explain("0.3", "float8_e4m3fn", rounding="stochastic", seed=7, random_bits=8)
    float8_e4m3fn: the lower neighbour: the random number 45 is below 102, of 2**8
              code  bits        hex-float  decimal
    x                                      0.3
    lower     0x29  0|0101|001  0x1.2p-2   0.28125
    midpoint                    0x1.3p-2   0.296875
    upper     0x2a  0|0101|010  0x1.4p-2   0.3125
    result    0x29  0|0101|001  0x1.2p-2   0.28125
    rounding  stochastic_b, overflow sat_finite, nan signed
    fraction  3/5 = 0b0.10011001100110011001100110011001...
    random    45 = 0b00101101, place 0 of seed 7
    chance    154 of 2**8, the numbers from 102 on, round away from zero
    >>> lp.explain(0x2A, "float4_e2m1fn", source="float8_e4m3fn")
    float4_e2m1fn: nearer to the upper neighbour
              code  bits        hex-float  decimal
    x         0x2a  0|0101|010  0x1.4p-2   0.3125
    lower     0x0   0|00|0      0x0p+0     0
    midpoint                    0x1p-2     0.25
    upper     0x1   0|00|1      0x1p-1     0.5
    result    0x1   0|00|1      0x1p-1     0.5
    """
    row, held = as_format(fmt), None if source is None else as_format(source, parameter="source")
    source_code = None if held is None else _code_of(x, held)
    value = Value.of(x) if held is None or source_code is None else decode(source_code, held)
    options, stream = rounding_arguments(rounding, overflow, nan, seed, random_bits, offset)
    rules = rules_for(row, "fmt", saturate, round_mode, opset, options or RoundingOptions())
    used = rules.rounding
    random = None if stream is None or used is None else random_word(*stream, used.random_bits)
    if held is not None and source_code is not None and copies_bits(held, row, rules):
        code, rule = source_code, "the same format: the bits are copied"
    else:
        code, rule = decide(value, row, rules, random)
    low, high, midpoint = _around(value, row)
    lower, upper = (None if near is None else (near, decode(near, row)) for near in (low, high))
    is_tie = midpoint is not None and not value.special and value.magnitude == midpoint.magnitude
    fraction = None if used is None else _fraction(value, row)
    threshold = None
    if used is not None and random is not None and fraction is not None:
        threshold = 2**used.random_bits - lots_for_upper(fraction, used)
    return Explanation(
        row,
        value,
        lower,
        upper,
        midpoint,
        is_tie,
        rule,
        code,
        decode(code, row),
        used,
        fraction,
        stream,
        random,
        threshold,
        held,
        source_code,
    )
