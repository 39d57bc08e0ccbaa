"""`lowprec check`: what engines read is not called an error; files, and how it runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checked_models import (
    MODELS,
    PROJECTIONS,
    UP,
    Model,
    Q,
    Tensors,
    channel,
    codes,
    compressed,
    deepseek,
    errors,
    gpt_oss,
    modelopt,
    nvfp4,
    only,
    pack,
    plain,
    write,
)
from support.checkpoint_files import sizes_of_reads
from support.command_line import call, run
from support.containers import SOURCES
from support.quantized_checkpoints import LAYOUTS, REFUSED, write_folder
from support.tiny_models import llama, llama_config
from support.tiny_models import write_folder as write_llama
from support.typed_tensors import BF16, E8M0, F8, Array, write_tensors

import lowprec as lp
from lowprec.checkpoints import Finding, check, progress
from lowprec.checkpoints.checking import values
from lowprec.checkpoints.checking.finding import merged
from lowprec.checkpoints.containers.container import TensorReader
from lowprec.cli import main


@pytest.mark.parametrize("model", MODELS)
def test_models_that_engines_read(model: Model) -> None:
    write(*model())
    out = run("check", "model")
    assert out.endswith("model: 0 errors\n")
    assert out.startswith("note: ")
    assert "error:" not in out


def test_the_formats_of_mi300() -> None:
    write(*deepseek())
    lp.convert("model", "out", recipe="fnuz")
    assert "note: has FP8 of MI300; vLLM and SGLang expect F8_E4M3 there too" in [str(one) for one in check("out")]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_container(kind: str) -> None:
    findings = check(SOURCES[kind][0](Path()))
    assert not [one for one in findings if one.misread]
    assert findings


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


def test_json() -> None:
    tensors, config = deepseek()
    tensors[f"{UP}.weight_scale_inv"][0, 0] = np.nan
    write(tensors, config)
    status, out, _ = call("check", "model", "--json", "--progress", "none")
    assert status == 1
    assert json.loads(out) == [one.as_dict() for one in check("model")]
    assert {"kind": "values", "misread": True, "tensor": f"{UP}.weight_scale_inv", "text": "has 1 NaN among 4 scales",
            "count": 1} in json.loads(out)  # fmt: skip


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


def test_headers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    write(*deepseek())
    monkeypatch.setattr(TensorReader, "read_into", lambda *_: pytest.fail("something is read"))
    assert run("check", "model", "--headers").endswith("model: 0 errors\n")


def test_it_reads_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "CHUNK", 4096)
    sizes = sizes_of_reads(monkeypatch)
    tensors, config = deepseek()
    tensors[f"{UP}.weight"] = codes().copy()
    tensors[f"{UP}.weight"][191, 255] = np.nan
    assert [one.text for one in errors(write(tensors, config))] == [f"has 1 NaN among {192 * 256} codes"]
    assert max(sizes) <= 4096


def test_the_progress_reaches_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four weights, 192 x 256 codes and 2 x 2 scales of 4 bytes are read."""
    monkeypatch.setattr(progress, "INTERVAL", -1.0)  # a line each time
    write(*deepseek())
    lines = call("check", "model", "--progress", "plain")[2].splitlines()
    assert len(lines) == 8
    assert lines[0].startswith("reading: 25 % of 192.1 KiB, ")
    assert lines[-1].startswith("reading: 100 % of 192.1 KiB, ")


Change = Callable[[Tensors, dict[str, Any]], object]
Place = tuple[int | slice, ...]


def put(tensor: str, place: Place, value: Any, *others: Place) -> Change:
    """Return what puts a value at places of a tensor."""

    def change(tensors: Tensors, _: dict[str, Any]) -> None:
        array = tensors[tensor] = tensors[tensor].copy()
        for one in (place, *others):
            array[one] = value

    return change


def gone(tensor: str) -> Change:
    return lambda tensors, _: tensors.pop(tensor)


def there(tensor: str, array: Array) -> Change:
    return lambda tensors, _: tensors.update({tensor: array})


def said(key: str, *more: Any, also: bool = True) -> Change:
    """Return what adds entries to a list of the configuration, or puts them in its place."""
    return lambda _, config: config.update({key: [*(config.get(key, ["lm_head"]) if also else []), *more]})


