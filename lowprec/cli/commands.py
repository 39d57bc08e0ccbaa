"""The command line: `lowprec formats`, `explain`, `cast` and `loss`; the other commands are added by their modules."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..backends.build_info import build_info
from ..backends.environment import problems
from ..checkpoints.containers.array_files import is_archive, read_array, read_members, write_array
from ..checkpoints.containers.npz_archive import numpy_has
from ..checkpoints.containers.target import check_array_target
from ..checkpoints.files.errors import FileError
from ..loss.array_loss import Loss, measure
from ..ops.cast import cast
from ..ops.codes import encode
from ..reference.explanation import explain
from ..spec.formats import FORMATS, NUMERIC, Format, Kind, as_format
from ..spec.opsets import NEWEST
from ..spec.rounding import ROUND_MODES
from . import explore, tables
from .conformance import add_command as add_conformance
from .convert import add_commands

__all__ = ["main"]

SAMPLE = ("_core", "tests", "data", "umath-validation-set-sin.csv")
"""A real array that NumPy's own package carries: reference results of sin for 32-bit floats."""

_NEGATIVE = re.compile(r"-(\.?\d|inf|nan)", re.IGNORECASE)
"""What argparse shall take for a number, not for an option; its own pattern leaves out -inf, -1/3 and -0x1p-3."""


def _any_format(text: str, parameter: str) -> Format:
    with contextlib.suppress(ValueError):
        return as_format(int(text) if re.fullmatch("[0-9]{1,4}", text) else text)
    key = text.lower().replace("fp", "float")
    close = [name for name in FORMATS if key and key in name] or difflib.get_close_matches(key, FORMATS, 3, 0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else "; `lowprec formats` lists them"
    raise ValueError(f"{parameter} must be a format's name, ONNX name or ONNX enum value; got {text!r}{hint}")


def _format(text: str, parameter: str) -> Format:
    fmt = _any_format(text, parameter)
    if fmt not in NUMERIC:
        raise ValueError(f"{parameter} must be a format of numbers; got {fmt.name}")
    return fmt


def _source(options: argparse.Namespace) -> Format | None:
    return None if options.source is None else _format(options.source, "--from")


def _formats(options: argparse.Namespace) -> None:
    if options.carriers:
        print(tables.carrier_table())
        return
    if options.format is None:
        print(tables.markdown_formats() if options.markdown else FORMATS)
        return
    fmt = _any_format(options.format, "FORMAT")
    print(tables.facts(fmt))
    if 0 < fmt.bits <= 8 and fmt.kind is not Kind.BOOL:
        print(f"\n{tables.code_table(fmt)}")


def _explain(options: argparse.Namespace) -> None:
    fmt = _format(options.format, "FORMAT")
    rules = {"saturate": options.saturate, "round_mode": options.round_mode, "opset": options.opset}
    print(explain(options.value, fmt, **rules))


def _cast(options: argparse.Namespace) -> None:
    target, source = _format(options.to, "--to"), _source(options)
    check_array_target(options.input, options.output, target, options.overwrite)
    array, fmt = read_array(options.input, source)
    rules = {"saturate": options.saturate, "round_mode": options.round_mode, "opset": options.opset}
    own = numpy_has(target)
    result = (cast if own else encode)(array, target, source=fmt, **rules)
    write_array(options.output, result, target, overwrite=options.overwrite)
    carrier = "" if own else f" (codes in {result.dtype})"
    print(f"{options.output}: {target.name} from {fmt.name}, shape {result.shape}, {result.nbytes} bytes{carrier}")


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
                print(f"{title}: left out; {fmt}")
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


def _loss(options: argparse.Namespace) -> None:
    targets = [_format(name.strip(), "--to") for name in options.to.split(",")]
    for title, array, source in _arrays(options.input, _source(options)):
        losses = [measure(array, fmt, source=source, scaled=options.scale == "tensor") for fmt in targets]
        first = losses[0]
        print(f"{title}: {source.name} {array.shape}, {first.bytes_before} bytes, {first.nan} NaN, {first.inf} Inf")
        print(_HEADER)
        print("\n".join(map(_line, losses)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lowprec", description="ONNX's low-precision conversions, bit-exact.")
    info = build_info()
    parser.add_argument(
        "--version", action="version",
        version=f"lowprec {__version__} (loops {info['isa']}, OpenMP {info['openmp']}, {info['threads']} threads)",
    )  # fmt: skip
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    name = "a name, ONNX name or ONNX enum value"

    one = commands.add_parser("formats", help="the table of formats; one format's facts and codes")
    one.add_argument("format", nargs="?", metavar="FORMAT", help=name)
    one.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    one.add_argument("--carriers", action="store_true", help="print, as Markdown, what holds them in each library")
    one.set_defaults(run=_formats)

    rules = argparse.ArgumentParser(add_help=False)
    rules.add_argument("--no-saturate", dest="saturate", action="store_false", help="float8: overflow to NaN or Inf")
    rules.add_argument("--round-mode", choices=ROUND_MODES, help="for power-of-two formats (default: up)")
    rules.add_argument("--opset", type=int, default=NEWEST, metavar="N", help="the ONNX opset (default: %(default)s)")

    one = commands.add_parser("explain", parents=[rules], help="why a number becomes that code of a format")
    one._negative_number_matcher = _NEGATIVE
    one.add_argument("value", metavar="X", help="0.3, -17/23, 0x1.8p+3, inf, -nan")
    one.add_argument("format", metavar="FORMAT", help=name)
    one.set_defaults(run=_explain)

    one = commands.add_parser(
        "cast", parents=[rules], help="convert an array",
        description="Convert an .npy file, or an .npz archive of one array. An .npy input is mapped; the whole result "
        "is held in memory. A format that NumPy lacks is written to an .npz archive as codes, one to an element, with "
        "its name, which `cast`, `loss` and `convert` read.",
    )  # fmt: skip
    one.add_argument("input", metavar="IN", type=Path)
    one.add_argument("output", metavar="OUT", type=Path, help=".npy where NumPy has the format, .npz for every format")
    one.add_argument("--to", required=True, metavar="FORMAT", help=name)
    one.add_argument("--from", dest="source", metavar="FORMAT", help="the format of codes that IN does not name")
    one.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    one.set_defaults(run=_cast)

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
    one.set_defaults(run=_loss)
    add_conformance(commands)
    explore.add_parser(commands)
    add_commands(commands, rules, _format)
    return parser


def _run(arguments: Sequence[str] | None) -> None:
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
        if options.run is _formats and (options.markdown or options.carriers) and options.format is not None:
            parser.error("formats: --markdown and --carriers are for whole tables; leave FORMAT out")
        options.run(options)
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where an error can still be reported


def _drop_output() -> None:
    """Send what is left in standard output's buffer nowhere: Python would fail again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 when done, 1 when it failed and 130 on Ctrl-C, with a line on standard error.

    Wrong usage raises SystemExit with 2, as argparse does.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may not be text in the terminal's encoding
    if problems:  # of environment variables: reported when they were read
        return 1
    try:
        _run(arguments)
        return 0
    except BrokenPipeError:  # the reader of our output has seen enough
        _drop_output()
        return 1
    except KeyboardInterrupt:
        status, text = 130, "interrupted"
    except MemoryError:
        status, text = 1, "not enough memory"
    except OSError as error:
        if error.filename is None:
            _drop_output()
        status, text = 1, f"{error.filename or 'standard output'}: {error.strerror}"
    except (FileError, TypeError, ValueError) as error:
        status, text = 1, str(error)
    print("lowprec:", " ".join(text.splitlines()), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
