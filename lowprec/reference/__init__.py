"""The oracle: every conversion in exact fractions, one value at a time. It reads formats and opsets only.

Blocks are arrays. `array_cast`, `array_rounding` and `array_quantize` compute the expected codes of whole arrays.
"""

from .exact_blocks import mx_blocks, mx_values
from .exact_cast import cast, encode, neighbours, ulp
from .exact_nvfp4 import nvfp4_blocks, nvfp4_values
from .exact_quantize import dequantize, dynamic_quantize, precision_of, quantize, scale_index
from .exact_values import Value, decode, exact_decimal, finite_count, magnitude_of
from .philox import random_word
from .rounding import decide_rounded, encode_rounded
from .scale_steps import ScaleStep, linear_scale_steps, mx_scale_steps, nvfp4_scale_steps

__all__ = [
    "ScaleStep",
    "Value",
    "cast",
    "decide_rounded",
    "decode",
    "dequantize",
    "dynamic_quantize",
    "encode",
    "encode_rounded",
    "exact_decimal",
    "finite_count",
    "linear_scale_steps",
    "magnitude_of",
    "mx_blocks",
    "mx_scale_steps",
    "mx_values",
    "neighbours",
    "nvfp4_blocks",
    "nvfp4_scale_steps",
    "nvfp4_values",
    "precision_of",
    "quantize",
    "random_word",
    "scale_index",
    "ulp",
]
