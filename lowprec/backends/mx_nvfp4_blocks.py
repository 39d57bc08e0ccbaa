"""MX and NVFP4 blocks in host memory, and their values."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .. import _kernels
from .._float_mode import default_mode
from ..arrays.array_memory import from_codes, to_codes, to_host, to_library
from ..arrays.libraries import (
    call_back,
    is_dask,
    is_torch,
    is_traced,
    namespace,
)
from ..arrays.storage_dtypes import storage_dtype
from ..arrays.torch_tensors import mark_written
from ..plans.block_plan import MXINT8, BlockPlan
from ..plans.cast_plan import plan_of
from ..plans.plan import Method, Plan, Scaling, copy_plan
from ..plans.scale_shapes import granularity_of
from ..spec.formats import FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT32, INT8, Format
from ..spec.memo import CACHED
from ..spec.packing import group
from ..spec.rounding_modes import Stream
from ..spec.scale_rules import TORCHAO, TRANSFORMER_ENGINE
from ..spec.special_values import limits_of
from .array_api.blocks import elements_of, find_scales, find_start, number_on_host, scaled_values
from .backend_choice import dispatch
from .cublas_scale_order import swizzle
from .ggml_blocks import as_bytes, to_single
from .jobs import BlockJob, Job, Scales
from .kernel_parameters import block_element_numbers, block_scale_numbers
from .kernels_of_plan import rounding_loops
from .nvfp4_scales import global_scale_of, start_of
from .threads import shared

__all__ = ["block_program", "block_scales", "decode_elements", "fits_packed", "quantize_blocks"]


_Array = np.ndarray[Any, Any]
_BY_PRODUCTS = TORCHAO, TRANSFORMER_ENGINE
"""Rules by which elements are multiplied, not divided."""
_LEAST_EXPONENT = -103
"""Of the smallest normal element: float32's own subnormals are below all its steps then."""


def _rounding_of(plan: BlockPlan) -> dict[str, int] | None:
    """Return the numbers of the rounding of the elements, None where no kernel of blocks rounds so."""
    fmt, rounding = plan.element, plan.rounding
    if plan.source.bits > 32 or fmt.bits > 8 or not fmt.signed or fmt.emin < _LEAST_EXPONENT:
        return None
    cast = Plan(Method.ROUND, FLOAT32, fmt, rounding=rounding, limits=limits_of(fmt, rounding))
    names, numbers = rounding_loops(cast, wide=False)
    if names not in (["round32_to8"], ["stochastic32_to8"]):  # the random bits ask for more than float32
        return None
    return numbers


@lru_cache(maxsize=CACHED)
def block_program(plan: BlockPlan, packed: bool) -> _kernels.BlockProgram | None:
    """Return the loops of a plan; None where there are none, as for wide sources."""
    rounding = _rounding_of(plan)
    if rounding is None:
        return None
    fmt = plan.element
    return _kernels.BlockProgram(
        {**block_scale_numbers(plan), **block_element_numbers(plan, rounding)},
        kind=2 if plan.scale_rule in _BY_PRODUCTS else int(plan.two_levels),
        ignores=plan.specials == "ignore",
        is_random=plan.rounding.random_bits > 0,
        by_adding=plan.last.method is Method.NEAREST_EVEN,
        integers=fmt == MXINT8,
        negative_zero=-1 if fmt.has_negative_zero else fmt.sign_mask,
        pack=f"pack{fmt.bits}" if packed else None,
        bits=fmt.bits if packed else 8,
        group=group(fmt)[0] if packed else 1,
    )


def fits_packed(fmt: Format, spread: tuple[int, int, int], block: int) -> bool:
    """Whether packed elements begin with a byte wherever the loops begin."""
    (outer, length, inner), whole = spread, group(fmt)[0]
    if inner > 1:
        return inner % whole == 0
    rows = outer == 1 or length % whole == 0 or length % block == 0
    return rows and (block % whole == 0 or block * whole <= _kernels.TILE_ELEMENTS)


