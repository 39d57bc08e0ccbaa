"""How a tensor is quantized: the scheme, what shares a scale, and the scales and zero points of QuantizeLinear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format, as_format
from lowprec.loss import BLOCK_FORMATS
from lowprec.ops.scales import largest_magnitudes, scale_codes
from lowprec.spec import formats
from lowprec.spec.custom_formats import float_format_spelled, has_spelled_shape, why_not_converted
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.p3109 import has_p3109_shape
from lowprec.spec.rounding_modes import ROUND_MODES, ROUNDINGS, STOCHASTIC, RoundModeName
from lowprec.spec.scale_rules import SCALE_RULES, ScaleRuleName

__all__ = [
    "GRANULARITIES",
    "LINEAR",
    "MX",
    "MX_FORMATS",
    "NVFP4",
    "SCALE_FORMATS",
    "SCHEMES",
    "SUGGESTED",
    "TARGETS",
    "Settings",
    "axis_of",
    "choose",
    "mx_problem",
    "mx_settings",
    "nvfp4_settings",
    "parse_settings",
    "scale_sentences",
    "settings_text",
    "target_problem",
]

Array = np.ndarray[Any, Any]

SCHEMES = LINEAR, MX, NVFP4 = ("linear", "mx", "nvfp4")
"""How a tensor is quantized: as QuantizeLinear does, to blocks of OCP MX, or to NVFP4."""

TARGETS: tuple[Format, ...] = (
    *(formats.FLOAT8_E4M3FN, formats.FLOAT8_E4M3FNUZ, formats.FLOAT8_E5M2, formats.FLOAT8_E5M2FNUZ),
    *(formats.FLOAT6_E2M3FN, formats.FLOAT6_E3M2FN, formats.FLOAT4_E2M1FN),
    *(formats.INT8, formats.UINT8, formats.INT16, formats.UINT16),
    *(formats.INT4, formats.UINT4, formats.INT2, formats.UINT2),
)
"""The formats QuantizeLinear-28 produces: floats by width, then integers."""

MX_FORMATS: tuple[Format, ...] = (
    *(formats.FLOAT8_E4M3FN, formats.FLOAT8_E5M2, formats.FLOAT6_E2M3FN, formats.FLOAT6_E3M2FN),
    *(formats.FLOAT4_E2M1FN, formats.INT8, formats.FLOAT8_E4M3FNUZ, formats.FLOAT8_E5M2FNUZ),
)
"""The formats of elements of MX blocks: those of OCP MX, int8 among them as MXINT8, then two that it does not have."""

_MOST_BITS = 8
"""Of the described formats that quantize_linear produces, outside ONNX."""

SCALE_FORMATS: tuple[Format, ...] = (formats.FLOAT32, formats.FLOAT16, formats.BFLOAT16, formats.FLOAT8_E8M0FNU)
"""The float formats of a scale."""

GRANULARITIES = ("tensor", "axis", "block")
"""What shares a scale: the whole tensor, a slice along the axis, a run of `block_size` along the axis."""


def target_problem(fmt: Format) -> str:
    """Return what is wrong with a described format to quantize to; nothing where it can be."""
    if fmt.bits > _MOST_BITS:
        return f"must have at most {_MOST_BITS} bits to be quantized to; {fmt.name} has {fmt.bits}"
    return "" if fmt.has_zero else f"must have a zero to be quantized to; {fmt.name} has none"


def mx_problem(fmt: Format) -> str:
    """Return what is wrong with a format as that of the elements of MX blocks; nothing where it can be."""
    if fmt == formats.INT8 or (fmt.is_float and not target_problem(fmt)):
        return ""
    return f"must be a float or int8 to be the format of MX elements; got {fmt.name}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a tensor is quantized.

    `asymmetric` gives integers a zero point, so that the smallest and largest element reach the ends of the format.
    `round_mode` rounds scales that are powers of two where there are zero points; else `scale_rule` chooses them.
    `rounding` is that of the elements, of floats and of all MX elements; `rounding_seed` counts where it is stochastic.
    """

    fmt: Format
    granularity: str = "tensor"
    axis: int = -1
    block_size: int = 32
    scale_format: Format = SCALE_FORMATS[0]
    asymmetric: bool = False
    round_mode: RoundModeName = "up"
    saturate: bool = True
    opset: int = NEWEST
    scale_rule: ScaleRuleName = SCALE_RULES[0]
    rounding: str = ROUNDINGS[0]
    rounding_seed: int = 0
    scheme: str = LINEAR

    @property
    def has_zero_point(self) -> bool:
        """Whether there are zero points: floats and blocks of MX have none."""
        return self.scheme == LINEAR and self.asymmetric and self.fmt.is_integer

    @property
    def has_scale_rule(self) -> bool:
        """Whether the scales are powers of two that a scale rule chooses; for unsigned formats it is always floor."""
        return not self.scale_format.has_zero and not self.has_zero_point and self.fmt.signed

    @property
    def takes_rounding(self) -> bool:
        """Whether `rounding` concerns the elements: integers of QuantizeLinear are rounded to nearest even."""
        return self.scheme != LINEAR or self.fmt.is_float

    @property
    def rounding_arguments(self) -> dict[str, Any]:
        """The arguments of the library for the rounding; none for the default."""
        if not self.takes_rounding or self.rounding == ROUNDINGS[0]:
            return {}
        seed = {"seed": self.rounding_seed} if self.rounding in STOCHASTIC else {}
        return {"rounding": self.rounding, **seed}

    @property
    def block(self) -> int:
        """The attribute: 0 where the scales are no blocks'."""
        return self.block_size if self.granularity == "block" else 0


