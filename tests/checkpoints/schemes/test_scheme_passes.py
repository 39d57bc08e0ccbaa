"""The passes that tools share: magnitudes, −0, nibbles, products and quotients; NaN in any place of a weight."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import save, stored_bytes

from lowprec import reference
from lowprec.checkpoints import convert
from lowprec.checkpoints.inference_engines.gguf import scheme_of
from lowprec.checkpoints.operations.operation import Workspace
from lowprec.checkpoints.recipes import RECIPES
from lowprec.checkpoints.schemes import ggml_blocks
from lowprec.checkpoints.schemes.absmax import (
    NotFiniteError,
    divide,
    float_magnitudes,
    group_magnitudes,
    largest_magnitude,
    multiply,
)
from lowprec.checkpoints.schemes.dequantize import PART, Parameters, add_losses
from lowprec.checkpoints.schemes.packing import swap_nibbles
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.loss.error_stats import ErrorStats
from lowprec.spec.formats import BFLOAT16, FLOAT8_E4M3FN, FLOAT16, FLOAT32, Format

Array = np.ndarray[Any, Any]
SOURCES = [BFLOAT16, FLOAT16, FLOAT32]
COMPUTING = [one for one in RECIPES if one.scheme.blocks is None and one.scheme.grid != Grid(0, 0)]
"""Recipes whose tools find scales when they quantize: not only the one of a whole tensor."""


def weight(fmt: Format, shape: tuple[int, int] = (256, 256)) -> Array:
    values = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    return values.astype(fmt.dtype).view(fmt.code_dtype)


@pytest.mark.parametrize("fmt", SOURCES, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("special", [np.nan, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (255, 255)])
@pytest.mark.parametrize("recipe", COMPUTING, ids=lambda one: one.name)
def test_who_computes_scales_notices_nan(recipe: Any, fmt: Format, special: float, place: tuple[int, int]) -> None:
    x = weight(fmt)
    x.view(fmt.dtype)[place] = special
    second = None if recipe.tool.second_scale is None else recipe.tool.second_scale(4.0, fmt)
    with pytest.raises(NotFiniteError):
        recipe.tool.quantize(x, fmt, recipe.scheme, second)
    with pytest.raises(NotFiniteError):
        largest_magnitude(x, fmt)


@pytest.mark.parametrize("fmt", SOURCES, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("grid", [Grid(1, 16), Grid(1, 0), Grid(128, 128), Grid(100, 0), Grid(0, 0)])
def test_magnitudes(fmt: Format, grid: Grid) -> None:
    x = weight(fmt, (300, 208))
    x.view(fmt.dtype)[0] = fmt.dtype.type(float(fmt.max))
    x.view(fmt.dtype)[1] *= -1
    values = np.abs(x.view(fmt.dtype).astype(np.float64))
    high, wide = grid.rows or 300, grid.columns or 208
    expected = [[values[r : r + high, c : c + wide].max() for c in range(0, 208, wide)] for r in range(0, 300, high)]
    found = float_magnitudes(x, fmt, grid)
    assert found.dtype == np.float32
    assert found.astype(np.float64).tolist() == expected
    assert group_magnitudes(x, fmt, grid).view(fmt.dtype).astype(np.float64).tolist() == expected
    assert largest_magnitude(x, fmt) == float(fmt.max)
    assert largest_magnitude(x[:0], fmt) == 0


@pytest.mark.parametrize("shape", [(0, 4), (1, 3), (8, 32), (3, 5)])
def test_nibbles_are_exchanged(shape: tuple[int, int]) -> None:
    packed = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    expected = [[one % 16 * 16 + one // 16 for one in row] for row in packed.tolist()]
    swapped = swap_nibbles(packed)
    assert (swapped.shape, swapped.tolist()) == (shape, expected)
    assert swap_nibbles(packed[:, ::2]).tolist() == [row[::2] for row in expected]


@pytest.mark.parametrize("fmt", SOURCES, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("target", [*SOURCES, FLOAT8_E4M3FN], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize(("combine", "factor"), [(multiply, 37.3), (multiply, 1e-3), (divide, 0.0123), (divide, 700.1)])
def test_products_and_quotients(fmt: Format, target: Format, combine: Callable[..., Array], factor: float) -> None:
    """Rounded to float32 by NumPy, then to the target by the oracle."""
    x, one = weight(fmt, (4, 80)), np.float32(factor)
    values = x.view(fmt.dtype).astype(np.float32)
    expected = values * one if combine is multiply else values / one
    codes = combine(x, fmt, np.asarray(one) if combine is multiply else one, target)
    assert codes.shape == x.shape
    single = expected.view(np.uint32).reshape(-1).tolist()
    assert codes.view(target.code_dtype).reshape(-1).tolist() == [
        reference.encode(reference.decode(code, FLOAT32), target) for code in single
    ]


def test_a_row_that_is_wide() -> None:
    x = np.random.default_rng(0).standard_normal((2, 9 * PART + 96)).astype(np.float32)
    scheme = scheme_of(ggml_blocks.BLOCK_TYPES["Q8_0"])
    scales, codes = ggml_blocks.quantize(x.view(np.uint32), FLOAT32, scheme)
    wide, narrow = ErrorStats(), ErrorStats()
    tracemalloc.start()
    try:
        assert add_losses(wide, x.view(np.uint32), FLOAT32, scheme, codes, Parameters(scales, None, None))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 * PART
    blocks = codes.reshape(-1, 34)
    values = blocks[:, 2:].view(np.int8) * blocks[:, :2].copy().view(np.float16).astype(np.float32)
    narrow.add(x.reshape(-1), values.reshape(-1))
    assert wide.elements == narrow.elements == x.size
    assert np.isclose(wide.sqnr_db, narrow.sqnr_db, rtol=1e-6)
    assert wide.max_abs_error == narrow.max_abs_error


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
    assert one.sqnr_db == pytest.approx(10 * np.log10((x.astype(float) ** 2).sum() / (error.astype(float) ** 2).sum()))
    assert one.flushed == np.count_nonzero((x != 0) & (codes.astype(np.float32) == 0))
