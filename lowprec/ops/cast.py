"""`cast`, `cast_like` and `bitcast`: documentation, checks, one call to the back ends."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from ..arrays.array_memory import reinterpret
from ..arrays.libraries import Array, namespace
from ..arrays.storage_dtypes import format_of
from ..arrays.torch_tensors import dispatched, eager, transformed
from ..backends.backend_choice import dispatch
from ..backends.jobs import Job
from ..backends.prepared_calls import CASTS, CallKey, is_tensor_in_memory, run_cast
from ..plans.cast_plan import CAST, CAST_LIKE, TEXT, CastOptions, resolve, resolve_bits, rounding_arguments
from ..plans.plan import copy_plan
from ..spec.operator_versions import NEWEST
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    NaNName,
    OverflowName,
    RoundingName,
    RoundModeName,
    named_arguments,
)

__all__ = ["bitcast", "cast", "cast_like"]


@eager
def cast(
    x: Array,
    to: object,
    *,
    source: object = None,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    out: Any = None,
) -> Array:
    """Convert every element of an array to another format, as ONNX Cast does, rounded once.

    NaN becomes the target's canonical NaN with the source's sign where it has one; the formats without NaN get a zero
    of the opposite sign (float4, float6), integers get 0. Inf becomes Inf, the largest value or NaN, by the target and
    `saturate`; integers get 0. -0 keeps its sign where the target has one. Out of range: float16 and wider give Inf,
    float8 follows `saturate`, float4 and float6 give the largest value, integers keep the low bits.

    Parameters
    ----------
    x : array
        Any shape and strides; bool, integer or float of any format. NumPy scalars count as 0-d arrays. NumPy arrays of
        text too: fixed-width, StringDType or `str` objects that hold decimals, INF or NaN.
    to : str, int, dtype or Format
        The target format (see `as_format`).
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes (uint8, uint16, …).
    saturate : bool
        Float8 targets: whether too large a magnitude becomes the largest value (True), or Inf or NaN. As ONNX says, it
        is ignored for all others, and so is `round_mode`.
    round_mode : {"up", "down", "nearest"}, optional
        float8_e8m0fnu targets: away from zero, toward zero, or to nearest; None is ``"up"``. Ignored for all others.
    opset : int
        The ONNX opset, 1 to 28, whose Cast decides what is allowed and what Inf becomes.
    rounding : str, optional
        Float targets: the rule beyond ONNX that chooses between the two neighbours. ``"nearest_even"``,
        ``"nearest_away"``, ``"nearest_zero"``, ``"toward_zero"``, ``"away_from_zero"``, ``"toward_positive"``,
        ``"toward_negative"``, ``"to_odd"``, ``"stochastic"`` (the same as ``"stochastic_b"``), ``"stochastic_a"``,
        ``"stochastic_c"``. Where this, `overflow` or `nan` is given, `saturate`, `round_mode` and `opset` must be at
        their defaults, and the ones not given are ``"nearest_even"``, ``"sat_finite"`` for targets of up to 8 bits and
        ``"ovf_inf"`` for wider ones, ``"signed"``.
    overflow : {"sat_finite", "sat_propagate", "ovf_inf"}, optional
        What becomes of Inf and of what rounds beyond the largest value: the largest value; the same, but Inf stays
        Inf; Inf, or NaN where there is no Inf, or the largest value where there is neither.
    nan : {"signed", "plain", "zero", "largest"}, optional
        What becomes of NaN: the canonical NaN with the sign of the source, or without; +0; the largest value.
    seed : int, optional
        0 to 2**64 - 1; needed where `rounding` is stochastic, and only there. The same seed gives the same bits, on any
        number of threads, in any layout, on any device. An integer of JAX or a key of two words counts as one,
        ``first * 2**32 + second``; beside a JAX array it may be traced.
    random_bits : int
        How many random bits decide a stochastic rounding, 1 to 32; only there.
    offset : int
        0 to 2**63 - 1, where `rounding` is stochastic: the place of the first element in the stream of random numbers
        (see `stochastic_bits`). Pieces of an array, each with the index of its first element, get the bits of the
        whole.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have, each element in
        memory of its own. It may overlap the other arrays.

    Returns
    -------
    array
        The same shape, in the library and on the device of `x`, with the dtype `storage_dtype` says; dense layouts are
        kept.
        To string: `str` objects, the fewest digits that give the value back in its own type (float32 for narrower
        floats than float16), positional from 1e-4 to 1e16, else scientific.

    Raises
    ------
    TypeError
        If `x` is no array, or holds complex numbers, bytes or objects that are no `str`, or text is asked of a library
        that has none.
    ValueError
        If a parameter is out of its range, the opset lacks the type or attribute, or a text is no number.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28; the two float8 tables and the float8e8m0 table of Cast-24.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([0.3, -1000.0, np.inf], np.float32)
    >>> lp.cast(x, "float8_e4m3fn").tolist()
    [0.3125, -448.0, 448.0]
    >>> lp.cast(x, "float8_e4m3fn", saturate=False).tolist()
    [0.3125, nan, nan]
    """
    given = "cast", to, source, saturate, round_mode, opset, rounding, overflow, nan, random_bits
    if type(x) is ndarray or not transformed():
        result = run_cast(x, None, None, given, seed, offset, out)
        if result is not None:
            return result
    rules = (rounding, overflow, nan, seed, random_bits, offset)
    in_onnx = (
        rounding is None and overflow is None and nan is None and seed is None
        and random_bits is DEFAULT_RANDOM_BITS and offset is FIRST
    )  # fmt: skip
    if dispatched(x, out):
        from .. import torch_ops

        return torch_ops.cast(
            x, to, source=source, saturate=saturate, round_mode=round_mode, opset=opset, out=out,
            **({} if in_onnx else named_arguments(*rules)),
        )  # fmt: skip
    options, stream = (None, None) if in_onnx else rounding_arguments(*rules)
    plan = resolve(x, source, to, CAST, CastOptions(saturate, round_mode, opset, options))
    return dispatch(Job(x, plan, out=out, key=CallKey(CASTS, given), stream=stream))


def cast_like(
    x: Array,
    like: Any,
    *,
    source: object = None,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    out: Any = None,
) -> Array:
    """Convert every element of an array to the format of another array, as ONNX CastLike does.

    NaN, Inf, -0 and out-of-range values are converted as by `cast`.

    Parameters
    ----------
    x : array
        Any shape and strides; bool, integer or float of any format but float6.
    like : array
        Its dtype names the target, in any library; its shape and values do not matter.
    source, saturate, round_mode, out
        As in `cast`.
    opset : int
        The ONNX opset, 15 to 28.
    rounding, overflow, nan, seed, random_bits, offset
        As in `cast`.

    Returns
    -------
    array
        As `cast` returns it.

    Raises
    ------
    TypeError
        If `x` or `like` is no array, or holds objects or complex numbers.
    ValueError
        If a parameter is out of its range, or the opset lacks the type or attribute.

    Notes
    -----
    Source: ONNX CastLike, versions 15, 19, 21, 23, 24 and 25. No version has float6.

    Examples
    --------
    >>> import ml_dtypes
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.cast_like(np.array([0.3, 500.0]), np.zeros(1, ml_dtypes.float8_e4m3fn)).tolist()
    [0.3125, 448.0]
    """
    target = getattr(like, "dtype", None)
    given = "cast_like", target, source, saturate, round_mode, opset, rounding, overflow, nan, random_bits
    keyed = type(like) is ndarray if type(x) is ndarray else not transformed() and is_tensor_in_memory(like)
    if keyed:
        result = run_cast(x, None, None, given, seed, offset, out)
        if result is not None:
            return result
    rules = (rounding, overflow, nan, seed, random_bits, offset)
    in_onnx = (
        rounding is None and overflow is None and nan is None and seed is None
        and random_bits is DEFAULT_RANDOM_BITS and offset is FIRST
    )  # fmt: skip
    if dispatched(x, like, out):
        from .. import torch_ops

        options = {"saturate": saturate, "round_mode": round_mode, "opset": opset}
        more = {} if in_onnx else named_arguments(*rules)
        return torch_ops.cast_like(x, like, source=source, out=out, **options, **more)
    namespace(like, "like")
    named = format_of(like.dtype, names=("like", "like"), kinds=TEXT)
    beyond, stream = (None, None) if in_onnx else rounding_arguments(*rules)
    plan = resolve(x, source, named, CAST_LIKE, CastOptions(saturate, round_mode, opset, beyond))
    key = CallKey(CASTS, given) if keyed else None
    return dispatch(Job(x, plan, out=out, key=key, stream=stream))


@eager
def bitcast(x: Array, to: object, *, source: object = None, opset: int = NEWEST) -> Array:
    """Read the bits of every element as another format of the same width, as ONNX BitCast does.

    No value is looked at: NaN payloads, -0 and codes without a value stay as they are. A bool is a byte wide and keeps
    it.

    Parameters
    ----------
    x : array
        Any shape and strides; any format but string, complex numbers included.
    to : str, int, dtype or Format
        A format of the same width in bits: 2, 4, 8, 16, 32, 64 or 128 (a float4 is 4 bits wide, whatever holds it).
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes. float6, which ONNX leaves out, can be read as the
        other float6 in this way.
    opset : int
        The ONNX opset, 26 to 28.

    Returns
    -------
    array
        The same shape, in the library and on the device of `x`, with the dtype `storage_dtype` says. From 8 bits up it
        is a view of the memory of `x` (a copy where `x` is in the other byte order); narrower formats are copied.

    Raises
    ------
    TypeError
        If `x` is no array or holds strings or objects, or its library cannot see the bits.
    ValueError
        If the widths differ, or a parameter is out of its range.

    Notes
    -----
    Source: ONNX BitCast-26.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.bitcast(np.array([1.0, -0.0], np.float32), "uint32").tolist()
    [1065353216, 2147483648]
    """
    if type(x) is not ndarray and dispatched(x):
        from .. import torch_ops

        return torch_ops.bitcast(x, to, source=source, opset=opset)
    xp = namespace(x)
    stored, target = resolve_bits(x.dtype, source, to, opset)
    if target.bits >= 8:
        return reinterpret(x, target, xp)
    return dispatch(Job(x, copy_plan(stored, target)))
