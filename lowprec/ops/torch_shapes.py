"""Fake kernels of lowprec's torch operators: an empty tensor of the shape, the dtype and the strides of the result.

Shapes may hold symbols; those that do not are checked as the public functions check them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arrays.libraries import carrier, check_takes_text, namespace
from ..plans.cast_plan import Plan, Rule
from ..plans.quantize_plan import DEQUANTIZE, QUANTIZE, QuantizeOptions
from ..plans.resolve_cast import CAST, DECODE, ENCODE, CastOptions, resolve, resolve_bits, resolve_unpacked
from ..plans.resolve_quantize import resolve_quantize
from ..spec.formats import as_format
from ..spec.opset_rules import NEWEST
from ..spec.packing import check_packable, packed_bytes
from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, PARAMETERS, RoundingOptions, rounding_arguments

__all__ = ["FAKES", "SEEDS", "linear_plan", "public_options"]

torch: Any = import_module("torch")


def _empty(x: Any, plan: Plan, codes: bool = False, packed: bool = False, shape: Any = None) -> Any:
    if plan.rule is Rule.TEXT:
        check_takes_text(torch)
    if packed:
        return x.new_empty((packed_bytes(x.numel(), plan.target),), dtype=torch.uint8)
    dtype = carrier(plan.target.code_dtype.name if codes else plan.target, torch)
    return torch.empty_like(x, dtype=dtype) if shape is None else x.new_empty(shape, dtype=dtype)


def _check_shape(packed: bool, shape: Any) -> None:
    if packed != (shape is not None):
        wanted = "the number of elements, or a tuple of lengths, where packed" if packed else "None unless packed"
        raise ValueError(f"`shape` must be {wanted}; got {shape!r}")


def _beyond(options: dict[str, Any]) -> RoundingOptions | None:
    """Take the rules beyond ONNX out of the options of an operator; seed and offset may be symbols and are not read."""
    rules = {name: options.pop(name) for name in PARAMETERS if name in options}
    seed = None if rules.pop("seed", None) is None else 0
    rules.pop("offset", None)
    defaults = {"rounding": None, "overflow": None, "nan": None, "random_bits": DEFAULT_RANDOM_BITS}
    return rounding_arguments(**(defaults | rules), seed=seed, offset=0)[0]


def _cast_options(options: dict[str, Any]) -> CastOptions:
    beyond = _beyond(options)
    return CastOptions(**options, options=beyond)


def _cast(x: Any, to: str, *, source: Any = None, **options: Any) -> Any:
    return _empty(x, resolve(x, source, to, CAST, _cast_options(options)))


def _bitcast(x: Any, to: str, *, source: Any = None, opset: int = NEWEST) -> Any:
    _, target = resolve_bits(x.dtype, source, to, opset)
    return torch.empty_like(x, dtype=carrier(target, torch))


def _encode(x: Any, fmt: str, *, source: Any = None, packed: bool = False, **options: Any) -> Any:
    plan = resolve(x, source, fmt, ENCODE, _cast_options(options))
    if packed:
        check_packable(plan.target, "fmt")
    return _empty(x, plan, codes=True, packed=packed)


def _decode(codes: Any, fmt: str, *, to: str = "float32", packed: bool = False, shape: Any = None) -> Any:
    _check_shape(packed, shape)
    source = as_format(fmt)
    plan = resolve_unpacked(source, to, DECODE) if packed else resolve(codes, source, to, DECODE)
    return _empty(codes, plan, shape=shape)


SEEDS = 1 << 64
"""How many seeds there are. Integers of torch have a sign: there the upper half is negative, in two's complement."""


def public_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an operator as the public function takes them.

    Lists of torch become a number or a tuple, negative seeds the upper half of all seeds.
    """
    if isinstance(options.get("seed"), int):
        options = options | {"seed": options["seed"] % SEEDS}
    lists = {name: tuple(options[name]) for name in ("axis", "block_size") if isinstance(options.get(name), list)}
    return options | {name: values[0] if len(values) == 1 else values for name, values in lists.items()}


def linear_plan(operator: str, operands: tuple[Any, ...], shape: Any = None, **options: Any) -> Plan:
    """Return the plan of a quantization or a dequantization of tensors.

    `shape` is that of the values where their codes are packed. Shapes with a length that is a symbol are not checked:
    others stand in for them.
    """
    x, scale, zero = (*operands, None)[:3]
    options = public_options(options)
    shapes = [x.shape if shape is None else shape, scale.shape, () if zero is None else zero.shape]
    if not all(type(length) is int for lengths in shapes for length in lengths):
        shapes = [(1,)] * 3
        options |= {"axis": 1, "block_size": 0}
    x_shape, scale_shape, zero_shape = map(tuple, shapes)
    zero_operand = None if zero is None else (zero.dtype, zero_shape)
    operands = (x.dtype, x_shape), (scale.dtype, scale_shape), zero_operand
    beyond = _beyond(options)
    return resolve_quantize(operator, namespace(x), *operands, QuantizeOptions(**options, rounding=beyond))[0]


def _quantize_linear(x: Any, *operands: Any, **options: Any) -> Any:
    return _empty(x, linear_plan(QUANTIZE, (x, *operands), **options), packed=options.get("packed", False))


def _dequantize_linear(x: Any, *operands: Any, shape: Any = None, **options: Any) -> Any:
    _check_shape(options.get("packed", False), shape)
    return _empty(x, linear_plan(DEQUANTIZE, (x, *operands), shape, **options), shape=shape)


def _dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> tuple[Any, Any, Any]:
    codes = x.new_empty(x.shape, dtype=torch.uint8)
    return codes, x.new_empty((), dtype=torch.float32), x.new_empty((), dtype=torch.uint8)


def _number(x: Any, value: Any, fmt: str, *, parameter: str = "scale") -> Any:
    return x.new_empty((), dtype=carrier(fmt, torch))


FAKES: dict[str, Callable[..., Any]] = {
    "cast": _cast, "bitcast": _bitcast, "encode": _encode, "decode": _decode, "quantize_linear": _quantize_linear,
    "dequantize_linear": _dequantize_linear, "dynamic_quantize_linear": _dynamic_quantize_linear, "number": _number,
}  # fmt: skip
"""The fake kernel of each operator."""
