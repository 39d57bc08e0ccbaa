"""ModelOpt's arithmetic, bit for bit as ModelOpt 0.47.0 on hard weights; and where it would write NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.golden import GOLDEN, tensors_of

from lowprec.checkpoints.inference_engines.modelopt import fp8_scale, nvfp4_scale, quantize
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.checkpoints.schemes.scheme import GlobalScale, Packing, Scheme
from lowprec.spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT16, FLOAT32, Format

NVFP4 = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.FACTOR)
TENSOR = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(0, 0))
ROWS = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(1, 0))
FORMATS = {"bfloat16": BFLOAT16, "float16": FLOAT16, "float32": FLOAT32}
CASES = [(name, part) for name in FORMATS for part in ("0", "1")]


def edges(name: str, part: str) -> tuple[np.ndarray, Format, dict[str, bytes], float]:
    """Return a weight as codes, its format, what ModelOpt makes of it, and its largest magnitude."""
    fmt, prefix = FORMATS[name], f"{name}.{part}."
    stored = tensors_of(GOLDEN / "modelopt", "edges.safetensors")
    _, shape, content = stored[prefix + "x"]
    x = np.frombuffer(content, fmt.code_dtype).reshape(shape)
    largest = float(np.abs(x.view(fmt.dtype).astype(np.float64)).max())
    made = {key.removeprefix(prefix): one for key, (_, _, one) in stored.items() if key.startswith(prefix)}
    return x, fmt, made, largest


@pytest.mark.parametrize(("name", "part"), CASES)
def test_nvfp4(name: str, part: str) -> None:
    x, fmt, expected, largest = edges(name, part)
    second = nvfp4_scale(largest, fmt)
    assert second.tobytes() == expected["nvfp4.second"]
    scales, codes = quantize(x, fmt, NVFP4, second)
    assert scales.tobytes() == expected["nvfp4.scales"]
    assert codes.tobytes() == expected["nvfp4.codes"]
    assert codes.shape == (len(x), x.shape[1] // 2)


@pytest.mark.parametrize(("name", "part"), CASES)
def test_fp8_with_a_scale_to_a_tensor(name: str, part: str) -> None:
    x, fmt, expected, largest = edges(name, part)
    scale = fp8_scale(largest, fmt)
    assert scale.tobytes() == expected["fp8.scale"]
    scales, codes = quantize(x, fmt, TENSOR, scale)
    assert codes.tobytes() == expected["fp8.codes"]
    assert scales.tobytes() == expected["fp8.scale"] * len(x)
    assert scales.shape == (len(x), 1)


@pytest.mark.parametrize(("name", "part"), CASES)
def test_fp8_with_a_scale_to_a_row(name: str, part: str) -> None:
    x, fmt, expected, _ = edges(name, part)
    scales, codes = quantize(x, fmt, ROWS)
    assert scales.tobytes() == expected["rows.scales"]
    assert codes.tobytes() == expected["rows.codes"]
    assert scales.shape == (len(x), 1)


@pytest.mark.parametrize("largest", [1.5, 6.0, 12.0])
def test_negative_zero_is_zero_at_any_factor(largest: float) -> None:
    """A factor is `largest` / 6, below 1, 1 and above: codes are 0 for -0, 7 for 6 factors and F for minus 6."""
    row = np.array([[-0.0, largest, -largest, -0.0] * 4], np.float32)
    scales, codes = quantize(row.view(np.uint32), FLOAT32, NVFP4, np.float32(largest / 2688))
    assert scales.tolist() == [[0x7E]]
    assert codes.tolist() == [[0x70, 0x0F] * 4]


def test_the_edges_are_there() -> None:
    """Scales of 1 for zeros and the least scale; codes of both zeros, and those next to them for ties."""
    _, _, whole, _ = edges("float32", "0")
    _, _, extreme, _ = edges("float32", "1")
    scales = np.frombuffer(whole["nvfp4.scales"], np.uint8).reshape(10, 4)
    assert scales[1].tolist() == [0x38] * 4
    assert 0x01 in extreme["nvfp4.scales"]
    assert {code & 15 for code in whole["nvfp4.codes"]} == set(range(16))


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize(
    ("scheme", "scale_of", "second", "scale"),
    [(NVFP4, nvfp4_scale, 1 / 448, 0x38), (TENSOR, fp8_scale, 1.0, 0x3F800000), (ROWS, None, None, 0x3F800000)],
    ids=["nvfp4", "tensor", "rows"],
)
def test_a_weight_of_zeros_has_finite_scales(
    fmt: Format, scheme: Scheme, scale_of: Any, second: float | None, scale: int
) -> None:
    """ModelOpt's export writes scales of 0 and NaN, and codes that are NaN or 6, but for a scale to a row."""
    x = np.zeros((2, 32), fmt.code_dtype)
    shared = None if scale_of is None else scale_of(0.0, fmt)
    assert shared is None or shared == np.float32(second)
    scales, codes = quantize(x, fmt, scheme, shared)
    assert set(scales.reshape(-1).tolist()) == {scale}
    assert not codes.any()
