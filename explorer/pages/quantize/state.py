"""The state of Quantize."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lowprec.loss import BLOCK_FORMATS
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUND_MODES, ROUNDINGS
from lowprec.spec.scale_rules import SCALE_RULES

from ...shared.format_names import format_named
from ...shared.link import choice, choices, flag, format_name, integer, number, text, texts
from ...shared.page import FLOAT, NARROW, PageState, Selection, at_an_opset, has_field_value
from .bytes_view import LAYOUTS
from .product_view import INPUTS
from .settings import (
    GRANULARITIES,
    MX,
    NVFP4,
    SCALE_FORMATS,
    SCHEMES,
    SUGGESTED,
    TARGETS,
    Settings,
    mx_problem,
    mx_settings,
    nvfp4_settings,
    parse_settings,
    settings_text,
    target_problem,
)
from .sweep_view import SWEEP_RULES
from .tensor import DISTRIBUTIONS, MOST_ELEMENTS

__all__ = ["DRAWN", "MOST_SIDE_BY_SIDE", "ORIGINS", "SHOWS", "TARGET_NAMES", "Quantize"]

TARGET_NAMES = tuple(fmt.name for fmt in TARGETS)
ORIGINS = ("picture", "sampled", "typed", "file", "folder")
"""Where a tensor to quantize comes from."""

SHOWS = ("picture", "result", "side-by-side", "sweep", "block", "bytes", "heat-map", "product", "symmetric")
"""What is shown of it: the picture alone, or a section below it too."""

DRAWN = ("values", "errors")
"""What the pictures of the settings show."""

MOST_SIDE_BY_SIDE = 4


def _checked_settings(text: str) -> str:
    return settings_text(parse_settings(text))


@dataclass(frozen=True, slots=True)
class Quantize(PageState):
    """A small tensor and how it is quantized; a link holds the name of a file's tensor, not the file.

    `folder` is the path of a checkpoint on the machine that runs the explorer, `at` the row and the column of the
    element that is looked at, nothing for the usual one.
    """

    origin: str = choice(ORIGINS[0], ORIGINS)
    x: str = text("0.1 -0.7 3 0.25; 5 -9 0.5 0; 0.01 0.02 -0.03 1", 3000)
    distribution: str = choice(DISTRIBUTIONS[0], DISTRIBUTIONS)
    rows: int = integer(32, range(1, 257))
    columns: int = integer(64, range(1, 257))
    spread: float = number(1.0, 1e-30, 1e30)
    seed: int = integer(0, range(10_000))
    tensor: str = text("", 200)
    fmt: str = format_name(NARROW, TARGET_NAMES, target_problem)
    per: str = choice("block", GRANULARITIES)
    axis: int = integer(-1, range(-8, 8))
    block: int = integer(32, range(1, 257))
    scale: str = choice(FLOAT, tuple(fmt.name for fmt in SCALE_FORMATS))
    round_mode: str = choice("up", ROUND_MODES)
    zero_point: bool = flag(False)
    saturate: bool = flag(True)
    opset: int = integer(NEWEST, range(21, NEWEST + 1))
    scheme: str = choice(SCHEMES[0], SCHEMES)
    scale_rule: str = choice(SCALE_RULES[0], SCALE_RULES)
    rounding: str = choice(ROUNDINGS[0], ROUNDINGS)
    rounding_seed: int = integer(0, range(10_000))
    show: str = choice(SHOWS[0], SHOWS)
    compared: tuple[str, ...] = texts(SUGGESTED[:3], _checked_settings, MOST_SIDE_BY_SIDE)
    sweep_formats: tuple[str, ...] = choices(("mxfp4", NVFP4), tuple(BLOCK_FORMATS))
    sweep_rules: tuple[str, ...] = choices(SCALE_RULES, SWEEP_RULES)
    block_index: int = integer(0, range(MOST_ELEMENTS))
    without_largest: bool = flag(False)
    folder: str = text("", 1000)
    at: str = text("", 20)
    drawn: str = choice(DRAWN[0], DRAWN)
    layout: str = choice(LAYOUTS[0], LAYOUTS)
    inputs: str = choice(INPUTS[0], INPUTS)
    inputs_seed: int = integer(0, range(10_000))

    @property
    def usual_place(self) -> str:
        """The row and the column that are looked at where `at` says nothing: in the picture, the light on the water."""
        return "53,88" if self.origin == ORIGINS[0] else "0,0"

    def settings(self) -> Settings:
        """Return how the tensor is quantized in the sections of one setting; NVFP4 has blocks of 16."""
        rounding: dict[str, Any] = {"rounding": self.rounding, "rounding_seed": self.rounding_seed}
        if self.scheme == NVFP4:
            return nvfp4_settings(axis=self.axis, **rounding)
        if self.scheme == MX:
            options: dict[str, Any] = {"scale_rule": self.scale_rule, **rounding}
            return mx_settings(format_named(self.fmt), self.block, self.axis, **options)
        rounding |= {"round_mode": self.round_mode, "scale_rule": self.scale_rule}
        return Settings(
            format_named(self.fmt),
            self.per,
            self.axis,
            self.block,
            format_named(self.scale),
            self.zero_point,
            saturate=self.saturate,
            opset=self.opset,
            **rounding,
        )

    def selection(self) -> Selection:
        """Return the format; that of NVFP4 is not chosen."""
        return Selection(None, self.settings().fmt.name)

    def with_selection(self, number: str | None, name: str | None) -> Quantize:
        """Return the state with a format, if tensors are quantized to it."""
        if name is None or not has_field_value(self, "fmt", name):
            return self
        if self.scheme == MX and mx_problem(format_named(name)):
            return self
        return at_an_opset(replace(self, fmt=name))
