"""The card of a format on Anatomy and Compare, why its values end, and the sentences on what a number lost."""

from __future__ import annotations

import re
from itertools import product

import pytest
from support.explorer_pages import healthy, page, texts
from support.explorer_states import DESCRIBED

from lowprec import as_format, explain, reference, teaching
from lowprec.explanation import LOSSES, LossSentence
from lowprec.explorer.pages.anatomy.view import facts
from lowprec.explorer.pages.compare.state import COMPARED_NAMES
from lowprec.explorer.pages.conversion.view import conversion, loss_text
from lowprec.explorer.shared import format_facts
from lowprec.explorer.shared import html as templates
from lowprec.explorer.shared.codes import anatomy, losses_of
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.page import FORMAT_NAMES

E4M3, FNUZ = "float8_e4m3fn", "float8_e4m3fnuz"

CARD = {
    "bits": "8: 1 sign + 4 exponent + 3 mantissa", "bias": "7", "largest": "448",
    "why it ends there": "480 would be 0x7F, which is NaN.", "lowest": "-448", "smallest normal": "2^-6 = 0.015625",
    "smallest > 0": "2^-9 = 0.001953125", "eps: from 1 to the next": "2^-3 = 0.125", "NaN codes": "0x7F, 0xFF",
    "Inf codes": "none", "code of −0": "0x80", "subnormal codes": "14", "different numbers": "253",
    "values per normal binade": "8; 7 in the last", "values v, 1 ≤ v < 2": "8, 7 of them above 1",
    "bits of precision": "4", "decimal digits": "≈1.2", "decades": "≈5.4", "dynamic range": "≈107 dB",
    "in ONNX": "FLOAT8E4M3FN, Cast since opset 19",
}  # fmt: skip


def test_the_card_of_e4m3fn() -> None:
    assert {fact.name: fact.texts[0] for fact in format_facts.card(as_format(E4M3))} == CARD


@pytest.mark.parametrize(
    ("name", "texts_of_facts"),
    [
        ("float8_e5m2", {"NaN codes": "0x7D–0x7F, 0xFD–0xFF", "Inf codes": "0x7C, 0xFC"}),
        (FNUZ, {"NaN codes": "0x80", "code of −0": "none", "bias": "8", "largest": "240"}),
        ("float8_e8m0fnu", {"bits": "8: 8 exponent", "lowest": "2^-127 ≈5.87747e-39", "values v, 1 ≤ v < 2": "1"}),
        ("int8", {"bits": "8: 1 sign + 7 value", "values per normal binade": "1, then double; 64 in the last"}),
        ("bool", {"bits": "8: every byte but 0 is True", "different numbers": "2", "eps: from 1 to the next": "none"}),
        ("binary3p1uf", {"in ONNX": "no", "bits": "3: 3 exponent"}),
        ("float6_e2m3fn", {"values v, 1 ≤ v < 2": "8, 7 of them above 1", "NaN codes": "none", "largest": "7.5"}),
    ],
)  # fmt: skip
def test_facts_as_texts(name: str, texts_of_facts: dict[str, str]) -> None:
    found = {fact.name: fact.texts[0] for fact in format_facts.card(format_named(name))}
    assert {fact: found[fact] for fact in texts_of_facts} == texts_of_facts


def test_two_and_three_formats_show_where_they_differ() -> None:
    two = format_facts.comparison([as_format(E4M3), as_format(FNUZ)])
    differing = {fact.name: fact.texts for fact in two if fact.differs}
    assert differing["bias"] == ("7", "8")
    assert differing["largest"] == ("448", "240")
    assert differing["NaN codes"] == ("0x7F, 0xFF", "0x80")
    assert differing["code of −0"] == ("0x80", "none")
    assert set(differing) == {
        "bias", "largest", "why it ends there", "lowest", "smallest normal", "smallest > 0", "NaN codes", "code of −0",
        "different numbers", "values per normal binade", "dynamic range", "in ONNX",
    }  # fmt: skip
    three = format_facts.comparison([as_format(name) for name in (E4M3, FNUZ, "float8_e5m2")])
    assert {"Inf codes", "bits"} <= {fact.name for fact in three if fact.differs}
    for many in ((E4M3,), (E4M3, FNUZ, "float8_e5m2", "int8")):
        assert not any(fact.differs for fact in format_facts.comparison([as_format(name) for name in many]))


@pytest.mark.parametrize("names", [FORMAT_NAMES, DESCRIBED], ids=["rows", "described"])
def test_the_end_of_every_format(names: tuple[str, ...]) -> None:
    for name in names:
        end = format_facts.range_end(format_named(name))
        assert reference.decode(end.code, end.format) == end.largest
        html = templates.render("pages/rounding/range_end", end=end)
        assert end.why in html
        assert f"The largest value of {name} is " in html


@pytest.mark.parametrize("name", [*FORMAT_NAMES, *DESCRIBED])
def test_what_is_said_of_binades(name: str) -> None:
    fmt = format_named(name)
    if not fmt.is_float or fmt.bits > 16:
        return
    facts, sentence = teaching.format_facts(fmt), format_facts.binade_sentence(fmt)
    said = {fact.name: fact.texts[0] for fact in format_facts.card(fmt)}["values per normal binade"]
    full, last = facts.values_per_binade, facts.values_in_last_binade
    if full is None:
        assert "last" in said
        assert "every" not in sentence
    elif last == full:
        assert re.search(r"every binade of normal values( has 1 value)?\.$", sentence)
        assert (said, full == 1 or f"{full} values apart" in sentence) == (str(full), True)
    else:
        assert said == f"{full}; {last} in the last"
        assert f"{full} values apart in every binade of normal values but the last, which has {last}" in sentence


