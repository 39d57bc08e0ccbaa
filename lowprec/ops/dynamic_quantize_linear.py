"""`dynamic_quantize_linear`: the operator, and the scale and zero point that the range of the values asks for."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat as compat
import numpy as np
from numpy import ndarray

from .. import _kernels
from ..arrays.array_memory import to_host, to_library
from ..arrays.libraries import Array, call_back, has_host_memory, is_dask, is_traced, namespace
from ..arrays.storage_dtypes import format_of
from ..arrays.torch_tensors import dispatched, eager
from ..backends import dask
from ..backends.backend_choice import dispatch
from ..backends.jobs import Job
from ..plans.cast_plan import plan_of
from ..spec.formats import FLOAT32, UINT8
from ..spec.operator_versions import NEWEST, version_of
from .quantize_linear import quantize_linear

__all__ = ["dynamic_quantize_linear", "range_of"]


_SINGLE, _BYTE = FLOAT32, UINT8


def _steps(x: Any, xp: Any) -> tuple[Any, Any]:
    """Return scale and zero point, step by step as the operator's function body; a zero point of NaN becomes 0."""
    zero = xp.zeros((), dtype=x.dtype, device=compat.device(x))
    low, high = xp.minimum(xp.min(x), zero), xp.maximum(xp.max(x), zero)
    with np.errstate(all="ignore"):
        scale = xp.asarray((high - low) / 255)
        nan = xp.full((), math.nan, dtype=x.dtype, device=compat.device(x))
        scale = xp.where(xp.isnan(scale), nan, scale)  # without the sign and the payload of that in x
        initial = xp.asarray(xp.round(xp.clip(zero - low / scale, 0, 255)))
    return scale, dispatch(Job(initial, plan_of(_SINGLE, _BYTE)))


def _both(x: Any, xp: Any) -> tuple[Any, Any]:
    pair: tuple[Any, Any] = _kernels.in_default_mode(lambda: _steps(x, xp))  # XLA's threads flush subnormals
    return pair


def _of_block(least: Any, most: Any, *, wanted: str) -> Any:
    """Return one of the two, of the least and the greatest value of all blocks of a Dask array."""
    xp = compat.array_namespace(least)
    ends = xp.stack([xp.asarray(least), xp.asarray(most)])
    return _both(ends, xp)[wanted == "zero_point"]


def range_of(x: Any) -> tuple[Any, Any]:
    """Return the scale, float32, and the zero point, uint8, of float32 values: 0-d, in the library of `x`."""
    if is_dask(x):
        ends = x.min(), [(x.max(), ())]
        kinds = (("scale", _SINGLE), ("zero_point", _BYTE))
        scale, zero = (dask.blockwise(_of_block, *ends, fmt.dtype, name, wanted=name) for name, fmt in kinds)
        return scale, zero
    if is_traced(x):
        tasks = (lambda host: _both(host, np)[0]), (lambda host: _both(host, np)[1])
        scale, zero = (
            call_back(task, (), fmt.dtype, x, elementwise=False)
            for task, fmt in zip(tasks, (_SINGLE, _BYTE), strict=True)
        )
        return scale, zero
    if has_host_memory(x):
        values = to_host(x).view(_SINGLE.dtype)
        scale, zero = (np.asarray(one) for one in _both(values, np))
        return to_library(scale.view(np.uint32), _SINGLE, x), to_library(zero, _BYTE, x)
    return _both(x, namespace(x))


@eager
def dynamic_quantize_linear(x: Array, *, opset: int = NEWEST) -> tuple[Array, Array, Array]:
    """Quantize to uint8 with the scale and zero point that the range of the values asks for.

    The range is widened to hold 0; ``scale = (max - min) / 255`` and ``zero_point = round(-min / scale)``, clamped to
    uint8, in float32 as in the operator's function body. A range of 0 gives scale 0; NaN in `x` gives scale NaN, and
    zeros; a range beyond float32 gives scale Inf.

    Parameters
    ----------
    x : array
        float32, any shape, at least one element.
    opset : int
        The ONNX opset, 11 to 28.

    Returns
    -------
    y, scale, zero_point : array
        uint8 of the shape of `x`, float32 0-d, uint8 0-d, in the library and on the device of `x`.

    Raises
    ------
    TypeError
        If `x` is no array.
    ValueError
        If `x` is not float32 or is empty, or the opset lacks the operator.

    Notes
    -----
    Source: ONNX DynamicQuantizeLinear, version 11.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> y, scale, zero_point = lp.dynamic_quantize_linear(np.array([-1.0, 0.0, 1.55], np.float32))
    >>> y.tolist(), float(scale), int(zero_point)
    ([0, 100, 255], 0.009999999776482582, 100)
    """
    if type(x) is not ndarray and dispatched(x):
        from .. import torch_ops

        result: tuple[Any, Any, Any] = torch_ops.dynamic_quantize_linear(x, opset=opset)
        return result
    namespace(x)
    version_of(opset, "DynamicQuantizeLinear")
    stored = format_of(x.dtype)
    if not (stored.is_float and stored.bits == 32):
        raise ValueError(f"`x` must be float32; got {stored.name}")
    if math.prod(x.shape) == 0:
        raise ValueError(f"`x` must have an element; got shape {tuple(x.shape)}")
    scale, zero_point = range_of(x)
    return quantize_linear(x, scale, zero_point), scale, zero_point
