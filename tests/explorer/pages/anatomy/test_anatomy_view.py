"""The explorer's view of one code: fields, formula, neighbours, errors and the table, for every format."""

from __future__ import annotations

import csv
import io
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from support.explorer_states import OF_EVERY_KIND

from lowprec import reference
from lowprec.explorer.pages.anatomy import view
from lowprec.explorer.shared import codes, numbers
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.formats import NUMERIC, Format, Kind

BY_NAME = {"ids": lambda fmt: fmt.name}
FORMATS = [*NUMERIC, *map(format_named, OF_EVERY_KIND)]
SMALL = [fmt for fmt in FORMATS if fmt.bits <= 8]


def some_codes(fmt: Format) -> list[int]:
    """All codes of up to 8 bits; of more, the edges of every field and some at random."""
    if fmt.bits <= 8:
        return list(range(1 << fmt.bits))
    edges = {0, 1, fmt.sign_mask, fmt.sign_mask | 1, fmt.max_code, fmt.max_code + 1, fmt.mantissa_mask,
             fmt.mantissa_mask + 1, fmt.code_mask, fmt.exponent_mask, fmt.exponent_mask | fmt.sign_mask}  # fmt: skip
    chance = random.Random(fmt.bits)
    return sorted({code & fmt.code_mask for code in edges} | {chance.getrandbits(fmt.bits) for _ in range(200)})


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_fields_are_the_bits(fmt: Format) -> None:
    for code in some_codes(fmt):
        found = codes.anatomy(f"{code:#x}", fmt)
        assert found.code == code
        assert found.value == reference.decode(code, fmt)
        assert "".join(field.bits for field in found.fields) == f"{code:0{fmt.bits}b}"
        assert [field.first for field in found.fields[1:]] == [field.last for field in found.fields[:-1]]
        assert all(len(field.bits) == field.last - field.first for field in found.fields)
        if fmt.is_float:
            widths = {field.name: len(field.bits) for field in found.fields}
            assert widths.get("exponent") == fmt.exponent_bits
            assert widths.get("mantissa", 0) == fmt.mantissa_bits


def evaluated(parts: tuple[codes.Part, ...]) -> Fraction:
    text = ""
    raised = False
    for part in parts:
        if part.is_exponent != raised:
            text += "**(" if part.is_exponent else ")"
            raised = part.is_exponent
        text += part.text
    text = (text + ")" * raised).replace("−", "-").replace("×", "*")
    text = text.replace("2**(", "F(2)**(").replace("(-1)**(", "F(-1)**(").replace("/", "*F(1)/")
    return Fraction(eval(text, {"F": Fraction}))


@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS if fmt.kind is not Kind.BOOL], **BY_NAME)
def test_the_formula_is_the_value(fmt: Format) -> None:
    for code in some_codes(fmt):
        found = codes.anatomy(f"{code:#x}", fmt)
        if found.value.special:
            assert found.value.special.casefold() in found.formula[0].text.casefold()
        else:
            assert evaluated(found.formula) == reference.decode(code, fmt).number, hex(code)


@pytest.mark.parametrize("fmt", SMALL, **BY_NAME)
def test_neighbours_are_the_next_values(fmt: Format) -> None:
    for code in range(2 if fmt.kind is Kind.BOOL else 1 << fmt.bits):
        found, here = codes.neighbours(code, fmt), reference.decode(code, fmt)
        assert tuple(near and near.code for near in found) == reference.neighbours(code, fmt)
        for near in filter(None, found):
            assert near.value == reference.decode(near.code, fmt)
            is_far = here.special or near.value.special
            assert near.distance == (None if is_far else abs(near.value.number - here.number))


@pytest.mark.parametrize(
    ("text", "code", "error", "ulps"),
    [("0.3", 0x2A, Fraction(1, 80), Fraction(2, 5)), ("0x1.4p-2", 0x2A, 0, 0), ("5/16", 0x2A, 0, 0),
     ("-0.3", 0xAA, Fraction(-1, 80), Fraction(-2, 5)), ("1000", 0x7E, -552, Fraction(-69, 4)),
     ("0.0001", 0x00, Fraction(-1, 10000), Fraction(-32, 625)), ("-inf", 0xFE, None, None), ("nan", 0x7F, None, None)],
)  # fmt: skip
def test_a_typed_number_and_its_error(text: str, code: int, error: Fraction | None, ulps: Fraction | None) -> None:
    found = codes.anatomy(text, "float8_e4m3fn")
    assert (found.code, found.error, found.ulps) == (code, error, ulps)
    assert found.is_exact == (error == 0 or text == "nan")


