"""`lowprec demo`: what conversions of a synthetic model cost beside a plain copy."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shlex
import shutil
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .._notebook_display import aligned_table, count_text
from ..checkpoints.containers.container import InMemory, OutputTensor, StoredTensor
from ..checkpoints.containers.folder import Folder
from ..checkpoints.containers.gguf_file import GgufFile
from ..checkpoints.containers.onnx_model import OnnxModel
from ..checkpoints.containers.registry import open_container
from ..checkpoints.containers.safetensors_file import SUFFIX, SafetensorsFile, arrange_safetensors
from ..checkpoints.conversion import convert
from ..checkpoints.conversion_report import Report, TensorReport, plain, sizes_of
from ..checkpoints.files.atomic_output import rename_new, sync
from ..checkpoints.files.errors import FileError, reason
from ..checkpoints.files.symbolic_links import files_in
from ..checkpoints.memory_limit import parse_size
from ..checkpoints.progress import ProgressName, size_text
from ..checkpoints.recipes import find_recipe
from ..ops.encode_pack import encode
from ..spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, INT4, INT8
from .shared_arguments import byte_size

__all__ = [
    "Checkpoint",
    "Comparison",
    "Conversion",
    "DESCRIPTION",
    "LARGEST",
    "LAYERS",
    "Result",
    "SMALLEST",
    "add_command",
    "check_space",
    "find_checkpoint",
    "nbytes_of",
    "width_of",
    "work_folder",
    "write_model",
]


RECIPES = ("fp8-dynamic", "mxfp4a16", "nvfp4a16", "w4a16-g32")
"""Of a model in safetensors: 8 bits, and three ways to 4 bits, which the same engines load."""

GGUF_RECIPES = ("q8_0", "mxfp4", "q4_0")


@dataclass(frozen=True, slots=True)
class Conversion:
    """A call of `convert`.

    Attributes
    ----------
    name : str
        What the table calls it, and its output.
    options : mapping
        The arguments of `convert`.
    readers : str
        What loads the result.
    """

    name: str
    options: Mapping[str, Any]
    readers: str

    @property
    def command_options(self) -> str:
        """The options of `lowprec convert` that do the same."""
        return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.options.items())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint that is converted.

    Attributes
    ----------
    path : Path
        The file or folder.
    files : sequence of (Path, str)
        What a copy of it copies, and the names of the copies.
    choices : sequence of sequences of Conversion
        The first of them of which a conversion applies is the one for it.
    suffix : str
        How the name of a converted file ends; nothing for folders.
    follow_links : bool
        As `convert` takes it.
    """

    path: Path
    files: Sequence[tuple[Path, str]]
    choices: Sequence[Sequence[Conversion]]
    suffix: str
    follow_links: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file, _ in self.files)


def _recipes(names: Sequence[str]) -> list[Conversion]:
    return [Conversion(name, {"recipe": name}, find_recipe(name).readers) for name in names]


def _plain_conversions(readers: str, packs: bool = True) -> list[Conversion]:
    """Return conversions that need neither a configuration nor the names of a model.

    Where codes of 4 bits are not packed (`packs`), they take 8, and formats of 8 and 16 bits are compared instead.
    Such files do not name the axis of scales either, which blocks leave no doubt about.
    """
    powers = {"scale": "block:32", "scale_format": FLOAT8_E8M0FNU.name}
    fp8 = Conversion("fp8", {"to": FLOAT8_E4M3FN.name}, readers)
    if not packs:
        bf16 = Conversion("bf16", {"to": BFLOAT16.name}, readers)
        by_block = Conversion(f"{INT8.name}-g32", {"to": INT8.name, "scale": "block:32"}, readers)
        return [bf16, fp8, by_block, Conversion("mxfp8-g32", {"to": FLOAT8_E4M3FN.name, **powers}, readers)]
    by_row = Conversion(f"{INT8.name}-rows", {"to": INT8.name, "scale": "axis:0"}, readers)
    by_block = Conversion(f"{INT4.name}-g32", {"to": INT4.name, "scale": "block:32"}, readers)
    return [fp8, by_row, Conversion("mxfp4-g32", {"to": FLOAT4_E2M1FN.name, **powers}, readers), by_block]


