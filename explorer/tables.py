"""The tables of Compare and Quantize: a view's numbers as text and links, shown by `render.table`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from lowprec.reference.exact_cast import Value

from . import render
from .views.compare import Facts, Outcome
from .views.numbers import apart, code_text, power_form, short
from .views.quantize import Quantized, elements, slices

__all__ = ["db", "facts", "number", "of_elements", "of_scales", "outcomes"]


def number(value: float | Fraction | None, room: int = 12, digits: int = 6) -> str:
    """Return a number exactly where that is short, else rounded and marked; a dash for None."""
    return "–" if value is None else short(Value.of(value), room, digits)


def _percent(ratio: Fraction | None) -> str:
    if ratio is None:
        return "–"
    if 1 <= ratio < 1000 and ratio.denominator > 1:
        return f"≈{round(100 * ratio)} %"  # short would write 1e+2
    return f"{short(100 * ratio, 8, 3)} %"


def db(ratio: float) -> str:
    """Return decibels as text: Inf stands for no error, NaN for no signal."""
    if math.isfinite(ratio):
        return f"≈{ratio:.2f} dB"
    return "no error" if ratio > 0 else "–"


def _count(codes: int) -> str:
    return short(Value.of(codes), 8, 3)


def outcomes(rows: Sequence[Outcome]) -> None:
    """Show what one number becomes in each format, or why it cannot."""
    cells = []
    for row in rows:
        told, off = row.explanation, row.differences
        if told is None:
            why = f'<span class="lp-wrap">{escape(row.problem)}</span>'
            cells.append((escape(row.format.name), *5 * ["–"], why))
            continue
        code = code_text(told.code, row.format)
        bits = render.strip(row.format, told.code) if row.format.bits <= 16 else ""
        cells.append((
            render.page_link("anatomy", {"fmt": row.format.name, "at": code}, row.format.name),
            escape(apart(told.value, row.format)), f"{code} {bits}", number(off.absolute, 12, 4),
            _percent(off.relative), number(off.ulps, 12, 4), f'<span class="lp-wrap">{escape(told.rule)}</span>',
        ))  # fmt: skip
    header = ("format", "value", "code", "error", "relative", "in ulp", "because")
    render.table(header, cells, "The number in each format")


def facts(rows: Sequence[Facts]) -> None:
    """Show what formats can hold."""
    header = (
        "format", "bits s/e/m", "largest", "smallest > 0", "smallest normal", "eps", "bits of precision", "digits",
        "decades", "numbers", "subnormal", "Inf", "NaN codes",
    )  # fmt: skip
    cells = []
    for row in rows:
        fmt = row.format
        counts = (row.numbers, row.subnormal_codes, row.inf_codes, row.nan_codes)
        cells.append((
            render.page_link("anatomy", {"fmt": fmt.name, "at": "1"}, fmt.name),
            f"{int(fmt.signed)}/{fmt.exponent_bits}/{fmt.mantissa_bits}", short(row.largest, 12),
            power_form(row.smallest), power_form(row.smallest_normal), "–" if row.eps is None else power_form(row.eps),
            str(row.significant_bits), f"≈{row.digits:.1f}", f"≈{row.decades:.1f}", *map(_count, counts),
        ))  # fmt: skip
    render.table(header, cells, "Facts of each format")


def of_scales(found: Quantized, most: int) -> None:
    """Show the first scales: the code where it is the exponent alone, the zero point where there is one."""
    form, with_zero = found.settings.scale_format, found.zero_point is not None
    with_code = not form.has_zero
    header = ["index", "scale", *["code"] * with_code, *["zero point"] * with_zero, "largest |x|", "saturated", "SQNR"]
    cells = [
        [
            ", ".join(map(str, row.index)) or "all", short(row.scale, 12, 6),
            *[code_text(row.scale_code, form)] * with_code, *[str(row.zero_point)] * with_zero,
            number(row.largest), str(row.saturated), db(row.sqnr_db),
        ]
        for row in slices(found, most)
    ]  # fmt: skip
    render.table(header, cells, "Scales")


def of_elements(found: Quantized, most: int) -> None:
    """Show the first elements."""
    fmt = found.settings.fmt
    cells = [
        (", ".join(map(str, row.index)), number(row.x), code_text(row.code, fmt), number(row.back), number(row.error))
        for row in elements(found, most)
    ]
    render.table(("index", "x", "code", "comes back as", "error"), cells, "Elements")
