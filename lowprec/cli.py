"""The command line: `lowprec formats`, `explain`, `cast` and `loss`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__, tables
from .build import build_info
from .explanation import explain
from .formats import Format, as_format
from .loss import Loss, measure
from .npy import FileError, read, sidecar, write
from .operators import cast, decode, encode
from .opsets import NEWEST, ROUND_MODES

__all__ = ["main"]

SAMPLE = ("_core", "tests", "data", "umath-validation-set-sin.csv")
"""A real array that NumPy's own package carries: reference results of sin for 32-bit floats."""


def _format(text: str, parameter: str) -> Format:
    return as_format(int(text) if text.isdecimal() else text, parameter=parameter)


def _formats(options: argparse.Namespace) -> None:
    if options.format is None:
        print(tables.markdown_table() if options.markdown else tables.format_table())
        return
    fmt = _format(options.format, "FORMAT")
    print(tables.facts(fmt))
    if 0 < fmt.bits <= 8:
        print(f"\n{tables.code_table(fmt)}")


def _explain(options: argparse.Namespace) -> None:
    print(
        explain(
            options.value,
            _format(options.format, "FORMAT"),
            saturate=options.saturate,
            round_mode=options.round_mode,
            opset=options.opset,
        )
    )


def _check_target(source: Path, target: Path, overwrite: bool) -> None:
    if target.exists() and source.exists() and target.samefile(source):
        raise FileError(f"{target}: must not be the input itself")
    if target.is_dir() or not target.parent.is_dir():
        raise FileError(f"{target}: must be a file name in an existing directory")
    if target.exists() and not overwrite:
        raise FileError(f"{target}: exists; say --overwrite to replace it")


def _cast(options: argparse.Namespace) -> None:
    target = _format(options.to, "--to")
    _check_target(options.input, options.output, options.overwrite)
    array, source = read(options.input, options.source)
    arguments: dict[str, Any] = {
        "source": source, "saturate": options.saturate, "round_mode": options.round_mode, "opset": options.opset,
    }  # fmt: skip
    convert = cast if target.dtype.isbuiltin == 1 else encode
    result = convert(array, target, **arguments)
    write(options.output, result, target)
    held = "" if convert is cast else f" (codes in {result.dtype}, named in {sidecar(options.output).name})"
    print(f"{options.output}: {target.name} {result.shape}, {result.nbytes} bytes{held}")


def _sample() -> tuple[str, np.ndarray[Any, Any]]:
    path = Path(np.__file__).parent.joinpath(*SAMPLE)
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        raise FileError(f"{path}: this NumPy does not carry the sample; name an .npy file") from None
    words = [line.split(",")[2] for line in lines if line.startswith("np.float32,")]
    return f"numpy/{'/'.join(SAMPLE)}", np.array([int(word, 16) for word in words], np.uint32).view(np.float32)


def _arrays(path: Path | None, source: str | None) -> list[tuple[str, np.ndarray[Any, Any]]]:
    if path is None:
        return [_sample()]
    if path.suffix != ".npz":
        array, fmt = read(path, source)
        return [(str(path), np.asarray(array if array.dtype == fmt.dtype else decode(array, fmt)))]
    try:
        with np.load(path, allow_pickle=False) as archive:
            return [(f"{path}:{name}", archive[name]) for name in archive.files]
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{path}: must be a readable .npz archive; {error}") from None


_HEADER = "format                  bytes        scale  SQNR dB    max error  saturated    flushed"


def _line(found: Loss) -> str:
    return (
        f"{found.format:16} {found.bytes_after:>12} {found.scale:>12.6g} {found.sqnr_db:>8.2f} "
        f"{found.max_abs_error:>12.6g} {found.saturated:>10} {found.flushed:>10}"
    )


def _loss(options: argparse.Namespace) -> None:
    targets: list[Format] = [_format(name.strip(), "--to") for name in options.to.split(",")]
    for title, array in _arrays(options.input, options.source):
        found = [measure(array, fmt, scaled=options.scale == "tensor") for fmt in targets]
        first = found[0]
        print(f"{title}: {array.dtype} {array.shape}, {first.bytes_before} bytes, {first.nan} NaN, {first.inf} Inf")
        print(_HEADER)
        print("\n".join(map(_line, found)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lowprec", description="ONNX's low-precision conversions, bit-exact.")
    info = build_info()
    parser.add_argument(
        "--version", action="version",
        version=f"lowprec {__version__} (loops {info['isa']}, OpenMP {info['openmp']}, {info['threads']} threads)",
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    one = commands.add_parser("formats", help="the table of formats; one format's facts and codes")
    one.add_argument("format", nargs="?", metavar="FORMAT", help="a name, ONNX name or ONNX enum value")
    one.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    one.set_defaults(run=_formats)

    rules = argparse.ArgumentParser(add_help=False)
    rules.add_argument("--no-saturate", dest="saturate", action="store_false", help="float8: overflow to NaN or Inf")
    rules.add_argument("--round-mode", choices=ROUND_MODES, help="for power-of-two formats (default: up)")
    rules.add_argument("--opset", type=int, default=NEWEST, metavar="N", help="the ONNX opset (default: %(default)s)")

    one = commands.add_parser("explain", parents=[rules], help="why a number becomes that code of a format")
    one.add_argument("value", metavar="X", help="0.3, 17/23, 0x1.8p+3, inf, -nan (after -- if it starts with -)")
    one.add_argument("format", metavar="FORMAT")
    one.set_defaults(run=_explain)

    one = commands.add_parser("cast", parents=[rules], help="convert an .npy file")
    one.add_argument("input", metavar="IN.npy", type=Path)
    one.add_argument("output", metavar="OUT.npy", type=Path)
    one.add_argument("--to", required=True, metavar="FORMAT")
    one.add_argument("--from", dest="source", metavar="FORMAT", help="the format of the codes in IN.npy")
    one.add_argument("--overwrite", action="store_true", help="replace OUT.npy if it exists")
    one.set_defaults(run=_cast)

    one = commands.add_parser("loss", help="what converting an array to some formats loses")
    one.add_argument(
        "input", nargs="?", metavar="FILE", type=Path, help=".npy or .npz (default: an array NumPy carries)"
    )
    one.add_argument("--to", default="float8_e4m3fn,int4,float4_e2m1fn", metavar="F,G,…", help="default: %(default)s")
    one.add_argument("--from", dest="source", metavar="FORMAT", help="the format of the codes in an .npy FILE")
    one.add_argument(
        "--scale", choices=("tensor", "none"), default="tensor",
        help="divide by max|x| / max of the format and round (default), or none: the plain Cast",
    )  # fmt: skip
    one.set_defaults(run=_loss)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 when done and 1 when it failed, with one line on standard error (2: usage)."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (FileError, TypeError, ValueError, MemoryError) as error:
        print(f"lowprec: {str(error) or 'out of memory'}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stdout = None
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