def find_checkpoint(path: Path, follow_links: bool = False) -> Checkpoint:
    """Return a checkpoint and what can be compared for it; raise FileError where a path is none."""
    container = open_container(path, follow_links=follow_links)
    if isinstance(container, Folder):
        files = [(entry.path, entry.name) for entry in files_in(path, follow=follow_links)]
        return Checkpoint(path, files, [_recipes(RECIPES), _plain_conversions("lowprec")], "", follow_links)
    places = [one.location for one in container.tensors]
    paths = dict.fromkeys([path, *(place.path for place in places if not isinstance(place, InMemory))])
    files = [(file, file.name) for file in paths]
    if isinstance(container, SafetensorsFile):
        return Checkpoint(path, files, [_recipes(RECIPES), _plain_conversions("lowprec")], container.suffixes[0])
    if isinstance(container, GgufFile):
        return Checkpoint(path, files, [_recipes(GGUF_RECIPES)], container.suffixes[0])
    readers = "ONNX runtimes with its nodes" if isinstance(container, OnnxModel) else "lowprec"
    # The last suffix of .npy files is .npz: one array cannot hold codes and scales.
    return Checkpoint(path, files, [_plain_conversions(readers, container.packs)], container.suffixes[-1], follow_links)


ROUNDS = 3
"""How often each conversion runs; medians count."""

LARGE = 1 << 30
"""Checkpoints of more bytes are converted once by each conversion, with a display of progress."""


