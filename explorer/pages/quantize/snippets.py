"""The Python lines that make the tensor of Quantize: sampled, typed, or read from a file or a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from lowprec.spec.formats import FLOAT32
from lowprec.spec.scale_rules import SCALE_RULES

from ...shared.snippet_text import (
    NUMPY,
    Arguments,
    Snippets,
    Texts,
    made_formats,
    node_call,
    node_list,
    python_arguments,
    takes_saturate,
    why_no_node,
)
from .settings import LINEAR, MX, NVFP4, SCALE_FORMATS, Settings
from .state import Quantize
from .sweep_view import MOST_SWEPT
from .tensor import Tensor

__all__ = ["of_comparison_of_settings", "of_quantization", "of_sweep", "tensor_lines"]

_SAMPLES = {
    "normal": "rng.standard_normal(shape)",
    "uniform": "rng.uniform(-1, 1, shape)",
    "laplace": "rng.laplace(size=shape)",
    "student-t": "rng.standard_t(3, shape)",
    "outliers": "rng.standard_normal(shape) * np.where(rng.random(shape) < 0.01, 20, 1)",
}


def tensor_lines(state: Quantize, tensor: Tensor) -> str:
    """Return the lines that compute `x`."""
    input_format = tensor.format.name
    if state.origin == "picture":
        return "from lowprec.explorer.shared.landscape import landscape\n\nx = landscape()"
    if state.origin == "sampled":
        shape = f"rng, shape = np.random.default_rng({state.seed}), ({state.rows}, {state.columns})"
        return f"{shape}\nx = lp.cast({_SAMPLES[state.distribution]} * {state.spread!r}, {input_format!r})"
    if state.origin == "typed":
        return f"inf, nan = np.inf, np.nan\nx = np.array({tensor.values.tolist()!r}, np.{input_format})"
    if state.origin == "folder":
        return _checkpoint_lines(state, tensor)
    if tensor.name and tensor.stored:
        fmt = tensor.stored
        read = f"codes = np.frombuffer(entry['data'], np.{fmt.code_dtype})"
        shaped = "codes.reshape(entry['shape'])"
        if fmt.bits < 8:
            shaped = f"lp.unpack(codes, {fmt.name!r}, entry['shape'])"
        return "\n".join(
            [
                "from safetensors import deserialize",
                "",
                "with open('file.safetensors', 'rb') as file:",
                f"    entry = dict(deserialize(file.read()))[{tensor.name!r}]",
                read,
                f"x = np.atleast_1d(lp.decode({shaped}, {fmt.name!r}, to={input_format!r}))",
            ]
        )
    return f"x = np.atleast_1d(lp.cast(np.load('file.npy'), {input_format!r}))"


def _checkpoint_lines(state: Quantize, tensor: Tensor) -> str:
    """Return the lines that read a tensor of a checkpoint, or the part of it that was taken."""
    rows = "" if tensor.first is None else f", rows=slice(0, {tensor.first})"
    lines = [
        f"with lp.checkpoints.open({state.folder.strip()!r}) as checkpoint:",
        f"    x = checkpoint.read({tensor.name!r}{rows})",
    ]
    if tensor.is_cut:
        rows_taken, columns = tensor.values.shape if tensor.values.ndim > 1 else (1, tensor.values.size)
        lines.append(f"x = x.reshape(-1, x.shape[-1])[:{rows_taken}, :{columns}]")
    return "\n".join([*lines, f"x = np.atleast_1d(lp.cast(x, {tensor.format.name!r}))"])


def _largest(settings: Settings, rank: int) -> str:
    """Return the call that reduces `finite` to the largest magnitude of the elements that share a scale."""
    if settings.granularity == "tensor":
        return "finite.max(initial=0)"
    axis = settings.axis % rank
    if settings.granularity == "axis":
        return f"finite.max(axis={tuple(other for other in range(rank) if other != axis)}, initial=0)"
    return f"np.maximum.reduceat(finite, range(0, x.shape[{axis}], {settings.block}), {axis})"


def _scale_lines(settings: Settings, rank: int, granularity: Arguments, texts: Texts) -> list[str]:
    """Return the lines that compute `scale`, and `zero_point` if there is one."""
    fmt, scale_format = settings.fmt, settings.scale_format
    is_single = scale_format == SCALE_FORMATS[0]
    limits = f"limits = lp.finfo({scale_format.name!r})"
    rounded = f"scale = lp.cast(np.clip(scale, limits.smallest_subnormal, limits.max), {scale_format.name!r}"
    if settings.has_zero_point:
        mode = "" if scale_format.has_zero else f", round_mode={settings.round_mode!r}"
        lines = [f"scale, zero_point = lp.minmax_scale(x, {fmt.name!r}{python_arguments(granularity)})"]
        return lines if is_single else [*lines, limits, f"{rounded}{mode})"]
    if fmt.signed:
        arguments = granularity if is_single else {**granularity, "scale_format": scale_format}
        if settings.has_scale_rule and settings.scale_rule != SCALE_RULES[0]:
            arguments = {**arguments, "scale_rule": settings.scale_rule}
        return [f"scale = lp.absmax_scale(x, {texts[fmt]}{python_arguments(arguments)})"]
    scale = f"np.where(largest == 0, 1.0, largest / {fmt.max})"
    if not scale_format.has_zero:  # the rule of OCP MX
        exponent = f"np.frexp(largest)[1] - {math.frexp(fmt.max)[1]}"
        scale = f"np.ldexp(1.0, np.where(largest == 0, {scale_format.emin}, {exponent}))"
    return [
        "finite = np.where(np.isfinite(x.astype(float)), np.abs(x.astype(float)), 0)",
        f"largest = {_largest(settings, rank)}",
        limits,
        f"scale = {scale}",
        f"{rounded})",
    ]


def _linear_lines(settings: Settings, tensor: Tensor, texts: Texts) -> list[str]:
    """Return the lines that quantize and dequantize `x` by the linear operators."""
    fmt, operands = settings.fmt, _operands(settings)
    granularity, forward, backward = _attributes(settings, tensor)
    rules = settings.rounding_arguments
    if rules:  # beyond ONNX there is no such choice
        forward.pop("saturate", None)
    in_onnx = fmt.onnx_enum is not None
    opset: Arguments = {"opset": settings.opset} if in_onnx else {}
    to_codes = python_arguments({**granularity, **forward, **opset, **rules}, texts)
    source: Arguments = {} if in_onnx else {"source": fmt}
    to_values = python_arguments({**granularity, **source, **backward, **opset}, texts)
    return [
        *_scale_lines(settings, tensor.values.ndim, granularity, texts),
        f"y = lp.quantize_linear({', '.join(['x', *operands])}{to_codes})",
        f"back = lp.dequantize_linear({', '.join(['y', *operands])}{to_values})",
    ]


def _operands(settings: Settings) -> list[str]:
    return ["scale", "zero_point"] if settings.has_zero_point else ["scale"]


def _attributes(settings: Settings, tensor: Tensor) -> tuple[Arguments, Arguments, Arguments]:
    """Return the arguments of both linear operators, of the first and of the second."""
    granularity: Arguments = {} if settings.granularity == "tensor" else {"axis": settings.axis}
    if settings.block:
        granularity["block_size"] = settings.block
    forward: Arguments = {} if settings.has_zero_point else {"output_dtype": settings.fmt}
    if takes_saturate(settings.fmt):
        forward["saturate"] = settings.saturate
    return granularity, forward, {} if settings.scale_format.has_zero else {"output_dtype": tensor.format}


def _mx_lines(settings: Settings, _: Tensor, texts: Texts) -> list[str]:
    """Return the lines that quantize `x` to blocks of OCP MX, and dequantize them."""
    fmt = settings.fmt
    place: Arguments = {"axis": settings.axis, "block_size": settings.block_size}
    chosen = {**place, "scale_rule": settings.scale_rule, **settings.rounding_arguments}
    source: Arguments = {} if fmt.onnx_enum is not None else {"source": fmt}
    return [
        f"y, scale = lp.mx_quantize(x, {texts[fmt]}{python_arguments(chosen)})",
        f"back = lp.mx_dequantize(y, scale{python_arguments({**source, **place}, texts)})",
    ]


def _nvfp4_lines(settings: Settings, _: Tensor, __: Texts) -> list[str]:
    """Return the lines that quantize `x` to NVFP4, and dequantize it."""
    place: Arguments = {"axis": settings.axis, "block_size": settings.block_size}
    chosen = python_arguments({**place, **settings.rounding_arguments})
    return [
        f"y, scale, global_scale = lp.nvfp4_quantize(x{chosen})",
        f"back = lp.nvfp4_dequantize(y, scale, global_scale{python_arguments(place)})",
    ]


_LINES = {LINEAR: _linear_lines, MX: _mx_lines, NVFP4: _nvfp4_lines}


def _nodes(settings: Settings, tensor: Tensor) -> str:
    """Return the two ONNX nodes, or a sentence why there are none."""
    if settings.scheme == NVFP4:
        return "None: QuantizeLinear takes no scales in float8_e4m3fn, and no global scale."
    if settings.rounding_arguments:
        return "None: ONNX has no attribute for this rounding."
    if why_not := why_no_node(settings.fmt):
        return why_not
    if settings.scheme == MX and settings.fmt.is_integer:
        return "None: MXINT8 has elements from -127 to 127 in units of 1/64, QuantizeLinear integers from -128 to 127."
    if settings.scheme == MX and not np.isfinite(tensor.values.astype(np.float64)).all():
        return "None: NaN and Inf make their whole block NaN in MX; QuantizeLinear converts each element for itself."
    operands = _operands(settings)
    granularity, forward, backward = _attributes(settings, tensor)
    if settings.scheme == MX:
        backward["output_dtype"] = FLOAT32  # as mx_dequantize
    if "saturate" in forward:
        forward["saturate"] = int(settings.saturate)
    nodes = (
        node_call("QuantizeLinear", ["x", *operands], "y", granularity | forward),
        node_call("DequantizeLinear", ["y", *operands], "back", granularity | backward),
    )
    return node_list(nodes, settings.opset)


def of_quantization(state: Quantize, tensor: Tensor, settings: Settings) -> Snippets:
    """Return the Python that quantizes and dequantizes the tensor, and the two ONNX nodes."""
    made, texts = made_formats(target=settings.fmt)
    python = "\n".join(
        [
            f"{NUMPY}{made}{tensor_lines(state, tensor)}",
            *_LINES[settings.scheme](settings, tensor, texts),
            "error = back.astype(float) - x.astype(float)",
            "print(np.abs(error[np.isfinite(error)]).max(initial=0))",
        ]
    )
    return python, _nodes(settings, tensor)


_COMPARED = """
def compare(name, back):
    values, back = x.astype(float), back.astype(float)
    finite = np.isfinite(values) & np.isfinite(back)
    found = error_statistics(values[finite], back[finite])
    print(name, found.sqnr_db, found.max_abs_error)
