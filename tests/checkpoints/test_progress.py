"""Progress by a function of the caller: what it is told, where it is called, and what an error of it does."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec.checkpoints import check, convert
from lowprec.checkpoints.progress import make_progress

SIZES = {"a": 400_000, "b": 3, "c": 70_000}


class StoppedError(Exception):
    pass


def _stop(done: int, total: int, name: str) -> None:
    raise StoppedError


@pytest.fixture
def source() -> Path:
    lp.checkpoints.save("x.safetensors", {name: np.ones((n, 2), np.float32) for name, n in SIZES.items()})
    return Path("x.safetensors")


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize(("options", "passes"), [({"to": "float16"}, 1), ({"to": "int8", "scale": "tensor"}, 2)])
def test_it_is_told_bytes_and_names(source: Path, options: dict[str, Any], passes: int, verify: bool) -> None:
    told: list[tuple[int, int, str]] = []
    places: set[int] = set()

    def note(done: int, total: int, name: str) -> None:
        told.append((done, total, name))
        places.add(threading.get_ident())

    convert(source, "y.safetensors", progress=note, verify=verify, max_memory="128M", threads=2, **options)
    nbytes = {name: 8 * n * passes * (1 + verify) for name, n in SIZES.items()}
    assert {total for _, total, _ in told} == {sum(nbytes.values())}
    assert places == {threading.get_ident()}
    done = [0, *(one for one, _, _ in told)]
    assert done[-1] == sum(nbytes.values())
    of: dict[str, int] = {}
    for before, after, (_, _, name) in zip(done, done[1:], told, strict=False):
        assert after > before
        of[name] = of.get(name, 0) + after - before
    assert of == nbytes


@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("error", [StoppedError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [None, b"old"])
def test_an_error_of_it_ends_the_conversion(
    source: Path, call: int, error: type[BaseException], before: bytes | None
) -> None:
    if before is not None:
        Path("y.safetensors").write_bytes(before)
    listed = sorted(os.listdir())
    calls = 0

    def stop(done: int, total: int, name: str) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error("enough")

    with pytest.raises(error, match="enough"):
        convert(source, "y.safetensors", to="int8", scale="tensor", progress=stop, threads=2, overwrite=True)
    assert sorted(os.listdir()) == listed
    assert before is None or Path("y.safetensors").read_bytes() == before
    assert calls == call
    assert not [one for one in threading.enumerate() if one.name.startswith("lowprec")]


def test_what_an_earlier_run_finished_is_told_without_a_name() -> None:
    folder = Path("in")
    folder.mkdir()
    for name in "ab":
        lp.checkpoints.save(folder / f"{name}.safetensors", {name: np.ones((1000, 2), np.float32)})

    with pytest.raises(StoppedError):
        convert(folder, "out", to="float16", resume=True, threads=1, progress=_stop)
    told: list[tuple[int, int, str]] = []
    convert(folder, "out", to="float16", resume=True, threads=1, progress=lambda *one: told.append(one))
    assert told[-1][:2] == (16_000, 16_000)
    assert told[0] in [(8_000, 16_000, ""), (8_000, 16_000, "a")]
    assert len(told) == 2


def test_true_and_false(source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.progress.INTERVAL", 0.0)
    convert(source, "y.safetensors", to="float16", progress=False)
    assert capsys.readouterr().err == ""
    convert(source, "z.safetensors", to="float16", progress=True)
    assert capsys.readouterr().err.startswith("converting: ")


def test_of_a_check() -> None:
    scale = np.ones(64, np.float32)
    lp.checkpoints.save("x.npz", {"w": np.ones((64, 4), np.int8), "w_scale": scale})
    told: list[tuple[int, int, str]] = []
    check("x.npz", progress=lambda *one: told.append(one))
    assert told == [(256, 256, "w_scale")]
    with pytest.raises(StoppedError):
        check("x.npz", progress=_stop)


def test_what_is_missing_is_an_import_error(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"^`progress` bar needs tqdm, which is not installed: pip install"):
        convert(source, "y.safetensors", to="float16", progress="bar")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert type(make_progress("auto", 1)).__name__ == "_Lines"
    with pytest.raises(ImportError, match=r"^`dask` needs Dask, which is not installed: pip install"):
        convert(source, "y.safetensors", to="float16", dask="local")
    assert os.listdir() == ["x.safetensors"]
