"""`.npz` archives: each worker reads the directory once; a broken member is a one-line error in any compression."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import values
from support.command_line import fail, run

from lowprec.checkpoints import convert, inspect, read_array
from lowprec.checkpoints.containers.array_files import read_members
from lowprec.checkpoints.files.errors import FileError

X = values((40, 50), 7)
METHODS = {
    "deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "LZMA": zipfile.ZIP_LZMA, "stored": zipfile.ZIP_STORED,
}  # fmt: skip


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that grows by one whenever an archive's directory is read."""
    found: list[object] = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            found.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_a_worker_reads_the_directory_once(threads: int, tmp_path: Path, opened: list[object]) -> None:
    arrays = {f"t{index}": np.full(3, index, np.float32) for index in range(60)}
    np.savez(tmp_path / "x.npz", **arrays)
    opened.clear()
    convert(tmp_path / "x.npz", tmp_path / "y.npz", to="int16", raw=True, threads=threads, verify=True)
    assert 2 <= sum(one[1:] != ("w",) for one in opened) <= 1 + threads
    opened.clear()
    assert [one.low for one in inspect(tmp_path / "x.npz", stats=True)] == list(range(60))
    assert len(opened) == 2
    with np.load(tmp_path / "y.npz") as y:
        assert {name: y[name].tolist() for name in y.files} == {f"t{index}": [index] * 3 for index in range(60)}


def broken(path: Path, method: int) -> Path:
    """Write an archive whose second member's packed bytes are damaged in their middle."""
    np.savez(path, good=np.arange(3, dtype=np.float32))
    np.save(path.with_suffix(".npy"), X)
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.write(path.with_suffix(".npy"), "bad.npy")
        info = archive.getinfo("bad.npy")
    path.with_suffix(".npy").unlink()
    content = bytearray(path.read_bytes())
    middle = info.header_offset + 30 + len("bad.npy") + info.compress_size // 2
    content[middle : middle + 40] = b"\xff" * 40
    path.write_bytes(content)
    return path


@pytest.mark.usefixtures("working_folder")
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


def test_the_reason_for_a_broken_member_is_cut(tmp_path: Path) -> None:
    """A name may have 65,535 bytes: 160 characters of the reason are shown, 24 of which come before the name."""
    name = "a" * 300
    np.savez(tmp_path / "x.npz", **{name: X})
    content = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(content.replace(name.encode(), b"b" + name[1:].encode(), 1))
    [(found, array, why)] = read_members(tmp_path / "x.npz")
    assert (found, array) == (name, None)
    assert why == "File name in directory '" + "a" * 136


def by_lzma(at: int, content: bytes) -> None:
    """Write an archive, with other bytes at a place after the name in the header of its member."""
    np.save("w.npy", X)
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.write("w.npy", "w.npy")
    changed = bytearray(Path("x.npz").read_bytes())
    place = 30 + len("w.npy") + at
    changed[place : place + len(content)] = content
    Path("x.npz").write_bytes(changed)


@pytest.mark.usefixtures("working_folder")
@pytest.mark.parametrize(("nbytes", "accepted"), [(1 << 26, True), ((1 << 26) + 1, False), (0xFFFFFFFF, False)])
def test_an_lzma_dictionary_beyond_the_memory(nbytes: int, accepted: bool) -> None:
    """A few bytes of a file may ask for 4 GiB."""
    by_lzma(5, nbytes.to_bytes(4, "little"))
    if accepted:
        run("inspect", "x.npz")
        assert read_array("x.npz")[0].tobytes() == X.tobytes()
        return
    error = f"member 'w.npy' asks for an LZMA dictionary of {nbytes} bytes, more than 67108864"
    assert fail("inspect", "x.npz") == f"x.npz: must be a readable .npz archive; {error}"
    with pytest.raises(FileError, match=f"x.npz: its array 'w' cannot be read; {error}$"):
        read_array("x.npz")


@pytest.mark.usefixtures("working_folder")
def test_a_broken_lzma_header() -> None:
    """What describes the packing, before the packed bytes, is read with the .npy header."""
    by_lzma(4, b"\xff")  # lc, lp and pb, which must be below 225 together
    for command in ("inspect x.npz", "convert x.npz y.npz --to float16"):
        assert fail(*command.split()).startswith("x.npz: must be a readable .npz archive; ")


def test_a_member_that_is_not_named_as_an_array(tmp_path: Path) -> None:
    """NumPy's `load` takes members by the ending .npy; another one is copied, whatever it holds."""
    np.savez(tmp_path / "x.npz", w=np.ones(3, np.float32))
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("notes", archive.read("w.npy"))
    assert {one.name: one.format for one in inspect(tmp_path / "x.npz")} == {"w": "float32", "notes": "bytes"}
    convert(tmp_path / "x.npz", tmp_path / "y.npz", to="bfloat16", raw=True)
    with zipfile.ZipFile(tmp_path / "x.npz") as before, zipfile.ZipFile(tmp_path / "y.npz") as after:
        assert after.read("notes") == before.read("notes")
