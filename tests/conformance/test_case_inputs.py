"""What the conformance cases try: the numbers that sweeps promise, valid calls, and what a library is not asked for."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from lowprec import reference
from lowprec.conformance import cast_cases, quantize_cases
from lowprec.conformance.cast_cases import Call, Case, Tensor, text_cases
from lowprec.conformance.cast_inputs import landmarks, sweep_float64
from lowprec.conformance.comparison import RULES, compare
from lowprec.conformance.libraries import Gfloat, Lowprec
from lowprec.spec.formats import FORMATS, STRING

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
