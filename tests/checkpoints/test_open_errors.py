"""`lowprec.checkpoints.open`: errors that name what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.quantized_checkpoints import LAYOUTS, READ, REFUSED, TOOLS, name_of_values, tensors_of, write, write_folder
from support.typed_tensors import BF16, F8, W, block_model, random_codes, write_tensors

import lowprec as lp
from lowprec.checkpoints.files.errors import FileError

pytestmark = pytest.mark.usefixtures("working_folder")

E = "model.layers.0.mlp.experts."


def test_names_that_are_not_there() -> None:
    folder, _ = block_model()
    with lp.checkpoints.open(folder) as checkpoint:
        for name, text in [
            (W + "_scale_inv", "is a part of 'model.layers.0.mlp.up_proj.weight' .*raw=True"),
            ("up_proj.weight", "has no tensor 'up_proj.weight'; did you mean 'model.layers.0.mlp.up_proj.weight'"),
            ("model.layers.0.mlp.up_proj.weigth", "did you mean 'model.layers.0.mlp.up_proj.weight'"),
            ("zzz", "model: has no tensor 'zzz'\""),
        ]:
            for call in (checkpoint.__getitem__, checkpoint.read, checkpoint.info):
                with pytest.raises(KeyError, match=text):
                    call(name)
        with pytest.raises(KeyError, match="names are texts, not int"):
            checkpoint[3]
        with pytest.raises(KeyError, match=r"did you mean .* or 'n\.weight'"):
            checkpoint.read("weight", raw=True)


def test_raw_names_of_packed_weights() -> None:
    folder = write_folder(Path("in"), LAYOUTS["gpt-oss"])
    with lp.checkpoints.open(folder) as checkpoint:
        with pytest.raises(KeyError, match=r"gate_up_proj_blocks', '.*gate_up_proj_scales', which are what raw=True"):
            checkpoint.read(E + "gate_up_proj", raw=True)
        with pytest.raises(KeyError, match=r"is a part of .* \(codes\)"):
            checkpoint[E + "gate_up_proj_blocks"]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [({"to": "int8"}, ValueError, "`to` must be bfloat16, float16, float32 or None; got 'int8'"),
     ({"to": "no"}, ValueError, "`to` must"),
     ({"library": "jax"}, ValueError, "`library` must be one of numpy, torch; got 'jax'"),
     ({"rows": 3}, TypeError, "`rows` must be a slice; got int"),
     ({"rows": slice(0, 4, 2)}, ValueError, "`rows` must be a slice without a step"),
     ({"name": "s", "rows": slice(0, 1)}, ValueError, "`rows` must be None for a tensor without axes")],
)  # fmt: skip
def test_arguments(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    np.savez("x.npz", w=np.ones((4, 4)), s=np.float32(1))
    with lp.checkpoints.open("x.npz") as checkpoint, pytest.raises(error, match=text):
        checkpoint.read(**{"name": "w", **arguments})


def test_closed() -> None:
    folder, _ = block_model()
    checkpoint = lp.checkpoints.open(folder)
    checkpoint.close()
    checkpoint.close()
    with pytest.raises(ValueError, match="the checkpoint 'model' is closed"):
        checkpoint[W]
    assert len(checkpoint) == 2


@pytest.mark.parametrize(
    ("arguments", "error"), [({"source": "string"}, ValueError), ({"max_memory": "x"}, ValueError)]
)
def test_arguments_of_open(arguments: dict[str, Any], error: type[Exception]) -> None:
    np.save("x.npy", np.ones(3))
    with pytest.raises(error, match=next(iter(arguments))):
        lp.checkpoints.open("x.npy", **arguments)


def test_codes_of_a_format_that_the_file_does_not_name() -> None:
    np.save("x.npy", random_codes((3, 4)).view("V1"))
    with lp.checkpoints.open("x.npy", source="float8_e4m3fn") as checkpoint:
        assert checkpoint["x.npy"].tobytes() == random_codes((3, 4)).tobytes()
        assert checkpoint["x.npy"].dtype == F8


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_scales_that_are_none(value: float) -> None:
    scales = np.ones((2, 2), np.float32)
    scales[1, 1] = value
    write_tensors(Path("x.safetensors"), {W: random_codes((130, 200)), W + "_scale_inv": scales})
    with (
        lp.checkpoints.open("x.safetensors") as checkpoint,
        pytest.raises(FileError, match=r"x\.safetensors: .* scale that is NaN"),
    ):
        checkpoint[W]


def test_broken_files() -> None:
    with pytest.raises(FileError, match="nothing: No such file"):
        lp.checkpoints.open("nothing")
    folder, _ = block_model()
    with lp.checkpoints.open(folder) as checkpoint:
        shard = folder / "a.safetensors"
        shard.write_bytes(shard.read_bytes()[:-100])
        with pytest.raises(FileError, match=r"a\.safetensors: cannot be read; it ended early"):
            checkpoint[W]
    with pytest.raises(FileError, match=r"a\.safetensors: must be a readable \.safetensors file"):
        lp.checkpoints.open(folder)
    write_tensors(Path("y.safetensors"), {W: random_codes((130, 200)), W + "_scale_inv": np.ones((3, 3), np.float32)})
    with pytest.raises(FileError, match=r"y\.safetensors: .*fits no weight of shape"):
        lp.checkpoints.open("y.safetensors")


def test_two_tensors_of_one_name() -> None:
    Path("in").mkdir()
    for shard in "ab":
        write_tensors(Path(f"in/{shard}.safetensors"), {"w": np.ones(3, np.float32)})
    with pytest.raises(FileError, match="in: has two tensors for the name 'w'"):
        lp.checkpoints.open("in")


def test_what_holds_no_numbers() -> None:
    np.savez("x.npz", text=np.array(["a"]), w=np.ones(3))
    with lp.checkpoints.open("x.npz") as checkpoint:
        assert list(checkpoint) == ["text.npy", "w"]
        with pytest.raises(FileError, match="holds no numbers that can be read"):
            checkpoint["text.npy"]


@pytest.mark.parametrize("name", READ)
def test_layouts_that_are_read(name: str) -> None:
    checkpoint = LAYOUTS[name]
    folder = write_folder(Path("in"), checkpoint)
    with lp.checkpoints.open(folder) as found:
        assert found.keys() == (tensors_of(checkpoint).keys() - checkpoint.quantized.keys()) | {
            name_of_values(checkpoint)
        }
        assert found[name_of_values(checkpoint)].dtype == BF16


@pytest.mark.parametrize("name", REFUSED)
def test_layouts_that_are_not_read(name: str) -> None:
    """Codes are never returned without the scales that belong to them, unless they are asked for."""
    checkpoint = LAYOUTS[name]
    folder = write_folder(Path("in"), checkpoint)
    with lp.checkpoints.open(folder) as found:
        if checkpoint.codes in found:
            expected = rf"quantized by {TOOLS[name]}, .* \(raw=True" if name in TOOLS else r"not be applied \(raw=True"
            with pytest.raises(FileError, match=expected):
                found[checkpoint.codes]
        else:  # a layout that is read now
            assert found[name_of_values(checkpoint)].dtype == BF16
        assert found.read(checkpoint.codes, raw=True).shape == checkpoint.quantized[checkpoint.codes][1]
        assert found["lm_head.weight"].shape == (4, 8)


def test_scales_of_columns(tmp_path: Path) -> None:
    """ModelOpt's AWQ multiplies the inputs by them: without, the values would be others."""
    names = ("weight", "weight_scale", "weight_scale_2", "pre_quant_scale")
    types = (("U8", (4, 8)), ("F8_E4M3", (4, 1)), ("F32", ()), ("BF16", (16,)))
    path = write(tmp_path / "x.safetensors", {f"a.{name}": one for name, one in zip(names, types, strict=True)})
    with pytest.raises(FileError, match=r"'a\.pre_quant_scale': is a scale of columns, which is not supported"):
        lp.checkpoints.open(path)