"""


def of_comparison_of_settings(state: Quantize, tensor: Tensor, settings: Mapping[str, Settings]) -> Snippets:
    """Return the Python that prints SQNR and largest error of settings by their texts, and why there are no nodes."""
    made, texts = made_formats(**{f"target{place}": one.fmt for place, one in enumerate(settings.values(), 1)})
    lines = [
        f"{NUMPY.rstrip()}\nfrom lowprec.loss import error_statistics\n",
        f"{made}{tensor_lines(state, tensor)}\n{_COMPARED}",
    ]
    for text, one in settings.items():
        lines += ["", *_LINES[one.scheme](one, tensor, texts), f"compare({text!r}, back)"]
    return "\n".join(lines), "None: nodes quantize by one setting; those of each are in its own section."


def of_sweep(state: Quantize, tensor: Tensor) -> Snippets:
    """Return the Python that prints what each combination loses, and why there is no ONNX node for it."""
    lines = [
        NUMPY + "from lowprec.loss import block_sweep\n",
        tensor_lines(state, tensor),
        f"rows = np.moveaxis(x, {state.axis}, -1).reshape(-1, x.shape[{state.axis}])",
        f"rows = rows[: max(1, {MOST_SWEPT} // rows.shape[1]), :{MOST_SWEPT}]",
        f"for one in block_sweep(rows, formats={state.sweep_formats}, scale_rules={(None, *state.sweep_rules)}):",
        "    print(one.format, one.scale_rule, one.block_size, one.sqnr_db, one.bits_per_value)",
    ]
    if tensor.values.size <= MOST_SWEPT:
        del lines[3]
    return "\n".join(lines), "A sweep compares settings; no node does that."
