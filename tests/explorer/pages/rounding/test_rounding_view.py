"""Views of Rounding: every way to round, presets, the number line; the ruler and the digits of a circuit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.explorer_states import OF_EVERY_KIND

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.rounding import view
from lowprec.explorer.pages.rounding import view as number_line
from lowprec.explorer.pages.rounding.ruler import PLACES, Ruler, digits, ruler
from lowprec.explorer.shared import roundings
from lowprec.explorer.shared.cast_options import DETERMINISTIC
from lowprec.explorer.shared.codes import classify
from lowprec.explorer.shared.format_names import format_named
from lowprec.reference import decode
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC, Format, Kind
from lowprec.spec.rounding_modes import ROUND_MODES

BY_NAME = {"ids": lambda fmt: fmt.name}
FLOATS = [fmt for fmt in NUMERIC if fmt.is_float]
KINDS = [*map(format_named, OF_EVERY_KIND)]
NUMBERS = [
    "0", "-0", "0.3", "-0.3", "17/23", "-17/23", "1e-8", "-1e-8", "1e6", "-1e6", "1e400", "-1e-400", "2.5", "-2.5",
]  # fmt: skip
SPECIAL = ["inf", "-inf", "nan", "-nan"]


def as_float64(text: str) -> float | None:
    x = reference.Value.of(text)
    try:
        number = float(x)
    except OverflowError:
        return None
    return number if x.special or Fraction(number) == x.number else None


def by_name(found: roundings.Rounding) -> dict[str, roundings.Mode]:
    return {mode.name: mode for mode in found.modes}


@pytest.mark.parametrize("fmt", ONNX_NUMERIC, **BY_NAME)
@pytest.mark.parametrize("saturate", [True, False])
def test_onnx_rows_are_the_oracles_and_the_kernels(fmt: Format, saturate: bool) -> None:
    texts = NUMBERS + SPECIAL + [preset.x for preset in view.presets(fmt)]
    for text in texts:
        found = roundings.rounding(text, fmt, saturate=saturate)
        rows = [mode for mode in found.modes if mode.is_onnx]
        modes = ROUND_MODES if fmt.is_float and not fmt.has_zero else (None,)
        assert [mode.code for mode in rows] == [
            reference.encode(text, fmt, saturate=saturate, round_mode=mode) for mode in modes
        ]
        number = as_float64(text)
        if number is not None:
            assert rows[0].code == int(lp.encode(np.array(number), fmt, saturate=saturate))


@pytest.mark.parametrize("fmt", [*FLOATS, *KINDS], **BY_NAME)
def test_other_roundings_are_the_oracles(fmt: Format) -> None:
    for text in NUMBERS:
        found, x = roundings.rounding(text, fmt, overflow="sat_finite"), reference.Value.of(text).number
        ways = by_name(found)
        for name in DETERMINISTIC:
            assert ways[name].code == reference.encode(text, fmt, rounding=name, overflow="sat_finite"), (text, name)
            assert ways[name].value == reference.decode(ways[name].code, fmt)
            assert ways[name].error == ways[name].value.number - (x if fmt.has_zero else abs(x))
            assert not ways[name].is_onnx
        lower, upper = found.explanation.lower, found.explanation.upper
        if lower and upper:
            assert (found.chances == ()) == (lower == upper or x == 0)


def test_overflow_rules_of_the_table() -> None:
    """What S2's table says of 500 in float8_e4m3fn, which has NaN and no Inf; and of float16's largest."""
    ways = by_name(roundings.rounding("-500", "float8_e4m3fn", overflow="ovf_inf"))
    assert {name for name, mode in ways.items() if mode.code == 0xFF} == {
        "nearest_even", "nearest_away", "nearest_zero", "away_from_zero", "toward_negative", "to_odd",
    }  # fmt: skip
    assert (ways["toward_zero"].code, ways["toward_positive"].code) == (0xFE, 0xFE)
    assert {mode.code for mode in roundings.rounding("500", "float8_e4m3fn").modes} == {0x7E}
    assert by_name(roundings.rounding("1e6", "float16"))["nearest_away"].code == 0x7C00  # the default of wide formats
    assert by_name(roundings.rounding("1e6", "float16", overflow="sat_propagate"))["nearest_away"].code == 0x7BFF


def test_integers_have_the_rounding_of_cast_alone() -> None:
    for rounding in ("onnx", "away_from_zero"):
        found = roundings.rounding("2.7", "int4", rounding=rounding)
        assert [(mode.name, mode.code) for mode in found.modes] == [("toward zero, then modulo 2^n", 2)]
        assert found.chances == ()


def test_the_chosen_rounding_is_the_one_that_is_drawn() -> None:
    found = roundings.rounding("0.3", "float8_e4m3fn", rounding="to_odd")
    assert found.explanation.rule == "the lower neighbour: it is odd"
    assert found.interval.winner == "left"
    assert found.modes[0].is_onnx
    assert found.modes[0].code == 0x2A


@pytest.mark.parametrize(
    ("x", "lots"),
    [("0.3", (39321, 39322, 39322)),  # 3/5 of 65536 is 39321.6
     ("-0.3", (65536 - 39321, 65536 - 39322, 65536 - 39322)),
     ("0.296875", (32768, 32768, 32768)),
     ("0x1.2001p-2", (8, 8, 8)),  # 1/8192 of the way
     ("0x1.20001p-2", (0, 1, 0)),  # half of 1/65536: to even is 0
     ("0x1.20003p-2", (1, 2, 2)),  # 3/2 of it
     ("470", (45056, 45056, 45056)),  # 22/32
     ("1e-9", (0, 0, 0))],
)  # fmt: skip
def test_the_chance_of_the_upper_neighbour(x: str, lots: tuple[int, int, int]) -> None:
    chances = roundings.rounding(x, "float8_e4m3fn", overflow="ovf_inf").chances
    assert [chance.name for chance in chances] == ["stochastic_a", "stochastic_b", "stochastic_c"]
    assert tuple(chance.lots_for_upper for chance in chances) == lots
    for chance in chances:
        assert chance.probability == Fraction(chance.lots_for_upper, 65536)
        assert (chance.upper is None) == (chance.lots_for_upper == 0)
        assert (chance.lower is None) == (chance.lots_for_upper == 65536)
    upper = chances[1].upper
    if upper is not None:
        assert upper[0] == {"0.3": 0x2A, "-0.3": 0xA9, "470": 0x7F}.get(x, 0x2A)


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_the_interval_is_what_explain_says(fmt: Format) -> None:
    for text in NUMBERS + SPECIAL + [preset.x for preset in view.presets(fmt)]:
        found = roundings.rounding(text, fmt)
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
    found = roundings.rounding(x, "float8_e4m3fn")
    assert found.interval.position == pytest.approx(position)
    assert found.interval.winner == winner
    assert found.explanation.code == code


def test_presets_show_what_they_say() -> None:
    given = {preset.label: preset.x for preset in view.presets("float8_e4m3fn")}
    assert (given["largest"], given["largest + ½ step"], given["largest + 1 step"]) == ("448", "464", "480")
    for fmt in (*FLOATS, *KINDS):
        given = {preset.label: preset.x for preset in view.presets(fmt)}
        if not fmt.has_zero:
            continue
        for label, rule in (("tie, down to even", "lower"), ("tie, up to even", "upper")):
            if label not in given and (fmt in KINDS and rule == "upper"):
                continue
            why = lp.explain(given[label], fmt)
            assert why.is_tie
            assert why.rule == f"tie: the {rule} neighbour is even"
        assert lp.explain(given["half the smallest"], fmt).value.magnitude == 0
        assert lp.explain(given["smallest"], fmt).code == 1
        if "rounded twice?" in given and fmt in ONNX_NUMERIC:
            ways = by_name(roundings.rounding(given["rounded twice?"], fmt))
            once, twice = ways["to nearest, ties to even"], ways["twice: through float32"]
            assert twice.code == once.code - 1


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", [*FLOATS, *KINDS], **BY_NAME)
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


# ---- the ruler and the digits of a circuit


def of(x: str, fmt: str, overflow: str = "ovf_inf") -> Ruler:
    found = ruler(lp.explain(x, fmt), overflow)
    return found


def test_465_lies_between_448_and_a_number_whose_code_is_nan() -> None:
    found = of("465", "float8_e4m3fn")
    assert (found.left.value.number, found.left.code, found.left.meaning) == (448, 0x7E, None)
    assert (found.right.value.number, found.right.code) == (480, 0x7F)
    assert found.right.meaning.special == "nan"
    assert found.at == 17 / 32
    assert (found.below_here, found.above_here, found.middle) == ("17", "15", "464")
    assert found.texts[:2] == ("448", "448.5")
    assert found.texts[-1] == "480"
    rules = {rule.name: rule for rule in found.rules}
    assert rules["nearest_even"].shares == (0.0,) * 33 + (1.0,) * 32  # 464 is a tie: the mantissa 110 is even
    assert rules["nearest_away"].shares == (0.0,) * 32 + (1.0,) * 33
    assert rules["toward_zero"].shares == (0.0,) * 64 + (1.0,)
    assert rules["away_from_zero"].shares == (0.0,) + (1.0,) * 64
    assert rules["nearest_even"].here == ("NaN", "nan")
    assert rules["toward_negative"].here == ("448", "normal")
    assert [rules[f"stochastic_{kind}"].share_here for kind in "abc"] == [0.5, 0.5, 0.5]  # of four numbers
    assert rules["stochastic"].here == ("53.1% NaN", "nan")
    assert {rule.here[0] for rule in of("465", "float8_e4m3fn", "sat_finite").rules} == {"448"}


@pytest.mark.parametrize(
    ("x", "fmt", "left", "right", "at"),
    [("-0.3", "float8_e4m3fn", "-0.3125", "-0.28125", 0.4), ("448", "float8_e4m3fn", "448", "480", 0.0),
     ("1000", "float8_e4m3fn", "448", "480", None), ("-500", "float8_e4m3fn", "-480", "-448", None),
     ("2.5", "int8", "2", "3", 0.5), ("0", "float4_e2m1fn", "0", "0.5", 0.0), ("-3", "float8_e8m0fnu", "2", "4", 0.5)],
)  # fmt: skip
def test_ends(x: str, fmt: str, left: str, right: str, at: float | None) -> None:
    found = of(x, fmt)
    assert (found.left.value.number, found.right.value.number) == (Fraction(left), Fraction(right))
    assert found.at == at


@pytest.mark.parametrize("x", ["nan", "inf", "-inf"])
def test_what_is_no_number_has_no_ruler(x: str) -> None:
    assert ruler(lp.explain(x, "float8_e4m3fn"), "ovf_inf") is None


@pytest.mark.parametrize("overflow", ["sat_finite", "ovf_inf"])
@pytest.mark.parametrize("fmt", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float6_e2m3fn", "float4_e2m1fn"])
@pytest.mark.parametrize("x", ["0.3", "-0.3", "465", "-5.2", "0.001", "60000"])
def test_the_kernels_send_every_place_to_the_same_value(x: str, fmt: str, overflow: str) -> None:
    found = of(x, fmt, overflow)
    numbers = np.array([float(Fraction(found.left.value.number) + (found.right.value.number - found.left.value.number)
                              * Fraction(k, PLACES - 1)) for k in range(PLACES)])  # fmt: skip
    for rule in found.rules:
        if rule.random_bits:
            continue
        codes = lp.encode(numbers, fmt, rounding=rule.name, overflow=overflow)
        for (text, kind), code in zip(rule.results, codes.tolist(), strict=True):
            assert kind == classify(code, lp.as_format(fmt))
            value = decode(code, fmt)
            shown = float(text.replace("−", "-").replace("≈", "").replace("Inf", "inf"))
            np.testing.assert_allclose(shown, float(value), rtol=1e-3)  # three digits or more are shown


def test_the_digits_of_465() -> None:
    found = digits(lp.explain("465", "float8_e4m3fn"))
    assert (found.lead, found.kept, found.cut, found.exponent) == ("1", "110", "10001", 8)
    assert (found.guard, found.round, found.sticky) == ("1", "0", "1")
    assert (found.result_lead, found.result_kept, found.code) == ("1", "111", 0x7F)


def test_the_digits_of_a_subnormal_number() -> None:
    found = digits(lp.explain("-0.0048828125", "float8_e4m3fn"))  # 2.5 x 2^-9: a tie
    assert (found.lead, found.kept, found.cut, found.exponent) == ("0", "010", "10000", -6)
    assert (found.guard, found.round, found.sticky) == ("1", "0", "0")
    assert (found.result_lead, found.result_kept, found.code) == ("0", "010", 0x02)


@pytest.mark.parametrize("x", ["0", "nan", "inf"])
def test_what_is_not_cut_has_no_digits(x: str) -> None:
    assert digits(lp.explain(x, "float8_e4m3fn")) is None


def test_nothing_is_left_for_the_sticky_bit_of_472() -> None:
    found = digits(lp.explain("472", "float8_e4m3fn"))  # 448 + 24 of a step of 32: 0.11 in binary
    assert (found.cut, found.guard, found.round, found.sticky) == ("11000", "1", "1", "0")
