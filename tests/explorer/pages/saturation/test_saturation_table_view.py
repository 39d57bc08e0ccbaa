"""The explorer's saturation tables next to those of the Cast page, typed by hand, by opset; formats next to ONNX's."""

from __future__ import annotations

from typing import Any

import pytest

from lowprec import as_format, reference
from lowprec.explorer.pages.saturation import table_view as view
from lowprec.explorer.pages.saturation.table_view import Table
from lowprec.explorer.shared.format_names import format_named

FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")

# From the Cast page: the codes of x in the four formats, by `saturate`.
ALWAYS = {
    "0": (0x00, 0x00, 0x00, 0x00),
    "-0": (0x80, 0x00, 0x80, 0x00),
    "NaN": (0x7F, 0x80, 0x7E, 0x80),
    "-NaN": (0xFF, 0x80, 0xFE, 0x80),
    "last x that fits": (0x7E, 0x7F, 0x7B, 0x7F),
}
SATURATED = {
    "+Inf": (0x7E, 0x7F, 0x7B, 0x7F),
    "-Inf": (0xFE, 0xFF, 0xFB, 0xFF),
    "first x beyond": (0x7E, 0x7F, 0x7B, 0x7F),
    "beyond, negative": (0xFE, 0xFF, 0xFB, 0xFF),
}
BEFORE_24 = {"+Inf": (0x7E, 0x80, 0x7B, 0x80), "-Inf": (0xFE, 0x80, 0xFB, 0x80)}
NOT_SATURATED = {
    "+Inf": (0x7F, 0x80, 0x7C, 0x80),
    "-Inf": (0xFF, 0x80, 0xFC, 0x80),
    "first x beyond": (0x7F, 0x80, 0x7C, 0x80),
    "beyond, negative": (0xFF, 0x80, 0xFC, 0x80),
}
# no Inf and no NaN: the largest value whatever `saturate` says; NaN becomes zero of the opposite sign
OTHERS = {
    "float16": (0, 0x8000, 0x7E00, 0xFE00, 0x7C00, 0xFC00, 0x7BFF, 0x7C00, 0xFC00),
    "bfloat16": (0, 0x8000, 0x7FC0, 0xFFC0, 0x7F80, 0xFF80, 0x7F7F, 0x7F80, 0xFF80),
    "float6_e2m3fn": (0, 0x20, 0x20, 0, 0x1F, 0x3F, 0x1F, 0x1F, 0x3F),
    "float6_e3m2fn": (0, 0x20, 0x20, 0, 0x1F, 0x3F, 0x1F, 0x1F, 0x3F),
    "float4_e2m1fn": (0, 8, 8, 0, 7, 15, 7, 7, 15),
}


def codes(table: Table) -> dict[str, tuple[int, ...]]:
    return {row.label: tuple(cell.code for cell in row.cells) for row in table.rows}


@pytest.mark.parametrize("opset", range(19, 29))
def test_the_tables_of_float8(opset: int) -> None:
    saturated, plain = view.floats(opset, True), view.floats(opset, False)
    assert saturated.columns == plain.columns == FLOAT8
    assert codes(saturated) == ALWAYS | SATURATED | (BEFORE_24 if opset < 24 else {})
    assert codes(plain) == ALWAYS | NOT_SATURATED


@pytest.mark.parametrize(("opset", "frames"), [(19, 4), (23, 4), (24, 0), (28, 0)])
def test_what_changed_since_is_framed(opset: int, frames: int) -> None:
    changed = [
        (row.label, cell.format.name) for row in view.floats(opset, True).rows for cell in row.cells if cell.changed
    ]
    assert len(changed) == frames
    assert {name for _, name in changed} <= {"float8_e4m3fnuz", "float8_e5m2fnuz"}
    assert {label for label, _ in changed} <= {"+Inf", "-Inf"}
    for table in (view.floats(opset, False), view.floats(opset, None), view.integers(opset)):
        assert not any(cell.changed for row in table.rows for cell in row.cells)


