"""The conversions as operators of torch, `torch.ops.lowprec`, for calls that torch's dispatcher must see.

Importing this module registers them: lowprec imports it at the first call that needs one, and a program that was saved
needs it before it is loaded. An operator is the public function of its name, called once the tensors have memory; a
fake kernel, which makes an empty result; and a rule for `torch.vmap`. Autograd passes it by: results are detached.

They are defined in a `torch.library.Library`: the results of a `torch.library.custom_op` require gradients where an
argument does, and raise in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arrays.torch_tensors import EAGER, check_tensor
from ..backends.scales_for_kernels import number_operand
from ..spec.formats import FLOAT4_E2M1FN
from ..spec.operator_versions import NEWEST
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS
from .torch_shapes import FAKES, public_options
from .torch_vmap import RULES

__all__ = ["LIBRARY"]

torch: Any = import_module("torch")

LIBRARY: Any = torch.library.Library("lowprec", "DEF")
"""The operators; torch forgets them when it is deleted."""

_CAST = f"str? source=None, bool saturate=True, str? round_mode=None, int opset={NEWEST}"
_RANDOM = f"SymInt? seed=None, SymInt random_bits={DEFAULT_RANDOM_BITS}, SymInt offset=0"
"""Seeds from 2**63 up are negative: see `SEEDS`."""
_ROUNDING = f"str? rounding=None, str? overflow=None, str? nan=None, {_RANDOM}"
_LINEAR = (
    "(Tensor x, Tensor scale, Tensor? zero_point=None, *, str? source=None, str? scale_format=None, int[1] axis=1, "
    f"int[1] block_size=0, str? output_dtype=None, int opset={NEWEST}, bool packed=False"
)
_BLOCKS = f"str rounding='nearest_even', {_RANDOM}, str specials='nan', bool swizzled=False, bool packed=False"
_VALUES = "str output_dtype='float32', bool packed=False, SymInt[]? shape=None"
_SCHEMAS = {
    "cast": f"(Tensor x, str to, *, {_CAST}, {_ROUNDING}) -> Tensor",
    "bitcast": f"(Tensor x, str to, *, str? source=None, int opset={NEWEST}) -> Tensor",
    "encode": f"(Tensor x, str fmt, *, {_CAST}, bool packed=False, {_ROUNDING}) -> Tensor",
    "decode": "(Tensor codes, str fmt, *, str to='float32', bool packed=False, SymInt[]? shape=None) -> Tensor",
    "quantize_linear": f"{_LINEAR}, str? precision=None, bool saturate=True, {_ROUNDING}, "
    "bool float64_x=False) -> Tensor",
    "dequantize_linear": f"{_LINEAR}, SymInt[]? shape=None) -> Tensor",
    "dynamic_quantize_linear": f"(Tensor x, *, int opset={NEWEST}) -> (Tensor, Tensor, Tensor)",
    "absmax_scale": "(Tensor x, str to, *, int[1]? axis=None, int[1] block_size=0, str scale_format='float32', "
    "str? scale_rule=None) -> Tensor",
    "minmax_scale": "(Tensor x, str to, *, int[1]? axis=None, int[1] block_size=0) -> (Tensor, Tensor)",
    "mx_quantize": f"(Tensor x, str element='{FLOAT4_E2M1FN.name}', *, int axis=-1, int block_size=32, "
    f"str scale_rule='floor', {_BLOCKS}) -> (Tensor, Tensor)",
    "mx_dequantize": "(Tensor elements, Tensor scales, *, str? source=None, int axis=-1, int block_size=32, "
    f"{_VALUES}) -> Tensor",
    "nvfp4_quantize": "(Tensor x, Tensor? global_scale=None, *, int axis=-1, int block_size=16, "
    f"str? scale_rule=None, {_BLOCKS}) -> (Tensor, Tensor, Tensor)",
    "nvfp4_dequantize": "(Tensor elements, Tensor scales, Tensor global_scale, *, int axis=-1, int block_size=16, "
    f"{_VALUES}, bool swizzled=False) -> Tensor",
    "number": "(Tensor x, Scalar value, str fmt, *, str parameter='scale') -> Tensor",
}


# ---- kernels


def _kernel(name: str) -> Callable[..., Any]:
    """Return a public function as a kernel: its result has the strides that the fake kernel promises."""

    def kernel(x: Any, *operands: Any, **options: Any) -> Any:
        check_tensor(x)
        options = public_options(options)
        if not x.is_contiguous():
            options["out"] = FAKES[name](x, *operands, **options)
        return EAGER[name](x, *operands, **options)

    return kernel


def _dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> Any:
    check_tensor(x)
    return EAGER["dynamic_quantize_linear"](x.contiguous(), opset=opset)


def _bitcast(x: Any, to: str, **options: Any) -> Any:
    check_tensor(x)
    result = FAKES["bitcast"](x, to, **options)
    return result.copy_(EAGER["bitcast"](x, to, **options))  # the public function returns a view


def _number(x: Any, value: Any, fmt: str, *, parameter: str = "scale") -> Any:
    """Return the tensor of a number that is an operand, in the storage dtype and on the device for `x`."""
    return number_operand(value, x, fmt, parameter)


def _dense_kernel(name: str) -> Callable[..., Any]:
    """Return a public function as a kernel: its results are dense."""

    def kernel(x: Any, *operands: Any, **options: Any) -> Any:
        check_tensor(x)
        found = EAGER[name](x.contiguous(), *operands, **public_options(options))
        return tuple(one.contiguous() for one in found) if isinstance(found, tuple) else found.contiguous()

    return kernel


def _nvfp4_quantize(x: Any, global_scale: Any = None, **options: Any) -> Any:
    given = None if global_scale is None else global_scale.clone()  # a result of an operator shares no memory
    return _dense_kernel("nvfp4_quantize")(x, global_scale=given, **options)


_DENSE = "absmax_scale", "minmax_scale", "mx_quantize", "mx_dequantize", "nvfp4_dequantize"
_OWN_KERNELS: dict[str, Callable[..., Any]] = {
    "bitcast": _bitcast, "dynamic_quantize_linear": _dynamic_quantize_linear, "number": _number,
    "nvfp4_quantize": _nvfp4_quantize, **{name: _dense_kernel(name) for name in _DENSE},
}  # fmt: skip


def _register(name: str) -> None:
    LIBRARY.define(name + _SCHEMAS[name], tags=(torch.Tag.pt2_compliant_tag,))
    LIBRARY.impl(name, _OWN_KERNELS.get(name) or _kernel(name), "CompositeExplicitAutograd")
    LIBRARY.impl(name, torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_fake(f"lowprec::{name}", FAKES[name], lib=LIBRARY)
    torch.library.register_vmap(f"lowprec::{name}", RULES[name], lib=LIBRARY)


for _operator in _SCHEMAS:
    _register(_operator)
