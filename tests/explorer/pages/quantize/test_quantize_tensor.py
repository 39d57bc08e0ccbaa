"""The Quantize page's tensors: typed, sampled and uploaded ones, and what is refused with which words."""

from __future__ import annotations

import io
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowprec.explorer.pages.quantize.tensor import DISTRIBUTIONS, MOST_ELEMENTS, MOST_TYPED, sampled, typed
from lowprec.explorer.pages.quantize.tensor_files import from_file


def npy(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def test_typed_numbers_are_rounded_once_to_float32():
    found = typed("0.1, 1/3\t0x1.8p+1;\r\n-inf nan  -0\n").values
    assert found.dtype == np.float32
    expected = [[0x3DCCCCCD, 0x3EAAAAAB, 0x40400000], [0xFF800000, 0x7FC00000, 0x80000000]]
    assert found.view(np.uint32).tolist() == expected
    assert typed("1 2 3").values.shape == (3,)
    assert typed(";;1;2;").values.shape == (2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "got 0"), (" ,; \n", "got 0"), ("1 2; 3", "rows of 2, 1 numbers"), ("1 zwei", "`x` must be a decimal")],
)  # fmt: skip
def test_other_texts_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        typed(text)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_samples_are_repeated_and_scaled(distribution):
    found = sampled(distribution, 40, 50, 7).values
    assert (found.shape, found.dtype) == ((40, 50), np.float32)
    assert np.isfinite(found).all()
    assert found.tobytes() == sampled(distribution, 40, 50, 7).values.tobytes()
    assert found.tobytes() != sampled(distribution, 40, 50, 8).values.tobytes()
    assert sampled(distribution, 40, 50, 7, 4.0).values.tolist() == (4 * found).tolist()
    assert abs(float(np.median(found))) < 0.1


