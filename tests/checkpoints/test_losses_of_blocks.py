"""What GGUF's blocks lose is counted in parts of rows too: one row may be larger than the limit of memory."""

from __future__ import annotations

import tracemalloc

import numpy as np

from lowprec.checkpoints.inference_engines.gguf import scheme_of
from lowprec.checkpoints.schemes import ggml_blocks
from lowprec.checkpoints.schemes.dequantize import PART, Parameters, add_losses
from lowprec.loss.error_stats import ErrorStats
from lowprec.spec.formats import FLOAT32


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
