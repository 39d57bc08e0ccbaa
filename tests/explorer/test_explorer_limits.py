"""How long a text or a list may be in the explorer, on both sides of every limit; and texts that just fit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from lowprec import as_format
from lowprec.explorer.pages.anatomy import view as anatomy_view
from lowprec.explorer.pages.anatomy.state import Anatomy
from lowprec.explorer.pages.arithmetic.state import Arithmetic
from lowprec.explorer.pages.compare.state import Compare
from lowprec.explorer.pages.conversion import packing_view
from lowprec.explorer.pages.describe.state import Describe
from lowprec.explorer.pages.errors import view as errors_view
from lowprec.explorer.pages.quantize import tensor, tensor_files
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.rounding import view as rounding_view
from lowprec.explorer.pages.rounding.state import Rounding
from lowprec.explorer.pages.saturation.state import Saturation
from lowprec.explorer.shared import codes, link, numbers
from lowprec.explorer.shared import numbers as template_filters
from lowprec.explorer.shared.page import FORMAT_NAMES
from lowprec.reference.exact_cast import Value, decode, encode
from lowprec.spec.formats import NUMERIC, Format

CLOSE = ("1000", "-1000", "1.01e-4", "-1.01e-4")
"""A little above a power of ten and below a power of two: where a format's values lie closest for their digits."""

E4M3, HALF = as_format(17), as_format(10)


def read(cls: type, **query: str) -> tuple[Any, tuple[str, ...]]:
    return link.read(cls, query)


@pytest.mark.parametrize(
    ("cls", "name", "longest"),
    [(Anatomy, "at", 1000), (Rounding, "x", 1000), (Quantize, "x", 3000), (Quantize, "tensor", 200),
     (Quantize, "folder", 1000)],
)  # fmt: skip
def test_the_longest_text_of_a_link(cls: type, name: str, longest: int) -> None:
    found, problems = read(cls, **{name: "7" * longest})
    assert (getattr(found, name), problems) == ("7" * longest, ())
    found, problems = read(cls, **{name: "7" * (longest + 1)})
    assert getattr(found, name) == getattr(cls(), name)
    assert f"at most {longest} characters" in problems[0]


@pytest.mark.parametrize(
    ("cls", "name", "low", "high"),
    [(Quantize, "rows", 1, 256), (Quantize, "columns", 1, 256), (Quantize, "seed", 0, 9999),
     (Quantize, "block", 1, 256), (Quantize, "axis", -8, 7), (Quantize, "opset", 21, 28),
     (Rounding, "opset", 19, 28), (Arithmetic, "n", 1, 4096), (Arithmetic, "sample", 0, 9999),
     (Arithmetic, "runs", 0, 256)],
)  # fmt: skip
def test_the_ends_of_a_number_of_a_link(cls: type, name: str, low: int, high: int) -> None:
    for number in (low, high):
        found, problems = read(cls, **{name: str(number)})
        assert (getattr(found, name), problems) == (number, ())
    for number in (low - 1, high + 1):
        found, problems = read(cls, **{name: str(number)})
        assert found == cls()
        assert f"from {low} to {high}" in problems[0]


def test_the_longest_query_that_is_read() -> None:
    many = ",".join(["int8"] * 800)
    assert read(Compare, fmts=many) == (Compare(fmts=("int8",)), ())
    assert len(many) == 3999
    assert read(Compare, fmts=many + ",") != read(Compare, fmts=many)  # 4000: read, and an empty name is none
    assert "must be one of the names" in read(Compare, fmts=many + ",")[1][0]
    assert "at most 4000 characters" in read(Compare, fmts=many + ",i")[1][0]


def test_the_most_names_of_a_link() -> None:
    names = [name for name in FORMAT_NAMES if name != "bool"]
    assert read(Compare, fmts=",".join(names[:12])) == (Compare(fmts=tuple(names[:12])), ())
    assert read(Compare, fmts=",".join([*names[:12], names[0]]))[0].fmts == tuple(names[:12])  # twice is once
    found, problems = read(Compare, fmts=",".join(names[:13]))
    assert found == Compare(fmts=tuple(names[:12]))
    assert problems == ("fmts must be at most 12 names. The first 12 are shown.",)
    assert read(Saturation, fmts="") == (Saturation(), ())
    assert "at most 4" in read(Saturation, fmts="e1m1,e2m1,e3m1,e4m1,e5m1")[1][0]


