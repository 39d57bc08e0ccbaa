"""What a notebook or a prompt shows of formats, of their table and of an explanation."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from support.notebook_page import page_of

import lowprec as lp
from lowprec.cli import main
from lowprec.spec import formats
from lowprec.spec.format_text import one_line
from lowprec.spec.formats import FORMATS, Format, Kind, NaNRule

SHOWN = {  # typed from the formats' documents
    "float16": "16 bits 1-5-10, bias 15, max 65504, smallest normal 2^-14, smallest subnormal 2^-24, "
    "NaN 7C01-7FFF FC01-FFFF, Inf",
    "float8_e4m3fn": "8 bits 1-4-3, bias 7, max 448, smallest normal 2^-6, smallest subnormal 2^-9, NaN 7F FF, no Inf",
    "float8_e4m3fnuz": "8 bits 1-4-3, bias 8, max 240, smallest normal 2^-7, smallest subnormal 2^-10, NaN 80, no Inf",
    "float8_e8m0fnu": "8 bits 0-8-0, bias 127, max 1.70141e+38, smallest normal 2^-127, NaN FF, no Inf, no zero",
    "float4_e2m1fn": "4 bits 1-2-1, bias 1, max 6, smallest normal 2^0, smallest subnormal 2^-1, no NaN, no Inf",
    "int4": "4 bits, -8 to 7",
    "uint16": "16 bits, 0 to 65535",
    "bool": "8 bits, 0 to 1",
    "string": "text",
    "complex64": "64 bits, two floats",
}
DESCRIBED = Format(
    "float8_e3m4", "FLOAT8E3M4", 1001, Kind.FLOAT, 3, 4, 3, True, True, NaNRule.IEEE, True, None, 28, "it's <here>"
)


@pytest.mark.parametrize("name", SHOWN)
def test_a_format_shows_its_facts(name: str) -> None:
    assert repr(lp.formats[name]) == str(lp.formats[name]) == f"<Format {name}: {SHOWN[name]}>"


def test_every_format_is_shown_on_one_line() -> None:
    assert all(len(repr(fmt)) < 160 and "\n" not in repr(fmt) for fmt in lp.formats.values())


def test_a_described_format_shows_what_makes_it_again() -> None:
    assert eval(repr(DESCRIBED), {"Format": Format, "Kind": Kind, "NaNRule": NaNRule}) is DESCRIBED
    assert one_line(DESCRIBED) == (
        "8 bits 1-3-4, bias 3, max 15.5, smallest normal 2^-2, smallest subnormal 2^-6, NaN 71-7F F1-FF, Inf"
    )
    namesake = Format("int4", "INT4", 22, Kind.INT, 0, 7, 0, True, False, NaNRule.NONE, True, None, 21, "of 8 bits")
    assert repr(namesake).startswith("Format(name='int4', ")


def test_formats_with_nothing_normal_or_nothing_subnormal() -> None:
    only_subnormal = Format(
        "e1m2", "E1M2", 1001, Kind.FLOAT, 1, 2, 1, True, False, NaNRule.IEEE, True, None, 28, "this test"
    )
    assert one_line(only_subnormal) == "4 bits 1-1-2, bias 1, max 1, smallest normal 2^0, smallest subnormal 2^-2, " + (
        "NaN 05-07 0D-0F, no Inf"
    )
    finite = (True, False, NaNRule.NONE, True)
    bare = Format("e2m0", "E2M0", 1001, Kind.FLOAT, 2, 0, 1, *finite, None, 28, "this test")
    assert one_line(bare) == "3 bits 1-2-0, bias 1, max 4, smallest normal 2^0, no NaN, no Inf"


def test_formats_lists_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats"]) == 0
    assert capsys.readouterr().out == f"{lp.formats!r}\n"
    assert [line.split()[0] for line in repr(lp.formats).splitlines()] == ["format", *lp.formats]
    rows = page_of(lp.formats).tables[0].rows
    header = [
        "format", "ONNX", "enum", "bits", "s/e/m", "bias", "max", "smallest", "Inf", "NaN codes", "-0", "Cast since",
    ]  # fmt: skip
    assert rows[0] == header
    assert [row[0] for row in rows[1:]] == list(lp.formats)
    assert rows[5][:10] == ["float8_e4m3fn", "FLOAT8E4M3FN", "17", "8", "1/4/3", "7", "448", "2^-9", "none", "7F, FF"]


def test_formats_is_a_mapping() -> None:
    assert len(lp.formats) == 31
    assert dict(lp.formats) == lp.formats
    assert "int4" in lp.formats
    assert "FLOAT" not in lp.formats
    assert "binary8p3se" in lp.formats
    assert "binary8p3se" not in list(lp.formats)
    assert lp.formats["binary8p3se"] is lp.as_format("binary8p3se")
    assert lp.formats.get("tf32") is lp.as_format("tf32")
    with pytest.raises(KeyError, match=r"^\"`name` .*; got 'binary8p9se'\"$"):
        lp.formats["binary8p9se"]
    assert lp.formats.get("nosuch") is None
    with pytest.raises(KeyError, match="nosuch"):
        lp.formats["nosuch"]
    with pytest.raises(TypeError):
        lp.formats["int4"] = DESCRIBED


def test_no_module_has_the_name_of_a_public_function() -> None:
    for name in lp.__all__:
        assert importlib.util.find_spec(f"lowprec.{name}") is None, name
        assert not Path(lp.__file__).with_name(name).exists(), name


def test_every_row_is_a_constant() -> None:
    constants = {name: value for name, value in vars(formats).items() if isinstance(value, Format)}
    assert constants == {fmt.name.upper(): fmt for fmt in (*FORMATS.values(), lp.as_format("tf32"))}


def test_an_explanation_shows_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    found = lp.explain("0.3", "float8_e4m3fn")
    assert main(["explain", "0.3", "float8_e4m3fn"]) == 0
    assert capsys.readouterr().out == f"{found!r}\n" == f"{found}\n"
    (table,) = page_of(found).tables
    assert table.caption == "float8_e4m3fn: nearer to the upper neighbour"
    assert table.rows == [
        ["", "code", "bits", "hex-float", "decimal"], ["x", "", "", "", "0.3"],
        ["lower", "0x29", "0|0101|001", "0x1.2p-2", "0.28125"], ["midpoint", "", "", "0x1.3p-2", "0.296875"],
        ["upper", "0x2a", "0|0101|010", "0x1.4p-2", "0.3125"], ["result", "0x2a", "0|0101|010", "0x1.4p-2", "0.3125"],
    ]  # fmt: skip
