"""Converting .npy and .npz files: NumPy reads the result, which names formats that it lacks; broken archives."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.bits import bits_of
from support.checkpoint_files import call_fails, convert_fails, values
from support.command_line import fail, run

import lowprec as lp
from lowprec.checkpoints import convert, inspect, read_array
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC, Format

X = values((6, 10))


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_npy_there_and_back(fmt: Format) -> None:
    np.save("x.npy", X)
    own = hasattr(np, fmt.name)
    path = Path("y.npy" if own else "y.npz")
    if not own and fmt in ONNX_NUMERIC:
        convert_fails(rf"y\.npy: NumPy has no {fmt.name}; name an \.npz file", "x.npy", "y.npy", to=fmt, raw=True)
    convert("x.npy", path, to=fmt, raw=True, verify=True)
    codes = lp.encode(X, fmt)
    loaded = np.load(path) if own else np.load(path)["x"]
    assert bits_of(loaded).tolist() == codes.tolist()
    assert loaded.dtype == (fmt.dtype if own else fmt.code_dtype)
    array, found = read_array(path)
    assert found is fmt
    assert bits_of(array).tolist() == codes.tolist()
    convert(path, f"z{path.suffix}", to="float32")
    back = lp.decode(codes, fmt) if fmt.is_float else codes  # integers are kept
    assert bits_of(read_array(f"z{path.suffix}")[0]).tolist() == bits_of(back).tolist()


def test_npy_keeps_codes_that_its_header_names_alone() -> None:
    """`exclude` copies the array: its bytes may go to an .npy file only if they say what they are."""
    np.save("x.npy", X.astype(ml_dtypes.bfloat16))
    convert("x.npy", "y.npy", to="float16", exclude="*")
    assert Path("y.npy").read_bytes() == Path("x.npy").read_bytes()
    np.save("v.npy", X.astype(ml_dtypes.float8_e4m3fn))
    why = r"w\.npy: NumPy has no float8_e4m3fn; name an \.npz file"
    convert_fails(why, "v.npy", "w.npy", to="float16", exclude="*", source="float8_e4m3fn")
    convert("v.npy", "w.npz", to="float16", exclude="*", source="float8_e4m3fn")
    codes, fmt = read_array("w.npz")
    assert fmt is lp.formats["float8_e4m3fn"]
    assert codes.tobytes() == X.astype(ml_dtypes.float8_e4m3fn).tobytes()


def test_npy_has_no_room_for_scales() -> None:
    np.save("x.npy", X)
    why = r"an \.npy file holds one array, and scales are another; name an \.npz file"
    convert_fails(why, "x.npy", "y.npy", to="int8", scale="tensor")
    convert("x.npy", "y.npz", to="int8", scale="tensor")
    with np.load("y.npz") as y:
        assert {name: (y[name].dtype.name, y[name].shape) for name in y.files} == {
            "x": ("int8", (6, 10)), "x_scale": ("float32", ()),
        }  # fmt: skip


def archive(path: Path, *, compressed: bool = False) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "f": X, "t": np.asfortranarray(X.astype(np.float64)), "big": X.astype(">f4"), "i": np.arange(5),
        "s": np.array(["text"]), "e": X[:0], "z": np.float32(1.5), "e5m2": X.astype(ml_dtypes.float8_e5m2),
        "ü": values((3,)), "open": X.astype(ml_dtypes.float8_e4m3fn),
    }  # fmt: skip
    (np.savez_compressed if compressed else np.savez)(path, **arrays)
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr("readme.txt", "hello")
    return arrays


CONVERTED = ["f", "t", "big", "e", "z", "e5m2", "ü"]


@pytest.mark.parametrize("compressed", [False, True], ids=["stored", "compressed"])
@pytest.mark.parametrize("fmt", ["float16", "int8", "bfloat16", "float8_e4m3fn", "int4", "float64"])
def test_npz(fmt: str, compressed: bool) -> None:
    arrays = archive(Path("x.npz"), compressed=compressed)
    report = convert("x.npz", "y.npz", to=fmt, raw=True, verify=True)
    why = {one.name: one.why for one in report.tensors if one.action == "kept"}
    assert why["i"] == "no floats"
    assert why["s.npy"] == "its elements must be bools, integers or real floats; got '<U4'"
    assert why["open.npy"] == "its header does not name the format of its uint8 codes; say it with `source`"
    assert why["readme.txt"] == "it does not start as one"
    with zipfile.ZipFile("y.npz") as opened, zipfile.ZipFile("x.npz") as before:
        assert opened.testzip() is None
        assert opened.namelist() == before.namelist()
        for name in ("i.npy", "s.npy", "open.npy", "readme.txt"):
            assert opened.read(name) == before.read(name)
    row = lp.as_format(fmt)
    with np.load("y.npz") as loaded:
        for name in CONVERTED:
            assert bits_of(loaded[name]).tolist() == lp.encode(np.asarray(arrays[name]), fmt).tolist()
            assert loaded[name].dtype == (row.dtype if hasattr(np, fmt) else row.code_dtype)
        assert loaded["t"].flags.f_contiguous
    found = {one.name: one.format for one in inspect("y.npz")}
    assert {found[name] for name in CONVERTED} == {fmt}
    convert("y.npz", "z.npz", to="float32", include=["f", "t"])
    if row.is_float:
        with np.load("z.npz") as loaded:
            for name in ("f", "t"):
                back = lp.cast(lp.cast(arrays[name], fmt), "float32")
                assert bits_of(loaded[name]).tolist() == bits_of(back).tolist()


def test_npz_with_the_format_of_open_codes() -> None:
    arrays = archive(Path("x.npz"))
    convert("x.npz", "y.npz", to="float32", source="float8_e4m3fn")
    with np.load("y.npz") as loaded:
        assert bits_of(loaded["open"]).tolist() == bits_of(lp.cast(arrays["open"], "float32")).tolist()


MEMBER = values((40, 50), 7)
METHODS = {
    "deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "LZMA": zipfile.ZIP_LZMA, "stored": zipfile.ZIP_STORED,
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
def test_a_worker_reads_the_directory_once(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[Any, ...]] = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            opened.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    arrays = {f"t{index}": np.full(3, index, np.float32) for index in range(60)}
    np.savez("x.npz", **arrays)
    opened.clear()
    convert("x.npz", "y.npz", to="int16", raw=True, threads=threads, verify=True)
    assert 2 <= sum(one[1:] != ("w",) for one in opened) <= 1 + threads
    opened.clear()
    assert [one.low for one in inspect("x.npz", stats=True)] == list(range(60))
    assert len(opened) == 2
    with np.load("y.npz") as y:
        assert {name: y[name].tolist() for name in y.files} == {f"t{index}": [index] * 3 for index in range(60)}


def broken(path: Path, method: int) -> Path:
    """Write an archive whose second member's packed bytes are damaged in their middle."""
    np.savez(path, good=np.arange(3, dtype=np.float32))
    np.save(path.with_suffix(".npy"), MEMBER)
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.write(path.with_suffix(".npy"), "bad.npy")
        info = archive.getinfo("bad.npy")
    path.with_suffix(".npy").unlink()
    content = bytearray(path.read_bytes())
    middle = info.header_offset + 30 + len("bad.npy") + info.compress_size // 2
    content[middle : middle + 40] = b"\xff" * 40
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("method", METHODS)
def test_a_broken_member(method: str) -> None:
    """`loss` leaves it out."""
    broken(Path("x.npz"), METHODS[method])
    for command in ("convert x.npz y.npz --to float8_e4m3fn --progress none", "inspect x.npz --stats"):
        why = fail(*command.split())
        assert why.startswith(("x.npz: cannot be read; ", "x.npz: must be a readable .npz archive; "))
        assert method != "stored" or "Bad CRC-32 for file 'bad.npy'" in why
    out = run("loss", "x.npz", "--to", "int8")
    assert "x.npz:good: float32 (3,), 12 bytes" in out
    assert out.splitlines()[-1].startswith("x.npz:bad: left out; ")