@pytest.mark.parametrize(
    ("opset", "names"),
    [(19, ("float16", "bfloat16")), (23, ("float16", "bfloat16", "float4_e2m1fn")),
     (24, ("float16", "bfloat16", "float4_e2m1fn")), (28, tuple(OTHERS))],
)  # fmt: skip
def test_the_formats_that_saturate_does_not_concern(opset: int, names: tuple[str, ...]) -> None:
    table = view.floats(opset, None)
    assert table.columns == names
    for index, name in enumerate(names):
        assert tuple(row.cells[index].code for row in table.rows) == OTHERS[name]


def test_the_edges() -> None:
    given = {cell.format.name: cell.input for cell in view.floats(28, True).rows[6].cells}
    assert given == {"float8_e4m3fn": "464", "float8_e4m3fnuz": "248−ε", "float8_e5m2": "61440−ε",
                     "float8_e5m2fnuz": "61440−ε"}  # fmt: skip


# SPEC of the power-of-two scale: (up, down, nearest) with saturate, then without
POWERS = {
    "0": (0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF),
    "NaN": (0xFF,) * 6,
    "+Inf": (0xFE, 0xFE, 0xFE, 0xFF, 0xFF, 0xFF),
    "2^-128": (0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF),
    "2^-127": (0x00,) * 6,
    "1.25": (0x80, 0x7F, 0x7F, 0x80, 0x7F, 0x7F),
    "1.5": (0x80, 0x7F, 0x80, 0x80, 0x7F, 0x80),
    "1.75": (0x80, 0x7F, 0x80, 0x80, 0x7F, 0x80),
    "-3": (0x81, 0x80, 0x81, 0x81, 0x80, 0x81),
    "2^127": (0xFE,) * 6,
    "2^127+ε": (0xFE, 0xFE, 0xFE, 0xFF, 0xFF, 0xFF),
    "2^128": (0xFE, 0xFE, 0xFE, 0xFF, 0xFF, 0xFF),
}


@pytest.mark.parametrize("opset", [19, 23, 24, 28])
def test_the_power_of_two_scale(opset: int) -> None:
    table = view.powers(opset)
    if opset < 24:
        assert table is None
        return
    assert table.columns == tuple(f"{mode}, saturate={flag}" for flag in (1, 0) for mode in ("up", "down", "nearest"))
    assert codes(table) == POWERS


# two's complement by hand: 70000 is 0x11170, 3e9 is 0xB2D05E00
INTEGERS = {
    "1.9": (1, 1, 1, 1, 1, 1, 1, 1, 1),
    "-1.9": (3, 3, 15, 15, 0xFF, 0xFF, 0xFFFF, 0xFFFF, 1),
    "-1": (3, 3, 15, 15, 0xFF, 0xFF, 0xFFFF, 0xFFFF, 1),
    "200": (0, 0, 8, 8, 200, 200, 200, 200, 1),
    "-200": (0, 0, 8, 8, 56, 56, 0xFF38, 0xFF38, 1),
    "70000": (0, 0, 0, 0, 0x70, 0x70, 0x1170, 0x1170, 1),
    "3e9": (0, 0, 0, 0, 0, 0, 0x5E00, 0x5E00, 1),
    "NaN": (0, 0, 0, 0, 0, 0, 0, 0, 1),
    "+Inf": (0, 0, 0, 0, 0, 0, 0, 0, 1),
    "-Inf": (0, 0, 0, 0, 0, 0, 0, 0, 1),
}


