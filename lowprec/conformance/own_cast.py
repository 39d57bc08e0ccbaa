"""`compare`: the caller's own cast against exact arithmetic, and why the first result that differs is another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import reference
from .._notebook_display import count_text, html_block, html_lines
from ..explanation import Explanation, explain
from ..ops.cast import cast
from ..ops.encode_pack import decode, encode
from ..ops.to_library import to_numpy
from ..reference.values import Value, number_text
from ..reference.whole_arrays import Codes, expected_rounded
from ..spec.formats import FLOAT64, NUMBERS, Format, as_format, is_in_table
from ..spec.operator_versions import NEWEST, check_alone
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    NaNName,
    OverflowName,
    RoundingName,
    RoundModeName,
    check_rounding,
    rounding_arguments,
)
from ..spec.scalar_arguments import shown
from .cast_cases import expected_codes, inputs, values_of

__all__ = ["Comparison", "Difference", "compare"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A code that a cast converts otherwise than exact arithmetic does.

    Attributes
    ----------
    code, value : int, Value
        The code of the source, and the number that it stands for.
    expected : int
        The code that the rules give.
    found : int or None
        The code that came; None for a number that the format lacks.
    explanation : Explanation
        Why the rules give that code.
    """

    code: int
    value: Value
    expected: int
    found: int | None
    explanation: Explanation


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """How many results of a cast differ from exact arithmetic, and the first that does; shown as text and as HTML.

    Attributes
    ----------
    source, to : Format
        The formats of the inputs and of the results.
    tried, differ : int
        How many codes of the source were cast, and how many came out otherwise. All codes of NaN count as one.
    other_nan : int
        How many results are NaN, as they must be, with another code than lowprec gives.
    first : Difference or None
        The first code that differs, in the order of the inputs.
    """

    source: Format
    to: Format
    tried: int
    differ: int
    other_nan: int
    first: Difference | None

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), *([repr(self.first.explanation)] if self.first else [])])

    def _repr_html_(self) -> str:
        """Return the lines, and the explanation of the first difference, for notebooks."""
        explanation = self.first.explanation._repr_html_() if self.first else ""
        return html_block(html_lines(self._lines()), explanation)

    def _lines(self) -> list[str]:
        total = f"{self.differ} of {count_text(self.tried, 'code')} of {self.source.name}"
        verb = "differs" if self.differ == 1 else "differ"
        lines = [f"{total} {verb} from the exact cast to {self.to.name}"]
        if self.other_nan:
            lines.append(f"NaN with other codes: {self.other_nan}")
        if self.first is not None:
            one = self.first
            came = f"a number that {self.to.name} lacks" if one.found is None else _code_text(one.found, self.to)
            given = f"{_code_text(one.code, self.source)}, {number_text(one.value)}"
            lines.append(f"the first: {given}, must become {_code_text(one.expected, self.to)}, became {came}")
        return lines


def _code_text(code: int, fmt: Format) -> str:
    return f"0x{code:0{(fmt.bits + 3) // 4}x}"


def compare(
    function: Callable[[Any], Any],
    source: object,
    to: object,
    *,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
) -> Comparison:
    """Run a cast of your own on all codes of a format, and compare the results with exact arithmetic.

    Parameters
    ----------
    function : callable
        Is called once, with a NumPy array of one axis in the dtype of `source` (its codes in unsigned integers, where
        neither NumPy nor ml_dtypes has one), and returns an array of any library, of the same length: values in the
        dtype of `to`, its codes in unsigned integers, or wider floats whose values are those of `to`.
    source : str, int, dtype or Format
        The format of the inputs. Of up to 16 bits: every code, in order. Of float32, float64 and wider integers: the
        values of `to`, the ties between them and what is next to both, its limits, a grid of exponents and fractions,
        NaN payloads, Inf, subnormals, and 1,000 numbers at random, the same in each call.
    to : str, int, dtype or Format
        The format of the results.
    saturate, round_mode, opset, rounding, overflow, nan
        The rules that the results must keep, as in `lowprec.cast`; no stochastic rounding.

    Returns
    -------
    Comparison
        How many codes differ, the first of them, and why it must become another code. Of NaN every code is taken, and
        -0 is not 0.

    Raises
    ------
    TypeError
        If `function` cannot be called, or returns no array.
    ValueError
        If it returns another length or dtype; if a format is one of neither, or a rule is none of the target's.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28; the expected codes are those of `lowprec.reference`, which shares no arithmetic
    with `lowprec.cast`.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.compare(lambda x: x.astype(np.float16), "bfloat16", "float16", saturate=False).differ
    0
    >>> def truncated(x):  # which forgets to round
    ...     return (x.view(np.uint16) >> 8).astype(np.uint8)
    >>> lp.compare(truncated, "float16", "float8_e5m2")
    31876 of 65536 codes of float16 differ from the exact cast to float8_e5m2
    NaN with other codes: 1024
    the first: 0x0081, about 0.000007689, must become 0x01, became 0x00
    float8_e5m2: nearer to the upper neighbour
              code  bits        hex-float   decimal
    x                           0x1.02p-17  0.000007688999176025390625
    lower     0x00  0|00000|00  0x0p+0      0
    midpoint                    0x1p-17     0.00000762939453125
    upper     0x01  0|00000|01  0x1p-16     0.0000152587890625
    result    0x01  0|00000|01  0x1p-16     0.0000152587890625
    """
    old, new = _checked(source, "source"), _checked(to, "to")
    if not callable(function):
        raise TypeError(f"`function` must be a function of one array; got {shown(function)}")
    options: dict[str, Any] = {"saturate": saturate, "round_mode": round_mode, "opset": opset}
    beyond: dict[str, Any] = {"rounding": rounding, "overflow": overflow, "nan": nan}
    codes, values = inputs(old, new)
    expected = _expected(codes, values, old, new, options, beyond)
    found, known = _results(function, codes.copy().view(old.dtype), new)
    is_nan, other = _is_nan(expected, new), (found != expected) & known
    same_nan = is_nan & known & _is_nan(found, new)
    differs = (other | ~known) & ~same_nan
    first = None
    if differs.any():
        at = int(np.argmax(differs))
        value = reference.decode(int(codes[at]), old)
        why = explain(value, new, **options, **beyond)
        first = Difference(int(codes[at]), value, int(expected[at]), int(found[at]) if known[at] else None, why)
    return Comparison(old, new, codes.size, int(differs.sum()), int((same_nan & other).sum()), first)


