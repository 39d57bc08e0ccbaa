"""Reading and writing .npy files: files of NumPy, broken files, round trips, sidecars, targets, old names."""

from __future__ import annotations

import json
import os
import stat
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import Array, call_fails, raising, traced
from support.paths import table

import lowprec as lp
import lowprec.checkpoints
from lowprec.checkpoints import read_array as read
from lowprec.checkpoints import write_array as write
from lowprec.checkpoints.containers.array_files import is_archive
from lowprec.checkpoints.containers.array_files import read_members as members
from lowprec.checkpoints.containers.npy_file import sidecar
from lowprec.checkpoints.containers.target_path import check_array_target
from lowprec.checkpoints.files.errors import FileError
from lowprec.spec.custom_formats import description_of
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC, Format

F32 = np.array([[0.0, -0.0, 1.5], [np.nan, -np.inf, 3e38]], np.float32)
BY_NAME = {"ids": lambda fmt: fmt.name}
INT4, UINT8 = lp.formats["int4"], lp.formats["uint8"]


def codes_of(fmt: Format, shape: tuple[int, ...] = (2, 3)) -> Array:
    codes = np.arange(int(np.prod(shape))) * 37 % (2 if fmt.name == "bool" else 1 << min(fmt.bits, 8))
    return codes.astype(fmt.code_dtype).reshape(shape)


@pytest.mark.parametrize(
    "x",
    [F32, np.asfortranarray(F32), F32.astype(">f4"), F32[::-1, ::2], np.float64(2.5).reshape(()),
     np.zeros((0, 3), "i2"), np.array([True, False]),
     np.array([2**63, 1], "<u8"), np.array([-5, 7], ">i2"), np.arange(4, dtype=np.int8)],
    ids=["float32", "Fortran", "big-endian", "strided", "0-d", "empty", "bool", "uint64", "big-int16", "int8"],
)  # fmt: skip
def test_reads_what_numpy_writes(x: Array) -> None:
    np.save("x.npy", x)
    array, fmt = read("x.npy")
    assert fmt.name == x.dtype.name
    assert array.shape == x.shape
    assert np.array_equal(array, x, equal_nan=x.dtype.kind == "f")
    assert array.dtype == x.dtype
    assert not array.flags.writeable or not array.size  # mapped, read only


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_reads_every_version_of_the_header(version: tuple[int, int]) -> None:
    with Path("x.npy").open("wb") as stream:
        np.lib.format.write_array(stream, F32, version=version)
    array, fmt = read("x.npy")
    assert (fmt.name, array.shape, array.tobytes()) == ("float32", F32.shape, F32.tobytes())


def raw(path: Path, header: str, elements: bytes = b"", version: bytes = b"\x01\x00") -> Path:
    text = header.encode("latin-1")
    path.write_bytes(b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + elements)
    return path


