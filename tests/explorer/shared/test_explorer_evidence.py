"""The evidence on the pages: the rule that decides a number, the counts that are kept, and a check that can fail."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from support.explorer_pages import healthy, page, texts

import lowprec as lp
from lowprec import reference
from lowprec.conformance import cast_check
from lowprec.conformance.cast_check import check_cast, rule_of_cast
from lowprec.conformance.comparison import RULES
from lowprec.conformance.report import kept_results
from lowprec.explorer.shared import evidence as view
from lowprec.explorer.shared.cast_options import DETERMINISTIC, cast_options
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC
from lowprec.spec.rounding_modes import ROUND_MODES

E4M3 = lp.as_format("float8_e4m3fn")

# (number, target, options, rule): typed from the table of docs/conformance.md
DECIDES = [
    ("0.3", "float8_e4m3fn", {}, "float8 nearest"),
    ("464", "float8_e4m3fn", {}, "float8 nearest"),  # a tie that is rounded to 448
    ("465", "float8_e4m3fn", {}, "float8 overflow saturate"),
    ("465", "float8_e4m3fn", {"saturate": False}, "float8 overflow"),
    ("inf", "float8_e5m2", {}, "float8 Inf saturate"),
    ("-inf", "float8_e5m2", {"saturate": False}, "float8 Inf"),
    ("inf", "float8_e4m3fnuz", {"opset": 23}, "FNUZ Inf"),
    ("inf", "float8_e4m3fnuz", {}, "float8 Inf saturate"),
    ("nan", "float8_e4m3fn", {}, "float8 NaN"),
    ("1e400", "bfloat16", {}, "wide overflow"),
    ("1.00390625000000005", "bfloat16", {}, "wide nearest"),
    (1.00390625 + 2**-40, "bfloat16", {}, "wide once"),  # float32 makes a tie of it
    ("7", "float4_e2m1fn", {}, "small overflow"),
    ("3", "float8_e8m0fnu", {"round_mode": "down"}, "power down"),
    ("-3", "float8_e8m0fnu", {}, "power negative"),
    ("0", "float8_e8m0fnu", {"saturate": False}, "power below"),
    ("2.5", "int8", {}, "whole truncate"),
    ("2.5", "int4", {}, "narrow truncate"),
    ("300", "int8", {}, "whole beyond"),
    ("nan", "int8", {}, "whole special"),
    ("2", "bool", {}, "bool"),
    ("0.3", "float8_e4m3fn", {"rounding": "to_odd"}, "round float8 to_odd"),
    ("465", "float8_e4m3fn", {"rounding": "to_odd", "overflow": "ovf_inf"}, "round float8 over ovf_inf"),
    ("0.3", "binary8p3se", {"rounding": "toward_zero"}, "round P3109 toward_zero"),
    ("0.3", "binary8p3se", {}, None),
    ("nan", "float8_e4m3fn", {"rounding": "to_odd"}, None),
]


@pytest.mark.parametrize(("x", "target", "options", "rule"), DECIDES)
def test_the_rule_that_decides(x: str, target: str, options: dict[str, object], rule: str | None) -> None:
    assert rule_of_cast(x, target, **options) == rule
    found = view.evidence(x, lp.as_format(target), {"opset": 28, "saturate": True, **options}) if rule else None
    if found:
        assert (found.group, found.text) == RULES[rule][:2]
        assert found.tried > 0
        assert found.differ == 0


@pytest.mark.parametrize(
    ("source", "target", "x", "rule"),
    [("float8_e4m3fn", "float64", "0.5", "wide exact"), ("float32", "float8_e4m3fn", "0.5", "float8 nearest"),
     ("int64", "bfloat16", str(2**62 + 2**54 + 1), "wide once"), ("int32", "int4", "17", "narrow low bits"),
     ("int8", "int8", "3", "same"), ("float8_e5m2", "float8_e5m2", "inf", "same saturate")],
)  # fmt: skip
def test_the_source_matters(source: str, target: str, x: str, rule: str) -> None:
    assert rule_of_cast(x, target, source) == rule


def test_every_state_has_evidence_or_none() -> None:
    described = [format_named(name) for name in ("binary8p3se", "e4m3,bias=8,inf=0,nan=negative-zero", "e4m3,signed=0")]
    for fmt in (*NUMERIC, *described):
        for x in ("0.3", "-7", "1e400", "-inf", "nan", "-0", "17/23"):
            for options in (
                *(cast_options(saturate, mode, 28) for saturate in (True, False) for mode in ROUND_MODES),
                cast_options(True, "up", 23),
                *(cast_options(True, "up", 28, rounding) for rounding in DETERMINISTIC),
            ):
                found = view.evidence(x, fmt, options)
                assert found is None or found.differ == 0
        assert view.of_code(reference.decode(1, fmt), fmt) or fmt not in ONNX_NUMERIC


@pytest.mark.parametrize("target", NUMERIC, ids=lambda fmt: fmt.name)
def test_a_check_agrees(target: lp.Format) -> None:
    for source in ("bfloat16", "float8_e5m2", "int8"):
        found = check_cast(source, target)
        assert found.tried == 1 << lp.as_format(source).bits
        assert (found.differ, found.first) == (0, None)
    if target.is_float:
        assert check_cast("bfloat16", target, rounding="toward_zero").differ == 0


def test_a_check_of_wide_sources_is_bounded_and_quick() -> None:
    for source in ("float32", "float64", "int64"):
        check_cast(source, E4M3)
        start = time.process_time()
        found = check_cast(source, E4M3)
        assert 10_000 < found.tried <= cast_check.MOST_INPUTS
        assert found.differ == 0
        assert time.process_time() - start < 2


def test_a_check_sees_a_wrong_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(codes: np.ndarray, *arguments: object, **options: object) -> np.ndarray:
        found = lp.encode(codes, *arguments, **options).copy()
        found[[0x3E9A, 0x7000]] ^= 1
        return found

    monkeypatch.setattr(cast_check, "encode", wrong)
    found = check_cast("bfloat16", E4M3)
    assert (found.tried, found.differ, found.first) == (65536, 2, 0x3E9A)


def test_the_check_of_a_page() -> None:
    found = view.check(E4M3, cast_options(False, "up", 23))
    assert [(one.source.name, one.tried, one.differ) for one in found.checks] == [
        ("bfloat16", 65536, 0),
        ("float16", 65536, 0),
    ]
    assert [one.source.name for one in view.check(lp.as_format("float16"), {}).checks] == ["bfloat16"]
    assert view.check(lp.as_format("float8_e8m0fnu"), {"opset": 19}).problem
    assert [one.remark for one in view.check_overflow(23)[:2]] == ["saturate = 1", "saturate = 0"]


def test_the_page_says_the_kept_counts_and_checks_them() -> None:
    kept = kept_results()
    count = kept.counts["float8 overflow saturate"]["lowprec"]
    test = healthy(page("rounding", "evidence", x="465"))
    assert f"exact result in all {count.tried:,} inputs tried" in texts(test)
    assert kept.date in texts(test)
    peer = kept.counts["float8 overflow saturate"]["ml_dtypes"]
    assert f"ml_dtypes {kept.versions['ml_dtypes']}: {peer.differ:,} of {peer.tried:,}" in texts(test)
    assert "differ</strong> from exact" not in texts(test)
    healthy(next(button for button in test.button if button.label == "Check now").click().run())
    assert texts(test).count("65,536 inputs, 0 differ") == 2


def test_a_format_beyond_the_table_says_so() -> None:
    assert view.evidence("0.3", format_named("binary8p3se"), {}) is None
    assert view.run().version == lp.__version__


@pytest.mark.parametrize(
    ("name", "query", "shown"),
    [("quantize", {"show": "result", "fmt": "int8"}, "float32 → int8, this tensor: <strong>240 inputs, 0 differ"),
     ("quantize", {"show": "block", "scheme": "mx"}, "→ float8_e8m0fnu, scales: <strong>12 inputs, 0 differ"),
     ("errors", {"fmts": "float8_e4m3fn"}, "bfloat16 → float8_e4m3fn: <strong>65,536 inputs, 0 differ"),
     ("errors", {"fmts": "float8_e4m3fn", "roundings": "stochastic_a"}, "no single result to compare with"),
     ("describe", {"fmt": "e4m3"}, "bfloat16 → e4m3: <strong>65,536 inputs, 0 differ"),
     ("describe", {"fmt": "e4m3"}, "e4m3 → float64: <strong>256 inputs, 0 differ"),
     ("describe", {"fmt": "tf32"}, "which has 19 bits, more than 16"),
     ("anatomy", {"at": "0x2a"}, "float8_e4m3fn → float64: <strong>256 inputs, 0 differ"),
     ("anatomy", {"at": "0.3"}, "bfloat16 → float8_e4m3fn: <strong>65,536 inputs, 0 differ"),
     ("compare", {"fmts": "int4,binary8p3se"}, "bfloat16 → binary8p3se: <strong>65,536 inputs, 0 differ"),
     ("conversion", {"source": "int8", "at": "3"}, "int8 → float8_e4m3fn: <strong>256 inputs, 0 differ"),
     ("saturation", {"opset": "23"}, "bfloat16 → float8_e5m2fnuz, saturate = 0: <strong>65,536 inputs, 0 differ")],
)  # fmt: skip
def test_every_page_checks(name: str, query: dict[str, str], shown: str) -> None:
    more = {"origin": "sampled", "rows": "6", "columns": "40"} if name == "quantize" else {}
    test = healthy(page(name, "evidence", **query, **more))
    before = texts(test).count(shown)
    healthy(next(one for one in test.button if one.label == "Check now").click().run())
    assert texts(test).count(shown) > before


@pytest.mark.parametrize(
    ("name", "query", "shown"),
    [("errors", {"fmts": "float8_e4m3fn", "high": "1000"}, "saturate=1: the largest value"),  # the end overflows
     ("errors", {"fmts": "float8_e4m3fn", "roundings": "stochastic_a"}, "stochastic_a: floor"),
     ("describe", {"fmt": "float8_e5m2"}, "inputs tried"),
     ("rounding", {"fmt": "binary8p3se"}, "have no rule for this")],
)  # fmt: skip
def test_what_the_evidence_says(name: str, query: dict[str, str], shown: str) -> None:
    assert shown in texts(healthy(page(name, "evidence", **query)))


@pytest.mark.parametrize("show", ["sum", "operation"])
def test_arithmetic_names_tests_that_exist(show: str) -> None:
    shown = texts(healthy(page("arithmetic", show=show)))
    name = "tests/teaching/test_accumulation.py" if show == "sum" else "tests/teaching/test_arithmetic.py"
    assert name in shown
    text = Path(__file__).parents[3].joinpath(name).read_text()
    assert "import numpy as np" in text
