"""Hostile scalars for every parameter of every public function: accepted, or refused by an error that names it."""

from __future__ import annotations

import dataclasses
import decimal
import fractions
import inspect
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from support.optional import Missing, optional

import lowprec as lp
from lowprec import loss, reference
from lowprec.reference import exact_quantize

onnx: Any = optional("onnx")
lowprec_onnx: Any = optional("lowprec.onnx")
torch: Any = optional("torch")


class _Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class _Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


_SELF: list[object] = []
_SELF.append(_SELF)

HOSTILE: list[object] = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**62, 2**63, 2**64, 2**70, -(2**70), 10**400, 10**5000, -(10**5000), 0.5,
    -0.0, 1e308, float("nan"), float("inf"), -float("inf"), 5e-324, 1j, "", "x", "1", "x" * 10_000, "ü\n\0", b"", b"1",
    bytearray(b"1"), memoryview(b"12"), object(), object, type, int, float, np, max, Ellipsis, NotImplemented,
    np.int8(1), np.int64(1), np.int64(-(2**63)), np.uint64(2**64 - 1), np.bool(True), np.float32(1), np.float64("nan"),
    np.longdouble(1), np.complex64(1), np.str_("x"), np.bytes_(b"x"), np.datetime64("2020"), np.void(b"1"),
    ml_dtypes.bfloat16(1), ml_dtypes.int4(1), np.array(1), np.array(1.5), np.array(True), np.array([1]),
    np.array([1, 2]), np.array([]), np.array(["a", "b"]), np.array([None, 1]), np.array([[1.0, 2.0]]),
    np.ma.array([1.0, 2.0]), np.zeros(1, "f4,i4"), np.zeros(2, np.float32), np.dtype("float32"), np.dtype("f4,i4"),
    np.dtype("V3"), np.floating, np.generic, np.ndarray, [], [1], [1, 2], [[1], [2]],
    [2**70], [-1], [None], ["1"], (), (1,), (2, 3), (0, 2**70), (2**40, 2**40), (1,) * 100, (True,), (1.0,), {},
    {"a": 1}, set(), frozenset({1}), range(3), iter([1]), (n for n in (1,)), lambda: None, fractions.Fraction(1, 3),
    decimal.Decimal("0.1"), decimal.Decimal("sNaN"), _Unprintable(), _Unhashable(), _SELF, lp.formats["float16"],
    lp.formats["string"], lp.formats["complex64"], lp.formats["float8_e8m0fnu"], lp.formats["int2"],
    inspect.Parameter.empty,
]  # fmt: skip
if not isinstance(torch, Missing):
    HOSTILE += [torch.tensor(x) for x in (1, 1.5, [1, 2], True)]
    HOSTILE += [torch.float32, torch.float, torch.device("cpu"), torch.strided]
if not isinstance(onnx, Missing):
    HOSTILE.append(onnx.TensorProto())


class Call(NamedTuple):
    """A call that is right, its positional parameters by their names in the order of the function."""

    function: Callable[..., Any]
    positional: dict[str, Any]
    options: Mapping[str, Any] = MappingProxyType({})


