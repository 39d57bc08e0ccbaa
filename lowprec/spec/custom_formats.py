"""Formats that are no row: `float_format`, `register`, short spellings, descriptions in files, which are converted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Literal

from .format_text import MOST_BITS
from .formats import (
    ONNX_NAMES,
    REGISTERED,
    ROW_NAMES,
    Format,
    NaNRule,
    as_format,
    described,
    has_fixed_name,
    is_in_table,
)
from .p3109 import has_p3109_shape
from .scalar_arguments import as_flag, as_integer, shown

__all__ = [
    "NaNCodesName",
    "check_convertible",
    "description_of",
    "float_format",
    "float_format_spelled",
    "format_described_by",
    "has_spelled_shape",
    "register",
    "spelling_of",
    "why_not_converted",
]


_LONGEST_NAME = 64

NaNCodesName = Literal["ieee", "all-ones", "negative-zero", "none"]
"""Which codes of a described format are NaN."""

_NAN_RULES = {rule.value: rule for rule in NaNRule}


def float_format(
    name: str,
    /,
    *,
    exponent_bits: int,
    mantissa_bits: int,
    bias: int | None = None,
    signed: bool = True,
    inf: bool = True,
    nan: NaNCodesName = "ieee",
    zero: bool = True,
    reference: str = "",
    source: str | None = None,
) -> Format:
    """Return the float format of a description: sign, exponent and mantissa from the highest bit down, 2 to 32 bits.

    NaN codes follow from `nan`. +Inf, where there is one, is the highest magnitude code that is no NaN; the largest
    finite value comes next. There is a -0 where there is a sign, unless its code is NaN. Without a sign, numbers below
    the range become 0, or NaN where nothing saturates.

    The format may be passed wherever a format is named; `register` makes its name usable too. Equal descriptions are
    one object. ONNX has no number for it: `opset` must be the default, and no .onnx file can hold it.

    Parameters
    ----------
    name : str
        Its name, 1 to 64 printable characters without spaces; not tf32, nor one of IEEE P3109 or of a row of
        `lowprec.formats` that ONNX has.
    exponent_bits : int
        1 to 11.
    mantissa_bits : int
        0 to 30.
    bias : int, optional
        What is subtracted from the exponent field; ``2**(exponent_bits - 1) - 1`` where it is not given. float64 must
        hold every value. A format of more than 16 bits, or whose values are not all float32 numbers, can be described
        and explained, but arrays are not converted to it.
    signed : bool
        Whether the highest bit is a sign.
    inf : bool
        Whether there is Inf.
    nan : {"ieee", "all-ones", "negative-zero", "none"}
        Which codes are NaN: exponent all ones and a mantissa that is not 0; all ones, with each sign; the code of -0;
        none.
    zero : bool
        False: exponent field 0 is an ordinary power of two, as in float8_e8m0fnu; without sign and mantissa only.
    reference : str
        Where the format is defined.
    source : str, optional
        The old name of `reference`; it warns.

    Returns
    -------
    Format
        The format; the row of `lowprec.formats` where a row that ONNX lacks has this name and these facts.

    Raises
    ------
    ValueError
        If the facts contradict each other, leave no finite value but 0, or make a code of more than 32 bits; if a
        value is beyond float64; if `name` is taken.

    Notes
    -----
    Source: the fields of gfloat's ``FormatInfo``; IEEE P3109 interim report 4.0, 3.1, 3.2 and 4.7.1.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> e3m2 = lp.float_format("e3m2", exponent_bits=3, mantissa_bits=2, inf=False, nan="all-ones")
    >>> e3m2.bits, e3m2.max, hex(e3m2.nan_code)
    (6, 24.0, '0x1f')
    >>> lp.encode(np.array([0.3, -100.0, np.nan], np.float32), e3m2).tolist()
    [5, 62, 31]
    """
    if source is not None:
        warnings.warn("`source` of float_format is `reference` now", DeprecationWarning, stacklevel=2)
        reference = source
    _check_name(name, "name")
    exponent, mantissa = _count(exponent_bits, "exponent_bits"), _count(mantissa_bits, "mantissa_bits")
    has_sign, has_inf, has_zero = as_flag(signed, "signed"), as_flag(inf, "inf"), as_flag(zero, "zero")
    if not isinstance(nan, str) or nan not in _NAN_RULES:
        raise ValueError(f"`nan` must be one of {', '.join(_NAN_RULES)}; got {shown(nan)}")
    if not isinstance(reference, str):
        raise ValueError(f"`reference` must be a text; got {shown(reference)}")
    rule = _NAN_RULES[nan]
    _check_widths(exponent, mantissa, has_sign)
    _check_codes(exponent + mantissa, mantissa, has_sign, has_inf, rule, has_zero)
    offset = 2 ** (exponent - 1) - 1 if bias is None else as_integer(bias)
    if offset is None:
        raise ValueError(f"`bias` must be an integer or None; got {shown(bias)}")
    return described(name, exponent, mantissa, offset, has_sign, has_inf, rule, reference, has_zero)


def _check_name(name: object, parameter: str) -> None:
    """Raise ValueError unless a described format may have the name: rows that ONNX lacks may have namesakes."""
    if not isinstance(name, str):
        raise ValueError(f"`{parameter}` must be a text; got {shown(name)}")
    plain = name.isprintable() and not any(character.isspace() for character in name)
    if not 1 <= len(name) <= _LONGEST_NAME or not plain:
        wanted = f"1 to {_LONGEST_NAME} printable characters without spaces"
        raise ValueError(f"`{parameter}` must be {wanted}; got {shown(name)}")
    if re.fullmatch("[0-9]+", name):
        raise ValueError(f"`{parameter}` must not be a number, which is an ONNX enum value; got {shown(name)}")
    if name in ONNX_NAMES:
        raise ValueError(f"`{parameter}` must be no name of a row of lowprec.formats; got {shown(name)}")
    if has_p3109_shape(name):
        raise ValueError(f"`{parameter}` must be no name of IEEE P3109, which lp.as_format takes; got {shown(name)}")
    if has_fixed_name(name):
        raise ValueError(
            f"`{parameter}` must be no name of another format, which lp.as_format takes; got {shown(name)}"
        )


def _count(value: object, parameter: str) -> int:
    number = as_integer(value)
    if number is None:
        raise ValueError(f"`{parameter}` must be an integer; got {shown(value)}")
    return number


def _check_widths(exponent: int, mantissa: int, signed: bool) -> None:
    if not 1 <= exponent <= 11:
        why = "without exponent bits it is a fixed-point format" if exponent == 0 else "float64 has no more"
        raise ValueError(f"`exponent_bits` must be 1 to 11 ({why}); got {shown(exponent)}")
    if not 0 <= mantissa < MOST_BITS - 1:
        raise ValueError(f"`mantissa_bits` must be 0 to {MOST_BITS - 2}; got {shown(mantissa)}")
    bits = signed + exponent + mantissa
    if not 2 <= bits <= MOST_BITS:
        parts = f"{exponent} + {mantissa} bits{' and a sign' if signed else ''}, which are {bits}"
        raise ValueError(
            f"`exponent_bits` and `mantissa_bits` must make a code of 2 to {MOST_BITS} bits with the sign; got {parts}"
        )


def _check_codes(bits: int, mantissa: int, signed: bool, inf: bool, nan: NaNRule, zero: bool) -> None:
    """Raise ValueError unless the special codes go together and leave a finite value that is not zero."""
    wanted = f"`nan` must be another rule than {nan.value!r}"
    if nan is NaNRule.NEGATIVE_ZERO and not signed:
        raise ValueError(f"{wanted} without a sign, since there is no -0; got {nan.value!r}")
    if nan is NaNRule.IEEE and not mantissa:
        raise ValueError(f"{wanted} without a mantissa, which no NaN could have; got {nan.value!r}")
    if not zero and (signed or mantissa):
        raise ValueError("`zero` must be True for a format with a sign or a mantissa; got False")
    nan_codes = {NaNRule.IEEE: (1 << mantissa) - 1, NaNRule.ALL_ONES: 1}.get(nan, 0)
    if (1 << bits) - 1 - nan_codes - inf < zero:
        field = "`inf` must be False" if inf else wanted
        raise ValueError(f"{field}, or no finite value is left but 0; got {inf if inf else nan.value!r}")


def register(fmt: Format, /) -> Format:
    """Make the name of a described format usable wherever a format is named, in this process and from now on.

    Formats of IEEE P3109, tf32 and rows of `lowprec.formats` have their names without a call. The same format may be
    registered again. Nothing is unregistered: plans of calls that named it may be in use.

    Parameters
    ----------
    fmt : Format
        A format that `float_format` returned.

    Returns
    -------
    Format
        The same format.

    Raises
    ------
    TypeError
        If `fmt` is no `Format`.
    ValueError
        If it is no float, or its name belongs to a row, to P3109 or to another registered format.

    Notes
    -----
    Source: lowprec's own rule.

    Examples
    --------
    >>> import lowprec as lp
    >>> fmt = lp.register(lp.float_format("e5m3", exponent_bits=5, mantissa_bits=3))
    >>> lp.as_format("e5m3") is fmt
    True
    """
    if not isinstance(fmt, Format):
        raise TypeError(f"`fmt` must be a Format; got {type(fmt).__name__}")
    if is_in_table(fmt) or _has_its_name(fmt):
        return fmt
    if not fmt.is_float:
        raise ValueError(f"`fmt` must be a float format; got {fmt.name}, which is of kind {fmt.kind.value}")
    row = ROW_NAMES.get(fmt.name)
    if row is not None:
        raise ValueError(f"`fmt` must have a name that no row of lowprec.formats has; got {fmt!r}, the row is {row!r}")
    _check_name(fmt.name, "fmt.name")
    known = REGISTERED.setdefault(fmt.name, fmt)
    if known is not fmt:
        raise ValueError(f"`fmt` must have a name that is not registered; got {fmt!r}, registered is {known!r}")
    return fmt


def _has_its_name(fmt: Format) -> bool:
    """Whether a format is tf32 or one of P3109."""
    try:
        return has_fixed_name(fmt.name) and as_format(fmt.name) is fmt
    except ValueError:
        return False


# ---- descriptions in files


def description_of(fmt: Format) -> dict[str, str | int | bool]:
    """Return the arguments of `float_format` that describe a format, and its name, for a file.

    Examples
    --------
    >>> import lowprec as lp
    >>> description_of(lp.as_format("binary4p2uf"))  # doctest: +NORMALIZE_WHITESPACE
    {'name': 'binary4p2uf', 'exponent_bits': 3, 'mantissa_bits': 1, 'bias': 4, 'signed': False, 'inf': False,
     'nan': 'all-ones', 'zero': True, 'source': 'IEEE P3109 interim report 4.0, 3.1 and 3.2'}
    """
    return {
        "name": fmt.name,
        "exponent_bits": fmt.exponent_bits,
        "mantissa_bits": fmt.mantissa_bits,
        "bias": fmt.bias,
        "signed": fmt.signed,
        "inf": fmt.has_inf,
        "nan": fmt.nan.value,
        "zero": fmt.has_zero,
        "source": fmt.reference,
    }


_DESCRIPTION: dict[str, type] = {
    "name": str, "exponent_bits": int, "mantissa_bits": int, "bias": int, "signed": bool, "inf": bool, "nan": str,
    "zero": bool, "source": str,
}  # fmt: skip


def format_described_by(description: object) -> Format:
    """Return the format of a description that a file carries, or raise ValueError with what is wrong with it.

    A name of P3109 must go with P3109's facts, tf32 with its own, one of a row of ONNX with nothing: these are named,
    not described. What describes a row that ONNX lacks is the row.
    """
    if not isinstance(description, Mapping) or description.keys() != _DESCRIPTION.keys():
        raise ValueError(f"a description of a format must have the entries {', '.join(_DESCRIPTION)}")
    for entry, kind in _DESCRIPTION.items():
        if type(description[entry]) is not kind:
            raise ValueError(f"`{entry}` must be of type {kind.__name__}; got {shown(description[entry])}")
    name, facts = description["name"], {entry: description[entry] for entry in _DESCRIPTION if entry != "name"}
    if not has_fixed_name(name):
        reference = facts.pop("source")
        return float_format(name, **facts, reference=reference)
    fmt = as_format(name, parameter="name")
    if {**description_of(fmt), "source": facts["source"]} != description:
        raise ValueError(f"`name` must be another one than {shown(name)}, which has other facts")
    return fmt


# ---- descriptions as short texts: ``e4m3,bias=8,inf=0,nan=negative-zero``, for a link or a command line

_SPELLED_WIDTHS = re.compile(r"e([0-9]{1,4})m([0-9]{1,4})", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,5}", re.ASCII)
_FLAGS = {"0": False, "1": True, "false": False, "true": True}
_FACTS = ("bias", "signed", "inf", "nan", "zero")


def has_spelled_shape(text: str) -> bool:
    """Whether a text begins as a description does: ``e``, digits, ``m``, digits, then nothing or a comma."""
    return _SPELLED_WIDTHS.fullmatch(_lowered(text).partition(",")[0]) is not None


def float_format_spelled(text: str) -> Format:
    """Return the format that a description describes; it has the shortest spelling of its description as its name.

    A description is the width of exponent and mantissa, ``e4m3``, and those arguments of `float_format` that are not
    the default, each after a comma: ``bias=8``, ``signed=0``, ``inf=0``, ``nan=none``, ``zero=0``. Case and spaces do
    not matter. ValueError says which part is wrong.

    Examples
    --------
    >>> float_format_spelled("E4M3, nan=all-ones, inf=0, bias=7")
    lp.float_format('e4m3,inf=0,nan=all-ones', exponent_bits=4, mantissa_bits=3, bias=7, inf=False, nan='all-ones')
    >>> float_format_spelled("e4m3,nan=some")
    Traceback (most recent call last):
        ...
    ValueError: `nan` must be one of ieee, all-ones, negative-zero, none; got 'some'
    """
    first, *parts = _lowered(text).split(",")
    widths = _SPELLED_WIDTHS.fullmatch(first)
    if widths is None:
        raise ValueError(f"a description must begin with the widths of its fields, as e4m3 does; got {shown(text)}")
    facts: dict[str, object] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or name not in _FACTS:
            raise ValueError(f"each part after the widths must be one of {'=, '.join(_FACTS)}=; got {shown(part)}")
        if name in facts:
            raise ValueError(f"`{name}` must be there once; got {shown(text)}")
        facts[name] = _fact(name, value)
    exponent_bits, mantissa_bits = int(widths[1]), int(widths[2])
    described = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits, **facts}
    return float_format(spelling_of(float_format("description", **described)), **described)  # type: ignore[arg-type]


def _lowered(text: str) -> str:
    return "".join(text.split()).lower()


def _fact(name: str, value: str) -> object:
    if name == "nan":
        return value
    if name == "bias":
        if not _INTEGER.fullmatch(value):
            raise ValueError(f"`bias` must be an integer of at most 5 digits; got {shown(value)}")
        return int(value)
    if value not in _FLAGS:
        raise ValueError(f"`{name}` must be 0 or 1; got {shown(value)}")
    return _FLAGS[value]


def spelling_of(fmt: Format) -> str:
    """Return the shortest description of a float of 2 to 32 bits; it says nothing of the name.

    Examples
    --------
    >>> import lowprec as lp
    >>> spelling_of(lp.as_format("float16")), spelling_of(lp.as_format("binary8p3se"))
    ('e5m10', 'e5m2,bias=16,nan=negative-zero')
    """
    parts = [f"e{fmt.exponent_bits}m{fmt.mantissa_bits}"]
    if fmt.bias != 2 ** (fmt.exponent_bits - 1) - 1:
        parts.append(f"bias={fmt.bias}")
    parts += [f"{name}=0" for name, has in (("signed", fmt.signed), ("inf", fmt.has_inf)) if not has]
    if fmt.nan is not NaNRule.IEEE:
        parts.append(f"nan={fmt.nan.value}")
    return ",".join([*parts, *([] if fmt.has_zero else ["zero=0"])])


# ---- which are converted: those whose every finite value is a float32

_MOST_CONVERTED_BITS = 16
_LARGEST_EXPONENT = 127
_SMALLEST_EXPONENT = -149
"""Of a float32: the exponents of its largest power of two and of its smallest subnormal value."""


def why_not_converted(fmt: Format) -> str:
    """Return why a float is not converted, to follow its name in a message; nothing where it is converted.

    It must have 16 bits or fewer, and float32 must hold its finite values, subnormal ones too. Rows of the table have
    no problem.

    Examples
    --------
    >>> import lowprec as lp
    >>> why_not_converted(lp.as_format("binary8p1uf"))
    ''
    >>> why_not_converted(lp.as_format("binary12p3se"))
    'whose largest value, 8.68441e+76, is not below 2^128, as those of float32 are'
    """
    if not fmt.is_float or is_in_table(fmt):
        return ""
    if fmt.bits > _MOST_CONVERTED_BITS:
        return f"which has {fmt.bits} bits, more than {_MOST_CONVERTED_BITS}"
    smallest = fmt.emin - fmt.mantissa_bits
    if fmt.emax > _LARGEST_EXPONENT:
        return f"whose largest value, {fmt.max:.6g}, is not below 2^{_LARGEST_EXPONENT + 1}, as those of float32 are"
    if smallest < _SMALLEST_EXPONENT:
        return f"whose smallest value, 2^{smallest}, is below 2^{_SMALLEST_EXPONENT}, the smallest of float32"
    return ""


def check_convertible(fmt: Format, parameter: str) -> None:
    """Raise ValueError, which says why, for a described float that no back end converts."""
    if is_in_table(fmt):
        return
    problem = why_not_converted(fmt)
    if problem:
        wanted = "have 16 bits or fewer, and finite values that are float32, to be converted"
        raise ValueError(f"`{parameter}` must {wanted}; got {fmt.name}, {problem}")
