"""The oracle: every conversion in exact fractions, one value at a time. It reads formats and opsets only.

Blocks are arrays. `whole_arrays` computes the expected codes of whole arrays.
`lowprec.teaching` calculates with it: sums, chains of casts, errors.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..spec.old_names import find_moved as _find_moved
from .exact_blocks import mx_blocks, mx_values, nvfp4_blocks, nvfp4_values
from .exact_cast import cast, decide_rounded, encode, encode_rounded, neighbours, ulp
from .exact_quantize import dequantize, dynamic_quantize, precision_of, quantize, scale_index
from .philox import random_word
from .values import Value, binade_of, decode, exact_decimal, finite_count, log2, magnitude_of

__all__ = [
    "Value",
    "binade_of",
    "cast",
    "decide_rounded",
    "decode",
    "dequantize",
    "dynamic_quantize",
    "encode",
    "encode_rounded",
    "exact_decimal",
    "finite_count",
    "log2",
    "magnitude_of",
    "mx_blocks",
    "mx_values",
    "neighbours",
    "nvfp4_blocks",
    "nvfp4_values",
    "precision_of",
    "quantize",
    "random_word",
    "scale_index",
    "ulp",
]

_MOVED = {
    name: f"lowprec.teaching.{name}"
    for name in (
        "Binade", "CastChain", "ErrorCurve", "ErrorPoint", "FormatFacts", "LargestError", "OverflowEdge", "ResultError",
        "ScaleStep", "accumulate", "accumulate_runs", "binades", "cast_chain", "cast_chain_witness", "error_curve",
        "error_of", "format_facts", "linear_scale_steps", "losses", "lost", "mx_scale_steps", "nvfp4_scale_steps",
        "operate", "overflow_edge", "overflow_edges", "relative_error", "values_between",
    )
} | {"Loss": "lowprec.teaching.LossSentence", "array_cast": "lowprec.reference.whole_arrays"}  # fmt: skip
"""What this package had, and where it is now."""


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return what is elsewhere now, most of it in `lowprec.teaching`, with a warning."""
        return _find_moved(__name__, name, _MOVED)
