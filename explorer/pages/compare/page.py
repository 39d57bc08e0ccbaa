"""The page Compare: one number in several formats, their ranges and digits, and which values they share."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from lowprec import Format
from lowprec.reference.exact_cast import Value

from ...shared import evidence, layout
from ...shared.browser.picture import picture
from ...shared.cast_controls import cast_controls, options_of
from ...shared.controls import Controls
from ...shared.digits import digits_of_number
from ...shared.format_facts import comparison
from ...shared.format_names import HELP, format_named
from ...shared.menu import links_to_open
from . import picture as drawings
from . import snippets, view
from .state import COMPARED_NAMES, MAX_COMPARED, Compare

__all__ = ["show"]


def show(page: Controls[Compare]) -> None:
    """Show the page."""
    layout.heading(
        "Compare",
        "One number in several formats: how far each reaches, how many digits it keeps.",
        "Cast's rounding and overflow rules",
    )
    state = page.state
    formats = [format_named(name) for name in state.fmts]
    with layout.controls():
        st.text_input(
            "Number", **page.bind("x"), max_chars=1000, help="0.3, 17/23, 0x1.8p+3, -inf, nan", width=120,
            label_visibility="collapsed",
        )  # fmt: skip
        st.multiselect(
            "Formats",
            dict.fromkeys((*COMPARED_NAMES, *state.fmts)),
            max_selections=MAX_COMPARED,
            **page.bind("fmts"),
            accept_new_options=True,
            help=HELP,
            label_visibility="collapsed",
        )
        with st.popover("Rounding, opset"):
            cast_controls(page, formats)

    options = options_of(state)
    text = page.compute_or_reset(lambda state: view.checked(state.x), x=Compare().x)
    x = Value.of(text)
    outcomes = [view.outcome(x, fmt, **options) for fmt in formats]
    digits = digits_of_number(x)
    rows = [view.row_of(x, digits, outcome) for outcome in outcomes]
    picture(
        drawings.wide(text, x, digits, rows), drawings.narrow(text, x, digits, rows),
        name="compare", detail=text, on_set=page.take,
    )  # fmt: skip
    table, pair = view.matrix(formats), view.pair_of(*map(format_named, state.chosen()))
    picture(
        drawings.held_wide(table, pair), drawings.held_narrow(table, pair),
        name="values held", detail=" ".join(state.chosen()), on_set=page.take,
    )  # fmt: skip

    about = "precision, NaN codes, Inf, −0, decades, decibels, ONNX type"
    with layout.more("All facts of the formats", about, key="facts") as facts:
        if facts.open:
            _facts(formats)
    about = "code, error in percent and in ulp, why, other pages"
    with layout.more("The number in each format", about, key="casts") as casts:
        if casts.open:
            _casts(state, text, outcomes)
    castable = [outcome.format for outcome in outcomes if not outcome.problem]
    layout.evidence_section(
        lambda: [evidence.evidence(x, fmt, options) for fmt in castable],
        lambda: [evidence.check(fmt, options) for fmt in castable],
    )
    layout.copy_section(page, "compare", *snippets.of_comparison(text, castable, options))


def _facts(formats: Sequence[Format]) -> None:
    """Show a row for each fact, a column for each format."""
    layout.show("pages/compare/format_facts", formats=formats, facts=comparison(formats))
    st.caption(
        "≠ marks the facts in which two or three formats differ. A binade is the values from one power of two up "
        "to the next. 1 ≤ v < 2: from 1 up to, but not including, 2. Different numbers: finite ones, −0 being 0. "
        "Decimal digits: bits of precision · log₁₀ 2. Dynamic range: 20 · log₁₀ of the largest over the smallest "
        "positive value."
    )


def _casts(state: Compare, text: str, outcomes: Sequence[view.Outcome]) -> None:
    """Show the number in each format: code, value, error, why, and links to other pages."""
    layout.show(
        "pages/compare/cast_outcomes", outcomes=outcomes, links_of=lambda fmt: links_to_open(state, text, fmt.name)
    )
    st.caption("≈ marks decimals that are rounded here; the codes and their values are exact.")
