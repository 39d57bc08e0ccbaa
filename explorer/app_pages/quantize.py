"""The page Quantize: a small tensor through QuantizeLinear and back, and what that loses."""

import numpy as np
import streamlit as st

from lowprec import as_format
from lowprec.explorer import charts, recipes, render, sources, tables
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import ORIGINS, Quantize
from lowprec.explorer.views import quantize as view
from lowprec.spec.opsets import NEWEST
from lowprec.spec.rounding import ROUND_MODES

page = Controls(Quantize)
render.heading(
    "Quantize", "Choose a tensor, a format and what shares a scale: what QuantizeLinear keeps, and what it loses.",
    "QuantizeLinear's rule", "QuantizeLinear",
)  # fmt: skip
state = page.state
st.segmented_control("Tensor", ORIGINS, required=True, **page.bind("origin"))
tensor = sources.tensor_from(page)
rank = tensor.values.ndim

fmt, scale_format = as_format(state.fmt), as_format(state.scale)
one, two, three, four = st.columns([3, 3, 2, 3])
one.selectbox("Format", [target.name for target in view.TARGETS], **page.bind("fmt"))
two.segmented_control("One scale for each", view.GRANULARITIES, required=True, **page.bind("per"))
axes = [-1, *range(rank)]
three.selectbox("axis", axes if state.axis in axes else [*axes, state.axis], **page.bind("axis"),
                format_func=lambda axis: "-1 (the last)" if axis == -1 else str(axis),
                help="Along which axis slices or blocks lie.")  # fmt: skip
four.slider("Block size", 1, 256, **page.bind("block"), disabled=state.per != "block")
five, six, seven, eight, nine = st.columns([3, 2, 2, 2, 2], vertical_alignment="bottom")
five.selectbox("Format of the scales", [scale.name for scale in view.SCALE_FORMATS], **page.bind("scale"))
if state.zero_point and fmt.is_integer and not scale_format.has_zero:  # else the rule of OCP MX decides
    six.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), help="Rounds the scales to powers of two.")
seven.selectbox("opset", range(NEWEST, 20, -1), **page.bind("opset"))
eight.toggle("zero point", **page.bind("zero_point"), disabled=fmt.is_float, help="Integers only: uses both ends.")
nine.toggle("saturate", **page.bind("saturate"), disabled=not fmt.is_float or fmt.saturates != "asked")


def settings_of(state: Quantize) -> view.Settings:
    """Return how a state quantizes."""
    return view.Settings(
        fmt, state.per, state.axis, state.block, scale_format, state.zero_point, state.round_mode, state.saturate,
        state.opset,
    )  # fmt: skip


if state.per != "tensor":
    page.settled(lambda state: view.axis_of(settings_of(state), rank), axis=-1)
found = page.settled(lambda state: view.quantize(tensor.values, settings_of(state)), opset=NEWEST)
with st.container(horizontal=True):
    for name, text, explained in (
        ("SQNR", tables.db(found.sqnr_db), "10 log₁₀ of the power of x over that of the error."),
        ("largest |error|", tables.number(found.max_abs_error), "Of what is finite."),
        ("saturated", f"{found.saturated:.2%}", "Elements that round beyond the format's range."),
        ("became zero", f"{found.flushed:.2%}", "Elements in range, not zero, that come back as zero."),
        ("bits per value", f"{found.bits_per_value:.4g}", "With the scales and zero points."),
    ):
        st.metric(name, text, help=explained, width="content")
    if found.not_finite:
        st.metric("NaN or Inf", found.not_finite, help="In x or in what comes back; no error counts them.")
note = f"; {tensor.note}" if tensor.note else ""
scales = "Each scale takes the largest |x| to the largest value of the format."
if not scale_format.has_zero:
    scales = (
        "Each scale is a power of two, as `lowprec convert` chooses it by the rule of OCP MX: "
        "the exponent of the largest |x| less that of the largest value of the format."
    )
if found.zero_point is not None:
    scales = "Each scale and zero point take the smallest and the largest x to the ends of the format."
st.caption(f"x: {tensor.format.name} of shape {tensor.values.shape}{note}. {scales}")

left, right = st.columns(2, gap="large")
with left:
    st.header("How the codes are used", anchor=False)
    charts.show(charts.used(found), "How many elements have each code, in the order of the codes' values")
with right:
    st.header("Where the errors are", anchor=False)
    cells, down, across = view.tiles(found)
    charts.show(charts.error_map(cells, down, across), "Size of the error of each element, by row and column")
    if not cells[~np.isnan(cells)].any():
        st.caption("No element has an error.")
    if down * across > 1:
        st.caption(f"Each cell is the largest error of {down} × {across} elements.")
left, right = st.columns(2, gap="large")
with left:
    st.header("Scales", anchor=False)
    tables.of_scales(found, 24)
    st.caption(f"{min(24, found.scale.size)} of {found.scale.size}")
with right:
    st.header("Elements", anchor=False)
    tables.of_elements(found, 24)
    st.caption(f"{min(24, found.x.size)} of {found.x.size}")
render.take_along(page, "quantize", *recipes.of_quantization(page.state, tensor, found.settings))
