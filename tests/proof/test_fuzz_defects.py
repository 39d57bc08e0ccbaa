"""What fuzzing found, once it is mended, and no input of the corpus shows: the smallest input of each."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.checkpoint_files import everything, raw_file, save
from support.quantized_checkpoints import LAYOUTS, P, write, write_folder

from lowprec.checkpoints import convert, inspect
from lowprec.checkpoints import open as open_checkpoint
from lowprec.checkpoints.files.errors import FileError


@pytest.mark.parametrize("dtype", [np.float64, "F8_E4M3"])
def test_scales_of_a_format_that_has_no_dequantize_linear(dtype: object, tmp_path: Path) -> None:
    """`open` and `convert` raised the ValueError of `dequantize_linear`, which named a parameter of neither."""
    path = tmp_path / "x.safetensors"
    if isinstance(dtype, str):
        write(path, {"w": ("F8_E4M3", (4, 8)), "w_scale": (dtype, (4, 1))})
    else:
        save(path, {"w": np.ones((4, 8), np.int8), "w_scale": np.ones(4, np.float64)})
    with open_checkpoint(path) as checkpoint:
        with pytest.raises(
            FileError, match=r"'w' \(\w+\) belongs with 'w_scale', their scales; it would not be applied"
        ):
            checkpoint["w"]
        assert checkpoint.read("w", raw=True).shape == (4, 8)
    with pytest.raises(FileError, match="belongs with 'w_scale'"):
        convert(path, tmp_path / "y.safetensors", to="float32")


def test_scales_of_a_described_layout_in_such_a_format(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in", LAYOUTS["compressed-tensors int8"])
    for shard in folder.glob("*.safetensors"):
        content = shard.read_bytes().replace(b'"BF16", "shape": [4, 1]', b'"F64", "shape": [1, 1] ')
        shard.write_bytes(content)
    with pytest.raises(FileError, match=r"'.*weight_scale': must hold float32, .*, to be scales; got F64"):
        open_checkpoint(folder)


def test_two_members_that_would_have_one_name(tmp_path: Path) -> None:
    """The archive had the name twice, and a warning of zipfile reached the user."""
    np.savez(tmp_path / "x.npz", w=np.ones(4, np.float32))
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("w.npy", b"no array")
    before = everything(tmp_path)
    with pytest.raises(FileError, match=r"y\.npz: would have two members of the name 'w\.npy'"):
        convert(tmp_path / "x.npz", tmp_path / "y.npz", to="float16")
    assert everything(tmp_path) == before


def test_a_long_name_in_an_archive(tmp_path: Path) -> None:
    """Zipfile says it in full, and the line had its 60,000 characters."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a" * 60000, b"text")
    content = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(content.replace(b"a" * 60000, b"b" + b"a" * 59999, 1))
    with pytest.raises(FileError, match=r"must be a readable \.npz archive") as caught:
        inspect(tmp_path / "x.npz")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("layout", "options"), [
    ("mistral", {"layout": "modelopt"}), ("awq", {"to": "bfloat16"}), ("gptq", {"to": "bfloat16"}),
    ("modelopt fp8", {"layout": "modelopt"}), ("unknown scale", {"to": "bfloat16"}),
])  # fmt: skip
def test_errors_of_convert_name_the_checkpoint(layout: str, options: dict[str, str], tmp_path: Path) -> None:
    """Those about a tensor named it alone, and those about a setting no file that one could find."""
    folder = write_folder(tmp_path / "in", LAYOUTS[layout])
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config.get("quantization_config", {})["bits"] = 5
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(FileError) as caught:
        convert(folder, tmp_path / "out", **options)
    assert str(caught.value).count(str(folder)) == 1
    assert not (tmp_path / "out").exists()


def test_an_error_while_values_are_read_names_the_checkpoint(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in", LAYOUTS["deepseek v3"])
    [shard] = [one for one in folder.glob("*.safetensors") if b"scale_inv" in one.read_bytes()]
    header, _, _ = shard.read_bytes().rpartition(b"}")
    content = bytearray(shard.read_bytes())
    places = json.loads(content[8 : len(header) + 1])[f"{P}.weight_scale_inv"]["data_offsets"]
    content[len(header) + 1 + places[0] : len(header) + 1 + places[1]] = np.float32([np.nan]).tobytes()
    shard.write_bytes(content)
    with pytest.raises(FileError, match=rf"^{folder}: '.*weight_scale_inv': has a scale that is NaN"):
        convert(folder, tmp_path / "out", to="bfloat16")


@pytest.mark.parametrize("shape", [[0, 2**62], [2**40, 2**40, 0], [2**63 - 1, 0]])
def test_axes_that_no_array_can_have(shape: list[int], tmp_path: Path) -> None:
    """NumPy's ValueError came out of `read`."""
    path = raw_file(tmp_path / "x.safetensors", {"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}})
    assert inspect(path)[0].shape == tuple(shape)
    with (
        open_checkpoint(path) as checkpoint,
        pytest.raises(FileError, match=f"^{path}: 'w': has the shape .* no array"),
    ):
        checkpoint["w"]


def test_more_axes_than_an_array_can_have(tmp_path: Path) -> None:
    stream = io.BytesIO()
    fields = {"descr": "<f4", "fortran_order": False, "shape": (1,) * 65}
    np.lib.format.write_array_header_1_0(stream, fields)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("w.npy", stream.getvalue() + bytes(4))
    with open_checkpoint(tmp_path / "x.npz") as checkpoint, pytest.raises(FileError, match="which no array can have"):
        checkpoint["w"]