@dataclass(slots=True)
class Result:
    """A conversion, the report of its dry run and later of its last run, the bytes of its files, and its times."""

    conversion: Conversion
    report: Report
    nbytes: int
    times: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median of the times."""
        return median(self.times)

    @property
    def bits(self) -> float:
        """Bits of a converted weight, scales included."""
        elements, _, after = sizes_of(self.converted)
        return 8 * after / max(1, elements)

    @property
    def converted(self) -> list[TensorReport]:
        """The tensors that are converted."""
        return [one for one in self.report.tensors if one.action == "converted"]


class Comparison:
    """Conversions of a checkpoint, and a plain copy of it.

    Parameters
    ----------
    checkpoint : Checkpoint
        What is converted.
    folder : Path
        An empty folder to write to.
    keep : bool
        Whether the outputs of the last round stay in it.

    Attributes
    ----------
    results : list of Result
        The conversions that apply.
    left_out : list of (str, str)
        Names of those that do not, and why.
    needed : int
        How many bytes are on the disk at most, at the same time.
    rounds : int
        How often each runs.
    copy_times : list of float
        The times of the copy.
    """

    def __init__(self, checkpoint: Checkpoint, folder: Path, keep: bool) -> None:
        """Make a dry run of every conversion; raise FileError where none applies, or the disk has too little room."""
        self.checkpoint, self._folder, self._keep = checkpoint, folder, keep
        self._links = checkpoint.follow_links
        self.nbytes = checkpoint.nbytes
        self.rounds = 1 if self.nbytes > LARGE else ROUNDS
        self.results: list[Result] = []
        self.left_out: list[tuple[str, str]] = []
        self.copy_times: list[float] = []
        check_space(folder, self.nbytes)
        for conversions in checkpoint.choices:
            for conversion in conversions:
                self._plan(conversion)
            if self.results:
                break
        self._check_results()
        sizes = [one.nbytes for one in self.results]
        self.needed = max(self.nbytes, sum(sizes) if keep else max(sizes))
        check_space(folder, self.needed)

    @property
    def copy_seconds(self) -> float:
        """The median of the times of the copy."""
        return median(self.copy_times)

    @property
    def bits(self) -> float:
        """Bits of a weight before the first conversion."""
        elements, before, _ = sizes_of(self.results[0].converted)
        return 8 * before / max(1, elements)

    def target(self, conversion: Conversion) -> Path:
        """Return where the output of a conversion goes."""
        return self._folder / f"{conversion.name}{self.checkpoint.suffix}"

    def _plan(self, conversion: Conversion) -> None:
        path = self.checkpoint.path
        try:
            report = convert(
                path, self.target(conversion), **conversion.options, follow_links=self._links, dry_run=True
            )
        except (FileError, ValueError) as error:
            self._leave_out(conversion, error)
            return
        if report.total.count:
            nbytes = self.nbytes - report.total.bytes_before + report.total.bytes_after
            self.results.append(Result(conversion, report, nbytes))
        else:
            self.left_out.append((conversion.name, "has no tensor that it converts"))

    def _leave_out(self, conversion: Conversion, error: Exception) -> None:
        text = str(error).removeprefix(f"{self.checkpoint.path}: ")
        self.left_out.append((conversion.name, " ".join(text.split())))

    def _check_results(self) -> None:
        """Raise FileError where every conversion was left out."""
        if not self.results:
            name, why = self.left_out[-1]
            raise FileError(f"{self.checkpoint.path}: no conversion of the demo applies; {name}: {why}")

    def run(self) -> None:
        """Run the copy and all conversions in turns."""
        for number in range(1, self.rounds + 1):
            started = time.perf_counter()
            self._copy(self._folder / "copy")
            self.copy_times.append(time.perf_counter() - started)
            _remove(self._folder / "copy")
            for one in list(self.results):
                try:
                    self._convert(one, self._keep and number == self.rounds)
                except FileError as error:
                    if str(error).startswith(str(self._folder)):  # an output that cannot be written
                        raise
                    self._leave_out(one.conversion, error)  # of values, which a dry run does not read
                    self.results.remove(one)
            self._check_results()

    def _convert(self, result: Result, keep: bool) -> None:
        target = self.target(result.conversion)
        style: ProgressName = "none" if self.nbytes <= LARGE else "auto"
        started = time.perf_counter()
        result.report = convert(
            self.checkpoint.path, target, **result.conversion.options, follow_links=self._links, progress=style
        )
        result.times.append(time.perf_counter() - started)
        files = [target] if target.is_file() else [file for file in target.rglob("*") if file.is_file()]
        result.nbytes = sum(file.stat().st_size for file in files)
        if not keep:
            _remove(target)

    def _copy(self, folder: Path) -> None:
        """Copy all files, and wait until they are on the disk, as `convert` does."""
        try:
            folder.mkdir()
            for source, name in self.checkpoint.files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / name)
                sync(folder / name)
            sync(folder)
        except OSError as error:
            raise FileError(f"{self.checkpoint.path}: cannot be copied to {folder}; {reason(error)}") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def check_space(folder: Path, needed: int) -> None:
    """Raise FileError unless the disk of a folder has room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        where = folder.parent.parent  # the folder is new, in one with a name that means nothing
        raise FileError(
            f"{where}: the demo needs {size_text(needed)}, and the disk has {size_text(free)} left; "
            "--keep, or TMPDIR, names a folder on another one"
        )


