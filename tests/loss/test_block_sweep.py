"""SQNR and size of MX and NVFP4 blocks against the oracle: every block format, rule and block size on small arrays."""

from __future__ import annotations

import math
from fractions import Fraction

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest

from lowprec import reference
from lowprec.loss import BLOCK_FORMATS, BlockLoss, block_loss, block_sweep

RULES = ("floor", "ceil", "rceil", "even", "nearest")
NVFP4_RULES = ("torchao", "modelopt", "transformer_engine")
ELEMENT_BITS = {
    "mxfp8_e4m3": 8, "mxfp8_e5m2": 8, "mxfp6_e2m3": 6, "mxfp6_e3m2": 6, "mxfp4": 4, "mxint8": 8, "nvfp4": 4,
}  # fmt: skip
X = np.random.default_rng(5).standard_t(3, (2, 20)).astype(np.float32)


def expected_sqnr(x, found: BlockLoss, axis: int = -1) -> float:
    """Return 10 log10 of the power over that of the error, in fractions."""
    options = {"axis": axis, "block_size": found.block_size}
    if found.format == "nvfp4":
        codes = reference.nvfp4_values(*reference.nvfp4_blocks(x, scale_rule=found.scale_rule, **options), **options)
    else:
        element = BLOCK_FORMATS[found.format]
        codes = reference.mx_values(
            *reference.mx_blocks(x, element, scale_rule=found.scale_rule, **options), element, **options
        )
    signal = noise = Fraction(0)
    for value, code in zip(x.reshape(-1).tolist(), codes.reshape(-1).tolist(), strict=True):
        signal += Fraction(value) ** 2
        noise += (Fraction(value) - reference.decode(code, "float32").number) ** 2
    return 10 * math.log10(signal / noise)


def test_the_formats_are_those_of_the_documents() -> None:
    assert list(BLOCK_FORMATS) == list(ELEMENT_BITS)


@pytest.mark.parametrize("name", ELEMENT_BITS)
def test_every_rule_and_size_against_the_oracle(name: str) -> None:
    rules = (None, *NVFP4_RULES) if name == "nvfp4" else RULES
    found = block_sweep(X, formats=[name], block_sizes=(4, 8, 20), scale_rules=(None, *RULES, *NVFP4_RULES))
    assert [(one.scale_rule, one.block_size) for one in found] == [
        (rule, size) for rule in rules for size in (4, 8, 20)
    ]
    for one in found:
        assert one.format == name
        assert one.sqnr_db == pytest.approx(expected_sqnr(X, one), rel=1e-12)
        scales = 2 * -(-20 // one.block_size)
        assert one.bits_per_value == ELEMENT_BITS[name] + (8 * scales + (32 if name == "nvfp4" else 0)) / 40


@pytest.mark.parametrize("name", ["mxfp4", "nvfp4"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_types_and_axes(name: str, dtype) -> None:
    x = X.astype(dtype)
    found = block_loss(x, name, axis=0, block_size=2)
    assert found.sqnr_db == pytest.approx(expected_sqnr(x.astype(np.float64), found, axis=0), rel=1e-12)


def test_defaults_and_elements_by_their_format() -> None:
    assert (block_loss(X).block_size, block_loss(X).scale_rule) == (32, "floor")
    assert (block_loss(X, "nvfp4").block_size, block_loss(X, "nvfp4").scale_rule) == (16, None)
    by_element = block_loss(X, "float6_e3m2fn")
    assert by_element.format == by_element.element == "float6_e3m2fn"
    assert by_element.sqnr_db == block_loss(X, "mxfp6_e3m2").sqnr_db
    assert block_loss(X, "binary4p2sf").bits_per_value == 4 + 8 * 2 / 40
    assert [one.scale_rule for one in block_sweep(X, block_sizes=[32], scale_rules=["even", "even"])] == ["even", None]
    assert block_loss(X, "nvfp4").gain_over(block_loss(X)) == block_loss(X, "nvfp4").sqnr_db - block_loss(X).sqnr_db


def test_nothing_lost_nothing_there_and_what_is_not_finite() -> None:
    assert block_loss(np.float32([1, 2, 4, 6])).sqnr_db == math.inf
    assert math.isnan(block_loss(np.zeros(4, np.float32)).sqnr_db)
    ends = np.float32([0.3, 1.7, np.nan, -np.inf])
    assert block_loss(ends).sqnr_db == block_loss(ends[:2]).sqnr_db
    assert block_loss(ends, "nvfp4").sqnr_db == block_loss(ends[:2], "nvfp4").sqnr_db


def test_stochastic_rounding_is_seeded() -> None:
    found = [block_loss(X, rounding="stochastic", seed=seed).sqnr_db for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_arrays_of_other_libraries() -> None:
    assert block_loss(strict.asarray(X), "nvfp4") == block_loss(X, "nvfp4")
    assert block_sweep(strict.asarray(X), block_sizes=[8]) == block_sweep(X, block_sizes=[8])
    with pytest.raises(ValueError, match=r"^`x` must be one of float32, float16, bfloat16, float64; got bool$"):
        block_loss(strict.asarray(X > 0))
