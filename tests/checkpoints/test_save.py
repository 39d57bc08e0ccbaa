"""`lowprec.checkpoints.save`: files that others read too, quantized arrays, arrays of every library, refusals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.array_libraries import Library, codes_of
from support.bits import bits_of, packed_bytes
from support.checkpoint_files import call_fails, opened
from support.optional import optional

import lowprec as lp
from lowprec.checkpoints import FileError, check, convert, inspect, open, save
from lowprec.spec.formats import NUMERIC, Format

safe_open: Any = optional("safetensors:safe_open")

X = np.array([[0.5, -0.0, np.nan], [np.inf, 1e-40, -3.0]], np.float32)
Q = lp.quantize(np.float32([[1, -2], [3, 0.5]]), "int8")
KINDS = (".safetensors", ".npz")


def bits(fmt: Format) -> np.ndarray:
    """Return every code of a narrow format, some of a wide one, in three axes."""
    count = 2 if fmt.name == "bool" else 1 << min(fmt.bits, 8)
    return (np.arange(30, dtype=np.uint64) * 37 % count).astype(fmt.code_dtype).reshape(2, 3, 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_every_format_is_read_back(fmt: Format, kind: str) -> None:
    x = bits(fmt).view(fmt.dtype)
    save(f"x{kind}", {"one": x, "two": x[0, :, ::-2], "three": x[0, 0, 0]})
    with open(f"x{kind}") as checkpoint:
        assert list(checkpoint) == ["one", "two", "three"] or kind == ".safetensors"
        for name, expected in {"one": x, "two": x[0, :, ::-2], "three": x[0, 0, 0]}.items():
            found = checkpoint.read(name)
            assert (found.dtype, found.shape) == (fmt.dtype, expected.shape)
            assert np.array_equal(bits_of(found), bits_of(expected))
    assert {entry.format for entry in inspect(f"x{kind}")} == {fmt.name}
    if not fmt.is_float or fmt.bits > 8:  # narrow floats may be codes whose scales are missing
        assert not any(one.misread for one in check(f"x{kind}"))


def test_the_safetensors_package_reads_the_file() -> None:
    tensors = {"w": X, "f8": X.astype(ml_dtypes.float8_e5m2), "n": np.arange(3)}
    save("x.safetensors", tensors, metadata={"format": "pt", "title": "é"})
    with safe_open("x.safetensors", "np") as file:
        assert file.metadata() == {"format": "pt", "title": "é"}
        assert np.array_equal(file.get_tensor("w"), X, equal_nan=True)
        assert file.get_tensor("n").tolist() == [0, 1, 2]
        assert file.get_slice("f8").get_dtype() == "F8_E5M2"


def test_codes_are_packed_in_safetensors_and_not_in_archives() -> None:
    x = np.arange(-3, 4).astype(ml_dtypes.int4)
    save("x.safetensors", {"w": x})
    save("x.npz", {"w": x})
    assert Path("x.safetensors").read_bytes().endswith(packed_bytes(bits_of(x), 4).tobytes())
    with np.load("x.npz") as archive:
        assert archive["w"].dtype == np.uint8
        assert archive["w"].tolist() == (bits_of(x) & 15).tolist()


def test_numpy_reads_one_array() -> None:
    save("x.npy", X)
    save("y.npy", {"anything": X.astype(">f4").T})
    assert np.array_equal(np.load("x.npy"), X, equal_nan=True)
    assert np.array_equal(np.load("y.npy"), X.T, equal_nan=True)
    save("z.npy", np.arange(8, dtype=np.int8), source="int8")
    assert np.load("z.npy").dtype == np.int8


@pytest.mark.parametrize("names", [["", "a b", "/", "é/ü", '"', "..", "x.npy"], []], ids=["any", "none"])
@pytest.mark.parametrize("kind", KINDS)
def test_names_of_any_letters(kind: str, names: list[str]) -> None:
    """Or nothing to save; the same arrays give the same bytes."""
    for path in (f"x{kind}", f"y{kind}"):
        save(path, {name: np.int8([len(name)]) for name in names})
    with open(f"x{kind}") as checkpoint:
        assert sorted(checkpoint) == sorted(names)
        assert [checkpoint[name].tolist() for name in names] == [[len(name)] for name in names]
    assert Path(f"x{kind}").read_bytes() == Path(f"y{kind}").read_bytes()


def test_an_existing_file_is_kept_unless_told() -> None:
    save("x.npz", {"w": X})
    before = Path("x.npz").read_bytes()
    call_fails(r"^x\.npz: exists; say `overwrite` to replace it$", save, "x.npz", {"v": X})
    assert Path("x.npz").read_bytes() == before
    save("x.npz", {"v": X}, overwrite=True)
    with open("x.npz") as checkpoint:
        assert list(checkpoint) == ["v"]
    assert os.listdir() == ["x.npz"]


def test_a_file_may_be_replaced_by_what_is_mapped_from_it() -> None:
    save("x.npy", np.arange(4000))
    mapped, _ = lp.checkpoints.read_array("x.npy")
    save("x.npy", mapped[::-1], overwrite=True)
    assert np.load("x.npy").tolist() == list(range(3999, -1, -1))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("x.bin", {"w": X}), {}, ValueError, "`path` must end in .safetensors, .npz, .npy; got 'x.bin'"),
        ((7, {"w": X}), {}, TypeError, "`path` must be a path, as text or os.PathLike; got 7"),
        (("x.npz", [X]), {}, TypeError, "`arrays` must be a mapping of names to arrays for .npz files; got list"),
        (("x.npz", {1: X}), {}, TypeError, "`arrays` must have texts for names; got 1"),
        (("x.npz", {"a\0b": X}), {}, ValueError, "`arrays` must have names that a file can hold; got 'a\\x00b'"),
        (("x.npz", {"\ud800": X}), {}, ValueError, "`arrays` must have names that UTF-8 can write; got '\\ud800'"),
        (("x.safetensors", {"__metadata__": X}), {}, ValueError,
         "`arrays` must have names that a file can hold; got '__metadata__'"),
        (("x.npz", {"w": [1.0]}), {}, TypeError, "`arrays['w']` must be an array (NumPy, torch, or any array-API"),
        (("x.npz", {"w": X + 1j}), {}, TypeError,
         "`arrays['w']` must hold bools, integers, real floats; got dtype complex64"),
        (("x.npz", {"w": np.array(["a"])}), {}, TypeError, "`arrays['w']` must hold bools, integers, real floats; got"),
        (("x.npy", {"w": X, "v": X}), {}, ValueError, "`arrays` must be one array for an .npy file; got 2"),
        (("x.npy", X.astype(ml_dtypes.bfloat16)), {}, FileError,
         "x.npy: NumPy has no bfloat16; name an .npz file, which holds its codes and its name"),
        (("x.npz", {"w": X}), {"source": "float32"}, TypeError,
         "`source` must be a mapping of names to formats where `arrays` is one; got 'float32'"),
        (("x.npz", {"w": X}), {"source": {"v": "int4"}}, ValueError,
         "`source` must have names that `arrays` has; got 'v'"),
        (("x.npz", {"w": X}), {"source": {"w": "int5"}}, ValueError, "`source['w']` must be"),
        (("x.npz", {"w": X}), {"source": {"w": "int4"}}, ValueError,
         "`arrays['w']` must hold codes of `source['w']` int4 in int4 or int8 or uint8; got dtype float32"),
        (("x.npz", {"w": X}), {"overwrite": "yes"}, ValueError, "`overwrite` must be"),
        (("folder.npz", {"w": X}), {"overwrite": True}, FileError, "folder.npz: must be a regular file"),
        (("x.npz", {"w": Q, "w_scale": X}), {}, ValueError, "`arrays` must not have 'w_scale' too, the scales of 'w'"),
        (("x.npz", {"w": Q}), {"source": {"w": "int8"}}, ValueError,
         "`source['w']` must be None for a quantized array; got 'int8'"),
        *((("x.npy", one), {}, TypeError, "`arrays` must be an array for an .npy file; got a Quantized: name an .npz")
          for one in (Q, {"w": Q})),
    ],
)  # fmt: skip
def test_refusals(arguments: Any, options: Any, error: type[Exception], message: str) -> None:
    Path("folder.npz").mkdir()
    with pytest.raises(error) as raised:
        save(*arguments, **options)
    assert str(raised.value).startswith(message)
    assert os.listdir() == ["folder.npz"]
    assert not os.listdir("folder.npz")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_arrays_of_every_library(xp: Library, fmt: Format) -> None:
    codes = codes_of(fmt)
    with xp.session(fmt):
        x, source = xp.hold(codes, fmt), {} if xp.own(fmt) else {"w": fmt}
        for kind in KINDS:
            save(f"x{kind}", {"w": x}, source=source)
    for kind in KINDS:
        found = opened(f"x{kind}", "w")
        assert found.dtype == fmt.dtype
        assert np.array_equal(found.view(fmt.code_dtype), codes)


def test_what_holds_nothing_is_refused() -> None:
    """Tensors without data, traced arrays, and lengths that Dask does not know."""
    torch, jax, dask = map(pytest.importorskip, ("torch", "jax", "dask.array"))
    with pytest.raises(TypeError, match=r"^`arrays\['w'\]` must be a dense torch tensor with data"):
        save("x.npz", {"w": torch.zeros(2, device="meta")})
    with pytest.raises(TypeError, match=r"^`arrays\['w'\]` must hold something; got a JAX array that is being traced"):
        jax.jit(lambda x: save("x.npz", {"w": x}))(np.zeros(2, np.float32))
    x = dask.from_array(np.arange(6.0))
    with pytest.raises(ValueError, match=r"^`arrays\['w'\]` must have known lengths; got \(nan,\): call"):
        save("x.npz", {"w": x[x > 2]})
    assert os.listdir() == []


torch: Any = optional("torch")

Y = np.float32(np.random.default_rng(41).standard_normal((6, 4, 64)) * 10)
WIDE = np.float32(np.random.default_rng(42).standard_normal((3, 200, 300)))
ARRAYS = {"x": Y, "matrix": Y[0], "row": Y[0, 0], "wide": WIDE, "wide matrix": WIDE[0], "odd": Y[..., :63],
          "odd matrix": Y[0, :, :63], "odd row": Y[0, 0, :63], "number": Y[0, 0, 0]}  # fmt: skip
IN_BOTH: list[tuple[str, dict[str, Any]]] = [
    ("int8", {}), ("int8", {"axis": 0}), ("int4", {"axis": 1}), ("int16", {"axis": 2}), ("int2", {"block_size": 32}),
    ("int4", {"axis": -1, "block_size": 16}), ("float8_e4m3fn", {"axis": 0}), ("float4_e2m1fn", {"block_size": 64}),
    ("int8", {"axis": 0, "scale_format": "bfloat16"}), ("int4", {"axis": 0, "packed": True}),
    ("mxfp4", {}), ("mxfp8_e4m3", {}), ("mxfp6_e2m3", {}), ("mxint8", {}), ("mxfp4", {"packed": True}),
    ("float6_e3m2fn", {"axis": 0}), ("nvfp4", {}), ("nvfp4", {"block_size": 32, "packed": True}),
    ("uint8", {"zero_point": True}), ("int8", {"zero_point": True, "axis": 0}),
    ("uint4", {"zero_point": True, "axis": 1}), ("uint16", {"zero_point": True, "block_size": 16}),
    ("uint2", {"zero_point": True, "block_size": 32, "packed": True}), ("int4", {"zero_point": True, "axis": 2}),
]  # fmt: skip
IN_SAFETENSORS: list[tuple[str, str, dict[str, Any]]] = [
    ("wide matrix", "float8_e4m3fn", {"axis": (0, 1), "block_size": (128, 128)}),
    ("wide", "int8", {"axis": (1, 2), "block_size": (64, 64)}), ("x", "int4", {"axis": (1, 2), "block_size": (3, 20)}),
    ("x", "uint8", {"axis": (1, 2), "block_size": (2, 32), "zero_point": True}),
    ("x", "int8", {"axis": 1, "block_size": 2}), ("matrix", "int8", {"axis": 0, "block_size": 3}),
    ("x", "uint4", {"axis": 1, "block_size": 3, "zero_point": True}), ("x", "nvfp4", {"axis": 1}),
    ("x", "mxfp4", {"axis": 1}), ("wide matrix", "mxint8", {"axis": 0}), ("row", "int8", {"block_size": 25}),
    ("odd", "int4", {}), ("odd", "int4", {"axis": 0}), ("odd", "int2", {"axis": 2}), ("odd", "int4", {"block_size": 9}),
    ("odd", "uint2", {"block_size": 9, "zero_point": True}), ("odd matrix", "float6_e2m3fn", {"axis": 0}),
    ("odd", "mxfp6_e3m2", {"packed": True}), ("odd matrix", "nvfp4", {"axis": 0}), ("odd row", "int4", {}),
    ("number", "int2", {}),
]  # fmt: skip
"""Tiles, other axes, and rows that end within a byte."""


@pytest.mark.parametrize(
    ("kind", "array", "to", "options"),
    [*((kind, "x", *one) for one in IN_BOTH for kind in KINDS), *((".safetensors", *one) for one in IN_SAFETENSORS)],
    ids=str,
)
@pytest.mark.parametrize("name", ["w", "layer.weight"])
def test_values_are_read_back(kind: str, array: str, to: str, options: dict[str, Any], name: str) -> None:
    q = lp.quantize(np.asarray(ARRAYS[array]), to, **options)
    expected = np.asarray(q.dequantize())
    save(f"x{kind}", {name: q, "bias": Y[0, 0]})
    with open(f"x{kind}") as checkpoint:
        assert sorted(checkpoint) == sorted([name, "bias"])
        assert np.array_equal(checkpoint.read(name, to="float32"), expected)
        assert np.array_equal(checkpoint.read("bias"), Y[0, 0])
        assert checkpoint.read(name, raw=True).shape == expected.shape
        for rows in [slice(1, 3), slice(3, None), slice(2, 2)] if expected.ndim else []:
            assert np.array_equal(checkpoint.read(name, to="float32", rows=rows), expected[rows])
    third = ["zero_point"] * (q.zero_point is not None) + ["global_scale"] * (q.global_scale is not None)
    stored = sorted(one.name for one in inspect(f"x{kind}") if one.name != "bias")
    assert stored == sorted([name, *(f"{name}_{one}" for one in ("scale", *third))])
    assert not any(one.misread for one in check(f"x{kind}"))
    convert(f"x{kind}", f"y{kind}", to="float32")
    assert np.array_equal(opened(f"y{kind}", name), expected)
    if kind == ".safetensors":
        convert("x.safetensors", "z.safetensors", to="bfloat16", exclude="*", raw=True)  # a copy keeps the notes
        assert np.array_equal(opened("z.safetensors", name, to="float32"), expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_square_matrix(axis: int) -> None:
    q = lp.quantize(np.float32(np.random.default_rng(1).standard_normal((32, 32))), "int8", axis=axis)
    for kind in KINDS[: 2 - axis]:
        save(f"x{kind}", {"w": q})
        assert np.array_equal(opened(f"x{kind}", "w", to="float32"), q.dequantize())
    if axis == 1:
        why = r"^`arrays\['w'\]` must be a quantized array that `open` can read; it has sc"
        with pytest.raises(ValueError, match=why):
            save("x.npz", {"w": q})


EMPTY_AND_ONE = [np.ones(shape, np.float32) for shape in ((), (7,), (1, 8), (8, 1), (0, 4), (3, 0), (2, 3, 4, 8))]


@pytest.mark.parametrize("x", [*EMPTY_AND_ONE, "torch"], ids=lambda x: str(getattr(x, "shape", x)))
def test_shapes_and_tensors_of_torch(x: Any) -> None:
    q = lp.quantize(torch.from_numpy(Y), "mxfp4") if isinstance(x, str) else lp.quantize(x, "int8")
    save("x.npz", {"w": q})
    expected = lp.quantize(Y, "mxfp4").dequantize() if isinstance(x, str) else q.dequantize()
    assert np.array_equal(opened("x.npz", "w", to="float32"), expected)


_NOT, _AT, _OF = "it has scales that a file does not tell", "block_size ", "of shape"
_OTHER = ": name a .safetensors file"


@pytest.mark.parametrize(
    ("name", "q", "message"),
    [
        ("x.npz", lp.quantize(Y, "nvfp4", axis=1), f"{_NOT}, axis 1, {_AT}16 of shape (6, 4, 64){_OTHER}"),
        ("x.safetensors", lp.quantize(Y, "int8", axis=0, block_size=2), f"{_NOT}, axis 0, {_AT}2 {_OF} (6, 4, 64)"),
        ("x.npz", lp.quantize(Y, "int8", axis=0, block_size=2), f"{_NOT}, axis 0, {_AT}2 {_OF} (6, 4, 64)"),
        ("x.npz", lp.quantize(Y[..., :9], "int8", block_size=4), f"{_NOT}, axis 2, {_AT}4 {_OF} (6, 4, 9)"),
        ("x.safetensors", lp.quantize(Y[..., :9], "int8", block_size=4), f"{_NOT}, axis 2, {_AT}4 {_OF} (6, 4, 9)"),
        ("x.npz", lp.quantize(Y[0], "int8", axis=(0, 1), block_size=(2, 32)),
         f"{_NOT}, axis (0, 1), {_AT}(2, 32) of shape (4, 64){_OTHER}"),
        ("x.safetensors", lp.quantize(Y, "int8", axis=(0, 2), block_size=(2, 32)),
         f"{_NOT}, axis (0, 2), {_AT}(2, 32) of shape (6, 4, 64)"),
        ("x.npz", lp.quantize(Y[0, 0], "int8", axis=0), f"{_NOT}, axis 0, {_AT}0 of shape (64,)"),
    ],
    ids=["nvfp4 along axis 1", "blocks along axis 0", "blocks along axis 0, npz", "a width that is not found, npz",
         "a width that is not found", "tiles", "tiles of other axes", "each element"],
)  # fmt: skip
def test_what_would_not_be_read_is_refused(name: str, q: Any, message: str) -> None:
    why = r"^`arrays\['w'\]` must be a quantized array that `open` can read; "
    with pytest.raises(ValueError, match=why) as raised:
        save(name, {"w": q})
    assert str(raised.value).endswith(message)
    assert os.listdir() == []