def test_formats_that_are_not_converted_are_compared() -> None:
    """Compare casts one number by the oracle: formats wider than the kernels take have a column too."""
    assert read(Compare, fmts="e8m10") == (Compare(fmts=("e8m10",)), ())
    assert read(Saturation, fmts="e8m10") == (Saturation(fmts=("e8m10",)), ())
    assert "must be a format that lowprec converts" in read(Quantize, fmt="e8m10")[1][0]
    for name in ("float64", "int8", "bool"):
        assert "list" in read(Describe, fmt=name)[1][0]


def test_the_longest_number_of_a_link() -> None:
    assert read(Quantize, spread="1." + "0" * 35 + "e30")[0].spread == 1e30  # 40 characters
    found, problems = read(Quantize, spread="1." + "0" * 36 + "e30")  # not 1e3, which its first 40 would be
    assert found.spread == 1
    assert "must be a number" in problems[0]
    assert read(Quantize, spread="1e-30")[0].spread == 1e-30
    assert read(Quantize, spread="9e-31")[1]
    assert read(Quantize, spread="1.1e30")[1]


def test_how_much_of_a_link_is_quoted() -> None:
    assert repr("y" * 40) in read(Rounding, fmt="y" * 40)[1][0]
    assert repr("y" * 40 + "…") in read(Rounding, fmt="y" * 41)[1][0]


def test_few_options_are_named() -> None:
    seven, eight = (link.choice("a", "abcdefgh"[:count]).metadata["parse"] for count in (7, 8))
    with pytest.raises(ValueError, match="must be a, b, c, d, e, f, g"):
        seven("z")
    with pytest.raises(ValueError, match="must be one of the names in the list"):
        eight("z")


def test_codes_of_any_length() -> None:
    for zeros in (0, 17, 18, 19, 900):
        assert numbers.place("0x" + "0" * zeros + "2a", E4M3) == numbers.Place(0x2A, None)
        assert numbers.place("0b" + "0" * zeros + "101010", E4M3) == numbers.Place(0x2A, None)
    with pytest.raises(ValueError, match=r"a code of 8 bits up to 0xff; got '0x100'"):
        numbers.place("0x100", E4M3)
    assert numbers.place("0xff", E4M3).code == 0xFF


@pytest.mark.parametrize(
    ("number", "room", "text"),
    [("0.015625", 8, "0.015625"), ("0.015625", 7, "≈0.0156"), ("-0.015625", 9, "-0.015625"),
     ("-0.015625", 8, "≈-0.0156"), ("448", 3, "448"), ("7.62939453125e-06", 8, "≈7.63e-6"),
     ("7.62939453125e-06", 7, "≈7.6e-6"), ("-1.52587890625e-05", 8, "≈-1.5e-5"), ("57344", 5, "57344"),
     ("57344", 4, "≈6e+4"), ("1/3", 8, "≈0.33333"), ("1/3", 9, "≈0.333333"), ("1/3", 10, "≈0.333333"),
     ("inf", 1, "inf"), ("-nan", 1, "-nan")],
)  # fmt: skip
def test_the_digits_that_fit(number: str, room: int, text: str) -> None:
    assert numbers.short(Value.of(number), room) == text


@pytest.mark.parametrize("text", ["9" * 1000, "1e9999", "-123e-9999", "0x1p-1074", "-0x1.8p9000", "0x1p-9999", "-0"])
def test_texts_that_are_read_again(text: str) -> None:
    again = numbers.input_text(Value.of(text))
    assert (Value.of(again), len(again) <= 1000) == (Value.of(text), True)


def test_texts_that_are_exact() -> None:
    assert numbers.exact(Value.of("0.0009765625")) == "0.0009765625"  # 12 characters
    assert numbers.exact(Value.of("-0.0009765625")) == "-2^-10"  # 13
    assert numbers.exact_text(Value.of("0.000003814697265625")) == "0.000003814697265625"  # 20
    assert numbers.exact_text(Value.of("-0.000003814697265625")) == "-0x1p-18"  # 21


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("how", ["decimal", "hex-float", "exact"])
def test_no_two_cells_of_a_table_read_the_same(fmt: Format, how: str) -> None:
    start = 0 if fmt.bits <= 8 else fmt.max_code - 200
    close = {encode(text, fmt) for text in CLOSE}
    for code in {0, start, fmt.sign_mask + start, fmt.max_code // 3} | close if fmt.bits > 8 else {0}:
        cells = [text for _, text, kind, _ in codes.table(code, fmt, how) if kind != "nan"]
        assert len(set(cells)) == len(cells), sorted(text for text in cells if cells.count(text) > 1)


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits > 8], ids=lambda fmt: fmt.name)
def test_neighbours_read_apart(fmt: Format) -> None:
    close = [encode(text, fmt) + 3 for text in CLOSE]
    for code in (*close, 1, fmt.max_code // 3, fmt.max_code - 1, fmt.sign_mask + fmt.max_code // 5):
        near = [numbers.apart(decode(code + step, fmt), fmt) for step in (-1, 0, 1)]
        assert len(set(near)) == 3, near
        assert max(map(len, near)) <= 26


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(Fraction(1, 3), "≈33.3 %"), (Fraction(1), "100 %"), (Fraction(3, 2), "≈150 %"), (Fraction(1999, 2), "≈99950 %"),
     (Fraction(1000), "100000 %"), (Fraction(10**9 + 1, 3), "≈3.3e+10 %"), (None, "–")],
)  # fmt: skip
def test_percentages(ratio: Fraction | None, text: str) -> None:
    assert template_filters.percent(ratio) == text