@default_mode
def quantize_dense(
    program: _kernels.BlockProgram,
    x: _Array,
    plan: BlockPlan,
    outputs: tuple[_Array, _Array],
    spread: tuple[int, int, int],
    block: int,
    factor: _Array | None,
    stream: Stream | None,
) -> None:
    """Write elements and scales of dense unsigned codes of the source.

    Parameters
    ----------
    program : BlockProgram
        What `block_program` returned.
    x : numpy.ndarray
        The codes.
    plan : BlockPlan
        Whose program it is.
    outputs : tuple of numpy.ndarray
        Dense memory for the elements and the scales.
    spread : tuple of int
        The shape of `x`, its axes merged to (outer, the axis of the blocks, inner), without a length of 0.
    block : int
        The block size.
    factor : numpy.ndarray or None
        What the rule of a global scale starts from, 0-d; None where there is none.
    stream : Stream or None
        The random numbers.
    """
    seed, offset = (0, 0) if stream is None else stream
    elements, scales = (as_bytes(out) for out in outputs)
    shared(
        x.size, _kernels.quantize_blocks, program, to_single(plan.source), as_bytes(x), elements, scales,
        *spread, block, 1.0 if factor is None else float(factor), seed, offset,
    )  # fmt: skip


_INTEGER_STEP = MXINT8.mantissa_bits
_SCALES = plan_of(FLOAT8_E4M3FN, FLOAT32)


@lru_cache(maxsize=CACHED)
def _plan(source: Format, target: Format) -> Plan:
    return Plan(Method.DEQUANTIZE, source, target, scaling=Scaling(FLOAT32, None, plan_of(FLOAT32, target)))


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


def _codes_of(job: BlockJob) -> tuple[_Array, ...]:
    """Return the results for a NumPy array as unsigned codes; they are ``job.out`` where that is given."""
    x, plan, axis, block = job.x, job.plan, job.axis, job.block
    factor = None
    if plan.two_levels:
        factor = find_start(x, plan) if job.global_scale is None else start_of(job.global_scale, plan)
    kept = [None, None] if job.out is None else job.out
    direct = job.packed and fits_packed(plan.element, job.spread, block)
    program = block_program(plan, direct) if x.size else None
    if program is None:
        scales = find_scales(x, plan, axis, block, factor)
        elements = elements_of(scaled_values(x, scales, plan, axis, block, factor), job, codes=True)
    else:
        elements = _output(kept[0], job.results[0][0] if direct else x.shape)
        scales = _output(None if job.swizzled else kept[1], job.scale_shape)
        codes = np.ascontiguousarray(to_codes(x))
        quantize_dense(program, codes, plan, (elements, scales), job.spread, block, factor, job.stream)
        if job.packed and not direct:
            elements = dispatch(Job(elements, copy_plan(plan.element), codes=True, packed=True))
    scales = swizzle(scales, axis) if job.swizzled else scales
    return (elements, scales) if factor is None else (elements, scales, global_scale_of(factor, plan).view(np.uint32))


def _output(out: _Array | None, shape: tuple[int, ...]) -> _Array:
    """Return memory for codes of a byte: that of the caller where the loops can write to it."""
    if out is not None and out.shape == shape and out.flags.c_contiguous and out.dtype == np.uint8:
        return out
    return np.empty(shape, np.uint8)


def _host_job(job: BlockJob) -> BlockJob:
    """Return the job for the NumPy array with the elements of ``job.x``."""
    factor = None if job.global_scale is None else number_on_host(job.global_scale)
    x = to_host(job.x)
    out = None if job.out is None else tuple(map(to_codes, job.out))
    if out is not None and any(np.may_share_memory(x, one) for one in out):
        out = None
    return job._replace(x=x.view(job.plan.source.dtype), global_scale=factor, out=out)


def _store(codes: _Array, out: Any) -> Any:
    """Write codes to an array of the caller, unless it holds them."""
    swapped = isinstance(out, np.ndarray) and not out.dtype.isnative
    memory = to_codes(out)
    if not (codes.base is not None and np.shares_memory(codes, memory)):
        memory[...] = codes.byteswap() if swapped else codes
    if is_torch(out):
        mark_written(out)
    return out


def quantize_blocks(job: BlockJob) -> tuple[Any, ...]:
    """Carry out a block quantization in host memory."""
    job.check_out()
    results = _codes_of(_host_job(job))
    if job.out is not None:
        return tuple(_store(codes, out) for codes, out in zip(results, job.out, strict=True))
    pairs = zip(results, job.results, strict=True)
    return tuple(from_codes(codes, dtype, job.x) for codes, (_, dtype) in pairs)
