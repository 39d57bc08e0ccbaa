"""`lowprec.checkpoints.save` takes the arrays of every library, and writes the bits that they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.array_libraries import Library, codes_of

import lowprec as lp
from lowprec.spec.formats import NUMERIC, Format


@pytest.mark.parametrize("kind", [".safetensors", ".npz"])
@pytest.mark.one_in(3)
@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_arrays_of_every_library(xp: Library, fmt: Format, kind: str, tmp_path: Path) -> None:
    codes = codes_of(fmt)
    with xp.session(fmt):
        x = xp.hold(codes, fmt)
        source = {} if xp.own(fmt) else {"w": fmt}
        lp.checkpoints.save(tmp_path / f"x{kind}", {"w": x}, source=source)
    with lp.checkpoints.open(tmp_path / f"x{kind}") as checkpoint:
        found = checkpoint.read("w")
    assert found.dtype == fmt.dtype
    assert np.array_equal(found.view(fmt.code_dtype), codes)


def test_what_holds_nothing_is_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"^`arrays\['w'\]` must be a dense torch tensor with data"):
        lp.checkpoints.save(tmp_path / "x.npz", {"w": torch.zeros(2, device="meta")})
    assert not list(tmp_path.iterdir())


def test_a_traced_array_is_refused(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match=r"^`arrays\['w'\]` must hold something; got a JAX array that is being traced"):
        jax.jit(lambda x: lp.checkpoints.save(tmp_path / "x.npz", {"w": x}))(np.zeros(2, np.float32))
    assert not list(tmp_path.iterdir())


def test_lengths_that_dask_does_not_know_are_refused(tmp_path: Path) -> None:
    array = pytest.importorskip("dask.array")
    x = array.from_array(np.arange(6.0))
    with pytest.raises(ValueError, match=r"^`arrays\['w'\]` must have known lengths; got \(nan,\): call"):
        lp.checkpoints.save(tmp_path / "x.npz", {"w": x[x > 2]})
