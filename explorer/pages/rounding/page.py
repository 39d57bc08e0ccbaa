"""The page Rounding: one real number, the two values it lies between, and all rounding modes."""

from __future__ import annotations

from typing import Any

import streamlit as st

from lowprec.reference.exact_cast import Value
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import DEFAULT_RANDOM_BITS, ROUND_MODES

from ...shared import chart, evidence, layout, roundings
from ...shared.cast_controls import overflow_box, rounding_box
from ...shared.cast_options import cast_options
from ...shared.codes import losses_of
from ...shared.controls import Controls
from ...shared.format_facts import range_end
from ...shared.format_names import format_named, is_described
from ...shared.page import FORMAT_NAMES, OPSETS
from . import picture as pictures
from . import snippets, view
from .chart import number_line, step_sizes
from .state import LINES, Rounding

__all__ = ["show"]


def show(page: Controls[Rounding]) -> None:
    """Show the page."""
    layout.heading(
        "Rounding",
        "Type any real number, or choose an example, to see the two values it lies between and which of them it "
        "becomes.",
        "The rule of Cast",
    )
    fmt = format_named(page.state.fmt)

    def compute(state: Rounding, x: str) -> roundings.Rounding:
        """Return the view of a state with a number; ValueError where the opset lacks the format."""
        options: dict[str, Any] = {"saturate": state.saturate, "opset": state.opset}
        return roundings.rounding(x, fmt, **options, rounding=state.rounding, overflow=state.overflow)

    page.compute_or_reset(lambda state: compute(state, "0"), opset=NEWEST)
    state = page.state
    number, name, options = st.columns([3, 3, 5], vertical_alignment="bottom")
    number.text_input("Number", **page.bind("x"), max_chars=1000, help="0.3, 17/23, 0x1.2p-2, 1e6, -0, inf, nan")
    page.format_box(name, "Format", "fmt", FORMAT_NAMES)
    with options.container(horizontal=True, vertical_alignment="bottom"):
        if fmt.is_float:
            rounding_box(page)
        if not is_described(state.fmt):
            st.selectbox("Opset", OPSETS, width=90, **page.bind("opset"))
        st.toggle("saturate", **page.bind("saturate"))
    with st.container(horizontal=True, gap="xsmall"):
        for preset in view.presets(fmt):
            st.button(
                preset.label, key=f"preset {preset.label}", help=preset.x, on_click=page.set, kwargs={"x": preset.x}
            )

    page.compute_or_reset(lambda state: Value.of(state.x, parameter="number"), x=Rounding().x)
    state = page.state
    rounding = compute(state, state.x)
    explanation = rounding.explanation
    layout.show("pages/rounding/rounding_result", explanation=explanation)
    if losses := losses_of(explanation):
        layout.show("loss_sentence", losses=losses)
    layout.show("pages/rounding/range_end", end=range_end(fmt))
    layout.open_in(state)
    if rounding.interval is not None:
        layout.show("rounding_interval", explanation=explanation, interval=rounding.interval)
        picture = pictures.interval(explanation, rounding.interval, chart.is_dark())
        layout.save_picture(picture, "interval", f"{fmt.name} {state.x}")

    st.header("All roundings", anchor=False)
    overflow_box(page, [fmt])
    layout.show("pages/rounding/rounding_modes", fmt=fmt, modes=rounding.modes)
    if rounding.chances:
        layout.show("rounding_chances", fmt=fmt, chances=rounding.chances)
        st.caption(
            f"Stochastic roundings with {DEFAULT_RANDOM_BITS} random bits: the exact probability of the upper "
            f"neighbour, "
            "and what both neighbours become by the overflow rule."
        )

    if fmt.is_float:
        st.header("On the number line", anchor=False)
        st.segmented_control("Draw", LINES, required=True, **page.bind("line"))
        line = view.line(fmt, str(explanation.x), explanation.code, state.line)
        if not line.is_complete:
            st.caption("The values around x: the format has too many to show them all.")
        description = "The values of the format and x among them"
        chart.show(number_line(line, state.line), description, f"number-line-{fmt.name}")
        st.header("Distance between neighbours", anchor=False)
        description = "The distance between neighbours by magnitude"
        chart.show(step_sizes(view.spacing(fmt)), description, f"distances-{fmt.name}")
    cast = cast_options(state.saturate, ROUND_MODES[0], state.opset, state.rounding, state.overflow)
    proof = evidence.evidence(explanation.x, fmt, cast)
    layout.evidence_section([proof], lambda: [evidence.check(fmt, cast)])
    layout.copy_section(page, "rounding", *snippets.of_number(str(explanation.x), fmt, cast))
