"""A program that quantizes an array in chunks and stores the parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("dask")

import dask.array as da
import ml_dtypes

import lowprec as lp

X = np.random.default_rng(2).normal(size=(60, 40)).astype(np.float32)
CODES = np.clip(X * 100, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
VALUES = CODES.view(ml_dtypes.float8_e4m3fn).astype(np.float32)


def test_codes_are_stored_in_npy_parts(tmp_path: Path) -> None:
    lazy = lp.encode(da.from_array(X, chunks=(20, 40)) * 100, "float8_e4m3fn")
    da.to_npy_stack(tmp_path / "parts", lazy, axis=0)
    parts = [np.load(tmp_path / "parts" / f"{n}.npy") for n in range(3)]
    assert [one.shape for one in parts] == [(20, 40)] * 3
    assert (np.concatenate(parts) == CODES).all()
    back = lp.decode(da.from_npy_stack(tmp_path / "parts"), "float8_e4m3fn")
    assert (back.compute() == VALUES).all()


def test_codes_are_stored_in_zarr(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    lazy = lp.encode(da.from_array(X, chunks=(20, 20)) * 100, "float8_e4m3fn")
    lazy.to_zarr(str(tmp_path / "x.zarr"))
    stored = da.from_zarr(str(tmp_path / "x.zarr"))
    assert (lp.decode(stored, "float8_e4m3fn").compute() == VALUES).all()


def test_scales_of_rows_across_chunks() -> None:
    q = lp.quantize(da.from_array(X, chunks=(20, 20)), "int8", axis=0)
    scale = np.abs(X).max(1, keepdims=True) / np.float32(127)
    assert (q.codes.compute() == np.rint(X / scale)).all()
    assert (q.dequantize().compute() == np.rint(X / scale) * scale).all()


def test_an_xarray_gives_its_data() -> None:
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(X, dims=("row", "column"))
    assert (lp.cast(named.data, "float16") == X.astype(np.float16)).all()
    assert (xarray.apply_ufunc(lp.cast, named, "float16").data == X.astype(np.float16)).all()
    with pytest.raises(TypeError, match=r"got xarray\..*: pass `\.data`$"):
        lp.cast(named, "float16")
