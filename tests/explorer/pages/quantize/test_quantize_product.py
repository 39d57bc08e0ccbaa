"""Quantize: the error of a matrix product, and why symmetric int8 loses −128; by the oracle and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("jinja2")

from lowprec import reference
from lowprec.explorer.pages.quantize import product_view, symmetric
from lowprec.explorer.pages.quantize.product_picture import drawing
from lowprec.explorer.pages.quantize.product_view import INPUTS, inputs_of, product_of, verdict

WEIGHTS = np.float32([[1, 2.4], [-7, 3.2]])  # int4 over the scale 1: 1, 2, -7, 3


def test_inputs() -> None:
    assert np.array_equal(inputs_of("identity", 3, 5), np.eye(3))
    for kind in INPUTS[:2]:
        assert inputs_of(kind, 40, 1).shape == (40, product_view.VECTORS)
        assert np.array_equal(inputs_of(kind, 40, 1), inputs_of(kind, 40, 1))
        assert not np.array_equal(inputs_of(kind, 40, 1), inputs_of(kind, 40, 2))
    spread = inputs_of("outlier channels", 64, 0).std(axis=1)
    assert 1 <= (spread > 8).sum() <= 8


def test_the_identity_by_hand() -> None:
    """The errors are 0.4 and 0.2: 10 log10 of (1 + 5.76 + 49 + 10.24) / 0.2."""
    found = product_of(WEIGHTS, ("int4,per=tensor",), "identity", 0)
    assert (found.weights, found.inputs) == ((2, 2), (2, 2))
    (row,) = found.rows
    wanted = 10 * math.log10(66 / 0.2)
    assert row.weights_db == pytest.approx(wanted, abs=1e-5)
    assert row.product_db == pytest.approx(wanted, abs=1e-5)
    assert verdict(found).startswith("Times the identity")
    assert "25.2 dB" in str(drawing(found, wide=True))


def test_outliers_against_fractions() -> None:
    found = product_of(WEIGHTS, ("int4,per=tensor",), "normal", 3)
    inputs = inputs_of("normal", 2, 3)
    exact = [[reference.Value.of(float(x)).number for x in row] for row in inputs]
    signal = noise = 0.0
    for row, errors in zip(WEIGHTS.tolist(), ((0, -0.4), (0, -0.2)), strict=True):
        for column in zip(*exact, strict=True):
            signal += float(sum(w * float(x) for w, x in zip(row, column, strict=True))) ** 2
            noise += float(sum(e * float(x) for e, x in zip(errors, column, strict=True))) ** 2
    assert found.rows[0].product_db == pytest.approx(10 * math.log10(signal / noise), abs=1e-4)
    assert found.rows[0].gain_db == pytest.approx(found.rows[0].product_db - found.rows[0].weights_db)


def test_what_cannot_be_measured_says_why() -> None:
    found = product_of(np.float32([[np.inf, 1, 2]]), ("nvfp4", "int4,per=tensor"), "normal", 0)
    assert [bool(row.problem) for row in found.rows] == [True, True]
    assert verdict(found) == ""
    for wide in (True, False):
        assert "NaN or Inf" in str(drawing(found, wide=wide))


def test_symmetric_int8() -> None:
    """By 1/127 the codes of -1 and 1 are -127 and 127; by 1/128 they are -128 and 127, which is 127/128."""
    first, second = symmetric.rulers()
    assert (first.codes, second.codes) == ((-127, 127), (-128, 127))
    assert [str(value) for value in first.became] == ["-1", "1"]
    assert [str(value) for value in second.became] == ["-1", "0.9921875"]
    assert [str(value) for value in second.values] == ["-1", "-0.9921875", "-0.984375", "0", "0.984375", "0.9921875"]
    for wide in (True, False):
        drawn = str(symmetric.drawing(wide=wide))
        assert "no number becomes −128" in drawn
        assert "saturates: 1 becomes 0.9921875" in drawn
