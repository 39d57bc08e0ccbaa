"""The passes that tools share: quotients, losses of wide rows, slices that are read once."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import save, sizes_of_reads, stored_bytes, traced

from lowprec import reference
from lowprec.checkpoints import convert
from lowprec.checkpoints.inference_engines.gguf import scheme_of
from lowprec.checkpoints.schemes import ggml_blocks
from lowprec.checkpoints.schemes.absmax import divide
from lowprec.checkpoints.schemes.dequantize import PART, Parameters, add_losses
from lowprec.loss.error_stats import ErrorStats
from lowprec.spec.formats import BFLOAT16, FLOAT8_E4M3FN, FLOAT16, FLOAT32, Format

SOURCES = [BFLOAT16, FLOAT16, FLOAT32]


@pytest.mark.parametrize("fmt", SOURCES, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("target", [*SOURCES, FLOAT8_E4M3FN], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("divisor", [0.0123, 700.1])
def test_quotients(fmt: Format, target: Format, divisor: float) -> None:
    """Rounded to float32 by NumPy, then to the target by the oracle."""
    x = np.random.default_rng(7).standard_normal(320).astype(np.float32).astype(fmt.dtype)
    quotients = (x.astype(np.float32) / np.float32(divisor)).view(np.uint32).tolist()
    codes = divide(x.view(fmt.code_dtype).reshape(4, 80), fmt, np.float32(divisor), target)
    assert codes.view(target.code_dtype).reshape(-1).tolist() == [
        reference.encode(reference.decode(code, FLOAT32), target) for code in quotients
    ]


def test_a_row_that_is_wide() -> None:
    x = np.random.default_rng(0).standard_normal((2, 9 * PART + 96)).astype(np.float32)
    scheme = scheme_of(ggml_blocks.BLOCK_TYPES["Q8_0"])
    scales, codes = ggml_blocks.quantize(x.view(np.uint32), FLOAT32, scheme)
    wide, narrow = ErrorStats(), ErrorStats()
    parameters = Parameters(scales, None, None)
    largest, peak = traced(lambda: add_losses(wide, x.view(np.uint32), FLOAT32, scheme, codes, parameters))
    assert largest
    assert peak < 32 * PART
    blocks = codes.reshape(-1, 34)
    values = blocks[:, 2:].view(np.int8) * blocks[:, :2].copy().view(np.float16).astype(np.float32)
    narrow.add(x.reshape(-1), values.reshape(-1))
    assert wide.elements == narrow.elements == x.size
    assert np.isclose(wide.sqnr_db, narrow.sqnr_db, rtol=1e-6)
    assert wide.max_abs_error == narrow.max_abs_error


@pytest.mark.parametrize(
    ("shape", "axis", "passes"),
    [((300, 640), 0, 1), ((40, 8, 80), 0, 1), ((300, 640), -1, 2), ((4, 300, 64), 1, 2), ((3, 300_000), 0, 2),
     ((640, 63), 0, 2), ((3, 262_144), 0, 1)],
    ids=str,
)  # fmt: skip
def test_slices_are_read_once(shape: tuple[int, ...], axis: int, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once where the elements that share a scale follow each other, and are neither few nor too many."""
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-9, 3, shape[-1]))).astype(np.float32)
    x.reshape(-1)[::1013] = 0
    source = save(Path("x.safetensors"), {"w": x})
    read = sizes_of_reads(monkeypatch)
    report = convert(source, "y.safetensors", to="float8_e4m3fn", scale=f"axis:{axis}", max_memory="98M")
    assert sum(read) == passes * x.nbytes
    others = tuple(one for one in range(x.ndim) if one != axis % x.ndim)
    largest = np.abs(x).max(axis=others, keepdims=True)
    scale = (largest.astype(np.float64) / 448).astype(np.float32)
    codes = (x / scale).astype(ml_dtypes.float8_e4m3fn)
    assert stored_bytes(Path("y.safetensors"), "w_scale") == scale.tobytes()
    assert stored_bytes(Path("y.safetensors"), "w") == codes.tobytes()
    error = np.abs(x - codes.astype(np.float32) * scale)
    one = report.tensors[0]
    assert (one.elements, one.saturated) == (x.size, 0)
    assert one.max_abs_error == error.max()
    assert one.sqnr_db == pytest.approx(10 * np.log10((x.astype(float) ** 2).sum() / (error.astype(float) ** 2).sum()))
    assert one.flushed == np.count_nonzero((x != 0) & (codes.astype(np.float32) == 0))
