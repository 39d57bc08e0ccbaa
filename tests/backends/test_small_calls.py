"""Calls like one before, with any options: carried out at once with the same bits, and refused where they must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.bits import contents
from support.optional import optional

import lowprec as lp
from lowprec import _kernels, reference
from lowprec.arrays.torch_tensors import mark_written
from lowprec.backends import kernels_of_plan, prepared_calls
from lowprec.backends.prepared_calls import CASTS, DEQUANTIZED, QUANTIZED
from lowprec.backends.threads import PARALLEL_FROM
from lowprec.ops import cast, encode_pack, quantize_linear

torch: Any = optional("torch")

X = np.array([0.3, -1000.0, np.inf, 1.0], np.float32)
CODES = [0x2A, 0xFE, 0x7E, 0x38]  # float8_e4m3fn: 0.3125, -448, 448, 1
VALUES = [0.3125, -448.0, 448.0, 1.0]
CALLS: dict[str, tuple[np.ndarray, Callable[..., Any], list[Any]]] = {
    "cast": (X, lambda x, **out: lp.cast(x, "float8_e4m3fn", **out), CODES),
    "encode": (X, lambda x, **out: lp.encode(x, "float8_e4m3fn", **out), CODES),
    "decode": (np.array(CODES, np.uint8), lambda x, **out: lp.decode(x, "float8_e4m3fn", **out), VALUES),
}


def plain(result: Any) -> list[Any]:
    result = np.asarray(result)
    return (result if result.dtype == np.float32 else result.view(np.uint8)).tolist()


THREE, TWO = np.array([1, 2, 3], np.uint8), np.array([0x21, 0x43], np.uint8)
DRAWN = {"to": "float8_e5m2", "rounding": "stochastic"}
CASTS_OF_X: list[dict[str, Any]] = [
    {"to": "float8_e4m3fn", "saturate": False}, {"to": "float8_e4m3fn", "opset": 19},
    {"to": "float8_e8m0fnu", "round_mode": "nearest"}, {"to": "float8_e8m0fnu", "round_mode": "down"},
    {"to": "float16", "rounding": "toward_zero", "overflow": "sat_finite", "nan": "plain"},
    DRAWN | {"seed": 3}, DRAWN | {"seed": (1 << 64) - 1, "offset": 1 << 40}, DRAWN | {"seed": 4, "random_bits": 7},
]  # fmt: skip
QUANTIZED_X: list[dict[str, Any]] = [
    {"output_dtype": "float8_e5m2", "saturate": False}, {"output_dtype": "float8_e5m2", "rounding": "toward_zero"},
    {"output_dtype": "float8_e5m2", "rounding": "stochastic", "seed": 5, "offset": 9},
    {"output_dtype": "int4", "packed": True},
]  # fmt: skip
VARIANTS: list[tuple[np.ndarray, Callable[[Any], Any]]] = [
    *((X, partial(lp.cast, **how)) for how in CASTS_OF_X),
    *((X, partial(lp.quantize_linear, scale=0.5, **how)) for how in QUANTIZED_X),
    (X.view(np.uint32), partial(lp.cast, to="float8_e5m2", source="float32")),
    (X, partial(lp.encode, to="float8_e4m3fn", saturate=False)),
    (X, partial(lp.encode, to="float4_e2m1fn", packed=True)),
    (X[:3], partial(lp.encode, to="float6_e2m3fn", packed=True, rounding="to_odd")),
    (TWO, partial(lp.decode, source="float4_e2m1fn", packed=True, shape=3)),
    (TWO, partial(lp.decode, source="int4", packed=True, shape=(1, 4), to="float16")),
    (THREE, partial(lp.decode, source="uint4", to="float16")),
    (THREE, partial(lp.pack, source="uint4")), (TWO, partial(lp.unpack, source="uint4", shape=(3, 1))),
]  # fmt: skip
"""Arrays, and calls of them with options."""


@pytest.fixture
def dispatched(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Give a list with an item for each call that took the general way."""
    for calls in (CASTS, QUANTIZED, DEQUANTIZED):
        calls.clear()
    jobs: list[None] = []
    for module in (cast, encode_pack, quantize_linear):

        def spy(job: Any, original: Any = module.dispatch) -> Any:
            jobs.append(None)
            return original(job)

        monkeypatch.setattr(module, "dispatch", spy)
    return jobs


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("index", range(len(VARIANTS)))
def test_a_call_with_any_option_is_remembered(index: int, library: str, dispatched: list[None]) -> None:
    values, call = VARIANTS[index]
    x: Any = torch.from_numpy(values) if library == "torch" else values
    first = contents(call(x))
    for others in VARIANTS[:3]:
        others[1](X)
    dispatched.clear()
    for _ in range(2):
        assert contents(call(x)) == first
    assert dispatched == []
    CASTS.clear()
    QUANTIZED.clear()
    assert contents(call(x)) == first
    assert dispatched == [None]


