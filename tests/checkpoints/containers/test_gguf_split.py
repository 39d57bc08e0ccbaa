"""Split GGUF models, as gguf-py writes them: the first file stands for all; the result is that of the whole model."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gguf")

import numpy as np
from gguf import quants
from support.checkpoint_files import leftovers
from support.command_line import fail, run
from support.gguf_files import Type, entry, number, raw_file, read, text, write

import lowprec as lp
from lowprec.checkpoints import check, convert, inspect
from lowprec.checkpoints.containers.registry import open_container
from lowprec.checkpoints.convert_arguments import describe_job
from lowprec.checkpoints.files.errors import FileError

pytestmark = pytest.mark.usefixtures("working_folder")

RANDOM = np.random.RandomState(3)
FIRST, SECOND, THIRD = (f"x-0000{n}-of-00003.gguf" for n in (1, 2, 3))


def weights(count: int = 7) -> dict[str, Any]:
    """Return weights of layers in turn plain and Q8_0, and a norm between them."""
    tensors: dict[str, Any] = {}
    for i in range(count):
        x = (RANDOM.standard_t(5, (4, 64)) * 0.05).astype(np.float32)
        tensors[f"blk.{i}.ffn_up.weight"] = x if i % 2 else (Type.Q8_0, quants.quantize(x, Type.Q8_0))
    return {"output_norm.weight": np.ones(64, np.float32), **tensors}


MODEL = weights()


def split(**how: Any) -> Path:
    """Write the whole model, and the same in three files; return the first of these."""
    write(Path("whole.gguf"), MODEL, general__file_type=7)
    write(Path("x.gguf"), MODEL, split=how or {"split_max_tensors": 3}, general__file_type=7)
    return Path(FIRST)


OPTIONS: dict[str, dict[str, Any]] = {
    "q4_0.gguf": {"recipe": "q4_0"}, "bf16.gguf": {"recipe": "bf16"}, "bfloat16.safetensors": {"to": "bfloat16"},
    "norms.safetensors": {"to": "float16", "include": "*.ffn_up.*"},
}  # fmt: skip


@pytest.mark.parametrize("target", OPTIONS)
def test_the_result_is_that_of_the_whole_model(target: str) -> None:
    """Byte for byte: keys without those of the split, tensors of all files in their order."""
    options = OPTIONS[target]
    report = convert(split(), target, verify=True, **options)
    convert("whole.gguf", f"whole-{target}", **options)
    assert Path(target).read_bytes() == Path(f"whole-{target}").read_bytes()
    assert "the 3 files of the split model become one" in report.remarks
    assert report.total.bytes_before == sum(one.nbytes for one in inspect("whole.gguf"))
    assert leftovers(Path()) == []


def test_a_first_file_without_tensors() -> None:
    """As gguf-split --no-tensor-first-split writes it."""
    first = split(split_max_tensors=3, small_first_shard=True).with_name("x-00001-of-00004.gguf")
    assert list(inspect(first)) == list(inspect("whole.gguf"))
    convert(first, "a.gguf", recipe="q4_0")
    convert("whole.gguf", "b.gguf", recipe="q4_0")
    assert Path("a.gguf").read_bytes() == Path("b.gguf").read_bytes()


def test_inspect_check_and_open(capsys: pytest.CaptureFixture[str]) -> None:
    first = split()
    assert list(inspect(first)) == list(inspect("whole.gguf"))
    assert list(check(first)) == list(check("whole.gguf"))
    lines = [run("inspect", str(path), capsys=capsys).splitlines()[0] for path in (first, "whole.gguf")]
    assert lines[0] == lines[1].replace("whole.gguf", FIRST).replace("7 layers: ", "7 layers, 3 files: ")
    with lp.checkpoints.open(first) as parts, lp.checkpoints.open("whole.gguf") as whole:
        assert list(parts) == list(whole)
        assert all(parts[name].tobytes() == whole[name].tobytes() for name in whole)


def test_a_later_file_names_the_first_one(capsys: pytest.CaptureFixture[str]) -> None:
    split()
    text = "is part 2 of 3 of a split model; give its first part, x-00001-of-00003.gguf{}, which stands for all, or --part to take it alone"  # noqa: E501
    for command in (["convert", SECOND, "y.gguf", "--recipe", "q4_0"], ["inspect", SECOND], ["check", SECOND]):
        assert fail(*command, capsys=capsys) == f"{SECOND}: {text.format('')}"
    Path(FIRST).unlink()
    with pytest.raises(FileError, match=r"give its first part, x-00001-of-00003.gguf \(missing\), which stands"):
        lp.checkpoints.open(SECOND)


def test_missing_files_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    first = split()
    Path(THIRD).rename("aside")
    for command in (["convert", FIRST, "y.safetensors", "--to", "float16"], ["inspect", FIRST], ["check", FIRST]):
        assert fail(*command, capsys=capsys) == (
            f"{FIRST}: is part 1 of 3 of a split model, and {THIRD} is missing in its folder; --part takes it alone"
        )
    Path(SECOND).unlink()
    with pytest.raises(FileError, match=f"and {SECOND} and {THIRD} are missing in its folder"):
        lp.checkpoints.open(first)
    many = raw_file(Path("y-00001-of-60000.gguf"), [number("split.count", 60000), number("split.no", 0)], [], 0)
    with pytest.raises(FileError, match=r"y-00004-of-60000.gguf and 59996 more are missing in"):
        inspect(many)


def test_a_file_that_is_named_otherwise() -> None:
    os.rename(split(), "model.gguf")
    with pytest.raises(FileError, match="says that it is part 1 of 3 of a split model, and is not named NAME-00001-of"):
        inspect("model.gguf")
    assert len(inspect("model.gguf", part=True)) == 3
    os.rename("model.gguf", "x-00001-of-00002.gguf")
    with pytest.raises(FileError, match=r"is not named NAME-00001-of-00003.gguf"):
        inspect("x-00001-of-00002.gguf")


def test_a_part_is_taken_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Its keys stay: the parts, converted one by one, are the converted model."""
    first = split()
    Path("new").mkdir()
    for n, name in enumerate((FIRST, SECOND, THIRD), 1):
        report = convert(name, f"new/{name}", recipe="q4_0", part=True, verify=True)
        assert report.remarks[-1].startswith(f"part {n} of 3 of a model was taken alone; ")
        old, new = (read(Path(where, name))[0] for where in ("", "new"))
        assert [new[key] for key in ("split.no", "split.count", "split.tensors.count")] == [n - 1, 3, 8]
        assert new.keys() == old.keys() | ({"general.quantization_version"} if n == 1 else set())
    convert(first, "whole-q4_0.gguf", recipe="q4_0")
    made = {**read(Path("new", FIRST))[1], **read(Path("new", SECOND))[1], **read(Path("new", THIRD))[1]}
    assert made == read(Path("whole-q4_0.gguf"))[1]
    assert list(inspect(f"new/{FIRST}")) == list(inspect("whole-q4_0.gguf"))
    assert "2 layers, part 1 of 3: " in run("inspect", FIRST, "--part", capsys=capsys).splitlines()[0]
    Path(THIRD).unlink()
    out = run("check", SECOND, "--part", "--progress", "none", capsys=capsys).splitlines()
    assert out[-2:] == [
        "note: part 2 of 3 of a model: the others are not checked", f"{SECOND}: 0 errors; not all was checked"
    ]  # fmt: skip
    with lp.checkpoints.open(SECOND, part=True) as checkpoint:
        assert list(checkpoint) == [f"blk.{i}.ffn_up.weight" for i in (2, 3, 4)]
    run("convert", FIRST, "y.safetensors", "--to", "float16", "--part", "--progress", "none", capsys=capsys)


