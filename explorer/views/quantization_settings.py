"""Settings as short texts that stand in a link: ``nvfp4``, ``mxfp4,rule=floor,block=32``, ``int4,block=32``.

A text is a format or a scheme, then options with an equals sign, in any order and case; `settings_text` has one order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lowprec import Format, as_format
from lowprec.loss import BLOCK_FORMATS
from lowprec.spec.custom_formats import float_format_spelled, has_spelled_shape, why_not_converted
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.p3109 import has_p3109_shape
from lowprec.spec.rounding_modes import ROUND_MODES, ROUNDINGS, STOCHASTIC
from lowprec.spec.scale_rules import SCALE_RULES

from .scales import (
    LINEAR,
    MX,
    NVFP4,
    SCALE_FORMATS,
    TARGETS,
    Settings,
    mx_problem,
    mx_settings,
    nvfp4_settings,
    target_problem,
)

__all__ = ["SUGGESTED", "parse_settings", "settings_text"]

SUGGESTED = (
    *("mxfp4,rule=floor,block=32", "mxfp4,rule=rceil,block=32", "nvfp4", "int4,block=32"),
    *("mxfp4,rule=even,block=32", "mxfp4,rule=floor,block=16", "nvfp4,block=32"),
    *("mxfp6_e2m3,rule=floor,block=32", "mxfp6_e3m2,rule=floor,block=32"),
    *("mxfp8_e4m3,rule=floor,block=32", "mxfp8_e5m2,rule=floor,block=32", "mxint8,rule=floor,block=32"),
    *("float4_e2m1fn,block=32", "float4_e2m1fn,block=16,scale=float16"),
    *("int4,block=32,scale=float16", "uint4,block=32,zero_point=1", "int4,per=tensor"),
    *("float8_e4m3fn,per=tensor", "float8_e5m2,per=tensor", "int8,per=tensor"),
)
"""Texts to begin with; the first four are compared by default."""

_MX_NAMES = {name: fmt for name, fmt in BLOCK_FORMATS.items() if name != NVFP4}
_MX_PREFIX = "mx:"
_OF_A_DESCRIPTION = ("bias", "signed", "inf", "zero", "nan")
_LONGEST = 120
_LONGEST_QUOTED = 30
_BLOCKS = range(1, 257)
_PLACE, _ROUNDING = ("block", "axis"), ("rounding", "seed")


def _wrong(why: str) -> ValueError:
    """Return an error whose text follows the name of a field."""
    return ValueError(f"must be settings such as nvfp4, mxfp4,rule=floor,block=32 or int4,block=32: {why}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + "…")


def _format(name: str) -> Format:
    """Return the format of a row or a description, or raise ValueError."""
    for fmt in TARGETS:
        if fmt.name == name:
            return fmt
    try:
        if has_spelled_shape(name):
            fmt = float_format_spelled(name)
        elif has_p3109_shape(name):
            fmt = as_format(name)
        else:
            raise _wrong(f"{_quoted(name)} is neither a scheme nor a format that tensors are quantized to")
    except ValueError as error:
        raise error if str(error).startswith("must be") else _wrong(str(error).partition("; got")[0]) from error
    if reason := why_not_converted(fmt) or target_problem(fmt):
        raise _wrong(f"{_quoted(name)} {reason}" if reason.startswith("must") else f"{_quoted(name)} is one {reason}")
    return fmt


# ---- options: how each is read, and the names of the field of `Settings`


def _one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return text

    return parse


def _whole(numbers: range) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal() and len(text) < 8):
            raise ValueError(f"a whole number from {numbers[0]} to {numbers[-1]}")
        if int(text) not in numbers:
            raise ValueError(f"from {numbers[0]} to {numbers[-1]}")
        return int(text)

    return parse


def _flag(text: str) -> bool:
    return _one_of(("0", "1"))(text) == "1"


_SCALES = {fmt.name: fmt for fmt in SCALE_FORMATS}

_OPTIONS: dict[str, tuple[str, Callable[[str], Any], Callable[[Any], str]]] = {
    "per": ("granularity", _one_of(("tensor", "axis")), str),
    "rule": ("scale_rule", _one_of(SCALE_RULES), str),
    "block": ("block_size", _whole(_BLOCKS), str),
    "axis": ("axis", _whole(range(-8, 8)), str),
    "scale": ("scale_format", lambda text: _SCALES[_one_of(tuple(_SCALES))(text)], lambda fmt: str(fmt.name)),
    "zero_point": ("asymmetric", _flag, lambda value: str(int(value))),
    "round_mode": ("round_mode", _one_of(ROUND_MODES), str),
    "saturate": ("saturate", _flag, lambda value: str(int(value))),
    "opset": ("opset", _whole(range(21, NEWEST + 1)), str),
    "rounding": ("rounding", _one_of(ROUNDINGS), str),
    "seed": ("rounding_seed", _whole(range(10_000)), str),
}
"""Option -> field of `Settings`, how its text is read, how its value is written; in the order of `settings_text`."""


def _that_apply(settings: Settings) -> list[str]:
    """Return the options that change what the settings do."""
    if settings.scheme == LINEAR:
        names = _of_linear(settings)
    else:
        names = [*(["rule"] if settings.scheme == MX else []), *_PLACE, *_ROUNDING]
    return [name for name in names if name != "seed" or settings.rounding in STOCHASTIC]


def _of_linear(settings: Settings) -> list[str]:
    fmt = settings.fmt
    names = {"tensor": ["per"], "axis": ["per", "axis"], "block": list(_PLACE)}[settings.granularity] + ["scale"]
    names += ["rule"] if settings.has_scale_rule else []
    names += ["zero_point"] if fmt.is_integer else list(_ROUNDING)
    names += ["round_mode"] if settings.has_zero_point and not settings.scale_format.has_zero else []
    in_onnx = fmt.onnx_enum is not None and not settings.rounding_arguments
    names += ["saturate"] if fmt.is_float and fmt.saturates == "asked" and not settings.rounding_arguments else []
    return names + (["opset"] if in_onnx else [])


def parse_settings(text: str) -> Settings:
    """Return the settings of a text; ValueError, to follow the name of a field, where it is none.

    Examples
    --------
    >>> parse_settings("mxfp4,rule=rceil").block_size
    32
    >>> parse_settings("int4, block=16, scale=float16").scale_format.name
    'float16'
    """
    if len(text) > _LONGEST:
        raise _wrong(f"at most {_LONGEST} characters")
    head, *parts = [part.strip() for part in text.strip().lower().split(",")]
    given: dict[str, str] = {}
    for part in parts:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name in _OF_A_DESCRIPTION and equals:
            head += f",{name}={value}"
        elif name not in _OPTIONS or not equals:
            raise _wrong(f"there is no option {_quoted(part)}")
        elif name in given:
            raise _wrong(f"{name} is there twice")
        else:
            given[name] = value
    if "block" in given and "per" in given:
        raise _wrong("one of per and block")
    settings = _of_head(head)
    if settings.scheme == LINEAR and "block" in given:
        settings = replace(settings, granularity="block")
    values = {}
    for name, value in given.items():
        field, parse, _ = _OPTIONS[name]
        try:
            values[field] = parse(value)
        except ValueError as error:
            raise _wrong(f"{name} is {error}") from error
    settings = replace(settings, **values)
    if useless := [name for name in given if name not in _that_apply(settings)]:
        raise _wrong(f"{useless[0]} changes nothing in {_quoted(text.strip())}")
    return settings


def _of_head(head: str) -> Settings:
    if head == NVFP4:
        return nvfp4_settings()
    if head in _MX_NAMES:
        return mx_settings(_MX_NAMES[head])
    if head.startswith(_MX_PREFIX):
        fmt = _format(head.removeprefix(_MX_PREFIX))
        if problem := mx_problem(fmt):
            raise _wrong(f"{_quoted(head)} {problem}")
        return mx_settings(fmt)
    return Settings(_format(head))


def settings_text(settings: Settings) -> str:
    """Return the text of settings: without what changes nothing, and without what is usual but for rule and block.

    Examples
    --------
    >>> settings_text(mx_settings(BLOCK_FORMATS["mxfp4"]))
    'mxfp4,rule=floor,block=32'
    """
    names = {fmt: name for name, fmt in _MX_NAMES.items()}
    fmt = settings.fmt
    head = {LINEAR: fmt.name, MX: names.get(fmt, _MX_PREFIX + fmt.name), NVFP4: NVFP4}[settings.scheme]
    usual = _of_head(head)
    apply, shown = _that_apply(settings), {"per"}
    if settings.scheme == MX or settings.granularity == "block":
        shown |= {"block"} if settings.scheme != NVFP4 else set()
    if settings.scheme == MX:
        shown.add("rule")
    parts = [
        f"{name}={write(getattr(settings, field))}"
        for name, (field, _, write) in _OPTIONS.items()
        if name in apply and (name in shown or getattr(settings, field) != getattr(usual, field))
    ]
    return ",".join([head, *parts])