@pytest.mark.parametrize("text", ["0x100", "0b1_0000_0000", "", "0x", "0x_", "seven", "1/0", "0b2", "1e99999", "<b>"])
def test_what_is_no_code_and_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"`code or number` must be"):
        codes.anatomy(text, "float8_e4m3fn")


@pytest.mark.parametrize("text", ["0b0_0101_010", "0x2a", "0X2A", " 0x2A ", "0b00101010"])
def test_codes_are_read(text: str) -> None:
    found = codes.anatomy(text, "float8_e4m3fn")
    assert (found.code, found.typed) == (0x2A, None)


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_a_number_is_carried_to_another_format(fmt: Format) -> None:
    for code in some_codes(fmt)[:300]:
        text = codes.portable_text(f"{code:#x}", fmt)
        assert numbers.place(text, fmt).typed == reference.decode(code, fmt)
    assert codes.portable_text("17/23", fmt) == "17/23"
    assert codes.portable_text("rubbish", fmt) == "rubbish"


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_short_texts_say_when_they_are_not_exact(fmt: Format) -> None:
    for code in some_codes(fmt):
        value = reference.decode(code, fmt)
        if value.special:
            assert numbers.short(value) == str(value)
            continue
        for room, digits in ((8, 4), (14, 6), (26, 17)):
            text = numbers.short(value, room, digits)
            number = Fraction(Decimal(text.removeprefix("≈")))
            # A shortened text may happen to be exact, never the reverse.
            assert text.startswith("≈") or number == value.number
            assert abs(number - value.number) <= abs(value.number) / 2  # one digit at the least


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_exact_texts_are_exact(fmt: Format) -> None:
    for code in some_codes(fmt):
        value = reference.decode(code, fmt)
        if value.special:
            continue
        for text in (numbers.exact(value), numbers.power_form(value)):
            odd, _, power = text.rpartition("2^")
            if not power or "2^" not in text:
                assert Fraction(text) == value.number
            else:
                odd = odd.rstrip("·")
                assert Fraction(odd + "1" if odd in ("", "-") else odd) * Fraction(2) ** int(power) == value.number


@pytest.mark.parametrize("fmt", SMALL, **BY_NAME)
def test_the_table_holds_every_code(fmt: Format) -> None:
    rows = codes.table(0, fmt, "decimal")
    assert [number for *_, number in rows] == list(range(2 if fmt.kind is Kind.BOOL else 1 << fmt.bits))
    assert len(rows) % codes.columns(fmt) == 0
    for text, _, kind, code in rows:
        value = reference.decode(code, fmt)
        assert int(text, 16) == code
        assert kind == (value.special or ("zero" if not value.magnitude else kind))
        if kind == "subnormal":
            assert value.magnitude < Fraction(2) ** fmt.emin
        if kind == "normal":
            assert value.magnitude >= Fraction(2) ** fmt.emin
    parsed = list(csv.DictReader(io.StringIO(view.csv_text(0, fmt))))
    assert [int(row["code"], 16) for row in parsed] == [int(row["bits"], 2) for row in parsed]
    for row in parsed:
        value = reference.decode(int(row["code"], 16), fmt)
        assert reference.Value.of(row["value"]) == value
        assert not row["hex_float"] or reference.Value.of(row["hex_float"]) == value


@pytest.mark.one_in(7)
@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits > 8], **BY_NAME)
@pytest.mark.parametrize("how", ["decimal", "hex-float", "exact"])
def test_wider_formats_show_what_is_near(fmt: Format, how: str) -> None:
    codes_of = {codes.window(code, fmt): code for code in some_codes(fmt)}  # one code for each table there is
    for window, code in codes_of.items():
        assert [number for *_, number in codes.table(code, fmt, how)] == list(window)
        assert len(window) <= 1024
    assert all(code in codes.window(code, fmt) for code in some_codes(fmt))


@pytest.mark.parametrize(
    ("text", "typed"),
    [("0x2a", {}), ("nan", {"typed": "nan"}), ("0.3125", {"typed": "0.3125", "error of the code": "none: exact"})],
)
def test_facts_about_what_was_typed(text: str, typed: dict[str, str]) -> None:
    facts = dict(view.facts(codes.anatomy(text, "float8_e4m3fn")))
    assert {name: facts[name] for name in ("typed", "error of the code") if name in facts} == typed


def test_binades_of_16_bits() -> None:
    rows = codes.binades(format_named("float16"))
    assert len(rows) == 64
    assert rows[0] == ("2^-24", "step 2^-24", "subnormal", 0)
    assert rows[15] == ("2^0", "step 2^-10", "normal", 0x3C00)
    assert rows[30] == ("2^15", "step 2^5", "normal", 0x7800)
    assert rows[31][2] == "nan"
    assert rows[47] == ("-2^0", "step 2^-10", "normal", 0xBC00)
