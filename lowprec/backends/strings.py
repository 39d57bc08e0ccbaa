"""Casts between text and numbers, in NumPy arrays: shortest digits out, decimals rounded once in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_05UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .._float_mode import default_mode
from ..arrays.array_memory import check_out
from ..arrays.libraries import check_takes_text, namespace
from ..arrays.storage_dtypes import storage_dtype
from ..plans.plan import Method, Plan
from ..spec.formats import FLOAT64, Format, Kind, NaNRule, own_dtype
from ..spec.rounding_modes import Stream
from ..spec.special_values import limits_of
from . import cpu
from .jobs import BlockJob, Job

__all__ = ["format_values", "parse_values"]


_Array = np.ndarray[Any, Any]

_DEPTH = 50  # bits of a place that are kept; the next one is sticky

_DIGITS = Context(prec=1200, rounding=ROUND_05UP, Emin=-9999, Emax=9999, traps=[])
"""No border between float64 numbers, or between 2**33 parts of such a gap, has more digits: the last one is sticky."""

_INTEGERS = Format(
    "integers 0 to 3", None, None, Kind.FLOAT, 1, 1, 0, True, False, NaNRule.NONE, True, None, None, "here"
)
"""A sign and the magnitudes 0 to 3, which are their codes."""


def needs_exact_places(plan: Plan) -> bool:
    """Whether two decimals that a plan from float64 rounds apart can lie between neighbouring float64 numbers."""
    if plan.method is not Method.ROUND or plan.rounding is None:
        return False
    return plan.target.mantissa_bits + max(plan.rounding.random_bits, 1) >= FLOAT64.mantissa_bits - 1


def _lower_neighbour(text: str, fmt: Format) -> tuple[int, float]:
    """Return the magnitude code of the next value not above a finite decimal, and the place above it, 0 to 1."""
    number = abs(Fraction(_DIGITS.create_decimal(text.strip())))
    exponent = fmt.emin
    if number:
        exponent = number.numerator.bit_length() - number.denominator.bit_length()
        exponent = max(exponent - (number < Fraction(2) ** exponent), fmt.emin)
    units, remainder = divmod(number / Fraction(2) ** (exponent - fmt.mantissa_bits), 1)
    code = min(((exponent - fmt.emin) << fmt.mantissa_bits) + units, fmt.max_code + 1)
    kept, sticky = divmod(remainder * (1 << _DEPTH), 1)
    return code, math.ldexp(kept + (0.5 if sticky else 0.0), -_DEPTH)


def round_decimals(
    texts: list[str], numbers: _Array, plan: Plan, stream: Stream | None, run: Callable[[Job], Any]
) -> _Array:
    """Return the codes of decimals, each rounded once by the rules of a plan.

    Parameters
    ----------
    texts : list of str
        Decimals, Inf or NaN.
    numbers : ndarray
        The float64 nearest to each.
    plan : Plan
        From float64 to a float that is wider than 16 bits.
    stream : Stream or None
        The random numbers, where the rounding is stochastic.
    run : callable
        What carries out a job on a NumPy array.

    Returns
    -------
    ndarray
        Unsigned codes of the target.
    """
    target, limits, rounding = plan.target, plan.limits, plan.rounding
    assert rounding is not None
    negative, nan = np.signbit(numbers), np.isnan(numbers)
    infinite = np.isinf(numbers)
    infinite[infinite] = ["n" in text.lower() for text, found in zip(texts, infinite.tolist(), strict=True) if found]
    special = (nan | infinite).tolist()
    neighbours = [
        (0, 0.0) if skipped else _lower_neighbour(text, target) for text, skipped in zip(texts, special, strict=True)
    ]
    codes = np.array([code for code, _ in neighbours], np.uint64)
    places = np.array([place for _, place in neighbours], np.float64)

    last = codes & np.uint64(1)
    question = np.copysign(last.astype(np.float64) + places, np.where(negative, -1.0, 1.0))
    asked = Plan(Method.ROUND, FLOAT64, _INTEGERS, rounding=rounding, limits=limits_of(_INTEGERS, rounding))
    answer = run(Job(question, asked, codes=True, stream=stream)) & _INTEGERS.magnitude_mask
    codes = codes + (answer.astype(np.uint64) - last)

    def limit(pair: tuple[int, int]) -> _Array:
        return np.where(negative, np.uint64(pair[1]), np.uint64(pair[0]))

    result = codes | np.where(negative, np.uint64(target.sign_mask), np.uint64(0))
    result = np.where(codes > target.max_code, limit(limits.overflow), result)
    result = np.where(codes == 0, limit(limits.zero), result)
    result = np.where(infinite, limit(limits.infinity), result)
    result = np.where(nan, limit(limits.nan), result)
    return np.asarray(result.astype(target.code_dtype))


_WIDEST = FLOAT64
_BLOCK = 1 << 16  # elements at a time: what lives as Python objects stays in the cache
_SHOWN = 40  # characters of a text that a message repeats


def accepts(job: Job | BlockJob) -> bool:
    """Whether there is text at one end."""
    return isinstance(job, Job) and job.plan.method is Method.TEXT


def run(job: Job) -> Any:
    """Convert from or to text, which only NumPy arrays hold."""
    x, source, target, out = job.x, job.plan.source, job.plan.target, job.out
    xp = namespace(x)
    check_takes_text(xp)
    if source.kind is target.kind:
        result = copy_texts(x)
    elif job.plan.through is None:
        result = format_values(x, source)
    else:
        result = parse_values(x, job.plan.through, job.stream).view(storage_dtype(target, xp))
    if out is None:
        return result
    check_out(out, x, result.shape, storage_dtype(target, xp))
    out[...] = result
    return out


@default_mode
def format_values(x: _Array, source: Format) -> _Array:
    """Return the text of every number, as ONNX Cast to string does: the fewest digits that are read back as the number.

    float16, float32 and float64 have the fewest digits that round to the value in their own type, and of these the
    nearest; any other float has the digits of its float32 value. They are positional, with ``.0`` after a whole
    number, for zero and 1e-4 <= |x| < 1e16, scientific elsewhere (``1e-05``, ``1.5e+16``). NaN is ``nan`` whatever its
    sign, Inf ``inf`` or ``-inf``, -0 ``-0.0``; integers are plain decimals, bools ``True`` and ``False``.

    Parameters
    ----------
    x : ndarray
        Any shape and strides; `source`'s own dtype, or its codes (int8 or uint8 for sub-byte integers).
    source : Format
        A numeric format.

    Returns
    -------
    ndarray
        Of `str` objects, the same shape, dense layouts kept.

    Notes
    -----
    Source: ONNX Cast-9, which asks for plain or scientific digits and does not say how many.

    Examples
    --------
    >>> import numpy as np
    >>> from lowprec.spec.formats import FORMATS
    >>> format_values(np.array([0.1, -1e-5, 3e4], np.float16), FORMATS["float16"]).tolist()
    ['0.1', '-1e-05', '30000.0']
    """
    x = np.asarray(x)
    codes = x.astype(x.dtype.newbyteorder("="), copy=False).view(source.code_dtype)
    result = np.empty_like(codes, dtype=object)
    if source.storage_bits <= 16:
        result[...] = _texts_by_code(codes & source.code_mask, source)
        return result
    values = codes.reshape(-1).view(source.dtype)
    texts = np.empty(values.size, object)
    for start in range(0, values.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        texts[block] = _texts(values[block])
    result[...] = texts.reshape(x.shape)
    return result


def _texts_by_code(codes: _Array, source: Format) -> _Array:
    """Write each code that occurs once, then look it up."""
    occurs = np.zeros(1 << source.bits, np.bool)
    occurs[codes] = True
    distinct = np.flatnonzero(occurs)
    values: _Array
    if source.kind is Kind.BOOL:
        values = distinct != 0
    elif source.is_integer:
        values = (distinct ^ source.sign_mask) - source.sign_mask  # two's complement: the sign bit weighs -2**(n-1)
    elif own_dtype(source) is None:
        values = np.array([source.value(code) for code in distinct.tolist()], np.float32)  # exact there
    else:
        values = distinct.astype(source.code_dtype).view(source.dtype)
        values = values if values.dtype.isbuiltin == 1 else values.astype(np.float32)  # not NumPy's own: exact there
    table = np.empty(occurs.size, object)
    table[distinct] = _texts(values)
    return np.asarray(table[codes])


def _texts(values: _Array) -> list[str]:
    """Write the values of a 1-D array in a dtype of NumPy's own."""
    if values.dtype.kind != "f" or values.dtype == _WIDEST.dtype:
        return list(map(repr, values.tolist()))  # Python writes its numbers just so
    # Not str(): where it turns to scientific depends on the type, NumPy's version and the legacy print mode.
    with np.errstate(invalid="ignore"):  # signalling NaN
        magnitudes = np.abs(values.astype(np.float64))  # where 1e-4 is not rounded to the type of the values
    positional = (magnitudes == 0) | ((magnitudes >= 1e-4) & (magnitudes < 1e16))
    return [
        np.format_float_positional(value, trim="0") if plain else np.format_float_scientific(value, trim="-")
        for value, plain in zip(values, positional.tolist(), strict=True)
    ]