def both(*changes: Change) -> Change:
    return lambda tensors, config: [change(tensors, config) for change in changes]


def plainly(tensors: Tensors, _: dict[str, Any]) -> None:
    """Take a weight's codes and scales away, and store values."""
    for name in [name for name in tensors if name.startswith(f"{UP}.")]:
        del tensors[name]
    tensors[f"{UP}.weight"] = np.ones((192, 256), BF16)


def other_group(_: Tensors, config: dict[str, Any]) -> None:
    """Describe a module by a group of its own, which counts, and not the one for all layers."""
    general = config["config_groups"]["group_0"]
    wrong = {"targets": ["re:.*up_proj"], "weights": {**general["weights"], "num_bits": 4}}
    config["config_groups"] = {"all": general, "some": wrong}


def of_group(**changes: Any) -> Change:
    return lambda _, config: config["config_groups"]["group_0"]["weights"].update(changes)


def alone(model: Model) -> tuple[Tensors, dict[str, Any]]:
    """Return the description of a model, and nothing that is quantized."""
    return plain(), model()[1]


INTEGERS = np.ones((192, 256), np.int8)
EXPERTS = "model.layers.1.mlp.experts.gate_up_proj_scales"
INV, PACKED, SCALE = (f"{UP}.weight_{end}" for end in ("scale_inv", "packed", "scale"))
Wrong = tuple[Callable[[], tuple[Tensors, Any]], Change, str, str, str]
WRONG: dict[str, Wrong] = {
    "no scales": (deepseek, gone(INV), "scales", f"{UP}.weight", "holds float8_e4m3fn codes and has no scales"),
    "no codes": (deepseek, gone(f"{UP}.weight"), "scales", INV, "of a weight that is missing"),
    "integers without scales": (channel, both(there(f"{UP}.weight", INTEGERS), gone(SCALE)), "scales", f"{UP}.weight",
                                "holds int8 codes and has no scales"),
    "bytes without a description": (lambda: (plain(), None), there(f"{UP}.weight", np.ones((192, 128), np.uint8)),
                                    "scales", f"{UP}.weight", "holds uint8 codes and has no scales"),
    "an exponent that is NaN": (gpt_oss, put(EXPERTS, (0, 3, 1), 255), "values", EXPERTS, "has 1 NaN among 512 scales"),
    **{f"a scale, {value}, {name}": (model, put(f"{UP}.{name}", (1, 0), value), "values", f"{UP}.{name}",
                                     f"has 1 {text} among {size} scales")
       for value, text in ((np.nan, "NaN"), (np.inf, "infinite"), (-1.0, "negative"), (-0.0, "negative"))
       for model, name, size in ((deepseek, "weight_scale_inv", 4), (channel, "weight_scale", 192))},
    **{f"a scale of inputs, {value}": (modelopt, put(f"{UP}.input_scale", (), value), "values", f"{UP}.input_scale", "")
       for value in (np.nan, np.inf, -1, 0)},
    **{f"codes, {model.__name__}": (model, put(f"{UP}.weight", (0, 0), np.nan, (191, 255)), "values", f"{UP}.weight",
                                    f"has 2 NaN among {192 * 256} codes") for model in (deepseek, channel)},
    **{f"a description alone, {model.__name__}": (partial(alone, model), both(), "configuration", "",
                                                  "says that the model is quantized") for model in MODELS},
    **{f"listed and quantized, {model.__name__}, {pattern}": (
        model, said(key, pattern), "configuration", UP, "is quantized, and config.json lists it")
       for model, key, pattern in (
           (deepseek, "modules_to_not_convert", UP), (deepseek, "modules_to_not_convert", "model.layers.1.mlp"),
           (deepseek, "ignored_layers", UP), (deepseek, "modules_to_not_convert", r"model\.layers\.1\.mlp\.up.*"),
           (channel, "ignore", UP), (channel, "ignore", "re:.*layers.1.mlp"), (nvfp4, "ignore", "re:.*1.mlp.up_proj$"),
           (modelopt, "ignore", "*layers.1.mlp*"), (modelopt, "exclude_modules", "model.layers.1.mlp"))},
    "a group for some modules": (channel, other_group, "configuration", "model.layers.0.mlp.up_proj.weight",
                                 "num_bits '4'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_one_thing_that_is_wrong(case: str) -> None:
    """Where it is a number, headers alone do not show it."""
    model, change, kind, tensor, text = WRONG[case]
    tensors, config = model()
    change(tensors, config)
    only(write(tensors, config), kind, tensor, text, 2 if change is other_group else 1)
    assert bool(errors("model", values=False)) == (kind != "values")


def integers() -> tuple[Tensors, dict[str, Any]]:
    """-128 has the magnitude bits of 0, and is none."""
    tensors, _ = channel()
    tensors.update({f"{module}.weight": np.zeros((192, 256), np.int8) for module in PROJECTIONS})
    return tensors, compressed("int-quantized", num_bits=8, type="int", strategy="channel")


def fused(tensors: Tensors, _: dict[str, Any]) -> None:
    """Add a weight that is fused with another one, whose second scale differs."""
    for name in ("weight_packed", "weight_scale", "weight_global_scale"):
        tensors[f"model.layers.1.self_attn.k_proj.{name}"] = tensors[f"{Q}.{name}"].copy()
    tensors[f"{Q}.weight_global_scale"][0] = 4000


SECOND = ((nvfp4, both(), UP), (nvfp4, fused, Q), (modelopt, both(), UP))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -2.0])
@pytest.mark.parametrize(("model", "change", "module"), SECOND, ids=["nvfp4", "nvfp4, fused", "modelopt"])
def test_a_second_scale_that_is_none_is_found_once(model: Model, change: Change, module: str, value: float) -> None:
    """It is not compared with those of fused weights, nor with itself, which NaN is not equal to."""
    tensors, config = model()
    change(tensors, config)
    name = f"{module}.{'weight_scale_2' if model is modelopt else 'weight_global_scale'}"
    put(name, (), value)(tensors, config)
    only(write(tensors, config), "scales", name, "must be a positive number")


