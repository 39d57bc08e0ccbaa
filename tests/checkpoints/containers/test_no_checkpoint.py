"""What people name that is no checkpoint, or none that is read: each command says what it is, and what to do."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import convert_fails, opened
from support.command_line import fail, run, usage_error
from support.containers import write_onnx
from support.optional import optional
from support.paths import table
from support.quantized_checkpoints import LAYOUTS, TOOLS, write_folder
from support.tiny_models import llama
from support.typed_tensors import BF16, converted, read_tensors, write_model, write_tensors

import lowprec as lp
from lowprec.checkpoints import check, convert, inspect
from lowprec.checkpoints.files.errors import FileError

torch: Any = optional("torch")

CALLS: dict[str, Callable[[str], object]] = {
    "convert to": lambda path: convert(path, "out", to="bfloat16"),
    "convert by recipe": lambda path: convert(path, "out", recipe="fp8-dynamic"),
    "inspect": inspect,
    "check": check,
    "open": lp.checkpoints.open,
}
COMMANDS = {
    "convert to": "convert {} out --to bfloat16 --progress none",
    "convert by recipe": "convert {} out --recipe fp8-dynamic --progress none",
    "inspect": "inspect {}",
    "check": "check {}",
}


def all_say(path: str, text: str) -> None:
    """Require one line, a text that it has, of every function, and the same of every command; nothing is written."""
    said = set()
    for call in CALLS.values():
        with pytest.raises(FileError) as caught:
            call(path)
        said.add(str(caught.value))
    for command in COMMANDS.values():
        said.add(fail(*command.format(path).split()))
    assert len(said) == 1
    assert re.search(text, said.pop())


@pytest.mark.parametrize(("path", "text"), table(__file__)["paths"])
def test_a_name_or_an_address(path: str, text: str) -> None:
    Path("here").mkdir()
    all_say(path, text)


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"  # fmt: skip # noqa: E501
"""From the specification of git-lfs."""

IS_POINTER = "is a git-lfs pointer, not the file itself; run git lfs pull in its folder$"


@pytest.mark.parametrize("name", ["x.safetensors", "x.gguf", "x.onnx", "x.npz", "x.npy", "pytorch_model.bin", "x"])
def test_a_pointer(name: str) -> None:
    Path(name).write_text(POINTER)
    all_say(name, f"^{name}: {IS_POINTER}")


@pytest.mark.parametrize("shard", ["a.safetensors", "b.safetensors", "model.safetensors.index.json"])
def test_a_pointer_in_a_folder(shard: str) -> None:
    ones = np.ones((2, 2), np.float32)
    write_model(Path("model"), {"a.safetensors": {"a.weight": ones}, "b.safetensors": {"b.weight": ones}}, {})
    Path("model", shard).write_text(POINTER)
    all_say("model", f"^model/{shard}: {IS_POINTER}")


def test_a_pointer_for_external_data() -> None:
    write_onnx(Path("x.onnx"), "x.data", w=np.ones(99, np.float32))
    Path("x.data").write_text(POINTER)
    all_say("x.onnx", f"^x.data: {IS_POINTER}|/x.data: {IS_POINTER}")


def archive(path: Path) -> None:
    """Write what torch.save does: a stored zip whose members are in a folder of the file's name."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{path.stem}/data.pkl", pickle.dumps({}, 2))
        file.writestr(f"{path.stem}/byteorder", "little")
        file.writestr(f"{path.stem}/data/0", bytes(8))
        file.writestr(f"{path.stem}/version", "3\n")


def old(path: Path) -> None:
    """Write what torch.save did before version 1.6: its magic number, then more pickles."""
    path.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2))


IS_PICKLE = (
    r"is a pickle of torch\.save, which can run code and is not read; convert it first: safetensors\.torch\.save_file"
)


@pytest.mark.parametrize("write", [archive, old])
@pytest.mark.parametrize("name", ["pytorch_model.bin", "x.pt", "x.pth", "x.ckpt", "x.anything"])
def test_a_pickle(name: str, write: Callable[[Path], None]) -> None:
    write(Path(name))
    all_say(name, f"^{name}: {IS_PICKLE}")