@contextlib.contextmanager
def work_folder(source: Path | None, keep: Path | None) -> Iterator[Path]:
    """Make a folder to work in, and remove it at the end, whatever happens; what is to be kept is renamed then.

    Parameters
    ----------
    source : Path or None
        What is converted, which the folder must not lie in.
    keep : Path or None
        The name that the folder gets if there is no error.
    """
    try:
        parent = Path(tempfile.gettempdir()) if keep is None else keep.parent
    except OSError as error:
        raise FileError(f"no folder for temporary files: {reason(error)}") from None
    if keep is not None and os.path.lexists(keep):
        raise FileError(f"{keep}: exists; --keep must name a new folder")
    if not parent.is_dir():
        raise FileError(f"{keep}: must be a new folder in an existing one")
    if source is not None and source.is_dir() and parent.resolve().is_relative_to(source.resolve()):
        raise FileError(f"{parent if keep is None else keep}: must lie outside of {source}")
    try:
        prefix = "lowprec-demo-" if keep is None else f"{keep.name[:200]}.tmp-"
        outer = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=parent)))
    except OSError as error:
        raise FileError(f"{parent}: cannot be written; {reason(error)}") from None
    try:
        folder = outer / "new"  # with the usual permissions, which the folder around it lacks
        folder.mkdir()
        yield folder
        if keep is not None:
            rename_new(folder, keep)
    finally:
        shutil.rmtree(outer, ignore_errors=True)


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


Array = np.ndarray[Any, Any]

LAYERS = 2

DESCRIPTION = "Weights have heavy tails (Student t, 4 degrees of freedom); 1 channel of 256 is 4 times as large."
"""What is special in the weights, for people who read a table of losses."""

PARAMETERS = 32
"""Weights in units of the squared width: 13 of each layer, 3 of the embedding and 3 of lm_head; norms are few."""

STEP = 128
"""The width is a multiple of it, so that rows are divided into the groups of every recipe."""

SMALLEST, LARGEST = PARAMETERS * 2 * STEP**2, 1 << 30
"""Bytes of weights."""

SEED = 20261123
HEADS, KEY_VALUE_HEADS = 8, 2
OUTLIERS, OUTLIER_FACTOR = 256, 4.0
"""One channel of so many is an outlier, and its weights are larger by the factor."""

DEVIATION = 0.02
"""Of the weights that are no outliers: the one that Llama's weights are initialised with."""

CHUNK = 1 << 18
"""Elements that are made at a time."""


