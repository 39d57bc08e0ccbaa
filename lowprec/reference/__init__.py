"""The oracle: every conversion in exact fractions, one value at a time. It reads formats and opsets only.

`operate` and `accumulate` calculate in a format. Blocks are arrays. `array_cast`, `array_rounding` and `array_quantize`
compute the expected codes of whole arrays.
"""

from .accumulation import accumulate
from .arithmetic import operate, relative_error
from .array_accumulation import accumulate_runs
from .exact_blocks import mx_blocks, mx_values
from .exact_cast import cast, encode, neighbours, ulp
from .exact_nvfp4 import nvfp4_blocks, nvfp4_values
from .exact_quantize import dequantize, dynamic_quantize, precision_of, quantize, scale_index
from .exact_values import Value, decode, exact_decimal, finite_count, magnitude_of
from .philox import random_word
from .rounding import decide_rounded, encode_rounded

__all__ = [
    "Value",
    "accumulate",
    "accumulate_runs",
    "cast",
    "decide_rounded",
    "decode",
    "dequantize",
    "dynamic_quantize",
    "encode",
    "encode_rounded",
    "exact_decimal",
    "finite_count",
    "magnitude_of",
    "mx_blocks",
    "mx_values",
    "neighbours",
    "nvfp4_blocks",
    "nvfp4_values",
    "operate",
    "precision_of",
    "quantize",
    "random_word",
    "relative_error",
    "scale_index",
    "ulp",
]
