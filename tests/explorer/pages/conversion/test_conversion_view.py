"""Cast & BitCast: every step against the oracle, packing bit by bit; chains of casts, and what is copied."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.explorer_pages import asked, copied, healthy, page, pictures, texts
from support.explorer_states import chains
from support.snippets import offered, run

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.conversion.chain_view import chain_of, direct_route, route, witness_text
from lowprec.explorer.pages.conversion.packing_view import (
    LONGEST_LIST,
    PACKABLE,
    packing,
    packing_sentence,
    parse_codes,
)
from lowprec.explorer.pages.conversion.picture import chain_rows
from lowprec.explorer.pages.conversion.view import CASTABLE, bitcasting, bitcastings, conversion
from lowprec.explorer.shared.cast_options import cast_options
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.link import write
from lowprec.explorer.shared.numbers import place
from lowprec.explorer.shared.page import FORMAT_NAMES
from lowprec.explorer.shared.svg import Drawing, text_width
from lowprec.spec.formats import INT4, NUMERIC, UINT2, UINT8

E4M3, E5M2, E2M1, F32 = (lp.as_format(number) for number in (17, 19, 23, 1))
E2M3, E3M2 = (lp.as_format(number) for number in (27, 28))
NARROW = [fmt for fmt in CASTABLE if fmt.bits <= 8]


def codes_of(fmt):
    """Return every code of a narrow format, and those of a wide one where it breaks, with some random ones."""
    if fmt.bits <= 8:
        return range(2**fmt.bits)
    top = 2 ** (fmt.bits - 1)
    rng = random.Random(fmt.bits)
    return {0, 1, top - 1, top, top + 1, 2 * top - 1, *(rng.randrange(2 * top) for _ in range(40))}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", CASTABLE, ids=lambda fmt: fmt.name)
def test_every_cast_ends_where_the_oracle_says(source):
    for target in NARROW:
        for code in list(codes_of(source))[:: 1 if source.bits > 8 else 5]:
            for saturate in (True, False):
                found = conversion(code, source, target, saturate=saturate)
                assert found.result == reference.cast(code, source, target, saturate=saturate)
                assert found.value == reference.decode(code, source)
                assert found.result_value == reference.decode(found.result, target)
                assert found.explanation is None or found.explanation.code == found.result
                assert found.rule


def test_steps_by_hand():
    found = conversion(0x3E9A0000, F32, E4M3)  # 77/256 lies between 9/32 and 10/32
    assert found.value.number == Fraction(77, 256)
    assert found.explanation.lower == (0x29, reference.Value.of(Fraction(9, 32)))
    assert found.explanation.upper == (0x2A, reference.Value.of(Fraction(10, 32)))
    assert (found.result, found.result_value.number, found.exact) == (0x2A, Fraction(5, 16), False)
    inf = conversion(0x7C, E5M2, E4M3, saturate=False)
    assert (inf.value.special, inf.result, inf.result_value.special, inf.exact) == ("inf", 0x7F, "nan", False)
    assert conversion(0x7F800000, F32, lp.as_format(18), opset=23).result == 0x80
    assert conversion(0x7F800000, F32, lp.as_format(18), opset=24).result == 0x7F
    assert conversion(0x80, E4M3, lp.as_format(18)).exact is False  # -0 lost its sign


def test_the_same_format_copies_bits_unless_the_table_applies():
    kept = conversion(0x7D, E5M2, E5M2, saturate=False)
    assert (kept.copied, kept.result, kept.exact) == (True, 0x7D, True)
    assert "copied" in kept.rule
    treated = conversion(0x7C, E5M2, E5M2)
    assert (treated.copied, treated.result) == (False, 0x7B)
    assert conversion(0x7FA00000, F32, F32).result == 0x7FA00000


def test_types_and_attributes_an_opset_lacks_are_named():
    with pytest.raises(ValueError, match="`From` must be a type that Cast-25 has; got float6_e2m3fn"):
        conversion(0, E2M3, F32, opset=27)
    with pytest.raises(ValueError, match="`To` must be a type that Cast-13 has"):
        conversion(0, F32, E4M3, opset=18)
    with pytest.raises(ValueError, match="round_mode"):
        conversion(0, F32, E4M3, opset=19, round_mode="up")


def test_bitcast_reads_the_same_bits():
    for code in range(256):
        for target in (fmt for fmt in CASTABLE if fmt.bits == 8):
            read = bitcasting(code, E4M3, target)
            assert (read.problem, read.note, read.code) == ("", "", code)
            assert read.value == reference.decode(code, target)
    assert str(bitcasting(0x3F800000, F32, lp.formats["uint32"]).value) == "1065353216"
    assert str(bitcasting(0xF, E2M1, INT4).value) == "-1"


def test_every_reading_of_the_same_width():
    assert {read.target.name for read in bitcastings(1, E2M1)} == {"int4", "uint4"}
    assert {str(read.value) for read in bitcastings(0xF, E2M1)} == {"-1", "15"}
    assert [read.target for read in bitcastings(1, E2M3)] == [E3M2]
    assert bitcastings(1, E2M1, opset=25) == ()


def test_bitcast_says_why_not():
    assert bitcasting(0, E4M3, F32).problem == "the target must be 8 bits wide, as float8_e4m3fn is; got float32 of 32"
    assert bitcasting(0, E4M3, F32).value is None
    assert "26" in bitcasting(0, E4M3, UINT8, opset=25).problem
    six = bitcasting(0b011011, E2M3, E3M2)
    assert (six.code, str(six.value), six.problem) == (0b011011, str(Fraction(14)), "")
    assert "no float6" in six.note
    assert "which no version of BitCast has" in bitcasting(0, E2M3, UINT8).problem


@pytest.mark.parametrize("fmt", PACKABLE, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, LONGEST_LIST])
def test_owners_are_the_bits_in_order(fmt, count):
    codes = [(7 * index + 3) % 2**fmt.bits for index in range(count)]
    found = packing(codes, fmt)
    assert found.unused_bits == 8 * len(found.packed) - fmt.bits * count < 8
    for byte, owners in enumerate(found.owners):
        for column, owner in enumerate(owners):
            stream = 8 * byte + 7 - column  # the first element is in the lowest bits
            assert owner == (stream // fmt.bits if stream < fmt.bits * count else None)
            bit = found.packed[byte] >> (7 - column) & 1
            assert bit == (0 if owner is None else codes[owner] >> (stream % fmt.bits) & 1)


def test_codes_and_values_are_read():
    assert parse_codes("0x7e 0b0_1111_110 448 0x1.cp+8 17/23", E4M3) == (0x7E, 0x7E, 0x7E, 0x7E, 0x34)
    assert parse_codes("-1", INT4) == (15,)
    assert parse_codes("nan", E2M1) == (8,)
    assert parse_codes("0x1, -6;1.5\n0.5", E2M1) == (1, 15, 3, 1)
    with pytest.raises(ValueError, match=r"`codes\[1\]`"):
        parse_codes("1 x", E2M1)


@given(st.text(max_size=60), st.sampled_from(CASTABLE), st.sampled_from(CASTABLE))
def test_any_text_is_a_code_or_a_message(text, source, target):
    try:
        code = place(text, source, "code").code
    except ValueError as error:
        message = str(error)
    else:
        assert 0 <= code < 2**source.bits
        assert conversion(code, source, target).rule
        assert bitcasting(code, source, target)
        return
    assert message.startswith("`code` must be")


@given(st.text(alphabet="0123456789abcdefx,; \n-./", max_size=80), st.sampled_from(PACKABLE))
def test_any_list_is_packed_or_a_message(text, fmt):
    try:
        codes = parse_codes(text, fmt)
    except ValueError as error:
        message = str(error)
    else:
        assert len(packing(codes, fmt).packed) == (len(codes) * fmt.bits + 7) // 8
        return
    assert message.startswith("`codes")


# ---- chains of casts


OPTIONS = cast_options(True, "up", 28)
WITNESS = {"source": "float64", "via": "float32", "target": "bfloat16", "at": "1.0039063"}


def chain(source: str, at: object, *names: str, **options: Any) -> Any:
    fmt = lp.as_format(source)
    return chain_of(reference.encode(at, fmt), fmt, [lp.as_format(name) for name in names], **(options or OPTIONS))


def test_the_picture_has_every_number_at_its_place() -> None:
    found = chain("float64", 1.0039063, "float32", "bfloat16")
    assert found.sentence == (
        "Through float32 the result is 1 (0x3F80), directly 1.0078125 (0x3F81): "
        "float32 rounds x to 1.00390625, the midpoint of two bfloat16 values, and the tie goes to the even code."
    )
    picture = found.picture
    above, below = picture.above, picture.below
    x, tie = Fraction(1.0039063), Fraction(257, 256)
    assert [(tick.value.number, tick.names) for tick in above.ticks] == [
        (1, ("through float32",)),
        (Fraction(129, 128), ("directly",)),
    ]
    assert [tick.value.number for tick in below.ticks] == [tie + step * Fraction(2) ** -23 for step in range(-2, 3)]
    assert (picture.rounded.number, picture.midpoint.number) == (tie, tie)
    assert (above.step, below.step) == ("2^-7", "2^-23")
    for scale in (above, below):
        left, right = scale.ticks[0], scale.ticks[-1]
        for number, found_at in ((x, scale.x), (tie, scale.rounded), (tie, scale.midpoint)):
            part = (number - left.value.number) / (right.value.number - left.value.number)
            assert found_at == pytest.approx(left.place + float(part) * (right.place - left.place), abs=1e-9)
    assert below.window == (below.ticks[0].place, below.ticks[-1].place)
    assert 0 < above.window[1] - above.window[0] < 0.01  # 4 of 65536 steps


@pytest.mark.parametrize("between", FORMAT_NAMES)
def test_chains_of_every_format_end_where_the_kernels_do(between: str) -> None:
    rng = random.Random(between)
    for target in rng.sample(NUMERIC, 6):
        for at in ("1.3", "-2.7", "1e6", "-0", "0", "inf", "nan", "3e-9"):
            found = chain("float32", at, between, target.name)
            code = reference.encode(at, "float32")
            middle = reference.cast(code, "float32", between)
            assert found.steps[0].result == middle
            assert found.steps[1].result == reference.cast(middle, between, target)
            assert found.direct.result == reference.cast(code, "float32", target)
            differs = found.steps[-1].result != found.direct.result
            assert found.chain.differs == differs
            assert ("directly the same" in found.sentence) != differs
            for scale in (found.picture.above, found.picture.below) if found.picture else ():
                places = [tick.place for tick in scale.ticks]
                assert places == sorted(places)
                assert all(0 <= place <= 100 for place in (*places, *scale.window))
                assert scale.window[0] <= scale.window[1]


def test_the_step_that_decides_is_drawn() -> None:
    found = chain("float64", 1.0039063, "float64", "float32", "bfloat16")
    said = found.chain.decisive, found.picture.name, found.picture.below.format.name
    assert said == (1, "after float64", "float32")
    assert chain("float64", "nan", "float32", "bfloat16").picture is None
    assert chain("float64", 1e300, "float32", "bfloat16").picture is None


def drawn(source: str, at: object, *names: str, wide: bool, **more: Any) -> Drawing:
    found = chain(source, at, *names, **more)
    fmt = lp.as_format(source)
    routes = [direct_route(found.direct), route(found, "nearest even", "same", is_chosen=True)]
    start = fmt, found.direct.code, found.direct.value
    return chain_rows(start, routes, found.picture, found.sentence, wide)


def boxes(drawing: Drawing) -> list[tuple[str, float, float, float]]:
    """Return the texts of a drawing: text, left and right edge, base line."""
    found = []
    for one in drawing.element.iter():
        if one.tag.endswith("text"):
            size, text = float(one.get("font-size", 14)), one.text or ""
            width = text_width(text, size, "mono" in one.get("class", ""))
            x = float(one.get("x", 0)) - {"middle": width / 2, "end": width}.get(one.get("text-anchor", ""), 0)
            found.append((text, x, x + width, float(one.get("y", 0))))
    return found


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(
    ("source", "at", "names"),
    [("float64", "1.0039063", ("float32", "bfloat16")), ("float64", "1.0000001", ("float32", "bfloat16")),
     ("float64", "-3.01", ("float32", "bfloat16")), ("float32", "1e6", ("int64", "uint8")),
     ("float32", "7.3", ("int64", "uint8")), ("float32", "1e6", ("int16", "uint2")),
     ("float64", "1e30", ("float32", "bfloat16"))],
)  # fmt: skip
def test_no_two_labels_of_a_picture_overlap(source: str, at: str, names: tuple[str, ...], wide: bool) -> None:
    drawing = drawn(source, at, *names, wide=wide)
    found = boxes(drawing)
    differs = chain(source, at, *names).chain.differs
    assert ("differs" in {text for text, *_ in found}, "directly" in {text for text, *_ in found}) == (differs, True)
    assert all(left >= 0 and right <= drawing.width + 1 for _, left, right, _ in found)
    assert all(0 < y <= drawing.height for *_, y in found)
    for (first, left, right, y), (second, left_2, right_2, y_2) in combinations(found, 2):
        assert abs(y - y_2) >= 11 or right <= left_2 or right_2 <= left, (first, second)


def test_rounded_to_odd_on_the_way_the_result_is_the_direct_one() -> None:
    """257/256 + 2^-24 < x: float32 rounds to odd away from the midpoint, so that bfloat16 sees the right side of it."""
    odd = cast_options(True, "up", 28, "to_odd")
    found = chain("float64", 1.0039063, "float32", "bfloat16", between=[odd], **OPTIONS)
    (middle, last) = (step.result_value.number for step in found.steps)
    assert (middle, last) == (Fraction(257, 256) + Fraction(1, 2**23), Fraction(129, 128))
    assert not found.chain.differs
    assert not route(found, "to odd", "to_odd", is_chosen=True).differs
    assert route(chain("float64", 1.0039063, "float32", "bfloat16"), "", "same", is_chosen=True).differs


def test_the_witness_button() -> None:
    test = healthy(page("conversion", **{**WITNESS, "at": "0.5"}))
    assert "directly the same" in texts(test)
    (button,) = (button for button in test.button if "whose result" in button.label)
    healthy(button.click().run())
    assert asked(test, "at") == "0x1.0100008p+0"
    assert "directly 1.0078125" in texts(test)
    narrow = healthy(page("conversion", source="bfloat16", via="float32", target="float16", at="1"))
    assert not any("whose result" in button.label for button in narrow.button)
    assert any("No number of bfloat16 was found whose result float32 changes" in text.value for text in narrow.caption)


def test_witness_texts_are_read_back() -> None:
    for source, between, target in (("float64", "float32", "float16"), ("float32", "float16", "float8_e5m2")):
        formats = [lp.as_format(between), lp.as_format(target)]
        text = witness_text(lp.as_format(source), formats, **OPTIONS)
        assert chain(source, text, between, target).chain.cause == "tie"


def test_no_gap_is_left_in_a_chain() -> None:
    test = healthy(page("conversion", at="0.3", via="float16", then="bfloat16"))
    healthy(next(box for box in test.selectbox if box.label == "Through").set_value("none").run())
    assert (asked(test, "via"), asked(test, "then")) == ("bfloat16", "none")
    described = healthy(page("conversion", via="binary8p3se", opset="21"))
    assert not [box for box in described.selectbox if box.label == "opset"]  # ONNX has none with that format


def test_what_is_copied_of_a_chain(capsys: pytest.CaptureFixture[str]) -> None:
    for state in chains():
        if state.rounding != "onnx" and state.rounding != "to_odd":
            continue
        _, python, *rest = (code.value for code in page("conversion", **write(state)).code)
        out = run(python, capsys)[1]
        formats = [format_named(name) for name in (state.source, *state.between, state.target)]
        code = reference.encode(state.at, formats[0])
        options = {} if state.rounding == "onnx" else {"rounding": state.rounding, "overflow": state.overflow}
        expected, start = [], code
        for before, after in pairwise(formats):
            start = reference.cast(start, before, after, **(options if after.is_float else {}))
            expected.append(start)
        expected.append(reference.cast(code, formats[0], formats[-1], **(options if formats[-1].is_float else {})))
        results = re.findall(r"^result +0x([0-9a-f]+)", out, re.MULTILINE)
        assert [int(text, 16) for text in results] == expected, state
        for text in (text for text in rest if text.startswith("import onnx")):
            names = run(text, capsys)[0]
            ends = offered(names, names["nodes"], names["model"].opset_import[0].version)
            assert ends == ([formats[0].onnx_enum], [formats[-1].onnx_enum])
            assert names["model"].opset_import[0].version >= max(fmt.since or 0 for fmt in formats)
            assert len(names["nodes"]) == len(formats) - 1


@pytest.mark.parametrize(
    ("codes", "fmt", "words"),
    [
        ((2, 3), INT4, "0x2 0x3 → byte 0x32: the first code takes the low nibble of the first byte, the second one"),
        ((8,), INT4, "0x8 → byte 0x08: the first code takes the low nibble of the first byte."),
        ((1, 2, 3, 4), INT4, "0x1 0x2 → byte 0x21:"),
        ((1, 2, 3, 0, 2), UINT2, "0x1 0x2 0x3 0x0 → byte 0x39: the first code takes the 2 lowest bits of the first"),
        ((1, 2, 3, 4, 5), lp.as_format(27), "0x01 0x02 0x03 0x04 → bytes 0x81 0x30 0x10: the first code takes the 6"),
    ],
)
def test_which_byte_the_codes_make(codes: tuple[int, ...], fmt: lp.Format, words: str) -> None:
    assert packing_sentence(packing(codes, fmt)).startswith(words)


def test_packing_is_copied_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    test = healthy(page("conversion", packed="int4", codes="0x2 0x3"))
    assert "byte 0 = 0x32" in pictures(test)
    assert run(copied(test)[1], capsys)[1].splitlines()[-1] == "['0x32']"
    assert "lp.pack" not in copied(page("conversion"))[1]


def test_each_cast_says_what_it_lost_and_is_saved() -> None:
    """1.0039063 is rounded only; 1e6 overflows float8 on the way and directly, and float32 keeps it."""
    shown = texts(healthy(page("conversion", source="float64", via="float32", target="float8_e4m3fn", at="1e6")))
    assert shown.count('class="lp-loss"') == 2  # the second cast of the chain, and the direct one
    assert shown.count("</span>saturates</span>") == 2
    assert 'class="lp-loss"' not in texts(healthy(page("conversion", **WITNESS)))
    copied_bits = texts(healthy(page("conversion", source="int8", target="int8", at="3")))
    assert 'class="lp-loss"' not in copied_bits
    direct = texts(healthy(page("conversion", source="float32", target="float8_e4m3fn", at="1e6")))
    assert direct.count("</span>saturates</span>") == 1
