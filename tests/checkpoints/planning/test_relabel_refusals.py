"""What cannot be stored in another layout: errors that name the tensor or the parameter, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import leftovers
from support.scaled_weights import ONE, P, Q, codes, fp8, nvfp4, write_model
from support.typed_tensors import F8

from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError

BLOCK = {
    f"{P}.weight": codes().view(np.uint8).clip(0, 0x70).view(F8),
    f"{P}.weight_scale_inv": np.ones((1, 1), np.float32),
}
MX = {f"{P}.weight_packed": codes(), f"{P}.weight_scale": np.full((8, 2), 0x7F, np.uint8)}


@pytest.mark.parametrize(
    ("tensors", "method", "layout", "message"),
    [
        (BLOCK, "fp8", "modelopt", "has the layout FP8, and not one of compressed-tensors, modelopt"),
        (MX, "compressed-tensors", "modelopt", "is neither NVFP4 nor FP8 with one scale"),
        (nvfp4("modelopt"), "modelopt", "modelopt", "has the layout modelopt already"),
        ({**nvfp4("modelopt"), **fp8(ONE, ONE, Q)}, "modelopt", "compressed-tensors", "is quantized otherwise than"),
        (
            {**nvfp4("modelopt", ONE, ONE), **nvfp4("modelopt", ONE, module=Q)},
            "modelopt", "compressed-tensors", "is quantized otherwise than",
        ),
        (fp8(np.ones(8, np.float32)), "modelopt", "compressed-tensors", "is neither NVFP4 nor FP8 with one scale"),
        (
            {**fp8(np.ones(1, np.float32), ONE), f"{P}.output_scale": np.asarray(ONE)},
            "compressed-tensors", "modelopt", "output_scale': has no name in the layout modelopt",
        ),
        (nvfp4("modelopt", np.float32(0)), "modelopt", "compressed-tensors", "must be a positive number"),
        (nvfp4("modelopt", np.float32(np.nan)), "modelopt", "compressed-tensors", "must be a positive number"),
        (nvfp4("modelopt", np.float32(-1)), "modelopt", "compressed-tensors", "must be a positive number"),
        (nvfp4("modelopt", np.float32(np.inf)), "modelopt", "compressed-tensors", "must be a positive number"),
        (nvfp4("modelopt", np.float32(1e-42)), "modelopt", "compressed-tensors", "with a finite reciprocal"),
        (nvfp4("modelopt", np.array([1], np.int32)), "modelopt", "compressed-tensors", "must be one float; got I32"),
        ({}, "modelopt", "compressed-tensors", "has no quantized weights"),
    ],
)  # fmt: skip
def test_refusals(tensors: dict[str, np.ndarray], method: str, layout: str, message: str, tmp_path: Path) -> None:
    source = write_model(tmp_path / "x", tensors, method)
    with pytest.raises(FileError, match=message):
        convert(source, tmp_path / "y", layout=layout)
    assert not (tmp_path / "y").exists()
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("byte", [0x7F, 0xFF, 0x80, 0xB8])
@pytest.mark.parametrize(("layout", "other"), [("modelopt", "compressed-tensors"), ("compressed-tensors", "modelopt")])
def test_scales_of_blocks_that_are_none(layout: str, other: str, byte: int, tmp_path: Path) -> None:
    """NaN, -0 and -1 among scales are not carried into another layout: what reads their values refuses them too."""
    tensors = {name: array.copy() for name, array in nvfp4(layout).items()}
    tensors[f"{P}.weight_scale"].view(np.uint8)[-1, -1] = byte
    source = write_model(tmp_path / "x", tensors, layout)
    with pytest.raises(FileError, match=r"\.weight_scale': has a scale that is NaN, infinite or negative"):
        convert(source, tmp_path / "y", layout=other)
    assert not (tmp_path / "y").exists()
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("cache", ["NVFP4", {"num_bits": 8, "type": "int", "dynamic": False}, 3])
def test_a_cache_in_other_numbers(cache: Any, tmp_path: Path) -> None:
    source = write_model(tmp_path / "x", nvfp4("modelopt"), kv_cache_scheme=cache)
    with pytest.raises(FileError, match=r"the scheme of the cache, .* has no names in the layout compressed-tensors"):
        convert(source, tmp_path / "y", layout="compressed-tensors")
