"""Formats by description and of IEEE P3109 in the explorer: names, links, what each page computes, what is copied."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.explorer_pages import healthy, page, sent, texts

import lowprec as lp
from lowprec import reference, teaching
from lowprec.explorer.pages.anatomy import snippets as anatomy_snippets
from lowprec.explorer.pages.anatomy import view as anatomy_view
from lowprec.explorer.pages.anatomy.state import Anatomy
from lowprec.explorer.pages.compare.state import Compare
from lowprec.explorer.pages.conversion import snippets as conversion_snippets
from lowprec.explorer.pages.conversion.packing_view import packing
from lowprec.explorer.pages.conversion.state import Conversion
from lowprec.explorer.pages.conversion.view import bitcasting, bitcastings, conversion
from lowprec.explorer.pages.quantize import snippets as quantize_snippets
from lowprec.explorer.pages.quantize.settings import Settings
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor import sampled
from lowprec.explorer.pages.quantize.view import quantize
from lowprec.explorer.pages.rounding import snippets as rounding_snippets
from lowprec.explorer.pages.rounding import view as rounding_view
from lowprec.explorer.pages.rounding.state import Rounding
from lowprec.explorer.shared import codes, roundings
from lowprec.explorer.shared import link as url_query
from lowprec.explorer.shared.cast_options import cast_options
from lowprec.explorer.shared.codes import has_binades
from lowprec.explorer.shared.format_names import checked_name, format_named
from lowprec.explorer.shared.page import Selection, at_an_opset, with_selection

E4M3 = "e4m3,bias=8,inf=0,nan=negative-zero"
NAMES = (
    "binary3p1se", "binary4p2uf", "binary5p2sf", "binary6p1ue", "binary7p3se", "binary8p3se", "binary8p8ue",
    "binary9p4se", "binary12p7uf", "binary15p10sf", "binary16p16ue", "e1m1", "e1m2,signed=0", "e2m0,nan=none",
    "e3m2,nan=all-ones", "e4m3,signed=0,nan=none", "e5m2,bias=30,inf=0", "e7m0,inf=0,nan=negative-zero",
    "e4m0,signed=0,inf=0,nan=none,zero=0", E4M3,
)  # fmt: skip
FORMATS = [format_named(name) for name in NAMES]
BY_NAME = {"ids": lambda fmt: fmt.name}


def read(cls: type, **query: str) -> tuple[Any, tuple[str, ...]]:
    return url_query.read(cls, query)


# ---- names in links


def test_names_in_any_case_and_spelling() -> None:
    assert read(Anatomy, fmt="BINARY8P3SE") == (Anatomy(fmt="binary8p3se"), ())
    assert read(Rounding, fmt=" E4M3, nan=negative-zero,bias=8, inf=0") == (Rounding(fmt=E4M3), ())
    assert read(Conversion, source="e5m10", target="binary5p2sf")[0] == Conversion("e5m10", target="binary5p2sf")
    assert read(Quantize, fmt="Binary6p3se")[0] == Quantize(fmt="binary6p3se")
    assert read(Quantize, fmt="float8_e4m3") == (Quantize(fmt="float8_e4m3"), ())  # a row that ONNX lacks


@pytest.mark.parametrize("name", NAMES)
def test_names_come_back(name: str) -> None:
    assert checked_name(name, ()) == name == format_named(name).name
    for state in (Anatomy(fmt=name), Compare(("int8", name, "e2m1", name.upper()))):
        link = url_query.query_text(url_query.write(state))
        found, problems = url_query.read(type(state), dict(part.split("=", 1) for part in link.split("&")))
        assert problems == ()
        assert found == (state if isinstance(state, Anatomy) else Compare(("int8", name, "e2m1")))


@pytest.mark.parametrize(
    ("name", "said"),
    [("binary12p3se", "not binary12p3se, whose largest value, 8.68441e+76, is not below 2^128, as those"),
     ("e4m3,bias=300", "whose smallest value, 2^-302, is below 2^-149"),
     ("tf32", "not tf32, which has 19 bits, more than 16"), ("e8m23", "not e8m23, which has 32 bits, more than 16"),
     ("binary16p2se", "must have 11 exponent bits or fewer"), ("binary8p9se", "must have a precision from 1 to 7"),
     ("binary99p1se", "must have 3 to 16 bits"), ("binary08p3se", "must be spelled binary8p3se"),
     ("e4m3,nan=x", "must be a description of a format: `nan` must be one of ieee,"), ("e0m3", "fixed-point format"),
     ("e4m3,bias=8,", "each part after the widths must be one of bias="),
     ("e4", "must be one of the names in the list"),
     ("<script>", "must be one of the names in the list"), ("e4m3" + ",inf=0" * 600, "must be one of the names")],
)  # fmt: skip
def test_other_names_are_refused_with_the_reason(name: str, said: str) -> None:
    converting = ((Conversion, "source"), (Conversion, "packed"), (Quantize, "fmt"))
    explaining = ((Anatomy, "fmt"), (Rounding, "fmt"))
    is_format = said.startswith(("not ", "whose "))  # but none that arrays are converted to
    for cls, field in converting if is_format else (*converting, *explaining):
        found, problems = read(cls, **{field: name})
        assert found == cls()
        assert said in problems[0]
    if is_format:
        assert read(Anatomy, fmt=name) == (Anatomy(fmt=name), ())
    kept = ("int8", name) if is_format else ("int8", "e4m3,bias=8") if name == "e4m3,bias=8," else ("int8",)
    found, problems = read(Compare, fmts=f"int8,{name}")
    assert (found, problems == ()) == (Compare(fmts=kept), is_format)


def test_pages_that_need_more_say_so() -> None:
    assert "must have 2, 4 or 6 bits to share bytes; binary5p2sf has 5" in read(Conversion, packed="binary5p2sf")[1][0]
    assert read(Conversion, packed="binary6p2ue")[0].packed == "binary6p2ue"
    assert "at most 8 bits to be quantized to; e5m3 has 9" in read(Quantize, fmt="e5m3")[1][0]
    assert "must have a zero" in read(Quantize, fmt="e4m0,signed=0,inf=0,nan=none,zero=0")[1][0]


def test_the_menu_takes_them_along() -> None:
    selection = Selection("464", E4M3)
    assert with_selection(Anatomy(), selection) == Anatomy(E4M3, "464")
    assert with_selection(Rounding(opset=23), selection) == Rounding("464", E4M3)  # no opset has it
    assert with_selection(Conversion(opset=24), selection) == Conversion(at="464", target=E4M3)
    assert with_selection(Compare(opset=20), selection).fmts[0] == E4M3
    assert with_selection(Quantize(), selection).fmt == E4M3
    assert with_selection(Quantize(), Selection(None, "e5m10")) == Quantize()  # too wide
    assert with_selection(Conversion(), Selection("464", "tf32")) == Conversion(at="464")  # not converted
    assert with_selection(Rounding(), Selection("464", "tf32")) == Rounding("464", "tf32")
    assert at_an_opset(Rounding(fmt="float8_e5m2", opset=23)).opset == 23


# ---- what the views compute


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_the_anatomy_of_every_kind_of_code(fmt: lp.Format) -> None:
    kinds = set()
    for code in {0, 1, fmt.max_code, fmt.max_code + 1, fmt.magnitude_mask, fmt.sign_mask, fmt.sign_mask + 1} - {
        2**fmt.bits
    }:
        found = codes.anatomy(hex(code), fmt)
        kinds.add(found.kind)
        assert [part.name for part in found.fields] == [
            name
            for name, bits in zip(codes.NAMES, (fmt.signed, fmt.exponent_bits, fmt.mantissa_bits), strict=True)
            if bits
        ]
        if found.kind in ("inf", "nan"):
            assert (
                found.formula[0].text.endswith("Inf" if found.kind == "inf" else "NaN") or "−0" in found.formula[0].text
            )
        else:
            assert value_of(found.formula) == found.value.number
    assert ("nan" in kinds) == (fmt.nan_code is not None)
    assert ("inf" in kinds) == fmt.has_inf
    rows = anatomy_view.csv_text(0, fmt).splitlines()
    assert len(rows) == 1 + (2**fmt.bits if fmt.bits <= 8 else min(max(2**fmt.mantissa_bits, 64), 1024))
    if has_binades(fmt):
        assert len(codes.binades(fmt)) == 2 ** (fmt.bits - fmt.mantissa_bits)


def value_of(formula: tuple[codes.Part, ...]) -> Fraction:
    """Compute what a formula says: a sign, a power of two and a significand, of which some may be left out."""
    text = "".join(f"^{part.text}" if part.is_exponent else part.text for part in formula)
    found = re.fullmatch(r"(?:\(−1\)\^([01]) × )?2\^(\d+)\^ − (-?\d+)(?: × (?:\((.*)\)|(0)))?", text)
    assert found is not None, text
    sign, field, bias, terms, zero = found.groups()
    significand = sum(map(Fraction, terms.split(" + "))) if terms else Fraction(zero or 1)
    return (-1 if sign == "1" else 1) * significand * Fraction(2) ** (int(field) - int(bias))


@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS if fmt.bits <= 8], **BY_NAME)
def test_the_facts_are_those_of_the_codes(fmt: lp.Format) -> None:
    found, kinds = teaching.format_facts(fmt), [codes.classify(code, fmt) for code in range(1 << fmt.bits)]
    values = [reference.decode(code, fmt) for code in range(1 << fmt.bits)]
    finite = sorted({value.number for value in values if not value.special})
    assert found.numbers == len(finite)
    assert (found.nan_count, found.inf_count) == (kinds.count("nan"), kinds.count("inf"))
    assert found.subnormal_codes == kinds.count("subnormal")
    assert (found.largest.number, found.smallest.number) == (finite[-1], min(number for number in finite if number > 0))
    after = [number for number in finite if number > 1]
    assert found.eps == (after[0] - 1 if 1 in finite and after else None)
    assert (found.smallest_normal is None) == ("normal" not in kinds)
    assert {binade.significant_bits for binade in teaching.binades(fmt)} <= set(range(1, fmt.mantissa_bits + 2))


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_presets_and_lines(fmt: lp.Format) -> None:
    given = {preset.label: preset.x for preset in rounding_view.presets(fmt)}
    for label in ("tie, down to even", "tie, up to even"):
        assert label not in given or lp.explain(given[label], fmt).is_tie
    assert "tie, down to even" in given or not fmt.has_zero
    for layout in ("linear", "symlog", "binades"):
        for x in ("0.3", "-1", given["largest"]):
            line = rounding_view.line(fmt, x, lp.explain(x, fmt).code, layout)
            assert 0 < len(line.points) <= 512
            assert line.x is None or fmt.signed or not fmt.has_zero or x != "-1"


def test_below_a_format_without_sign() -> None:
    found = roundings.rounding("-1", "binary5p3uf", overflow="ovf_inf")
    assert found.interval.middle is None
    assert {mode.code for mode in found.modes[1:9]} == {0, 0x1F}  # NaN, but 0 toward zero and toward +Inf
    assert found.modes[-1].error == 1


def test_bits_read_as_formats_of_their_width() -> None:
    e4m3, p3109 = format_named(E4M3), lp.as_format("binary8p3se")
    assert bitcasting(0x80, e4m3, lp.as_format("int8")).value.number == -128
    assert bitcasting(0x80, lp.as_format("int8"), e4m3).value.special == "nan"
    assert {found.target.name for found in bitcastings(0x40, p3109)} >= {"int8", "float8_e4m3fn", "float8_e8m0fnu"}
    assert "must be 5 bits wide" in bitcasting(1, lp.as_format("binary5p2sf"), p3109).problem
    assert packing((1, 2, 3), lp.as_format("binary6p3se")).packed == (0x81, 0x30, 0)


# ---- what is copied runs


def run(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    exec(text, {})
    return capsys.readouterr().out


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_what_is_copied_of_codes_and_numbers(fmt: lp.Format, capsys: pytest.CaptureFixture[str]) -> None:
    python, onnx = anatomy_snippets.of_code(codes.anatomy("0.3", fmt))
    assert f"{reference.encode('0.3', fmt):#0{2 + -(-fmt.bits // 4)}x}" in run(python, capsys)
    assert onnx == f"None: ONNX has no number for {fmt.name}."
    ways = cast_options(True, "up", 28, "to_odd", "ovf_inf")
    explained = rounding_snippets.of_number("0.3", fmt, ways)[0].partition("\nprint(lp.cast")[0]
    code = reference.encode("0.3", fmt, rounding="to_odd", overflow="ovf_inf")
    (result,) = (line for line in run(explained, capsys).splitlines() if line.startswith("result"))
    assert result.split()[1] == f"{code:#0{2 + -(-fmt.bits // 4)}x}"


@pytest.mark.parametrize("name", ["binary5p2sf", "binary8p3se", "binary12p6se", "binary5p3uf", "e2m0,nan=none", E4M3])
@pytest.mark.parametrize("chosen", [("onnx", "default"), ("toward_positive", "default"), ("nearest_away", "ovf_inf")])
def test_what_is_copied_of_conversions(name: str, chosen: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    fmt, options = format_named(name), cast_options(True, "up", 28, *chosen)
    for source, target in ((fmt, lp.as_format(16)), (lp.as_format(1), fmt), (fmt, fmt), (fmt, lp.as_format(2))):
        found = conversion(3, source, target, **options)
        ways = {} if chosen[0] == "onnx" or not target.is_float else {"rounding": chosen[0]}
        ways |= {"overflow": chosen[1]} if ways and chosen[1] != "default" else {}
        assert found.result == reference.cast(3, source, target, **ways)
        python, onnx = conversion_snippets.of_conversion(found, options, bitcasting(3, source, target))
        assert re.findall("0x[0-9a-f]+", run(python, capsys).splitlines()[0]) == [hex(found.result)]
        assert onnx.startswith("None: ONNX has no number for")


def test_what_is_copied_of_a_rounding_beyond_onnx(capsys: pytest.CaptureFixture[str]) -> None:
    python, onnx = rounding_snippets.of_number("0.3", lp.as_format(17), cast_options(True, "up", 28, "toward_zero"))
    assert run(python, capsys).splitlines()[-1] == "[0.28125]"
    assert "lp.cast(np.array([0.3]), 'float8_e4m3fn', rounding='toward_zero')" in python
    assert onnx == "None: ONNX has no attribute for this rounding."
    assert (
        "lp.cast"
        not in rounding_snippets.of_number("1e400", lp.as_format(17), cast_options(True, "up", 28, "to_odd"))[0]
    )


# ---- the pages


@pytest.mark.parametrize("name", ["binary7p3se", "binary12p6se", "binary5p3uf", "e2m0,nan=none", E4M3, "float8_e3m4"])
def test_each_page_shows_them(name: str) -> None:
    fmt = format_named(name)
    healthy(page("anatomy", fmt=name if name in list(lp.formats) else name.upper(), at="0.3"))
    test = healthy(page("rounding", fmt=name, x="0.3", rounding="nearest_away", overflow="sat_propagate"))
    assert all(mode in texts(test) for mode in ("toward_positive", "stochastic_c", "the default"))
    test = healthy(page("compare", "casts", fmts=f"{name},float16", opset="19"))
    assert name in texts(test)
    assert name in sent(test, "picture")[0]["drawings"][0]["svg"]
    healthy(page("conversion", source="float16", target=name, rounding="to_odd"))
    healthy(page("conversion", source=name, target="int8", at="1"))
    if fmt.bits <= 8:
        assert (
            "None: ONNX has no number"
            in healthy(page("quantize", show="result", origin="sampled", fmt=name, rows="4", columns="32"))
            .text[0]
            .value
        )


def test_an_opset_does_not_go_with_them() -> None:
    test = page("rounding", fmt=E4M3, opset="23")
    assert not test.exception
    assert "goes on with opset = 28" in test.error[0].value.replace("\\", "")


def test_a_rounding_is_chosen_on_each_page() -> None:
    test = healthy(page("conversion", at="0.3"))
    labels = [box.label for box in test.selectbox]
    healthy(test.selectbox[labels.index("Rounding")].set_value("toward_zero").run())
    assert "0x29" in texts(test)
    assert "Overflow" in [box.label for box in test.selectbox]
    assert "opset" not in [box.label for box in test.selectbox]
    test = healthy(page("compare", "casts", x="0.3", fmts="float8_e4m3fn,int8", rounding="toward_zero"))
    assert "<td>0.28125</td>" in texts(test)
    assert "truncated toward zero" in texts(test)


@pytest.mark.parametrize("name", ["e3m2,nan=all-ones", "binary8p3se", "float8_e4m3"])
def test_quantized_elements_are_the_oracle_s(name: str) -> None:
    fmt, x = format_named(name), np.linspace(-3, 3, 64, dtype=np.float32).reshape(2, 32)
    found = quantize(x, Settings(fmt, "block", -1, 16))
    for index, element in np.ndenumerate(x):
        scale = np.float32(found.element_scale[index])
        code = reference.encode(np.float32(element / scale), fmt)
        assert found.codes[index] == code
        assert found.dequantized[index] == np.float32(float(reference.decode(code, fmt)) * scale)


def test_what_is_copied_of_a_quantization(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("binary6p3se", E4M3, "float8_e4m3b11fnuz"):
        state, tensor = Quantize(origin="sampled", rows=4, columns=32, fmt=name), sampled("normal", 4, 32, 0, 1.0)
        settings = Settings(format_named(name), "block", -1, 16)
        python, onnx = quantize_snippets.of_quantization(state, tensor, settings)
        assert float(run(python, capsys)) == quantize(tensor.values, settings).max_abs_error
        assert onnx == f"None: ONNX has no number for {name}."


@pytest.mark.parametrize("name", ["tf32", "e8m23,bias=100", "e4m3,bias=1000"])
def test_formats_without_arrays_are_explained(name: str) -> None:
    fmt = format_named(name)
    code = reference.encode("0.3", fmt)
    for test in (
        page("anatomy", fmt=name, at="0.3"),
        page("anatomy", fmt=name, at=hex(code)),
        page("rounding", fmt=name, x="0.3", rounding="toward_zero"),
        page("compare", fmts=name, x="0.3"),
    ):
        assert name in healthy(test).code[0].value
        exec(test.code[1].value, {})
    assert f"{code:X}" in texts(page("rounding", fmt=name, x="0.3"))
    for path, field in (("conversion", "target"), ("conversion", "source"), ("quantize", "fmt")):
        test = page(path, **{field: name})
        assert not test.exception
        assert f"must be a format that lowprec converts, not {name}, wh" in test.warning[0].value.replace("\\", "")