def width_of(nbytes: int) -> int:
    """Return the width (hidden_size) of the largest model whose weights take up to so many bytes, 1 MiB to 1 GiB."""
    if not SMALLEST <= nbytes <= LARGEST:
        raise ValueError(f"the size must be from {SMALLEST >> 20}M to {LARGEST >> 20}M; got {nbytes} bytes")
    return math.isqrt(nbytes // (2 * PARAMETERS)) // STEP * STEP


def nbytes_of(width: int) -> int:
    """Return how many bytes the tensors take."""
    return 2 * sum(math.prod(shape) for shape in _shapes(width).values())


def _shapes(width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of Llama 3 8B in proportion, by the names that transformers gives the tensors."""
    inner, keys, vocabulary = width * 7 // 2, width * KEY_VALUE_HEADS // HEADS, 3 * width
    modules = {
        "input_layernorm": (width,),
        "self_attn.q_proj": (width, width),
        "self_attn.k_proj": (keys, width),
        "self_attn.v_proj": (keys, width),
        "self_attn.o_proj": (width, width),
        "post_attention_layernorm": (width,),
        "mlp.gate_proj": (inner, width),
        "mlp.up_proj": (inner, width),
        "mlp.down_proj": (width, inner),
    }
    layers = {
        f"model.layers.{layer}.{module}.weight": shape for layer in range(LAYERS) for module, shape in modules.items()
    }
    ends = {"model.norm.weight": (width,), "lm_head.weight": (vocabulary, width)}
    return {"model.embed_tokens.weight": (vocabulary, width), **layers, **ends}


def _config(width: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": width,
        "intermediate_size": width * 7 // 2,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "head_dim": width // HEADS,
        "vocab_size": 3 * width,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "torch_dtype": BFLOAT16.name,
    }


def _quantiles() -> Array:
    """Return 65536 quantiles of Student's t with 4 degrees of freedom, scaled to a deviation of 1.

    The quantile function has a closed form (W. T. Shaw, Journal of Computational Finance 9(4), 2006). A table of it
    turns 16 random bits into a number, in the same way with every version of NumPy, whose own distributions may change.
    """
    p = (np.arange(1 << 16) + 0.5) / (1 << 16)
    root = np.sqrt(4 * p * (1 - p))
    t = np.sign(p - 0.5) * 2 * np.sqrt(np.cos(np.arccos(root) / 3) / root - 1)
    return np.asarray(t / math.sqrt(2), np.float32)


def _factors(name: str, shape: tuple[int, ...], random: np.random.PCG64) -> tuple[Array, Array]:
    """Return what rows and columns are multiplied by.

    Rows differ by a factor of up to 4. The outlier channels are the same in all layers, since these add to one stream
    of activations: columns of what reads the stream, rows of what writes to it.
    """
    rows = np.exp2(_uniform(shape[0], random) * 2 - 1) * np.float32(DEVIATION)
    columns = np.ones(shape[-1], np.float32)
    channels = rows if name.endswith(("o_proj.weight", "down_proj.weight")) else columns
    channels[OUTLIERS // 8 :: OUTLIERS] *= OUTLIER_FACTOR
    return rows, columns


def _bits(n: int, random: np.random.PCG64) -> Array:
    """Return n random integers of 16 bits; the stream of a bit generator is the same with every version of NumPy."""
    return np.asarray(random.random_raw(-(-n // 4)), "<u8").view("<u2")[:n]


def _uniform(n: int, random: np.random.PCG64) -> Array:
    return ((_bits(n, random) + np.float32(0.5)) / np.float32(1 << 16)).astype(np.float32)


def _chunks(name: str, shape: tuple[int, ...], table: Array, random: np.random.PCG64) -> Iterator[Array]:
    """Yield the values of a tensor in float32, some rows at a time."""
    if len(shape) == 1:  # norms are near 1
        yield 0.5 + _uniform(shape[0], random)
        return
    rows, columns = _factors(name, shape, random)
    step = max(1, CHUNK // shape[1])
    for start in range(0, shape[0], step):
        factors = rows[start : start + step, None]
        yield table[_bits(factors.size * shape[1], random)].reshape(-1, shape[1]) * factors * columns


def write_model(folder: Path, width: int) -> None:
    """Write model.safetensors, in bfloat16, and config.json into a folder that exists.

    Parameters
    ----------
    folder : Path
        Where they go.
    width : int
        The width of the model, a multiple of 128; `width_of` returns one for a size.

    Raises
    ------
    OSError
        If a file cannot be written.

    Notes
    -----
    The shapes are those of Llama 3 8B in proportion, with two layers and a small vocabulary. Numbers are Student t
    with 4 degrees of freedom; one channel of 256 is 4 times as large as the others. The bytes depend on the width
    alone.

    Examples
    --------
    >>> import tempfile
    >>> import lowprec as lp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(Path(folder), 128)
    ...     entries = lp.checkpoints.inspect(folder)
    >>> [(one.name, one.format, one.shape) for one in entries][1]
    ('model.layers.0.input_layernorm.weight', 'bfloat16', (128,))
    """
    nothing = InMemory(b"")
    outputs = [
        OutputTensor(
            name, shape, BFLOAT16, 2 * math.prod(shape), StoredTensor(name, shape, BFLOAT16, "", nothing), "kept"
        )
        for name, shape in _shapes(width).items()
    ]
    path = folder / f"model{SUFFIX}"
    files = arrange_safetensors(outputs, path, {"format": "pt"})
    random, table = np.random.PCG64(SEED), _quantiles()
    with path.open("wb") as stream:
        for offset, piece in files.files[0].pieces:
            stream.seek(offset)
            stream.write(piece)
        for output, slot in zip(outputs, files.slots, strict=True):
            stream.seek(slot.offset)
            for chunk in _chunks(output.name, output.shape, table, random):
                stream.write(np.asarray(encode(chunk, BFLOAT16)).astype("<u2", copy=False).tobytes())
    (folder / "config.json").write_text(json.dumps(_config(width), indent=2) + "\n", encoding="utf-8")
