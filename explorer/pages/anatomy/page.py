"""The page Anatomy: one code of one format, its bits, its value, and the table of all codes."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from lowprec.spec.formats import FLOAT64

from ...shared import browser, chart, codes, evidence, format_facts, layout, numbers, theme
from ...shared.controls import Controls
from ...shared.format_names import format_named
from ...shared.page import FORMAT_NAMES
from . import picture, snippets, view
from .state import ANATOMY_SHOWS, Anatomy

__all__ = ["show"]


def same_number(old: Anatomy, new: Anatomy) -> Anatomy:
    """Keep the number when the format changes."""
    return replace(new, at=codes.portable_text(old.at, format_named(old.fmt)))


def show(page: Controls[Anatomy]) -> None:
    """Show the page."""
    layout.heading(
        "Anatomy",
        "Click a bit, drag across several, or type a number, to see the value of a code.",
        "ONNX on its formats",
    )
    left, right = st.columns([2, 3])
    page.format_box(left, "Format", "fmt", FORMAT_NAMES, same_number)
    help_ = "A code: 0x2A, 0b0_0101_010. A number: 0.3, 17/23, 0x1.2p-2 (a hex-float has a point or a p), -inf, nan."
    right.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_)
    fmt = format_named(page.state.fmt)
    anatomy = page.compute_or_reset(lambda state: codes.anatomy(state.at, fmt), at="0x0")

    def go(code: int) -> None:
        """Show another code."""
        page.set(at=numbers.code_text(code, fmt))

    if fmt.bits > 8:  # too wide for half a page
        browser.bit_switches(fmt, anatomy.code, anatomy.fields, key="bits", on_change=go)
    left, right = st.columns([6, 5], gap="large")
    with left:
        if fmt.bits <= 8:
            browser.bit_switches(fmt, anatomy.code, anatomy.fields, key="bits", on_change=go)
        layout.show("pages/anatomy/code_value", anatomy=anatomy)
        if anatomy.losses:
            layout.show("loss_sentence", losses=anatomy.losses)
        layout.open_in(page.state)
        steps = st.columns(2)
        for column, near, name in zip(steps, (anatomy.below, anatomy.above), ("previous", "next"), strict=True):
            text = f"{name}: {numbers.apart(near.value, fmt)}" if near else f"{name}: none"
            column.button(
                text, key=name, disabled=near is None, on_click=go, args=(near.code if near else 0,), width="stretch"
            )
        layout.save_picture(picture.bit_row(anatomy, chart.is_dark()), "bits", f"{fmt.name} {anatomy.code:#x}")
    with right:
        layout.show("facts", facts=view.facts(anatomy))

    st.header("The format", anchor=False)
    layout.show("format_card", facts=format_facts.card(fmt))
    st.caption(
        "A binade is the values from one power of two up to the next. 1 ≤ v < 2: from 1 up to, but not including, 2. "
        + (format_facts.binade_sentence(fmt) if fmt.is_float else "")
    )
    if codes.has_binades(fmt):
        st.header("Binades", anchor=False)
        st.caption("The first value of each binade and the step between its values. Click one to show it.")
        rows = codes.binades(fmt)
        selected = max(first for *_, first in rows if first <= anatomy.code)
        browser.code_grid(fmt, browser.Grid("Binades", rows, 8, selected), key="binades", on_change=go)

    title = "All codes" if fmt.bits <= 8 else "Codes nearby"
    st.header(title, anchor=False)
    bar = st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute")
    bar.segmented_control("Show values as", ANATOMY_SHOWS, required=True, **page.bind("show"))
    bar.download_button(
        "CSV", view.csv_text(anatomy.code, fmt), f"{fmt.name}.csv", "text/csv", icon=":material/download:"
    )
    cells = codes.table(anatomy.code, fmt, page.state.show)
    layout.show("legend", names=[kind for kind in theme.CLASSES if any(cell[2] == kind for cell in cells)])
    with st.container(height=480 if len(cells) > 256 else "content", border=False):
        grid = browser.Grid("Codes", cells, codes.columns(fmt), anatomy.code)
        browser.code_grid(fmt, grid, key="codes", on_change=go)
    table = picture.code_table(f"{title}, {fmt.name}", cells, codes.columns(fmt), chart.is_dark())
    layout.save_picture(table, "codes", f"{fmt.name} {cells[0][0]}-{cells[-1][0]}")
    if anatomy.typed is None:
        layout.evidence_section([evidence.of_code(anatomy.value, fmt)], lambda: [evidence.check(FLOAT64, {}, [fmt])])
    else:
        layout.evidence_section([evidence.evidence(anatomy.typed, fmt, {})], lambda: [evidence.check(fmt, {})])
    layout.copy_section(page, "anatomy", *snippets.of_code(anatomy))
