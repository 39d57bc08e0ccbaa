"""The columns of Quantize: blocks, numbers between values, and scales, by hand and against the library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowprec.explorer.pages.quantize.columns_view import (
    Area,
    Column,
    column,
    place_of,
    setting_label,
    setting_title,
    window_of,
)
from lowprec.explorer.pages.quantize.settings import SUGGESTED, parse_settings
from lowprec.explorer.pages.quantize.view import quantize
from lowprec.explorer.shared.landscape import COLUMNS, HORIZON, ROWS, landscape
from lowprec.loss import block_loss, measure


def made(x: np.ndarray, text: str, row: int = 0, place: int = 0) -> Column:
    return column(quantize(x, parse_settings(text)), window_of(x, row, place))


def test_the_landscape_is_the_same_everywhere() -> None:
    x = landscape()
    assert (x.shape, x.dtype, float(x.min()), float(x.max())) == ((ROWS, COLUMNS), np.float32, 12, 255)
    assert (x * 16 == np.rint(x * 16)).all()
    assert x[25, 88] == 255  # the sun
    assert (x[HORIZON] == 232).sum() > 100


def test_the_losses_are_those_of_the_library() -> None:
    x = landscape()
    for text, expected in (
        ("int4,block=128", measure(x, "int4", axis=1, block_size=128).sqnr_db),
        ("nvfp4", block_loss(x, "nvfp4").sqnr_db),
        ("mxfp4,rule=floor,block=32", block_loss(x, "mxfp4").sqnr_db),
    ):
        assert made(x, text).sqnr_db == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "block", "begins"),
    [("int4,block=128", Area(54, 0, 1, 128), ((), ())),
     ("nvfp4", Area(54, 80, 1, 16), ((16, 32, 48, 64, 80, 96, 112), ())),
     ("mxfp4,block=32", Area(54, 64, 1, 32), ((32, 64, 96), ())),
     ("int4,block=32,axis=0", Area(32, 88, 32, 1), ((), (32, 64))),
     ("int4,per=axis,axis=0", Area(54, 0, 1, 128), ((), ())), ("int8,per=tensor", Area(0, 0, 72, 128), ((), ()))],
)  # fmt: skip
def test_the_block_of_an_element(text: str, block: Area, begins: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    found = made(landscape(), text, 54, 88)
    assert found.block == block
    assert (found.block_columns, found.block_rows) == begins


def test_numbers_between_values_by_hand() -> None:
    """By OCP MX the scale of a block whose largest element is 7 is 2^(2 - 2): 7 is beyond 6, 5 between 4 and 6."""
    found = made(np.float32([7, 5, 1, 0]), "mxfp4,block=4").histogram
    assert found.values == (0, 0.5, 1, 1.5, 2, 3, 4, 6)
    assert (found.largest, found.beyond, found.edges[0], found.edges[-1]) == (6, 0.25, 0, 8)
    counted = {found.edges[place]: count for place, count in enumerate(found.counts) if count}
    assert counted == {0: 1, 1: 1, 5: 1, 7: 1}


def test_the_largest_number_over_absmax_is_not_beyond() -> None:
    rng = np.random.default_rng(3)
    for text in ("int4,block=8", "float8_e4m3fn,per=axis", "int8,block=16"):
        assert made(rng.standard_normal((40, 64)).astype(np.float32), text).histogram.beyond == 0


def test_negative_numbers_have_values_on_both_sides() -> None:
    found = made(np.float32([-7, 3, 1, 0]), "int4,block=4").histogram
    assert found.values == tuple(range(-8, 8))
    assert sum(found.counts) == 4
    zero = made(np.float32([-8, 7, 1, 0]), "int4,block=4,zero_point=1")
    assert zero.histogram.values == tuple(range(-8, 8))
    assert zero.curve is None


def test_the_curve_by_hand() -> None:
    """The scale of absmax is 14 / 7 = 2; at 2 the errors of 14, 3 and 1 in int4 are 0, 1 (a tie) and 1 (a tie)."""
    found = made(np.float32([14, 3, 1, 0]), "int4,block=4")
    assert (found.curve.rule, found.curve.allowed) == ("absmax", ())
    assert found.curve.chosen.ratio == 1
    assert found.curve.chosen.error == pytest.approx(math.sqrt(2 / 4))
    assert found.block_error == pytest.approx(math.sqrt(2 / 4))
    assert [point.ratio for point in found.curve.line][::80] == pytest.approx([0.5, 1, 2])
    assert found.curve.line[0].error == pytest.approx(math.sqrt(49 / 4))  # 14 becomes 7, the others are exact
    assert found.curve.best.error == min(point.error for point in found.curve.line)


def test_scales_that_are_few_are_dots() -> None:
    """Of NVFP4 and MX the scales are those that their formats have; the chosen one is among them."""
    x = landscape()
    for text in ("nvfp4", "mxfp4,rule=even", "mxint8", "int4,block=32,scale=float8_e8m0fnu"):
        found = made(x, text, 30, 90).curve
        assert min(abs(one.ratio - found.chosen.ratio) for one in found.allowed) < 1e-6
        assert found.best.error == min(one.error for one in (*found.allowed, found.chosen))
        assert found.chosen.error == pytest.approx(made(x, text, 30, 90).block_error, rel=1e-5)


@pytest.mark.parametrize("text", ["0 0", "nan", "inf"])
def test_a_block_without_another_scale(text: str) -> None:
    x = np.float32([float(part) for part in text.split()])
    assert made(x, "mxfp4").curve is None


def test_a_large_tensor_is_seen_through_a_window() -> None:
    x = np.arange(200 * 300, dtype=np.float32).reshape(2, 100, 300)
    seen = window_of(x, 150, 140)
    assert (seen.area, seen.whole) == (Area(144, 128, 56, 128), (200, 300))
    assert seen.values[0, 0] == 144 * 300 + 128
    assert made(x, "int8,block=16", 150, 140).values.shape == (56, 128)


@pytest.mark.parametrize("text", ["", "1", "72,0", "0,128", "-1,0", "a,b", "1,2,3", "٣,1", "1" * 20 + ",0"])
def test_a_place_that_the_tensor_lacks(text: str) -> None:
    with pytest.raises(ValueError, match="`at` must be a row"):
        place_of(text, (72, 128))


def test_names_of_settings() -> None:
    named = {text: (setting_title(parse_settings(text)), setting_label(parse_settings(text))) for text in SUGGESTED}
    assert named["int4,block=128"] == ("int4, blocks of 128", "int4 · 128")
    assert named["nvfp4"] == ("NVFP4, blocks of 16", "NVFP4")
    assert named["mxfp4,rule=floor,block=32"] == ("MXFP4, blocks of 32", "MXFP4, floor")
    assert named["mxfp8_e4m3,rule=floor,block=32"] == ("MXFP8 E4M3, blocks of 32", "MXFP8 E4M3, floor")
    assert named["int8,per=tensor"] == ("int8, one scale", "int8 · tensor")
    assert named["mxfp4,rule=floor,block=16"][1] == "MXFP4 · 16, floor"
