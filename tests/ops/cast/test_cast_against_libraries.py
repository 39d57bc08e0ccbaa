"""Casts against ml_dtypes, torch and NumPy where those are right: one rounding from float32, every code decoded."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.compare import assert_same
from support.optional import optional

import lowprec as lp
from lowprec.conformance import cast_inputs
from lowprec.spec.formats import NUMERIC, Format

torch: Any = optional("torch")

NARROW = [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits <= 16]
BY_NAME = {"ids": lambda fmt: fmt.name}


@pytest.mark.parametrize("fmt", NARROW, **BY_NAME)
def test_decode_is_ml_dtypes(fmt: Format) -> None:
    codes = np.arange(1 << fmt.bits).astype(fmt.code_dtype)
    for wide in (np.float32, np.float64):
        with np.errstate(invalid="ignore"):  # signalling NaNs
            theirs = codes.view(fmt.dtype).astype(wide)
        ours = lp.decode(codes, fmt, to=wide)
        assert np.array_equal(ours, theirs, equal_nan=True)
        number = ~np.isnan(ours)
        assert np.array_equal(np.signbit(ours)[number], np.signbit(theirs)[number])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", [fmt for fmt in NARROW if fmt.has_zero], **BY_NAME)
def test_encode_without_saturation_is_ml_dtypes(fmt: Format) -> None:
    x = cast_inputs.sweep_float32(fmt, count=300_000)
    x = x[np.isfinite(x)]
    with np.errstate(over="ignore"):
        theirs = x.astype(fmt.dtype).view(fmt.code_dtype)
    assert_same(lp.encode(x, fmt, saturate=False), theirs, fmt, x)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["float8_e4m3fn", "bfloat16", "float16"])
def test_encode_is_torch(name: str) -> None:
    x = cast_inputs.sweep_float32(name, count=300_000)
    x = x[np.isfinite(x)]
    cast = torch.from_numpy(x.copy()).to(getattr(torch, name))
    theirs = cast.view(getattr(torch, f"int{8 * cast.element_size()}")).numpy().view(lp.formats[name].code_dtype)
    assert np.array_equal(lp.encode(x, name), theirs)


def test_integers_are_numpys() -> None:
    x = np.random.default_rng(0).integers(-(2**63), 2**63, 100_000)
    for fmt in NUMERIC:
        if fmt.is_integer and fmt.bits >= 8:
            assert np.array_equal(lp.cast(x, fmt), x.astype(fmt.dtype))
    for name in ("int4", "uint4", "int2", "uint2"):
        theirs = x.astype(getattr(ml_dtypes, name)).view(np.uint8) & np.uint8(lp.formats[name].code_mask)
        assert np.array_equal(lp.encode(x, name), theirs)
    assert np.array_equal(lp.cast(x, "float64"), x.astype(np.float64))
