"""What notebooks and `print` show of formats, explanations, reports and conformance: well-formed, escaped, right."""

from __future__ import annotations

import ast
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.notebook_page import Page, page_of

import lowprec as lp
from lowprec._notebook_display import html_lines, html_table
from lowprec.checkpoints import Entries, Entry, Finding, Findings, TensorInfo, TensorReport
from lowprec.conformance.comparison import Cell, Report
from lowprec.conformance.report import kept_results
from lowprec.loss import BlockLoss, BlockLosses, ErrorStats, block_sweep, error_statistics, measure
from lowprec.spec.formats import NUMERIC, Format, Kind, NaNRule

HOSTILE = "<script>alert(1)</script>&\"'\x1b[31m"
"""A name that must not end up as markup, and control characters that must not end up anywhere."""

_HOSTILE_FORMAT = Format(
    "<script>", "B", 1001, Kind.FLOAT, 3, 4, 3, True, True, NaNRule.IEEE, True, None, 28, "<b>&'\""
)
_STATS = error_statistics(np.array([1.0, -2.0, 0.25, np.nan]), np.array([1.0, -2.5, 0.0, np.nan]))
_LOSS = measure(np.array([1.0, 1.1, 1000.0], np.float32), "float8_e4m3fn")
_SWEPT = BlockLosses(
    BlockLoss(name, "float4_e2m1fn", size, rule, sqnr, bits)
    for name, size, rule, sqnr, bits in [
        ("mxfp4", 16, "floor", 18.125, 4.5), ("mxfp4", 32, "floor", 17.0, 4.25), ("mxfp4", 32, "<i>", -math.inf, 4.25),
        ("nvfp4", 16, None, 20.5, 4.53125),
    ]
)  # fmt: skip
_FINDINGS = Findings(
    [Finding("layout", False, "", "two <b>\nlines"), Finding("scales", True, HOSTILE, "has 1 NaN among 2 scales", 3)]
)
_ENTRIES = Entries(
    [Entry("w", "int8", (2, 3), 6, 0, 0, -128, 127), Entry(HOSTILE, "float32", (), 4, 1, 0, belongs_to=HOSTILE)]
)
_INFO = TensorInfo(HOSTILE, (2, 3), "bfloat16", 14, "lowprec", "<b>", _ENTRIES[0], _ENTRIES[1])
_TENSOR = TensorReport(HOSTILE, "converted", "", "float32", "int8", (2, 3), 6, 24, 10, sqnr_db=40.25, nan=0)
_CONFORMANCE = Report(
    {"lowprec": "1.2", "<b>": "3.4"},
    {"<b>": "a <remark>"},
    ["gfloat"],
    {
        "float8 nearest": {"lowprec": Cell(1500, 0), "<b>": Cell(1500, 12)},
        "power up": {"lowprec": Cell(123_456, 0), "<b>": Cell(7, 0)},
        "power down": {"lowprec": Cell(10, 0)},
        "bool": {},
    },
)


def _converted(folder: Path, **options: Any) -> Any:
    """Return the report on a file of three tensors, one of which is kept."""
    source = folder / "x.npz"
    np.savez(source, **{"<script>w": np.float32([[1, 1.1], [0, 1000]]), "v": np.float32([2]), "n": np.arange(3)})
    return lp.convert(source, folder / "y.npz", to="float8_e4m3fn", **options)


SHOWN = {
    "Format": _HOSTILE_FORMAT, "FormatTable": lp.formats, "FInfo": lp.finfo(_HOSTILE_FORMAT), "IInfo": lp.iinfo("int4"),
    "Explanation": lp.explain("0.3", _HOSTILE_FORMAT, rounding="stochastic", seed=7), "Loss": _LOSS,
    "ErrorStats": _STATS, "BlockLoss": _SWEPT[0], "BlockLosses": _SWEPT, "Finding": _FINDINGS[1], "Findings": _FINDINGS,
    "Entry": _ENTRIES[1], "Entries": _ENTRIES, "TensorInfo": _INFO, "TensorReport": _TENSOR, "Report": _CONFORMANCE,
    "Comparison": lp.compare(lambda x: x.view(np.uint16).astype(np.uint8), "float16", _HOSTILE_FORMAT),
    "Results": kept_results(), "Quantized": lp.quantize(np.float32([[1, -2, 3]]), "nvfp4"),
    "RoundingTable": lp.roundings,
}  # fmt: skip


