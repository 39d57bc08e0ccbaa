"""`convert`: its documentation, and its stages: plan, arrange, run, publish."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import numpy as np

from ..spec.operator_versions import NEWEST
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, NaNName, OverflowName, RoundingName, RoundModeName
from ..spec.scale_rules import ScaleRuleName
from .containers.container import Container
from .containers.model_config import add_descriptions, description_changes, remove_descriptions, set_dtype
from .containers.registry import open_container
from .containers.target_path import check_target
from .conversion_report import Report
from .convert_arguments import Request, describe_job, request_of
from .execution.runners import Cluster, Runner, Threads
from .execution.steps import Steps
from .files.atomic_output import OutputFiles, Staging, check_space
from .files.errors import naming
from .files.resume import ResumableStaging
from .memory_limit import BASE, PER_TENSOR, Limits, choose_chunks, parse_size
from .planning.conversion_plan import ConversionPlan
from .progress import Callback, Progress, ProgressName, make_progress

__all__ = ["LayoutName", "RecipeName", "convert", "parse_size"]


LayoutName = Literal["compressed-tensors", "modelopt"]
"""Whose names of tensors a quantized checkpoint gets."""


RecipeName = Literal[
    "fp8-dynamic", "fp8-block", "int8", "w4a16", "w4a16-g32", "mxfp4a16", "mxfp8", "nvfp4a16", "deepseek-fp8",
    "deepseek-fp8-ue8m0", "gptoss-mxfp4", "comfy-fp8", "comfy-mxfp8", "comfy-nvfp4", "modelopt-fp8",
    "modelopt-fp8-dynamic", "modelopt-nvfp4", "q8_0", "q4_0", "mxfp4", "bf16", "f16", "fnuz", "fn",
]  # fmt: skip
"""How `convert` quantizes the weights of a model."""


def convert(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    /,
    *,
    to: object = None,
    recipe: RecipeName | None = None,
    layout: LayoutName | None = None,
    keep: str | Sequence[str] = (),
    also: str | Sequence[str] = (),
    source: object = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    scale: str = "none",
    scale_format: object = np.float32,
    scale_rule: ScaleRuleName | None = None,
    raw: bool = False,
    threads: int | None = None,
    max_memory: int | str = "256M",
    dry_run: bool = False,
    overwrite: bool = False,
    verify: bool = False,
    progress: ProgressName | bool | Callback = "none",
    dask: str | None = None,
    follow_links: bool = False,
    resume: bool = False,
    part: bool = False,
) -> Report:
    """Convert the floating-point tensors of a checkpoint to another format, chunk by chunk, in bounded memory.

    Without `scale` every element is converted as by `cast`: NaN, Inf, -0 and out-of-range values too. With `scale` it
    is quantized as by `quantize_linear`, with the scales of `absmax_scale`; float64 is cast to float32 first, and the
    division is done in float32.

    The output is written atomically: next to `dst`, and renamed when it is whole and on the disk.

    Parameters
    ----------
    src, dst : path
        A .safetensors, .gguf, .npy, .npz or .onnx file, or a folder with .safetensors; `dst` becomes one of the same
        kind. An .npy file can become an .npz archive too, which formats that NumPy lacks, and scales, require; a .gguf
        file becomes another one by a recipe, and a .safetensors file by `to`.
    to : str, int, dtype or Format
        The target format. One of `to`, `recipe` and `layout` is needed.
    recipe : str, optional
        Quantize the weights of a model for inference engines: ``"fp8-dynamic"``, ``"fp8-block"``, ``"int8"``,
        ``"w4a16"``, ``"w4a16-g32"``, ``"mxfp4a16"``, ``"mxfp8"`` or ``"nvfp4a16"``, in the layout of compressed-tensors
        and with the arithmetic of llm-compressor; ``"deepseek-fp8"``, ``"deepseek-fp8-ue8m0"`` or ``"gptoss-mxfp4"``;
        ``"modelopt-fp8"``, ``"modelopt-fp8-dynamic"`` or ``"modelopt-nvfp4"``; for files of ComfyUI ``"comfy-fp8"``,
        ``"comfy-mxfp8"`` or ``"comfy-nvfp4"``; for GGUF ``"q8_0"``, ``"q4_0"``, ``"mxfp4"``, ``"bf16"`` or ``"f16"``.
        Weights may be quantized already. ``"fnuz"`` and ``"fn"`` write FP8 weights in the formats of MI300, and back.
        The parameters from `source` to `raw` must have their defaults, but for `scale_rule` where weights are in the
        formats of OCP MX: it stands for the rule of the tool.
    layout : {"compressed-tensors", "modelopt"}, optional
        Store a model that is quantized already as other engines name it: NVFP4, and FP8 with a scale to a tensor. Codes
        and scales of blocks are copied, other scales become their reciprocals where the layout has those, and
        config.json and hf_quant_config.json say so. The parameters from `to` to `raw` must have their defaults.
    keep, also : str or sequence of str
        With `recipe`: patterns of names of modules or tensors that are not quantized either, and of those that are
        besides the linear layers of repeated blocks, if their type and shape allow it. `keep` counts where both fit.
    source : str, int, dtype or Format, optional
        .npy and .npz: the format of codes that the file does not name.
    include, exclude : str or sequence of str
        Patterns of names of modules or tensors, with ``*``, ``?`` and ``[...]``, or regular expressions after ``re:``.
        All others are kept, as are tensors without floats.
    saturate, round_mode, opset, rounding, overflow, nan, seed, random_bits
        As in `cast`, or with `scale` in `quantize_linear`. Every tensor takes the random numbers of the seed from the
        first one on: it gets the bytes that `encode` gives the whole array with that seed, however it is cut.
    scale : str
        ``"none"``, ``"tensor"``, ``"axis:N"`` (one scale to each index of an axis) or ``"block:B"`` (one to B elements
        of the last axis). The scales of tensor W are ``W_scale``.
    scale_format : str, int, dtype or Format
        The format of the scales.
    scale_rule : {"floor", "ceil", "rceil", "even", "nearest"}, optional
        For scales that are powers of two, as in `absmax_scale`; None is ``"floor"``.
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
    progress : {"none", "auto", "bar", "plain"} or bool or callable
        What is shown on standard error meanwhile: tqdm's bar, or a line every five seconds; ``"auto"`` is the bar on
        a terminal. True is ``"auto"``, False ``"none"``. A function ``progress(done, total, name)`` is called by the
        thread that called `convert`, after each piece that was read: the bytes of all passes (measuring, converting,
        verifying) that are done, how many there are, and the name of the tensor (empty for what `resume` found done).
        What it raises ends the conversion, and `dst` stays as it was.
    dask : str, optional
        ``"local"``, or the address of a scheduler whose workers see the same files and do the work.
    follow_links : bool
        Read files that symbolic links name outside of the checkpoint's folder too. Links inside the folder are always
        followed, and those of a snapshot in a Hugging Face cache.
    resume : bool
        Keep the finished files of a folder, in ``DST.tmp-resume`` next to `dst`, when the conversion fails, is
        interrupted or killed; continue with those that an earlier call kept, if its arguments, its version of lowprec
        and its source were the same, and start over otherwise. `threads`, `max_memory`, `overwrite`, `verify`,
        `progress` and `dask` may differ. Only one call at a time can write to `dst` so.
    part : bool
        Take a part of a model without the others, which is an error otherwise: one file of several, or a folder that
        lacks shards. The first file of a split GGUF model stands for all of them, with `part` for itself. An index that
        names missing shards is not written; codes whose scales are in other parts are an error.

    Returns
    -------
    Report
        Actions and error statistics, for each tensor and in total.

    Raises
    ------
    FileError
        If `src` cannot be read, is broken, or does not fit the parameters, or `dst` cannot be written; if codes would
        be converted without their scales.
    ImportError
        If `progress` is ``"bar"`` without tqdm, or `dask` is given without Dask.
    TypeError, ValueError
        If a parameter is out of its range, the opset lacks the conversion, or an integer format has no `scale`.

    Notes
    -----
    Quantized weights are dequantized where `to` is bfloat16, float16 or float32 and there is no `scale`: those of
    DeepSeek, gpt-oss, compressed-tensors, AWQ, GPTQ, AutoRound, ModelOpt, Mistral, ComfyUI and lowprec, whose scales
    may be in other shards. A product of code and scale is rounded to float32 and then to `to`; tensors wider than `to`
    are kept; config.json loses its ``quantization_config`` and names the new type.

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
    started, arguments = time.monotonic(), dict(locals())
    request = request_of(arguments, inspect.signature(convert).parameters)
    container, plan, threads, chunk_bytes = _plan(request)
    real, files = _arrange(request, container, plan)
    report = Report(
        str(request.src),
        str(request.dst),
        request.conversion.target,
        request.dry_run,
        verified=request.verify and not request.dry_run,
    )
    report.add(plan)
    report.rules = dict(request.conversion.rules)
    report.descriptions = description_changes(container, plan.misfits)
    if not request.dry_run:
        display = make_progress(request.progress, plan.passes_nbytes * (1 + request.verify))
        staging = Staging(files, real, request.overwrite)
        if request.resume:
            job = describe_job(arguments, container)
            staging = ResumableStaging(files, real, request.overwrite, job, display.say)
        with closing(display), closing(_runner(request, threads)) as runner, naming(request.src), staging:
            steps = Steps(plan, files, staging, runner, chunk_bytes)
            _run(request, steps, staging, display)
            staging.publish(container.publish)
        report.remarks += staging.remarks
        report.set_results(steps.tensor_stats, steps.seconds, time.monotonic() - started)
    return report