_X, _CODES, _PACKED = np.ones((2, 3), np.float32), np.ones((2, 3), np.uint8), np.ones(3, np.uint8)
_BLOCKS = {"axis": 0, "block_size": 1, "output_dtype": "int4"}
CALLS = [
    Call(lp.cast, {"x": _X, "to": "float8_e4m3fn"}), Call(lp.cast, {"x": np.array(["1"]), "to": "int8"}),
    Call(lp.cast, {"x": _X, "to": "float8_e8m0fnu"}, {"round_mode": "up", "opset": 24, "saturate": False}),
    Call(lp.cast_like, {"x": _X, "like": np.zeros(1, np.float16)}), Call(lp.bitcast, {"x": _X, "to": "int32"}),
    Call(lp.encode, {"x": _X, "to": "float4_e2m1fn"}),
    Call(lp.encode, {"x": _X, "to": "float4_e2m1fn"}, {"packed": True}),
    Call(lp.decode, {"codes": _CODES, "source": "float8_e4m3fn"}),
    Call(lp.decode, {"codes": _PACKED, "source": "int4"}, {"packed": True, "shape": 6}),
    Call(lp.pack, {"x": _CODES, "source": "int4"}),
    Call(lp.unpack, {"packed": _PACKED, "source": "int4", "shape": (2, 3)}),
    Call(lp.unpack, {"packed": np.zeros(0, np.uint8), "source": "int4", "shape": 0}),
    Call(lp.quantize_linear, {"x": _X, "scale": 0.5, "zero_point": 1}, {"output_dtype": "uint8"}),
    Call(lp.quantize_linear, {"x": _X, "scale": _X, "zero_point": None}, _BLOCKS),
    Call(lp.quantize_linear, {"x": np.float32(1), "scale": 0.5, "zero_point": None}, {"opset": 10}),
    Call(lp.dequantize_linear, {"x": _CODES, "scale": 0.5, "zero_point": 1}),
    Call(lp.dequantize_linear, {"x": _CODES, "scale": _X[0], "zero_point": _CODES[0]}, {"axis": 1}),
    Call(lp.dequantize_linear, {"x": _PACKED, "scale": 0.5, "zero_point": 1},
         {"packed": True, "source": "int4", "shape": (2, 3)}),
    Call(lp.dynamic_quantize_linear, {"x": _X}), Call(lp.absmax_scale, {"x": _X, "to": "int8"}),
    Call(lp.absmax_scale, {"x": _X, "to": "int8"}, {"axis": 1, "block_size": 2}),
    Call(lp.absmax_scale, {"x": _X, "to": "int8"}, {"scale_format": "float8_e8m0fnu", "scale_rule": "even"}),
    Call(lp.minmax_scale, {"x": _X, "to": "uint4"}),
    Call(lp.cast, {"x": _X, "to": "float8_e4m3fn"}, {"rounding": "stochastic", "seed": 1}),
    Call(lp.quantize_linear, {"x": _X, "scale": 0.5, "zero_point": None},
         {"output_dtype": "float8_e4m3fn", "rounding": "to_odd"}),
    Call(lp.stochastic_bits, {"seed": 1, "shape": (2, 3)}), Call(lp.mx_quantize, {"x": _X, "to": "float4_e2m1fn"}),
    Call(lp.mx_quantize, {"x": _X, "to": "int8"}, {"rounding": "stochastic", "seed": 1}),
    Call(lp.mx_dequantize, {"elements": _CODES, "scales": _CODES[:, :1]}, {"source": "float4_e2m1fn"}),
    Call(lp.nvfp4_quantize, {"x": _X}),
    Call(lp.nvfp4_dequantize, {"elements": _CODES, "scales": _CODES[:, :1], "global_scale": 1.0}),
    Call(lp.as_format, {"spec": "float16"}), Call(lp.finfo, {"fmt": "float16"}), Call(lp.iinfo, {"fmt": "int8"}),
    Call(lp.storage_dtype, {"fmt": "float8_e5m2", "xp": np}), Call(lp.explain, {"x": "0.3", "fmt": "float8_e4m3fn"}),
    Call(lp.to_numpy, {"x": _CODES, "source": "float8_e4m3fn"}), Call(lp.set_num_threads, {"n": 1}),
    Call(reference.cast, {"code": 1, "source": "int8", "target": "float16"}),
    Call(reference.encode, {"value": 1, "fmt": "float16"}), Call(reference.decode, {"code": 1, "fmt": "float16"}),
    Call(exact_quantize.quantize, {"x": 1, "scale": 1, "zero_point": 1, "target": "int8"}, {"precision": "float32"}),
    Call(exact_quantize.dequantize, {"code": 1, "source": "int8", "scale": 1, "zero_point": 1}),
    Call(loss.measure, {"x": _X, "to": "int8"}),
]  # fmt: skip
if not isinstance(torch, Missing):
    CALLS += [
        Call(lp.cast, {"x": torch.ones(2, 3), "to": "float8_e4m3fn"}),
        Call(lp.unpack, {"packed": torch.from_numpy(_PACKED), "source": "int4", "shape": (2, 3)}),
        Call(lp.quantize_linear, {"x": torch.ones(2, 3), "scale": 0.5, "zero_point": 1}, {"output_dtype": "uint8"}),
        Call(lp.to_torch, {"x": _CODES, "source": "float8_e4m3fn"}),
    ]