def test_every_class_that_notebooks_show_is_tested() -> None:
    classes = {
        node.name
        for path in Path(lp.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        if any(isinstance(one, ast.FunctionDef) and one.name == "_repr_html_" for one in node.body)
    }
    assert classes == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_html_is_well_formed_and_small(name: str) -> None:
    text = SHOWN[name]._repr_html_()  # type: ignore[attr-defined]
    assert Page(text).tables
    assert "<script" not in text
    assert "<b>" not in text
    assert "\x1b" not in text
    assert len(text) < (150_000 if name == "Results" else 22_000), len(text)


@pytest.mark.parametrize("fmt", lp.formats.values(), ids=lambda fmt: fmt.name)
def test_html_of_every_format(fmt: Format) -> None:
    page = page_of(fmt)
    assert page.tables[0].caption == fmt.name
    assert page.tables[0].facts.get("enum", "None") == str(fmt.onnx_enum)
    assert len(page.drawings) == (fmt in NUMERIC)


def test_empty_results() -> None:
    for empty in (Entries(), Findings(), BlockLosses(), Report({"lowprec": "1"}, {}, [], {}), ErrorStats()):
        Page(empty._repr_html_())


# ---- formats


def test_the_card_of_a_format() -> None:
    page = page_of(lp.formats["float8_e4m3fn"])
    (table,) = page.tables
    wanted = {  # OFP8 1.0, table 1
        "ONNX": "FLOAT8E4M3FN", "bias": "7", "max": "448", "max code": "7E", "smallest normal": "2^-6 = 0.015625",
        "smallest subnormal": "2^-9 = 0.001953125", "Inf": "none", "NaN codes": "7F, FF", "-0": "yes", "s/e/m": "1/4/3",
        "defined by": "OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1",
    }  # fmt: skip
    assert {name: table.facts[name] for name in wanted} == wanted
    assert {tuple(row) for row in table.scopes} == {("row", "")}
    (drawing,) = page.drawings
    assert drawing.label == "bits of float8_e4m3fn: sign 1, exponent 4, mantissa 3"
    assert drawing.texts == ["sign", "S", "exponent", "EEEE", "mantissa", "MMM"]
    widths = [int(shape["width"]) for tag, shape in drawing.shapes if tag == "rect"]
    assert [Fraction(width, sum(widths)) for width in widths] == [Fraction(1, 8), Fraction(4, 8), Fraction(3, 8)]


def test_the_cards_of_formats_without_some_fields() -> None:
    power = page_of(lp.formats["float8_e8m0fnu"])
    assert power.drawings[0].texts == ["exponent", "EEEEEEEE"]
    assert power.tables[0].facts["smallest"] == "2^-127"
    assert "smallest subnormal" not in power.tables[0].facts
    assert page_of(lp.formats["int4"]).drawings[0].label == "bits of int4: two's complement 4"
    assert page_of(lp.formats["uint8"]).drawings[0].texts == ["unsigned"]
    wide = page_of(lp.formats["float64"]).drawings[0]  # 64 bits have no digits
    assert wide.texts == ["sign", "exponent", "mantissa"]


def test_the_facts_of_finfo_and_iinfo() -> None:
    facts, theirs = page_of(lp.finfo("bfloat16")).tables[0].facts, ml_dtypes.finfo("bfloat16")
    for name in ("max", "smallest_normal", "eps", "bits"):
        assert float(facts[name]) == float(getattr(theirs, name))
    assert page_of(lp.finfo("float16")).tables[0].facts["nan_code"] == "0x7e00"  # IEEE 754: quiet
    assert page_of(lp.finfo("float8_e4m3fn")).tables[0].facts["inf_code"] == "none"
    assert page_of(lp.finfo("float8_e4m3fn")).drawings[0].label == "bits: sign 1, exponent 4, mantissa 3"
    assert page_of(lp.iinfo("int4")).tables[0].facts == {"bits": "4", "max": "7", "min": "-8", "dtype": "int4"}


# ---- explanations


def _marked(page: Page) -> tuple[Fraction, list[bool]]:
    """Return how far along the interval the mark is, and which end is filled."""
    shapes = page.drawings[1].shapes
    ends = [shape for tag, shape in shapes if tag == "circle"]
    (x,) = [shape["x"] for tag, shape in shapes if tag == "text" and shape.get("text-anchor") == "middle"]
    low, high = (Fraction(one["cx"]) for one in ends)
    return (Fraction(x) - low) / (high - low), ["fill" not in one for one in ends]


@pytest.mark.parametrize(
    ("x", "fmt", "place", "filled", "code"),
    [
        ("0.3", "float8_e4m3fn", Fraction("0.3") * 32 - 9, [False, True], "0 0101 010"),  # between 9/32 and 10/32
        ("1.1", "float4_e2m1fn", Fraction(1, 5), [True, False], "0 01 0"),  # between 1 and 1.5
        ("2.5", "float4_e2m1fn", Fraction(1, 2), [True, False], "0 10 0"),  # between 2 and 3, to the even code
        ("-1.4", "float4_e2m1fn", Fraction(1, 5), [True, False], "1 01 1"),  # between -1.5 and -1
        ("-3", "float8_e8m0fnu", Fraction(1, 2), [False, True], "10000001"),  # without a sign: between 2 and 4, up
        ("2.75", "int4", Fraction(3, 4), [True, False], "0010"),  # toward zero
    ],
)
def test_where_a_number_lies(x: str, fmt: str, place: Fraction, filled: list[bool], code: str) -> None:
    page = page_of(lp.explain(x, fmt))
    assert _marked(page) == (place, filled)
    assert " ".join(page.drawings[0].texts[1::2]) == code


def test_what_was_lost() -> None:
    lines = [line for line in page_of(lp.explain("465", "float8_e4m3fn")).lines if line]
    assert lines == [
        "error: 17, 17/465 of x",
        "lost: 465 rounds beyond 448, the largest value of float8_e4m3fn: saturate makes it 448.",
    ]
    assert page_of(lp.explain("0.3", "float8_e4m3fn")).lines[-1] == "error: 0.0125, 1/24 of x"  # 5/16 - 3/10 = 1/80
    assert page_of(lp.explain("2", "float8_e4m3fn")).lines[-1] == "error: 0"
    assert page_of(lp.explain("nan", "float4_e2m1fn")).lines[-1] == "lost: NaN becomes -0: float4_e2m1fn has no NaN."
    tiny = page_of(lp.explain("1e-999", "float8_e8m0fnu"))  # no float64 has the ratio
    assert tiny.lines[-2].startswith("error: ")


@pytest.mark.parametrize("x", ["nan", "-inf", "2", "1e9", "0"])
@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_special_numbers_have_no_interval_beyond_the_range(x: str, fmt: Format) -> None:
    found = lp.explain(x, fmt)
    page = page_of(found)
    assert len(page.drawings) == 1 + (found.lower != found.upper and None not in (found.lower, found.upper))


def test_explanations_are_pickled_and_compared_as_before() -> None:
    found = lp.explain("0.3", "float8_e4m3fn", rounding="stochastic", seed=7)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != lp.explain("0.3", "float8_e4m3fn")


# ---- reports


def test_a_report_of_a_conversion(tmp_path: Path) -> None:
    report = _converted(tmp_path)
    page = page_of(report)
    (table,) = page.tables
    row = dict(zip(table.rows[0], table.rows[1], strict=True))
    assert row["tensor"] == "<script>w"
    # 1.1 becomes 1.125, 1000 becomes 448: errors 0.025 and 552
    errors = [Fraction(float(np.float32(1.1))) - Fraction(9, 8), Fraction(1000 - 448)]
    signal = 1 + Fraction(float(np.float32(1.1))) ** 2 + 1000**2
    assert row["SQNR dB"] == f"{10 * math.log10(signal / sum(error**2 for error in errors)):.2f}"
    assert (row["max error"], row["saturated"], row["elements"]) == ("552", "1", "4")
    assert [line for line in page.lines if line.startswith("'n': kept")] == ["'n': kept, int64; no floats"]
    assert "<script" not in report._repr_html_()
    dry = page_of(_converted(tmp_path, dry_run=True, overwrite=True))
    assert dict(zip(dry.tables[0].rows[0], dry.tables[0].rows[1], strict=True))["shape"] == "2x2"
    assert page_of(report.tensors[0]).tables[0].facts["shape"] == "2x2"


def test_error_statistics() -> None:
    facts = page_of(_STATS).tables[0].facts
    squares = Fraction(1, 4) + Fraction(1, 16)  # errors 0, 1/2, 1/4
    assert [facts[name] for name in ("elements", "NaN", "flushed", "low", "high")] == ["4", "1", "1", "-2", "1"]
    assert facts["RMS error"] == f"{math.sqrt(squares / 3):.6g}"
    assert facts["SQNR dB"] == f"{10 * math.log10((5 + Fraction(1, 16)) / squares):.6g}"
    assert repr(_STATS).startswith("<ErrorStats: elements 4, NaN 1, Inf 0, low -2, high 1, saturated 0, flushed 1, ")
    loss = page_of(_LOSS).tables[0]
    assert loss.caption == "loss, to float8_e4m3fn"
    assert (loss.facts["saturated"], loss.facts["max abs error"], loss.facts["bytes after"]) == ("1", "552", "3")


def test_a_sweep_of_blocks() -> None:
    (table,) = page_of(_SWEPT).tables
    assert table.rows == [
        ["blocks", "scale rule", "16", "32"],
        ["mxfp4", "floor", "18.12", "17.00"],
        ["mxfp4", "<i>", "", "-inf"],
        ["nvfp4", "its own", "20.50", ""],
        ["mxfp4", "bits per value", "4.5", "4.25"],
        ["nvfp4", "bits per value", "4.53125", ""],
    ]
    found = block_sweep(np.float32([[0.5, 1, 2, 3]]), formats=["mxfp4"], block_sizes=[4], scale_rules=["floor"])
    assert found == tuple(found)
    assert pickle.loads(pickle.dumps(found)) == found
    assert page_of(found).tables[0].rows[2] == ["mxfp4", "bits per value", "6"]  # 4, and 8 bits to 4 elements


def test_findings() -> None:
    (table,) = page_of(_FINDINGS).tables
    assert table.caption == "check: 1 error"
    assert table.rows[1:] == [
        ["note", "layout", "", "two <b> lines"],
        ["error", "scales", f"{HOSTILE!a} and 2 more like it", "has 1 NaN among 2 scales"],
    ]


def test_findings_and_entries_are_lists(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, w=np.ones((2, 3), np.int8), w_scale=np.float32([np.nan, 2]))
    found, entries = lp.checkpoints.check(path), lp.checkpoints.inspect(path, stats=True)
    for one in (found, entries):
        assert isinstance(one, list)
        assert one == list(one)
        assert repr(one) == repr(list(one))
        assert pickle.loads(pickle.dumps(one)) == one
    assert page_of(found).tables[0].rows[2] == ["error", "values", "'w_scale'", "has 1 NaN among 2 scales"]
    assert page_of(entries).tables[0].rows[1] == ["w", "int8", "6", "0", "0", "1", "1", "2x3"]
    assert page_of(_INFO).tables[0].facts["shape"] == "2x3"


def test_entries() -> None:
    page = page_of(_ENTRIES)
    assert page.tables[0].rows == [
        ["tensor", "format", "bytes", "NaN", "Inf", "min", "max", "shape"],
        ["w", "int8", "6", "0", "0", "-128", "127", "2x3"],
        [ascii(HOSTILE), "float32", "4", "1", "0", "-", "-", f"scalar, belongs to {HOSTILE!a}"],
    ]
    assert page.lines[-1] == "2 tensors, 10 B; float32, int8"


# ---- conformance


def test_a_report_on_conformance() -> None:
    page = page_of(_CONFORMANCE)
    differing, others = page.tables
    assert differing.caption == "conformance: 1 rule that a library differs from"
    assert differing.rows[0] == ["rule", "says", "lowprec 1.2", "<b> 3.4"]
    assert differing.rows[2][2:] == ["0 / 1500", "12 / 1500"]
    assert differing.scopes[1] == ["rowgroup"]
    assert [row[2:] for row in others.rows[2:]] == [["0 / 123k", "0 / 7"], ["0 / 10", "-"]]
    assert "not offered" in page.lines[-3]
    assert "P3109" not in page.lines[-3]
    assert repr(_CONFORMANCE) == "<Report: 4 rules with lowprec, <b>>"
    assert page.lines[-2:] == ["<b>: a <remark>.", "Not installed: gfloat."]


# ---- the tables themselves


def test_every_text_is_escaped() -> None:
    name = HOSTILE.replace("\x1b", "")  # XML has no such character
    text = html_table([(name, name), (name, name), (name,)], name) + html_lines([name])
    page = Page(text)
    assert page.tables[0].caption == name
    assert page.tables[0].rows == [[name, name], [name, name], [name]]
    assert page.lines == [name]
    assert text.count("<script") == 0


@pytest.mark.parametrize("count", [1, 16])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_report_is_its_tables(count: int, dry_run: bool, tmp_path: Path) -> None:
    lp.checkpoints.save(tmp_path / "x.npz", {f"w{n}": np.ones((4, 8), np.float32) for n in range(count)})
    report = lp.convert(tmp_path / "x.npz", tmp_path / "y.npz", to="float16", dry_run=dry_run)
    assert str(report) == report.as_text()
    assert len(str(report)) < 2000
    assert repr(report).startswith("Report(")


def test_findings_are_lines_and_a_total() -> None:
    lines = ["note: two <b> lines", f"error: {HOSTILE!a} and 2 more like it: has 1 NaN among 2 scales", "1 error"]
    assert str(_FINDINGS) == "\n".join(lines)
    assert str(Findings()) == "0 errors"
    unchecked = Findings([Finding("unchecked", False, "", "some of it")])
    assert str(unchecked) == "note: some of it\n0 errors; not all was checked"


def test_entries_are_a_table_and_a_total() -> None:
    entries = Entries([Entry("w", "int8", (2, 3), 6, 0, 0, -128, 127), Entry("s", "float32", (), 4, 1, 0)])
    assert str(entries) == (
        "tensor  format   bytes  NaN  Inf   min  max  shape\n"
        "w       int8         6    0    0  -128  127  2x3\n"
        "s       float32      4    1    0     -    -  scalar\n"
        "2 tensors, 10 B; float32, int8"
    )
    assert str(Entries([Entry("w", "int8", (2, 3), 6)])) == (
        "tensor  format  bytes  shape\nw       int8        6  2x3\n1 tensor, 6 B; int8"
    )
    assert str(Entries()) == "tensor  format  bytes  shape\n0 tensors, 0 B; "


def test_losses_of_blocks_are_a_table() -> None:
    losses = BlockLosses(
        [BlockLoss("mxfp4", "float4_e2m1fn", 16, "floor", 18.125, 4.5),
         BlockLoss("nvfp4", "float4_e2m1fn", 32, None, 20.5, 4.25)]
    )  # fmt: skip
    assert str(losses) == (
        "blocks  scale rule         16     32\n"
        "mxfp4   floor           18.12\n"
        "nvfp4   its own                20.50\n"
        "mxfp4   bits per value    4.5\n"
        "nvfp4   bits per value          4.25"
    )
    assert str(BlockLosses()) == "blocks  scale rule"
