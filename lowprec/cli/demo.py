"""The command `lowprec demo`: sizes, losses and times of some conversions of a checkpoint and of a plain copy."""

from __future__ import annotations

import argparse
import json
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checkpoints.files.errors import FileError, reason
from ..checkpoints.files.limits import parse_size
from ..checkpoints.progress import size_text
from ..checkpoints.report import plain
from ..spec.counted_text import count_text
from ..spec.formats import BFLOAT16, FLOAT8_E4M3FN
from ..spec.text_tables import aligned_table
from .format_arguments import byte_size

if TYPE_CHECKING:
    from .demo_comparison import Comparison, Result

__all__ = ["add_command"]

_DESCRIPTION = """\
Convert a checkpoint in a few ways, and print sizes, losses and times in a table,
next to those of a plain copy that takes turns with the conversions. Without
PATH, the checkpoint is a synthetic one: a Llama of two layers whose weights have
heavy tails and outlier channels, made from a fixed seed. PATH is a .safetensors,
.gguf, .npy, .npz or .onnx file or a folder with .safetensors; nothing is written
next to it. Outputs go to a temporary folder, which is removed at the end, and
when the command fails or is interrupted.
"""

_EXAMPLES = """\
examples:
  lowprec demo
  lowprec demo --keep demo-output
  lowprec demo llama/

exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted
"""

WIDTH = 96
"""Of lines, at most."""

SMALL = 4 << 20
"""Of fewer bytes, times say little about speed."""

ORIGINAL = "original"
"""The folder of the synthetic checkpoint, next to its conversions."""


