"""Arguments of `convert`, of any type and in any combination: an error names the parameter, and nothing is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import convert_fails, everything
from support.paths import table
from support.typed_tensors import write_tensors

from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.registry import open_container
from lowprec.checkpoints.convert_arguments import describe_job
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
RECIPE = ("recipe", "keep", "also", "to", "source", "include", "saturate", "round_mode", "opset", "scale", "raw")


@pytest.fixture
def model() -> Path:
    return write_tensors(Path("x.safetensors"), {"a.0.q.weight": np.ones((32, 32), ml_dtypes.bfloat16)})


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    ("options", "parameter"),
    [*(({"to": "float8_e4m3fn"}, one) for one in CAST), *(({"recipe": "int8"}, one) for one in RECIPE)],
)
def test_values_of_any_type(options: dict[str, Any], parameter: str, value: str, model: Path) -> None:
    with pytest.raises((TypeError, ValueError, FileError), match=parameter.replace("_", "[_-]")) as error:
        convert(model, "y.safetensors", **{**options, parameter: HOSTILE[value]})
    assert "\n" not in str(error.value)
    assert list(everything(Path())) == ["x.safetensors"]


@pytest.mark.parametrize("value", ["integer", "float", "array", "list", "dict", "object", "null"])
@pytest.mark.parametrize("parameter", ["src", "dst"])
def test_paths(parameter: str, value: str, model: Path) -> None:
    paths: dict[str, Any] = {"src": model, "dst": Path("y.safetensors"), parameter: HOSTILE[value]}
    with pytest.raises((TypeError, ValueError, FileError)) as error:
        convert(paths["src"], paths["dst"], to="float8_e4m3fn")
    assert "\n" not in str(error.value)
    assert list(everything(Path())) == ["x.safetensors"]


COMMON: dict[str, dict[str, Any]] = {
    "plain": {}, "rules": {"to": "bfloat16"}, "scales": {"scale": "tensor"}, "recipes": {"recipe": "int8"},
    "layouts": {"layout": "compressed-tensors"},
}  # fmt: skip
REFUSED = [({**COMMON[kind], **options}, text) for kind, rows in table(__file__).items() for options, text in rows]
"""Options that contradict each other, and what is said of them."""


@pytest.mark.parametrize(("options", "match"), REFUSED, ids=lambda one: "" if isinstance(one, str) else str(one))
def test_parameters_that_contradict(options: dict[str, Any], match: str, model: Path) -> None:
    """Before anything is opened, but for scales."""
    source = model if "scale" in options else Path("missing.safetensors")
    with pytest.raises(ValueError, match=match):
        convert(source, "y.safetensors", **options)
    assert list(everything(Path())) == ["x.safetensors"]


@pytest.mark.parametrize(
    ("options", "containers"),
    [({"recipe": "fp8-dynamic"}, r"file, or a folder of \.safetensors files, for fp8-dynamic"),
     ({"layout": "modelopt"}, "file, or a folder of them, for the layout modelopt")],
    ids=str,
)  # fmt: skip
def test_other_containers(options: dict[str, Any], containers: str) -> None:
    """Rows in Fortran's order would be taken for others."""
    np.savez("x.npz", **{"a.0.q.weight": np.asfortranarray(np.ones((32, 64), np.float32))})
    convert_fails(rf"x\.npz: must be a \.safetensors {containers}", "x.npz", "y.npz", **options)


def test_all_but_these_decide_the_bytes(model: Path) -> None:
    """What is resumed must have the same ones: the format and the seed among them."""
    found = {name: one.default for name, one in inspect.signature(convert).parameters.items()}
    decisive = describe_job({**found, "to": "int8"}, open_container(model, None)).options
    assert found.keys() - decisive.keys() == {
        "src", "dst", "threads", "max_memory", "dry_run", "overwrite", "verify", "progress", "dask", "resume",
    }  # fmt: skip