@pytest.mark.parametrize("new", [True, False], ids=["zip", "old"])
def test_what_torch_saves(new: bool) -> None:
    torch.save({"w": torch.zeros(2, 2)}, "x.pt", _use_new_zipfile_serialization=new)
    all_say("x.pt", IS_PICKLE)
    said = fail("inspect", "x.pt").partition("first: ")[2]
    save_file = pytest.importorskip("safetensors.torch").save_file
    assert said.startswith("safetensors.torch.save_file(")
    exec(said.replace("safetensors.torch.save_file", "save_file"), {"save_file": save_file, "torch": torch})
    assert [one.name for one in inspect("model.safetensors")] == ["w"]


def test_a_folder_of_pickles() -> None:
    Path("model").mkdir()
    archive(Path("model/pytorch_model-00001-of-00002.bin"))
    Path("model/config.json").write_text("{}")
    text = r"^model: holds no safetensors file; pytorch_model-00001-of-00002\.bin is a pickle .*save_pretrained\("
    all_say("model", text)


def test_an_array_named_as_a_pickle_is_read() -> None:
    np.savez("x.npz", **{"data.pkl": np.ones(3), "w": np.ones(2)})
    assert [one.name for one in inspect("x.npz")] == ["data.pkl", "w"]
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    Path("x.pt").write_bytes(buffer.getvalue())
    assert [one.shape for one in inspect("x.pt")] == [(3,)]


def pipeline(folder: Path) -> None:
    """Write a pipeline as diffusers lays it out: a transformer in two shards, an encoder and a decoder of one file."""
    folder.mkdir()
    (folder / "model_index.json").write_text(json.dumps({"_class_name": "FluxPipeline", "transformer": ["diffusers"]}))
    weights = {f"transformer_blocks.{n}.attn.to_q.weight": np.full((128, 128), n + 1).astype(BF16) for n in range(2)}
    shards = [{name: one} for name, one in weights.items()]
    names = [f"diffusion_pytorch_model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    write_model(
        folder / "transformer", dict(zip(names, shards, strict=True)), {"_class_name": "FluxTransformer2DModel"}
    )
    index = folder / "transformer" / "model.safetensors.index.json"
    index.rename(index.with_name("diffusion_pytorch_model.safetensors.index.json"))
    for name, file in (("text_encoder", "model"), ("vae", "diffusion_pytorch_model")):
        (folder / name).mkdir()
        write_tensors(folder / name / f"{file}.safetensors", {"w.weight": np.ones((4, 4), np.float32)})
        (folder / name / "config.json").write_text("{}")
    (folder / "scheduler").mkdir()
    (folder / "scheduler" / "scheduler_config.json").write_text("{}")


@pytest.mark.parametrize("top", [False, True], ids=["folders", "a file at the top too"])
def test_a_pipeline(top: bool) -> None:
    pipeline(Path("root"))
    if top:
        write_tensors(Path("root/flux1-dev.safetensors"), {"w": np.ones((4, 4), np.float32)})
    all_say("root", r"with a model in each of text_encoder/, transformer/, vae/; .* root/transformer$")


