"""`quantize`: scales and codes of an array in one call; `Quantized`, what it returns; `dequantize`, the way back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from .._notebook_display import html_table
from ..arrays.libraries import is_torch, namespace
from ..arrays.torch_tensors import dispatched, eager
from ..plans.quantize_plan import LINEAR, check_values_format, plan_quantize, scheme_of
from ..spec.formats import BLOCK_FORMATS, FLOAT32, NVFP4, UINT8, Format, as_format, element_of
from ..spec.memo import CACHED
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, NaNName, OverflowName, RoundingName
from ..spec.scale_rules import BlockRuleName
from .cast import cast
from .encode_pack import decode, unpack
from .mx import mx_dequantize, mx_quantize
from .nvfp4 import nvfp4_dequantize, nvfp4_quantize
from .quantize_linear import onnx_dequantize_linear, onnx_quantize_linear
from .scales import absmax_scale, minmax_scale
from .to_library import held_codes

__all__ = ["Quantized", "QuantizedParts", "dequantize", "parts_of", "quantize", "register_pytrees"]


@dataclass(frozen=True, eq=False, repr=False)
class Quantized:
    """A quantized array: its codes, their scales, and which elements share a scale.

    What `quantize` returns and `dequantize` takes. It unpacks to codes and scale, and to a zero point or a global scale
    as a third where there is one: ``codes, scale = lp.quantize(x, "int8")``. It is a pytree of torch and of JAX, whose
    leaves are the arrays, and can be pickled where they can.

    Attributes
    ----------
    codes : array
        In the shape of the values, with the dtype `storage_dtype` says; 1-D uint8 where packed.
    scale : array
        The scales: 0-d, 1-D along the axis, or one for each block, as `absmax_scale`, `mx_quantize` and
        `nvfp4_quantize` return them.
    zero_point : array or None
        Of the format of the codes, in the shape of the scales.
    global_scale : array or None
        float32, 0-d: the second scale of NVFP4.
    to : str or Format
        What was quantized to: the name of a format or of a block format; a described format that is not registered.
    axis : int, tuple of int or None
        Which axis has scales, from 0 up, or along which the blocks lie; None where all elements share one.
    block_size : int or tuple of int
        Elements along the axis that share a scale; 0 where there are no blocks.
    rank : int
        How many axes the values have. Codes with more are stacked, as `vmap` returns them.
    packed_shape : tuple of int or None
        The shape of the values where the codes are packed.
    scale_format : str
        The format of the scales.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> q = lp.quantize(np.array([[1.0, 7.0], [-14.0, 5.0]], np.float32), "int4", axis=0)
    >>> q.codes.astype(int).tolist(), q.scale.tolist()
    ([[1, 7], [-7, 2]], [1.0, 2.0])
    >>> q.dequantize().tolist()
    [[1.0, 7.0], [-14.0, 4.0]]
    """

    codes: Any
    scale: Any
    zero_point: Any = None
    global_scale: Any = None
    to: str | Format = "int8"
    axis: int | tuple[int, ...] | None = None
    block_size: int | tuple[int, ...] = 0
    rank: int = 0
    packed_shape: tuple[int, ...] | None = None
    scale_format: str = FLOAT32.name

    @property
    def format(self) -> Format:
        """The format of the codes."""
        return element_of(self.to, "to")

    @property
    def scheme(self) -> str:
        """How codes and scales make values: ``"linear"``, ``"mx"`` or ``"nvfp4"``."""
        return scheme_of(self.to)

    @property
    def packed(self) -> bool:
        """Whether the codes are packed."""
        return self.packed_shape is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return tuple(self.codes.shape) if self.packed_shape is None else self.packed_shape

    def dequantize(self, to: object = "float32", *, out: Any = None) -> Any:
        """Return the values; `lowprec.dequantize` says how.

        Parameters
        ----------
        to, out
            As in `lowprec.dequantize`.

        Returns
        -------
        array
            The values, in the library of the codes.
        """
        return dequantize(self, to=to, out=out)

    def __iter__(self) -> Iterator[Any]:
        return iter(_arrays(self))

    def __repr__(self) -> str:
        return f"Quantized({', '.join(f'{name}={text}' for name, text in self._facts())})"

    def _repr_html_(self) -> str:
        return html_table([(), *self._facts()], "quantized array")

    def _facts(self) -> list[tuple[str, str]]:
        to = self.to if isinstance(self.to, str) else self.to.name
        facts = [("to", to), ("shape", str(tuple(map(int, self.shape))))]
        if self.axis is not None:
            facts.append(("axis", str(self.axis)))
        if self.block_size:
            facts.append(("block_size", str(self.block_size)))
        if self.packed:
            facts.append(("packed", "True"))
        for name in ("codes", "scale", "zero_point", "global_scale"):
            array = getattr(self, name)
            if array is not None:
                facts.append((name, f"{array.dtype} {tuple(array.shape)}"))
        return facts

    def __getstate__(self) -> dict[str, Any]:
        return {name: _picklable(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: _unpickled(value) for name, value in state.items()})
        register_pytrees()


class _View(NamedTuple):
    """A tensor of a dtype that torch does not pickle, as one of integers."""

    tensor: Any
    dtype: Any


def _picklable(value: Any) -> Any:
    if not is_torch(value) or not str(value.dtype).startswith(("torch.float8", "torch.uint16")):
        return value
    torch = sys.modules["torch"]
    return _View(value.view(torch.uint8 if value.itemsize == 1 else torch.int16), value.dtype)


def _unpickled(value: Any) -> Any:
    return value.tensor.view(value.dtype) if isinstance(value, _View) else value


# ---- pytrees


def _arrays(quantized: Quantized) -> tuple[Any, ...]:
    codes, scale, zero, factor = quantized.codes, quantized.scale, quantized.zero_point, quantized.global_scale
    if zero is not None:
        return codes, scale, zero
    return (codes, scale) if factor is None else (codes, scale, factor)


def _context(quantized: Quantized) -> tuple[Any, ...]:
    third = "zero_point" if quantized.zero_point is not None else "global_scale"
    q = quantized
    return third, q.to, q.axis, q.block_size, q.rank, q.packed_shape, q.scale_format


def _restored(arrays: Any, context: Any) -> Quantized:
    codes, scale, *third = arrays
    name, to, *sharing = context
    zero, factor = (*third, None) if name == "zero_point" else (None, *third) if third else (None, None)
    return Quantized(codes, scale, zero, factor, to, *sharing)


_registered: set[str] = set()


@eager
def register_pytrees() -> None:
    """Let torch and JAX, where they are imported, look into what `quantize` returns."""
    if "jax" in sys.modules and "jax" not in _registered:
        _registered.add("jax")
        sys.modules["jax"].tree_util.register_pytree_node(
            Quantized, lambda one: (_arrays(one), _context(one)), lambda context, arrays: _restored(arrays, context)
        )
    if "torch" in sys.modules and "torch" not in _registered:
        _registered.add("torch")
        pytree = sys.modules["torch"].utils._pytree

        def tuples(value: Any) -> Any:
            return tuple(map(tuples, value)) if isinstance(value, list) else value

        pytree.register_pytree_node(
            Quantized,
            lambda one: (list(_arrays(one)), _context(one)),
            _restored,
            serialized_type_name="lowprec.Quantized",
            to_dumpable_context=json.dumps,
            from_dumpable_context=lambda text: tuples(json.loads(text)),
            flatten_with_keys_fn=lambda one: (
                [(pytree.SequenceKey(place), array) for place, array in enumerate(_arrays(one))], _context(one)
            ),
        )  # fmt: skip


# ---- the way back


def dequantize(quantized: Quantized, *, to: object = "float32", out: Any = None) -> Any:
    """Return the values of what `quantize` returned: codes, less their zero points, times their scales.

    As `dequantize_linear`, `mx_dequantize` and `nvfp4_dequantize` do it: the product is rounded to float32, and once
    more to the type of the result. NaN, Inf and -0 behave as there.

    Parameters
    ----------
    quantized : Quantized
        What `quantize` returned. Loose codes are for those three functions.
    to : str, int, dtype or Format
        float32, float16 or bfloat16.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have.

    Returns
    -------
    array
        The values, in the library and on the device of the codes.

    Raises
    ------
    TypeError
        If `quantized` is nothing that `quantize` returned.
    ValueError
        If `to` is another format, or `out` does not fit.

    Notes
    -----
    Source: ONNX DequantizeLinear, version 28; OCP Microscaling Formats (MX) 1.0; as `nvfp4_quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> q = lp.quantize(np.array([0.0, 1.0, 2.55], np.float32), "uint8", zero_point=True)
    >>> lp.dequantize(q, to="float16").tolist()
    [0.0, 1.0, 2.55078125]
    """
    if not isinstance(quantized, Quantized):
        wanted = "what `lowprec.quantize` returned (loose codes: `dequantize_linear`, `mx_dequantize`, …)"
        raise TypeError(f"`quantized` must be {wanted}; got {type(quantized).__name__}")
    q = quantized
    name = _target_name(q.codes, to)
    rank = q.codes.ndim if q.packed_shape is None else q.rank + q.codes.ndim - 1
    if rank > q.rank:
        xp = namespace(q.codes, "quantized")
        rows = [dequantize(_at(q, row), to=to) for row in range(q.codes.shape[0])]
        values = xp.stack(rows)
        return values if out is None else cast(values, name, out=out)
    axis: Any = q.axis
    if axis is not None and rank < q.rank:  # within a `vmap`
        axis = axis - q.rank + rank if isinstance(axis, int) else tuple([one - q.rank + rank for one in axis])
    packing: dict[str, Any] = {"packed": q.packed_shape is not None, "shape": q.packed_shape}
    if q.scheme == LINEAR:
        return onnx_dequantize_linear(
            q.codes, q.scale, q.zero_point, source=q.to, scale_format=q.scale_format,
            axis=1 if axis is None else axis, block_size=q.block_size, output_dtype=name, out=out, **packing,
        )  # fmt: skip
    how = {"axis": axis, "block_size": q.block_size, "output_dtype": name, **packing}
    if q.scheme == NVFP4:
        values = nvfp4_dequantize(q.codes, q.scale, q.global_scale, **how)
    else:
        values = mx_dequantize(q.codes, q.scale, source=q.format.name, **how)
    return values if out is None else cast(values, name, out=out)


def _target_name(codes: Any, to: object) -> str:
    if type(codes) is not ndarray and dispatched(codes):
        from .. import torch_ops

        return str(torch_ops.check_values_format(to))
    return check_values_format(to)


def _at(quantized: Quantized, row: int) -> Quantized:
    """Return one of those that are stacked along the first axis of all arrays."""
    codes, scale, zero, factor = (
        None if one is None else one[row, ...]
        for one in (quantized.codes, quantized.scale, quantized.zero_point, quantized.global_scale)
    )
    q = quantized
    return Quantized(codes, scale, zero, factor, q.to, q.axis, q.block_size, q.rank, q.packed_shape, q.scale_format)


Array = np.ndarray[Any, Any]


class QuantizedParts(NamedTuple):
    """A quantized array in host memory.

    Attributes
    ----------
    codes, format : numpy.ndarray, Format
        Not packed, in the dtype of the format.
    scale, scale_format : numpy.ndarray, Format
        Of the shape that it has with the codes.
    zero_point : numpy.ndarray or None
        In the dtype of the format, of the shape of `scale`.
    global_scale : numpy.ndarray or None
        float32, one element.
    axis, block_size
        As in `absmax_scale`: what shares a scale.
    scheme : str
        ``"linear"``, ``"mx"`` or ``"nvfp4"``.
    """

    codes: Array
    format: Format
    scale: Array
    scale_format: Format
    zero_point: Array | None
    global_scale: Array | None
    axis: Any
    block_size: Any
    scheme: str

    @property
    def operands(self) -> tuple[tuple[Array, Format], ...]:
        """The arrays besides the codes, with their formats."""
        zero = () if self.zero_point is None else ((self.zero_point, self.format),)
        factor = () if self.global_scale is None else ((self.global_scale, FLOAT32),)
        return ((self.scale, self.scale_format), *zero, *factor)

    @property
    def is_fixed_point(self) -> bool:
        """Whether the codes are integers that count 64ths, as those of MXINT8."""
        return self.scheme == "mx" and self.format.is_integer

    def factors(self) -> Array:
        """Return what each code less its zero point is multiplied by, float32, of a shape that spreads to the codes."""
        factors = np.asarray(decode(self.scale, self.scale_format))
        with np.errstate(all="ignore"):
            if self.global_scale is not None:
                factors = factors * self.global_scale.reshape(())
            if self.is_fixed_point:
                factors = factors * np.float32(2**-6)
        return spread(factors, self.codes.shape, self.axis, self.block_size)

    def zero_points(self) -> Array:
        """Return the zero points as int64, of a shape that spreads to the codes."""
        if self.zero_point is None:
            return np.zeros((), np.int64)
        return spread(self.zero_point.astype(np.int64), self.codes.shape, self.axis, self.block_size)


def parts_of(quantized: Quantized, parameter: str) -> QuantizedParts:
    """Return the parts of a quantized array; errors name `parameter`."""
    fmt, shape, factor = quantized.format, tuple(quantized.shape), quantized.global_scale
    namespace(quantized.codes, parameter)
    if quantized.packed:
        codes = np.asarray(unpack(held_codes(quantized.codes, UINT8, parameter), fmt, shape)).view(fmt.dtype)
    else:
        codes = held_codes(quantized.codes, fmt, parameter)
    scale_format = as_format(quantized.scale_format)
    zero = None if quantized.zero_point is None else held_codes(quantized.zero_point, fmt, parameter)
    return QuantizedParts(
        codes, fmt, held_codes(quantized.scale, scale_format, parameter), scale_format, zero,
        None if factor is None else held_codes(factor, FLOAT32, parameter), quantized.axis, quantized.block_size,
        quantized.scheme,
    )  # fmt: skip


def spread(operand: Array, shape: tuple[int, ...], axis: Any, block_size: Any) -> Array:
    """Return scales, or zero points, in a shape that spreads to that of the codes; of blocks they are repeated.

    Examples
    --------
    >>> spread(np.array([1, 2]), (2, 3), 0, 0).tolist()
    [[1], [2]]
    >>> spread(np.array([[1, 2]]), (3, 2), None, 0).tolist()  # with the rank of the codes
    [[1, 2]]
    >>> spread(np.array([[1, 2], [3, 4]]), (2, 3), 1, 2).tolist()
    [[1, 1, 2], [3, 3, 4]]
    """
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    blocks = block_size if isinstance(block_size, (tuple, list)) else (block_size or 0,)
    if any(blocks):
        for number, block in zip(axes, blocks, strict=True):
            where = (-1 if number is None else number) % len(shape)
            operand = np.repeat(operand, min(block, max(shape[where], 1)), where)[
                (*(slice(None),) * where, slice(shape[where]))
            ]
        return operand
    if operand.size == 1:
        return operand.reshape(())
    if operand.ndim == len(shape) and (operand.ndim != 1 or axis is None):
        return operand
    lengths = [1] * len(shape)
    lengths[axes[0]] = operand.size
    return operand.reshape(lengths)


_plan_known = lru_cache(maxsize=CACHED, typed=True)(plan_quantize)


def quantize(
    x: Any,
    to: object,
    *,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] | None = None,
    zero_point: bool = False,
    scale_format: object = None,
    scale_rule: BlockRuleName | None = None,
    packed: bool = False,
    out: Any = None,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Quantized:
    """Quantize an array: find its scales, and the codes that go with them.

    The scales are those of `absmax_scale`, or with `zero_point` of `minmax_scale`, and the codes those of
    `quantize_linear`; for a block format both are those of `mx_quantize` or `nvfp4_quantize`, with which NaN, Inf and
    -0 do what these functions say. In codes of linear scales NaN is the lowest integer or NaN, Inf the largest value;
    neither counts for a scale.

    Parameters
    ----------
    x : array
        Integers or floats of any format, any shape and strides. float32, float16, bfloat16: divided by the scale as
        `quantize_linear` does. float64 and integers of 32 bits or more: the quotient is in float64, then rounded once.
        Others are cast to float32 first, which holds them exactly. For block formats a float of 16 bits or more;
        float64 is rounded to float32 first for NVFP4.
    to : str, int, dtype or Format
        The format of the codes, an integer of 2 to 16 bits or a float of up to 8 bits; or ``"mxfp8_e4m3"``,
        ``"mxfp8_e5m2"``, ``"mxfp6_e2m3"``, ``"mxfp6_e3m2"``, ``"mxfp4"``, ``"mxint8"`` or ``"nvfp4"``.
    axis : int or two ints, optional
        A scale for each index of this axis; with a block size, for each block along it. Two axes with two block sizes:
        a scale for each tile. None: one scale for the whole array; the last axis where there are blocks.
    block_size : int or two ints, optional
        Elements along the axis that share a scale, the last of which may be fewer. None: 32 for MX, 16 for NVFP4, else
        no blocks.
    zero_point : bool
        Whether the codes have zero points: for integers of 2 to 16 bits, with float32 scales. Unsigned ones need it.
    scale_format : str, int, dtype or Format, optional
        As in `absmax_scale`; None is float32, float8_e8m0fnu for MX, float8_e4m3fn for NVFP4, which have no other.
    scale_rule : str, optional
        As in `absmax_scale` where the scales are powers of two (None is ``"floor"``), as in `nvfp4_quantize` for NVFP4.
    packed : bool
        Return 2-, 4- and 6-bit codes packed in ONNX's order: 1-D uint8.
    out : array or tuple of arrays, optional
        Where the codes go; for a block format a tuple as `mx_quantize` and `nvfp4_quantize` take it.
    rounding, overflow, nan, seed, random_bits, offset
        As in `cast`, for float codes; blocks have no `overflow` and `nan`.

    Returns
    -------
    Quantized
        Codes, scales and what shares them; `dequantize` takes it back.

    Raises
    ------
    TypeError
        If `x` is no array, or holds what is no number.
    ValueError
        If a parameter is out of its range, or does not go with another one.

    Notes
    -----
    Source: ONNX QuantizeLinear, version 28; OCP Microscaling Formats (MX) 1.0; as `nvfp4_quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([[0.5, -1.5, 3.0, 6.5], [100.0, -30.0, 0.25, 0.0]], np.float32)
    >>> q = lp.quantize(x, "int8", axis=0)
    >>> q
    Quantized(to=int8, shape=(2, 4), axis=0, codes=int8 (2, 4), scale=float32 (2,))
    >>> codes, scale = q
    >>> codes.tolist()
    [[10, -29, 59, 127], [127, -38, 0, 0]]
    >>> q.dequantize().round(1).tolist()
    [[0.5, -1.5, 3.0, 6.5], [100.0, -29.899999618530273, 0.0, 0.0]]
    >>> lp.quantize(x, "mxfp4", block_size=2, packed=True).dequantize().tolist()
    [[0.5, -1.5, 3.0, 6.0], [96.0, -32.0, 0.25, 0.0]]
    """
    asked = axis, block_size, zero_point, scale_format, scale_rule, packed, rounding, overflow, nan
    if type(x) is not ndarray and dispatched(x):
        from .. import torch_ops

        known = torch_ops.plan_quantize(x.dtype, x.ndim, to, *asked)
        packed_shape = tuple(x.shape) if known[4] else None
    else:
        namespace(x)
        if "jax" in sys.modules or "torch" in sys.modules:
            register_pytrees()
        try:
            known = _plan_known(x.dtype, x.ndim, to, *asked)
        except TypeError:  # what cannot be a key of the cache is named by the checks
            known = plan_quantize(x.dtype, x.ndim, to, *asked)
        packed_shape = tuple(x.shape) if known[4] else None
    target, along, block, has_zero, packs, held, (type_before, precision) = known
    rule: Any = scale_rule
    factor = zero = None
    if scheme_of(target) != LINEAR:
        rules = {"rounding": "nearest_even" if rounding is None else rounding, "seed": seed, "random_bits": random_bits}
        how: dict[str, Any] = {
            "axis": along,
            "block_size": block,
            "offset": offset,
            "packed": packs,
            "out": out,
            **rules,
        }
        if target == NVFP4:
            codes, scale, factor = nvfp4_quantize(x, scale_rule=rule, **how)
        else:
            codes, scale = mx_quantize(x, BLOCK_FORMATS[target].name, scale_rule=rule or "floor", **how)
    else:
        if has_zero:
            scale, zero = minmax_scale(x, target, axis=along, block_size=block)
        else:
            scale = absmax_scale(x, target, axis=along, block_size=block, scale_format=held, scale_rule=rule)
        codes = onnx_quantize_linear(
            x if type_before is None else cast(x, type_before), scale, zero, scale_format=held,
            axis=1 if along is None else along, block_size=block, output_dtype=target, precision=precision,
            packed=packs, rounding=rounding, overflow=overflow, nan=nan, seed=seed, random_bits=random_bits,
            offset=offset, float64_x=precision is not None, out=out,
        )  # fmt: skip
    return Quantized(codes, scale, zero, factor, target, along, block, x.ndim, packed_shape, held)