def test_reads_the_long_integers_of_python_2() -> None:
    path = raw(Path("x.npy"), "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 1L)}\n", bytes([1, 0, 2, 0]))
    assert read(path)[0].tolist() == [[1], [2]]


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if hasattr(ml_dtypes, fmt.name)], **BY_NAME)
@pytest.mark.parametrize("order", ["C", "F"])
def test_reads_what_numpy_makes_of_ml_dtypes(fmt: Format, order: Any) -> None:
    x = np.array(codes_of(fmt).view(fmt.dtype), order=order)
    np.save("x.npy", x)
    array, found = read("x.npy", fmt)
    assert found is fmt
    assert array.shape == x.shape
    assert np.array_equal(array.view(fmt.code_dtype), codes_of(fmt))
    if fmt.name in ("bfloat16", "float8_e5m2"):  # the only formats behind <V2 and <f1
        array, found = read("x.npy")
        assert found is fmt
        assert np.array_equal(array.view(fmt.code_dtype), codes_of(fmt))
    else:
        call_fails(r"x\.npy: its header does not name the format of its uint8 codes; .*`source`", read, "x.npy")


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n"
BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    **{name: (partial(raw, header=header, elements=bytes(size)), why)
       for name, (header, size, why) in table(__file__)["broken"].items()},
    "missing": (lambda p: None, "No such file"),
    "directory": (lambda p: p.mkdir(), "not a regular file"),
    "pipe": (lambda p: os.mkfifo(p), "not a regular file"),
    "loop": (lambda p: p.symlink_to(p.name), "symbolic links"),
    "empty": (lambda p: p.write_bytes(b""), "does not start as one"),
    "text": (lambda p: p.write_text("1 2 3\n"), "does not start as one"),
    "pickle": (lambda p: p.write_bytes(b"\x80\x04]q\x00."), "does not start as one"),
    "version": (lambda p: raw(p, GOOD, bytes(8), b"\x09\x00"), "does not start as one"),
    "archive": (lambda p: p.write_bytes(b"PK\x03\x04more"), "must be a readable .npz archive"),
    "header cut": (lambda p: p.write_bytes(b"\x93NUMPY\x01\x00\x76\x00{'descr'"), "ends within its header"),
    "long header": (lambda p: raw(p, " " * 20_000), "20000 bytes, more than"),
    "long header, version 2": (lambda p: p.write_bytes(b"\x93NUMPY\x02\x00" + b"\xff" * 4), "4294967295 bytes"),
    "deep": (lambda p: raw(p, "(" * 5000), "not that of an array"),
    "deeper": (lambda p: raw(p, "-" * 9000 + "1"), "not that of an array"),
    "199 deep": (lambda p: raw(p, "[-" * 199 + "1" + "]" * 199), "not that of an array"),  # of which Python runs short
    "digits": (lambda p: raw(p, "9" * 9000), "not that of an array"),
    "object": (lambda p: np.save(p, np.array([None])), r"bools, integers or real floats; got '\|O'"),
    "structured": (lambda p: np.save(p, np.zeros(2, "f4,i4")), r"real floats; got \[\('f0', '<f4'\)"),
    "complex": (lambda p: np.save(p, np.zeros(2, "c8")), "real floats; got '<c8'"),
    "string": (lambda p: np.save(p, np.array(["ab"])), "real floats; got '<U2'"),
    "bytes": (lambda p: np.save(p, np.array([b"ab"])), r"real floats; got '\|S2'"),
    "date": (lambda p: np.save(p, np.zeros(2, "M8[s]")), r"real floats; got '<M8\[s\]'"),
    "longdouble": (lambda p: np.save(p, np.zeros(2, np.longdouble)), "real floats; got"),
    "void": (lambda p: np.save(p, np.zeros(2, "V4")), r"real floats; got '\|V4'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_get_one_line(name: str) -> None:
    path = Path("x.npy")
    build, why = BROKEN[name]
    build(path)
    with pytest.raises(FileError, match=why) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert len(text.splitlines()) == 1
    assert len(text) < len(str(path)) + 120


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2), (5,)])
def test_round_trip(fmt: Format, shape: tuple[int, ...]) -> None:
    own = hasattr(np, fmt.name)
    codes = np.array(codes_of(fmt, shape), order="F")
    for path in (Path("x.npz"), Path("x.npy"))[: 1 + own]:
        write(path, codes.view(fmt.dtype) if own else codes, fmt)
        loaded = np.load(path)
        loaded = loaded["x"] if path.suffix == ".npz" else loaded
        assert loaded.dtype == (fmt.dtype if own else fmt.code_dtype)
        assert loaded.shape == shape
        assert loaded.tobytes() == codes.tobytes()
        array, found = read(path)
        assert found is fmt
        assert array.tobytes() == codes.tobytes()
    assert sorted(os.listdir()) == ["x.npy", "x.npz"][1 - own :]
    with zipfile.ZipFile("x.npz") as archive:
        assert archive.testzip() is None
        (info,) = archive.infolist()
        named = fmt.name if fmt in ONNX_NUMERIC else json.dumps(description_of(fmt), separators=(",", ":"))
        assert info.comment == (b"" if own else f"format={named}".encode())
        assert info.compress_type == zipfile.ZIP_STORED


