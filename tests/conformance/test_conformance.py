"""The conformance command finds the known differences, each with an input that shows it; what cases try."""

from __future__ import annotations

import datetime
import importlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.cli import conformance as command
from lowprec.cli import main
from lowprec.conformance import cast_cases, quantize_cases, report
from lowprec.conformance.cast_cases import Call, Case, Tensor, bitcast_cases, scale_cases, text_cases
from lowprec.conformance.cast_inputs import landmarks, sweep_float64
from lowprec.conformance.comparison import DISPUTED, RULES, Cell, Report, compare
from lowprec.conformance.libraries import Gfloat, Library, Lowprec, installed
from lowprec.conformance.report import Count, kept_results, summary
from lowprec.spec.formats import FORMATS, STRING


@pytest.fixture(scope="module")
def found() -> Report:
    return command.report()


@pytest.mark.slow
def test_every_rule_is_tried_and_lowprec_keeps_them(found: Report, tally: Counter[str]) -> None:
    assert list(found.cells) == list(RULES)
    assert set(found.missing) <= {"pychop", "APyTypes", "torchao", "NumKong"}
    for name, row in found.cells.items():
        ours = row["lowprec"]
        assert ours.tried > 0, name
        tally["Conformance: lowprec beside the rules, every instruction set"] += ours.tried
        tally["Conformance: lowprec beside the rules, every instruction set differ"] += ours.differ
        assert ours.differ == 0, name
    assert sum(row["lowprec"].tried for row in found.cells.values()) > 20_000_000


@pytest.mark.slow
def test_the_kept_results_are_these(found: Report) -> None:
    """The explorer quotes them; a new rule, case or version needs `lowprec conformance --summary` again."""
    kept, now = kept_results(), summary(found)
    assert list(kept.counts) == list(now["rules"])
    for rule, row in now["rules"].items():
        for title, (tried, differ) in row.items():
            if kept.versions.get(title) == found.versions[title] and title != "NumKong":  # its kernels differ too
                assert kept.counts[rule][title] == Count(tried, differ), (rule, title)
    assert kept.versions["lowprec"] == found.versions["lowprec"]


# What is known of the installed versions: (rule, library, input, target, attributes, theirs, expected).
KNOWN = [
    ("float8 once", "ml_dtypes", "float64", "float8_e4m3fn", {}, None, None),
    ("wide once", "ml_dtypes", "float64", "bfloat16", {}, None, None),
    ("wide once", "ml_dtypes", "int32", "bfloat16", {}, None, None),
    ("wide once", "torch", "float64", "float16", {}, None, None),
    ("wide once", "onnx.reference", "float64", "bfloat16", {}, None, None),
    ("wide once", "ONNX Runtime", "float64", "bfloat16", {}, None, None),
    ("wide once", "ONNX Runtime", "float64", "float16", {}, None, None),
    ("float8 overflow saturate", "ml_dtypes", "float32", "float8_e4m3fn", {"saturate": 1}, "0x7F", "0x7E"),
    ("float8 overflow saturate", "torch", "float32", "float8_e5m2", {"saturate": 1}, "0x7C", "0x7B"),
    ("float8 NaN", "torch", "float32", "float8_e5m2", {"saturate": 1}, "0x7F", "0x7E"),
    ("float8 NaN", "NumKong", "float32", "float8_e4m3fn", {"saturate": 1}, "0x7E", "0x7F"),
    ("wide NaN", "torch", "float32", "bfloat16", {}, "0xFFFF", "0x7FC0"),
    ("power Inf saturate", "onnx.reference", "float32", "float8_e8m0fnu", {"round_mode": "up"}, "0xFF", "0xFE"),
    ("power up", "onnx.reference", "float32", "float8_e8m0fnu", {"round_mode": "up"}, "0x01", "0x00"),
    ("power below", "onnx.reference", "float32", "float8_e8m0fnu", {"round_mode": "up"}, "0x00", "0xFF"),
    ("float8 overflow", "ONNX Runtime", "float32", "float8_e4m3fn", {"saturate": 0}, "0x7E", "0x7F"),
    ("float8 overflow", "ONNX Runtime", "float32", "float8_e5m2", {"saturate": 0}, "0x7F", "0x7C"),
    ("narrow truncate", "ONNX Runtime", "float32", "int4", {}, "0x1", "0x0"),
    ("quantize clamp", "onnx.reference", "float32", "uint8", {}, "0x00", "0xFF"),
    ("quantize special", "onnx.reference", "float32", "int8", {}, "0x80", "0x7F"),
    ("quantize precision", "ONNX Runtime", "float16", "int8", {}, None, None),
    ("quantize float8", "ONNX Runtime", "float32", "float8_e4m3fn", {"saturate": 0}, "0x7E", "0x7F"),
    ("dequantize zero point", "onnx.reference", "float4_e2m1fn", "float32", {}, None, None),
    ("FNUZ Inf", "onnx.reference", "float32", "float8_e4m3fnuz", {"saturate": 1}, "0x7F", "0x80"),
    ("FNUZ Inf", "ONNX Runtime", "float32", "float8_e5m2fnuz", {"saturate": 1}, "0x7F", "0x80"),
    ("round wide over ovf_inf", "APyTypes", "float32", "float16", {"rounding": "to_odd"}, "0x7BFF", "0x7C00"),
    ("round float8 over ovf_inf", "gfloat", "float32", "float8_e4m3fn", {"overflow": "ovf_inf"}, "0xFF", "0x7F"),
    ("round P3109 below sat_finite", "gfloat", "float32", "binary8p4uf", {"rounding": "nearest_even"}, None, "0x00"),
    ("scale rceil", "torchao", "float32", "float8_e8m0fnu", {"scale_rule": "rceil"}, None, None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "library", "source", "target", "attributes", "theirs", "expected"), KNOWN)
