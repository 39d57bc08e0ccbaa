"""The page Compare: limits, range and precision of formats, and one number cast to each of them."""

import streamlit as st

from lowprec import as_format
from lowprec.explorer import charts, code_snippets, page_layout
from lowprec.explorer.charts.format_ranges import precisions, ranges
from lowprec.explorer.controls import Controls
from lowprec.explorer.page_states import MAX_COMPARED, Compare
from lowprec.explorer.views import compare as view
from lowprec.explorer.views.conversion import cast_options
from lowprec.reference.exact_cast import Value
from lowprec.spec.opset_rules import NEWEST
from lowprec.spec.round_modes import ROUND_MODES

page = Controls(Compare)
page_layout.heading(
    "Compare",
    "Choose formats and type a number, to see the limits of each format and the number cast to it.",
    "Cast's rounding and overflow rules",
)
state = page.state
names = [fmt.name for fmt in view.COMPARABLE]
st.multiselect("Formats", names, max_selections=MAX_COMPARED, **page.bind("fmts"))
number, saturate, mode, opset = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
number.text_input("Number", **page.bind("x"), max_chars=1000, help="0.3, 17/23, 0x1.8p+3, -inf, nan")
saturate.toggle("saturate", **page.bind("saturate"), help="float8: too large numbers become the largest value.")
mode.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), help="Concerns float8_e8m0fnu alone.")
opset.selectbox("opset", range(NEWEST, 18, -1), **page.bind("opset"))

formats = [as_format(name) for name in state.fmts]
options = cast_options(state.saturate, state.round_mode, state.opset)
text = page.compute_or_reset(lambda state: view.checked(state.x), x=Compare().x)
x = Value.of(text)
facts = [view.facts(fmt) for fmt in formats]

st.header("The number in each format", anchor=False)
outcomes = [view.outcome(x, fmt, **options) for fmt in formats]
page_layout.show("cast_outcomes", outcomes=outcomes)
st.caption("≈ marks decimals that are rounded here; the codes and their values are exact.")
castable = [outcome.format for outcome in outcomes if not outcome.problem]
st.header("Facts", anchor=False)
page_layout.show("format_facts", formats=facts)
st.caption(
    "numbers: distinct finite values, −0 being 0. eps: from 1 to the next value. digits: bits of precision · log₁₀ 2."
)
st.header("Range", anchor=False)
charts.show(ranges(facts, view.log2(x)), "Positive range of each format on a scale of powers of two")
st.caption("Positive values. The dashed line is the magnitude of the number.")
st.header("Precision", anchor=False)
charts.show(precisions(facts), "Significant bits of each format against magnitude")
page_layout.copy_section(page, "compare", *code_snippets.of_comparison(text, castable, options))
