"""Converting a whole checkpoint: the public function, and the order in which things are done."""

from __future__ import annotations

import inspect
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
from .element_rules import SCALE_FORMATS, ElementRules, parse_scale_layout
from .execution.budget import check_least, choose_chunks
from .execution.runners import Cluster, Runner, Threads
from .execution.steps import Steps
from .files.atomic_output import Staging, check_space
from .files.limits import BASE, PER_TENSOR, Limits, parse_size
from .planning.plan_casts import plan_conversion
from .planning.plan_recipe import plan_recipe
from .planning.quantization_config import add_descriptions, remove_descriptions, set_dtype
from .progress import make_progress
from .recipes.registry import find_recipe
from .report import Report

__all__ = ["convert", "parse_size"]


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


def _element_rules(
    to: Format, saturate: bool, round_mode: str | None, opset: int, scale: str, scale_format: object
) -> ElementRules:
    fmt = as_format(scale_format, parameter="scale_format")
    if fmt not in SCALE_FORMATS:
        raise ValueError(
            f"`scale_format` must be one of {', '.join(one.name for one in SCALE_FORMATS)}; got {fmt.name}"
        )
    if round_mode is not None and round_mode not in ROUND_MODES:
        raise ValueError(f"`round_mode` must be one of {', '.join(ROUND_MODES)}; got {round_mode!r}")
    return ElementRules(to, bool(saturate), round_mode, opset, scaling=parse_scale_layout(scale, fmt))


def _check_alone(to: object, options: dict[str, object]) -> None:
    """Raise ValueError for a parameter that says what is converted, or how, besides a recipe."""
    defaults = inspect.signature(convert).parameters
    for name, value in {"to": to, **options}.items():
        default = defaults[name].default
        same_type = type(value) is type(default)
        if value is not default and not (same_type and value == default) and not _is_empty(value):
            raise ValueError(f"`{name}` must be {default!r} where there is a `recipe`; got {value!r}")


def _is_empty(value: object) -> bool:
    return isinstance(value, (str, list, tuple)) and not value


def _patterns(patterns: str | Sequence[str], parameter: str) -> tuple[str, ...]:
    chosen = (patterns,) if isinstance(patterns, str) else patterns
    if not isinstance(chosen, Sequence) or not all(isinstance(one, str) for one in chosen):
        raise ValueError(f"`{parameter}` must be patterns of names; got {patterns!r}")
    return tuple(chosen)


def convert(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    /,
    *,
    to: object = None,
    recipe: str | None = None,
    keep: str | Sequence[str] = (),
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
        The target format. Either `to` or `recipe` is needed.
    recipe : str, optional
        Quantize the weights of a model for inference engines: ``"fp8-dynamic"``, ``"fp8-block"``, ``"int8"``,
        ``"w4a16"``, ``"w4a16-g32"``, ``"mxfp4a16"``, ``"mxfp8"`` or ``"nvfp4a16"``, in the layout of compressed-tensors
        and with the arithmetic of llm-compressor. The parameters from `source` to `raw` must have their defaults.
    keep : str or sequence of str
        With `recipe`: patterns of names of modules or tensors that are not quantized either.
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
    Quantized weights are dequantized where `to` is bfloat16, float16 or float32 and there is no `scale`: those of
    DeepSeek, gpt-oss, compressed-tensors, ModelOpt, Mistral, ComfyUI's older files and lowprec, whose scales may be in
    other shards. A product of code and scale is rounded to float32 and then to `to`; tensors wider than `to` are kept;
    config.json loses its ``quantization_config`` and names the new type.

    Otherwise, where a tensor of narrow floats, or of integers that are codes, has a companion (scales, zero points, a
    shape, a description, known by the names that these layouts, AWQ, GPTQ, MLX and bitsandbytes use) or a neighbour of
    an unknown name in its module, it is an error to convert one of the two; both can be kept. Ordinary parameters such
    as ``bias`` are no companions. Narrow floats without one are converted by value. In a model, a converted initialiser
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
    options = {"saturate": saturate, "round_mode": round_mode, "opset": opset, "raw": raw}
    rest = {"source": source, "include": include, "exclude": exclude, "scale": scale, "scale_format": scale_format}
    chosen = None if recipe is None else find_recipe(recipe)
    if chosen is not None:
        _check_alone(to, {**options, **rest})
    elif to is None:
        raise ValueError("`to` must be a format unless there is a `recipe`; got None")
    kept = _patterns(keep, "keep")
    if chosen is None and kept:
        raise ValueError(f"`keep` must be empty unless there is a `recipe`; got {keep!r}")
    target = None if chosen else _numbers(to, "to")
    memory, n = parse_size(max_memory), _threads(threads)
    check_least(memory)
    path, new = Path(src), Path(dst)
    numbers = None if source is None else _numbers(source, "source")
    container = open_container(path, numbers, follow_links=follow_links, limits=Limits(memory))
    if chosen is not None:
        plan = plan_recipe(container, chosen, kept)
    else:
        rules = _element_rules(_numbers(to, "to"), saturate, round_mode, opset, scale, scale_format)
        plan = plan_conversion(container, rules, _patterns(include, "include"), _patterns(exclude, "exclude"), raw)
    n, chunk_bytes = choose_chunks(plan, memory, n, BASE + PER_TENSOR * len(container.tensors))
    real = check_target(container, new, overwrite)
    remove_descriptions(container, plan.misfits)
    if plan.dtype:
        set_dtype(container, plan.dtype)
    add_descriptions(container, plan.descriptions)
    files = container.arrange(plan.outputs, real, overwrite)
    check_space(files, real)
    report = Report(
        str(path), str(new), target.name if target else str(recipe), dry_run, verified=verify and not dry_run
    )
    report.add(plan)
    if not dry_run:
        display = make_progress(progress, plan.passes_nbytes * (1 + verify))
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