@pytest.mark.parametrize(("nbytes", "accepted"), [(1 << 26, True), ((1 << 26) + 1, False), (0xFFFFFFFF, False)])
def test_an_lzma_dictionary_beyond_the_memory(nbytes: int, accepted: bool) -> None:
    """A few bytes of a file may ask for 4 GiB."""
    np.save("w.npy", MEMBER)
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.write("w.npy", "w.npy")
    changed = bytearray(Path("x.npz").read_bytes())
    place = 30 + len("w.npy") + 5  # in what LZMA says of itself, after the name in the header
    changed[place : place + 4] = nbytes.to_bytes(4, "little")
    Path("x.npz").write_bytes(changed)
    if accepted:
        run("inspect", "x.npz")
        assert read_array("x.npz")[0].tobytes() == MEMBER.tobytes()
        return
    error = f"member 'w.npy' asks for an LZMA dictionary of {nbytes} bytes, more than 67108864"
    assert fail("inspect", "x.npz") == f"x.npz: must be a readable .npz archive; {error}"
    call_fails(f"x.npz: its array 'w' cannot be read; {error}$", read_array, "x.npz")


def test_a_member_that_is_not_named_as_an_array() -> None:
    """NumPy's `load` takes members by the ending .npy; another one is copied, whatever it holds."""
    np.savez("x.npz", w=np.ones(3, np.float32))
    with zipfile.ZipFile("x.npz", "a") as archive:
        archive.writestr("notes", archive.read("w.npy"))
    assert {one.name: one.format for one in inspect("x.npz")} == {"w": "float32", "notes": "bytes"}
    convert("x.npz", "y.npz", to="bfloat16", raw=True)
    with zipfile.ZipFile("x.npz") as before, zipfile.ZipFile("y.npz") as after:
        assert after.read("notes") == before.read("notes")
