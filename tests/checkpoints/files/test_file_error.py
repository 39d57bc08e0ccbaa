"""`FileError`: an OSError, whose message names the path once, whatever passes it on; `read_array` and `write_array`."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.safetensors_writer import save_file

import lowprec as lp
from lowprec import checkpoints
from lowprec.checkpoints import FileError, read_array, write_array


def _deep(path: Path) -> Path:
    """Make a folder whose parts are too deep: `files_in` refuses it, inside the loop over what it holds."""
    path.mkdir()
    os.makedirs(path.joinpath(*["a"] * 105))
    return path


def _large_configuration(path: Path) -> Path:
    path.mkdir()
    save_file({"w.weight": np.float32([[1, 2], [3, 4]])}, path / "model.safetensors")
    (path / "config.json").write_text(json.dumps({"a": "x" * (17 << 20)}), encoding="utf-8")
    return path


def _convert(path: Path, **options: Any) -> object:
    return checkpoints.convert(path, path.with_name(f"out{path.suffix}"), to="float16", **options)


CASES: dict[str, tuple[Callable[[Path], Any], Callable[[Path], object]]] = {
    "open what is missing": (lambda path: path / "m.safetensors", checkpoints.open),
    "convert what is missing": (lambda path: path / "m.gguf", _convert),
    "read what is missing": (lambda path: path / "m.npy", read_array),
    "open what is deep": (lambda path: _deep(path / "d"), checkpoints.open),
    "convert with a large description": (lambda path: _large_configuration(path / "d"), _convert),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_an_os_error_that_names_the_path_once(name: str) -> None:
    make, call = CASES[name]
    path = make(Path.cwd())
    with pytest.raises(OSError, match=f"^{path}") as caught:
        call(path)
    text = str(caught.value)
    assert isinstance(caught.value, FileError)
    assert text.count(str(path)) == 1, text
    assert text.count("cannot be") + text.count("No such file") <= 1, text
    assert (caught.value.errno, caught.value.filename) == (None, None)
    assert caught.value.__cause__ is None
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), text)


@pytest.mark.parametrize("kind", [str, Path, lambda path: type("", (), {"__fspath__": lambda _: str(path)})()])
@pytest.mark.parametrize(
    "spelled", ["float8_e4m3fn", 17, lp.formats["float8_e4m3fn"], lp.formats["float8_e4m3fn"].dtype]
)
@pytest.mark.parametrize("name", ["x.npz", "x.npy"])
def test_paths_and_formats_in_any_spelling(kind: Any, spelled: object, name: str) -> None:
    path, codes = Path(name), np.uint8([1, 0x7F, 0xFF])
    if name == "x.npz":
        write_array(kind(path), codes, spelled)
    else:
        np.save(path, codes)
    array, fmt = read_array(kind(path), None if name == "x.npz" else spelled)
    assert (array.tobytes(), fmt) == (codes.tobytes(), lp.formats["float8_e4m3fn"])
