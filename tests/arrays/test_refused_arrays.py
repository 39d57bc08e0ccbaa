"""What is no array is refused, and the message says what makes one."""

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
    (None, "NoneType"), ({}, "dict"), (1, "int: pass `np.asarray(...)` of it"), (memoryview(b"1"), "memoryview"),
], ids=lambda one: one if isinstance(one, str) else "x")  # fmt: skip
def test_what_makes_an_array_of_it(x: Any, advice: str) -> None:
    for name, call in (
        ("x", lambda: lp.cast(x, "float16")), ("codes", lambda: lp.decode(x, "float16")),
        ("packed", lambda: lp.unpack(x, "int4", (1,))), ("x", lambda: lp.dequantize_linear(x, 2.0)),
    ):  # fmt: skip
        with pytest.raises(TypeError) as raised:
            call()
        assert str(raised.value) == f"`{name}` {WANTED}{advice}"
    with pytest.raises(TypeError) as raised:
        lp.checkpoints.save("x.npz", {"w": x})
    assert str(raised.value) == f"`arrays['w']` {WANTED}{advice.removesuffix(': the array comes first')}"


def test_what_quantize_returned() -> None:
    quantized = lp.quantize(np.ones(2, np.float32), "int8")
    with pytest.raises(TypeError) as raised:
        lp.dequantize_linear(quantized, 0.5)
    advice = "lowprec.Quantized: `lp.dequantize` takes it, and `.codes` are its codes"
    assert str(raised.value) == f"`x` {WANTED}{advice}"


def test_a_file_of_awq_without_its_folder(tmp_path: Path) -> None:
    tensors = {"m.qweight": np.zeros((64, 8), np.int32), "m.qzeros": np.zeros((1, 8), np.int32)}
    lp.checkpoints.save(tmp_path / "x.safetensors", {**tensors, "m.scales": np.ones((1, 64), np.float16)})
    with lp.checkpoints.open(tmp_path / "x.safetensors") as checkpoint:
        with pytest.raises(FileError) as raised:
            checkpoint.read("m.qweight")
        assert "it would not be applied; open the folder, whose config.json describes it (raw=True" in str(raised.value)
        assert checkpoint.read("m.qweight", raw=True).dtype == np.int32