if not isinstance(optional("jax"), Missing):
    CALLS.append(Call(lp.to_jax, {"x": _CODES, "source": "float8_e4m3fn"}))
if not isinstance(lowprec_onnx, Missing):
    CALLS.append(Call(lowprec_onnx.from_array, {"array": _X, "name": "x"}))
    CALLS.append(Call(lowprec_onnx.to_array, {"tensor": lowprec_onnx.from_array(_X)}))
_FIELDS = {field.name: getattr(lp.formats["float8_e5m2"], field.name) for field in dataclasses.fields(lp.Format)}
CALLS.append(Call(lp.Format, {**_FIELDS, "name": "described", "onnx_name": "DESCRIBED", "onnx_enum": 1001}))
CALLS.append(Call(lp.Format, {**_FIELDS, "name": "described", "onnx_name": None, "onnx_enum": None, "since": None}))
CALLS.append(Call(lp.float_format, {"name": "described"}, {"exponent_bits": 4, "mantissa_bits": 3}))
CALLS.append(Call(lp.register, {"fmt": lp.formats["float16"]}))
NAMED = re.compile(r"(attribute )?`[a-z_.]+`")


def _parameters(call: Call) -> list[str]:
    """Return the parameters to be tried: all but the name that `as_format` puts into messages, and one that warns."""
    found = inspect.signature(call.function).parameters.values()
    named = [one.name for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    left_out = {"parameter"} | ({"source"} if call.function is lp.float_format else set())
    return [name for name in dict.fromkeys([*call.positional, *named]) if name not in left_out]


def _label(call: Call) -> str:
    return "-".join([call.function.__name__, type(next(iter(call.positional.values()))).__name__, *call.options])


@pytest.mark.one_in(7)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("call", CALLS, ids=_label)
def test_hostile_scalars(call: Call) -> None:
    refused, wrong = set(), []
    for name in _parameters(call):
        for value in HOSTILE:
            if type(value) is int and (call.function, name, value) == (lp.stochastic_bits, "shape", 2**31):
                continue  # it is right, and takes 4 GiB
            positional = [value if key == name else usual for key, usual in call.positional.items()]
            options = {**call.options, **({} if name in call.positional else {name: value})}
            try:
                call.function(*positional, **options)
            except (TypeError, ValueError) as error:
                refused.add(name)
                if not (NAMED.match(str(error)) and "\n" not in str(error) and len(str(error)) < 600):
                    wrong.append((name, type(value), str(error)[:200]))
            except Exception as error:  # which must not come, whatever it is
                wrong.append((name, type(value), repr(error)[:200]))
    assert not wrong
    assert refused
    lp.set_num_threads(None)
    call.function(*call.positional.values(), **call.options)


def test_every_public_function_is_tried() -> None:
    functions = {name for name in lp.__all__ if inspect.isfunction(getattr(lp, name))}
    tried = {call.function.__name__ for call in CALLS}
    # `convert` works on files: tests/checkpoints/containers/test_convert_hostile.py; `compare` calls what it is given
    untried = {"to_torch"} if isinstance(torch, Missing) else set()
    untried |= {"to_jax"} if isinstance(optional("jax"), Missing) else set()
    assert functions - tried == {"build_info", "compare", "convert", "get_num_threads"} | untried
