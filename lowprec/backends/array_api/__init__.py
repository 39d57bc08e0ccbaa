"""Any other array library: jobs in array-API calls."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from ...arrays.array_memory import check_out, reinterpret
from ...arrays.libraries import namespace
from ...arrays.storage_dtypes import native
from ...plans.cast_plan import make_plan
from ...plans.plan import Method, Plan
from ...spec import packing
from ...spec.formats import Format, as_format
from ...spec.operator_versions import NEWEST, CastRules, version_of
from ...spec.rounding_modes import Stream
from ..jobs import BlockJob, Job, Scales
from ..scales_for_kernels import check_zero_point
from .blocks import quantize_blocks
from .cast import Library, copied, encoded, native_values, nonzero, require, truncated, values_of
from .quantize import quantize_array
from .rounding import exact_values, round_values

__all__ = ["accepts", "cast_array", "run"]


def cast_array(x: Any, plan: Plan, xp: Any, *, extend: bool = False, stream: Stream | None = None) -> Any:
    """Convert an array by a plan, with nothing but calls of its array-API namespace.

    NaN, Inf, -0 and out-of-range values become what the plan says.

    Parameters
    ----------
    x : array of `xp`, any shape
        Values in the source's own dtype, or codes: uint8 and uint16 for the floats of up to 16 bits, int8 or uint8
        for sub-byte integers (masked or sign-extended: only their low bits are read).
    plan : Plan
        The conversion.
    xp : module
        The namespace of `x`, as array-api-compat returns it.
    extend : bool
        Whether a sub-byte integer result holds sign-extended values rather than masked codes.
    stream : Stream, optional
        The random numbers of a stochastic plan.

    Returns
    -------
    array of `xp`, shape of `x`
        Values for bool, integers and the floats of 32 and 64 bits, else codes in uint8 or uint16. A copy of a float
        that came in a dtype of its own stays in that dtype: array-API calls cannot see the payload of a NaN.

    Raises
    ------
    TypeError
        If the namespace lacks a dtype that the conversion needs.

    Notes
    -----
    Source: ONNX Cast, every version up to opset 28; array API 2023.12.

    Examples
    --------
    >>> import array_api_compat.numpy as xp
    >>> from lowprec.spec.formats import FORMATS
    >>> from lowprec.spec.operator_versions import cast_rules
    >>> from lowprec.plans.cast_plan import make_plan
    >>> rows = FORMATS["float64"], FORMATS["float8_e4m3fn"]
    >>> cast_array(xp.asarray([1.0, 1e9, -0.0]), make_plan(*rows, cast_rules(*rows)), xp).tolist()
    [56, 126, 128]
    """
    require(plan.target, xp)
    lib = Library(xp, array_api_compat.device(x))
    if plan.method is Method.COPY:
        return copied(x, plan.target, extend, lib)
    if plan.method is Method.NONZERO:
        return nonzero(x, plan.source, lib)
    if plan.method is Method.TRUNCATE:
        return truncated(x, plan, extend, lib)
    if plan.method is Method.ROUND:
        return round_values(exact_values(x, plan.source, lib), plan, stream, lib)
    values = values_of(x, plan.source, plan.target, lib)
    return native_values(values, plan, lib) if plan.target.bits > 16 else encoded(values, plan, lib)


# ---- copies


# ---- integer and bool targets


_NEWEST_RULES = CastRules(version_of(NEWEST), True, "up")


def _unsigned(fmt: Format) -> Format:
    """Return the unsigned integer as wide as the format's storage dtype."""
    return as_format(fmt.code_dtype)


def _read(x: Any, source: Format, xp: Any) -> Any:
    """Return `x` as `cast_array` takes it: in the format's own dtype, or as uint8 / uint16 codes."""
    own = native(source, xp)
    guest = isinstance(own, np.dtype) and own.isbuiltin != 1  # a dtype of ml_dtypes, which CuPy may not compute with
    if source.is_float and (source.bits <= 8 or guest) and own is not None and x.dtype == own:
        return x.view(getattr(xp, source.code_dtype.name))
    is_direct = own is None or x.dtype == own
    if is_direct or (source.is_float and source.bits <= 16):
        return x
    if source.is_float:
        return reinterpret(x, source, xp)
    return cast_array(x, make_plan(_unsigned(source), source, _NEWEST_RULES), xp)


def _deliver(job: Job, result: Any, dtype: Any) -> Any:
    """Return codes, or values, of the target as `dtype`, in `out` where there is one."""
    x, target, out = job.x, job.plan.target, job.out
    xp = namespace(x)
    if job.packed:
        result = packing.pack(result, target, xp)
    elif result.dtype != dtype and target.is_float:
        result = reinterpret(result, target if dtype == native(target, xp) else _unsigned(target), xp)
    elif result.dtype != dtype:
        result = xp.astype(result, dtype)  # masked codes from int8, or bools
    if out is None:
        return result
    check_out(out, x, result.shape, dtype)
    try:
        out[...] = result
    except ValueError as error:  # of a library that does not say beforehand that memory is read-only
        raise ValueError(f"`out` must be writable; {xp.__name__} says: {error}") from None
    return out


def accepts(job: Job | BlockJob) -> bool:
    """Whether the library can do it: every one is tried, and lacks a dtype at most."""
    return True


def run(job: Job | BlockJob) -> Any:
    """Carry out a job in the library and on the device of the array."""
    if isinstance(job, BlockJob):
        return quantize_blocks(job)
    x, plan, dtype, extend = job.x, job.plan, job.dtype, job.extend
    xp, target = namespace(x), plan.target
    codes = packing.unpack(x, plan.source, job.shape, xp) if job.shape is not None else _read(x, plan.source, xp)
    if job.scales is not None:
        check_zero_point(plan, job.scales)
        scales = _readable(job, job.scales, xp)
        result = quantize_array(codes, plan, scales, xp, extend=extend, stream=job.stream)
    else:
        if dtype != native(target, xp) and not extend and target.is_integer and target.bits >= 8:
            plan = make_plan(plan.source, _unsigned(target), _NEWEST_RULES)  # an integer's code: the number mod 2**bits
        result = cast_array(codes, plan, xp, extend=extend, stream=job.stream)
    return _deliver(job, result, dtype)


def _readable(job: Job, scales: Scales, xp: Any) -> Scales:
    """Return scales whose arrays `quantize_array` reads."""
    zero_point = scales.zero_point
    if zero_point is not None:
        has_use = job.plan.scaling is not None and job.plan.scaling.zero_point is not None
        zero_point = _read(zero_point, job.plan.codes, xp) if has_use else None
    return scales._replace(scale=_read(scales.scale, scales.format, xp), zero_point=zero_point)
