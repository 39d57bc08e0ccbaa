"""`quantize`, `dequantize` and what the one hands to the other: codes, scales, and which elements share one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy import ndarray

from ..arrays.libraries import format_of, is_torch, namespace
from ..arrays.torch_tensors import dispatched
from ..plans.block_plan import NVFP4_RULES
from ..plans.quantize_plan import takes_codes
from ..spec.arguments import as_flag, shown
from ..spec.block_formats import BLOCK_FORMATS, NVFP4
from ..spec.formats import (
    BFLOAT16,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    Format,
    as_format,
    is_named,
)
from ..spec.notebook_html import html_table
from ..spec.packing import check_packable
from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, FIRST, RoundingOptions, check_rounding
from ..spec.scale_rules import SCALE_RULES
from .block_arguments import block_axis
from .blocks import mx_dequantize, mx_quantize
from .cast import cast
from .nvfp4 import nvfp4_dequantize, nvfp4_quantize
from .onnx_operators import onnx_dequantize_linear, onnx_quantize_linear
from .range_arguments import absmax_formats, minmax_format, scale_groups
from .scales import absmax_scale, minmax_scale

__all__ = ["Quantized", "dequantize", "plan_quantize", "quantize"]

_VALUES = FLOAT32, FLOAT16, BFLOAT16
"""What is divided by its scale as it is, and what comes back."""

_MX, _LINEAR = "mx", "linear"


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
        return _element(self.to)

    @property
    def scheme(self) -> str:
        """How codes and scales make values: ``"linear"``, ``"mx"`` or ``"nvfp4"``."""
        return _scheme_of(self.to)

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
        return html_table([("quantized", ""), *self._facts()])

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
        register_pytree()


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


def register_pytree() -> None:
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


# ---- what a call means


def _scheme_of(to: object) -> str:
    return _LINEAR if not isinstance(to, str) or to not in BLOCK_FORMATS else NVFP4 if to == NVFP4 else _MX


def _element(to: object) -> Format:
    return BLOCK_FORMATS[to] if isinstance(to, str) and to in BLOCK_FORMATS else as_format(to, parameter="to")


def _check_linear(to: Format, zero_point: bool, scale_format: object, scale_rule: object) -> str:
    """Return the name of the format of the scales of a linear quantization, or raise ValueError."""
    if not takes_codes(to):
        wanted = "an integer of 2 to 16 bits, a float of up to 8 bits that has a zero, or a block format"
        raise ValueError(f"`to` must be {wanted} ({', '.join(BLOCK_FORMATS)}); got {to.name}")
    if not zero_point:
        if not to.signed:
            raise ValueError(f"`zero_point` must be True for {to.name}, which has no negative numbers; got False")
        held = FLOAT32 if scale_format is None else as_format(scale_format, parameter="scale_format")
        absmax_formats(to, held, scale_rule)
        return held.name
    if not to.is_integer:
        raise ValueError(f"`zero_point` must be False for {to.name}: only integers have one; got True")
    minmax_format(to)
    if scale_format is not None and as_format(scale_format, parameter="scale_format") != FLOAT32:
        raise ValueError(
            f"`scale_format` must be float32 or None where `zero_point` is True; got {shown(scale_format)}"
        )
    if scale_rule is not None:
        raise ValueError(f"`scale_rule` must be None where `zero_point` is True; got {shown(scale_rule)}")
    return FLOAT32.name


def _check_blocks(to: str, zero_point: bool, scale_format: object, scale_rule: object, *rules: object) -> str:
    """Return the name of the format of the scales of a block format, or raise ValueError."""
    held = FLOAT8_E4M3FN if to == NVFP4 else FLOAT8_E8M0FNU
    if zero_point:
        raise ValueError(f"`zero_point` must be False for {to}, whose blocks have none; got True")
    if scale_format is not None and as_format(scale_format, parameter="scale_format") != held:
        raise ValueError(f"`scale_format` must be {held.name} or None for {to}; got {shown(scale_format)}")
    taken = NVFP4_RULES if to == NVFP4 else SCALE_RULES
    if scale_rule is not None and not (isinstance(scale_rule, str) and scale_rule in taken):
        raise ValueError(f"`scale_rule` must be None or one of {', '.join(taken)} for {to}; got {shown(scale_rule)}")
    for name, rule in zip(("overflow", "nan"), rules, strict=True):
        if rule is not None:
            raise ValueError(
                f"`{name}` must be None for {to}, whose scales are made for the largest; got {shown(rule)}"
            )
    return held.name


def _source(dtype: Any) -> tuple[str | None, str | None]:
    """Return what `x` of a dtype is cast to before it is divided, and the precision of the quotient; None as it is."""
    held = format_of(dtype)
    if held in _VALUES:
        return None, None
    if held in (FLOAT64, INT32):
        return None, FLOAT64.name
    if held.kind is not FLOAT32.kind and not held.is_integer:
        raise TypeError(f"`x` must hold integers or real floats; got {held.name}")
    is_exact = held.bits <= 16 if held.is_integer else held.bits <= 32
    return (FLOAT32.name, None) if is_exact else (FLOAT64.name, FLOAT64.name)


def plan_quantize(
    dtype: Any, rank: int, to: object, axis: Any, block_size: Any, zero_point: object, scale_format: object,
    scale_rule: Any, packed: object, *rules: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Check the arguments of `quantize` for an array of a dtype and a rank; return all that is fixed by them.

    That is the target, axis and block size, whether there are zero points and packed codes, the format of the scales,
    and what `_source` returns.
    """
    has_zero, packs = as_flag(zero_point, "zero_point"), as_flag(packed, "packed")
    element, scheme = _element(to), _scheme_of(to)
    if packs:
        check_packable(element, "to")
    before = _source(dtype)
    if scheme != _LINEAR:
        held = _check_blocks(str(to), has_zero, scale_format, scale_rule, *rules[1:])
        size = (16 if scheme == NVFP4 else 32) if block_size is None else block_size
        sharing = block_axis(rank, -1 if axis is None else axis, size)
        return to, *sharing, has_zero, packs, held, (None, None)
    held = _check_linear(element, has_zero, scale_format, scale_rule)
    if any(rule is not None for rule in rules):
        check_rounding(RoundingOptions(*rules), element, "to")
    blocks = 0 if block_size is None else block_size
    if axis is None and block_size is not None:
        if rank == 0:
            raise ValueError("`x` must have one axis or more where there is a `block_size`; got a 0-d array")
        axis = -1
    groups = scale_groups(rank, axis, blocks)
    axes, sizes_of_axes = groups.axes, groups.blocks
    along = None if not axes else axes[0] if len(axes) == 1 else axes
    block = 0 if not sizes_of_axes else sizes_of_axes[0] if len(axes) == 1 else sizes_of_axes
    return element.name if is_named(element) else element, along, block, has_zero, packs, held, before


