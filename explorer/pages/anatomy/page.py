"""The page Anatomy: one code of one format, its bits, its value, and the table of all codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from lowprec.spec.formats import FLOAT64

from ...shared import codes, evidence, format_facts, layout, numbers
from ...shared.browser.picture import picture as show_picture
from ...shared.code_table import code_table
from ...shared.controls import Controls
from ...shared.format_names import format_named
from ...shared.interaction import Bits
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
        "Flip a bit, drag across several, or type a number: what is its value?",
        "ONNX on its formats",
    )
    line = layout.controls()
    page.format_box(line, "Format", "fmt", FORMAT_NAMES, same_number)
    help_ = "A code: 0x2A, 0b0_0101_010. A number: 0.3, 17/23, 0x1.2p-2 (a hex-float has a point or a p), -inf, nan."
    line.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_)
    fmt = format_named(page.state.fmt)
    anatomy = page.compute_or_reset(lambda state: codes.anatomy(state.at, fmt), at="0x0")

    def go(_: str, code: str) -> None:
        """Show another code."""
        page.set(at=numbers.code_text(int(code, 16), fmt))

    name = f"{fmt.name} {anatomy.code:#x}"
    show_picture(*picture.code(anatomy), name="bits", detail=name, on_set=go, bits=picture.bits(anatomy))
    if anatomy.losses:
        layout.show("loss_sentence", losses=anatomy.losses)
    layout.open_in(page.state)
    with layout.more("Exact digits and neighbours", "every digit, hex-float, distances"):
        layout.show("facts", facts=view.facts(anatomy))
    about = "each with its value: decimal, hex-float or exact; CSV"
    with layout.more("Table of codes", about, key="codes") as table:  # of another label it would not stay open
        if table.open:
            show_table(page, anatomy, go)
    with layout.more("The format", "range, precision, special codes"):
        layout.show("format_card", facts=format_facts.card(fmt))
        st.caption(
            "A binade is the values from one power of two up to the next. "
            "1 ≤ v < 2: from 1 up to, but not including, 2. "
            + (format_facts.binade_sentence(fmt) if fmt.is_float else "")
        )
    typed = anatomy.typed
    if typed is None:
        layout.evidence_section(
            lambda: [evidence.of_code(anatomy.value, fmt)], lambda: [evidence.check(FLOAT64, {}, [fmt])]
        )
    else:
        layout.evidence_section(lambda: [evidence.evidence(typed, fmt, {})], lambda: [evidence.check(fmt, {})])
    layout.copy_section(page, "anatomy", *snippets.of_code(anatomy))


def show_table(page: Controls[Anatomy], anatomy: codes.Anatomy, go: Callable[[str, str], None]) -> None:
    """Show the table of codes, and what it is to show."""
    fmt, code = anatomy.format, anatomy.code
    bar = st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute")
    bar.segmented_control("Show values as", ANATOMY_SHOWS, required=True, **page.bind("show"))
    bar.download_button("CSV", view.csv_text(code, fmt), f"{fmt.name}.csv", "text/csv", icon=":material/download:")
    cells = codes.table(code, fmt, page.state.show)
    title = f"{'All codes' if fmt.bits <= 8 else 'Codes nearby'}, {fmt.name}"
    drawings = code_table(title, cells, codes.columns(fmt), code, fmt)
    name = f"{fmt.name} {cells[0][0]}-{cells[-1][0]}"
    show_picture(*drawings, name="codes", detail=name, on_set=go, bits=Bits("at", f"{code:0{fmt.bits}b}"))