def test_the_models_of_a_pipeline_convert() -> None:
    pipeline(Path("root"))
    for name in ("transformer", "text_encoder", "vae"):
        convert(Path("root", name), f"half-{name}", to="float16")
        assert {one.dtype.name for one in read_tensors(Path(f"half-{name}")).values()} == {"float16"}
    index = json.loads(Path("half-transformer/diffusion_pytorch_model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 2 * 128 * 128 * 2
    tensors = converted("root/transformer", "fp8", recipe="fp8-dynamic")
    assert tensors["transformer_blocks.1.attn.to_q.weight"].dtype.name == "float8_e4m3fn"
    config = json.loads(Path("fp8/config.json").read_text())
    assert config["_class_name"] == "FluxTransformer2DModel"
    assert config["quantization_config"]["quant_method"] == "compressed-tensors"
    assert not [one for one in check("fp8") if one.misread]


def test_a_folder_without_a_configuration() -> None:
    Path("model").mkdir()
    write_tensors(Path("model/model.safetensors"), llama())
    text = "model: has no config.json, which must say how the weights are quantized; copy the model's there"
    convert_fails(f"^{text}$", "model", "out", recipe="fp8-dynamic")
    assert fail("convert", "model", "out", "--recipe", "fp8-dynamic", "--progress", "none") == text
    assert fail("convert", "model", "out", "--recipe", "int8", "--dry-run") == text
    Path("model/config.json").write_text("[]")
    assert "must be a JSON object" in fail("convert", "model", "out", "--recipe", "int8", "--dry-run")


A = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"


def test_an_adapter() -> None:
    Path("lora").mkdir()
    tensors = {A: np.ones((8, 128), BF16), A.replace("lora_A", "lora_B"): np.ones((128, 8), BF16)}
    write_tensors(Path("lora/adapter_model.safetensors"), tensors)
    Path("lora/adapter_config.json").write_text('{"peft_type": "LORA"}')
    text = "is an adapter (LoRA), not a whole model; merge it into its base model first: merge_and_unload() of peft"
    for path in ("lora", "lora/adapter_model.safetensors"):
        for options in ("--recipe fp8-dynamic", "--layout modelopt", "--recipe fnuz"):
            assert f"{path}: {text}" in fail("convert", path, "out", *options.split(), "--dry-run")
        convert_fails(re.escape(text), path, "out", recipe="fp8-dynamic")
        assert f"note: {text}" in run("check", path, "--progress", "none")
        assert f"{path}: an adapter (LoRA), in bfloat16" in run("inspect", path)
    convert("lora", "half", to="float16")
    assert opened("half", A).dtype == np.float16


@pytest.mark.parametrize("configured", [True, False], ids=["by the configuration", "by the names of tensors"])
@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_that_is_named(name: str, configured: bool) -> None:
    write_folder(Path("in"), LAYOUTS[name])
    if not configured:
        Path("in/config.json").write_text('{"model_type": "llama"}')
    text = f"in: is quantized by {TOOLS[name]}, which lowprec does not read; "
    for options in ("--to bfloat16", "--recipe fp8-dynamic", "--layout modelopt"):
        said = fail("convert", "in", "out", *options.split(), "--progress", "none")
        assert said.startswith(text)
        assert re.search("dequantize", said)
    findings = [one for one in check("in") if one.kind == "layout"]
    assert [one.misread for one in findings] == [not configured]
    assert findings[0].text.startswith(text[4:])
    assert f"it {text[4:]}" in run("inspect", "in")


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name not in TOOLS])
def test_no_other_layout_is_named(name: str) -> None:
    folder = write_folder(Path("in"), LAYOUTS[name])
    assert not [one for one in check(folder) if "is quantized by" in one.text]


@pytest.mark.parametrize(("name", "text"), table(__file__)["recipes"])
def test_a_recipe_of_almost_that_name(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)) as caught:
        convert("x", "y", recipe=name)
    assert str(caught.value) == f"`recipe` must be a recipe; got {name!r}; {text}"
    assert text in fail("recipes", name)
    error = usage_error("convert", "x", "y", "--recipe", name)
    assert error.endswith(f"argument --recipe: must be a recipe; got {name!r}; {text}\n")


def test_functions_name_parameters_and_commands_options() -> None:
    write_tensors(Path("x.safetensors"), {"w": np.ones((4, 4), np.float32)})
    np.save("c.npy", np.ones(4, "V1"))
    Path("y.safetensors").write_bytes(b"")
    calls: list[tuple[Callable[[], object], str, str, str]] = [
        (lambda: convert("x.safetensors", "y.safetensors", to="float16"),
         "convert x.safetensors y.safetensors --to float16", "exists; say `overwrite`", "exists; say --overwrite"),
        (lambda: inspect("x.safetensors", source="int4"),
         "inspect x.safetensors --from int4", "`source` is for .npy and", "--from is for .npy and"),
        (lambda: inspect("c.npy"), "inspect c.npy", "say it with `source`", "say it with --from"),
        (lambda: convert("x.safetensors", "z.safetensors", to="int8"),
         "convert x.safetensors z.safetensors --to int8", "`raw` converts all", "--raw converts all"),
        (lambda: convert("x.safetensors", "z.safetensors", to="int8", max_memory="1M"),
         "convert x.safetensors z.safetensors --to int8 --max-memory 1M", "`max_memory` must", "--max-memory must"),
        (lambda: convert("x.safetensors", "z.safetensors", to="float16", include="no"),
         "convert x.safetensors z.safetensors --to float16 --include no", "that `include` 'no'", "that --include 'no'"),
    ]  # fmt: skip
    for call, command, parameter, option in calls:
        with pytest.raises((FileError, ValueError)) as caught:
            call()
        assert parameter in str(caught.value)
        assert "--" not in str(caught.value)
        assert option in fail(*command.split(), *["--progress", "none"] * command.startswith("convert"))