ROWS = (slice(128, None), slice(128, None))
PAIRS: dict[str, tuple[Wrong, Change, str]] = {
    "zero scales": ((deepseek, put(INV, (1, 1), 0), "values", INV, "has 1 zero among 4 scales, for codes that are not"),
                    put(f"{UP}.weight", ROWS, -0.0), "for codes that are zero too"),
    "zero scales of FP4": ((nvfp4, put(SCALE, (5, 3), 0), "values", SCALE,
                            "has 1 zero among 3072 scales, for codes that are not"),
                           put(PACKED, (5, slice(24, 32)), 0x80), ""),
    "zero scales of integers": ((integers, both(put(SCALE, (7,), 0), put(f"{UP}.weight", (7,), -128)), "values", SCALE,
                                 "has 1 zero among 192 scales, for codes that are not"),
                                put(f"{UP}.weight", (7,), 0), ""),
    "scales that ue8m0 has not": (
        (deepseek, both(lambda _, config: config.update(scale_fmt="ue8m0"), put(INV, (0, 1), 0.003)), "values", INV,
         "no powers of two; config.json says scale_fmt ue8m0"), put(INV, (0, 1), 2.0**-10), ""),
    "fused weights with second scales of their own": (
        (nvfp4, fused, "values", f"{Q}.weight", "has another second scale than 'model.layers.1.self_attn.k_proj"),
        put(f"{Q}.weight_global_scale", (0,), 5000), ""),
    **{f"a module that is plain, {model.__name__}": (
        (model, plainly, "configuration", UP, "is not quantized, others of its name are"),
        said("modules_to_not_convert" if model is deepseek else "ignore", UP), "")
       for model in (deepseek, channel, nvfp4, modelopt, pack)},
    **{f"a linear layer that is plain, {name}, {model.__name__}": (
        (model, both(there(f"{name}.weight", np.ones((192, 256), BF16)), said("ignore", *listed, also=False)),
         "configuration", name, "engines expect codes if it is a linear layer"),
        said("ignore", name), "'model.layers.0.mlp.gate' and 1 more like it")
       for model in (channel, modelopt)
       for name, listed in (("model.layers.1.self_attn.o_proj", ["lm_head"]), ("lm_head", []))},
}  # fmt: skip
"""What is wrong, what makes it right, and a note on that. Engines keep routers and embeddings that are not listed."""