def copy_texts(x: _Array) -> _Array:
    """Return texts as an object array of `str`, the same shape, or raise TypeError for an element that is none."""
    x = np.asarray(x)
    if x.dtype.kind not in "UTO":
        raise TypeError(f"`x` must hold text as str; got dtype {x.dtype}")
    result: _Array = x.astype(object)
    for index, text in enumerate(result.reshape(-1).tolist()):
        if not isinstance(text, str):
            where = tuple(map(int, np.unravel_index(index, x.shape)))
            way = _way_to_numbers(result.ravel())
            raise TypeError(f"`x` must hold text as str; got {type(text).__name__} at index {where}{way}")
    return result


def _way_to_numbers(texts: Iterable[object]) -> str:
    are_numbers = all(isinstance(one, (int, float, np.number, type(None))) for one in texts)
    return ": `x.astype(float)` holds numbers" if are_numbers else ""


_NUMBER = re.compile(r"(?aix) \s* ([+-]?) (?: inf | nan | (\d+ (?:\.\d*)? | \.\d+) (?: e ([+-]?\d+) )? ) \s*")
"""What is a number: the sign, digits and exponent of a decimal, or none of the last two."""

_FLOAT_TAKES_TOO = "_yY\0"
"""Characters in the ASCII texts that `float` takes and `_NUMBER` does not: 1_0, infinity, NumPy's padding."""


