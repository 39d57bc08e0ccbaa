"""Tensors of a checkpoint and of an upload in Quantize: what is read, what is refused, what stays from page to page."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.checkpoint_files import save, values
from support.containers import checkpoint
from support.explorer_pages import asked, healthy, page, texts
from support.scaled_weights import P, codes, fp8, write_model

import lowprec as lp
from lowprec import reference
from lowprec.checkpoints.files import symbolic_links
from lowprec.explorer.pages.quantize import snippets, tensor_files
from lowprec.explorer.pages.quantize.settings import Settings
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor_files import checkpoint_path, checkpoint_stamp, from_checkpoint, tensors_of

E2M1 = lp.formats["float4_e2m1fn"]
X = np.arange(60, dtype=np.float32).reshape(5, 3, 4)


def test_tensors_of_a_file(tmp_path: Path) -> None:
    path = save(tmp_path / "a.safetensors", {"x": X, "half": X.astype(np.float16), "n": np.arange(4), "empty": X[:0]})
    listed = {one.name: one.text for one in tensors_of(path)}
    assert listed.keys() == {"x", "half", "n"}
    assert listed["x"] == "x  (5 × 3 × 4, float32)"
    found = from_checkpoint(path, "x")
    assert found.values.tolist() == X.tolist()
    assert (found.note, found.name, found.first, found.is_cut) == ("", "x", None, False)
    assert from_checkpoint(path, "half").format.name == "float16"
    assert from_checkpoint(path, "n").note == "int64 became float32"


def test_tensors_of_shards(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "model")
    assert [one.name for one in tensors_of(folder)] == ["a", "norm", "ids", "b"]  # other.safetensors is none of them
    found = from_checkpoint(folder, "b")
    assert np.array_equal(found.values, values((16, 64), 3, np.float16), equal_nan=True)
    assert found.format.name == "float16"


def test_a_quantized_weight_is_its_values(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", fp8(np.float32(0.5)), quant_algo="FP8")
    assert [one.name for one in tensors_of(folder)].count(f"{P}.weight") == 1
    found = from_checkpoint(folder, f"{P}.weight")
    given = [reference.decode(int(code), "float8_e4m3fn") for code in (codes() % 0x70).reshape(-1)]
    assert found.format.name == "bfloat16"
    assert found.values.astype(float).reshape(-1).tolist() == [float(value) / 2 for value in given]
    assert found.note.startswith("the values of")


@pytest.mark.parametrize(
    ("name", "most", "expected", "first", "is_cut"),
    [("x", 59, X[:4], 4, False), ("x", 12, X[:1], 1, False), ("x", 9, X[0, :2], 1, True),
     ("x", 3, X[0, :1, :3], 1, True), ("line", 7, X.reshape(-1)[:7], 7, False)],
)  # fmt: skip
def test_of_a_large_tensor_the_first_rows(tmp_path: Path, name, most, expected, first, is_cut) -> None:
    path = save(tmp_path / "a.safetensors", {"x": X, "line": X.reshape(-1)})
    found = from_checkpoint(path, name, most)
    assert found.values.tolist() == expected.tolist()
    assert (found.first, found.is_cut) == (first, is_cut)
    assert f"the first {expected.size} of 60 elements" in found.note
    python, _ = snippets.of_quantization(Quantize(origin="folder", folder=str(path)), found, Settings(E2M1))
    names: dict[str, object] = {}
    exec(python, names)
    assert np.array_equal(np.asarray(names["x"]), expected)


def test_a_path_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    os.mkfifo(tmp_path / "pipe.txt")
    for text, message in (
        ("", "must be the path"),
        ("  ", "must be the path"),
        ("a\0b", "must be the path"),
        ("//host/share", "on this machine"),
        ("\\\\host\\share", "on this machine"),
        (str(tmp_path / "none"), "there is no"),
        (str(tmp_path / "secret.txt"), "must be a folder, or"),
        (str(tmp_path / "pipe.txt"), "must be a folder, or"),
        ("x" * 900, "can be read"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            checkpoint_path(text)
        assert "secret" not in str(caught.value).replace("secret.txt", "")
    assert checkpoint_path(f" {tmp_path} ") == tmp_path


def test_what_is_no_checkpoint_is_said(tmp_path: Path) -> None:
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"\xff" * 40)
    empty = save(tmp_path / "empty.safetensors", {"e": X[:0]})
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (bad, empty, folder):
        with pytest.raises(ValueError, match="the checkpoint: "):
            tensors_of(path)
    with pytest.raises(ValueError, match="has no tensor 'z'"):
        from_checkpoint(save(tmp_path / "a.safetensors", {"x": X}), "z")
    with pytest.raises(ValueError, match="must have elements that are numbers"):
        from_checkpoint(empty, "e")


@pytest.mark.parametrize("has_model", [False, True])
def test_of_a_large_tree_few_entries_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_model: bool
) -> None:
    """A home directory, with a checkpoint in it or without."""
    for place in range(24):
        for name in range(20):
            (tmp_path / f"d{place}" / f"{name}").mkdir(parents=True)
    if has_model:
        save(tmp_path / "model.safetensors", {"x": X})
    seen, resolve = [], symbolic_links._resolve
    monkeypatch.setattr(symbolic_links, "_resolve", lambda *found: seen.append(found) or resolve(*found))
    monkeypatch.setattr(tensor_files, "MOST_FILES", 300, raising=False)
    test = page("quantize", show="result", origin="folder", folder=str(tmp_path))
    assert not test.exception
    assert len(seen) <= 300
    said = test.error[0].value.replace("\\", "")
    assert "`folder` must be the folder of one checkpoint" in said
    assert "has more than 300 files and folders" in said


def test_a_changed_file_has_another_stamp(tmp_path: Path) -> None:
    path = save(tmp_path / "a.safetensors", {"x": X})
    before = checkpoint_stamp(path), checkpoint_stamp(tmp_path)
    save(path, {"x": X, "y": X})
    assert checkpoint_stamp(path) != before[0]
    assert checkpoint_stamp(tmp_path) != before[1]


@pytest.mark.parametrize("show", ["result", "side-by-side", "sweep", "block"])
def test_a_visitor_chooses_a_tensor_of_a_checkpoint(tmp_path: Path, show: str) -> None:
    folder = checkpoint(tmp_path / "model")
    test = healthy(page("quantize", origin="folder", show=show))
    assert "Type the path" in test.info[0].value
    assert not test.code
    healthy(test.text_input(key="quantize.folder").set_value(str(folder)).run())
    assert asked(test, "folder") == str(folder)
    healthy(test.selectbox(key="quantize.tensor").set_value("b").run())
    assert asked(test, "tensor") == "b"
    assert "checkpoint.read('b')" in test.code[1].value
    again = healthy(page("quantize", origin="folder", show=show, folder=str(folder), tensor="b"))
    assert texts(again) == texts(test)
    healthy(test.segmented_control[0].set_value("sampled").run())
    assert asked(test, "tensor") == ""


def test_bad_checkpoints_are_messages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for folder in (tmp_path / "none", tmp_path, tmp_path / "a.txt"):
        test = page("quantize", show="result", origin="folder", folder=str(folder))
        assert not test.exception
        assert len(test.error) == 1
        assert not test.code
    save(tmp_path / "a.safetensors", {"x": X})
    test = page("quantize", show="result", origin="folder", folder=str(tmp_path / "a.safetensors"), tensor="z")
    assert "one of the checkpoint's 1 names" in test.error[0].value.replace("\\", "")
    assert test.selectbox(key="quantize.tensor").value == "x"
    assert not test.exception