def test_npy_has_no_name_for_other_formats() -> None:
    with pytest.raises(FileError, match=r"x\.npy: NumPy has no int4; name an \.npz file, which holds its codes"):
        write("x.npy", codes_of(INT4), INT4)
    sidecar(Path("x.npy")).write_text('{"format": "int4"}')
    with pytest.raises(FileError, match=r"x\.npy\.json: names the format of codes that x\.npy will not hold; move it"):
        write("x.npy", codes_of(UINT8), UINT8)
    assert os.listdir() == ["x.npy.json"]


def test_permissions() -> None:
    Path("plain").write_bytes(b"")
    for path in (Path("x.npy"), Path("x.npz")):
        write(path, codes_of(UINT8), UINT8)
        assert path.stat().st_mode == Path("plain").stat().st_mode
        path.chmod(0o640)
        write(path, codes_of(UINT8), UINT8)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("fmt", [UINT8, INT4], **BY_NAME)
def test_a_failed_write_leaves_the_old_file(fmt: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("x.npy" if fmt is UINT8 else "x.npz")
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", raising(OSError(28, "No space left on device")))
    call_fails("No space left on device", write, path, codes_of(fmt), fmt, overwrite=True)
    assert (os.listdir(), path.read_bytes()) == ([path.name], b"old")


def test_archives_of_one_array() -> None:
    np.savez("two.npz", a=F32, b=F32)
    call_fails(r"two\.npz: must hold one array; it holds more", read, "two.npz")
    np.savez("text.npz", a=np.array(["x"]))
    call_fails(r"text\.npz: its array 'a' cannot be read; its elements must be bools", read, "text.npz")


def test_a_sidecar_written_by_hand_is_believed() -> None:
    np.save("x.npy", codes_of(INT4).view(ml_dtypes.int4))
    sidecar(Path("x.npy")).write_text('{"format": "INT4"}')
    with pytest.warns(FutureWarning, match=r"x\.npy\.json: read, but no longer written; \.npz files name the formats"):
        array, fmt = read("x.npy")
    assert fmt is INT4
    assert np.array_equal(array, codes_of(INT4))
    Path("blob").write_bytes(sidecar(Path("x.npy")).read_bytes())  # as caches of downloads lie
    Path("link.npy").symlink_to("x.npy")
    sidecar(Path("link.npy")).symlink_to("blob")
    with pytest.warns(FutureWarning, match=r"link\.npy\.json: read"):
        assert read("link.npy")[1] is INT4


def test_a_sidecar_of_other_data_is_not() -> None:
    path = Path("x.npy")
    np.save(path, codes_of(INT4))
    checksum = f"{zlib.crc32(path.read_bytes()):08x}"
    sidecar(path).write_text(json.dumps({"format": "int4", "onnx": "INT4", "crc32": checksum}))
    with pytest.warns(FutureWarning, match="read, but no longer written"):
        assert read(path)[1] is INT4
    np.save(path, codes_of(INT4)[::-1])
    call_fails(r"x\.npy\.json: was written for other data than x\.npy holds", read, path)
    assert read(path, UINT8)[1] is UINT8


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "3", '"int4"', "{}", '{"format": null}', '{"format": true}', '{"format": ["int4"]}',
     '{"format": "fp4"}', '{"format": "string"}', '{"format": "complex64"}', "[" * 100_000, b"\xff\xfe"],
    ids=str,
)  # fmt: skip
def test_broken_sidecars(text: str | bytes) -> None:
    path = Path("x.npy")
    np.save(path, codes_of(INT4))
    sidecar(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=r"x\.npy\.json: must be JSON whose `format` is a number format") as caught:
        read(path)
    assert len(str(caught.value).splitlines()) == 1
    assert read(path, INT4)[1] is INT4