@pytest.mark.parametrize("chunk", [64, 1 << 20])
@pytest.mark.parametrize("case", PAIRS)
def test_what_is_wrong_and_what_is_right(case: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "CHUNK", chunk)
    (model, change, kind, tensor, text), right, note = PAIRS[case]
    tensors, config = model()
    change(tensors, config)
    only(write(tensors, config), kind, tensor, text)
    right(tensors, config)
    found = check(write(tensors, config, "right"))
    assert not [one for one in found if one.misread]
    assert any(note in str(one) for one in found)


def test_the_scales_of_all_weights_are_missing() -> None:
    tensors, config = deepseek()
    tensors = {name: array for name, array in tensors.items() if "scale" not in name}
    found = errors(write(tensors, config))
    assert [(one.tensor, one.count) for one in found] == [
        ("model.layers.0.mlp.up_proj.weight", 2), ("model.layers.0.self_attn.q_proj.weight", 2),
    ]  # fmt: skip
    assert str(found[0]) == (
        "error: 'model.layers.0.mlp.up_proj.weight' and 1 more like it: "
        "holds float8_e4m3fn codes and has no scales, where others are quantized"
    )


@pytest.mark.parametrize("top", [448, 16])
def test_fp8_without_any_scale_is_judged_by_its_values(top: int) -> None:
    """Codes that reach the largest value had scales; weights that were only cast stay small."""
    numbers = np.linspace(-top, top, 192 * 256).astype(F8).reshape(192, 256)
    write({f"{UP}.weight": numbers, **plain()}, None)
    if top == 448:
        only("model", "scales", f"{UP}.weight", "up to 448 of 448 and has no scales: they seem to be lost")
    else:
        assert not errors("model")
        assert any("engines take their values" in one.text for one in check("model"))


def test_scales_beside_values() -> None:
    tensors, config = deepseek()
    tensors[f"{UP}.weight"] = np.ones((192, 256), BF16)
    found = errors(write(tensors, config))
    assert {(one.kind, one.tensor) for one in found} == {
        ("scales", f"{UP}.weight_scale_inv"), ("configuration", UP),
    }  # fmt: skip
    assert "which holds values (bfloat16) and no codes" in found[0].text


@pytest.mark.parametrize("name", [name for name in REFUSED if name.startswith("unknown")])
def test_scales_of_an_unknown_name(name: str) -> None:
    found = errors(write_folder(Path("in"), LAYOUTS[name]))
    assert [one.kind for one in found] == ["scales"]
    assert "is no known kind of scales" in found[0].text


@pytest.mark.parametrize(
    ("model", "name", "array", "text"),
    [(deepseek, "weight_scale_inv", np.ones((3, 2), np.float32), "fits no weight of shape"),
     (channel, "weight_scale", np.ones((191, 1), BF16), "fits no weight of shape"),
     (nvfp4, "weight_scale", np.ones((192, 15), F8), "fits no weight of shape"),
     (pack, "weight_shape", np.array([192, 240]), "which fits no weight of [4] bits"),
     (nvfp4, "weight_global_scale", np.ones(2, np.float32), "must be one F32"),
     (channel, "weight_scale", np.ones(192, BF16), "engines expect [192, 1]")],
)  # fmt: skip
def test_scales_of_another_shape(model: Model, name: str, array: Array, text: str) -> None:
    """A fault in one weight hides nothing of the others."""
    tensors, config = model()
    tensors[f"{UP}.{name}"] = array
    found = errors(write(tensors, config))
    assert len(found) == 1
    assert found[0].tensor.startswith(UP)
    assert text in found[0].text
    assert any(one.kind == "layout" and one.text.endswith(("3 weights", "4 weights")) for one in check("model"))


def test_long_names() -> None:
    """Errors of layouts cut names off; a fault stays one of its own module."""
    tensors, config = deepseek()
    name = "a_part_of_a_name." * 8 + UP
    tensors |= {f"{name}.weight": codes(), f"{name}.weight_scale_inv": np.ones((3, 2), np.float32)}
    (found,) = errors(write(tensors, config))
    assert (found.kind, "fits no weight of shape" in found.text) == ("scales", True)


