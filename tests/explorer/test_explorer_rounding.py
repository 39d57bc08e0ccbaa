"""The explorer's view of a rounding: the interval, every way to round, presets, and the places on the number line."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.explorer.views import number_line
from lowprec.explorer.views import rounding as view
from lowprec.spec.formats import NUMERIC, Format, Kind
from lowprec.spec.round_modes import ROUND_MODES

BY_NAME = {"ids": lambda fmt: fmt.name}
FLOATS = [fmt for fmt in NUMERIC if fmt.is_float]
NUMBERS = [
    "0",
    "-0",
    "0.3",
    "-0.3",
    "17/23",
    "-17/23",
    "1e-8",
    "-1e-8",
    "1e6",
    "-1e6",
    "1e400",
    "-1e-400",
    "2.5",
    "-2.5",
]
SPECIAL = ["inf", "-inf", "nan", "-nan"]


def as_float64(text: str) -> float | None:
    """Return the number where float64 holds it exactly."""
    x = reference.Value.of(text)
    try:
        number = float(x)
    except OverflowError:
        return None
    return number if x.special or Fraction(number) == x.number else None


def by_name(found: view.Rounding) -> dict[str, view.Mode]:
    return {mode.name: mode for mode in found.modes}


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("saturate", [True, False])
def test_onnx_rows_are_the_oracles_and_the_kernels(fmt: Format, saturate: bool) -> None:
    texts = NUMBERS + SPECIAL + [preset.x for preset in view.presets(fmt)]
    for text in texts:
        found = view.rounding(text, fmt, saturate=saturate)
        rows = [mode for mode in found.modes if mode.is_onnx]
        modes = ROUND_MODES if fmt.is_float and not fmt.has_zero else (None,)
        assert [mode.code for mode in rows] == [
            reference.encode(text, fmt, saturate=saturate, round_mode=mode) for mode in modes
        ]
        number = as_float64(text)
        if number is not None:
            assert rows[0].code == int(lp.encode(np.array(number), fmt, saturate=saturate))


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits <= 8 and fmt.kind is not Kind.BOOL], **BY_NAME)
def test_comparisons_are_the_neighbours_found_by_search(fmt: Format) -> None:
    values = {
        reference.decode(code, fmt).number for code in range(1 << fmt.bits) if not reference.decode(code, fmt).special
    }
    chance = random.Random(7)
    largest = max(values)
    numbers = [Fraction(chance.uniform(-1.2, 1.2)) * largest for _ in range(40)]
    numbers += [Fraction(chance.uniform(-4, 4)) for _ in range(40)] + [
        Fraction(number) for number in sorted(values)[::9]
    ]
    for x in numbers:
        ways = by_name(view.rounding(str(x), fmt))
        if fmt.is_float and not fmt.has_zero:
            assert set(ways) == {f"round_mode {mode}" for mode in ROUND_MODES}
            continue
        below = max((number for number in values if number <= x), default=None)
        above = min((number for number in values if number >= x), default=None)
        zero_side, far_side = (below, above) if x >= 0 else (above, below)
        expected = {"away from zero": far_side, "up, toward +Inf": above, "down, toward -Inf": below}
        if fmt.is_float:
            expected["toward zero"] = zero_side
        if below is not None and above is not None:
            nearer = above if above - x < x - below else below if x - below < above - x else far_side
            expected["to nearest, ties away"] = nearer
        for name, number in expected.items():
            mode = ways[name]
            assert (mode.value.number if mode.value else None) == number, (name, x)
            assert not mode.is_onnx
            if number is not None:
                assert mode.error == number - x


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_the_interval_is_what_explain_says(fmt: Format) -> None:
    for text in NUMBERS + SPECIAL + [preset.x for preset in view.presets(fmt)]:
        found = view.rounding(text, fmt)
        why, drawn = found.explanation, found.interval
        if drawn is None:
            assert why.x.special or fmt.kind is Kind.BOOL
            continue
        assert 0 <= drawn.position <= 1
        x = why.x.number if fmt.signed or not fmt.is_float else why.x.magnitude
        if drawn.winner == "exact":
            assert why.value.number == x
            assert drawn.left is None or drawn.left[1].number < x
            assert drawn.right is None or drawn.right[1].number > x
            continue
        assert (drawn.left, drawn.right) == (why.lower, why.upper)
        if drawn.left and drawn.right:
            low, high = drawn.left[1].number, drawn.right[1].number
            assert drawn.position == pytest.approx(float((x - low) / (high - low)))
            assert (drawn.middle is None) == fmt.is_integer
            assert drawn.middle is None or drawn.middle.number == (low + high) / 2
            # x beyond the middle is drawn beyond it: the eye may trust the picture
            assert (drawn.position > 0.5) == (x > (low + high) / 2)
        winner = {"left": drawn.left, "right": drawn.right}.get(drawn.winner)
        assert (winner is not None and winner[0] == why.code) or drawn.winner == "other"


@pytest.mark.parametrize(
    ("x", "position", "winner", "code"),
    [("448", 0.5, "exact", 0x7E), ("464", 0.5, "left", 0x7E), ("480", 1.0, "left", 0x7E), ("1e9", 1.0, "left", 0x7E),
     ("-464", 0.5, "right", 0xFE), ("-480", 0.0, "right", 0xFE), ("0.3", 0.6, "right", 0x2A), ("0", 0.5, "exact", 0),
     ("-448", 0.5, "exact", 0xFE), ("1", 1 / 3, "exact", 0x38), ("-1", 2 / 3, "exact", 0xB8),
     ("256", 1 / 3, "exact", 0x78)],
)  # fmt: skip
def test_the_picture_of_e4m3fn(x: str, position: float, winner: str, code: int) -> None:
    found = view.rounding(x, "float8_e4m3fn")
    assert found.interval is not None
    assert found.interval.position == pytest.approx(position)
    assert found.interval.winner == winner
    assert found.explanation.code == code


def test_presets_show_what_they_say() -> None:
    given = {preset.label: preset.x for preset in view.presets("float8_e4m3fn")}
    assert (given["largest"], given["largest + ½ step"], given["largest + 1 step"]) == ("448", "464", "480")
    for fmt in FLOATS:
        given = {preset.label: preset.x for preset in view.presets(fmt)}
        if not fmt.has_zero:
            continue
        for label, rule in (("tie, down to even", "lower"), ("tie, up to even", "upper")):
            why = lp.explain(given[label], fmt)
            assert why.is_tie
            assert why.rule == f"tie: the {rule} neighbour is even"
        assert lp.explain(given["half the smallest"], fmt).value.magnitude == 0
        assert lp.explain(given["smallest"], fmt).code == 1
        if "rounded twice?" in given:
            ways = by_name(view.rounding(given["rounded twice?"], fmt))
            once, twice = ways["to nearest, ties to even"], ways["twice: through float32"]
            assert once.code is not None
            assert twice.code == once.code - 1


@pytest.mark.parametrize("fmt", FLOATS, **BY_NAME)
@pytest.mark.parametrize("how", ["linear", "symlog", "binades"])
def test_places_keep_the_order_of_the_values(fmt: Format, how: str) -> None:
    for text in ("0.3", "-2.5", "1e-30", "1e400", "-0", "inf", "nan"):
        near = lp.explain(text, fmt).code
        line = number_line.line(fmt, text, near, how)
        assert 0 < len(line.points) <= 512
        rows: dict[str, list[tuple[Fraction, float]]] = {}
        for point in line.points:
            value = reference.decode(int(point.code, 16), fmt)
            assert not value.special
            assert point.kind in ("zero", "subnormal", "normal")
            rows.setdefault(point.row, []).append((value.number, point.place))
        for row in rows.values():
            row.sort()
            places = [place for _, place in row]
            assert places == sorted(places)
            assert len(set(places)) >= len({number for number, _ in row}) - 1
        assert how == "binades" or set(rows) == {""}
        assert how != "binades" or len(rows) <= 32
        assert text not in ("inf", "nan", "1e400") or line.x is None
        if text == "0.3" and fmt.bits <= 8:
            assert line.x is not None


def test_x_lies_between_its_neighbours_on_the_line() -> None:
    for fmt in FLOATS:
        why = lp.explain("0.3", fmt)
        for how in ("linear", "symlog"):
            line = number_line.line(fmt, "0.3", why.code, how)
            places = {int(point.code, 16): point.place for point in line.points}
            assert why.lower is not None
            assert why.upper is not None
            if fmt.bits <= 8 and line.x is not None:
                assert places[why.lower[0]] <= line.x <= places[why.upper[0]]


@pytest.mark.parametrize("fmt", FLOATS, **BY_NAME)
def test_spacing_is_the_distance_of_neighbours(fmt: Format) -> None:
    for step in number_line.spacing(fmt)[:: max(1, len(number_line.spacing(fmt)) // 40)]:
        code = reference.encode(Fraction(2) ** step.low, fmt, round_mode=None)
        here = reference.decode(code, fmt).number
        assert here == Fraction(2) ** step.low
        if code < fmt.max_code:
            assert reference.decode(code + 1, fmt).number - here == Fraction(2) ** step.step