@pytest.mark.parametrize(("opset", "left_out"), [(19, 4), (21, 2), (24, 2), (25, 0), (28, 0)])
def test_integers_wrap(opset: int, left_out: int) -> None:
    table = view.integers(opset)
    assert table.columns == ("int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "bool")[left_out:]
    assert codes(table) == {label: row[left_out:] for label, row in INTEGERS.items()}


def test_cells_say_the_value_of_their_code() -> None:
    powers = view.powers(28)
    for table in (view.floats(28, True), view.floats(19, False), view.floats(28, None), powers, view.integers(28)):
        for row in table.rows:
            for cell in row.cells:
                assert cell.value == reference.decode(cell.code, cell.format)


# ---- formats next to ONNX's

# By hand, for 0, -0, NaN, -NaN, +Inf, -Inf, the last x that fits, the first beyond, -2 max. binary8p3se has the NaN
# 0x80, Inf 0x7F and 49152 as 0x7E; e3m2,inf=0,nan=all-ones the NaN 0x1F and 24 as 0x1E; binary5p3uf no sign, the NaN
# 0x1F and its largest value as 0x1E; tf32 is float32 without the lower 13 bits.
BESIDE: tuple[tuple[str, dict[str, Any], tuple[int, ...]], ...] = (
    ("binary8p3se", {}, (0, 0, 0x80, 0x80, 0x7E, 0xFE, 0x7E, 0x7E, 0xFE)),
    ("binary8p3se", {"overflow": "ovf_inf"}, (0, 0, 0x80, 0x80, 0x7F, 0xFF, 0x7E, 0x7F, 0xFF)),
    ("binary8p3se", {"overflow": "sat_propagate"}, (0, 0, 0x80, 0x80, 0x7F, 0xFF, 0x7E, 0x7E, 0xFE)),
    ("binary8p3se", {"overflow": "ovf_inf", "rounding": "toward_zero"},
     (0, 0, 0x80, 0x80, 0x7F, 0xFF, 0x7E, 0x7E, 0xFE)),
    ("e3m2,inf=0,nan=all-ones", {"nan": "largest"}, (0, 0x20, 0x1E, 0x1E, 0x1E, 0x3E, 0x1E, 0x1E, 0x3E)),
    ("e3m2,inf=0,nan=all-ones", {"overflow": "ovf_inf", "nan": "plain"},
     (0, 0x20, 0x1F, 0x1F, 0x1F, 0x1F, 0x1E, 0x1F, 0x1F)),
    ("binary5p3uf", {"overflow": "ovf_inf"}, (0, 0, 0x1F, 0x1F, 0x1F, 0x1F, 0x1E, 0x1F, 0x1F)),
    ("tf32", {}, (0, 0x40000, 0x3FE00, 0x7FE00, 0x3FC00, 0x7FC00, 0x3FBFF, 0x3FC00, 0x7FC00)),
    ("tf32", {"overflow": "sat_finite", "nan": "zero"},
     (0, 0x40000, 0, 0, 0x3FBFF, 0x7FBFF, 0x3FBFF, 0x3FBFF, 0x7FBFF)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "rules", "expected"), BESIDE)
def test_the_columns_beside(name: str, rules: dict[str, Any], expected: tuple[int, ...]) -> None:
    others = view.OtherColumns((format_named(name),), **rules)
    for opset, saturate in ((28, True), (19, False), (23, None)):
        table = view.floats(opset, saturate, others)
        assert table.columns == (*view.floats(opset, saturate).columns, f"{name} (not in ONNX)")
        assert tuple(row.cells[-1].code for row in table.rows) == expected
        cells = [row.cells[-1] for row in table.rows]
        assert all(cell.value == reference.decode(cell.code, cell.format) for cell in cells)


def test_the_edges_follow_the_rounding() -> None:
    shown = []
    for rounding in ("nearest_even", "nearest_away", "toward_zero", "away_from_zero"):
        table = view.floats(28, True, view.OtherColumns((as_format("binary8p3se"),), rounding))
        shown.append(tuple(row.cells[-1].input for row in table.rows[6:8]))
    assert shown == [("53248", "53248+ε"), ("53248−ε", "53248"), ("57344−ε", "57344"), ("49152", "49152+ε")]


def test_a_row_beside_is_marked() -> None:
    others = view.OtherColumns((as_format("float8_e4m3fn"),), overflow="ovf_inf")
    table = view.floats(28, True, others)
    assert table.columns[-1] == "float8_e4m3fn (not by ONNX's rules)"
    assert [row.cells[-1].code for row in table.rows[4:6]] == [0x7F, 0xFF]
