"""What `quantize` returns: codes, scales and which elements share one; and `dequantize`, the way back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy import ndarray

from .._notebook_display import html_table
from ..arrays.libraries import is_torch, namespace
from ..arrays.torch_tensors import dispatched, eager
from ..spec.formats import FLOAT32, NVFP4, Format, element_of
from .blocks import mx_dequantize
from .cast import cast
from .nvfp4 import nvfp4_dequantize
from .onnx_operators import onnx_dequantize_linear
from .quantized_arguments import LINEAR, check_values_format, scheme_of

__all__ = ["Quantized", "dequantize", "register_pytrees"]


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
        from . import torch_arguments

        return str(torch_arguments.check_values_format(to))
    return check_values_format(to)


def _at(quantized: Quantized, row: int) -> Quantized:
    """Return one of those that are stacked along the first axis of all arrays."""
    codes, scale, zero, factor = (
        None if one is None else one[row, ...]
        for one in (quantized.codes, quantized.scale, quantized.zero_point, quantized.global_scale)
    )
    q = quantized
    return Quantized(codes, scale, zero, factor, q.to, q.axis, q.block_size, q.rank, q.packed_shape, q.scale_format)
