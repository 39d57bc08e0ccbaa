"""The command `lowprec loss`: what converting an array to some formats loses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..checkpoints.containers.array_files import is_archive, read_array, read_members
from ..checkpoints.files.errors import FileError
from ..loss.convert_and_measure import Loss, measure
from ..spec.formats import Format, as_format
from .shared_arguments import number_format, source_format

__all__ = ["add_command"]

SAMPLE = ("_core", "tests", "data", "umath-validation-set-sin.csv")
"""A real array that NumPy's own package carries: reference results of sin for 32-bit floats."""


def _sample() -> tuple[str, np.ndarray[Any, Any]]:
    path = Path(np.__file__).parent.joinpath(*SAMPLE)
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        raise FileError(f"{path}: this NumPy does not carry the sample; name an .npy file") from None
    words = [line.split(",")[2] for line in lines if line.startswith("np.float32,")]
    return f"numpy/{'/'.join(SAMPLE)}", np.array([int(word, 16) for word in words], np.uint32).view(np.float32)


def _arrays(path: Path | None, source: Format | None) -> Iterator[tuple[str, np.ndarray[Any, Any], Format]]:
    if path is None:
        title, array = _sample()
        yield title, array, as_format(array.dtype)
    elif not is_archive(path):
        yield str(path), *read_array(path, source)
    else:
        is_empty = True
        for name, member, fmt in read_members(path, source):
            is_empty = False
            title = f"{path}:{name if name.isprintable() else ascii(name)}"
            if member is None or not isinstance(fmt, Format):
                print(f"{title}: left out; {str(fmt).replace('`source`', '--from')}")
            else:
                yield title, member, fmt
        if is_empty:
            raise FileError(f"{path}: holds no arrays")


_HEADER = "format                  bytes        scale  SQNR dB    max error  saturated    flushed"


def _line(loss: Loss) -> str:
    return (
        f"{loss.format:16} {loss.bytes_after:>12} {loss.scale:>12.6g} {loss.sqnr_db:>8.2f} "
        f"{loss.max_abs_error:>12.6g} {loss.saturated:>10} {loss.flushed:>10}"
    )


def _run(options: argparse.Namespace) -> None:
    targets = [number_format(name.strip(), "--to") for name in options.to.split(",")]
    for title, array, source in _arrays(options.input, source_format(options)):
        losses = [measure(array, fmt, source=source, scaled=options.scale == "tensor") for fmt in targets]
        first = losses[0]
        print(f"{title}: {source.name} {array.shape}, {first.bytes_before} bytes, {first.nan} NaN, {first.inf} Inf")
        print(_HEADER)
        print("\n".join(map(_line, losses)))


def add_command(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    one = commands.add_parser(
        "loss", help="what converting an array to some formats loses",
        description="Print what converting an array to some formats loses. NaN and Inf are counted, and left out of "
        "the errors. bytes: packed. SQNR: the signal's power over the error's. max error: in units of the input. "
        "saturated: elements that round beyond the format's range. flushed: those, not zero, that became zero.",
    )  # fmt: skip
    one.add_argument(
        "input", nargs="?", metavar="FILE", type=Path, help=".npy or .npz (default: an array NumPy carries)"
    )
    one.add_argument("--to", default="float8_e4m3fn,int4,float4_e2m1fn", metavar="F,G,...", help="default: %(default)s")
    one.add_argument(
        "--from", dest="source", metavar="FORMAT",
        help="the format of the codes in FILE (.npz: of the arrays whose header does not name it)",
    )  # fmt: skip
    one.add_argument(
        "--scale", choices=("tensor", "none"), default="tensor",
        help="tensor (default): divide by max|x| / max of the format, clip and round integers to nearest; formats "
        "with the range of float32 are not scaled. none: the plain Cast, where integers truncate and wrap",
    )  # fmt: skip
    one.set_defaults(run=_run)
