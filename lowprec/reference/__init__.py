"""The oracle: every conversion in exact fractions, one value at a time. It reads formats and opsets only.

`operate` and `accumulate` calculate in a format. Blocks are arrays. `array_cast`, `array_rounding` and `array_quantize`
compute the expected codes of whole arrays.
"""

from .accumulation import accumulate
from .arithmetic import operate, relative_error
from .array_accumulation import accumulate_runs
from .binades import Binade, binades
from .cast_chain import CastChain, cast_chain, cast_chain_witness
from .error_curve import ErrorCurve, ErrorPoint, LargestError, error_curve
from .exact_blocks import mx_blocks, mx_values
from .exact_cast import cast, encode, neighbours, ulp
from .exact_nvfp4 import nvfp4_blocks, nvfp4_values
from .exact_quantize import dequantize, dynamic_quantize, precision_of, quantize, scale_index
from .exact_values import Value, decode, exact_decimal, finite_count, magnitude_of
from .format_facts import FormatFacts, format_facts
from .losses import Loss, losses, lost
from .number_text import binade_of, log2
from .overflow import OverflowEdge, overflow_edge, overflow_edges
from .philox import random_word
from .result_error import ResultError, error_of
from .rounding import decide_rounded, encode_rounded
from .scale_steps import ScaleStep, linear_scale_steps, mx_scale_steps, nvfp4_scale_steps
from .value_counts import values_between

__all__ = [
    "Binade",
    "CastChain",
    "ErrorCurve",
    "ErrorPoint",
    "FormatFacts",
    "LargestError",
    "Loss",
    "OverflowEdge",
    "ResultError",
    "ScaleStep",
    "Value",
    "accumulate",
    "accumulate_runs",
    "binade_of",
    "binades",
    "cast",
    "cast_chain",
    "cast_chain_witness",
    "decide_rounded",
    "decode",
    "dequantize",
    "dynamic_quantize",
    "encode",
    "encode_rounded",
    "error_curve",
    "error_of",
    "exact_decimal",
    "finite_count",
    "format_facts",
    "linear_scale_steps",
    "log2",
    "losses",
    "lost",
    "magnitude_of",
    "mx_blocks",
    "mx_scale_steps",
    "mx_values",
    "neighbours",
    "nvfp4_blocks",
    "nvfp4_scale_steps",
    "nvfp4_values",
    "operate",
    "overflow_edge",
    "overflow_edges",
    "precision_of",
    "quantize",
    "random_word",
    "relative_error",
    "scale_index",
    "ulp",
    "values_between",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