def _plan(request: Request) -> tuple[Container, ConversionPlan, int, int]:
    """Open the source, and decide what becomes of every tensor; return how many threads, and how many bytes a chunk."""
    limits = Limits(request.max_memory)
    container = open_container(
        request.src, request.source, follow_links=request.follow_links, limits=limits, part=request.part
    )
    with naming(request.src):
        plan = request.conversion.plan(container)
        operations = [one.operation for one in plan.tensor_plans]
        reserved = BASE + PER_TENSOR * max(len(container.tensors), len(operations))
        threads, chunk_bytes = choose_chunks(operations, request.max_memory, request.threads, reserved)
    plan.remarks += container.remarks
    if container.part and plan.descriptions:
        plan.remarks.append("what config.json says of modules that are not quantized is true of this part alone")
    return container, plan, threads, chunk_bytes


def _arrange(request: Request, container: Container, plan: ConversionPlan) -> tuple[Path, OutputFiles]:
    """Check the target, and return where it is and the files that will be there, config.json edited."""
    real = check_target(container, request.dst, request.overwrite)
    remove_descriptions(container, plan.misfits)
    if plan.dtype:
        set_dtype(container, plan.dtype)
    add_descriptions(container, plan.descriptions)
    files = container.arrange(plan.outputs, real, request.overwrite)
    if request.dry_run or not request.resume:
        check_space(files, real)
    return real, files


def _runner(request: Request, threads: int) -> Runner:
    """Return what carries out the work."""
    return Threads(threads) if request.dask is None else Cluster(request.dask, threads)


def _run(request: Request, steps: Steps, staging: Staging, display: Progress) -> None:
    """Convert every tensor, have everything on the disk, and compare it where that is asked for."""
    steps.convert(display)
    display.phase("writing to the disk")
    staging.seal()
    if request.verify:
        steps.verify(display)
