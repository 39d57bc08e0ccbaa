"""Converting a whole checkpoint: the public function, and the order in which things are done."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..backends.thread_count import get_num_threads
from ..spec.formats import NUMERIC, Format, as_format
from ..spec.opset_rules import NEWEST
from ..spec.round_modes import ROUND_MODES
from .containers.registry import open_container
from .containers.target import check_target
from .execution.runners import Cluster, Runner, Threads
from .execution.steps import Steps, check_chunk_sizes
from .files.atomic_output import Staging, check_space
from .files.limits import BASE, PER_TENSOR, Limits, parse_size
from .planning.conversion_plan import plan_conversion
from .planning.quantization_config import remove_descriptions, set_dtype
from .progress import make_progress
from .recipe import SCALE_FORMATS, Recipe, parse_scale_layout
from .report import Report

__all__ = ["convert", "parse_size"]

RESERVED = 96 << 20
"""Bytes of `max_memory` for the interpreter, its modules, headers and graphs, unless tensors are many."""

LARGEST_CHUNK, SMALLEST_CHUNK = 16 << 20, 512 << 10
"""Bytes of a tensor that are read at once: at each chunk, threads wait for each other's turn in the interpreter."""

BUFFERS = 4
"""How much memory a worker takes, as multiples of a chunk: read, converted, compared, and parts of it."""