@default_mode
def parse_values(x: _Array, plan: Plan, stream: Stream | None = None) -> _Array:
    """Return the codes of numbers given as text, as ONNX Cast from string does: the decimal is rounded once.

    A text is a decimal, plain or scientific, ``INF`` or ``NaN`` in any case; signs and surrounding ASCII blanks are
    allowed. NaN, Inf, -0 and out-of-range numbers are converted as by `lowprec.cast`; a finite decimal is
    finite however large. Integers take the number truncated toward zero, modulo 2**bits, exactly; bools are True for
    all but zero.

    Parameters
    ----------
    x : ndarray
        Any shape and strides; fixed-width ``str``, ``StringDType``, or objects that are all `str`.
    plan : Plan
        From float64 to the target.
    stream : Stream, optional
        The random numbers of a stochastic plan.

    Returns
    -------
    ndarray
        Unsigned codes of the target, the same shape, dense layouts kept.

    Raises
    ------
    TypeError
        If `x` holds something else than `str`.
    ValueError
        If a text is no number.

    Notes
    -----
    Source: ONNX Cast-9 and later, "Casting from string tensor".

    Examples
    --------
    >>> import numpy as np
    >>> from lowprec.spec.formats import FORMATS
    >>> from lowprec.spec.operator_versions import cast_rules
    >>> from lowprec.plans.cast_plan import make_plan
    >>> source, target = FORMATS["float64"], FORMATS["float16"]
    >>> plan = make_plan(source, target, cast_rules(source, target))
    >>> parse_values(np.array(["1e3", "-0.5", " inf"]), plan).view(np.float16).tolist()
    [1000.0, -0.5, inf]
    """
    x = np.asarray(x)
    if x.dtype.kind not in "UTO":
        raise TypeError(f"`x` must hold text as str; got dtype {x.dtype}")
    flat = x.reshape(-1)
    codes = np.empty(x.size, plan.target.code_dtype)
    for start in range(0, x.size, _BLOCK):
        texts = flat[start : start + _BLOCK].tolist()
        try:
            numbers = _nearest(texts)
        except (TypeError, ValueError):
            raise _refusal(texts, start, x.shape) from None
        here = None if stream is None else stream._replace(offset=stream.offset + start)
        exactly = needs_exact_places(plan)
        codes[start : start + _BLOCK] = (
            round_decimals(texts, numbers, plan, here, cpu.run) if exactly else _codes(texts, numbers, plan, here)
        )
    result = np.empty_like(x, dtype=codes.dtype)
    result[...] = codes.reshape(x.shape)
    return result


def _nearest(texts: list[str]) -> _Array:
    """Return the float64 nearest to each decimal, or raise TypeError or ValueError if one is no number."""
    everything = "".join(texts)
    if not everything.isascii() or any(character in everything for character in _FLOAT_TAKES_TOO):
        raise ValueError
    return np.fromiter(map(float, texts), np.float64, len(texts))


def _refusal(texts: list[object], start: int, shape: tuple[int, ...]) -> TypeError | ValueError:
    """Return the error for the first element that is no text, or else for the first text that is no number."""
    strays = [i for i, text in enumerate(texts) if not isinstance(text, str)]
    bad = strays or [i for i, text in enumerate(texts) if not _NUMBER.fullmatch(str(text))]
    where = f"at index {tuple(map(int, np.unravel_index(start + bad[0], shape)))}"
    stray = texts[bad[0]]
    if not isinstance(stray, str):
        return TypeError(f"`x` must hold text as str; got {type(stray).__name__} {where}{_way_to_numbers(texts)}")
    shown = repr(stray if len(stray) <= _SHOWN else stray[: _SHOWN - 3] + "...")
    return ValueError(f"`x` must hold numbers as text; got {shown} {where}")