def mx_settings(fmt: Format, block_size: int = 32, axis: int = -1, **options: Any) -> Settings:
    """Return the settings of OCP MX; `options` are `scale_rule`, `rounding` and `rounding_seed`."""
    return Settings(fmt, "block", axis, block_size, scale_format=formats.FLOAT8_E8M0FNU, scheme=MX, **options)


def nvfp4_settings(block_size: int = 16, axis: int = -1, **options: Any) -> Settings:
    """Return the settings of NVFP4; `options` are `rounding` and `rounding_seed`."""
    scales = formats.FLOAT8_E4M3FN
    return Settings(formats.FLOAT4_E2M1FN, "block", axis, block_size, scale_format=scales, scheme=NVFP4, **options)


def axis_of(settings: Settings, rank: int) -> int:
    """Return the axis from 0 up; ValueError where a tensor of that rank has none such."""
    if not -rank <= settings.axis < rank:
        raise ValueError(f"`axis` must be from {-rank} to {rank - 1} for {rank} dimensions; got {settings.axis}")
    return settings.axis % rank


def choose(x: Array, settings: Settings) -> tuple[Array, Array | None]:
    """Return scales in their format, and zero points in the target's, for elements that QuantizeLinear takes.

    Without zero points the scales are those of `lowprec.absmax_scale`, by whose rule unsigned targets get theirs too.
    With zero points both are those of `lowprec.minmax_scale`; a scale in another format than float32 is rounded once
    more, and kept between that format's smallest and largest positive value.
    """
    fmt, kept, shared = settings.fmt, settings.scale_format, {}
    rule = settings.scale_rule if settings.has_scale_rule else SCALE_RULES[0]
    if settings.granularity != "tensor":
        shared = {"axis": axis_of(settings, x.ndim), "block_size": settings.block}
    if not settings.has_zero_point:
        return scale_codes(largest_magnitudes(x, **shared), fmt, kept, rule).view(kept.dtype), None
    scale, zero_point = lp.minmax_scale(x, fmt, **shared)
    if kept != SCALE_FORMATS[0]:
        ends = lp.finfo(kept)
        scale = lp.cast(np.clip(scale, ends.smallest_subnormal, ends.max), kept, round_mode=settings.round_mode)
    return np.asarray(scale), np.asarray(zero_point)


SUGGESTED = (
    *("int4,block=128", "nvfp4", "mxfp4,rule=floor,block=32", "mxfp4,rule=rceil,block=32", "int4,block=32"),
    *("mxfp4,rule=even,block=32", "mxfp4,rule=floor,block=16", "nvfp4,block=32"),
    *("mxfp6_e2m3,rule=floor,block=32", "mxfp6_e3m2,rule=floor,block=32"),
    *("mxfp8_e4m3,rule=floor,block=32", "mxfp8_e5m2,rule=floor,block=32", "mxint8,rule=floor,block=32"),
    *("float4_e2m1fn,block=32", "float4_e2m1fn,block=16,scale=float16"),
    *("int4,block=32,scale=float16", "uint4,block=32,zero_point=1", "int4,per=tensor"),
    *("float8_e4m3fn,per=tensor", "float8_e5m2,per=tensor", "int8,per=tensor"),
)
"""Texts to begin with; the first three are compared by default."""

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


_OF_OCP = 6
"""The first of `MX_FORMATS` are those of OCP MX 1.0."""

_BLOCK_OF_OCP = 32

_FORMULAS = {
    "floor": "⌊log₂ a⌋ − emax",
    "ceil": "⌈log₂ a⌉ − emax",
    "rceil": "⌈log₂(a / M)⌉",
    "even": "⌊log₂ a′⌋ − emax",
    "nearest": "⌊log₂ a + ½⌋ − emax",
}
_WITHOUT_OVERFLOW = ("ceil", "rceil")
_LETTERS = {
    "a": "a is the largest |x| that shares the scale",
    "′": "a′ is a rounded to the significant bits of the format, ties away from zero",
    "emax": "2^emax is the largest power of two of the format",
    "M": "M is the largest value of the format",
}


def _power(rule: str) -> str:
    formula = _FORMULAS[rule]
    letters = ", ".join(meaning for letter, meaning in _LETTERS.items() if letter in formula)
    sentence = f"Each scale is 2^E by the rule {rule}: E = {formula}, where {letters}."
    return f"{sentence} While E is at most 127, nothing saturates." if rule in _WITHOUT_OVERFLOW else sentence


def scale_sentences(settings: Settings) -> str:
    """Return how the scales are chosen, and the zero points where there are some."""
    if settings.scheme == NVFP4:
        return (
            "Each scale is (a / 6) / g in float8_e4m3fn, where a is the largest |x| of the block and "
            "g, the global scale, the largest |x| of the tensor over 6 · 448, in float32."
        )
    if settings.scheme == MX:
        sentences = [_power(settings.scale_rule)]
        if settings.fmt not in MX_FORMATS[:_OF_OCP]:
            sentences.append(f"OCP MX 1.0 has no elements in {settings.fmt.name}.")
        if settings.block_size != _BLOCK_OF_OCP:
            sentences.append(f"OCP MX 1.0 has blocks of {_BLOCK_OF_OCP}.")
        return " ".join(sentences)
    assert settings.scheme == LINEAR
    if settings.has_zero_point:
        ends = "Each scale and zero point map the smallest and the largest x to the ends of the format."
        if settings.scale_format.has_zero:
            return ends
        return f"{ends} The scale is then rounded to a power of two by the round_mode {settings.round_mode}."
    if not settings.scale_format.has_zero:
        return _power(settings.scale_rule if settings.has_scale_rule else "floor")
    return "Each scale maps the largest |x| to the largest value of the format."
