"""GGUF types without values here, and numbers of types that are unknown: listed, copied or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gguf")

import gguf
import numpy as np
from support.command_line import fail, run
from support.gguf_files import Type, entry, number, raw_file, read, text, write

import lowprec as lp
from lowprec.checkpoints import check, convert, inspect
from lowprec.checkpoints.files.errors import FileError
from lowprec.cli import main

pytestmark = pytest.mark.usefixtures("working_folder")

UNREAD = ("Q8_1", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ3_S", "IQ2_S", "IQ1_M", "TQ1_0", "TQ2_0", "Q1_0")


def blocks(kind: str, rows: int, fill: int = 1) -> tuple[Any, np.ndarray]:
    """Return rows of 256 elements."""
    size, nbytes = gguf.GGML_QUANT_SIZES[Type[kind]]
    return Type[kind], np.full((rows, 256 // size * nbytes), fill, np.uint8)


def model() -> Path:
    """Three layers of IQ3_S, 440 bytes each, one tensor of TQ1_0 (216), one of Q6_K (840), and a norm (1024)."""
    tensors: dict[str, Any] = {f"blk.{i}.ffn_up.weight": blocks("IQ3_S", 4) for i in range(3)}
    tensors |= {"blk.0.ffn_down.weight": blocks("TQ1_0", 4), "output.weight": blocks("Q6_K", 4)}
    return write(Path("x.gguf"), {**tensors, "output_norm.weight": np.ones(256, np.float32)})


def test_the_headline_names_most_of_the_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """No size in bfloat16: IQ3_S has none here. 3 * 440 + 216 + 840 + 1024 bytes are 3400, or 3.32 KiB."""
    lines = run("inspect", str(model()), capsys=capsys).splitlines()
    assert lines[0] == (
        "x.gguf: GGUF IQ3_S and GGUF Q6_K and GGUF TQ1_0, 3 layers: 3.32 KiB; cannot be dequantized: "
        "no values are known of IQ3_S (3 tensors) and TQ1_0 (1 tensor); a recipe copies them"
    )
    assert lines[2].split() == ["blk.0.ffn_up.weight", "IQ3_S", "440", "4x256"]


def test_mostly_plain_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """One quantized tensor does not make a file of it: 4 * 256 * 2 bytes are more than 840."""
    plain = np.ones((4, 256), np.float16)
    path = write(Path("x.gguf"), {"a.weight": plain, "output.weight": blocks("Q6_K", 4)})
    first = run("inspect", str(path), capsys=capsys).splitlines()[0]
    assert first == "x.gguf: float16 and GGUF Q6_K: 2.82 KiB; to bfloat16 4 KiB"


def test_check_says_what_it_did_not_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", str(model()), capsys=capsys).splitlines() == [
        "note: GGUF Q6_K: 1 weight",
        "note: IQ3_S (3 tensors), 'blk.0.ffn_up.weight' first: not checked, lowprec has no values for this type",
        "note: TQ1_0 (1 tensor), 'blk.0.ffn_down.weight' first: not checked, lowprec has no values for this type",
        "x.gguf: 0 errors; not all was checked",
    ]


@pytest.mark.parametrize("kind", UNREAD)
def test_every_type_without_values(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(Path("x.gguf"), {"w.weight": blocks(kind, 9), "n.weight": np.ones((2, 32), np.float32)})
    assert f"x.gguf: GGUF {kind}: " in run("inspect", str(path), capsys=capsys)
    assert [one.kind for one in check(path)] == ["unchecked"]
    said = fail("convert", "x.gguf", "y.safetensors", "--to", "bfloat16", capsys=capsys)
    assert said == (
        f"x.gguf: has {kind} (1 tensor), such as 'w.weight', which lowprec can copy but not read; "
        "llama-quantize --allow-requantize makes BF16 of them, recipes for GGUF copy them"
    )
    for options in ({"exclude": "w.weight"}, {"raw": True}, {"include": "n.weight"}, {"dry_run": True}):
        with pytest.raises(FileError, match="which lowprec can copy but not read"):
            convert(path, "y.safetensors", to="float16", **options)
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
def test_an_unknown_type_is_listed(kind: int, capsys: pytest.CaptureFixture[str]) -> None:
    """With the bytes up to the next tensor, for its own are not known."""
    path, name = unknown(kind), f"unknown type {kind}"
    listed = [(one.name, one.format, one.shape, one.nbytes) for one in inspect(path, stats=True)]
    assert listed == [
        ("a.weight", name, (4, 64), 96), ("n.weight", "float32", (2, 32), 256), ("empty", name, (0,), 0),
        ("b.weight", name, (2, 64), 36),
    ]  # fmt: skip
    first = run("inspect", str(path), capsys=capsys).splitlines()[0]
    assert first == (
        f"x.gguf: float32 and GGUF {name}: 388 B; cannot be dequantized: no values are known of {name} (3 tensors)"
    )
    assert json.loads(run("inspect", str(path), "--json", capsys=capsys))[0]["format"] == name


def test_an_unknown_type_is_not_converted(capsys: pytest.CaptureFixture[str]) -> None:
    unknown()
    for options in (["--recipe", "q8_0"], ["--to", "bfloat16"], ["--to", "bfloat16", "--exclude", "[ab].weight"]):
        target = "y.gguf" if "--recipe" in options else "y.safetensors"
        assert fail("convert", "x.gguf", target, *options, capsys=capsys) == (
            "x.gguf: has unknown type 42 (3 tensors), such as 'a.weight', which lowprec can neither read nor copy; "
            "a llama-quantize that knows them makes BF16 of them with --allow-requantize"
        )
    with lp.checkpoints.open("x.gguf") as checkpoint:
        assert checkpoint["n.weight"].shape == (2, 32)
        with pytest.raises(FileError, match=r"'a.weight': holds no numbers that can be read \(unknown type 42\)"):
            checkpoint.read("a.weight")


def test_an_unknown_type_is_an_error_of_check(capsys: pytest.CaptureFixture[str]) -> None:
    """Engines that do not know it refuse the file, as gguf-py 0.19.0 does."""
    path = unknown()
    with pytest.raises(ValueError, match=r"42\)? is not a valid GGMLQuantizationType"):
        gguf.GGUFReader(path)
    assert main(["check", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "error: unknown type 42 (3 tensors), 'a.weight' first: not checked, "
        "engines that do not know it refuse the file",
        "x.gguf: 1 error; not all was checked",
    ]
