"""The names, shapes and description that gpt-oss in MXFP4 has for weights of experts that are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...spec.formats import UINT8
from ..schemes.scheme import Scheme
from .output import CODES, SCALES, Output

__all__ = ["NAME", "describe", "outputs"]

NAME = "gpt-oss MXFP4"

KEPT = ("model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head")
"""What the published models say that they keep."""


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the codes, in bytes of two, and the exponents of the scales; `shape` is experts, rows, columns."""
    group = scheme.grid.columns
    *rows, columns = shape
    yield Output(CODES, f"{name}_blocks", UINT8, (*rows, columns // group, scheme.row_bytes(group)))
    yield Output(SCALES, f"{name}_scales", UINT8, (*rows, columns // group))


def describe(scheme: Scheme, ignore: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the entry ``quantization_config`` of config.json: experts that are kept come after what always is."""
    kept = [*KEPT, *(module for module in ignore if module.endswith(".experts"))]
    return {"quantization_config": {"modules_to_not_convert": kept, "quant_method": "mxfp4"}}