def _budget(max_memory: int, threads: int, reserved: int = RESERVED) -> tuple[int, int]:
    """Return how many threads, and how many bytes a chunk, fit into so much memory."""
    reserved = max(RESERVED, reserved)
    left = max_memory - reserved
    least = BUFFERS * SMALLEST_CHUNK
    if left < least:
        raise ValueError(f"`max_memory` must be at least {-(-(reserved + least) >> 20)}M; got {max_memory} bytes")
    threads = min(threads, left // least)
    return threads, min(LARGEST_CHUNK, left // threads // BUFFERS)


def _threads(n: int | None) -> int:
    if n is None:
        return get_num_threads()
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= 1024:
        raise ValueError(f"`threads` must be an integer from 1 to 1024; got {n!r}")
    return n


def _numbers(spec: object, parameter: str) -> Format:
    fmt = as_format(spec, parameter=parameter)
    if fmt not in NUMERIC:
        raise ValueError(f"`{parameter}` must be a format of numbers; got {fmt.name}")
    return fmt


def _recipe(to: Format, saturate: bool, round_mode: str | None, opset: int, scale: str, scale_format: object) -> Recipe:
    fmt = as_format(scale_format, parameter="scale_format")
    if fmt not in SCALE_FORMATS:
        raise ValueError(
            f"`scale_format` must be one of {', '.join(one.name for one in SCALE_FORMATS)}; got {fmt.name}"
        )
    if round_mode is not None and round_mode not in ROUND_MODES:
        raise ValueError(f"`round_mode` must be one of {', '.join(ROUND_MODES)}; got {round_mode!r}")
    return Recipe(to, bool(saturate), round_mode, opset, scaling=parse_scale_layout(scale, fmt))


def _patterns(patterns: str | Sequence[str], parameter: str) -> tuple[str, ...]:
    chosen = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    if not all(isinstance(one, str) for one in chosen):
        raise ValueError(f"`{parameter}` must be patterns of names; got {patterns!r}")
    return chosen


def convert(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    /,
    *,
    to: object,
    source: object = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
    scale: str = "none",
    scale_format: object = np.float32,
    raw: bool = False,
    threads: int | None = None,
    max_memory: int | str = "256M",
    dry_run: bool = False,
    overwrite: bool = False,
    verify: bool = False,
    progress: str = "none",
    dask: str | None = None,
    follow_links: bool = False,
) -> Report:
    """Convert the floating-point tensors of a checkpoint to another format, chunk by chunk, in bounded memory.

    Without `scale` every element is converted as by `cast`: NaN, Inf, -0 and out-of-range values too. With `scale` it
    is quantized as by `quantize_linear`, with the scales of `absmax_scale`; float64 is cast to float32 first, and the
    division is done in float32.

    The output is written atomically: next to `dst`, and renamed when it is whole and on the disk.

    Parameters
    ----------
    src, dst : path
        A .safetensors, .npy, .npz or .onnx file, or a folder with .safetensors; `dst` becomes one of the same
        kind. An .npy file can become an .npz archive too, which formats that NumPy lacks, and scales, require.
    to : str, int, dtype or Format
        The target format.
    source : str, int, dtype or Format, optional
        .npy and .npz: the format of codes that the file does not name.
    include, exclude : str or sequence of str
        Patterns of tensor names, with ``*``, ``?`` and ``[...]``. All others are kept, as are tensors without floats.
    saturate, round_mode, opset
        As in `cast`.
    scale : str
        ``"none"``, ``"tensor"``, ``"axis:N"`` (one scale to each index of an axis) or ``"block:B"`` (one to B elements
        of the last axis). The scales of tensor W are ``W_scale``.
    scale_format : str, int, dtype or Format
        The format of the scales.
    raw : bool
        Convert codes without the companions that they need (see Notes), and floats to integers without scales, which
        are errors otherwise. A description of the quantization that no longer fits is left out: the
        entry ``quantization_config`` of config.json, hf_quant_config.json and their like. The report says so.
    threads : int, optional
        How many convert at the same time; None as `get_num_threads` says.
    max_memory : int or str
        Bytes of memory to stay below, or ``"256M"``, ``"1G"``.
    dry_run : bool
        Write nothing, and return what would be done.
    overwrite : bool
        Replace what `dst` names.
    verify : bool
        Read the result again before it gets its name, and compare it with a second conversion.
    progress : {"none", "auto", "bar", "plain"}
        What is shown on standard error meanwhile: tqdm's bar, or a line every five seconds; ``"auto"`` is the bar on
        a terminal.
    dask : str, optional
        ``"local"``, or the address of a scheduler whose workers see the same files and do the work.
    follow_links : bool
        Read files that symbolic links name outside of the checkpoint's folder too. Links inside the folder are always
        followed, and those of a snapshot in a Hugging Face cache.

    Returns
    -------
    Report
        Actions and error statistics, for each tensor and in total.

    Raises
    ------
    FileError
        If `src` cannot be read, is broken, or does not fit the parameters, or `dst` cannot be written; if codes would
        be converted without their scales.
    TypeError, ValueError
        If a parameter is out of its range, the opset lacks the conversion, or an integer format has no `scale`.

    Notes
    -----
    To bfloat16, float16 or float32 without `scale`, quantized weights become codes times scales, all of them or, where
    patterns choose none, none: those of DeepSeek, gpt-oss, compressed-tensors, ModelOpt, Mistral, older files of
    ComfyUI and lowprec. Tensors that are wider than `to` are kept then, and the configuration says the new type.

    Scales of other layouts (AWQ, GPTQ, MLX, bitsandbytes and so on), and those of any layout where `to` is another
    format, are not applied. Where a tensor of narrow floats, or of integers that are codes, has a companion (scales,
    zero points, a shape, a description, known by their names) or a neighbour of an
    unknown name in its module, it is an error to convert one of the two; both can be kept. Ordinary parameters such as
    ``bias`` are no companions. Narrow floats without one are converted by value. In a model, a converted initialiser
    gets its old type back before anything reads it, so codes and scales still agree.

    Source: ONNX Cast-28, QuantizeLinear-28; OCP Microscaling Formats (MX) 1.0, section 6.3, for scales that are powers
    of two.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from lowprec.checkpoints import convert
    >>> folder = tempfile.TemporaryDirectory()
    >>> np.savez(folder.name + "/x.npz", w=np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32), n=np.arange(3))
    >>> report = convert(folder.name + "/x.npz", folder.name + "/y.npz", to="int8", scale="axis:0")
    >>> [(tensor.name, tensor.action, tensor.target) for tensor in report.tensors]
    [('w', 'converted', 'int8'), ('n', 'kept', 'int64')]
    >>> with np.load(folder.name + "/y.npz") as y:
    ...     {name: y[name].dtype.name for name in y.files}
    {'w': 'int8', 'w_scale': 'float32', 'n': 'int64'}
    >>> folder.cleanup()
    """
    started = time.monotonic()
    target = _numbers(to, "to")
    recipe = _recipe(target, saturate, round_mode, opset, scale, scale_format)
    memory, n = parse_size(max_memory), _threads(threads)
    _budget(memory, n)
    path, new = Path(src), Path(dst)
    numbers = None if source is None else _numbers(source, "source")
    container = open_container(path, numbers, follow_links=follow_links, limits=Limits(memory))
    n, chunk_bytes = _budget(memory, n, BASE + PER_TENSOR * len(container.tensors))
    plan = plan_conversion(container, recipe, _patterns(include, "include"), _patterns(exclude, "exclude"), raw)
    check_chunk_sizes(plan.tensor_plans, chunk_bytes, memory // 8)
    real = check_target(container, new, overwrite)
    remove_descriptions(container, plan.misfits)
    if plan.dtype:
        set_dtype(container, plan.dtype)
    files = container.arrange(plan.outputs, real, overwrite)
    check_space(files, real)
    report = Report(str(path), str(new), target.name, dry_run, verified=verify and not dry_run)
    report.add(plan)
    if not dry_run:
        two_pass = plan.two_pass
        reads = plan.nbytes * (1 + verify) + sum(
            plan.tensor_plans[number].tensor.location.nbytes for number in two_pass
        )
        display = make_progress(progress, reads)
        try:
            runner: Runner = Cluster(dask, n) if dask is not None else Threads(n)
            try:
                with Staging(files, real, overwrite) as staging:
                    steps = Steps(plan, files, staging.paths, runner, chunk_bytes)
                    steps.convert(display)
                    staging.seal()
                    if verify:
                        steps.verify(display)
                    staging.publish(container.publish)
            finally:
                runner.close()
        finally:
            display.close()
        report.set_results(steps.tensor_stats, steps.seconds, time.monotonic() - started)
    return report
