"""Where a described format is taken: conversions, opsets, carriers, packing, torch, copies; ten thousand of them."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import tracemalloc
from typing import Any

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.reference import exact_quantize
from lowprec.spec.formats import Format

E4M3: dict[str, Any] = {"exponent_bits": 4, "mantissa_bits": 3}


def test_equality_copies_and_hash() -> None:
    fmt = lp.float_format("tried", **E4M3)
    again = [lp.float_format("tried", **E4M3, bias=7), copy.copy(fmt), copy.deepcopy([fmt])[0]]
    again += [pickle.loads(pickle.dumps(fmt, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    assert {fmt, *again} == {fmt}
    others = [lp.float_format("tried", **E4M3, source="x"), lp.float_format("other", **E4M3)]
    assert fmt not in others
    code = "import pickle, sys; print(repr(pickle.loads(bytes.fromhex(sys.argv[1]))))"
    made = [sys.executable, "-c", code, pickle.dumps(fmt).hex()]
    assert subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip() == repr(fmt)


FMT = lp.float_format("taken", exponent_bits=5, mantissa_bits=2, nan="all-ones")
X = np.float32([1.0, -0.0, 3e9, np.nan, -np.inf])
CODES = np.uint8([0x3C, 0x80, 0x7D, 0x7F, 0xFD])


def test_opset_must_be_the_default() -> None:
    message = "^`opset` must be 28, the default, for taken, which ONNX lacks; got 27$"
    calls = [
        lambda opset: lp.cast(X, FMT, opset=opset),
        lambda opset: lp.cast(CODES, "float16", source=FMT, opset=opset),
        lambda opset: lp.encode(X, FMT, opset=opset),
        lambda opset: lp.bitcast(CODES, FMT, opset=opset),
        lambda opset: lp.bitcast(CODES, "int8", source=FMT, opset=opset),
        lambda opset: lp.quantize_linear(X, 1.0, output_dtype=FMT, opset=opset),
        lambda opset: lp.dequantize_linear(CODES, 1.0, source=FMT, opset=opset),
        lambda opset: lp.explain(1, FMT, opset=opset),
        lambda opset: reference.encode(1, FMT, opset=opset),
    ]
    for call in calls:
        call(28)
        call(np.int64(28))
        with pytest.raises(ValueError, match=message):
            call(27)


def test_conversions() -> None:
    # 0 11110 01 is the largest, 7E Inf, 7F NaN
    assert [lp.encode(X, FMT).tolist(), lp.cast(X, FMT).tolist()] == [CODES.tolist()] * 2
    assert [reference.encode(float(value), FMT) for value in X] == CODES.tolist()  # type: ignore[attr-defined]
    assert lp.encode(X, FMT, saturate=False).tolist() == [0x3C, 0x80, 0x7E, 0x7F, 0xFE]
    assert np.array_equal(lp.decode(CODES, FMT), [1.0, 0.0, 81920.0, np.nan, -81920.0], equal_nan=True)
    assert np.asarray(lp.cast_like(CODES, np.float16(0), source=FMT)).dtype == np.float16
    assert lp.bitcast(CODES, FMT).tolist() == CODES.tolist()
    assert lp.bitcast(CODES, "int8", source=FMT).tolist() == CODES.view(np.int8).tolist()
    assert lp.quantize_linear(2 * X, np.float32(2.0), output_dtype=FMT).tolist() == CODES.tolist()
    assert lp.dequantize_linear(CODES[:3], np.float32(2.0), source=FMT).tolist() == [2.0, 0.0, 163840.0]
    assert str(lp.explain("1.1", FMT)).startswith("taken: nearer to the lower neighbour")


def test_quantization_to_more_than_8_bits() -> None:
    fmt, x, scale = lp.as_format("binary12p6se"), np.float32([0.3, -7.7, 1e9, -1e30, np.nan, -0.0]), np.float32(0.3)
    codes = [exact_quantize.quantize(float(value), float(scale), None, fmt, precision="float32") for value in x]  # type: ignore[attr-defined]
    for xp in (np, strict):
        got = lp.quantize_linear(xp.asarray(x), xp.asarray(scale), output_dtype=fmt)
        assert np.asarray(got).tolist() == codes
        back = lp.dequantize_linear(got, xp.asarray(scale), source=fmt)
        expected = np.array([float(reference.decode(code, fmt)) for code in codes]) * np.float64(scale)
        assert np.array_equal(np.asarray(back), expected.astype(np.float32), equal_nan=True)


def test_carriers() -> None:
    for xp in (np, strict):
        assert lp.carrier(FMT, xp) == xp.uint8
        assert lp.carrier(lp.float_format("wide", exponent_bits=5, mantissa_bits=4, nan="none"), xp) == xp.uint16
    own = lp.float_format("float8_e3m4", exponent_bits=3, mantissa_bits=4)
    assert lp.carrier(own, np) == ml_dtypes.float8_e3m4
    assert lp.carrier(own, strict) == strict.uint8
    assert lp.carrier(lp.float_format("float8_e4m3", **E4M3), np) == ml_dtypes.float8_e4m3
    fnuz = {**E4M3, "inf": False, "nan": "negative-zero"}
    assert lp.carrier(lp.float_format("float8_e4m3b11fnuz", **fnuz, bias=11), np) == ml_dtypes.float8_e4m3b11fnuz
    assert lp.carrier(lp.float_format("float8_e4m3b11fnuz", **fnuz, bias=10), np) == np.uint8
    assert lp.carrier(lp.float_format("float8_e3m4", exponent_bits=3, mantissa_bits=4, inf=False), np) == np.uint8
    half = lp.float_format("half", exponent_bits=5, mantissa_bits=10)  # np.half is float16, of another name
    assert lp.carrier(half, np) == np.uint16
    y = lp.cast(X, half)
    assert y.dtype == np.uint16
    assert lp.decode(y, half).tolist()[:2] == [1.0, 0.0]


@pytest.mark.parametrize("bits", range(3, 8))
def test_packing(bits: int) -> None:
    fmt = lp.as_format(f"binary{bits}p2sf")
    codes = np.arange(1 << bits, dtype=np.uint8)
    if bits in (4, 6):
        assert np.array_equal(lp.unpack(lp.pack(codes, fmt), fmt, codes.size), codes)
        assert lp.encode(np.ones(8, np.float32), fmt, packed=True).size == bits
        return
    message = f"`(source|fmt)` must be a 2-, 4- or 6-bit format to be packed; got binary{bits}p2sf of {bits} bits"
    with pytest.raises(ValueError, match=message):
        lp.pack(codes, fmt)
    with pytest.raises(ValueError, match=message):
        lp.encode(np.ones(8, np.float32), fmt, packed=True)
    with pytest.raises(ValueError, match=message):
        lp.decode(codes, fmt, packed=True, shape=1)


def test_onnx_has_no_type_for_it() -> None:
    with pytest.raises(ValueError, match=r"^`source` must be a format that ONNX has a type for; got taken$"):
        pytest.importorskip("lowprec.onnx", exc_type=ImportError).from_array(CODES, source=FMT)


def test_names_of_described_formats_are_traced() -> None:
    torch = pytest.importorskip("torch")
    from torch.fx.experimental.proxy_tensor import make_fx

    x, fmt = torch.arange(8.0), lp.register(lp.float_format("registered_for_torch", exponent_bits=4, mantissa_bits=3))

    def check(to: object) -> None:
        assert torch.equal(make_fx(lambda x: lp.cast(x, to))(x)(x), lp.cast(x, to))

    for to in ("binary8p3se", lp.as_format("binary5p2sf"), "registered_for_torch", fmt):
        check(to)


# ---- memory


@pytest.mark.slow
def test_ten_thousand_formats_leave_nothing() -> None:
    def make(first: int, count: int) -> None:
        for number in range(first, first + count):
            fmt = lp.float_format(f"passing{number}", exponent_bits=1 + number % 8, mantissa_bits=1 + number % 7)
            assert {fmt: lp.finfo(fmt).max}[fmt] == fmt.max
            assert lp.carrier(fmt, np) == (np.uint8 if fmt.bits <= 8 else np.uint16)

    make(0, 7_000)
    gc.collect()
    alive = len(Format._instances)
    tracemalloc.start()
    sizes = []
    for first in (7_000, 8_500):  # the first fill all caches with objects that are traced
        make(first, 1_500)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert len(Format._instances) <= alive + 10
    assert sizes[1] - sizes[0] < 200_000  # 1,500 formats that stay would take a megabyte