def test_the_likeness_is_remembered_by_its_dtype(dispatched: list[None]) -> None:
    for turn in range(3):
        for like in (np.zeros(1, np.float16), np.zeros((2, 3), np.float64)):
            assert lp.cast_like(X, like).dtype == like.dtype
            assert np.array_equal(lp.cast_like(X, like), X.astype(like.dtype))
        with pytest.raises(TypeError, match="`like` must be"):
            lp.cast_like(X, np.float16)
        assert len(dispatched) == 2, turn


def test_each_seed_has_its_numbers(dispatched: list[None]) -> None:
    x = np.full(64, 1.3, np.float32)
    for seed in (1, 2, 1 << 63):
        for offset in (0, 16, 1 << 62):
            numbers = np.asarray(lp.stochastic_bits(seed, 64, offset=offset))
            target = lp.as_format("float8_e5m2")
            bits = int(x[:1].view(np.uint32)[0])
            expected = [
                reference.cast(bits, "float32", target, rounding="stochastic", random=int(number)) for number in numbers
            ]
            got = lp.cast(x, "float8_e5m2", rounding="stochastic", seed=seed, offset=offset)
            assert got.view(np.uint8).tolist() == expected
    assert len(dispatched) == 1
    for wrong in ({"seed": None}, {"seed": -1}, {"seed": 1, "offset": -1}, {"seed": 1 << 64}):
        with pytest.raises(ValueError, match=r"`(seed|offset)` must be"):
            lp.cast(x, "float8_e5m2", rounding="stochastic", **wrong)
    with pytest.raises(ValueError, match="`seed` must be None unless"):
        lp.cast(x, "float8_e5m2", seed=1)
    with pytest.raises(ValueError, match="`offset` must be left out unless"):
        lp.cast(x, "float8_e5m2", offset=1)


def test_names_that_are_equal_are_one(dispatched: list[None]) -> None:
    for number in range(3):
        name = "".join(["float8", "_e5m2", ""])  # a new string
        assert lp.encode(X, name)[3] == 0x3C, number
        with pytest.raises(ValueError, match="`source` must be"):
            lp.encode(X, name, source="".join(["no", "thing"]))
    assert len(dispatched) == 1


