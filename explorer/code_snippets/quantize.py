"""The code snippets of Quantize."""

from __future__ import annotations

import math

from ..page_states import Quantize
from ..views.quantize import SCALE_FORMATS, Settings
from ..views.tensor import Tensor
from .snippet_text import (
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

__all__ = ["of_quantization"]

_SAMPLES = {
    "normal": "rng.standard_normal(shape)",
    "uniform": "rng.uniform(-1, 1, shape)",
    "laplace": "rng.laplace(size=shape)",
    "student-t": "rng.standard_t(3, shape)",
    "outliers": "rng.standard_normal(shape) * np.where(rng.random(shape) < 0.01, 20, 1)",
}


def _tensor(state: Quantize, tensor: Tensor) -> str:
    """Return the lines that compute `x`."""
    input_format = tensor.format.name
    if state.origin == "sampled":
        shape = f"rng, shape = np.random.default_rng({state.seed}), ({state.rows}, {state.columns})"
        return f"{shape}\nx = lp.cast({_SAMPLES[state.distribution]} * {state.spread!r}, {input_format!r})"
    if state.origin == "typed":
        return f"inf, nan = np.inf, np.nan\nx = np.array({tensor.values.tolist()!r}, np.{input_format})"
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


def of_quantization(state: Quantize, tensor: Tensor, settings: Settings) -> Snippets:
    """Return the Python that quantizes and dequantizes the tensor, and the two ONNX nodes."""
    fmt = settings.fmt
    operands = ["scale", "zero_point"] if settings.has_zero_point else ["scale"]
    granularity: Arguments = {} if settings.granularity == "tensor" else {"axis": settings.axis}
    if settings.block:
        granularity["block_size"] = settings.block
    forward: Arguments = {} if settings.has_zero_point else {"output_dtype": fmt}
    if takes_saturate(fmt):
        forward["saturate"] = settings.saturate
    backward: Arguments = {} if settings.scale_format.has_zero else {"output_dtype": tensor.format}
    made, texts = made_formats(target=fmt)
    why_not = why_no_node(fmt)
    opset: Arguments = {} if why_not else {"opset": settings.opset}
    to_codes = python_arguments({**granularity, **forward, **opset}, texts)
    source: Arguments = {"source": fmt} if why_not else {}
    to_values = python_arguments({**granularity, **source, **backward, **opset}, texts)
    python = "\n".join(
        [
            f"{NUMPY}{made}{_tensor(state, tensor)}",
            *_scale_lines(settings, tensor.values.ndim, granularity, texts),
            f"y = lp.quantize_linear({', '.join(['x', *operands])}{to_codes})",
            f"back = lp.dequantize_linear({', '.join(['y', *operands])}{to_values})",
            "error = back.astype(float) - x.astype(float)",
            "print(np.abs(error[np.isfinite(error)]).max(initial=0))",
        ]
    )
    if why_not:
        return python, why_not
    if "saturate" in forward:
        forward["saturate"] = int(settings.saturate)
    nodes = (
        node_call("QuantizeLinear", ["x", *operands], "y", granularity | forward),
        node_call("DequantizeLinear", ["y", *operands], "back", granularity | backward),
    )
    return python, node_list(nodes)