@pytest.mark.parametrize(
    ("name", "taken"),
    [("float8_e4m3fn", ["NaN"]), ("float8_e5m2", []), ("e4m3,nan=all-ones", ["Inf", "NaN"]), ("binary8p3se", ["Inf"])],
)
def test_what_takes_the_other_codes_of_the_last_binade(name: str, taken: list[str]) -> None:
    assert re.findall("Inf|NaN", format_facts.binade_sentence(format_named(name))) == taken


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_no_page_says_exact_above_a_loss(name: str) -> None:
    target = as_format(name)
    for x, source in product(("-0", "-1", "-2", "2", "300", "0", "1"), ("float32", E4M3, FNUZ, "int8")):
        explanation = explain(x, target)
        code = reference.encode(x, source)
        cast = conversion(code, as_format(source), target)
        result = templates.render("pages/rounding/rounding_result", explanation=explanation, value="")
        shown = [
            (losses_of(explanation), result),
            (losses_of(cast.explanation), f"{cast.rule} {loss_text(cast)}"),
            (anatomy(x, target).losses, str(facts(anatomy(x, target)))),
        ]
        for losses, html in shown:
            assert not losses or not re.search(r"exact\b(?! decimal)|nothing was lost", html), (x, source, losses, html)


# ---- pages


def test_a_typed_number_that_is_lost_gets_its_sentence() -> None:
    card = texts(healthy(page("anatomy", fmt="float8_e8m0fnu", at="1")))
    for fact in format_facts.card(format_named("float8_e8m0fnu")):
        assert f"<dt>{fact.name.replace('>', '&gt;').replace('<', '&lt;')}</dt>" in card
    assert "lp-loss-word" not in texts(healthy(page("rounding", x="464")))
    assert "465 rounds beyond 448, the largest value of float8_e4m3fn: saturate makes it 448." in texts(
        healthy(page("anatomy", fmt=E4M3, at="465"))
    )
    assert "lp-loss-word" not in texts(healthy(page("anatomy", fmt=E4M3, at="464")))
    assert "lp-loss-word" not in texts(healthy(page("anatomy", fmt=E4M3, at="0x7F")))
    assert "NaN becomes -0: float4_e2m1fn has no NaN." in texts(healthy(page("anatomy", fmt="float4_e2m1fn", at="nan")))
    assert anatomy("300", "int8").losses[0].kind == "wraps"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [({"x": "465", "saturate": "0"}, "without saturate it becomes NaN, as the format has no Inf."),
     ({"x": "300", "fmt": "int8"}, "300 is beyond 127, the largest value of int8: Cast keeps the lowest 8 bits, 44.")],
)  # fmt: skip
def test_rounding_says_what_is_lost_and_why_the_values_end(query: dict[str, str], sentence: str) -> None:
    found, fmt = texts(healthy(page("rounding", **query))), as_format(query.get("fmt", E4M3))
    assert sentence in found
    assert f"The largest value of {fmt.name} is {teaching.format_facts(fmt).largest}." in found
    assert f"anatomy?fmt={fmt.name}" in found


def test_compare_shows_losses_and_facts() -> None:
    found = texts(healthy(page("compare", "facts", "casts", fmts=f"{E4M3},{FNUZ}", x="300")))
    assert "300 rounds beyond 240, the largest value of float8_e4m3fnuz: saturate makes it 240." in found
    assert found.count("lp-loss-word") == 1
    marked = re.findall(r'<tr class="lp-differs">\s*<th scope="row">(.*?) <b title="they differ">≠</b></th>', found)
    assert {"bias", "largest", "why it ends there", "NaN codes", "code of −0"} <= set(marked)
    assert "480 would be 0x7F, which is NaN." in found
    many = texts(healthy(page("compare", "facts")))
    assert "they differ" not in many
    for name in ("int8", E4M3):
        assert teaching.format_facts(name).why_it_ends in many


def test_every_compared_format_has_a_column() -> None:
    for names in (COMPARED_NAMES[:12], COMPARED_NAMES[12:]):
        formats = [as_format(name) for name in names]
        html = templates.render("pages/compare/format_facts", formats=formats, facts=format_facts.comparison(formats))
        assert len(re.findall(r'<th scope="col">', html)) == len(names) + 1
        assert html.count("<tr>") == len(CARD) + 1
        assert html.count("<td>") == len(CARD) * len(names)


def test_the_sentence_of_each_kind_is_escaped_and_named_in_words() -> None:
    html = templates.render("loss_sentence", losses=[LossSentence(kind, f"<b>{kind}") for kind in LOSSES])
    assert "<b>" not in html
    for kind, part in product(LOSSES, ("</span>{}</span>", "&lt;b&gt;{}")):
        assert part.format(kind) in html
    assert losses_of(None) == ()
    assert "lp-loss" not in templates.render("loss_sentence", losses=())
