"""GGUF files: every type of GGML's, in one file and in split ones."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gguf")

import gguf
import numpy as np
from gguf import quants
from support.checkpoint_files import call_fails, convert_fails, leftovers, opened
from support.command_line import call, fail, run
from support.gguf_files import Type, entry, number, raw_file, read, text, write

import lowprec as lp
from lowprec.checkpoints import check, convert, inspect
from lowprec.checkpoints.containers.registry import open_container
from lowprec.checkpoints.convert_arguments import describe_job
from lowprec.checkpoints.files.errors import FileError

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


def test_inspect_check_and_open() -> None:
    first = split()
    assert list(inspect(first)) == list(inspect("whole.gguf"))
    assert list(check(first)) == list(check("whole.gguf"))
    lines = [run("inspect", str(path)).splitlines()[0] for path in (first, "whole.gguf")]
    assert lines[0] == lines[1].replace("whole.gguf", FIRST).replace("7 layers: ", "7 layers, 3 files: ")
    with lp.checkpoints.open(first) as parts, lp.checkpoints.open("whole.gguf") as whole:
        assert list(parts) == list(whole)
        assert all(parts[name].tobytes() == whole[name].tobytes() for name in whole)


def test_a_later_file_names_the_first_one() -> None:
    split()
    text = "is part 2 of 3 of a split model; give its first part, x-00001-of-00003.gguf{}, which stands for all, or --part to take it alone"  # noqa: E501
    for command in (["convert", SECOND, "y.gguf", "--recipe", "q4_0"], ["inspect", SECOND], ["check", SECOND]):
        assert fail(*command) == f"{SECOND}: {text.format('')}"
    Path(FIRST).unlink()
    call_fails(r"give its first part, x-00001-of-00003.gguf \(missing\), which stands", lp.checkpoints.open, SECOND)


def test_missing_files_are_named() -> None:
    first = split()
    Path(THIRD).rename("aside")
    for command in (["convert", FIRST, "y.safetensors", "--to", "float16"], ["inspect", FIRST], ["check", FIRST]):
        assert fail(*command) == (
            f"{FIRST}: is part 1 of 3 of a split model, and {THIRD} is missing in its folder; --part takes it alone"
        )
    Path(SECOND).unlink()
    call_fails(f"and {SECOND} and {THIRD} are missing in its folder", lp.checkpoints.open, first)
    many = raw_file(Path("y-00001-of-60000.gguf"), [number("split.count", 60000), number("split.no", 0)], [], 0)
    call_fails(r"y-00004-of-60000.gguf and 59996 more are missing in", inspect, many)


def test_a_file_that_is_named_otherwise() -> None:
    os.rename(split(), "model.gguf")
    call_fails("says that it is part 1 of 3 of a split model, and is not named NAME-00001-of", inspect, "model.gguf")
    assert len(inspect("model.gguf", part=True)) == 3
    os.rename("model.gguf", "x-00001-of-00002.gguf")
    call_fails(r"is not named NAME-00001-of-00003.gguf", inspect, "x-00001-of-00002.gguf")


def test_a_part_is_taken_alone() -> None:
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
    assert "2 layers, part 1 of 3: " in run("inspect", FIRST, "--part").splitlines()[0]
    Path(THIRD).unlink()
    out = run("check", SECOND, "--part", "--progress", "none").splitlines()
    assert out[-2:] == [
        "note: part 2 of 3 of a model: the others are not checked", f"{SECOND}: 0 errors; not all was checked"
    ]  # fmt: skip
    with lp.checkpoints.open(SECOND, part=True) as checkpoint:
        assert list(checkpoint) == [f"blk.{i}.ffn_up.weight" for i in (2, 3, 4)]
    run("convert", FIRST, "y.safetensors", "--to", "float16", "--part", "--progress", "none")


def test_a_part_keeps_its_number_of_tensors() -> None:
    """split.tensors.count is that of the model, and in the first file."""
    blocks = np.zeros((2, 36), np.uint8)
    tensors = {
        "a.weight": (Type.NVFP4, blocks),
        "a.scale": np.ones(1, np.float32),
        "n.weight": np.ones((2, 32), np.float32),
    }
    write(Path("x.gguf"), tensors, split={"split_max_tensors": 2})
    why = r"y.gguf: part 1 of 2 would have 1 tensors in place of 2, and the split.tensors"
    convert_fails(why, "x-00001-of-00002.gguf", "y.gguf", recipe="q8_0", part=True)
    report = convert("x-00001-of-00002.gguf", "y.safetensors", to="float32", part=True)
    assert report.remarks[-1] == "factors of NVFP4 tensors that are in other parts are not applied"
    convert("x-00001-of-00002.gguf", "y.gguf", recipe="q8_0")
    assert list(read(Path("y.gguf"))[1]) == ["a.weight", "n.weight"]


def test_factors_in_another_file_are_applied() -> None:
    blocks = RANDOM.randint(0, 127, (2, 36)).astype(np.uint8)
    tensors = {"a.weight": (Type.NVFP4, blocks), "a.scale": np.full(1, 0.25, np.float32)}
    write(Path("x.gguf"), tensors, split={"split_max_tensors": 1})
    values = opened("x-00001-of-00002.gguf", "a.weight", to="float32")
    assert np.array_equal(values, quants.dequantize(blocks, Type.NVFP4) * np.float32(0.25))


def part(n: int, count: int = 2, tensors: int | None = None, named: str = "w") -> Path:
    """Write a file whose keys say what is asked for, with one tensor."""
    keys = [number("split.count", count), number("split.no", n), number("split.tensors.count", tensors or count)]
    return raw_file(Path(f"x-{n + 1:05}-of-{count:05}.gguf"), keys, [entry(f"{named}{n}.weight", (32, 2))], 256)


def test_files_that_do_not_belong_together() -> None:
    first = part(0)
    shutil.copy(first, "x-00002-of-00002.gguf")
    call_fails(r"x-00002-of-00002.gguf: must be part 2 of 2, as its name says; its keys differ", inspect, first)
    os.rename(part(1, 3), "x-00002-of-00002.gguf")
    call_fails("must be part 2 of 2, as its name says; its keys differ", inspect, first)
    part(0, tensors=5)
    part(1)
    call_fails(r"its split.tensors.count is 5; its 2 parts have 2", inspect, first)
    keys = [number("split.count", 2), number("split.no", 1)]
    raw_file(Path("x-00002-of-00002.gguf"), keys, [entry("w0.weight", (32, 2))], 256)
    call_fails(r"x-00002-of-00002.gguf: has tensor 'w0.weight', which an earlier part has too", inspect, first)
    Path("x-00002-of-00002.gguf").write_bytes(b"version https://git-lfs")
    call_fails(r"x-00002-of-00002.gguf: must be a readable .gguf file; it does not start", inspect, first)


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
    call_fails(text_, inspect, FIRST, max_memory="128M")
    assert len(inspect(FIRST, max_memory="256M")) == 3


@pytest.mark.slow
def test_all_tensors_count_for_the_memory() -> None:
    """128 MiB have room for 40,960."""
    for n in range(2):
        keys = [number("split.count", 2), number("split.no", n)]
        raw_file(Path(f"x-0000{n + 1}-of-00002.gguf"), keys, [entry(f"{n}.{i}", (0,)) for i in range(21000)], 0)
    assert len(inspect("x-00001-of-00002.gguf", part=True, max_memory="128M")) == 21000
    call_fails(r"x-00002-.*; it holds more than 40960 tensors", inspect, "x-00001-of-00002.gguf", max_memory="128M")


def test_links_lead_where_they_may() -> None:
    """As in folders: inside, in a cache of Hugging Face's, elsewhere when told."""
    split()
    Path("in").mkdir()
    Path("in", FIRST).write_bytes(Path(FIRST).read_bytes())
    for name in (SECOND, THIRD):
        Path("in", name).symlink_to(Path("..", name))
    call_fails(r"in/x-00002-of-00003.gguf: is a link to .*, outside of the folder; say `follow", inspect, f"in/{FIRST}")
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
        convert_fails("must not be the input itself", first, name, recipe="q4_0", overwrite=True)
    convert(first, "y.gguf", recipe="q4_0")
    convert_fails("exists; say `overwrite", first, "y.gguf", recipe="q4_0")
    convert(first, "y.gguf", recipe="bf16", overwrite=True)
    assert read(Path("y.gguf"))[1]["blk.0.ffn_up.weight"][0] == "BF16"