def _codes(texts: list[str], numbers: _Array, plan: Plan, stream: Stream | None) -> _Array:
    """Return the codes of decimals, given the float64 nearest to each.

    A decimal and its nearest float64 lie on the same side of every float64, unless the nearest is that float64 itself.
    What decides a conversion (values and midpoints of a narrower float, whole numbers, zero) are float64 values: the
    nearest may stand for the decimal but where it is one of them. There the decimal is looked at again.
    """
    doubtful = _decisive(numbers, plan)
    if doubtful.any():
        doubtful &= ~_surely_exact(texts, numbers)
    places = np.flatnonzero(doubtful).tolist()
    if plan.method is not Method.TRUNCATE:
        numbers[places] = [_off_the_edge(texts[i], float(numbers[i])) for i in places]
    codes: _Array = cpu.run(Job(numbers, plan, codes=True, stream=stream))
    if plan.method is Method.TRUNCATE:
        codes[places] = [_wrapped(texts[i], plan.target.bits) for i in places]
    return codes


def _decisive(numbers: _Array, plan: Plan) -> _Array:
    """Return which float64 numbers may decide the conversion; Inf, to which float64 rounds too, always may."""
    if plan.method is Method.COPY:
        return np.zeros(numbers.shape, np.bool)
    if plan.method is Method.NONZERO:
        return np.asarray(numbers == 0)
    if plan.method is Method.TRUNCATE:  # below 1 every number becomes 0, what was rounded to 0 too
        return np.asarray((numbers == np.trunc(numbers)) & (numbers != 0))
    # Midpoints have one bit more than the target: kept bits | half | all zero. Subnormal ones have even fewer. Borders
    # of a stochastic rounding have one more than the random numbers.
    more = 1 if plan.rounding is None else plan.rounding.random_bits + 1
    zeros = (1 << (_WIDEST.mantissa_bits - plan.target.mantissa_bits - more)) - 1
    return np.asarray(((numbers.view(np.uint64) & np.uint64(zeros)) == 0) & ~np.isnan(numbers))


def _surely_exact(texts: list[str], numbers: _Array) -> _Array:
    """Return where a float64 is easily seen to be the decimal itself.

    Decimals of at most 15 digits are read as different float64. A multiple of 1/16 below 1e11 is such a decimal (it has
    4 places), so a text that short which is read as one is that very number. Zero is left out: it is underflow too.
    """
    lengths = np.fromiter(map(len, texts), np.intp, len(texts))
    with np.errstate(over="ignore"):
        sixteenths = numbers * 16
    few_digits = (sixteenths == np.trunc(sixteenths)) & (np.abs(numbers) < 1e11)
    return np.asarray(few_digits & (lengths <= 15) & (numbers != 0))


def _off_the_edge(text: str, number: float) -> float:
    """Return the float64 nearest to a decimal, moved one step toward the decimal unless it is the decimal itself.

    No step reaches another number that decides: those of the narrower floats are further apart.
    """
    significand = text.lower().partition("e")[0]
    if math.isinf(number):
        return number if "n" in significand else math.nextafter(number, 0)
    if number == 0:
        is_zero = not significand.strip(" \t\n\r\f\v+-.0")
        return number if is_zero else math.nextafter(number, math.copysign(math.inf, number))
    decimal, nearest = Decimal(text), Decimal.from_float(number)  # both exact, whatever the context
    if decimal == nearest:
        return number
    return math.nextafter(number, math.inf if decimal > nearest else -math.inf)


def _wrapped(text: str, bits: int) -> int:
    """Return a decimal truncated toward zero, modulo 2**bits; 0 for Inf. The work is linear in the length."""
    if len(text) <= 40 and text.removeprefix("-").isdecimal():
        return int(text) % (1 << bits)
    match = _NUMBER.fullmatch(text)
    sign, significand, power = match.groups() if match else ("", None, None)
    if significand is None:
        return 0
    whole, _, fraction = significand.partition(".")
    exponent = (power or "").lstrip("+-0") or "0"
    size = int(exponent) if len(exponent) <= 18 else 10**18  # beyond the length of any text
    shift = (-size if (power or "").startswith("-") else size) - len(fraction)
    digits = whole + fraction
    if shift < 0:
        digits, shift = digits[:shift], 0
    # 10**bits is a multiple of 2**bits: digits further to the left do not count.
    magnitude = int(digits[-bits:] or "0") * pow(10, shift, 1 << bits)
    return (-magnitude if sign == "-" else magnitude) % (1 << bits)