def test_the_most_codes_to_pack() -> None:
    four = as_format(23)
    assert len(packing_view.parse_codes("1 " * 24, four)) == 24
    with pytest.raises(ValueError, match="must be 1 to 24 codes or values; got 25"):
        packing_view.parse_codes("1 " * 25, four)
    assert packing_view.parse_codes("1" + " " * 3999, four) == (2,)
    with pytest.raises(ValueError, match="must be 1 to 24 codes"):
        packing_view.parse_codes("1" + " " * 4000, four)


def test_the_most_texts_of_a_code_and_those_around_it() -> None:
    sizes = {name: len(anatomy_view.text_table(0x4000, as_format(name)).rows) for name in ("float16", "binary16p16ue")}
    assert sizes == {"float16": 1024, "binary16p16ue": 1024}


def test_the_largest_tensors() -> None:
    assert tensor.typed("1 " * 256).values.shape == (256,)
    with pytest.raises(ValueError, match="must be 1 to 256 numbers; got 257"):
        tensor.typed("1 " * 257)
    assert tensor.sampled("uniform", 1024, 1024, 0).values.size == 1 << 20
    for rows, columns in ((0, 4), (4, 0), (-1, -1), (1, (1 << 20) + 1)):
        with pytest.raises(ValueError, match="1 to 1048576 elements"):
            tensor.sampled("uniform", rows, columns, 0)
    with pytest.raises(ValueError, match="distribution"):
        tensor.sampled("cauchy", 1, 1, 0)
    pytest.importorskip("safetensors")
    header = f'{{"w":{{"dtype":"U8","shape":[{tensor_files.MOST_BYTES}],"data_offsets":[0,1]}}}}'.encode()
    content = (len(header).to_bytes(8, "little") + header).ljust(tensor_files.MOST_BYTES, b"x")
    for size, said in ((0, "readable .safetensors"), (1, "at most 4 MB; it has 4000001 bytes")):
        with pytest.raises(ValueError, match=said):
            tensor_files.from_file("w.safetensors", content + b"x" * size)


def test_the_most_points_of_a_line() -> None:
    assert len(rounding_view.line(E4M3, "0.3", 0x2A, "linear").points) == 254  # all that are numbers
    assert rounding_view.line(E4M3, "0.3", 0x2A, "linear").is_complete
    found = rounding_view.line(HALF, "0.3", 0x34CD, "linear")
    assert len(found.points) == 128
    assert not found.is_complete
    assert len(rounding_view.line(HALF, "0.3", 0x34CD, "symlog").points) == 62  # a code for each binade
    assert len(rounding_view.line(as_format(16), "0.3", 0x3E9A, "symlog").points) == 255  # 256, one of them Inf's
    rows = {point.row for point in rounding_view.line(as_format(24), "3", 0x80, "binades").points}
    assert len(rows) == 32


def test_wide_formats_have_fewer_cells_of_an_error_curve() -> None:
    """A curve alone has about 320 distances of a format of 16 bits, and 60 of a wider one."""
    ends = errors_view.Range(Fraction(0), Fraction(1))
    arguments: dict[str, Any] = {"saturate": True, "round_mode": "up", "overflow": "default"}
    cells = {}
    for name in ("float16", "tf32"):
        fmt = as_format(name)
        cells[name] = len(
            errors_view.curve(fmt, "toward_zero", ends, "absolute", Value.of(0), 1, **arguments).curve.cells
        )
    assert cells["float16"] > 3 * cells["tf32"]


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.is_float], ids=lambda fmt: fmt.name)
def test_the_most_marks_of_an_axis(fmt: Format) -> None:
    marks = rounding_view.line(fmt, "0.3", fmt.max_code // 2, "symlog").marks
    assert all(text == "0" or text.lstrip("-").startswith("2^") for _, text in marks)
    assert 2 <= len(marks) <= 14
    assert len({place for place, _ in marks}) == len(marks)