def test_a_part_keeps_its_number_of_tensors() -> None:
    """split.tensors.count is that of the model, and in the first file."""
    blocks = np.zeros((2, 36), np.uint8)
    tensors = {
        "a.weight": (Type.NVFP4, blocks),
        "a.scale": np.ones(1, np.float32),
        "n.weight": np.ones((2, 32), np.float32),
    }
    write(Path("x.gguf"), tensors, split={"split_max_tensors": 2})
    with pytest.raises(
        FileError, match=r"y.gguf: part 1 of 2 would have 1 tensors in place of 2, and the split.tensors"
    ):
        convert("x-00001-of-00002.gguf", "y.gguf", recipe="q8_0", part=True)
    report = convert("x-00001-of-00002.gguf", "y.safetensors", to="float32", part=True)
    assert report.remarks[-1] == "factors of NVFP4 tensors that are in other parts are not applied"
    convert("x-00001-of-00002.gguf", "y.gguf", recipe="q8_0")
    assert list(read(Path("y.gguf"))[1]) == ["a.weight", "n.weight"]


def test_factors_in_another_file_are_applied() -> None:
    blocks = RANDOM.randint(0, 127, (2, 36)).astype(np.uint8)
    tensors = {"a.weight": (Type.NVFP4, blocks), "a.scale": np.full(1, 0.25, np.float32)}
    write(Path("x.gguf"), tensors, split={"split_max_tensors": 1})
    with lp.checkpoints.open("x-00001-of-00002.gguf") as checkpoint:
        values = checkpoint.read("a.weight", to="float32")
    assert np.array_equal(values, quants.dequantize(blocks, Type.NVFP4) * np.float32(0.25))


def part(n: int, count: int = 2, tensors: int | None = None, named: str = "w") -> Path:
    """Write a file whose keys say what is asked for, with one tensor."""
    keys = [number("split.count", count), number("split.no", n), number("split.tensors.count", tensors or count)]
    return raw_file(Path(f"x-{n + 1:05}-of-{count:05}.gguf"), keys, [entry(f"{named}{n}.weight", (32, 2))], 256)


