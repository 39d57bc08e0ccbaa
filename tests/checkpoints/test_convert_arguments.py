"""Arguments of `convert` of any type: an error that names the parameter, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import leftovers
from support.typed_tensors import write_tensors

from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError


class Incomparable:
    """A value that fails wherever it is compared, or asked whether it is true."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __bool__(self) -> bool:
        raise RuntimeError("asked")


HOSTILE: dict[str, Any] = {
    "integer": -5, "float": 1.5, "bytes": b"x", "array": np.zeros(3), "list": [1], "text": "no such\nthing",
    "dict": {"a": 1}, "object": object(), "incomparable": Incomparable(), "surrogate": "\udc80", "null": "a\0b",
}  # fmt: skip

CAST = ("to", "saturate", "raw", "verify", "dry_run", "overwrite", "follow_links", "include", "exclude", "round_mode",
        "opset", "scale", "scale_format", "threads", "max_memory", "progress")  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_tensors(tmp_path / "x.safetensors", {"a.0.q.weight": np.ones((32, 32), ml_dtypes.bfloat16)})


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("parameter", CAST)
def test_of_a_cast(parameter: str, value: str, model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"to": "float8_e4m3fn", parameter: HOSTILE[value]}
    with pytest.raises((TypeError, ValueError, FileError), match=parameter.replace("_", "[_-]")) as error:
        convert(model, tmp_path / "y.safetensors", **options)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "y.safetensors").exists()
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "parameter",
    ["recipe", "keep", "also", "to", "source", "include", "saturate", "round_mode", "opset", "scale", "raw"],
)
def test_with_a_recipe(parameter: str, value: str, model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"recipe": "int8", parameter: HOSTILE[value]}
    with pytest.raises((TypeError, ValueError, FileError), match=parameter) as error:
        convert(model, tmp_path / "y.safetensors", **options)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "y.safetensors").exists()
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("value", ["integer", "float", "array", "list", "dict", "object", "null"])
@pytest.mark.parametrize("parameter", ["src", "dst"])
def test_paths(parameter: str, value: str, model: Path, tmp_path: Path) -> None:
    paths = {"src": model, "dst": tmp_path / "y.safetensors", parameter: HOSTILE[value]}
    with pytest.raises((TypeError, ValueError, FileError)) as error:
        convert(paths["src"], paths["dst"], to="float8_e4m3fn")
    assert "\n" not in str(error.value)
    assert not leftovers(tmp_path)


def test_a_recipe_for_other_containers(tmp_path: Path) -> None:
    """Rows in Fortran's order would be taken for others."""
    np.savez(tmp_path / "x.npz", **{"a.0.q.weight": np.asfortranarray(np.ones((32, 64), np.float32))})
    with pytest.raises(
        FileError, match=r"x\.npz: must be a \.safetensors file, or a folder of \.safetensors files, for fp8-dynamic"
    ):
        convert(tmp_path / "x.npz", tmp_path / "y.npz", recipe="fp8-dynamic")


@pytest.mark.parametrize(
    "options",
    [{"to": "bfloat16", "include": 3}, {"to": "bfloat16", "exclude": "re:("}, {"recipe": "fnuz", "also": "*"}],
)
def test_before_anything_is_opened(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"`{list(options)[-1]}` must be"):
        convert(tmp_path / "missing.safetensors", tmp_path / "y.safetensors", **options)