def test_known_differences_are_found(
    found: Report, rule: str, library: str, source: str, target: str, attributes: dict[str, Any],
    theirs: str | None, expected: str | None,
) -> None:  # fmt: skip
    if library in found.missing:
        pytest.skip(f"{library} is not installed")
    matching = [
        one
        for one in found.differences
        if (one.rule, one.library, one.target) == (rule, library, target)
        and attributes.items() <= one.attributes.items()
        and (theirs is None or (one.theirs.split()[0], one.expected.split()[0]) == (theirs, expected))
    ]
    assert matching
    assert any(one.inputs[0]["format"] == source for one in matching)


@pytest.mark.slow
def test_torch_saturates_one_float8_alone(found: Report) -> None:
    pytest.importorskip("torch")
    targets = {
        rule: {one.target for one in found.differences if (one.rule, one.library) == (rule, "torch")}
        for rule in ("float8 overflow saturate", "float8 overflow")
    }
    assert targets["float8 overflow saturate"] == {"float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}
    assert targets["float8 overflow"] == {"float8_e4m3fn"}


@pytest.mark.slow
def test_what_is_not_offered_is_no_difference(found: Report) -> None:
    pytest.importorskip("onnxruntime")
    for rule in ("small nearest", "small NaN", "quantize small"):  # no float4 and no float6
        assert "ONNX Runtime" not in found.cells[rule]
    tried = found.cells["quantize precision"]
    assert 0 < tried["ONNX Runtime"].tried < tried["lowprec"].tried  # float16, not bfloat16
    for rule in RULES:
        assert "torch" in found.cells[rule] or RULES[rule].basis == DISPUTED or not rule.startswith(("wide", "float8"))
    for library in ("ml_dtypes", "torch", "gfloat"):
        assert library not in found.cells["FNUZ Inf"]
        assert library not in found.cells["quantize even"]


@pytest.mark.slow
def test_rounding_is_that_of_libraries_within_the_range(found: Report) -> None:
    """gfloat, pychop and APyTypes round as the exact rules say, by every mode that they have, to every format."""
    pytest.importorskip("gfloat")
    modes = [rule for rule in RULES if rule.startswith("round ") and "over" not in rule and "below" not in rule]
    assert len(modes) == 5 * 11
    for rule in modes:
        peers = {title: cell for title, cell in found.cells[rule].items() if title != "lowprec"}
        assert all(cell.differ == 0 for cell in peers.values()), rule
        assert rule.endswith(("zero", "odd")) or "gfloat" in peers, rule
    for rule in ("floor", "ceil", "even"):
        assert found.cells[f"scale {rule}"].get("torchao", Cell()).differ == 0


@pytest.mark.slow
def test_onnx_reference_lets_shapes_pass(found: Report) -> None:
    pytest.importorskip("onnx")
    for rule in ("quantize refuses", "dequantize refuses"):
        passing = [one for one in found.differences if (one.rule, one.library) == (rule, "onnx.reference")]
        assert len(passing) == found.cells[rule]["onnx.reference"].differ > 0
        assert all(one.expected == "an error" and one.theirs.startswith("a result of shape") for one in passing)


def _tensor(shown: dict[str, Any]) -> Tensor:
    fmt = lp.as_format(shown["format"])
    if fmt.name == "string":
        return Tensor(np.array([shown["value"]], object), fmt)
    codes = [int(code, 16) for code in shown.get("codes", [shown.get("code")])]
    return Tensor(np.array(codes, fmt.code_dtype).reshape(shown.get("shape", [1])), fmt)


def _again(one: Any) -> tuple[Library, Call]:
    library = next(library for library in installed()[0] if library.title == one.library)
    inputs = [_tensor(shown) for shown in one.inputs]
    inputs[0] = inputs[0].repeated(0, one.copies) if one.copies > 1 else inputs[0]
    if one.operator.endswith("Linear"):  # operands of one element are scalars
        inputs[1:] = [
            Tensor(tensor.codes.reshape(()) if "shape" not in shown else tensor.codes, tensor.fmt)
            for tensor, shown in zip(inputs[1:], one.inputs[1:], strict=True)
        ]
    return library, Call(one.operator, tuple(inputs), lp.as_format(one.target), one.attributes, one.opset or 28)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the libraries overflow on purpose
def test_each_input_shows_its_difference_again(found: Report, tally: Counter[str]) -> None:
    """From what was printed alone; the expected code of a cast is asked of the exact oracle once more."""
    pytest.importorskip("onnx")
    pytest.importorskip("torch")
    for one in found.differences:
        library, call = _again(one)
        (got,) = library.results(call)
        if one.expected == "an error":
            assert one.theirs == f"a result of shape {list(got.shape)}"
            continue
        if one.target == "string":
            assert repr(got[0]) == one.theirs
            continue
        theirs, expected = (int(text.split()[0], 16) for text in (one.theirs, one.expected))
        assert theirs != expected
        if not any("shape" in shown for shown in one.inputs):
            assert int(got.reshape(-1)[0]) == theirs, one
        if one.operator == "Cast":
            rules: dict[str, Any] = {"saturate": bool(one.attributes.get("saturate", 1))}
            rules["opset"] = 23 if one.rule == "FNUZ Inf" else 28
            rules["round_mode"] = one.attributes.get("round_mode")
            (shown,) = one.inputs
            if shown["format"] == "string":
                assert reference.encode(shown["value"], one.target, **rules) == expected
            else:
                assert reference.cast(int(shown["code"], 16), shown["format"], one.target, **rules) == expected, one
        tally["Conformance: inputs that show another library again from what was printed"] += 1
    assert len(found.differences) > 300


def _small() -> Iterator[Case]:
    fmt = lp.formats["float8_e5m2"]
    codes = np.array([0x0000, 0x3C00, 0x7C00], np.uint16)
    call = Call("Cast", (Tensor(codes, lp.formats["float16"]),), fmt, {"to": 19, "saturate": 1})
    yield Case("float8 nearest", call, np.array([0x00, 0x3C, 0x7B], np.uint8))
    wrong = Call("Cast", (Tensor(codes, lp.formats["float16"]),), fmt, {"to": 19, "nothing": 1})
    yield Case("quantize refuses", wrong, None, control=call)


class Broken(Lowprec):
    title = "broken"

    def results(self, call: Call) -> Iterator[Any]:
        known = {name: value for name, value in call.attributes.items() if name != "nothing"}
        right = next(super().results(replace(call, attributes=known)))
        yield right
        yield np.where(right == 0, right, right ^ 1)  # a second way, that goes wrong


class Absent(Library):
    title, package = "absent", "numpy"

    def results(self, call: Call) -> Iterator[Any]:
        raise RuntimeError("nothing here")


def test_a_wrong_library_is_found_and_an_absent_one_is_not_blamed() -> None:
    small = compare(_small(), [Lowprec(), Broken(), Absent()], ["gone"])
    cells = small.cells["float8 nearest"]
    assert [(title, cell.tried, cell.differ) for title, cell in cells.items()] == [("lowprec", 3, 0), ("broken", 3, 2)]
    (one, refusal) = small.differences
    assert (one.inputs, one.theirs, one.expected) == (
        [{"format": "float16", "code": "0x3C00", "value": "1.0"}], "0x3D (1.25)", "0x3C (1.0)",
    )  # fmt: skip
    assert (refusal.rule, refusal.library, refusal.expected) == ("quantize refuses", "broken", "an error")
    text = report.as_text(small)
    assert "Not installed: gone." in text
    assert "broken: Cast at opset 28 of float16 0x3C00 (1.0) to float8_e5m2, saturate=1 gives 0x3D (1.25)" in text
    assert report.as_text(compare(_small(), [Lowprec()], [])).count("One input") == 0


class Short(Lowprec):
    title = "short"

    def results(self, call: Call) -> Iterator[Any]:
        yield np.zeros((1, 2), np.uint8)


def test_a_result_of_another_shape_differs() -> None:
    cell = compare(_small(), [Short()], []).cells["float8 nearest"]["short"]
    assert (cell.tried, cell.differ) == (3, 3)
    assert [one.theirs for one in cell.differences.values()] == ["a result of shape [1, 2]"]


def test_lowprec_may_not_decline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lowprec, "results", Absent.results)
    cell = compare(_small(), [Lowprec()], []).cells["float8 nearest"]["lowprec"]
    assert (cell.tried, cell.differ) == (3, 3)
    (one,) = cell.differences.values()
    assert (one.theirs, one.expected) == ("an error", "0x00 (0.0)")


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx")
    real = importlib.import_module

    def refuse(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("torch", "onnxruntime", "numkong", "gfloat", "pychop", "apytypes", "torchao"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", refuse)
    there, missing = installed()
    assert [library.title for library in there] == ["lowprec", "onnx.reference", "ml_dtypes"]
    assert missing == ["ONNX Runtime", "torch", "NumKong", "gfloat", "pychop", "APyTypes", "torchao"]


@pytest.mark.slow
def test_the_command(found: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "report", lambda: found)
    assert main(["conformance"]) == 0
    text = capsys.readouterr().out
    for title, version in found.versions.items():
        assert title in text
        assert version in text
    assert sum(" expected " in line for line in text.splitlines()) == len(found.differences)
    assert main(["conformance", "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    differing = {one.rule for one in found.differences}
    assert sum(line.startswith("| ") for line in lines) == 2 + len(differing) + len(
        {RULES[name].group for name in differing}
    )
    assert all(any(rule.text in line for line in lines) for rule in RULES.values())
    assert main(["conformance", "--json"]) == 0
    loaded = json.loads(capsys.readouterr().out)
    assert [row["rule"] for row in loaded["rules"]] == list(RULES)
    assert loaded["versions"] == found.versions
    assert len(loaded["differences"]) == len(found.differences)
    with pytest.raises(SystemExit):
        main(["conformance", "--json", "--markdown"])


def test_a_part_is_found_again() -> None:
    cases = [*bitcast_cases(), *text_cases(), *scale_cases()]
    found = compare(cases, [Lowprec()], [])
    tried = {rule: row["lowprec"] for rule, row in found.cells.items() if row}
    assert len(tried) == 10
    kept = kept_results()
    for rule, cell in tried.items():
        count = kept.counts[rule]["lowprec"]
        assert (count.tried, count.differ) == (cell.tried, cell.differ) == (cell.tried, 0), rule


def test_they_are_of_this_version_and_of_every_rule() -> None:
    kept = kept_results()
    assert list(kept.counts) == list(RULES)
    assert kept.versions["lowprec"] == lp.__version__
    assert datetime.date.fromisoformat(kept.date) >= datetime.date(2026, 11, 23)
    assert {"ml_dtypes", "onnx.reference", "gfloat", "pychop", "APyTypes", "torchao"} <= set(kept.versions)
    assert kept.counts["float8 once"]["ml_dtypes"].differ == 4916


def test_the_command_prints_a_summary(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cells = {"same": {"lowprec": Cell(7, 0), "torch": Cell(5, 2)}, "bool": {"lowprec": Cell(3, 0)}}
    report = Report({"lowprec": "1.2", "torch": "3.4"}, {}, [], cells)
    monkeypatch.setattr(command, "report", lambda: report)
    assert main(["conformance", "--summary"]) in (0, None)
    printed = json.loads(capsys.readouterr().out)
    assert printed == summary(report)
    assert printed["rules"] == {"same": {"lowprec": [7, 0], "torch": [5, 2]}, "bool": {"lowprec": [3, 0]}}


FLOAT4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]  # MX 1.0, table 5
E4M3, E5M2 = FORMATS["float8_e4m3fn"], FORMATS["float8_e5m2"]


def test_float64_inputs() -> None:
    found = np.sort(sweep_float64(E4M3, count=0))
    powers = np.ldexp(1.0, np.arange(-150, 130))[:, None]
    bits = np.ldexp(1.0, np.arange(-52, 0))
    grid = [powers * (1 + bits), powers * (2 - bits), powers * (1 + (bits - 2.0**-52)), powers]
    values = np.array([*(m * 2.0**-9 for m in range(1, 8)), *(m * 2.0**e for e in range(-9, 5) for m in range(8, 16))])
    marks = np.array([(a + b) / 2 for a, b in pairwise(np.sort(values))] + values.tolist())
    near = [marks, np.nextafter(marks, 0), np.nextafter(marks, np.inf), marks * (1 + 2.0**-40), marks * (1 - 2.0**-40)]
    for numbers in (*grid, *near):
        assert np.isin(numbers, found).all()
        assert np.isin(-numbers, found).all()


def test_inputs_beyond_every_integer() -> None:
    for target in ("uint2", "int64", "uint64"):
        found = landmarks(target)
        assert np.isin(2.0 ** np.arange(60, 66), found).all()
        assert np.isin([1.5 * 2.0**63, 1.5 * 2.0**64], found).all()


def test_ties_of_decimals() -> None:
    calls = [case.call for case in text_cases() if case.call.target is E4M3]
    words = {word for call in calls for word in call.inputs[0].codes.tolist()}
    for step in range(8):
        tie = Fraction(17 + 2 * step, 16)
        for number in (tie, tie - Fraction(1, 10**40), tie + Fraction(1, 10**40)):
            assert {reference.exact_decimal(number), f"-{reference.exact_decimal(number)}"} <= words


@pytest.fixture
def roundings(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Return the cases of one target."""
    monkeypatch.setattr(cast_cases, "FAMILIES", {"small": (FORMATS["float4_e2m1fn"],)})
    return list(cast_cases.rounding_cases())


def test_rounding_inputs(roundings: list[Case]) -> None:
    ties = [(a + b) / 2 for a, b in pairwise(FLOAT4)]
    marks = np.float32([*FLOAT4, *ties])
    wanted = np.concatenate([marks, np.nextafter(marks, np.float32(0)), np.nextafter(marks[:-1], np.float32(8))])
    wanted = wanted[wanted <= 6]
    within = [case.call.inputs[0].array for case in roundings if " over " not in case.rule]
    assert len(within) == 8 + 3 * 3  # stochastic modes, each with three random numbers
    for x in within:
        assert np.isin([*wanted, *-wanted], x).all()
        assert np.abs(x).max() == 6


def test_gfloat_is_not_asked_for_text_and_wide_integers() -> None:
    pytest.importorskip("gfloat")
    codes = np.array([0x3C], np.uint8)
    attributes = {"to": E5M2.onnx_enum, "saturate": 1}
    one = {
        "text to float": Tensor(np.array(["1"], object), STRING),
        "float8 once": Tensor(np.array([1], np.uint64), FORMATS["int64"]),
        "float8 nearest": Tensor(np.array([1], np.uint32), FORMATS["int32"]),
    }
    cases = [Case(rule, Call("Cast", (x,), E5M2, attributes), codes) for rule, x in one.items()]
    cells = compare(cases, [Lowprec(), Gfloat()], []).cells
    assert [list(cells[rule]) for rule in one] == [["lowprec"], ["lowprec"], ["lowprec", "gfloat"]]
    assert all(cell.differ == 0 for rule in one for cell in cells[rule].values())


def test_calls_are_valid_and_so_is_what_is_next_to_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantize_cases, "_TARGETS", [E5M2])
    cases, ours = list(quantize_cases.quantize_cases()), Lowprec()
    found = compare(cases, [ours], []).cells
    tried = {rule for rule, row in found.items() if row}
    assert {"quantize float8 saturate", "quantize refuses", "dequantize refuses"} <= tried
    assert all(cell.differ == 0 for row in found.values() for cell in row.values())
    controls = [case.control for case in cases if case.control is not None]
    assert len(controls) == 27
    for call in controls:
        assert len(list(ours.results(call))) > 0, call


def test_texts_of_rules_name_the_formats() -> None:
    narrow = "int2, uint2, int4, uint4"
    assert RULES["narrow low bits"].text == f"integer to {narrow}: the low bits"
    assert RULES["narrow truncate"].text == f"float to {narrow}, in range: toward zero"