def test_outliers_lie_far_out():
    far, near = (float(np.abs(sampled(name, 100, 100, 1).values).max()) for name in ("outliers", "normal"))
    assert far > 20 > near


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint64, np.bool])
def test_npy(dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    found = from_file("Weights.NPY", npy(values))
    kept = dtype in (np.float32, np.float16, ml_dtypes.bfloat16)
    assert found.values.dtype == (dtype if kept else np.float32)
    assert found.values.astype(np.float64).tolist() == values.astype(np.float64).tolist()
    assert bool(found.note) is not kept
    assert found.values.flags.c_contiguous


def test_npy_in_other_layouts():
    assert from_file("a.npy", npy(np.asfortranarray(np.eye(2, 3)))).values.tolist() == np.eye(2, 3).tolist()
    assert from_file("a.npy", npy(np.arange(3, dtype=">f4"))).values.tolist() == [0, 1, 2]
    assert from_file("a.npy", npy(np.float32(3))).values.shape == (1,)


def safetensors(**arrays):
    return pytest.importorskip("safetensors.numpy").save(arrays)


def test_safetensors_are_read_by_name():
    content = safetensors(
        b=np.zeros((2, 2), np.float32), a=np.arange(3, dtype=np.float16), c=np.array(2, np.int64),
        d=np.array([1.5], ml_dtypes.bfloat16),
    )  # fmt: skip
    first = from_file("model.safetensors", content)
    assert (first.name, first.names, first.values.tolist()) == ("a", ("a", "b", "c", "d"), [0, 1, 2])
    assert from_file("model.safetensors", content, "b").values.shape == (2, 2)
    assert from_file("model.safetensors", content, "c").note == "int64 became float32"
    assert from_file("model.safetensors", content, "d").format.name == "bfloat16"
    with pytest.raises(ValueError, match="4 names"):
        from_file("model.safetensors", content, "z")


def raw(header, body=b""):
    return len(header).to_bytes(8, "little") + header + body


@pytest.mark.parametrize(
    ("dtype", "body", "expected"),
    [("F8_E4M3", b"\x7e\x01", [448, 2**-9]), ("F8_E5M2", b"\x7b\xbc", [57344, -1]), ("F8_E8M0", b"\x7f\x80", [1, 2]),
     ("F8_E4M3FNUZ", b"\x7f\x81", [240, -(2**-10)]), ("BOOL", b"\x01\x00", [1, 0]),
     ("F4", b"\x21\x9f", [0.5, 1, -6, -0.5]), ("F6_E2M3", b"\x41\x00\xfc", [0.125, 0.125, 0, -7.5]),
     ("F6_E3M2", b"\x41\x00\xfc", [0.0625, 0.0625, 0, -28])],
)  # fmt: skip
def test_other_types_of_safetensors(dtype, body, expected):
    """Of packed ones the first code has the lowest bits; the values are those of OCP MX 1.0, tables 2 to 5."""
    pytest.importorskip("safetensors")
    shape = [2, len(expected) // 2]
    header = f'{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{len(body)}]}}}}'.encode()
    found = from_file("w.safetensors", raw(header, body))
    assert (found.values.reshape(-1).tolist(), found.values.shape) == (expected, tuple(shape))
    assert found.note.endswith("became float32")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npz", b"PK\x03\x04", "by its name"),
        ("a.npy", b"", "does not start as one"),
        ("a.npy", b"PK\x03\x04", "archive"),
        ("a.npy", npy(np.zeros(4))[:-1], "it has 31"),
        ("a.npy", npy(np.zeros(0)), "1 to 1048576 elements"),
        ("a.npy", npy(np.zeros(2, np.complex64)), "real floats"),
        ("a.npy", npy(np.zeros(2, ml_dtypes.float8_e4m3fn)), "does not name the format"),
        ("a.npy", b"\x93NUMPY\x01\x00\xff\xff" + b" " * 70000, "header has 65535 bytes"),
        ("a.npy", b"\x93NUMPY\x01\x00\x10\x00{'shape': (9**9,", "header"),
        ("a.safetensors", b"", "header is cut off"),
        ("a.safetensors", b"\xff" * 64, "header is cut off"),
        ("a.safetensors", raw(b"[]"), "readable .safetensors"),
        ("a.safetensors", raw(b"{}"), "no tensors"),
        ("a.safetensors", raw(b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'), "readable"),
        ("a.safetensors", raw(b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'), "1 to 1048576"),
        ("a.safetensors", raw(b'{"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}', b"12345678"), "it is C64"),
        ("a.safetensors", raw(b'{"a":{"dtype":"F4","shape":[0],"data_offsets":[0,0]}}'), "1 to 1048576"),
        (
            "a.safetensors",
            raw(b'{"a":{"dtype":"F4","shape":[2000000],"data_offsets":[0,1000000]}}', bytes(10**6)),
            "1 to",
        ),
    ],
)
def test_other_files_are_refused(name, content, message):
    if name.endswith(".safetensors"):
        pytest.importorskip("safetensors")
    with pytest.raises(ValueError, match=message) as caught:
        from_file(name, content)
    assert "/" not in str(caught.value)  # no path of ours


def test_pickles_are_never_loaded():
    stream = io.BytesIO()
    np.save(stream, np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="bools, integers or real floats"):
        from_file("a.npy", stream.getvalue())


def test_without_safetensors_a_message(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ValueError, match="needs the package safetensors"):
        from_file("a.safetensors", b"")


@given(st.text(max_size=80) | st.text(alphabet="0123456789.,; \n-e/", max_size=120))
def test_any_text_is_a_tensor_or_a_message(text):
    try:
        found = typed(text)
    except ValueError as error:
        message = str(error)
    else:
        assert 1 <= found.values.size <= MOST_TYPED
        return
    assert "`x` must" in message


@given(st.binary(max_size=400), st.sampled_from(["a.npy", "a.safetensors", "a"]), st.integers(0, 200))
def test_any_bytes_are_a_tensor_or_a_message(noise, name, kept):
    bytes_of_four = raw(b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"abcd")
    good = npy(np.arange(8.0)) if name == "a.npy" else bytes_of_four
    for content in (noise, good[:kept] + noise, good[:kept] + noise[:4] + good[kept + 4 :]):
        try:
            size = from_file(name, content).values.size
        except ValueError as error:
            message, size = str(error), 0
        assert 1 <= size <= MOST_ELEMENTS or message
