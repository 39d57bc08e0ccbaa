"""The error of a block by scale against the oracle: each point, the scale that a rule chooses, and the best one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from lowprec import reference
from lowprec.loss import BLOCK_FORMATS, ScaleCurve, ScalePoint, block_loss, scale_curve

BLOCKS = {
    "mixed": [0.1, -0.2, 0.3, 0.9, 0.05, -0.6, 0.0, 0.45], "ends": [6.0, -6.0, 5.0, 0.26, 2.5, -3.5, 0.0, 1.0],
    "outlier": [0.01, 0.02, -0.03, 0.04, -0.05, 0.06, 0.07, 40.0], "one": [3.0], "tiny": [1e-40, -3e-40, 2e-39],
}  # fmt: skip
MX = [name for name in BLOCK_FORMATS if name != "nvfp4"]
CANDIDATES = [0.004, 0.05, 0.125, 0.15, 0.3, 1.0, 5.0, 20.0]


def values_of(block: list[float]) -> list[Fraction]:
    return [Fraction(float(np.float32(number))) for number in block]


def exact_error(block: list[float], found: ScaleCurve, point: ScalePoint) -> Fraction:
    """Return the sum of the squares of the errors of a block by the scale of a point, in fractions."""
    total, is_fixed_point = Fraction(0), found.format == "mxint8"
    for number in values_of(block):
        unit = Fraction(1, 64) if is_fixed_point else Fraction(1)
        scale = Fraction(point.scale) * unit
        code = reference.quantize(number, scale, None, found.element, precision="float32")
        if is_fixed_point and code == 0x80:
            code = 0x81
        back = reference.decode(reference.dequantize(code, found.element, scale), "float32")
        total += (number - back.number) ** 2
    return total


def check(block: list[float], found: ScaleCurve) -> None:
    """Compare every candidate, and the best scale with all that can be stored."""
    signal = sum(number**2 for number in values_of(block))
    for point in (*found.points, found.chosen, found.best):
        noise = exact_error(block, found, point)
        assert math.isclose(point.rms_error, math.sqrt(noise / len(block)), rel_tol=1e-6, abs_tol=1e-44)
        if noise:
            assert math.isclose(point.sqnr_db, 10 * math.log10(signal / noise), abs_tol=1e-5)
        else:
            assert point.sqnr_db == math.inf
    least = min(exact_error(block, found, point) for point in (*found.stored, found.chosen))
    assert exact_error(block, found, found.best) <= least * (1 + Fraction(1, 10**6))


def stored_scales(found: ScaleCurve, low: float, high: float) -> list[tuple[int, float]]:
    """Return the codes of a format of scales between two ends, and the scales, by the oracle."""
    kept = []
    factor = Fraction(found.global_scale)
    for code in range(256):
        value = reference.decode(code, found.scale_format)
        if not value.special and value.number > 0:
            product = reference.decode(reference.encode(value.number * factor, "float32"), "float32").number
            if Fraction(float(np.float32(low))) <= product <= Fraction(float(np.float32(high))) and product:
                kept.append((code, float(product)))
    return sorted(kept, key=lambda one: one[1])


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("fmt", MX)
def test_mx_blocks(name, fmt):
    block = BLOCKS[name]
    found = scale_curve(np.float32(block), fmt, CANDIDATES)
    check(block, found)
    _, scales = reference.mx_blocks(np.float32(block), BLOCK_FORMATS[fmt], block_size=len(block))
    assert found.chosen.code == scales[0]
    assert found.chosen.scale == 2.0 ** (int(scales[0]) - 127)
    assert [(point.code, point.scale) for point in found.stored] == stored_scales(found, 0.004, 20)
    assert found.chosen.sqnr_db == block_loss(np.float32(block), fmt, block_size=len(block)).sqnr_db


@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "even", "nearest"])
def test_each_rule_of_mx(rule):
    block = np.float32([0.3, -0.7, 7.5, 2.0])
    found = scale_curve(block, "mxfp4", [1, 2], scale_rule=rule)
    assert found.chosen.scale == {"floor": 1, "ceil": 2, "rceil": 2, "even": 2, "nearest": 2}[rule]


@pytest.mark.parametrize("name", ["mixed", "ends", "outlier", "one"])
@pytest.mark.parametrize("factor", [None, 0.0078125, 0.3])
def test_nvfp4_blocks(name, factor):
    block = BLOCKS[name]
    found = scale_curve(np.float32(block), "nvfp4", [0.01, 0.5, 8.0], global_scale=factor)
    check(block, found)
    _, scales, shared = reference.nvfp4_blocks(np.float32(block), block_size=len(block), global_scale=factor)
    assert (found.chosen.code, found.global_scale) == (scales[0], shared)
    assert [(point.code, point.scale) for point in found.stored] == stored_scales(found, 0.01, 8.0)


@pytest.mark.parametrize("name", ["mixed", "ends", "outlier", "one"])
@pytest.mark.parametrize("fmt", ["int4", "int8", "float8_e4m3fn", "float8_e5m2fnuz", "float6_e3m2fn"])
@pytest.mark.parametrize("scale_format", ["float32", "bfloat16", "float8_e8m0fnu"])
def test_scales_of_largest_magnitudes(name, fmt, scale_format):
    block, high = BLOCKS[name], {"int4": 7, "int8": 127, "float8_e4m3fn": 448, "float8_e5m2fnuz": 57344}.get(fmt, 28)
    found = scale_curve(np.float32(block), fmt, [0.1, 0.12], scale_format=scale_format)
    check(block, found)
    if scale_format != "float8_e8m0fnu":
        wanted = reference.decode(reference.encode(max(map(abs, values_of(block))) / high, scale_format), scale_format)
        assert found.chosen.scale == float(wanted)
    assert bool(found.stored) == (scale_format == "bfloat16")


def test_by_hand():
    # by 1 the values are 0 (a tie), 1, 2 and 6, the end of the range; by 2 they are 0, 1, 2 and 8 (a tie)
    found = scale_curve(np.float32([0.25, 1.0, 2.25, 7.0]), "mxfp4", [1.0, 2.0])
    assert [point.max_abs_error for point in found.points] == [1.0, 1.0]
    assert [point.saturated for point in found.points] == [1, 0]
    assert found.points[0].rms_error == math.sqrt((1 / 16 + 0 + 1 / 16 + 1) / 4)
    assert found.points[1].rms_error == math.sqrt((1 / 16 + 0 + 1 / 16 + 1) / 4)
    assert (found.chosen.scale, found.best) == (1.0, found.chosen)  # equal ones: the chosen one
    assert found.gain_db == 0


def test_the_best_scale_is_not_the_chosen_one():
    found = scale_curve(np.float32([0.1, 0.2, 0.3, 0.9]), "mxfp4", [0.125, 0.25, 0.5])
    assert (found.chosen.scale, found.best.scale, found.best.code) == (0.125, 0.25, 125)
    assert found.gain_db == found.best.sqnr_db - found.chosen.sqnr_db > 2


def test_without_an_error_nothing_is_gained():
    found = scale_curve(np.float32([1, 2, -3]), "int4", [1.0])
    assert found.points[0].sqnr_db == math.inf
    assert found.best.rms_error == 0
    found = scale_curve(np.float32([6.0, 1.0]), "mxfp4", [0.5])
    assert (found.chosen, found.gain_db) == (found.best, 0)


def test_many_scales_are_not_all_tried():
    block = np.float32([0.1, 0.7])
    assert not scale_curve(block, "int4", [1e-6, 1e4], scale_format="float16").stored
    found = scale_curve(block, "int4", [0.05, 0.11], scale_format="float16")
    values = [reference.decode(code, "float16").number for code in range(0x7C00)]
    low, high = (Fraction(float(np.float32(end))) for end in (0.05, 0.11))
    assert [point.scale for point in found.stored] == [float(value) for value in values if low <= value <= high]


def test_float64_is_rounded_to_float32():
    block = [1 / 3, 2 / 3]
    assert scale_curve(np.float64(block), "int8", [0.01]) == scale_curve(np.float32(block), "int8", [0.01])
