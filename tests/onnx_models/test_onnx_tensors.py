"""TensorProto to array and back: every code of every type against onnx.numpy_helper, odd lengths, bad messages."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("onnx")

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import lowprec as lp
from lowprec.onnx import from_array, to_array
from lowprec.spec.formats import ONNX_NUMERIC, Format, Kind

RNG = np.random.default_rng(20)
NUMBERS = [*ONNX_NUMERIC, lp.formats["complex64"], lp.formats["complex128"]]
BY_NAME = {"ids": lambda fmt: fmt.name}


def _bytes(fmt: Format, count: int) -> np.ndarray:
    """Return `count` elements: every code in order, then random ones; from 32 bits up random ones, NaNs among them."""
    if fmt.bits > 16:
        found = RNG.integers(0, 256, count * fmt.bits // 8, np.uint8)
        found[: 4 * (len(found) // 4)].view(np.uint32)[::5] |= 0x7F80_0000
        return found.view(fmt.dtype)
    whole = 2 if fmt.kind is Kind.BOOL else 1 << fmt.bits
    codes = np.concatenate([np.arange(min(whole, count)), RNG.integers(0, whole, max(count - whole, 0))])
    return codes.astype(fmt.code_dtype).view(fmt.dtype)


def _same(ours: np.ndarray, theirs: np.ndarray, fmt: Format, tally: Counter[str]) -> None:
    assert ours.dtype == theirs.dtype == fmt.dtype
    assert ours.shape == theirs.shape
    found, wanted = (np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (ours, theirs))
    if fmt.bits < 8:  # numpy_helper leaves what lies above int4 and int2 as it came
        found, wanted = (one & np.uint8(fmt.code_mask) for one in (found, wanted))
    differ = int((found != wanted).sum())
    tally["TensorProto beside onnx.numpy_helper, elements"] += ours.size
    tally["TensorProto beside onnx.numpy_helper, elements differ"] += differ
    assert not differ


@pytest.mark.parametrize("fmt", NUMBERS, **BY_NAME)
def test_raw_data_to_array_and_back(fmt: Format, tally: Counter[str]) -> None:
    for count in [*range(18), 63, 257, 65_537]:
        array = _bytes(fmt, count)
        ours, theirs = from_array(array, "t"), numpy_helper.from_array(array, "t")
        assert ours == theirs, count
        _same(to_array(ours), numpy_helper.to_array(theirs), fmt, tally)
        assert to_array(ours).flags.writeable or not count
    block = _bytes(fmt, 30).reshape(2, 3, 5)
    for view in (block, block[:, ::-1, ::2], block.transpose(2, 0, 1), np.asfortranarray(block), block[1, 2, 3]):
        assert from_array(view).raw_data == numpy_helper.from_array(np.asarray(view).copy()).raw_data
        _same(to_array(from_array(view)), np.asarray(view), fmt, tally)


def _typed(fmt: Format, array: np.ndarray) -> TensorProto:
    """Fill the field that onnx.proto names, entry by entry, by hand."""
    tensor = TensorProto(dims=array.shape, data_type=fmt.onnx_enum)
    flat = array.reshape(-1)
    if fmt.kind is Kind.COMPLEX:
        field = tensor.float_data if fmt.bits == 64 else tensor.double_data
        field.extend(part for number in flat.tolist() for part in (number.real, number.imag))
    elif fmt.name in ("float32", "float64"):
        (tensor.float_data if fmt.bits == 32 else tensor.double_data).extend(flat.tolist())
    elif fmt.name in ("uint32", "uint64"):
        tensor.uint64_data.extend(flat.tolist())
    elif fmt.name == "int64":
        tensor.int64_data.extend(flat.tolist())
    elif fmt.name in ("int8", "int16", "int32"):
        tensor.int32_data.extend(flat.tolist())
    elif fmt.bits in (2, 4):
        codes = [int(code) & fmt.code_mask for code in flat.view(np.uint8)]
        per = 8 // fmt.bits
        groups = [codes[index : index + per] for index in range(0, len(codes), per)]
        tensor.int32_data.extend(sum(c << fmt.bits * i for i, c in enumerate(group)) for group in groups)
    else:
        tensor.int32_data.extend(flat.view(fmt.code_dtype).tolist())
    return tensor


@pytest.mark.parametrize("fmt", NUMBERS, **BY_NAME)
def test_typed_fields(fmt: Format, tally: Counter[str]) -> None:
    for count in [0, 1, 2, 3, 5, 64, 257, 65_536]:
        array = _bytes(fmt, count)
        if fmt.bits > 16 and (fmt.is_float or fmt.kind is Kind.COMPLEX):
            array = RNG.normal(size=count * 2).astype(f"f{fmt.dtype.itemsize // (1 + (fmt.kind is Kind.COMPLEX))}")
            array = array.view(fmt.dtype)[:count]
        tensor = _typed(fmt, array)
        _same(to_array(tensor), numpy_helper.to_array(tensor), fmt, tally)
        _same(to_array(tensor), array, fmt, tally)


def test_codes_in_unsigned_dtypes() -> None:
    for fmt in ONNX_NUMERIC:
        if fmt.bits <= 16:
            codes = np.arange(1 << min(fmt.bits, 8)).astype(fmt.code_dtype)
            assert from_array(codes, source=fmt) == from_array(codes.view(fmt.dtype)), fmt.name
    assert from_array(np.array([-1, 7], np.int8), source="int4").raw_data == b"\x7f"


def test_big_endian() -> None:
    array = np.array([1, 2**20, -3], ">i4")
    assert from_array(array).raw_data == array.astype("<i4").tobytes()
    assert from_array(np.array([1.5], ">c16")).raw_data == np.array([1.5], "<c16").tobytes()


def test_strings() -> None:
    texts = [["a", "grün"], ["", "1e-3"]]
    for array in (np.array(texts), np.array(texts, object), np.array(texts, np.dtypes.StringDType())):
        tensor = from_array(array, "s")
        assert list(tensor.string_data) == [text.encode() for row in texts for text in row]
        assert to_array(tensor).tolist() == texts
        assert to_array(tensor).dtype == object
    assert numpy_helper.to_array(tensor).tolist() == texts
    assert from_array(np.array(texts, object)) == numpy_helper.from_array(np.array(texts, object))


def test_sign_extended_entries() -> None:
    tensor = TensorProto(dims=[2], data_type=TensorProto.UINT8, int32_data=[-1, 255])
    assert to_array(tensor).tolist() == [255, 255]


def _tensor(kind: str, **fields: object) -> TensorProto:
    return TensorProto(data_type=getattr(TensorProto, kind), **fields)


REFUSED = [
    (_tensor("UNDEFINED"), "`tensor` must have a data type; got UNDEFINED"),
    (TensorProto(data_type=99), "`tensor.data_type` must be a format; got 99"),
    (_tensor("FLOAT", dims=[2], raw_data=bytes(7)), r"`raw_data` must hold 8 bytes for shape \(2,\) of FLOAT; got 7"),
    (_tensor("FLOAT", dims=[2], raw_data=bytes(12)), "`raw_data` must hold 8 bytes .* got 12"),
    (_tensor("FLOAT6E2M3", dims=[3], raw_data=bytes(4)), "`raw_data` must hold 3 bytes"),
    (_tensor("INT4", dims=[3], raw_data=bytes(1)), "`raw_data` must hold 2 bytes"),
    (_tensor("INT4", dims=[3], raw_data=bytes(3)), "`raw_data` must hold 2 bytes"),
    (_tensor("FLOAT", dims=[2**40, 2**20], raw_data=bytes(8)), "`raw_data` must hold 4611686018427387904 bytes"),
    (_tensor("FLOAT", dims=[-1], raw_data=b""), r"lengths 0 or more; got a segment, or shape \(-1,\)"),
    (_tensor("FLOAT", dims=[3]), "`float_data` must hold 3 entries"),
    (_tensor("FLOAT", dims=[1], int32_data=[3]), "`float_data` must hold 1 entries .* got 0"),
    (_tensor("INT64", dims=[2], int64_data=[3]), "`int64_data` must hold 2 entries"),
    (_tensor("COMPLEX64", dims=[2], float_data=[1, 2, 3]), "`float_data` must hold 4 entries"),
    (_tensor("UINT4", dims=[3], int32_data=[1, 2, 3]), "`int32_data` must hold 2 entries"),
    (_tensor("FLOAT6E3M2", dims=[1], int32_data=[64]), "from 0 to 63 for FLOAT6E3M2; got 64 at index 0"),
    (_tensor("FLOAT6E3M2", dims=[1], int32_data=[-1]), "from 0 to 63"),
    (_tensor("FLOAT8E5M2", dims=[2], int32_data=[1, 256]), "from -128 to 255 for FLOAT8E5M2; got 256 at index 1"),
    (_tensor("INT8", dims=[1], int32_data=[-129]), "from -128 to 255 for INT8; got -129"),
    (_tensor("UINT2", dims=[1], int32_data=[256]), "from -128 to 255 for UINT2; got 256"),
    (_tensor("UINT32", dims=[1], uint64_data=[2**32]), "from 0 to 4294967295 for UINT32"),
    (_tensor("STRING", dims=[2], string_data=[b"a"]), "`string_data` must hold 2 strings"),
    (_tensor("STRING", dims=[1], string_data=[b"\xff"]), "UTF-8; got .* at index 0"),
    (_tensor("FLOAT", dims=[1], data_location=TensorProto.EXTERNAL), "external data"),
    (_tensor("FLOAT", dims=[1], raw_data=bytes(4), segment=TensorProto.Segment(begin=0, end=1)), "segment"),
]  # fmt: skip


@pytest.mark.parametrize(("tensor", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused(tensor: TensorProto, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_array(tensor)


def test_every_type_of_onnx_is_there() -> None:
    types = set(onnx.TensorProto.DataType.keys()) - {"UNDEFINED", "STRING"}
    assert {fmt.onnx_name for fmt in NUMBERS} == types