def test_strided_arrays_are_remembered(dispatched: list[None]) -> None:
    for name, (x, call, expected) in CALLS.items():
        for _ in range(3):
            assert plain(call(np.repeat(x, 2)[::2])) == expected, name
            assert plain(call(x)) == expected, name
    assert len(dispatched) == len(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_strided_tensors_take_the_general_way(name: str, dispatched: list[None]) -> None:
    x, call, expected = CALLS[name]
    strided = torch.from_numpy(np.repeat(x, 2))[::2]
    for tensor in (strided, strided, torch.from_numpy(x), strided):
        result = call(tensor)
        assert isinstance(result, torch.Tensor)
        assert plain(result if result.dtype == torch.float32 else result.view(torch.uint8)) == expected
    assert len(dispatched) == 3


def test_the_type_that_out_gives_is_that_of_no_other_call(dispatched: list[None]) -> None:
    code = np.arange(4, dtype=np.int8)
    scale = np.array(0.5, np.float32)
    for _ in range(2):
        for name in ("float16", "float32"):
            out = np.empty(4, name)
            assert lp.dequantize_linear(code, scale, out=out) is out
            assert lp.dequantize_linear(code, scale).dtype == np.float32
        held = np.empty(4, lp.as_format("float8_e5m2").dtype)
        assert lp.quantize_linear(X, scale, out=held) is held
        with pytest.raises(ValueError, match="`output_dtype` must be"):
            lp.quantize_linear(X, scale)


def test_the_first_call_makes_its_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    original = _kernels.Program

    def spy(*arguments: Any, **named: Any) -> Any:
        made.append(arguments[0])
        return original(*arguments, **named)

    kernels_of_plan.make_program.cache_clear()
    QUANTIZED.clear()
    monkeypatch.setattr(_kernels, "Program", spy)
    lp.quantize_linear(X, np.array(0.5, np.float32), output_dtype="int8")
    assert len(made) == 1


def test_names_that_were_freed_are_not_taken_for_others() -> None:
    for _ in range(20):
        for name, code in (("float8_e5m2", 0x3C), ("float8_e4m3fn", 0x38), ("float8_e5m2", 0x3C)):
            fresh = "".join([name[:3], name[3:]])
            assert lp.encode(X, fresh)[3] == code
            del fresh  # another name of this length may be made in its place


def test_packed_codes_of_another_length() -> None:
    encode_pack = np.full(8, 0x21, np.uint8)
    for packed in (encode_pack, torch.from_numpy(encode_pack)):
        for _ in range(2):
            assert plain(lp.unpack(packed, "uint4", 16)) == [1, 2] * 8
            for wrong in (packed[:1], packed[:7], packed.reshape(2, 4), packed[:0]):
                with pytest.raises(ValueError, match="`packed` must be 1-D uint8 of 8 bytes"):
                    lp.unpack(wrong, "uint4", 16)


def test_dtypes_that_dlpack_takes_for_one() -> None:
    for _ in range(2):
        assert lp.decode(torch.tensor(CODES, dtype=torch.uint8), "float8_e4m3fn").tolist() == VALUES
        with pytest.raises(TypeError, match=r"got dtype torch\.uint7"):
            lp.decode(torch.zeros(2, dtype=torch.uint8).view(torch.uint7), "float8_e4m3fn")


@pytest.fixture(params=["C functions of DLPack", "attributes"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Let calls read tensors in one way."""
    prepared_calls.know_tensors()
    if request.param == "attributes":
        monkeypatch.setattr(prepared_calls, "know_tensors", lambda: None)
        _kernels.set_tensors(torch.Tensor, torch.empty_like, mark_written, None, PARALLEL_FROM)
    elif not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch has none")
    yield request.param
    monkeypatch.undo()
    prepared_calls.know_tensors()


def test_each_way_to_read_tensors(way: str, dispatched: list[None]) -> None:
    x = torch.from_numpy(X).reshape(2, 2)
    scale = torch.tensor(0.5)
    wanted = contents(lp.quantize_linear(X.reshape(2, 2), 0.5, output_dtype="int8"))[0][1:]
    for _ in range(2):
        assert contents(lp.quantize_linear(x, scale, output_dtype="int8"))[0][1:] == wanted
        assert lp.encode(x, "float8_e4m3fn").reshape(-1).tolist() == CODES
    assert len(dispatched) == 3  # NumPy's among them
    for _ in range(2):  # into memory with steps, from memory with steps
        out = torch.empty(2, 2, dtype=torch.uint8).t()
        before = out._version
        assert lp.encode(x, "float8_e4m3fn", out=out) is out
        assert lp.encode(x.t(), "float8_e4m3fn", out=out.t()).t().reshape(-1).tolist() == CODES
        assert out.reshape(-1).tolist() == CODES
        assert out._version > before
    assert len(dispatched) == 3
    with pytest.raises(ValueError, match="`out` must have shape"):
        lp.encode(x, "float8_e4m3fn", out=torch.empty(4, dtype=torch.uint8))


def test_tensors_of_odd_kinds_after_a_dense_one(way: str) -> None:
    dense = torch.from_numpy(X)
    for _ in range(2):
        assert lp.encode(dense, "float8_e4m3fn").tolist() == CODES
        assert lp.encode(torch._neg_view(-dense), "float8_e4m3fn").tolist() == CODES
        assert lp.encode(dense.clone().requires_grad_(), "float8_e4m3fn").tolist() == CODES
        assert lp.encode(torch.nn.Parameter(dense.clone()), "float8_e4m3fn").tolist() == CODES
        assert lp.encode(torch._efficientzerotensor(2), "float8_e4m3fn").tolist() == [0, 0]
        out = torch.empty(4, dtype=torch.uint8)
        assert lp.encode(dense, "float8_e4m3fn", out=out) is out
        assert out.tolist() == CODES
        with pytest.raises(TypeError, match="`x` must be a dense torch tensor with data"):
            lp.encode(dense.to_sparse(), "float8_e4m3fn")
