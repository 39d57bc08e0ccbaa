"""Arguments that several commands take: the rounding rules beyond ONNX, and the seed of random numbers."""

from __future__ import annotations

import argparse
from typing import Any

from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, FIRST, NAN_RULES, OVERFLOWS, ROUNDINGS

__all__ = ["rounding_keywords", "rounding_rules"]


def rounding_rules(*, offset: bool = False) -> argparse.ArgumentParser:
    """Return a parent of the parsers of commands that round to floats; `offset` for those that convert one number."""
    rules = argparse.ArgumentParser(add_help=False)
    group = rules.add_argument_group("rounding beyond ONNX (not with --no-saturate, --round-mode or --opset)")
    group.add_argument(
        "--rounding", choices=ROUNDINGS, metavar="RULE",
        help=f"which neighbour a number becomes: {', '.join(ROUNDINGS)} (default: nearest_even, as ONNX rounds)",
    )  # fmt: skip
    group.add_argument(
        "--overflow", choices=OVERFLOWS,
        help="Inf, and what rounds beyond the largest value: that value, the same but Inf stays, or Inf or NaN "
        "(default: sat_finite up to 8 bits, else ovf_inf)",
    )  # fmt: skip
    group.add_argument(
        "--nan", choices=NAN_RULES, help="NaN: with the sign it has, without, 0, or the largest value (default: signed)"
    )
    group.add_argument(
        "--seed", type=int, metavar="N", help="stochastic rounding, which needs one: of the random numbers, 0 to 2^64-1"
    )
    group.add_argument(
        "--random-bits", type=int, default=DEFAULT_RANDOM_BITS, metavar="N",
        help="stochastic rounding: how many random bits decide, 1 to 32 (default: %(default)s)",
    )  # fmt: skip
    if offset:
        group.add_argument(
            "--offset", type=int, default=FIRST, metavar="N",
            help="stochastic rounding: the place of the random number (default: %(default)s, the first)",
        )  # fmt: skip
    return rules


def rounding_keywords(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keywords of `lowprec.cast` that the arguments are."""
    names = ("rounding", "overflow", "nan", "seed", "random_bits", "offset")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}
