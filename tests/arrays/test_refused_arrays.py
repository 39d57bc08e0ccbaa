"""What is no array is refused, and the message says what makes one; messages name libraries as people do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.optional import optional

import lowprec as lp
from lowprec.checkpoints.files.errors import FileError

torch: Any = optional("torch")

WANTED = "must be an array (NumPy, torch, or any array-API library); got "


def made(library: str, name: str, **attributes: Any) -> Any:
    """Return an object of a class that seems to be of a library."""
    return type(name, (), {"__module__": f"{library}.core", **attributes})()


@pytest.mark.parametrize(("x", "advice"), [
    ([1.0], "list: pass `np.asarray(...)` of it"), ((1.0, 2.0), "tuple: pass `np.asarray(...)` of it"),
    (1.5, "float: pass `np.asarray(...)` of it"), (True, "bool: pass `np.asarray(...)` of it"),
    (np.ma.array([1.0]), "numpy.ma.MaskedArray: pass `.data`, which leaves the mask out"),
    (made("xarray", "DataArray", to_numpy=None), "xarray.core.DataArray: pass `.data`"),
    (made("zarr", "Array"), "zarr.core.Array: pass `[...]`, which reads it"),
    (made("pandas", "Series", to_numpy=None), "pandas.core.Series: pass `.to_numpy()`"),
    (made("pyarrow", "Array", to_numpy=None), "pyarrow.core.Array: pass `.to_numpy()`"),
    ("float16", "str: the array comes first"), (lp.formats["int8"], "lowprec.Format: the array comes first"),
    (np.float32, "type: the array comes first"), (np.dtype("f4"), "numpy.dtypes.Float32DType: the array comes first"),
    (None, "NoneType"), ({}, "dict"),
], ids=lambda one: one if isinstance(one, str) else "x")  # fmt: skip
def test_what_makes_an_array_of_it(x: Any, advice: str) -> None:
    for call in (lambda: lp.cast(x, "float16"), lambda: lp.absmax_scale(x, "int8"), lambda: lp.to_numpy(x)):
        with pytest.raises(TypeError) as raised:
            call()
        assert str(raised.value) == f"`x` {WANTED}{advice}"
    with pytest.raises(TypeError) as raised:
        lp.checkpoints.save("x.npz", {"w": x})
    assert str(raised.value) == f"`arrays['w']` {WANTED}{advice.removesuffix(': the array comes first')}"


def test_what_quantize_returned() -> None:
    quantized = lp.quantize(np.ones(2, np.float32), "int8")
    with pytest.raises(TypeError) as raised:
        lp.dequantize_linear(quantized, 0.5)
    advice = "lowprec.Quantized: `lp.dequantize` takes it, and `.codes` are its codes"
    assert str(raised.value) == f"`x` {WANTED}{advice}"


def test_operands_that_are_texts() -> None:  # what comes second is no array that should have come first
    x = np.ones(2, np.float32)
    for call in (lambda: lp.quantize_linear(x, "0.5", output_dtype="int8"), lambda: lp.cast_like(x, "float16")):
        with pytest.raises(TypeError, match=r"; got str$"):
            call()


def test_numbers_in_an_array_of_objects() -> None:
    with pytest.raises(TypeError) as raised:
        lp.cast(np.array([1.5, None], object), "float16")
    assert str(raised.value) == "`x` must hold text as str; got float at index (0,): `x.astype(float)` holds numbers"


def test_libraries_have_their_names() -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(TypeError, match=r"^`scale` must be a torch tensor, as `x` is; got a NumPy array$"):
        lp.quantize_linear(torch.ones(2), x[:1], axis=0, output_dtype="int8")
    with pytest.raises(TypeError, match=r"^`scale` must be a NumPy array, as `x` is; got a torch tensor$"):
        lp.quantize_linear(x, torch.ones(1), axis=0, output_dtype="int8")
    with pytest.raises(TypeError, match=r"^`out` must be a NumPy array, as `x` is; got a torch tensor$"):
        lp.cast(x, "float16", out=torch.ones(2))


def test_codes_of_blocks_without_a_name() -> None:
    with pytest.raises(ValueError, match=r"or int8; got uint8: name the format of codes by `source`$"):
        lp.mx_dequantize(np.zeros(32, np.uint8), np.ones(1, np.uint8))
    with pytest.raises(ValueError, match=r"got int16$"):
        lp.mx_dequantize(np.zeros(32, np.int16), np.ones(1, np.uint8))


def test_a_file_of_awq_without_its_folder(tmp_path: Path) -> None:
    tensors = {"m.qweight": np.zeros((64, 8), np.int32), "m.qzeros": np.zeros((1, 8), np.int32)}
    lp.checkpoints.save(tmp_path / "x.safetensors", {**tensors, "m.scales": np.ones((1, 64), np.float16)})
    with lp.checkpoints.open(tmp_path / "x.safetensors") as checkpoint:
        with pytest.raises(FileError) as raised:
            checkpoint.read("m.qweight")
        assert "it would not be applied; open the folder, whose config.json describes it (raw=True" in str(raised.value)
        assert checkpoint.read("m.qweight", raw=True).dtype == np.int32
