"""Every format and every mode of every page, in a browser: no complaint of page or console, no empty chart, one code.

The app is loaded once; the states are then shown one after the other, as Back and Forward do.
"""

from __future__ import annotations

import pytest
from support.browser import Visit
from support.explorer_states import STATES

from lowprec import reference
from lowprec.explorer.pages.anatomy.state import Anatomy
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.link import query_text, write

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
    const grids = ['Codes', 'Binades', 'Table of codes'].map(name => `[role=group][aria-label="${name}"]`);
    for (const group of all(grids.join())) {
        const pressed = [...group.querySelectorAll('[aria-pressed=true]')];
        if (pressed.length !== 1) found.push(`${group.ariaLabel}: ${pressed.length} are selected`);
    }
    return found;
}"""
CODE = """() => {
    const roots = [...document.querySelectorAll('*')].map(element => element.shadowRoot).filter(Boolean);
    const all = query => roots.flatMap(root => [...root.querySelectorAll(query)]);
    const bits = all('[role=switch]').map(one => one.querySelector('text').textContent).join('');
    const pressed = all('[aria-label="Table of codes"] [aria-pressed=true] text');
    return [bits, ...[...all('[data-part=code]'), ...pressed.slice(0, 1)].map(one => one.textContent)];
}"""
"""The bits, the code below them, and the code that is chosen in the table."""


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
    digits = f"{code:0{-(-fmt.bits // 4)}X}"
    expected = [f"{code:0{fmt.bits}b}", f"0x{digits} = {code}", digits]
    for _ in range(30):
        shown = visit.page.evaluate(CODE)
        if shown == expected:
            return []
        visit.page.wait_for_timeout(100)
    return [f"shows the code {shown}, not {expected}"]


@pytest.mark.parametrize("name", STATES)
def test_every_state(turning: Visit, name: str) -> None:
    wrong, path, visit = [], name.partition("_")[0], turning
    for state in STATES[name]():
        link, before = f"{path}?{query_text(write(state))}", len(visit.complaints)
        try:
            visit.turn_to(link)
            visit.open_all(path)
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
    assert wrong == []


def test_a_click_in_a_table_of_64_bits(visit: Visit) -> None:
    page = visit.go("anatomy")
    visit.open("Table of codes")
    for fmt in ("float64", "int64", "uint64"):
        visit.turn_to(f"anatomy?{query_text(write(Anatomy(fmt, '0x3ff8000000000001')))}")
        table = page.get_by_role("group", name="Table of codes")
        table.get_by_role("button", pressed=True).wait_for()  # one: of several it would complain
        table.get_by_role("button", name="3FF8000000000003", exact=False).click()
        visit.address_has("at=0x3FF8000000000003")
        code = 0x3FF8000000000003
        assert page.evaluate(CODE) == [f"{code:064b}", f"0x{code:X} = {code}", f"{code:X}"], fmt