@pytest.mark.parametrize(("model", "name", "value"), [
    (nvfp4, "weight_global_scale", 1 / 5000), (modelopt, "weight_scale_2", 5000), (deepseek, "weight_scale_inv", 1000),
])  # fmt: skip
def test_scales_that_are_inverses(model: Model, name: str, value: float) -> None:
    """A second scale that divides in one layout multiplies in another; weights thousands of times too large."""
    tensors, config = model()
    for module in PROJECTIONS:
        tensors[f"{module}.{name}"][...] = value
    found = errors(write(tensors, config))
    assert {one.count for one in found} == {2}
    assert all("makes values of up to" in one.text for one in found)


def test_no_description() -> None:
    """What `lowprec convert --to float8_e4m3fn --scale block:32` makes of a model: transformers loads it as garbage."""
    write_llama(Path("in"), llama(), llama_config())
    for to, kinds in (("float8_e4m3fn", {"configuration"}), ("int4", {"configuration", "types"})):
        lp.convert("in", to, to=to, scale="block:32", include="*_proj.weight")
        found = errors(to)
        assert {one.kind for one in found} == kinds  # lowprec alone names codes of int4
    text = "is lowprec FP8 in groups of 32 (and 6 more weights are quantized), and config.json has no"
    assert [text in one.text for one in errors("float8_e4m3fn")] == [True]
    Path("float8_e4m3fn/config.json").unlink()
    assert not errors("float8_e4m3fn")


@pytest.mark.parametrize(
    ("model", "changes", "text"),
    [(deepseek, {"weight_block_size": [64, 64]}, "fits no weight of shape [192, 256] in blocks of 64 x 64"),
     (deepseek, {"weight_block_size": None}, "is block FP8 128x128; config.json has no weight_block_size"),
     (deepseek, {"fmt": "e5m2"}, "has float8_e4m3fn codes; config.json says fmt 'e5m2'"),
     (deepseek, {"activation_scheme": "static"}, "has no input_scale"),
     (deepseek, {"quant_method": "awq"}, "128x128 (and 3 more weights are quantized); config.json says"),
     (deepseek, {"quant_method": "compressed-tensors"}, "config.json says that the method is 'compressed-tensors'"),
     (modelopt, {"quant_algo": "FP8"}, "is NVFP4; quant_algo is 'FP8'"),
     (modelopt, {"quant_algo": None}, "is NVFP4; there is no quant_algo"),
     (modelopt, {"group_size": 32}, "has groups of 16; group_size is 32"),
     (nvfp4, {"quant_method": "fp8"}, "NVFP4 (and 3 more weights are quantized); config.json says"),
     (nvfp4, {"format": "mxfp4-pack-quantized"}, "is NVFP4; config.json says format 'mxfp4-pack-quantized'"),
     (channel, {"format": "int-quantized"}, "is FP8 per row; config.json says format 'int-quantized'"),
     (channel, {"config_groups": {}}, "no group of config.json is for it"),
     (channel, of_group(strategy="tensor"), "strategy 'tensor'"), (channel, of_group(num_bits=4), "num_bits '4'"),
     (channel, of_group(type="int"), "type 'int'"), (channel, of_group(symmetric=False), "there are no zero points"),
     (channel, of_group(strategy="group", group_size=128), "strategy 'group' of 128"),
     (channel, of_group(strategy="block", block_structure=[128, 128]), "strategy 'block' of [128, 128]|fits no weight"),
     (pack, of_group(group_size=64), "strategy 'group' of 64"), (pack, of_group(num_bits=8), "no weight of [8] bits"),
     (nvfp4, of_group(group_size=32), "strategy 'tensor_group' of 32")],
)  # fmt: skip
def test_a_description_of_something_else(model: Model, changes: dict[str, Any] | Change, text: str) -> None:
    """Of a group, for all weights: those of the two layers are alike."""
    tensors, config = model()
    if isinstance(changes, dict):
        config |= changes
    else:
        changes(tensors, config)
    found = errors(write(tensors, config))
    assert found
    for one in found[:1] if isinstance(changes, dict) else found:
        assert any(part in one.text for part in text.split("|"))
    assert isinstance(changes, dict) or {one.count for one in found} == {2}
    assert main(["check", "model", "--progress", "none"]) == 1