@pytest.mark.parametrize("lie", ["int16", "float32", "bfloat16", "bool"])
def test_sidecars_and_sources_that_do_not_fit(lie: str) -> None:
    path = Path("x.npy")
    np.save(path, np.zeros(3, np.float16) if lie == "bool" else codes_of(INT4))
    sidecar(path).write_text(json.dumps({"format": lie}))
    with (
        pytest.raises(FileError, match=rf"x\.npy` must hold codes of `.*x\.npy\.json` {lie} in .*; got dtype"),
        pytest.warns(FutureWarning, match="read, but no longer written"),
    ):
        read(path)
    call_fails(rf"x\.npy` must hold codes of `source` {lie} in .*; got dtype", read, path, lp.formats[lie])


def test_members() -> None:
    path = Path("x.npz")
    e4m3, e5m2 = (F32.astype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e5m2"))
    np.savez_compressed(path, f=F32, t=np.asfortranarray(F32), a=e4m3, b=e5m2, s=np.array(["x"]), u=np.uint8(3))
    assert is_archive(path)
    found = {name: (array, what) for name, array, what in members(path, lp.formats["float8_e4m3fn"])}
    assert list(found) == ["f", "t", "a", "b", "s", "u"]
    formats = {name: what.name for name, (_, what) in found.items() if isinstance(what, Format)}
    assert formats == {"f": "float32", "t": "float32", "a": "float8_e4m3fn", "b": "float8_e5m2", "u": "uint8"}
    for name, x in {"f": F32, "t": F32, "a": e4m3, "b": e5m2, "u": np.array(3, np.uint8)}.items():
        array = found[name][0]
        assert array is not None
        assert array.shape == x.shape
        assert array.tobytes() == x.tobytes()
    assert found["s"] == (None, "its elements must be bools, integers or real floats; got '<U1'")
    unnamed = {name: what for name, _, what in members(path)}["a"]
    assert unnamed == "its header does not name the format of its uint8 codes; say it with `source`"


def test_members_that_are_no_arrays() -> None:
    odd = Path("odd.npz")
    with zipfile.ZipFile(odd, "w") as archive:
        archive.writestr("readme.txt", "hello")
        archive.writestr("short.npy", raw(Path("r.npy"), GOOD, bytes(3)).read_bytes())
    assert [(name, array, why) for name, array, why in members(odd)] == [
        ("readme.txt", None, "it does not start as one"),
        ("short", None, "its header asks for 8 bytes of elements, it has 3"),
    ]


def test_a_member_is_not_unpacked_further_than_its_header_asks() -> None:
    bomb = Path("bomb.npz")
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", raw(Path("r.npy"), GOOD, bytes(1 << 24)).read_bytes())
    found, peak = traced(lambda: list(members(bomb)))
    assert "asks for 8 bytes of elements, it has 16777216" in str(found)
    assert peak < 1 << 20


@pytest.mark.parametrize("build", [lambda p: None, lambda p: p.mkdir(), os.mkfifo, lambda p: p.write_bytes(b"PK")])
def test_is_archive_of_what_is_none(build: Callable[[Path], object]) -> None:
    build(Path("x"))
    assert not is_archive(Path("x"))
    assert is_archive(Path("x" * 300)) is False  # longer than names may be


def test_a_sidecar_is_found_before_anything_is_cast() -> None:
    source, target = Path("in.npy"), Path("out.npy")
    np.save(source, F32)
    check_array_target(source, target, UINT8, overwrite=False)
    sidecar(target).write_text('{"mine": 1}')
    call_fails(r"out\.npy\.json: .* move it away", check_array_target, source, target, UINT8, overwrite=True)


def test_the_old_module_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"lowprec\.checkpoints\.npy is read_array and write_array") as old:
        npy = lowprec.checkpoints.npy
    assert (npy.read, npy.write) == (read, write)  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match=r"lowprec\.npy is read_array and write_array") as older:
        assert lp.npy is npy
    assert [one.filename for one in (*old, *older)] == [__file__] * 2  # the line that must be changed
    with pytest.raises(AttributeError, match="has no attribute 'npz'"):
        lowprec.checkpoints.npz  # noqa: B018
