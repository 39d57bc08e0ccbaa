"""Converting a whole checkpoint: the public function, and the order in which things are done."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..spec.operator_versions import NEWEST
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, NaNName, OverflowName, RoundingName, RoundModeName
from ..spec.scalar_arguments import as_flag, as_path, shown
from ..spec.scale_rules import ScaleRuleName
from .containers.model_config import (
    ADAPTER,
    add_descriptions,
    description_changes,
    is_adapter,
    remove_descriptions,
    set_dtype,
)
from .containers.registry import open_container
from .containers.target_path import check_target
from .conversion_report import Report
from .convert_arguments import (
    ROUNDING,
    as_number_format,
    as_patterns,
    as_scale_rule,
    as_thread_count,
    check_defaults,
    describe_job,
    make_element_rules,
)
from .execution.runners import Cluster, Runner, Threads
from .execution.steps import Steps
from .files.atomic_output import Staging, check_space
from .files.errors import FileError, naming
from .files.resume import ResumableStaging
from .memory_limit import BASE, PER_TENSOR, Limits, check_least, choose_chunks, parse_size
from .planning.plan_for_fnuz import plan_code_change
from .planning.plan_for_format import plan_conversion
from .planning.plan_for_layout import LAYOUTS, plan_relabel
from .planning.plan_for_recipe import plan_recipe
from .progress import Callback, ProgressName, as_progress, make_progress
from .recipes import CodeChange, choose_scale_rule, find_change, find_recipe

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
    names = ("saturate", "round_mode", "opset", *ROUNDING, "scale", "scale_format", "scale_rule", "raw", "source")
    options = {name: arguments[name] for name in (*names, "include", "exclude")}
    chosen = None if recipe is None else find_change(recipe) or find_recipe(recipe)
    target = None
    if layout is not None or chosen is not None:
        other: dict[str, object] = {"recipe": recipe} if layout is not None else {}
        defaults = {name: one.default for name, one in inspect.signature(convert).parameters.items()}
        other |= {name: value for name, value in options.items() if layout is not None or name != "scale_rule"}
        check_defaults("recipe" if layout is None else "layout", {"to": to, **other}, defaults)
    elif to is None:
        raise ValueError("`to` must be a format unless there is a `recipe` or a `layout`; got None")
    else:
        target = as_number_format(to, "to")
    if chosen is not None and scale_rule is not None:
        chosen = choose_scale_rule(chosen, as_scale_rule(scale_rule))
    if layout is not None and not (isinstance(layout, str) and layout in LAYOUTS):
        raise ValueError(f"`layout` must be one of {', '.join(LAYOUTS)}; got {shown(layout)}")
    kept, added = as_patterns(keep, "keep"), as_patterns(also, "also")
    for value, patterns in ((keep, kept), (also, added)):
        if patterns and chosen is None:
            text = f"`{patterns.parameter}` must be empty unless there is a `recipe`; got {shown(value)}"
            raise ValueError(text)
    raw, dry_run, overwrite = as_flag(raw, "raw"), as_flag(dry_run, "dry_run"), as_flag(overwrite, "overwrite")
    verify, follow_links = as_flag(verify, "verify"), as_flag(follow_links, "follow_links")
    resume, part = as_flag(resume, "resume"), as_flag(part, "part")
    shown_by = as_progress(progress)
    memory, n = parse_size(max_memory), as_thread_count(threads)
    check_least(memory)
    path, new = as_path(src, "src"), as_path(dst, "dst")
    numbers = None if source is None else as_number_format(source, "source")
    rules = None if target is None else make_element_rules(target, options)
    container = open_container(path, numbers, follow_links=follow_links, limits=Limits(memory), part=part)
    if target is None and is_adapter(container):
        raise FileError(f"{path}: {ADAPTER}")
    with naming(path):
        if layout is not None:
            plan = plan_relabel(container, layout)
        elif isinstance(chosen, CodeChange):
            plan = plan_code_change(container, chosen, kept, added)
        elif chosen is not None:
            plan = plan_recipe(container, chosen, kept, added)
        elif rules is not None:
            plan = plan_conversion(
                container, rules, as_patterns(include, "include"), as_patterns(exclude, "exclude"), raw
            )
        tensor_count = max(len(container.tensors), len(plan.tensor_plans))
        n, chunk_bytes = choose_chunks(
            [one.operation for one in plan.tensor_plans], memory, n, BASE + PER_TENSOR * tensor_count
        )
    plan.remarks += container.remarks
    if container.part and plan.descriptions:
        plan.remarks.append("what config.json says of modules that are not quantized is true of this part alone")
    real = check_target(container, new, overwrite)
    remove_descriptions(container, plan.misfits)
    if plan.dtype:
        set_dtype(container, plan.dtype)
    add_descriptions(container, plan.descriptions)
    files = container.arrange(plan.outputs, real, overwrite)
    if dry_run or not resume:
        check_space(files, real)
    report = Report(
        str(path), str(new), target.name if target else str(recipe or layout), dry_run, verified=verify and not dry_run
    )
    report.add(plan)
    if rules is not None:
        report.rules = rules.described()
    elif scale_rule is not None:
        report.rules = {"scale_rule": scale_rule}
    report.descriptions = description_changes(container, plan.misfits)
    if not dry_run:
        display = make_progress(shown_by, plan.passes_nbytes * (1 + verify))
        staging = Staging(files, real, overwrite)
        if resume:
            staging = ResumableStaging(files, real, overwrite, describe_job(arguments, container), display.say)
        try:
            runner: Runner = Cluster(dask, n) if dask is not None else Threads(n)
            try:
                with naming(path), staging:
                    steps = Steps(plan, files, staging, runner, chunk_bytes)
                    steps.convert(display)
                    display.phase("writing to the disk")
                    staging.seal()
                    if verify:
                        steps.verify(display)
                    staging.publish(container.publish)
            finally:
                runner.close()
        finally:
            display.close()
        report.remarks += staging.remarks
        report.set_results(steps.tensor_stats, steps.seconds, time.monotonic() - started)
    return report
