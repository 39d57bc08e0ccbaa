"""Block FP8 as DeepSeek stores it: DeepGEMM's bits, the layout that engines read, and what is read again."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from lowprec import reference
from lowprec.checkpoints.schemes import deep_gemm
from lowprec.checkpoints.schemes.scheme import Grid, Packing, Scheme
from lowprec.spec.formats import BFLOAT16, FLOAT8_E4M3FN, FLOAT16, FLOAT32, Format

Array = np.ndarray[Any, Any]
BLOCKS = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(128, 128))
TYPES = {BFLOAT16: torch.bfloat16, FLOAT16: torch.float16, FLOAT32: torch.float32}
TOOLS = {"deepseek-fp8": deep_gemm.quantize, "deepseek-fp8-ue8m0": deep_gemm.quantize_by_powers}


def block_cast(x: torch.Tensor, powers: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scales and codes, computed in torch as DeepGEMM publishes it: the oracle.

    The factor is 448 / amax in the release of February 2025; with powers of two, 1 / scale in that of July 2025.
    """
    rows, columns = x.shape
    padded = torch.nn.functional.pad(x, (0, -columns % 128, 0, -rows % 128))
    blocks = padded.reshape(padded.shape[0] // 128, 128, -1, 128)
    largest = blocks.abs().float().amax(dim=(1, 3), keepdim=True).clamp(min=1e-4)
    scales = largest / 448.0
    factors = 448.0 / largest
    if powers:
        bits = scales.view(torch.int32)
        exponents = (bits >> 23) + ((bits & 0x7FFFFF) != 0).int()
        scales = (exponents << 23).view(torch.float32)
        factors = 1.0 / scales
    codes = (blocks * factors).to(torch.float8_e4m3fn).reshape(padded.shape)
    return scales[:, 0, :, 0], codes[:rows, :columns]


def weights(kind: str, rows: int = 300, columns: int = 330) -> torch.Tensor:
    """Return a float32 matrix, neither side of which is whole blocks."""
    random = np.random.RandomState(3)
    x = random.standard_normal((rows, columns)) * 0.05
    if kind == "zeros":
        x[:128, 128:256] = 0
        x[:140, :128] = -0.0
    elif kind == "tiny":  # the first and the last blocks of rows are below 1e-4, where the scale stays the same
        x[:128] *= 2.0**-20
        x[256:] *= 2.0**-100
    elif kind == "outliers":
        x[5, 7], x[200, 130], x[299, 329] = 3e38, -6e4, 1.7
    elif kind == "ties":  # few significant bits: products fall half-way between codes
        x = random.randint(-63, 64, x.shape) * random.choice([2.0**-9, 3 * 2.0**-7, 7.0], (rows, 1))
    return torch.tensor(x, dtype=torch.float32)


def bits_of(x: torch.Tensor, fmt: Format) -> Array:
    return x.contiguous().view(torch.uint8).numpy().view(fmt.code_dtype)


@pytest.mark.parametrize("kind", ["normal", "zeros", "tiny", "outliers", "ties"])
@pytest.mark.parametrize("fmt", TYPES, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("recipe", TOOLS)
def test_the_bits_of_deep_gemm(recipe: str, fmt: Format, kind: str) -> None:
    x = weights(kind).clamp(-float(fmt.max), float(fmt.max)).to(TYPES[fmt])
    scales, codes = TOOLS[recipe](bits_of(x, fmt), fmt, BLOCKS)
    expected_scales, expected_codes = block_cast(x, recipe.endswith("ue8m0"))
    assert np.array_equal(scales, bits_of(expected_scales, FLOAT32))
    assert np.array_equal(codes, expected_codes.view(torch.uint8).numpy())
    assert not ((codes & 0x7F) == 0x7F).any()


def test_a_scale_and_codes_by_hand() -> None:
    """448 takes 448 as its scale 1; ties go to even codes, −0 and what is rounded to it keep the sign."""
    x = np.zeros((1, 8), np.float32)
    x[0] = [448, 17, 19, -17, -0.0, 2.0**-10, -(2.0**-10), 1.5 * 2.0**-9]
    scales, codes = deep_gemm.quantize(x.view(np.uint32), FLOAT32, BLOCKS)
    assert scales.view(np.float32).tolist() == [[1.0]]
    assert codes.tolist() == [[0x7E, 0x58, 0x5A, 0xD8, 0x80, 0x00, 0x80, 0x02]]


def test_the_scale_of_zeros() -> None:
    """A block of zeros has the scale of 1e-4, and so has one whose numbers are smaller."""
    for x in (np.zeros((2, 3), np.float32), np.full((2, 3), 9e-5, np.float32)):
        scales, _ = deep_gemm.quantize(x.view(np.uint32), FLOAT32, BLOCKS)
        assert scales.view(np.float32) == np.float32(1e-4) / np.float32(448)
        scales, _ = deep_gemm.quantize_by_powers(x.view(np.uint32), FLOAT32, BLOCKS)
        assert scales.view(np.float32) == 2.0**-22  # 1e-4 / 448 is 0.94 times that


@pytest.mark.parametrize("largest", [448.0, 449.0, 1.0, 3.0, 1.75, 1e-3, 2.0**100, 3e38])
def test_powers_of_two_are_the_smallest_that_suffice(largest: float) -> None:
    """The scale is the smallest power of two times 448 that is not below the largest magnitude; codes are exact."""
    x = np.array([[largest, -largest / 3, largest / 1000]], np.float32)
    scales, codes = deep_gemm.quantize_by_powers(x.view(np.uint32), FLOAT32, BLOCKS)
    scale = Fraction(float(scales.view(np.float32)[0, 0]))
    assert scale.numerator == 1 or scale.denominator == 1
    assert 448 * scale / 2 < Fraction(float(x[0, 0])) <= 448 * scale
    quotients = [Fraction(float(one)) / scale for one in x[0]]
    assert codes[0].tolist() == [reference.encode(one, FLOAT8_E4M3FN) for one in quotients]