def test_a_first_file_without_tensors() -> None:
    """As gguf-split --no-tensor-first-split writes it; to be resumed, it is one of the sources too."""
    first = split(split_max_tensors=3, small_first_shard=True).with_name("x-00001-of-00004.gguf")
    assert list(inspect(first)) == list(inspect("whole.gguf"))
    sources = describe_job({}, open_container(first)).sources
    assert {Path(one).name for one in sources} == {f"x-0000{n}-of-00004.gguf" for n in (1, 2, 3, 4)}
    convert(first, "a.gguf", recipe="q4_0", resume=True)
    convert("whole.gguf", "b.gguf", recipe="q4_0", max_memory="99M", threads=1)
    assert Path("a.gguf").read_bytes() == Path("b.gguf").read_bytes()
    assert leftovers(Path()) == []


UNREAD = ("Q8_1", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ3_S", "IQ2_S", "IQ1_M", "TQ1_0", "TQ2_0", "Q1_0")


def blocks(kind: str, rows: int, fill: int = 1) -> tuple[Any, np.ndarray]:
    size, nbytes = gguf.GGML_QUANT_SIZES[Type[kind]]
    return Type[kind], np.full((rows, 256 // size * nbytes), fill, np.uint8)


def model() -> Path:
    """Three layers of IQ3_S, 440 bytes each, one tensor of TQ1_0 (216), one of Q6_K (840), and a norm (1024)."""
    tensors: dict[str, Any] = {f"blk.{i}.ffn_up.weight": blocks("IQ3_S", 4) for i in range(3)}
    tensors |= {"blk.0.ffn_down.weight": blocks("TQ1_0", 4), "output.weight": blocks("Q6_K", 4)}
    return write(Path("x.gguf"), {**tensors, "output_norm.weight": np.ones(256, np.float32)})


def test_the_headline_names_most_of_the_bytes() -> None:
    """No size in bfloat16: IQ3_S has none here. 3 * 440 + 216 + 840 + 1024 bytes are 3400, or 3.32 KiB."""
    lines = run("inspect", str(model())).splitlines()
    assert lines[0] == (
        "x.gguf: GGUF IQ3_S and GGUF Q6_K and GGUF TQ1_0, 3 layers: 3.32 KiB; cannot be dequantized: "
        "no values are known of IQ3_S (3 tensors) and TQ1_0 (1 tensor); a recipe copies them"
    )
    assert lines[2].split() == ["blk.0.ffn_up.weight", "IQ3_S", "440", "4x256"]
    # 4 * 256 * 2 bytes are more than 840: one quantized tensor does not make a file of it
    write(Path("y.gguf"), {"a.weight": np.ones((4, 256), np.float16), "output.weight": blocks("Q6_K", 4)})
    assert run("inspect", "y.gguf").startswith("y.gguf: float16 and GGUF Q6_K: 2.82 KiB; to bfloat16 4 KiB\n")


def test_check_says_what_it_did_not_check() -> None:
    assert run("check", str(model())).splitlines() == [
        "note: GGUF Q6_K: 1 weight",
        "note: IQ3_S (3 tensors), 'blk.0.ffn_up.weight' first: not checked, lowprec has no values for this type",
        "note: TQ1_0 (1 tensor), 'blk.0.ffn_down.weight' first: not checked, lowprec has no values for this type",
        "x.gguf: 0 errors; not all was checked",
    ]


@pytest.mark.parametrize("kind", UNREAD)
def test_every_type_without_values(kind: str) -> None:
    path = write(Path("x.gguf"), {"w.weight": blocks(kind, 9), "n.weight": np.ones((2, 32), np.float32)})
    assert f"x.gguf: GGUF {kind}: " in run("inspect", str(path))
    assert [one.kind for one in check(path)] == ["unchecked"]
    said = fail("convert", "x.gguf", "y.safetensors", "--to", "bfloat16")
    assert said == (
        f"x.gguf: has {kind} (1 tensor), such as 'w.weight', which lowprec can copy but not read; "
        "llama-quantize --allow-requantize makes BF16 of them, recipes for GGUF copy them"
    )
    for options in ({"exclude": "w.weight"}, {"raw": True}, {"include": "n.weight"}, {"dry_run": True}):
        convert_fails("which lowprec can copy but not read", path, "y.safetensors", to="float16", **options)
    with lp.checkpoints.open(path) as checkpoint, pytest.raises(FileError, match=rf"no numbers .* \({kind}\)"):
        checkpoint.read("w.weight")
    convert(path, "y.gguf", recipe="q8_0", verify=True)
    made = read(Path("y.gguf"))[1]
    assert made["w.weight"] == read(path)[1]["w.weight"]
    assert made["n.weight"][0] == "Q8_0"


def test_the_file_type_stays_where_most_elements_are_copied() -> None:
    tensors = {"w.weight": blocks("IQ3_S", 9), "n.weight": np.ones((2, 32), np.float32)}
    convert(write(Path("x.gguf"), tensors, general__file_type=26), "y.gguf", recipe="q8_0")
    assert read(Path("y.gguf"))[0]["general.file_type"] == 26


def unknown(kind: int = 42) -> Path:
    """Two tensors of an unknown type: 96 bytes up to the next one, and 36 up to the end of the file."""
    tensors = [
        entry("a.weight", (64, 4), kind), entry("n.weight", (32, 2), 0, 96), entry("empty", (0,), kind, 352),
        entry("b.weight", (64, 2), kind, 352),
    ]  # fmt: skip
    keys = [text(b"general.architecture") + b"\x08\0\0\0" + text(b"llama"), number("general.file_type", 41)]
    return raw_file(Path("x.gguf"), keys, tensors, 352 + 36)


@pytest.mark.parametrize("kind", [42, 99, 4, 2**32 - 1])
def test_an_unknown_type_is_listed(kind: int) -> None:
    """With the bytes up to the next tensor, for its own are not known."""
    path, name = unknown(kind), f"unknown type {kind}"
    listed = [(one.name, one.format, one.shape, one.nbytes) for one in inspect(path, stats=True)]
    assert listed == [
        ("a.weight", name, (4, 64), 96), ("n.weight", "float32", (2, 32), 256), ("empty", name, (0,), 0),
        ("b.weight", name, (2, 64), 36),
    ]  # fmt: skip
    first = run("inspect", str(path)).splitlines()[0]
    assert first == (
        f"x.gguf: float32 and GGUF {name}: 388 B; cannot be dequantized: no values are known of {name} (3 tensors)"
    )
    assert json.loads(run("inspect", str(path), "--json"))[0]["format"] == name


def test_an_unknown_type_is_not_converted() -> None:
    unknown()
    for options in (["--recipe", "q8_0"], ["--to", "bfloat16"], ["--to", "bfloat16", "--exclude", "[ab].weight"]):
        target = "y.gguf" if "--recipe" in options else "y.safetensors"
        assert fail("convert", "x.gguf", target, *options) == (
            "x.gguf: has unknown type 42 (3 tensors), such as 'a.weight', which lowprec can neither read nor copy; "
            "a llama-quantize that knows them makes BF16 of them with --allow-requantize"
        )
    with lp.checkpoints.open("x.gguf") as checkpoint:
        assert checkpoint["n.weight"].shape == (2, 32)
        call_fails(r"'a.weight': holds no numbers that can be read \(unknown type 42\)", checkpoint.read, "a.weight")


def test_an_unknown_type_is_an_error_of_check() -> None:
    """Engines that do not know it refuse the file, as gguf-py 0.19.0 does."""
    path = unknown()
    with pytest.raises(ValueError, match=r"42\)? is not a valid GGMLQuantizationType"):
        gguf.GGUFReader(path)
    status, out, _ = call("check", str(path))
    why = "unknown type 42 (3 tensors), 'a.weight' first: not checked, engines that do not know it refuse the file"
    assert (status, out) == (1, f"error: {why}\nx.gguf: 1 error; not all was checked\n")
