"""The page Compare: what formats can hold, side by side, and one number through all of them."""

import streamlit as st

from lowprec import as_format
from lowprec.explorer import charts, recipes, render, tables
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import Compare
from lowprec.explorer.views import compare as view
from lowprec.explorer.views.conversion import cast_options
from lowprec.reference.exact_cast import Value
from lowprec.spec.opsets import NEWEST
from lowprec.spec.rounding import ROUND_MODES

page = Controls(Compare)
render.heading(
    "Compare", "Pick formats and type a number: what each can hold, and what it makes of the number.",
    "Cast's rounding and overflow rules", "Cast",
)  # fmt: skip
state = page.state
names = [fmt.name for fmt in view.COMPARABLE]
st.multiselect("Formats", names, max_selections=12, **page.bind("fmts"))
number, saturate, mode, opset = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
number.text_input("Number", **page.bind("x"), max_chars=1000, help="0.3, 17/23, 0x1.8p+3, -inf, nan")
saturate.toggle("saturate", **page.bind("saturate"), help="What float8 makes of too large numbers: the largest value?")
mode.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), help="Concerns powers of two alone (e8m0).")
opset.selectbox("opset", range(NEWEST, 18, -1), **page.bind("opset"))

formats = [as_format(name) for name in state.fmts]
options = cast_options(state.saturate, state.round_mode, state.opset)
text = page.settled(lambda state: view.checked(state.x), x=Compare().x)
x = Value.of(text)
known = [view.facts(fmt) for fmt in formats]

st.header("The number in each format", anchor=False)
rows = [view.outcome(x, fmt, **options) for fmt in formats]
tables.outcomes(rows)
st.caption("≈ marks decimals that are rounded here; the code and the value behind it are exact.")
castable = [row.format for row in rows if not row.problem]
st.header("Facts", anchor=False)
tables.facts(known)
st.caption(
    "numbers: distinct finite values, −0 being 0. eps: from 1 to the next value. digits: bits of precision · log₁₀ 2."
)
st.header("Range", anchor=False)
charts.show(charts.ranges(known, view.log2(x)), "Positive range of each format on a scale of powers of two")
st.caption("Positive values; the dashed line is the number's magnitude.")
st.header("Precision", anchor=False)
charts.show(charts.precisions(known), "Significant bits of each format against magnitude")
render.take_along(page, "compare", *recipes.of_comparison(text, castable, options))
