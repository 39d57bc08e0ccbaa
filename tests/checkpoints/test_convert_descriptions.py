"""The quantization that config.json describes is updated, removed, or the conversion is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.checkpoint_files import call_fails, convert_fails, everything, parse, save
from support.command_line import fail, run
from support.paths import table
from support.quantized_checkpoints import LAYOUTS, Tensors, typed, write, write_folder

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.model_config import without_descriptions

QUIET = ("--progress", "none")
TABLE = table(__file__)


@pytest.mark.parametrize(("before", "after"), TABLE["texts"])
def test_all_else_stays_byte_for_byte(before: str, after: str) -> None:
    assert without_descriptions(before) == after
    json.loads(after)


def folder(tensors: Tensors, files: dict[str, object]) -> Path:
    Path("in").mkdir()
    write(Path("in", "model.safetensors"), tensors)
    for name, fields in files.items():
        Path("in", name).write_text(json.dumps(fields, indent=4) + "\n")
    return Path("in")


PLAIN: Tensors = {"lm_head.weight": ("BF16", (4, 8)), "model.norm.weight": ("BF16", (8,))}
CONFIG: dict[str, object] = {"config.json": {"a": 1, "quantization_config": {"quant_method": "new"}}}
MISFITS: dict[str, dict[str, Any]] = TABLE["misfits"]


@pytest.mark.parametrize("name", MISFITS)
def test_what_no_longer_fits_is_refused_or_left_out(name: str) -> None:
    tensors = typed(MISFITS[name]["tensors"]) if "tensors" in MISFITS[name] else {}
    files, options = MISFITS[name].get("files", CONFIG), MISFITS[name].get("options", [])
    source = folder({**tensors, **PLAIN}, {"tokenizer.json": {"quantization_config": 1}, **files})
    before = everything(source)
    options = options if "--to" in options else ["--to", "float32", *options]
    for dry in ([], ["--dry-run"]):
        text = fail("convert", "in", "out", *options, *dry, *QUIET)
        assert MISFITS[name]["why"] in text
        assert text.startswith("in: ")
    said = run("convert", "in", "out", *options, "--raw", "--dry-run")
    out = run("convert", "in", "out", *options, "--raw", *QUIET)
    assert everything(source) == before
    after = everything(Path("out"))
    assert after["tokenizer.json"] == before["tokenizer.json"]
    for one in files:
        if one in ("config.json", "params.json"):
            fields = json.loads(before[one])
            for key in ("quantization_config", "quantization"):
                fields.pop(key, None)
            for inner in (fields.get("text_config", {}), fields.get("text_config", {}).get("inner_config", {})):
                inner.pop("quantization_config", None)
            assert json.loads(after[one]) == fields
            assert f"raw: {one}: " in out
        else:
            assert one not in after
            assert f"raw: {one} left out" in out
    assert [line for line in said.splitlines() if "left out" in line] == [
        line for line in out.splitlines() if "left out" in line
    ]


NO_CONFIGS = {
    "empty": (b"", "Expecting value"), "list": (b"[]", r"got \[\]"), "cut off": (b"{", "Expecting property name"),
    "number": (b"12", "got 12"), "UTF-16": ('{"model_type": "llama"}'.encode("utf-16"), "byte 0 is not UTF-8"),
    "UTF-16, no mark": ('{"a": 1}'.encode("utf-16-le"), "Expecting property name"),
    "mark of UTF-8": (b"\xef\xbb\xbf{}", "BOM"), "Latin-1": ('{"a": "é"}'.encode("latin-1"), "byte 7 is not UTF-8"),
    "binary": (b"\x7fELF\x02\x01\x01\xff", "byte 7 is not UTF-8"),
    "deep": (b'{"a":' + b"[" * 100_000, "it is too deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["config.json", "params.json"])
@pytest.mark.parametrize("case", NO_CONFIGS)
def test_a_config_that_is_none(case: str, name: str) -> None:
    """It may describe a quantization: it is neither copied nor passed over."""
    text, why = NO_CONFIGS[case]
    source = folder({**PLAIN, "model.layers.0.mlp.up_proj.weight": ("F32", (128, 128))}, {})
    (source / name).write_bytes(text)
    message = rf"{name}: must be a JSON object in UTF-8; .*{why}"
    for options in ("--to float16", "--to float8_e4m3fn", "--to float16 --raw", "--recipe fp8-dynamic"):
        assert re.search(message, fail("convert", "in", "out", *options.split(), *QUIET))
    call_fails(message, lp.checkpoints.open, source)
    (found,) = lp.checkpoints.check(source)
    assert found.misread
    assert re.search(message, found.text)
    out = run("inspect", "in")
    assert re.search("cannot be dequantized: .*" + message, out)


def test_a_description_of_modelopt_that_is_none() -> None:
    source = folder(PLAIN, {"config.json": {}})
    (source / "hf_quant_config.json").write_bytes(b"\xff\xfe{")
    for options in ({"to": "float16"}, {"recipe": "fp8-dynamic"}):
        convert_fails(r"hf_quant_config\.json: must be a JSON object in UTF-8; byte 0 is not", source, "out", **options)


@pytest.mark.parametrize("described", [1, "fp8", [], True, {"quant_method": 1}, {"quant_method": ["fp8"]}])
def test_an_entry_that_is_no_description(described: object) -> None:
    """`quantization_config` says how codes are read; null says that there are none."""
    source = folder(PLAIN, {"config.json": {"quantization_config": described}})
    why = "quant_method must be a text" if isinstance(described, dict) else "quantization_config must be an object"
    convert_fails(rf"config\.json: {why}; got", source, "out", to="float16")
    (found,) = lp.checkpoints.check(source)
    assert why in found.text
    (source / "config.json").write_text('{"quantization_config": null}')
    convert(source, "out", to="float16")


@pytest.mark.parametrize("text", ["fp8", "[]", "1", '{"quant_method": 1}', "{", "[" * 100_000])
def test_an_entry_of_metadata_that_is_no_description(text: str) -> None:
    save(Path("x.safetensors"), metadata={"quantization_config": text})
    why = r"x\.safetensors: quant\w+ (in its metadata )?must be a"
    convert_fails(why, "x.safetensors", "y.safetensors", to="float16")
    call_fails("must be a", lp.checkpoints.open, "x.safetensors")
    assert [one.misread for one in lp.checkpoints.check("x.safetensors")] == [True]


def test_a_config_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.containers.model_config.LARGEST", 20)
    folder(PLAIN, CONFIG)
    convert_fails(r"config\.json: has more than 20 bytes", "in", "out", to="float16")


def test_a_config_that_is_a_link() -> None:
    source = write_folder(Path("in"), LAYOUTS["deepseek v3"])
    (source / "config.json").rename("blob")
    (source / "config.json").symlink_to("../blob")
    before = Path("blob").read_bytes()
    convert("in", "out", to="bfloat16", raw=True)
    assert Path("blob").read_bytes() == before
    assert "quantization_config" not in json.loads(Path("out", "config.json").read_text())


def test_the_metadata_of_comfyui() -> None:
    note = {"_quantization_metadata": json.dumps({"layers": {"a": {"format": "float8_e4m3fn"}}}), "format": "pt"}
    write(Path("x.safetensors"), {"a.weight": ("F8_E4M3", (4, 8))}, note)
    text = fail("convert", "x.safetensors", "y.safetensors", "--to", "float8_e5m2", *QUIET)
    assert "x.safetensors: _quantization_metadata would no longer fit, since 'a.weight' becomes float8_e5m2" in text
    out = run("convert", "x.safetensors", "y.safetensors", "--to", "float8_e5m2", "--raw", *QUIET)
    assert "raw: x.safetensors: _quantization_metadata left out" in out
    assert parse(Path("y.safetensors"))[0]["__metadata__"] == {"format": "pt"}
    convert("x.safetensors", "z.safetensors", to="float8_e5m2", exclude="a.weight")
    assert parse(Path("z.safetensors"))[0]["__metadata__"] == note
    Path("in").mkdir()  # a file of a folder has descriptions as a file alone does
    Path("x.safetensors").rename("in/model.safetensors")
    text = fail("convert", "in", "out", "--to", "float8_e5m2", *QUIET)
    assert "model.safetensors: _quantization_metadata would no longer fit" in text
    convert("in", "out", to="float8_e5m2", raw=True)
    assert parse(Path("out", "model.safetensors"))[0]["__metadata__"] == {"format": "pt"}


def test_a_hostile_entry_stays_on_one_line() -> None:
    folder(PLAIN, {"config.json": {"x\n" * 500: {"quantization_config": {"a": 1}}}})
    assert len(convert_fails("would no longer fit", "in", "out", to="float16")) < 400
