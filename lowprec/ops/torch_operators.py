"""The conversions as operators of torch, `torch.ops.lowprec`, for calls that torch's dispatcher must see.

Importing this module registers them: lowprec imports it at the first call that needs one, and a program that was saved
needs it before it is loaded. An operator is the public function of its name, called once the tensors have memory; a
fake kernel, which makes an empty result; and a rule for `torch.vmap`. Autograd passes it by: results are detached.

They are defined in a `torch.library.Library`: the results of a `torch.library.custom_op` require gradients where an
argument does, and raise in the backward pass.

The functions below are the public ones where a call is traced; `torch.compile` traces through them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arrays.libraries import carrier, format_of
from ..arrays.torch_tensors import EAGER, check_tensor, transformed
from ..plans.resolve_cast import TEXT, resolve_bits
from ..spec.arguments import as_flag, shown
from ..spec.formats import Format, as_format, is_named
from ..spec.opset_rules import NEWEST, Caller, cast_rules
from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, FIRST, PARAMETERS, RoundingOptions, rounding_arguments
from .scale_arguments import number_format, number_operand
from .torch_shapes import FAKES, SEEDS, public_options
from .torch_vmap import RULES

__all__ = [
    "LIBRARY",
    "bitcast",
    "cast",
    "cast_like",
    "decode",
    "dequantize_linear",
    "dynamic_quantize_linear",
    "encode",
    "quantize_linear",
    "to_torch",
]

torch: Any = import_module("torch")

LIBRARY: Any = torch.library.Library("lowprec", "DEF")
"""The operators; torch forgets them when it is deleted."""

_CAST = f"str? source=None, bool saturate=True, str? round_mode=None, int opset={NEWEST}"
_ROUNDING = (
    "str? rounding=None, str? overflow=None, str? nan=None, SymInt? seed=None, "
    f"int random_bits={DEFAULT_RANDOM_BITS}, SymInt offset=0"
)  # seeds from 2**63 up are negative: see `SEEDS`
_LINEAR = (
    "(Tensor x, Tensor scale, Tensor? zero_point=None, *, str? source=None, str? scale_format=None, int[1] axis=1, "
    f"int[1] block_size=0, str? output_dtype=None, int opset={NEWEST}, bool packed=False"
)
_SCHEMAS = {
    "cast": f"(Tensor x, str to, *, {_CAST}, {_ROUNDING}) -> Tensor",
    "bitcast": f"(Tensor x, str to, *, str? source=None, int opset={NEWEST}) -> Tensor",
    "encode": f"(Tensor x, str fmt, *, {_CAST}, bool packed=False, {_ROUNDING}) -> Tensor",
    "decode": "(Tensor codes, str fmt, *, str to='float32', bool packed=False, SymInt[]? shape=None) -> Tensor",
    "quantize_linear": f"{_LINEAR}, str? precision=None, bool saturate=True, {_ROUNDING}) -> Tensor",
    "dequantize_linear": f"{_LINEAR}, SymInt[]? shape=None) -> Tensor",
    "dynamic_quantize_linear": f"(Tensor x, *, int opset={NEWEST}) -> (Tensor, Tensor, Tensor)",
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
    """Return the tensor of a scale or a zero point that is a number, in the carrier and on the device for `x`."""
    return number_operand(value, x, fmt, parameter)


_OWN_KERNELS = {"bitcast": _bitcast, "dynamic_quantize_linear": _dynamic_quantize_linear, "number": _number}


def _register(name: str) -> None:
    LIBRARY.define(name + _SCHEMAS[name], tags=(torch.Tag.pt2_compliant_tag,))
    LIBRARY.impl(name, _OWN_KERNELS.get(name) or _kernel(name), "CompositeExplicitAutograd")
    LIBRARY.impl(name, torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_fake(f"lowprec::{name}", FAKES[name], lib=LIBRARY)
    torch.library.register_vmap(f"lowprec::{name}", RULES[name], lib=LIBRARY)


for _operator in _SCHEMAS:
    _register(_operator)


# ---- the public functions, traced: names for formats, tensors for numbers, one operator


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _name(fmt: object, parameter: str) -> str:
    return _named(as_format(fmt, parameter=parameter), parameter)


def _named(row: Format, parameter: str) -> str:
    """Return the name by which an operator finds a format again, or raise ValueError."""
    if not is_named(row):
        named = "a row of lowprec.formats, a format of IEEE P3109 or a registered one"
        raise ValueError(f"`{parameter}` must be {named} where torch traces; got {shown(row)}")
    return row.name


def _optional(fmt: object, parameter: str) -> str | None:
    undefined = parameter in ("output_dtype", "precision") and type(fmt) is int and fmt == 0  # ONNX's "not given"
    return None if fmt is None or undefined else _name(fmt, parameter)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _check_rules(rounding: Any, overflow: Any, nan: Any, seed: Any, random_bits: Any, offset: Any) -> Any:
    return rounding_arguments(rounding, overflow, nan, seed, random_bits, offset)[0]


def _rules(options: dict[str, Any]) -> None:
    """Check the rules beyond ONNX; put the upper half of the seeds where the integers of torch are negative.

    While torch compiles, `seed` and `offset` may be symbols: another seed needs no other code.
    """
    if "rounding" not in options:
        return
    seed, offset = options["seed"], options["offset"]
    if torch.compiler.is_dynamo_compiling() and type(seed) is int and type(offset) is int:
        if not 0 <= seed < SEEDS:
            raise ValueError(f"`seed` must be an integer from 0 to 2**64 - 1; got {seed}")
        if offset < 0:
            raise ValueError(f"`offset` must be an integer from 0 to 2**63 - 1; got {offset}")
        _check_rules(options["rounding"], options["overflow"], options["nan"], 0, options["random_bits"], FIRST)
    else:
        _check_rules(*(options[name] for name in PARAMETERS))
        seed = None if seed is None else int(seed)
        options |= {"offset": int(offset), "random_bits": int(options["random_bits"])}
    if seed is not None:
        options["seed"] = seed - SEEDS if seed >= SEEDS // 2 else seed


def _delivered(result: Any, out: Any) -> Any:
    """Return a result, in `out` where there is one."""
    if out is None:
        return result
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"`out` must be a torch tensor, as `x` is; got {type(out).__name__}")
    if not transformed() and out._is_zerotensor():
        check_tensor(out, "out")
    same = torch.jit.is_tracing() or out.shape == result.shape  # torch.jit traces comparisons of lengths as well
    if not same or out.dtype != result.dtype:
        wanted = f"shape {tuple(result.shape)} and dtype {result.dtype}"
        raise ValueError(f"`out` must have {wanted}; got {tuple(out.shape)}, {out.dtype}")
    if out.requires_grad:
        raise ValueError("`out` must not require gradients; got requires_grad=True")
    out.copy_(result)
    return out


def cast(x: Any, to: object, *, source: object = None, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.cast`."""
    _rules(options)
    named = _optional(source, "source")
    return _delivered(torch.ops.lowprec.cast.default(x, _name(to, "to"), source=named, **options), out)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _check_like(dtype: Any, like: Any, source: object, options: tuple[Any, ...], rules: tuple[Any, ...]) -> str:
    target = format_of(like, names=("like", "like"), kinds=TEXT)
    caller = Caller("source", "like", "CastLike", TEXT)
    beyond = RoundingOptions(*rules) if any(rule is not None for rule in rules[:3]) else None
    saturate, round_mode, opset = options
    cast_rules(format_of(dtype, source), target, saturate, round_mode, opset, caller, beyond)
    return _named(target, "like")


