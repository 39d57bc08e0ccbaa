"""Storage dtypes: the table of docs/formats.md against the code and against what each library holds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.array_libraries import LIBRARIES, library
from support.command_line import run

import lowprec as lp
from lowprec.cli import formats
from lowprec.spec.formats import FORMATS, Format

COLUMNS = {"numpy": "NumPy", "torch": "torch", "cupy": "CuPy", "jax": "JAX", "dask": "Dask", "strict": "any other"}


def _cells() -> dict[str, dict[str, str]]:
    header, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in formats.storage_table().split("\n")
    )
    return {name: dict(zip(header, row, strict=True)) for row in rows for name in row[0].split(", ")}


def test_every_format_has_one_row() -> None:
    assert list(_cells()) == sorted(_cells(), key=list(_cells()).index)
    assert set(_cells()) == set(FORMATS)


def _namespace(name: str) -> Any:
    if name == "cupy":  # it names its types without a GPU too
        return pytest.importorskip("cupy")
    with library(name) as found:
        return found.namespace


def test_the_old_name() -> None:
    with pytest.warns(DeprecationWarning, match=r"^lowprec\.carrier is lowprec\.storage_dtype now$") as caught:
        old = lp.carrier
    assert caught[0].filename == __file__
    assert old is lp.storage_dtype


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("fmt", [f for f in FORMATS.values() if f.name != "string"], ids=lambda fmt: fmt.name)
def test_cells_are_what_storage_dtype_says(fmt: Format, name: str) -> None:
    cell, xp = _cells()[fmt.name][COLUMNS[name]], _namespace(name)
    if name == "jax" and fmt.name in ("float64", "int64", "uint64", "complex128"):
        assert cell == "its own"
        with pytest.raises(TypeError, match="switched on"):
            lp.storage_dtype(fmt, xp)
        return
    held = str(lp.storage_dtype(fmt, xp)).rpartition(".")[2]
    assert held == (fmt.name if cell in ("its own", "ml_dtypes") else re.search(r"(\w+) \w+$", cell)[1])
    assert (cell == "ml_dtypes") == (name not in ("torch", "strict") and held not in dir(np))


@pytest.mark.parametrize("name", [name for name in LIBRARIES if name in COLUMNS and name != "cupy"])
def test_strings_are_numpys(name: str) -> None:
    cell = _cells()["string"][COLUMNS[name]]
    if name == "numpy":
        assert (cell, lp.storage_dtype("string", np)) == ("`str` objects", np.dtype(object))
        return
    assert cell == "none"
    with pytest.raises(TypeError, match="`xp` must be an array library that can hold string: numpy, in arrays of str"):
        lp.storage_dtype("string", _namespace(name))


def test_command() -> None:
    assert run("formats", "--storage-dtypes") == formats.storage_table() + "\n"
    with pytest.raises(SystemExit):
        run("formats", "--storage-dtypes", "int4")
