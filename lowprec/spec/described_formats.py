"""Formats by description: `float_format`, `register`, and descriptions that files carry."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping

from .arguments import as_flag, as_integer, shown
from .format_text import MOST_BITS
from .formats import ONNX_NAMES, REGISTERED, ROW_NAMES, Format, NaNRule, as_format, described, is_in_table
from .named_floats import has_own_name
from .option_names import NaNCodesName
from .p3109 import has_p3109_shape

__all__ = ["description_of", "float_format", "format_described_by", "register"]

_LONGEST_NAME = 64
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
    if has_own_name(name):
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
        return (has_own_name(fmt.name) or has_p3109_shape(fmt.name)) and as_format(fmt.name) is fmt
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
    if not has_p3109_shape(name) and not has_own_name(name):
        reference = facts.pop("source")
        return float_format(name, **facts, reference=reference)
    fmt = as_format(name, parameter="name")
    if {**description_of(fmt), "source": facts["source"]} != description:
        raise ValueError(f"`name` must be another one than {shown(name)}, which has other facts")
    return fmt
