"""What engines do not read of weights that are stored as their layout says, or read wrongly: known versions of them.

tests/checkpoints/check_readers.py runs these versions on what recipes write, and docs/checkpoints/readers.md has its
table, with which tests/checkpoints/checking/test_readers.py compares this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..schemes.scheme import GlobalScale, Packing, Scheme
from .finding import READERS, Finding
from .subject import Subject, module_of

__all__ = ["TRANSFORMERS", "VLLM", "check_readers", "is_of_expert", "limits"]

TRANSFORMERS, VLLM = "transformers 5.23.0", "vLLM 0.33.0"

_EXPERT = re.compile(r"(^|\.)experts\.\d+\.")


class Limit(NamedTuple):
    """What an engine makes of some weights: its name and version, and what happens."""

    engine: str
    text: str

    def __str__(self) -> str:
        return f"{self.engine} {self.text}"


def is_of_expert(name: str) -> bool:
    """Whether a tensor belongs to one of the experts of a layer, by its name."""
    return bool(_EXPERT.search(name))


def limits(method: str, scheme: Scheme, *, experts: bool, zero_points: bool = False) -> Iterator[Limit]:
    """Yield what engines do not read.

    Parameters
    ----------
    method : str
        The quantization method that config.json names, or "ComfyUI".
    scheme : Scheme
        How the weights are stored.
    experts : bool
        Whether they are weights of experts.
    zero_points : bool
        Whether they have zero points.
    """
    if method == "ComfyUI" or method.startswith("modelopt"):
        if scheme.packing is Packing.NONE:
            yield Limit(TRANSFORMERS, "ignores the scales and takes the codes for values")
        else:
            yield Limit(TRANSFORMERS, "does not load them: shapes of codes are not those of weights")
    if method == "ComfyUI":
        yield Limit(VLLM, "has no parameters for comfy_quant and fails")
    if method.startswith("modelopt") and experts and scheme.grid.rows == 1 and not scheme.grid.columns:
        yield Limit(VLLM, "does not load experts with a scale to a row")
    if method == "compressed-tensors" and experts:
        yield from _experts(scheme, zero_points)


def _experts(scheme: Scheme, zero_points: bool) -> Iterator[Limit]:
    """Yield what transformers, which stacks experts while it loads them, does not read of compressed-tensors."""
    if scheme.packing is Packing.NONE and scheme.codes.is_integer:
        yield Limit(TRANSFORMERS, "does not load int8 experts")
    elif scheme.packing is Packing.NONE and (scheme.grid.rows > 1 or scheme.grid.columns):
        yield Limit(TRANSFORMERS, "does not load FP8 experts with scales to blocks or groups")
    elif scheme.global_scale is not GlobalScale.NONE:
        yield Limit(TRANSFORMERS, "loads NVFP4 experts without weight_global_scale: their values are wrong")
    elif zero_points:
        yield Limit(TRANSFORMERS, "does not load experts with zero points")


def check_readers(subject: Subject) -> Iterator[Finding]:
    """Look for what known versions of engines do not load, or load with other values: a finding to each."""
    if not subject.is_model:
        return
    found: dict[Limit, list[str]] = {}
    for weight in subject.weights:
        experts, zero_points = is_of_expert(weight.name), weight.zero_points is not None
        for one in limits(subject.method, weight.scheme, experts=experts, zero_points=zero_points):
            found.setdefault(one, []).append(module_of(weight.name))
    for one, modules in found.items():
        yield Finding(READERS, False, modules[0], str(one), len(modules))
