"""The values of MX and NVFP4 blocks: one dequantization, after the scales were made what its loops multiply by."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .._float_mode import default_mode
from ..arrays.libraries import call_back, is_dask, is_traced, namespace, storage_dtype, to_host, to_library
from ..plans.block_plan import MXINT8
from ..plans.cast_plan import make_plan
from ..plans.plan import Plan, Rule, Scaling
from ..plans.scale_shapes import granularity_of
from ..spec.formats import FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT32, INT8, Format
from ..spec.memo import CACHED
from ..spec.operator_versions import NEWEST, CastRules, version_of
from .dispatch import dispatch
from .job import Job, Scales

__all__ = ["block_scales", "decode_elements"]

_Array = np.ndarray[Any, Any]
_INTEGER_STEP = MXINT8.mantissa_bits
_RULES = CastRules(version_of(NEWEST), True, "up")
_SCALES = make_plan(FLOAT8_E4M3FN, FLOAT32, _RULES)


@lru_cache(maxsize=CACHED)
def _plan(source: Format, target: Format) -> Plan:
    last = make_plan(FLOAT32, target, _RULES)
    return Plan(Rule.DEQUANTIZE, source, target, scaling=Scaling(FLOAT32, None, last))


def _on_codes(task: Callable[..., _Array], *arrays: Any) -> Any:
    """Return the float32 results of a task for the codes of small arrays of any library."""
    x = arrays[0]
    dtype = storage_dtype(FLOAT32, namespace(x))
    if any(map(is_traced, arrays)):
        return call_back(partial(_from_arrays, task=task), x.shape, dtype, *arrays, elementwise=False)
    if is_dask(x):
        mapped = importlib.import_module("dask.array").map_blocks
        return mapped(_from_arrays, *arrays, task=task, meta=np.empty((0,) * x.ndim, np.float32))
    return to_library(task(*map(to_host, arrays)).view(np.uint32), FLOAT32, x)


def _from_arrays(*arrays: Any, task: Callable[..., _Array]) -> _Array:
    return task(*(to_host(np.asarray(array)) for array in arrays))


@default_mode
def _integer_steps(codes: _Array) -> _Array:
    """Return 2**E / 64 for codes of 2**E: float32 numbers all of them, subnormal ones too."""
    steps = np.ldexp(np.float64(1), codes.astype(np.int32) - FLOAT8_E8M0FNU.bias - _INTEGER_STEP)
    return np.where(codes == FLOAT8_E8M0FNU.nan_code, np.nan, steps).astype(np.float32)


@default_mode
def _products(codes: _Array, factor: _Array) -> _Array:
    values = np.asarray(dispatch(Job(codes, _SCALES)))
    with np.errstate(all="ignore"):
        return np.asarray(values * factor.view(np.float32).reshape(()))


def block_scales(scales: Any, global_scale: Any) -> Any:
    """Return the scales of NVFP4 blocks times the global scale, rounded to float32, in the library of the scales."""
    return _on_codes(_products, scales, global_scale)


def decode_elements(
    elements: Any, scales: Any, fmt: Format, blocks: tuple[int, int], target: Format, shape: tuple[int, ...] | None
) -> Any:
    """Return elements times scales, rounded to float32 and to a target.

    Parameters
    ----------
    elements : array
        Hold `fmt`, int8 for `MXINT8`; 1-D packed bytes where `shape` is given.
    scales : array
        float8_e8m0fnu, or codes of it, or float32.
    fmt : Format
        The format of the elements.
    blocks : tuple of int
        The axis of the blocks, from 0 up, and their size.
    target : Format
        float32, float16 or bfloat16.
    shape : tuple of int or None
        The shape of packed elements.
    """
    held = FLOAT32 if str(scales.dtype).rpartition(".")[2] == FLOAT32.name else FLOAT8_E8M0FNU
    if fmt == MXINT8:
        scales, held, fmt = _on_codes(_integer_steps, scales), FLOAT32, INT8
    whole = tuple(elements.shape) if shape is None else shape
    granularity = granularity_of(whole, tuple(scales.shape), *blocks, blocks=True, axes=True)
    return dispatch(Job(elements, _plan(fmt, target), Scales(scales, held, None, granularity), shape=shape))