def _checked(fmt: object, parameter: str) -> Format:
    row = as_format(fmt, parameter=parameter)
    if row.kind not in NUMBERS or (row.bits > 16 and not is_in_table(row)):
        raise ValueError(
            f"`{parameter}` must be a format of numbers, with a description of up to 16 bits; got {row.name}"
        )
    return row


def _expected(
    codes: Codes, values: Codes, source: Format, target: Format, options: dict[str, Any], beyond: dict[str, Any]
) -> Codes:
    """Return the codes that the rules give."""
    if isinstance(beyond["rounding"], str) and beyond["rounding"].startswith("stochastic"):
        raise ValueError(f"`rounding` must be one without random numbers; got {beyond['rounding']}")
    rules, _ = rounding_arguments(**beyond, seed=None, random_bits=DEFAULT_RANDOM_BITS, offset=FIRST)
    cast(np.zeros(1, source.dtype), target, source=source, **options, **beyond)  # says which rule is none
    if rules is not None:
        given = {name: (options[name], default) for name, default in _DEFAULTS.items()}
        check_alone(rules, given)
        return np.asarray(expected_rounded(codes, source, target, check_rounding(rules, target, "to")))
    by_table = target.saturates == "asked" and target.has_inf and options["saturate"]
    if source is target and not by_table:  # the bits are copied
        return codes
    return expected_codes(values, target, **options)


_DEFAULTS: dict[str, Any] = {"saturate": True, "round_mode": None, "opset": NEWEST}


def _results(function: Callable[[Any], Any], x: Codes, to: Format) -> tuple[Codes, Codes]:
    """Return the codes that a function gives, and which of its results are values of the format."""
    with np.errstate(all="ignore"):  # the inputs overflow, and some are signalling NaNs
        result = function(x)
    shape, dtype = getattr(result, "shape", None), getattr(result, "dtype", None)
    if shape is None or dtype is None:
        raise TypeError(f"`function` must return an array; got {type(result).__name__}")
    if tuple(shape) != x.shape:
        raise ValueError(f"`function` must return an array of shape {x.shape}, as it got; got {tuple(shape)}")
    try:
        held = as_format(dtype)
    except ValueError:
        held = None
    if held is not None and held.is_float and to.is_float and held is not to and held.bits > to.bits:
        numbers = np.asarray(decode(to_numpy(result), held, to=FLOAT64))
        codes = np.asarray(encode(numbers, to))
        back = np.asarray(decode(codes, to, to=FLOAT64))
        return codes, (back == numbers) | (np.isnan(back) & np.isnan(numbers))
    try:
        codes = to_numpy(result, to).view(to.code_dtype)
    except (TypeError, ValueError):
        text = f"`function` must return {to.name}, its codes in {to.code_dtype}, or wider floats; got dtype {dtype}"
        raise ValueError(text) from None
    return codes, np.ones(codes.shape, bool)


def _is_nan(codes: Codes, fmt: Format) -> Codes:
    """Return which codes are NaN."""
    if not fmt.is_float:
        return np.zeros(codes.shape, bool)
    if fmt.bits <= 16:
        return np.asarray(np.isnan(values_of(fmt))[codes])
    return np.asarray((codes & np.array(fmt.magnitude_mask, codes.dtype)) > np.array(fmt.inf_code, codes.dtype))