@pytest.mark.parametrize("algorithm", ["NVFP4", "W4A16_NVFP4"])
def test_scales_of_inputs_of_modelopt(algorithm: str) -> None:
    """VLLM reads W4A16_NVFP4 without them; for NVFP4 it would take what happens to be in memory."""
    tensors, config = modelopt()
    tensors = {name: array for name, array in tensors.items() if not name.endswith("input_scale")}
    found = errors(write(tensors, {**config, "quant_algo": algorithm}))
    assert [one.count for one in found] == ([2, 2] if algorithm == "NVFP4" else [])
    assert all("has no input_scale, which engines need with quant_algo NVFP4" in one.text for one in found)


@pytest.mark.parametrize("dynamic", [True, False, "local"])
def test_scales_of_inputs_of_compressed_tensors(dynamic: object) -> None:
    tensors, config = nvfp4()
    config["config_groups"]["group_0"]["input_activations"] = {"num_bits": 4, "dynamic": dynamic}
    found = errors(write(tensors, config))
    assert [one.count for one in found] == ([] if dynamic is True else [2, 2])
    assert all("that inputs have a scale of their own, and there is none" in one.text for one in found)
    scales = {f"{module}.input_global_scale": np.ones(1, np.float32) for module in PROJECTIONS}
    assert not errors(write({**tensors, **scales}, config, "right"))


JUNK = (None, True, -1, 1e999, "", "re:(", "*", [], [None], [[]], {}, {"g": 3}, {"g": {"targets": 3, "weights": {}}},
        {"g": {"weights": None}}, [0, 0], ["128", 128], 2**70)  # fmt: skip


@pytest.mark.parametrize("model", [deepseek, channel, modelopt])
def test_configurations_of_strangers(model: Model) -> None:
    """Whatever stands there is judged, or an error that names a file, but never a traceback."""
    tensors, config = model()
    folder = write(tensors, config)
    for key in (*config, "scale_fmt", "ignored_layers"):
        for junk in JUNK:
            text = json.dumps({"quantization_config": {**config, key: junk}})
            (folder / "config.json").write_text(text)
            assert all(isinstance(str(one), str) for one in check(folder, values=False))
    for key in ("quant_algo", "group_size", "exclude_modules"):
        for junk in JUNK:
            (folder / "hf_quant_config.json").write_text(json.dumps({"quantization": {key: junk}}))
            check(folder, values=False)


def test_scales_of_another_name() -> None:
    tensors, config = deepseek()
    renamed = {name.replace("weight_scale_inv", "weight_scale"): array for name, array in tensors.items()}
    found = errors(write(renamed, config))
    assert all("engines look for weight_scale_inv" in one.text for one in found)
    assert found


def test_deepseek_v4() -> None:
    """The FP4 of its experts is in no block, and config.json does not speak of it."""
    tensors, config = deepseek()
    experts = {f"layers.0.ffn.experts.{i}.w1.weight": np.full((64, 64), 0x21, np.int8) for i in range(2)}
    scales = {f"layers.0.ffn.experts.{i}.w1.scale": np.full((64, 4), 2.0**-9, E8M0) for i in range(2)}
    assert not errors(write({**tensors, **experts, **scales}, {**config, "scale_fmt": "ue8m0"}))


def test_patterns_that_are_no_expressions() -> None:
    tensors, config = deepseek()
    config["modules_to_not_convert"] = ["lm_head", "(", "*", "["]
    assert not errors(write(tensors, config))


@pytest.mark.parametrize(
    ("model", "changes", "text"),
    [(modelopt, {"quant_algo": "FP8"}, "hf_quant_config.json says quant_algo 'FP8', config.json 'NVFP4'"),
     (modelopt, {"group_size": 32}, "says group_size '32', config.json '16'"),
     (modelopt, {"exclude_modules": ["lm_head"]}, "excludes other modules than config.json ignores: '*.mlp.gate'"),
     (deepseek, {}, "hf_quant_config.json is there, and the method of config.json is 'fp8'")],
)  # fmt: skip
def test_two_descriptions_that_differ(model: Model, changes: dict[str, Any], text: str) -> None:
    folder = write(*model())
    said = {"quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": None,
            "exclude_modules": ["*.mlp.gate", "lm_head"]}  # fmt: skip
    for one in [said, {**said, **changes}] if model is modelopt else [said]:
        assert not errors(folder)
        text_of = json.dumps({"producer": {"name": "modelopt"}, "quantization": one})
        (folder / "hf_quant_config.json").write_text(text_of)
    only(folder, "configuration", "", text)