def cast_like(x: Any, like: Any, *, source: object = None, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.cast_like`."""
    attributes = tuple(options[name] for name in ("saturate", "round_mode", "opset"))
    rules = tuple(options[name] for name in RoundingOptions._fields if name in options)
    to = _check_like(x.dtype, like.dtype, source, attributes, rules)
    return cast(x, to, source=source, out=out, **options)


def encode(x: Any, fmt: object, *, source: object = None, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.encode` and `lowprec.pack`."""
    _rules(options)
    named = _optional(source, "source")
    return _delivered(torch.ops.lowprec.encode.default(x, _name(fmt, "fmt"), source=named, **options), out)


def _lengths(shape: Any) -> Any:
    """Return the lengths of a shape; torch.jit, which has tensors for them, warns that they are taken as constants."""
    lengths = [shape] if isinstance(shape, int) else shape
    return [int(length) for length in lengths] if lengths is not None and torch.jit.is_tracing() else lengths


def decode(codes: Any, fmt: object, *, to: object, packed: bool = False, shape: Any = None, out: Any = None) -> Any:
    """Call the operator for `lowprec.decode` and `lowprec.unpack`."""
    options = {"to": _name(to, "to"), "packed": as_flag(packed, "packed"), "shape": _lengths(shape)}
    return _delivered(torch.ops.lowprec.decode.default(codes, _name(fmt, "fmt"), **options), out)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _bits(dtype: Any, to: object, source: object, opset: int) -> tuple[str, Any]:
    """Return the name of the target, and the dtype under which the bits can be seen, None for less than 8 bits."""
    _, target = resolve_bits(dtype, source, to, opset)
    return _named(target, "to"), carrier(target, torch) if target.bits >= 8 else None


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _own(dtype: Any, fmt: object) -> tuple[str, Any]:
    """Return the name of the format of an array, and the dtype under which its bits can be seen."""
    row = format_of(dtype, fmt, ("x", "fmt"))
    return _named(row, "fmt"), carrier(row, torch) if row.bits >= 8 else None


def _viewed(x: Any, dtype: Any) -> Any:
    if not transformed() and x._is_zerotensor():
        x = x.clone()
    return x.detach().resolve_neg().resolve_conj().view(dtype)


def bitcast(x: Any, to: object, *, source: object = None, opset: int = NEWEST) -> Any:
    """Call the operator for `lowprec.bitcast`."""
    target, dtype = _bits(x.dtype, to, source, opset)
    if dtype is not None and not torch.jit.is_tracing():  # torch.jit has no view of another dtype
        return _viewed(x, dtype)
    return torch.ops.lowprec.bitcast.default(x, target, source=_optional(source, "source"), opset=opset)


def to_torch(x: Any, fmt: object) -> Any:
    """Call the operator for `lowprec.to_torch`."""
    own, dtype = _own(x.dtype, fmt)
    if dtype is None:
        return torch.ops.lowprec.decode.default(x, own, to=own)
    return torch.ops.lowprec.bitcast.default(x, own) if torch.jit.is_tracing() else _viewed(x, dtype)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _number_names(dtype: Any, source: object, scale_format: object, output_dtype: object) -> tuple[str, str, str]:
    """Return the formats of a scale and of a zero point that are numbers; the latter's where x has none, and x's."""
    zero = "uint8" if output_dtype is None else as_format(output_dtype, parameter="output_dtype").name
    return number_format(dtype, source, scale_format).name, zero, format_of(dtype, source).name


def _operand(x: Any, value: Any, fmt: str, parameter: str) -> Any:
    """Return a scale or a zero point as a tensor on the device of `x`."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"`{parameter}` must be a torch tensor, as `x` is, or a number; got {type(value).__name__}")
    return torch.ops.lowprec.number.default(x, value, fmt, parameter=parameter)


def _operands(x: Any, scale: Any, zero_point: Any, names: tuple[str, str]) -> tuple[Any, Any]:
    factor = _operand(x, scale, names[0], "scale")
    if zero_point is None:
        return factor, None
    zero = _operand(x, zero_point, names[1], "zero_point")
    return factor, zero if isinstance(zero_point, torch.Tensor) else zero.expand(factor.shape)


def _listed(options: dict[str, Any]) -> None:
    """Put axis and block size in lists, whose items torch takes for numbers where they are symbols."""
    for name in ("axis", "block_size"):
        if not isinstance(options[name], (tuple, list)):
            options[name] = [options[name]]


def quantize_linear(x: Any, scale: Any, zero_point: Any, *, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.quantize_linear`."""
    _listed(options)
    _rules(options)
    for name in ("source", "scale_format", "output_dtype", "precision"):
        options[name] = _optional(options[name], name)
    numbers = _number_names(x.dtype, options["source"], options["scale_format"], options["output_dtype"])
    operands = _operands(x, scale, zero_point, numbers[:2])
    return _delivered(torch.ops.lowprec.quantize_linear.default(x, *operands, **options), out)


def dequantize_linear(x: Any, scale: Any, zero_point: Any, *, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.dequantize_linear`."""
    _listed(options)
    for name in ("source", "scale_format", "output_dtype"):
        options[name] = _optional(options[name], name)
    numbers = _number_names(x.dtype, options["source"], options["scale_format"], None)
    operands = _operands(x, scale, zero_point, (numbers[0], numbers[2]))
    options["shape"] = _lengths(options["shape"])
    return _delivered(torch.ops.lowprec.dequantize_linear.default(x, *operands, **options), out)


def dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> Any:
    """Call the operator for `lowprec.dynamic_quantize_linear`."""
    return torch.ops.lowprec.dynamic_quantize_linear.default(x, opset=opset)
