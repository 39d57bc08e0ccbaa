"""The page Compare: limits, range and precision of formats, and one number cast to each of them."""

import streamlit as st

from lowprec import teaching
from lowprec.explorer import charts, code_snippets, page_layout
from lowprec.explorer.charts.format_ranges import precisions, ranges
from lowprec.explorer.controls import Controls
from lowprec.explorer.format_names import HELP, format_named
from lowprec.explorer.menu import links_to_open
from lowprec.explorer.page_states import COMPARED_NAMES, MAX_COMPARED, Compare
from lowprec.explorer.rounding_controls import cast_controls, options_of
from lowprec.explorer.views import compare as view
from lowprec.explorer.views import evidence
from lowprec.explorer.views.format_card import comparison
from lowprec.reference.exact_cast import Value

page = Controls(Compare)
page_layout.heading(
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
page_layout.show("cast_outcomes", outcomes=outcomes, links_of=lambda fmt: links_to_open(state, text, fmt.name))
st.caption("≈ marks decimals that are rounded here; the codes and their values are exact.")
castable = [outcome.format for outcome in outcomes if not outcome.problem]
st.header("Facts", anchor=False)
page_layout.show("format_facts", formats=formats, facts=comparison(formats))
st.caption(
    "≠ marks the facts in which two or three formats differ. A binade is the values from one power of two up to the "
    "next. 1 ≤ v < 2: from 1 up to, but not including, 2. Different numbers: finite ones, −0 being 0. Decimal digits: "
    "bits of precision · log₁₀ 2."
)
st.header("Range", anchor=False)
charts.show(ranges(facts, view.log2(x)), "Positive range of each format on a scale of powers of two")
st.caption("Positive values. The dashed line is the magnitude of the number.")
st.header("Precision", anchor=False)
charts.show(precisions(facts), "Significant bits of each format against magnitude")
proofs = [evidence.evidence(x, fmt, options) for fmt in castable]
page_layout.evidence_section(proofs, lambda: [evidence.check(fmt, options) for fmt in castable])
page_layout.copy_section(page, "compare", *code_snippets.of_comparison(text, castable, options))
