"""Every format in every mode of every page, in a browser: no complaint of page or console, no empty chart, one code.

One page is loaded for each page of the explorer; its states are then shown one after the other, as Back and Forward do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from support.browser import Visit

from lowprec import as_format, reference
from lowprec.explorer.format_names import format_named
from lowprec.explorer.page_states import (
    ANATOMY_SHOWS,
    FORMAT_NAMES,
    LINES,
    OPSETS,
    ORIGINS,
    Anatomy,
    Compare,
    Conversion,
    Quantize,
    Rounding,
    Saturation,
)
from lowprec.explorer.url_query import query_text, write
from lowprec.explorer.views.cast_options import OVERFLOW_CHOICES, ROUNDING_CHOICES
from lowprec.explorer.views.compare import COMPARABLE
from lowprec.explorer.views.conversion import PACKABLE
from lowprec.explorer.views.quantize import GRANULARITIES, SCALE_FORMATS, TARGETS
from lowprec.explorer.views.tensor import DISTRIBUTIONS
from lowprec.spec.opset_rules import NEWEST
from lowprec.spec.round_modes import ROUND_MODES

playwright = pytest.importorskip("playwright.sync_api")

PROBLEMS = """() => {
    const found = [], text = element => element.innerText.trim().slice(0, 200);
    const roots = [document, ...[...document.querySelectorAll('*')].map(element => element.shadowRoot).filter(Boolean)];
    const all = query => roots.flatMap(root => [...root.querySelectorAll(query)]);
    const alerts = ['stException', 'stAlertContentError', 'stAlertContentWarning'];
    for (const shown of all(alerts.map(name => `[data-testid=${name}]`).join())) found.push('shows ' + text(shown));
    for (const chart of all('[data-testid=stVegaLiteChart]')) {
        const canvas = chart.querySelector('canvas.marks');  // where there are thousands of marks
        if (canvas) {
            const { width, height } = canvas;
            const blank = Object.assign(document.createElement('canvas'), { width, height });
            if (canvas.toDataURL() === blank.toDataURL()) found.push(`${chart.ariaLabel}: nothing is drawn`);
            continue;
        }
        const drawn = chart.querySelectorAll('svg.marks .role-mark :is(path, line, rect)').length;
        const labels = [...chart.querySelectorAll('svg.marks text')].map(label => label.textContent);
        const odd = labels.filter(label => /undefined|NaN|null|Infinity/.test(label));
        if (!drawn || labels.length < 2 || odd.length) {
            found.push(`${chart.ariaLabel}: ${drawn} marks, ${labels.length} labels, odd ones: ${odd}`);
        }
    }
    for (const group of all('[role=group][aria-label=Codes], [role=group][aria-label=Binades]')) {
        const pressed = [...group.querySelectorAll('[aria-pressed=true]')];
        if (pressed.length !== 1) found.push(`${group.ariaLabel}: ${pressed.length} are selected`);
    }
    return found;
}"""
CODE = """() => {
    const roots = [...document.querySelectorAll('*')].map(element => element.shadowRoot).filter(Boolean);
    const first = query => roots.map(root => root.querySelector(query)).find(Boolean);
    const bits = [...first('.bits').querySelectorAll('button')].map(button => button.innerText).join('');
    return [bits, first('[aria-label=Codes] [aria-pressed=true] small').innerText];
}"""


DESCRIBED = (
    "binary3p1uf", "binary5p2sf", "binary7p3se", "binary9p4se", "binary12p6se", "binary16p16ue", "e4m0,nan=none",
    "e4m3,bias=8,inf=0,nan=negative-zero",
)  # fmt: skip
CONVERTED = (
    "binary5p2sf",
    "binary6p3ue",
    "e4m0,nan=none",
    "binary8p3se",
    "binary12p6se",
    "e4m3,bias=8,inf=0,nan=negative-zero",
)


def anatomies() -> Iterator[Anatomy]:
    yield from (Anatomy(name, "0.3") for name in DESCRIBED)
    for fmt, show in product(FORMAT_NAMES, ANATOMY_SHOWS):
        yield Anatomy(fmt, "-1.5" if show == "exact" else "0.3", show)
    yield from (Anatomy(fmt, text) for fmt in ("float64", "int64", "uint64") for text in ("1.5", "9007199254740993"))
    yield from (Anatomy(fmt, text) for fmt in ("float64", "bfloat16", "float8_e8m0fnu") for text in ("nan", "inf", "0"))


def roundings() -> Iterator[Rounding]:
    for index, name in enumerate(DESCRIBED):
        yield Rounding(("0.3", "-1", "1e30")[index % 3], name, line=LINES[index % 3], overflow="ovf_inf")
    yield from (Rounding("-0.3", rounding=name, line="binades") for name in ROUNDING_CHOICES[1:])
    yield from (Rounding("500", overflow=name, line="binades") for name in OVERFLOW_CHOICES)
    for name in FORMAT_NAMES:
        fmt = as_format(name)
        for line in LINES if fmt.is_float else LINES[:1]:
            yield Rounding("0.3", name, line=line)
        if fmt.is_float and fmt.saturates == "asked":
            yield Rounding("1e30", name, saturate=False, line="symlog")
    yield from (Rounding(x, line=line) for x in ("464", "-0", "inf", "nan", "1e-9") for line in LINES)
    yield from (Rounding(opset=opset) for opset in OPSETS)


def comparisons() -> Iterator[Compare]:
    names = [fmt.name for fmt in COMPARABLE]
    for some, x in product((names[:12], names[12:]), ("0.3", "-1e30", "0", "nan")):
        yield Compare(tuple(some), x)
    yield from (Compare(saturate=saturate, round_mode=mode) for saturate in (True, False) for mode in ROUND_MODES)
    yield from (Compare(opset=opset) for opset in OPSETS)
    yield from (Compare(("int8", *DESCRIBED), opset=19), Compare(("int8", *DESCRIBED), "-1", rounding="to_odd"))


def conversions() -> Iterator[Conversion]:
    for index, (source, target) in enumerate(zip(FORMAT_NAMES, FORMAT_NAMES[-1:] + FORMAT_NAMES[:-1], strict=True)):
        yield Conversion(source, ("-1/3", "0x1")[index % 2], target, saturate=index % 3 == 0)
    yield from (Conversion(target="float8_e8m0fnu", round_mode=mode) for mode in ROUND_MODES)
    yield from (Conversion(opset=opset) for opset in OPSETS)
    yield from (Conversion(name, target=CONVERTED[index - 1]) for index, name in enumerate(CONVERTED))
    yield from (Conversion(target=name, rounding="nearest_away", overflow="ovf_inf") for name in (*CONVERTED, "int8"))
    yield Conversion(packed="binary6p3se")
    yield from (Conversion(packed=fmt.name) for fmt in PACKABLE)


def quantizations() -> Iterator[Quantize]:
    small = Quantize(rows=6, columns=40)
    yield from (replace(small, fmt=name) for name in CONVERTED if name != "binary12p6se")
    for index, (fmt, per) in enumerate(product(TARGETS, GRANULARITIES)):
        scale = SCALE_FORMATS[(index + index // 4) % 4].name
        yield replace(small, fmt=fmt.name, per=per, scale=scale, zero_point=index % 2 == 1)
    yield from (replace(small, scale=scale.name) for scale in SCALE_FORMATS)
    yield from (replace(small, axis=axis, per=per) for axis in (0, 1) for per in GRANULARITIES[1:])
    yield from (replace(small, distribution=name) for name in DISTRIBUTIONS)
    yield from (replace(small, opset=opset) for opset in range(23, NEWEST + 1))
    typed = Quantize(origin=ORIGINS[1])
    yield typed
    yield from (
        replace(typed, x=text, per=per) for text in ("1 2 3", "0 0; 0 0", "nan inf 1 -0") for per in GRANULARITIES
    )


STATES = {
    "anatomy": anatomies, "rounding": roundings, "saturation": lambda: map(Saturation, OPSETS),
    "compare": comparisons, "conversion": conversions, "quantize": quantizations,
}  # fmt: skip


def problems_of(visit: Visit) -> list[str]:
    """Return what is wrong with a page; components and charts have a moment to draw themselves."""
    found: list[str] = []
    for _ in range(30):
        found = visit.page.evaluate(PROBLEMS)
        if not found:
            break
        visit.page.wait_for_timeout(100)
    return found


def wrong_code(visit: Visit, state: Anatomy) -> list[str]:
    """Return what the bits and the table say where that is not the code of the number."""
    fmt = format_named(state.fmt)
    code = reference.encode(state.at, fmt)
    expected = [f"{code:0{fmt.bits}b}", f"{code:0{-(-fmt.bits // 4)}X}"]
    for _ in range(30):
        shown = visit.page.evaluate(CODE)
        if shown == expected:
            return []
        visit.page.wait_for_timeout(100)
    return [f"shows the code {shown}, not {expected}"]


@pytest.mark.parametrize("path", STATES)
def test_every_state(browser: Any, address: str, path: str) -> None:
    wrong = []
    visit = Visit(browser, address)
    visit.go(path)
    for state in STATES[path]():
        link, before = f"{path}?{query_text(write(state))}", len(visit.complaints)
        try:
            visit.turn_to(link)
            found = problems_of(visit)
            if isinstance(state, Anatomy):
                found += wrong_code(visit, state)
        except playwright.Error as error:
            found = [str(error)]
            visit.go(path)
        found += visit.complaints[before:]
        if found:
            wrong.append((link, found))
        if len(wrong) == 5:  # enough to see what is wrong
            break
    assert visit.outside() == []
    visit.context.close()
    assert wrong == []


@pytest.mark.parametrize("fmt", ["float64", "int64", "uint64"])
def test_a_click_in_a_table_of_64_bits(browser: Any, address: str, fmt: str) -> None:
    visit = Visit(browser, address)
    page = visit.go(f"anatomy?fmt={fmt}&at=0x3ff8000000000001")
    table = page.get_by_role("group", name="Codes")
    assert table.get_by_role("button", pressed=True).count() == 1
    table.get_by_role("button", name="3FF8000000000003", exact=False).click()
    visit.address_has("at=0x3FF8000000000003")
    visit.settle()
    assert visit.page.evaluate(CODE) == [f"{0x3FF8000000000003:064b}", "3FF8000000000003"]
    assert visit.complaints == []
    visit.context.close()
