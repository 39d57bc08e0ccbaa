"""Floats that neither ONNX nor IEEE P3109 has and that go by a name of their own: TF32."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from .nan_rules import NaNRule

__all__ = ["NAMED_FLOATS", "NamedFloat", "has_own_name"]


class NamedFloat(NamedTuple):
    """The facts of such a float, under the names of the fields of a `Format`."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool
    has_inf: bool
    nan: NaNRule
    reference: str


NAMED_FLOATS = MappingProxyType(
    {
        "tf32": NamedFloat(
            "tf32", 8, 10, 127, True, True, NaNRule.IEEE, "NVIDIA A100 Tensor Core GPU Architecture (2020), TF32"
        )
    }
)
"""Each by its name in lower case."""


def has_own_name(name: str) -> bool:
    """Whether a name is that of such a float, in any case."""
    return name.lower() in NAMED_FLOATS