def _demo(usage: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    from .demo_comparison import Comparison, work_folder
    from .demo_conversions import find_checkpoint

    if options.path is not None and options.size is not None:
        usage.error("argument --size: not allowed with argument PATH")
    source, keep = options.path, options.keep
    checkpoint = None if source is None else find_checkpoint(source, options.follow_links)
    with work_folder(source, keep) as folder:
        if checkpoint is None:
            checkpoint = find_checkpoint(_synthetic(folder / ORIGINAL, options.size or "64M"))
        comparison = Comparison(checkpoint, folder, keep is not None)
        if not options.json:
            print(_heading(comparison, source, folder.parent.parent), flush=True)
        comparison.run()
    if options.json:
        print(json.dumps(_as_dict(comparison, source, keep), indent=2))
    else:
        print(
            "\n".join(
                ["", _table(comparison), "", *_legend(comparison, source is None), "", *_next(comparison, source, keep)]
            )
        )


def _synthetic(folder: Path, size: str) -> Path:
    """Write the synthetic checkpoint."""
    from ..checkpoints.synthetic_model import nbytes_of, width_of, write_model
    from .demo_comparison import check_space

    width = width_of(parse_size(size))
    check_space(folder.parent, 2 * nbytes_of(width))
    try:
        folder.mkdir()
        write_model(folder, width)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{folder}: cannot be written; {reason(error)}") from None
    return folder


def _shown(path: Path) -> str:
    return str(path) if str(path).isprintable() else ascii(str(path))


def _heading(comparison: Comparison, source: Path | None, where: Path) -> str:
    """Return what is converted, how often and where."""
    from ..checkpoints.synthetic_model import DESCRIPTION, LAYERS

    size = size_text(comparison.nbytes)
    lines = [f"{_shown(source)}: {size}"] if source is not None else [
        f"Synthetic checkpoint: a Llama of {LAYERS} layers in {BFLOAT16.name}, {size}.", DESCRIPTION,
    ]  # fmt: skip
    often = "3 times each; medians count" if comparison.rounds > 1 else "once each"
    n = count_text(len(comparison.results), "conversion")
    lines.append(f"{n} and a plain copy take turns in {_shown(where)}, {often}.")
    needed = comparison.needed + (comparison.nbytes if source is None else 0)
    lines.append(f"They use up to {size_text(needed)} of that disk.")
    return "\n".join(lines)


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s" if seconds < 100 else f"{seconds:.0f} s"


def _row(result: Result, comparison: Comparison) -> tuple[str, ...]:
    return (
        result.conversion.name,
        result.conversion.readers,
        f"{result.bits:.2f}",
        size_text(result.nbytes),
        f"{result.nbytes / comparison.nbytes:.2f}",
        "-" if result.report.total.sqnr_db is None else f"{result.report.total.sqnr_db:.2f}",
        _time(result.seconds),
        f"{result.seconds / comparison.copy_seconds:.2f}",
    )


def _table(comparison: Comparison) -> str:
    """Return the table, the copy first."""
    header = ("conversion", "loaded by", "bits", "size", "x copy", "SQNR dB", "time", "x copy")
    size, bits = size_text(comparison.nbytes), f"{comparison.bits:.2f}"
    copy = ("plain copy", "", bits, size, "1.00", "", _time(comparison.copy_seconds), "1.00")
    rows = [header, copy, *(_row(one, comparison) for one in comparison.results)]
    return aligned_table(rows, right=range(2, len(header)))


def _legend(comparison: Comparison, is_synthetic: bool) -> Iterator[str]:
    """Yield what the columns are, and what was left out."""
    tensors = comparison.results[0].report.tensors
    counts = {one.conversion.name: one.report.total.count for one in comparison.results}
    which = [str(count) if len(set(counts.values())) == 1 else f"{name} {count}" for name, count in counts.items()]
    copied = "embedding, norms and lm_head are copied, as engines expect" if is_synthetic else "the others are copied"
    others = "" if set(counts.values()) == {len(tensors)} else f"; {copied}"
    yield f"converted   {', '.join(dict.fromkeys(which))} of {count_text(len(tensors), 'tensor')}{others}"
    yield "bits        of a converted weight, with its share of the scales"
    yield "size        of all files; x copy: as a multiple of the original"
    yield "SQNR        power of the converted weights over that of their errors: at 20 dB the error is"
    yield "            a tenth of the weights (root mean square), at 40 dB a hundredth"
    yield "time        from the call to the files on the disk (fsync), SQNR included; x copy: as a multiple"
    if comparison.nbytes < SMALL:
        yield "            (of small files, fixed costs are most of it)"
    yield "plain copy  all files, copied and flushed to the disk in the same way"
    remarks = [f"{'note':12}{remark}" for one in comparison.results for remark in one.report.remarks]
    left_out = [f"{'left out':12}{name}: {why}" for name, why in comparison.left_out]
    for line in dict.fromkeys([*remarks, *left_out]):
        yield textwrap.fill(line, WIDTH, subsequent_indent=" " * 12)


def _next(comparison: Comparison, source: Path | None, keep: Path | None) -> Iterator[str]:
    """Yield commands to type next, and where the outputs are."""
    results, suffix = comparison.results, comparison.checkpoint.suffix
    path = "YOUR_MODEL/" if source is None else shlex.quote(str(source))
    out = f"OUT{suffix}" if suffix else "OUT/"
    commands = [(f"lowprec convert {path} {out} {results[0].conversion.command_options}", "write one of these")]
    if source is not None:
        commands += [(f"lowprec convert {path} {out} {one.conversion.command_options}", "") for one in results[1:]]
        commands.append((f"lowprec inspect {path} --stats", "its tensors, their least and largest elements"))
    else:
        commands.append((f"lowprec demo {path}", "this table for a model of yours"))
        commands.append((f"lowprec inspect {path}", "its layout and its tensors"))
    commands.append(("lowprec recipes", "all recipes, and what each writes"))
    commands.append((f"lowprec explain 0.3 {FLOAT8_E4M3FN.name}", "why a number becomes a code"))
    commands.append(("pip install 'lowprec[explorer]' && lowprec explore", "pages in the browser"))
    yield "Next:"
    width = max(len(command) for command, _ in commands[:1] + commands[-4:])
    for command, text in commands:
        yield f"  {command:{width}}  {text}".rstrip()
    yield ""
    if keep is None:
        what = "All outputs were removed" if source is not None else "The checkpoint and all outputs were removed"
        yield f"{what}; --keep FOLDER keeps them."
    else:
        names = ", ".join(Path(comparison.target(one.conversion)).name for one in results)
        yield f"{_shown(keep)} has {f'{ORIGINAL}, ' if source is None else ''}{names}."


def _as_dict(comparison: Comparison, source: Path | None, keep: Path | None) -> dict[str, Any]:
    """Return what JSON has for it."""
    copy = comparison.copy_seconds
    conversions = [
        {
            "name": one.conversion.name, "options": dict(one.conversion.options), "readers": one.conversion.readers,
            "bits": one.bits, "bytes": one.nbytes, "bytes_ratio": one.nbytes / comparison.nbytes,
            "sqnr_db": one.report.total.sqnr_db, "converted": one.report.total.count,
            "tensors": len(one.report.tensors), "seconds": one.seconds, "seconds_ratio": one.seconds / copy,
            "output": None if keep is None else str(keep / comparison.target(one.conversion).name),
        }
        for one in comparison.results
    ]  # fmt: skip
    return dict(
        plain({
            "source": None if source is None else str(source), "bytes": comparison.nbytes, "rounds": comparison.rounds,
            "copy_seconds": copy, "conversions": conversions,
            "left_out": [{"name": name, "why": why} for name, why in comparison.left_out],
        })
    )  # fmt: skip


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    one = commands.add_parser(
        "demo", help="sizes, losses and times of a few conversions of a checkpoint", description=_DESCRIPTION,
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    one.add_argument("path", nargs="?", metavar="PATH", type=Path, help="a checkpoint (default: a synthetic one)")
    one.add_argument("--keep", type=Path, metavar="FOLDER", help="a new folder to keep the outputs in")
    one.add_argument(
        "--size", type=byte_size, metavar="SIZE", help="of the synthetic checkpoint, 1M to 1G (default: 64M)"
    )
    one.add_argument("--follow-links", action="store_true", help="read files outside of PATH that links name too")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(run=lambda options: _demo(one, options))
