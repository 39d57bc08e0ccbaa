"""The page Compare: limits, range and precision of formats, and one number cast to each of them."""

from __future__ import annotations

import streamlit as st

from lowprec import teaching
from lowprec.reference.exact_cast import Value

from ...shared import chart, evidence, layout
from ...shared.cast_controls import cast_controls, options_of
from ...shared.controls import Controls
from ...shared.format_facts import comparison
from ...shared.format_names import HELP, format_named
from ...shared.menu import links_to_open
from . import snippets, view
from .chart import precisions, ranges
from .state import COMPARED_NAMES, MAX_COMPARED, Compare

__all__ = ["show"]


def show(page: Controls[Compare]) -> None:
    """Show the page."""
    layout.heading(
        "Compare",
        "Choose formats and type a number, to see the limits of each format and the number cast to it.",
        "Cast's rounding and overflow rules",
    )
    state = page.state
    st.multiselect(
        "Formats",
        dict.fromkeys((*COMPARED_NAMES, *state.fmts)),
        max_selections=MAX_COMPARED,
        **page.bind("fmts"),
        accept_new_options=True,
        help=HELP,
    )
    formats = [format_named(name) for name in state.fmts]
    number, options_bar = st.columns([2, 5], vertical_alignment="bottom")
    number.text_input("Number", **page.bind("x"), max_chars=1000, help="0.3, 17/23, 0x1.8p+3, -inf, nan")
    with options_bar:
        cast_controls(page, formats)

    options = options_of(state)
    text = page.compute_or_reset(lambda state: view.checked(state.x), x=Compare().x)
    x = Value.of(text)
    facts = [teaching.format_facts(fmt) for fmt in formats]

    st.header("The number in each format", anchor=False)
    outcomes = [view.outcome(x, fmt, **options) for fmt in formats]
    layout.show(
        "pages/compare/cast_outcomes", outcomes=outcomes, links_of=lambda fmt: links_to_open(state, text, fmt.name)
    )
    st.caption("≈ marks decimals that are rounded here; the codes and their values are exact.")
    castable = [outcome.format for outcome in outcomes if not outcome.problem]
    st.header("Facts", anchor=False)
    layout.show("pages/compare/format_facts", formats=formats, facts=comparison(formats))
    st.caption(
        "≠ marks the facts in which two or three formats differ. A binade is the values from one power of two up to "
        "the "
        "next. 1 ≤ v < 2: from 1 up to, but not including, 2. Different numbers: finite ones, −0 being 0. Decimal "
        "digits: "
        "bits of precision · log₁₀ 2."
    )
    st.header("Range", anchor=False)
    chart.show(ranges(facts, view.log2(x)), "Positive range of each format on a scale of powers of two")
    st.caption("Positive values. The dashed line is the magnitude of the number.")
    st.header("Precision", anchor=False)
    chart.show(precisions(facts), "Significant bits of each format against magnitude")
    proofs = [evidence.evidence(x, fmt, options) for fmt in castable]
    layout.evidence_section(proofs, lambda: [evidence.check(fmt, options) for fmt in castable])
    layout.copy_section(page, "compare", *snippets.of_comparison(text, castable, options))
