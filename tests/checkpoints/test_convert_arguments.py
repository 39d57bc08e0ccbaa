"""Arguments of `convert`, of any type and in any combination: an error names the parameter, and nothing is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import everything
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
def model(tmp_path: Path) -> Path:
    return write_tensors(tmp_path / "x.safetensors", {"a.0.q.weight": np.ones((32, 32), ml_dtypes.bfloat16)})


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    ("options", "parameter"),
    [*(({"to": "float8_e4m3fn"}, one) for one in CAST), *(({"recipe": "int8"}, one) for one in RECIPE)],
)
def test_values_of_any_type(options: dict[str, Any], parameter: str, value: str, model: Path, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError, FileError), match=parameter.replace("_", "[_-]")) as error:
        convert(model, tmp_path / "y.safetensors", **{**options, parameter: HOSTILE[value]})
    assert "\n" not in str(error.value)
    assert list(everything(tmp_path)) == ["x.safetensors"]


@pytest.mark.parametrize("value", ["integer", "float", "array", "list", "dict", "object", "null"])
@pytest.mark.parametrize("parameter", ["src", "dst"])
def test_paths(parameter: str, value: str, model: Path, tmp_path: Path) -> None:
    paths: dict[str, Any] = {"src": model, "dst": tmp_path / "y.safetensors", parameter: HOSTILE[value]}
    with pytest.raises((TypeError, ValueError, FileError)) as error:
        convert(paths["src"], paths["dst"], to="float8_e4m3fn")
    assert "\n" not in str(error.value)
    assert list(everything(tmp_path)) == ["x.safetensors"]


RULES: list[tuple[dict[str, Any], str]] = [
    ({"rounding": "stochastic"}, r"`seed` must be .*is stochastic; got None"),
    ({"rounding": "to_odd", "seed": 1}, r"`seed` must be None unless .*; got 1"),
    ({"seed": 1}, r"`seed` must be None unless .*; got 1"),
    ({"rounding": "stochastic", "seed": -1}, r"`seed` must be an integer from 0 .*; got -1"),
    ({"rounding": "stochastic", "seed": 1, "random_bits": 33}, r"`random_bits` must be .*; got 33"),
    ({"rounding": "up"}, r"`rounding` must be one of nearest_even, .*; got 'up'"),
    ({"overflow": "wrap"}, r"`overflow` must be one of sat_finite, .*; got 'wrap'"),
    ({"nan": 0}, r"`nan` must be one of signed, .*; got 0"),
    ({"to": "float8_e5m2", "rounding": "to_odd", "saturate": False}, r"`saturate` must be True.*`rounding`.*got False"),
    ({"to": "float8_e8m0fnu", "overflow": "ovf_inf", "round_mode": "up"}, r"`round_mode` must be None.*`overflow`.*up"),
    ({"to": "float8_e5m2", "nan": "zero", "opset": 24}, r"`opset` must be 28.* where `nan` is given; got 24"),
    ({"to": "int8", "rounding": "to_odd", "scale": "tensor"}, r"`to` must be a float .*`rounding` .*; got int8"),
    ({"scale_rule": "ceil"}, r"`scale_rule` must be None unless there is a `scale`; got 'ceil'"),
    ({"to": "int8", "nan": "zero", "raw": True}, r"`to` must be a float format where `nan` is given; got int8"),
]
SCALES: list[tuple[dict[str, Any], str]] = [
    ({"to": "int8", "scale_rule": "ceil"}, r"`scale_rule` .*powers of two; got 'ceil'.*float32"),
    ({"to": "int8", "scale_format": "float8_e8m0fnu", "scale_rule": "x"}, r"of floor, .*'x'"),
    ({"to": "uint8"}, "must be a signed format to be scaled"), ({"to": "float8_e8m0fnu"}, "must be a signed format"),
    ({"to": "bfloat16"}, "bfloat16"), ({"to": "int32"}, "int32"), ({"to": "int8", "scale": "rows"}, "`scale` must be"),
    ({"to": "int8", "scale": "block:0"}, "`scale` must be"), ({"to": "int8", "scale": "block:65537"}, "`scale` must"),
    ({"to": "int8", "scale": "axis:"}, "`scale` must"), ({"to": "int8", "scale_format": "int8"}, "`scale_f"),
    ({"to": "int8", "scale_format": "float64"}, "`scale_format` must be one of"), ({"to": "int4", "opset": 19}, "21"),
    ({"to": "int8", "opset": 13}, "opset|precision|output_dtype"),
]  # fmt: skip
RECIPES: list[tuple[dict[str, Any], str]] = [
    ({"recipe": "none"}, "`recipe` must be one of fp8-dynamic, fp8-block"),
    ({"to": "int8"}, "`to` must be None where there is a `recipe`; got 'int8'"),
    ({"recipe": "fn", "to": "float16"}, "`to` must be None where there is a `recipe`"),
    ({"scale": "axis:0"}, "`scale` must be 'none' where there is a `recipe`; got 'axis:0'"),
    ({"keep": "re:("}, r"`keep` must be a regular expression after re:; got 're:\(' "),
    ({"recipe": "mxfp8", "rounding": "to_odd"}, r"`rounding` must be None where there is a `recipe`; got 'to_odd'"),
    ({"recipe": "mxfp8", "seed": 3}, r"`seed` must be None where there is a `recipe`; got 3"),
    ({"recipe": "mxfp8", "scale_rule": "up"}, r"`scale_rule` must be one of floor, .*; got 'up'"),
    ({"scale_rule": "ceil"}, r"`scale_rule` .* unless `recipe` is one of mxfp4a16, .*int8"),
    ({"recipe": "fnuz", "scale_rule": "ceil"}, r"`scale_rule` must be None unless `recipe` is one of .* with fnuz"),
    ({"recipe": "fnuz", "also": "*"}, "`also` must be empty for fnuz, which changes all weights"),
]
LAYOUTS: list[tuple[dict[str, Any], str]] = [
    ({"overflow": "ovf_inf"}, r"`overflow` must be None .* a `layout`; got 'ovf_inf'"),
    ({"scale_rule": "ceil"}, r"`scale_rule` must be None where there is a `layout`; got 'ceil'"),
    ({"to": "bfloat16"}, "`to` must be None where there is a `layout`; got 'bfloat16'"),
    ({"recipe": "int8"}, "`recipe` must be None where there is a `layout`; got 'int8'"),
    ({"scale": "tensor"}, "`scale` must be 'none' where there is a `layout`; got 'tensor'"),
    ({"include": "*"}, "`include` must be .* where there is a `layout`"),
    ({"raw": True}, "`raw` must be False where there is a `layout`"),
    ({"keep": "*"}, "`keep` must be empty unless there is a `recipe`"),
    ({"layout": "gguf"}, "`layout` must be one of compressed-tensors, modelopt; got 'gguf'"),
    ({"layout": 3}, "`layout` must be one of compressed-tensors, modelopt; got 3"),
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "`to` must be a format unless there is a `recipe` or a `layout`; got None"),
    ({"to": "float16", "keep": "x"}, "`keep` must be empty unless there is a `recipe`; got 'x'"),
    ({"to": "bfloat16", "include": 3}, "`include` must be"), ({"to": "bfloat16", "exclude": "re:("}, "`exclude` must"),
    *(({"to": "bfloat16", **options}, text) for options, text in RULES),
    *(({"scale": "tensor", **options}, text) for options, text in SCALES),
    *(({"recipe": "int8", **options}, text) for options, text in RECIPES),
    *(({"layout": "compressed-tensors", **options}, text) for options, text in LAYOUTS),
]  # fmt: skip


@pytest.mark.parametrize(("options", "match"), REFUSED, ids=lambda one: "" if isinstance(one, str) else str(one))
def test_parameters_that_contradict(options: dict[str, Any], match: str, model: Path, tmp_path: Path) -> None:
    """Before anything is opened, but for scales."""
    source = model if "scale" in options else tmp_path / "missing.safetensors"
    with pytest.raises(ValueError, match=match):
        convert(source, tmp_path / "y.safetensors", **options)
    assert list(everything(tmp_path)) == ["x.safetensors"]


@pytest.mark.parametrize(
    ("options", "containers"),
    [({"recipe": "fp8-dynamic"}, r"file, or a folder of \.safetensors files, for fp8-dynamic"),
     ({"layout": "modelopt"}, "file, or a folder of them, for the layout modelopt")],
    ids=str,
)  # fmt: skip
def test_other_containers(options: dict[str, Any], containers: str, tmp_path: Path) -> None:
    """Rows in Fortran's order would be taken for others."""
    np.savez(tmp_path / "x.npz", **{"a.0.q.weight": np.asfortranarray(np.ones((32, 64), np.float32))})
    with pytest.raises(FileError, match=rf"x\.npz: must be a \.safetensors {containers}"):
        convert(tmp_path / "x.npz", tmp_path / "y.npz", **options)
    assert list(everything(tmp_path)) == ["x.npz"]


def test_all_but_these_decide_the_bytes(model: Path) -> None:
    """What is resumed must have the same ones: the format and the seed among them."""
    found = {name: one.default for name, one in inspect.signature(convert).parameters.items()}
    decisive = describe_job({**found, "to": "int8"}, open_container(model, None)).options
    assert found.keys() - decisive.keys() == {
        "src", "dst", "threads", "max_memory", "dry_run", "overwrite", "verify", "progress", "dask", "resume",
    }  # fmt: skip
