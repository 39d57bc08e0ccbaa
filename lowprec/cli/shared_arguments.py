"""Arguments that several commands take: formats, and the rules of rounding."""

from __future__ import annotations

import argparse
import contextlib
import re
from typing import Any

from ..checkpoints.memory_limit import parse_size
from ..spec.formats import NUMBERS, Format, as_format, names_near, one_of
from ..spec.operator_versions import NEWEST
from ..spec.p3109 import has_p3109_shape, p3109_problem
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, NAN_RULES, OVERFLOWS, ROUND_MODES, ROUNDINGS

__all__ = [
    "FOLLOW_LINKS_HELP",
    "FORMAT_HELP",
    "FROM_HELP",
    "PART_HELP",
    "any_format",
    "byte_size",
    "cast_rules",
    "number_format",
    "rounding_keywords",
    "rounding_rules",
    "source_format",
]


FOLLOW_LINKS_HELP = "read files that symbolic links name outside of the checkpoint's folder too"
PART_HELP = "take a part of a model without the others: one file of several, or a folder that lacks shards"
FROM_HELP = ".npy, .npz: the format of codes that the file does not name"
FORMAT_HELP = "a name, ONNX name, ONNX enum value, or a name of IEEE P3109, such as binary8p3se"


def any_format(text: str, parameter: str) -> Format:
    """Return the format that an argument names."""
    with contextlib.suppress(ValueError):
        return as_format(int(text) if re.fullmatch("[0-9]{1,4}", text) else text)
    if has_p3109_shape(text):
        raise ValueError(f"{parameter} {p3109_problem(text)}; got {text!r}")
    near = names_near(text)
    hint = one_of(near) if near else "`lowprec formats` lists them"
    raise ValueError(f"{parameter} must be a format's name, ONNX name or ONNX enum value; got {text!r}; {hint}")


def number_format(text: str, parameter: str) -> Format:
    """Return the format of numbers that an argument names."""
    fmt = any_format(text, parameter)
    if fmt.kind not in NUMBERS:
        raise ValueError(f"{parameter} must be a format of numbers; got {fmt.name}")
    return fmt


def source_format(options: argparse.Namespace) -> Format | None:
    """Return the format that ``--from`` names."""
    return None if options.source is None else number_format(options.source, "--from")


def byte_size(text: str) -> str:
    """Return a size that an argument gives, as it is written."""
    try:
        parse_size(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number of bytes such as 256M or 2G; got {text!r}") from None
    return text


def cast_rules() -> argparse.ArgumentParser:
    """Return a parent of the parsers of commands that cast."""
    rules = argparse.ArgumentParser(add_help=False)
    rules.add_argument("--no-saturate", dest="saturate", action="store_false", help="float8: overflow to NaN or Inf")
    rules.add_argument("--round-mode", choices=ROUND_MODES, help="for power-of-two formats (default: up)")
    rules.add_argument("--opset", type=int, default=NEWEST, metavar="N", help="the ONNX opset (default: %(default)s)")
    return rules


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