def quantize(
    x: Any,
    to: object,
    *,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] | None = None,
    zero_point: bool = False,
    scale_format: object = None,
    scale_rule: str | None = None,
    packed: bool = False,
    out: Any = None,
    rounding: str | None = None,
    overflow: str | None = None,
    nan: str | None = None,
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
        from . import torch_traced

        register_pytree()
        known = torch_traced.plan_quantize(x.dtype, x.ndim, to, *asked)
        packed_shape = torch_traced.fixed(tuple(x.shape)) if known[4] else None
    else:
        namespace(x)
        if "jax" in sys.modules or "torch" in sys.modules:
            register_pytree()
        known = plan_quantize(x.dtype, x.ndim, to, *asked)
        packed_shape = tuple(x.shape) if known[4] else None
    target, along, block, has_zero, packs, held, (type_before, precision) = known
    factor = zero = None
    if _scheme_of(target) != _LINEAR:
        rules = {"rounding": "nearest_even" if rounding is None else rounding, "seed": seed, "random_bits": random_bits}
        how = {"axis": along, "block_size": block, "offset": offset, "packed": packs, "out": out, **rules}
        if target == NVFP4:
            codes, scale, factor = nvfp4_quantize(x, scale_rule=scale_rule, **how)
        else:
            rule = "floor" if scale_rule is None else scale_rule
            codes, scale = mx_quantize(x, BLOCK_FORMATS[target].name, scale_rule=rule, **how)
    else:
        if has_zero:
            scale, zero = minmax_scale(x, target, axis=along, block_size=block)
        else:
            scale = absmax_scale(x, target, axis=along, block_size=block, scale_format=held, scale_rule=scale_rule)
        codes = onnx_quantize_linear(
            x if type_before is None else cast(x, type_before), scale, zero, scale_format=held,
            axis=1 if along is None else along, block_size=block, output_dtype=target, precision=precision,
            packed=packs, rounding=rounding, overflow=overflow, nan=nan, seed=seed, random_bits=random_bits,
            offset=offset, float64_x=precision is not None, out=out,
        )  # fmt: skip
    return Quantized(codes, scale, zero, factor, target, along, block, x.ndim, packed_shape, held)


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
    packing = {"packed": q.packed_shape is not None, "shape": q.packed_shape}
    if q.scheme == _LINEAR:
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


def check_values_format(to: object) -> str:
    """Return the name of the format of dequantized values, or raise ValueError."""
    target = as_format(to, parameter="to")
    if target not in _VALUES:
        raise ValueError(f"`to` must be one of {', '.join(fmt.name for fmt in _VALUES)}; got {target.name}")
    return target.name


def _target_name(codes: Any, to: object) -> str:
    if type(codes) is not ndarray and dispatched(codes):
        from . import torch_traced

        return torch_traced.check_values_format(to)  # type: ignore[no-any-return]
    return check_values_format(to)


def _at(quantized: Quantized, row: int) -> Quantized:
    """Return one of those that are stacked along the first axis of all arrays."""
    codes, scale, zero, factor = (
        None if one is None else one[row, ...]
        for one in (quantized.codes, quantized.scale, quantized.zero_point, quantized.global_scale)
    )
    q = quantized
    return Quantized(codes, scale, zero, factor, q.to, q.axis, q.block_size, q.rank, q.packed_shape, q.scale_format)
