"""The views and code snippets of Arithmetic: terms, sums, orders, stochastic runs, operations; what is copied runs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.optional import optional
from support.snippets import model_of, run

import lowprec as lp
from lowprec import reference, teaching
from lowprec.explorer.pages.arithmetic import operation_view, picture, snippets, sum_view
from lowprec.explorer.pages.arithmetic.sum_view import Settings, chosen_step, raw_terms, rows_to_show, summed
from lowprec.explorer.shared import cast_options
from lowprec.explorer.shared.format_names import format_named
from lowprec.teaching.accumulation import METHODS

Evaluator: Any = optional("lowprec.onnx:Evaluator")

BF16, HALF, E4M3, E5M2, DOUBLE = (lp.as_format(number) for number in (16, 10, 17, 19, 11))


def texts(values: Any) -> list[str]:
    return [str(reference.Value.of(value)) for value in values]


def test_4096_ones_in_bfloat16() -> None:
    """256 is 2^8, from where values are 2 apart: 257 is a tie and goes back to the even code."""
    result = summed(Settings(BF16, BF16))
    assert (result.found.sum.number, result.single.sum.number, result.found.exact.number) == (256, 4096, 4096)
    assert (result.stalls_at, result.found.error, result.found.error_in_ulp) == (257, -3840, -120)  # ulp(4096) is 32
    assert {order.method: int(order.sum.number) for order in result.orders} == {
        "sequential": 256, "reversed": 256, "ascending": 256, "descending": 256, "pairwise": 4096, "compensated": 4096,
    }  # fmt: skip
    assert abs(result.spread.bias) < 4 * result.spread.standard_error
    assert result.spread.least < 4096 < result.spread.greatest
    assert [row and row.index for row in rows_to_show(result.found, 257)] == [
        1, 2, 3, None, 256, 257, 258, None, 4095, 4096,
    ]  # fmt: skip


def test_terms() -> None:
    def terms(**changes: Any) -> list[str]:
        return texts(raw_terms(Settings(BF16, BF16, **{"n": 5, **changes})))

    assert terms(terms="ones") == ["1"] * 5
    assert terms(terms="value", value="17/23") == ["17/23"] * 5
    assert terms(terms="count") == ["1", "2", "3", "4", "5"]
    assert terms(terms="big and small", value="-0x1p9") == ["-512", "1", "512", "1", "-512"]
    assert terms(terms="typed", typed=" 1, 0.5;-inf\n1/3 ") == ["1", "0.5", "-inf", "1/3"]
    assert terms(terms="normal") == texts(np.random.default_rng(0).standard_normal(5))
    assert terms(terms="normal", sample=3) == texts(np.random.default_rng(3).standard_normal(5))
    for wrong, message in (("1 x", "`typed` must be a decimal"), ("", "`typed` must be"), ("1 " * 257, "at most 256")):
        with pytest.raises(ValueError, match=message):
            terms(terms="typed", typed=wrong)


def test_terms_are_rounded_to_their_format() -> None:
    result = summed(Settings(E4M3, HALF, terms="typed", typed="0.3 1 0.3 500", runs=0))
    assert texts(result.found.terms) == ["0.3125", "1", "0.3125", "448"]
    assert result.changed == 3
    normal = summed(Settings(BF16, HALF, terms="normal", n=50, sample=9, runs=0))
    theirs = np.random.default_rng(9).standard_normal(50).astype(ml_dtypes.bfloat16)
    assert [float(term) for term in normal.found.terms] == theirs.astype(float).tolist()
    assert normal.changed == 50


def test_dot_products() -> None:
    typed = Settings(E4M3, HALF, terms="typed", typed="1.5 -2 0.1", runs=0)
    for factor, rest, expected in (
        ("none", {}, ["1.5", "-2", "0.1015625"]),
        ("value", {"by": "3"}, ["4.5", "-6", "0.3046875"]),
        ("terms", {}, ["2.25", "4", "0.01031494140625"]),
        ("typed", {"factors": "1 0.5 -4"}, ["1.5", "-1", "-0.40625"]),
    ):
        settings = replace(typed, factor=factor, **rest)
        assert texts(summed(settings).found.terms) == expected
    rounded = {name: replace(typed, factor="terms", product=name) for name in ("terms", "accumulator")}
    assert texts(summed(rounded["terms"]).found.terms) == ["2.25", "4", "0.009765625"]  # 5.28 of 2^-9 is 5 of them
    half = np.float16(0.1015625)
    assert float(summed(rounded["accumulator"]).found.terms[2]) == float(half * half)
    repeated = Settings(E4M3, HALF, n=5, factor="typed", factors="1 2", runs=0)
    assert texts(summed(repeated).found.terms) == ["1", "2", "1", "2", "1"]
    with pytest.raises(ValueError, match="`factors` must be as many as the terms, 3; got 2"):
        summed(replace(typed, factor="typed", factors="1 2"))


def test_the_curve() -> None:
    result = summed(Settings(BF16, BF16, runs=5, seed=2))
    curve = result.curve
    assert (curve.steps[0], curve.steps[-1], len(curve.steps)) == (1, 4096, 196)
    at = curve.steps.index(253), curve.steps.index(274)
    assert [curve.series["bfloat16"][place] for place in at] == [253, 256]
    assert [curve.series["exact"][place] for place in at] == [253, 274]
    assert [curve.series["float32"][place] for place in at] == [253, 274]
    runs = [
        [float(value) for value in teaching.accumulate([1] * 4096, BF16, rounding="stochastic", seed=seed).sums()]
        for seed in range(2, 7)
    ]
    last = [run[-1] for run in runs]
    assert curve.series["mean of the runs"][-1] == pytest.approx(sum(last) / 5)
    assert (curve.band[0][-1], curve.band[1][-1]) == (min(last), max(last))
    assert (result.spread.least, result.spread.greatest) == (min(last), max(last))
    pairs = summed(Settings(BF16, BF16, n=9, method="pairwise"))
    assert pairs.curve is None
    reverse = summed(Settings(BF16, BF16, n=9, method="reversed", runs=0)).curve
    assert list(reverse.series) == ["bfloat16", "exact", "float32"]  # equal terms: the same order


def test_steps_of_a_picture() -> None:
    """257 lies half-way between 256 and 258, and 480, where e4m3fn has NaN, is no value."""
    settings = Settings(BF16, BF16, runs=0)
    step = sum_view.shown_step(summed(settings).found, 257)
    assert (step.formula, step.sum, step.height) == ("256 + 1 = 257", "256", 256)
    assert step.rule == "tie: the lower neighbour is even"
    assert (step.lens.left.text, step.lens.right.text, step.lens.middle) == ("256", "258", "257")
    assert (step.lens.at, step.lens.goes) == (0.5, 0)
    steps = sum_view.shown_steps(settings)
    assert [steps[place].index for place in (0, 1, 32, 64)] == [1, 65, 2049, 4096]
    assert [steps[place].sum for place in (0, 1, 32, 64)] == ["1", "65", "256", "256"]
    assert sum_view.shown_steps(Settings(BF16, BF16, method="pairwise")) == ()
    beyond = operation_view.calculate("add", ("240", "240"), E4M3, overflow="ovf_inf").lens
    assert (beyond.left.text, beyond.right.text, beyond.right.meaning, beyond.result) == ("448", "480", "NaN", "NaN")


def test_what_is_added_in_words() -> None:
    for kind, expected in (
        ("ones", "5 ones"), ("value", "5 times −0.1"), ("count", "1 + 2 + … + 5"), ("normal", "5 normal samples"),
        ("big and small", "−0.1, 1, its negative, 1, … (5 terms)"), ("typed", "a list of 5"),
    ):  # fmt: skip
        assert sum_view.terms_text(Settings(BF16, BF16, kind, value="-0.1"), 5) == expected
    assert sum_view.terms_text(Settings(BF16, BF16, factor="terms"), 9) == "9 ones, squared"


@pytest.mark.parametrize("wide", [True, False])
def test_the_pictures(wide: bool) -> None:
    """The curve of 4096 ones bends at 257; the digit that 257 loses stands in grey behind the window."""
    settings = Settings(BF16, BF16)
    result, steps = summed(settings), sum_view.shown_steps(settings)
    shown = picture.running_sum(result, sum_view.shown_step(result.found, 257), steps, wide=wide)
    drawn = str(shown.drawing)
    assert "4096 ones in bfloat16: 256, exactly 4096" in drawn
    assert "from step 257 on the sum stays as it is" in drawn
    assert [f"{method}: " in drawn for method in METHODS] == [True] * 6
    assert drawn.count('role="slider"') == 1
    given = picture.drag(steps, sum_view.shown_step(result.found, 257))
    assert (given.values[given.start], given.parts["formula"][given.start]) == ("257", "256 + 1 = 257")
    assert {len(table) for table in (given.values, *given.parts.values(), *shown.places.values())} == {65}
    for example, changes in operation_view.EXAMPLES:
        fmt = lp.as_format(changes.get("fmt", "bfloat16"))
        texts = [changes[name] for name in "abc" if name in changes]
        one = operation_view.calculate(changes["op"], texts, fmt)
        drawn = str(picture.operation(one, changes["op"], wide=wide))
        assert f"in {fmt.name}" in drawn, example
        assert drawn.count('data-set="rounding=') == 8, example


def test_infinite_sums_are_left_out_of_the_picture() -> None:
    result = summed(Settings(HALF, HALF, terms="value", value="60000", n=3))
    assert result.curve.series["float16"] == (60000, None, None)
    assert result.curve.series["exact"] == (60000, 120000, 180000)
    assert result.spread.mean == float("inf")
    huge = summed(Settings(DOUBLE, E4M3, terms="value", value="1e308", n=3))
    assert huge.curve.series["exact"][1:] == (None, None)
    assert huge.spread.bias == float("-inf")


def test_formats_that_have_no_runs() -> None:
    result = summed(Settings(HALF, DOUBLE, n=4))
    assert result.spread is None
    assert "float64" in result.why_no_runs
    assert "finite values" in summed(Settings(HALF, BF16, terms="typed", typed="1 inf")).why_no_runs
    assert summed(Settings(HALF, BF16, n=4, runs=0)).why_no_runs == ""


def test_the_step_to_look_at() -> None:
    ones = summed(Settings(BF16, BF16, runs=0))
    assert [chosen_step(ones, asked) for asked in (0, 1, 300, 4096)] == [257, 1, 300, 4096]
    short = summed(Settings(BF16, BF16, n=9, runs=0))
    assert [chosen_step(short, asked) for asked in (0, 1, 300)] == [9, 1, 9]
    some = summed(Settings(HALF, HALF, terms="typed", typed="2048 1 4 1 4", runs=0))
    assert (some.stalls_at, some.first_unchanged, chosen_step(some, 0)) == (None, 2, 2)


def test_operands_are_rounded_first() -> None:
    result = operation_view.calculate("add", ("0.1", "0.2"), BF16)
    a, b = result.operands
    assert (a.code, b.code, a.is_changed, b.is_changed) == (0x3DCD, 0x3E4D, True, True)
    assert str(result.typed) == "0.3"
    assert result.relative == abs(Fraction("0.30078125") - Fraction(3, 10)) / Fraction(3, 10)
    assert operation_view.changed_text(result.operands, BF16).startswith("a and b are no values of bfloat16")
    code = operation_view.calculate("add", ("0x4380", "1"), BF16)
    assert (str(code.operation.exact), code.typed) == ("257", None)
    assert operation_view.changed_text(code.operands, BF16) == ""
    with pytest.raises(ValueError, match="`b` must be a number"):
        operation_view.calculate("add", ("1", "0x10000"), BF16)


def test_every_rounding_of_an_operation() -> None:
    result = operation_view.calculate("add", ("256", "1"), BF16, mode="stochastic", seed=4)
    values = {row.rounding: str(row.value) for row in result.rows}
    up = {"nearest_away", "away_from_zero", "toward_positive", "to_odd"}  # 258 has the odd code
    word = reference.random_word(4, 0, 16)
    drawn = "258" if word >= 2**15 else "256"
    assert values == {name: "258" if name in up else "256" for name in cast_options.DETERMINISTIC} | {
        "stochastic, seed 4": drawn
    }
    assert [row.rounding for row in result.rows if row.is_chosen] == ["stochastic, seed 4"]
    assert (result.lens.left.text, result.lens.right.text, result.lens.exact, result.lens.at) == (
        "256", "258", "257", 0.5,
    )  # fmt: skip
    assert result.lens.goes == (drawn == "258")
    assert {chance.probability for chance in result.chances} == {Fraction(1, 2)}
    zero = {row.rounding: row.code for row in operation_view.calculate("subtract", ("1", "1"), HALF).rows}
    assert [name for name, code in zero.items() if code == 0x8000] == ["toward_negative"]


DESCRIBED = format_named("e4m3,bias=8,inf=0,nan=negative-zero")
COPIED = [
    Settings(BF16, BF16, n=300),
    Settings(E4M3, HALF, "value", 20, value="-0.1", factor="value", by="1/3", product="accumulator", method="pairwise"),
    Settings(DESCRIBED, DESCRIBED, "count", 9, factor="terms", product="terms", overflow="sat_finite", runs=2),
    Settings(DESCRIBED, BF16, "big and small", 9, value="-3e2", factor="typed", factors="1,2;3", rounding="to_odd"),
    Settings(E5M2, lp.as_format("binary8p3se"), "normal", 30, sample=4, factor="normal", product="accumulator"),
    Settings(HALF, DOUBLE, "typed", typed=" 1 17/23, inf ", rounding="stochastic_a", seed=6, method="compensated"),
    Settings(HALF, E4M3, "typed", typed="1;2", factor="typed", factors="3 4", rounding="stochastic_c", seed=6, runs=4),
]


@pytest.mark.parametrize("settings", COPIED, ids=lambda settings: f"{settings.terms} {settings.factor}")
def test_what_is_copied_of_a_sum(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    result = summed(settings)
    python, onnx_text = snippets.of_sum(settings, len(result.found.terms), has_runs=result.spread is not None)
    names, out = run(python, capsys)
    first, *second = out.splitlines()
    assert first == f"{result.found.sum} {result.found.exact} {result.found.stalls_at}"
    assert names["total"].terms == result.found.terms
    if result.spread is not None:
        assert second == [f"{result.spread.mean} {result.spread.deviation}"]
    assert onnx_text.startswith("None: Add, ReduceSum and MatMul")


def copied(name: str, operands: list[str], fmt: Any, **rules: Any) -> tuple[Any, str, str]:
    result = operation_view.calculate(
        name, operands, fmt, **{"mode" if k == "rounding" else k: v for k, v in rules.items()}
    )
    named = {"rounding": "nearest_even", "overflow": "default", "seed": 0, **rules}
    return result, *snippets.of_operation(name, result.operands, fmt, **named)


@pytest.mark.parametrize("fmt", [HALF, E4M3, DESCRIBED, lp.as_format(24)], ids=lambda fmt: fmt.name)
def test_what_is_copied_of_an_operation(fmt: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for rules in ({}, {"rounding": "toward_negative", "overflow": "ovf_inf"}, {"rounding": "stochastic", "seed": 8}):
        for name, operands in (("divide", ["1", "3"]), ("fused_multiply_add", ["2", "0.7", "-1"])):
            result, python, _ = copied(name, operands, fmt, **rules)
            out = run(python, capsys)[1]
            assert out.startswith(f"{result.operation.value} {result.operation.exact} ")
            assert result.operation.explanation.rule in out


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
                                  "float8_e4m3fnuz", "float4_e2m1fn", "float6_e3m2fn"])  # fmt: skip
def test_onnx_nodes_give_the_same(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    fmt = lp.as_format(name)
    every = np.random.default_rng(1).integers(0, fmt.code_mask, 12, dtype=np.uint64, endpoint=True).tolist()
    pairs = list(itertools.product([0, 1, fmt.max_code, fmt.sign_mask | fmt.max_code, *every], repeat=2))
    a, b = (np.array(side, fmt.code_dtype) for side in zip(*pairs, strict=True))
    for operation in ("add", "subtract", "multiply", "divide"):
        nodes = run(copied(operation, ["1", "1"], fmt)[2], capsys)[0]["nodes"]
        model = model_of(nodes, {side: (fmt.onnx_enum, [len(pairs)]) for side in "ab"})
        with np.errstate(all="ignore"):
            found = Evaluator(model).run(["y"], {"a": a.view(fmt.dtype), "b": b.view(fmt.dtype)})[0]
        for left, right, theirs in zip(a.tolist(), b.tolist(), found.view(fmt.code_dtype).tolist(), strict=True):
            ours = teaching.operate(operation, [reference.decode(code, fmt) for code in (left, right)], fmt)
            if ours.exact.special != "nan":  # NaN's sign is not defined
                assert ours.code == theirs, (operation, left, right)


def test_why_there_are_no_nodes() -> None:
    for name, fmt, rules, words in (
        ("fused_multiply_add", HALF, {}, "fused multiply-add"),
        ("add", DESCRIBED, {}, "ONNX has no number for e4m3,bias=8"),
        ("add", HALF, {"rounding": "to_odd"}, "ties to even"),
        ("add", HALF, {"overflow": "sat_finite"}, "ties to even"),
        ("add", lp.as_format(24), {}, "float8_e8m0fnu has no Add"),
    ):
        text = copied(name, ["1", "1", "1"], fmt, **rules)[2]
        assert text.startswith("None: ")
        assert words in text