def test_files_that_do_not_belong_together() -> None:
    first = part(0)
    shutil.copy(first, "x-00002-of-00002.gguf")
    with pytest.raises(
        FileError, match=r"x-00002-of-00002.gguf: must be part 2 of 2, as its name says; its keys differ"
    ):
        inspect(first)
    os.rename(part(1, 3), "x-00002-of-00002.gguf")
    with pytest.raises(FileError, match="must be part 2 of 2, as its name says; its keys differ"):
        inspect(first)
    part(0, tensors=5)
    part(1)
    with pytest.raises(FileError, match=r"its split.tensors.count is 5; its 2 parts have 2"):
        inspect(first)
    keys = [number("split.count", 2), number("split.no", 1)]
    raw_file(Path("x-00002-of-00002.gguf"), keys, [entry("w0.weight", (32, 2))], 256)
    with pytest.raises(
        FileError, match=r"x-00002-of-00002.gguf: has tensor 'w0.weight', which an earlier part has too"
    ):
        inspect(first)
    Path("x-00002-of-00002.gguf").write_bytes(b"version https://git-lfs")
    with pytest.raises(FileError, match=r"x-00002-of-00002.gguf: must be a readable .gguf file; it does not start"):
        inspect(first)


@pytest.mark.slow
def test_all_headers_count_for_the_memory() -> None:
    """Three headers of 20 MiB each: one alone may be read with 128 MiB, three need 240."""
    for n in range(3):
        large = text(b"k") + struct.pack("<IIQ", 9, 0, 20 << 20) + bytes(20 << 20)
        keys = [number("split.count", 3), number("split.no", n), large]
        raw_file(Path(f"x-0000{n + 1}-of-00003.gguf"), keys, [entry(f"{n}", (8,))], 32)
    assert len(inspect(FIRST, part=True, max_memory="128M")) == 1
    text_ = (
        r"x-00002-.*; its header, with those of the parts before it, has \d+ bytes: `max_memory` must be at least 161M"
    )
    with pytest.raises(FileError, match=text_):
        inspect(FIRST, max_memory="128M")
    assert len(inspect(FIRST, max_memory="256M")) == 3


@pytest.mark.slow
def test_all_tensors_count_for_the_memory() -> None:
    """128 MiB have room for 40,960."""
    for n in range(2):
        keys = [number("split.count", 2), number("split.no", n)]
        raw_file(Path(f"x-0000{n + 1}-of-00002.gguf"), keys, [entry(f"{n}.{i}", (0,)) for i in range(21000)], 0)
    assert len(inspect("x-00001-of-00002.gguf", part=True, max_memory="128M")) == 21000
    with pytest.raises(FileError, match=r"x-00002-.*; it holds more than 40960 tensors"):
        inspect("x-00001-of-00002.gguf", max_memory="128M")


def test_links_lead_where_they_may() -> None:
    """As in folders: inside, in a cache of Hugging Face's, elsewhere when told."""
    split()
    Path("in").mkdir()
    Path("in", FIRST).write_bytes(Path(FIRST).read_bytes())
    for name in (SECOND, THIRD):
        Path("in", name).symlink_to(Path("..", name))
    with pytest.raises(
        FileError, match=r"in/x-00002-of-00003.gguf: is a link to .*, outside of the folder; say `follow"
    ):
        inspect(f"in/{FIRST}")
    assert len(inspect(f"in/{FIRST}", follow_links=True)) == 8
    snapshot = Path("models--a--b/snapshots/0123")
    (snapshot.parents[1] / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for n, name in enumerate((FIRST, SECOND, THIRD)):
        shutil.copy(name, snapshot.parents[1] / "blobs" / f"{n}")
        (snapshot / name).symlink_to(Path("..", "..", "blobs", f"{n}"))
    assert len(inspect(snapshot / FIRST)) == 8


def test_the_sources_are_not_replaced() -> None:
    first = split()
    for name in (FIRST, SECOND, THIRD):
        with pytest.raises(FileError, match="must not be the input itself"):
            convert(first, name, recipe="q4_0", overwrite=True)
    convert(first, "y.gguf", recipe="q4_0")
    with pytest.raises(FileError, match="exists; say `overwrite"):
        convert(first, "y.gguf", recipe="q4_0")
    convert(first, "y.gguf", recipe="bf16", overwrite=True)
    assert read(Path("y.gguf"))[1]["blk.0.ffn_up.weight"][0] == "BF16"


def test_a_conversion_is_resumed_if_all_files_are_the_same() -> None:
    """Every file is one of the sources, a first one without tensors too."""
    first = split(split_max_tensors=3, small_first_shard=True).with_name("x-00001-of-00004.gguf")
    sources = describe_job({}, open_container(first)).sources
    assert {Path(one).name for one in sources} == {f"x-0000{n}-of-00004.gguf" for n in (1, 2, 3, 4)}
    convert(first, "a.gguf", recipe="q4_0", resume=True)
    convert("whole.gguf", "b.gguf", recipe="q4_0", max_memory="99M", threads=1)
    assert Path("a.gguf").read_bytes() == Path("b.gguf").read_bytes()
    assert leftovers(Path()) == []
