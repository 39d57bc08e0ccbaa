"""`lowprec check`: what engines read is not called an error; files, and how it runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.checked_models import MODELS, UP, Model, codes, deepseek, errors, only, write
from support.checkpoint_files import raw_file, sizes_of_reads
from support.command_line import run
from support.containers import SOURCES
from support.tiny_models import llama, llama_config
from support.tiny_models import write_folder as write_llama
from support.typed_tensors import write_tensors

import lowprec as lp
from lowprec.checkpoints import Finding, check, progress
from lowprec.checkpoints.checking import values
from lowprec.checkpoints.checking.finding import merged
from lowprec.checkpoints.containers.container import TensorReader
from lowprec.checkpoints.files.errors import FileError
from lowprec.cli import main

pytestmark = pytest.mark.usefixtures("working_folder")

# --- what is right ---


@pytest.mark.parametrize("model", MODELS)
def test_models_that_engines_read(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    write(*model())
    out = run("check", "model", capsys=capsys)
    assert out.endswith("model: 0 errors\n")
    assert out.startswith("note: ")
    assert "error:" not in out


def test_the_formats_of_mi300() -> None:
    write(*deepseek())
    lp.convert("model", "out", recipe="fnuz")
    assert "note: has FP8 of MI300; vLLM and SGLang expect F8_E4M3 there too" in [str(one) for one in check("out")]


@pytest.mark.parametrize("recipe", ["fp8-block", "mxfp8", "w4a16"])
def test_a_single_file_that_a_recipe_writes(recipe: str) -> None:
    write_llama(Path("in"), llama(), llama_config(), shards=1)
    lp.convert("in/model-00001-of-00001.safetensors", "out.safetensors", recipe=recipe)
    assert not errors("out.safetensors")


def test_what_is_dequantized() -> None:
    write(*deepseek())
    lp.convert("model", "plain", to="bfloat16")
    assert [str(one) for one in check("plain")] == ["note: nothing is quantized"]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_container(kind: str) -> None:
    findings = check(SOURCES[kind][0](Path()))
    assert not [one for one in findings if one.misread]
    assert findings


# --- files ---


def test_an_index_that_is_not_true() -> None:
    """A tensor is in another shard; a shard is missing."""
    folder = write(*deepseek())
    index = folder / "model.safetensors.index.json"
    fields = json.loads(index.read_text())
    fields["weight_map"][f"{UP}.weight_scale_inv"] = "a.safetensors"
    index.write_text(json.dumps(fields))
    only(folder, "files", "", "places 'model.layers.1.mlp.up_proj.weight_scale_inv' in a.safetensors")
    (folder / "b.safetensors").unlink()
    only(folder, "files", "", "b.safetensors', which is missing")


def test_totals_and_shards_beside_the_index() -> None:
    folder = write(*deepseek())
    index = folder / "model.safetensors.index.json"
    fields = json.loads(index.read_text())
    total = sum(array.nbytes for array in deepseek()[0].values())
    index.write_text(json.dumps({**fields, "metadata": {"total_size": total}}))
    assert not [one for one in check(folder) if one.kind == "files"]
    index.write_text(json.dumps({**fields, "metadata": {"total_size": total - 1}}))
    write_tensors(folder / "c.safetensors", {"x": np.ones(3, np.float32)})
    found = [one.text for one in check(folder) if one.kind == "files"]
    assert found == [
        f"model.safetensors.index.json says total_size {total - 1}; its tensors have {total} bytes",
        "c.safetensors is in no index: its tensors are not part of the model",
    ]
    assert not errors(folder)
    index.unlink()
    assert [one.kind for one in errors(folder)] == ["files"]


def test_no_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    for path, text in [("nothing", "No such file"), ("empty", "holds no safetensors file")]:
        with pytest.raises(FileError, match=text):
            check(path)
        assert main(["check", path]) == 1
        assert text in capsys.readouterr().err
    raw_file(Path("x.safetensors"), b"{")
    with pytest.raises(FileError, match="must be a readable"):
        check("x.safetensors")


# --- how it runs ---


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    tensors, config = deepseek()
    tensors[f"{UP}.weight_scale_inv"][0, 0] = np.nan
    write(tensors, config)
    assert main(["check", "model", "--json", "--progress", "none"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found == [one.as_dict() for one in check("model")]
    assert {"kind": "values", "misread": True, "tensor": f"{UP}.weight_scale_inv", "text": "has 1 NaN among 4 scales",
            "count": 1} in found  # fmt: skip


def test_findings_that_differ_in_numbers_alone_are_one() -> None:
    """Those of a checkpoint stay, and so do those of other formats."""
    findings = [
        Finding("values", True, "layers.0.a", "has 1 NaN among 8 codes"),
        Finding("layout", False, "", "Q8_0: 1 weight"),
        Finding("values", True, "layers.7.a", "has 30 NaN among 8 codes"),
        Finding("layout", False, "", "Q4_0: 1 weight"),
        Finding("scales", True, "layers.0.a", "holds int8 codes"),
        Finding("scales", True, "layers.1.a", "holds int4 codes"),
        Finding("values", True, "layers.7.b", "has 30 NaN among 8 codes"),
    ]
    assert [(one.tensor, one.count) for one in merged(findings)] == [
        ("layers.0.a", 2), ("", 1), ("", 1), ("layers.0.a", 1), ("layers.1.a", 1), ("layers.7.b", 1),
    ]  # fmt: skip


def test_headers_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write(*deepseek())
    monkeypatch.setattr(TensorReader, "read_into", lambda *_: pytest.fail("something is read"))
    assert run("check", "model", "--headers", capsys=capsys).endswith("model: 0 errors\n")


def test_it_reads_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "CHUNK", 4096)
    sizes = sizes_of_reads(monkeypatch)
    tensors, config = deepseek()
    tensors[f"{UP}.weight"] = codes().copy()
    tensors[f"{UP}.weight"][191, 255] = np.nan
    assert [one.text for one in errors(write(tensors, config))] == [f"has 1 NaN among {192 * 256} codes"]
    assert max(sizes) <= 4096


def test_the_progress_reaches_its_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Of four weights, 192 x 256 codes and 2 x 2 scales of 4 bytes are read."""
    monkeypatch.setattr(progress, "INTERVAL", -1.0)  # a line each time
    write(*deepseek())
    assert main(["check", "model", "--progress", "plain"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 8
    assert lines[0].startswith("reading: 25 % of 192.1 KiB, ")
    assert lines[-1].startswith("reading: 100 % of 192.1 KiB, ")


def test_arguments() -> None:
    for arguments in ({"max_memory": "x"}, {"progress": "loud"}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            check("x", **arguments)
    for command in ("check", "check a b", "check a --max-memory x"):
        with pytest.raises(SystemExit):
            main(command.split())
