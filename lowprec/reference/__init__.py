"""The oracle: every conversion in exact fractions, one value at a time. It reads formats and opsets only.

`array_cast` and `array_quantize` compute the expected codes of whole arrays from it.
"""

from .exact_cast import (
    Value,
    cast,
    decode,
    encode,
    exact_decimal,
    finite_count,
    magnitude_of,
    neighbours,
    ulp,
)
from .exact_quantize import dequantize, dynamic_quantize, precision_of, quantize, scale_index

__all__ = [
    "Value",
    "cast",
    "decode",
    "dequantize",
    "dynamic_quantize",
    "encode",
    "exact_decimal",
    "finite_count",
    "magnitude_of",
    "neighbours",
    "precision_of",
    "quantize",
    "scale_index",
    "ulp",
]
