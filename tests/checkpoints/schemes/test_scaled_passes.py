"""Scales of rows: found and used in one read, with the codes and losses that NumPy and ml_dtypes give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import save, stored_bytes

from lowprec.checkpoints import convert
from lowprec.checkpoints.operations.operation import Workspace

Array = np.ndarray[Any, Any]


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the bytes of tensors that are read, one entry to a read."""
    counts: list[int] = []
    read = Workspace.read

    def counted(self: Workspace, tensor: Any, start: int, nbytes: int) -> Array:
        counts.append(nbytes)
        return read(self, tensor, start, nbytes)

    monkeypatch.setattr(Workspace, "read", counted)
    return counts


@pytest.mark.parametrize(
    ("shape", "axis", "passes"),
    [((300, 640), 0, 1), ((40, 8, 80), 0, 1), ((300, 640), -1, 2), ((4, 300, 64), 1, 2), ((3, 300_000), 0, 2),
     ((640, 63), 0, 2), ((3, 262_144), 0, 1)],
    ids=str,
)  # fmt: skip
def test_slices_are_read_once(
    shape: tuple[int, ...], axis: int, passes: int, tmp_path: Path, read_bytes: list[int]
) -> None:
    """Once where the elements that share a scale follow each other, and are neither few nor too many."""
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-9, 3, shape[-1]))).astype(np.float32)
    x.reshape(-1)[::1013] = 0
    source = save(tmp_path / "x.safetensors", {"w": x})
    report = convert(source, tmp_path / "y.safetensors", to="float8_e4m3fn", scale=f"axis:{axis}", max_memory="98M")
    assert sum(read_bytes) == passes * x.nbytes
    others = tuple(one for one in range(x.ndim) if one != axis % x.ndim)
    largest = np.abs(x).max(axis=others, keepdims=True)
    scale = (largest.astype(np.float64) / 448).astype(np.float32)
    codes = (x / scale).astype(ml_dtypes.float8_e4m3fn)
    assert stored_bytes(tmp_path / "y.safetensors", "w_scale") == scale.tobytes()
    assert stored_bytes(tmp_path / "y.safetensors", "w") == codes.tobytes()
    error = np.abs(x - codes.astype(np.float32) * scale)
    one = report.tensors[0]
    assert (one.elements, one.saturated) == (x.size, 0)
    assert one.max_abs_error == error.max()
    assert one.flushed == np.count_nonzero((x != 0) & (codes.astype(np.float32) == 0))


def test_scales_of_parts_of_a_chunk(tmp_path: Path, read_bytes: list[int]) -> None:
    """A chunk of more rows than are measured at once: each row has the scale of its own elements."""
    x = np.ones((2400, 1024), np.float32)
    x[:, 5] = np.arange(2400) + 1
    source = save(tmp_path / "x.safetensors", {"w": x})
    convert(source, tmp_path / "y.safetensors", to="int8", scale="axis:0")
    assert sum(read_bytes) == x.nbytes
    scale = ((np.arange(2400) + 1) / 127).astype(np.float32)
    assert stored_bytes(tmp_path / "y.safetensors", "w_scale") == scale.tobytes()
    codes = np.frombuffer(stored_bytes(tmp_path / "y.safetensors", "w"), np.int8).reshape(x.shape)
    assert (codes[:, 5] == 127).all()
