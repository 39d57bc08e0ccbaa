"""Columns of pandas, Arrow and xarray: their arrays are taken, and a message says how to get at them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp


def test_columns_of_pandas_and_arrow() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": [0.1, -2.5, 1000.0], "b": [1, 2, 300]})
    for name in frame:
        values = frame[name].to_numpy()
        codes = lp.encode(values, "float8_e4m3fn")
        wanted = np.clip(values, -448, 448).astype(ml_dtypes.float8_e4m3fn)
        assert codes.tolist() == wanted.view(np.uint8).tolist()
        frame[f"{name} in float8"] = lp.decode(codes, "float8_e4m3fn")
        column = arrow.array(codes)  # Arrow has no float8: codes are uint8
        assert lp.decode(column.to_numpy(), "float8_e4m3fn").tolist() == wanted.astype(np.float32).tolist()
    assert frame["a in float8"].tolist() == [0.1015625, -2.5, 448.0]
    with pytest.raises(TypeError, match=r"pass `\.to_numpy\(\)`$"):
        lp.encode(frame["a"], "float8_e4m3fn")


def test_an_xarray_gives_its_data() -> None:
    xarray = pytest.importorskip("xarray")
    x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
    named = xarray.DataArray(x, dims=("row", "column"))
    assert (lp.cast(named.data, "float16") == x.astype(np.float16)).all()
    assert (xarray.apply_ufunc(lp.cast, named, "float16").data == x.astype(np.float16)).all()
    with pytest.raises(TypeError, match=r"got xarray\..*: pass `\.data`$"):
        lp.cast(named, "float16")
