"""The picture of Describe: values of a format on a ruler against its codes, and the rows beside it."""

from __future__ import annotations

import pytest

from lowprec import reference
from lowprec.explorer.pages.describe import picture, view
from lowprec.explorer.shared.format_names import format_named
from lowprec.reference.exact_cast import Value


@pytest.mark.parametrize("name", ["e2m1,inf=0,nan=none", "e3m2", "binary6p3sf", "e2m3,bias=3", "binary4p2uf"])
def test_marks_are_the_values(name: str) -> None:
    fmt = format_named(name)
    end = view.ruler_end(fmt)
    found = view.ruler(fmt, end)
    values = [reference.decode(code, fmt) for code in range(1 << fmt.bits)]
    expected = {float(value) for value in values if not value.special and 0 <= float(value) < 2.0**end}
    assert found.blocks == ()
    assert [mark * 2**end for mark in found.marks] == sorted(expected)


def test_dense_values_are_blocks() -> None:
    """float16 has 1024 values from 1 to 2, the last of them 2 - 2^-10."""
    found = view.ruler(format_named("float16"), 2)
    assert found.marks == (0.0,)
    assert found.blocks[-2:] == ((0.25, (2 - 2**-10) / 4), (0.5, (4 - 2**-9) / 4))


def test_where_the_ruler_ends() -> None:
    assert [view.ruler_end(format_named(name)) for name in ("e4m3", "e2m1,inf=0,nan=none")] == [2, 2]
    assert view.ruler_end(format_named("e1m2,bias=5")) == -4  # all are subnormal, the largest is 1.5 * 2^-5
    assert view.ruler_end(format_named("e4m3,bias=1000")) == -985  # the largest is 1.875 * 2^-986


def test_rows_of_about_the_same_width() -> None:
    assert [fmt.bits for fmt in view.rows_beside(format_named("e4m3"))] == [8] * 5
    names = [fmt.name for fmt in view.rows_beside(format_named("float4_e2m1fn"))]
    assert names[-2:] == ["float6_e2m3fn", "float6_e3m2fn"]
    assert "float4_e2m1fn" not in names


@pytest.mark.parametrize("name", ["e4m3", "tf32", "float8_e8m0fnu", "e11m4", "e1m0,inf=0,nan=negative-zero", "e8m23"])
@pytest.mark.parametrize("number", ["1", "-3", "0", "nan", "1e30"])
def test_the_picture_of_any_format(name: str, number: str) -> None:
    fmt = format_named(name)
    others = view.rows_beside(fmt)
    for drawing in (picture.wide(fmt, others, Value.of(number)), picture.narrow(fmt, others, Value.of(number))):
        text = str(drawing)
        assert f"Bits, range and values of {fmt.name}, next to {others[0].name}" in text
        assert text.count('data-set="fmt=') == len(others)
