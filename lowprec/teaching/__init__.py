"""Lessons on numbers of few bits: arithmetic, sums, chains of casts and errors, step by step, in exact fractions.

The explorer's pages and notebooks compute with them; `lowprec.reference` rounds.
"""

from ..explanation import LossSentence, losses, lost
from .accumulation import accumulate, accumulate_runs
from .arithmetic import ResultError, error_of, operate, relative_error
from .cast_chain import CastChain, cast_chain, cast_chain_witness
from .error_curve import ErrorCurve, ErrorPoint, LargestError, error_curve
from .format_facts import (
    Binade,
    FormatFacts,
    OverflowEdge,
    binades,
    format_facts,
    overflow_edge,
    overflow_edges,
    values_between,
)
from .held_values import HeldBinade, HeldValues, values_held
from .scale_steps import ScaleStep, linear_scale_steps, mx_scale_steps, nvfp4_scale_steps

__all__ = [
    "Binade",
    "CastChain",
    "ErrorCurve",
    "ErrorPoint",
    "FormatFacts",
    "HeldBinade",
    "HeldValues",
    "LargestError",
    "LossSentence",
    "OverflowEdge",
    "ResultError",
    "ScaleStep",
    "accumulate",
    "accumulate_runs",
    "binades",
    "cast_chain",
    "cast_chain_witness",
    "error_curve",
    "error_of",
    "format_facts",
    "linear_scale_steps",
    "losses",
    "lost",
    "mx_scale_steps",
    "nvfp4_scale_steps",
    "operate",
    "overflow_edge",
    "overflow_edges",
    "relative_error",
    "values_between",
    "values_held",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
