"""The page Errors: the rounding error of some formats against the number, and where it is largest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import streamlit as st

from lowprec import Format
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import BFLOAT16
from lowprec.spec.rounding_modes import ROUND_MODES
from lowprec.teaching.error_curve import MEASURES

from ...shared import evidence, layout
from ...shared.browser.picture import picture
from ...shared.cast_controls import overflow_box
from ...shared.cast_options import ONNX
from ...shared.controls import Controls
from ...shared.format_names import HELP, format_named
from ...shared.page import FORMAT_NAMES
from . import picture as drawings
from . import snippets, view
from .state import Errors

__all__ = ["show"]


@st.cache_data(max_entries=64, show_spinner=False)
def curves_of(state: Errors) -> list[view.Curve]:
    """Return the curves of a state."""
    ends = view.range_of(state.low, state.high, state.scale)
    pairs = [(format_named(name), rounding) for name, rounding in product(state.fmts, state.roundings)]
    distinct = dict.fromkeys((fmt, rounding if fmt.is_float else ONNX) for fmt, rounding in pairs)
    options: dict[str, Any] = {"saturate": state.saturate, "round_mode": state.round_mode, "overflow": state.overflow}
    x, count = Value.of(state.x), len(distinct)
    return [view.curve(*pair, ends, state.measure, x, count, **options) for pair in distinct]


def show(page: Controls[Errors]) -> None:
    """Show the page."""
    layout.heading("Errors", "How far the result of a cast is from the number, for all numbers of a range.", "Cast")
    default = Errors()
    page.compute_or_reset(lambda state: view.checked_roundings(state.roundings), roundings=default.roundings)
    page.compute_or_reset(lambda state: view.check_scale(state.low, state.high, state.scale), scale=default.scale)
    state = page.state
    formats = [format_named(name) for name in state.fmts]
    with layout.controls():
        st.multiselect(
            "Formats",
            dict.fromkeys((*FORMAT_NAMES, *state.fmts)),
            max_selections=view.MOST_FORMATS,
            **page.bind("fmts"),
            accept_new_options=True,
            help=HELP,
            width=330,
        )
        st.multiselect(
            "Roundings", view.ROUNDINGS, max_selections=view.MOST_ROUNDINGS, **page.bind("roundings"), width=210
        )
        _range_box(page, view.presets(formats))
        st.segmented_control("Error", MEASURES, required=True, **page.bind("measure"))
    above = st.container()
    with layout.more("Range, number and rules", "from, to, the scale of x, the number that is marked"):
        _more_controls(page, formats)
    page.compute_or_reset(lambda state: Value.of(state.x, parameter="number"), x=default.x)
    page.compute_or_reset(
        lambda state: view.range_of(state.low, state.high, state.scale),
        low="0.5" if state.scale == "log" else default.low,
        high=default.high,
    )
    state = page.state
    curves = curves_of(state)
    x = Value.of(state.x)
    ends = view.range_of(state.low, state.high, state.scale)
    with above:
        _picture(state, curves, ends, x)
        layout.open_in(state)
    with layout.more("Largest errors", "of each format and rounding, in every measure; the error at the number"):
        layout.show("pages/errors/largest_errors", curves=curves, measure=state.measure, in_measure=view.in_measure)
        st.caption(
            "A > or < stands for just above or just below: there the error comes as near to this as one likes. "
            "≈ marks rounded decimals."
        )
    options: dict[str, Any] = {"saturate": state.saturate, "round_mode": state.round_mode, "overflow": state.overflow}
    drawn: list[tuple[Format, Any]] = [
        (curve.curve.format, view.rounding_arguments(curve.curve.format, curve.rounding, **options)) for curve in curves
    ]

    def proofs() -> list[evidence.Evidence]:
        ranges = [evidence.of_range(str(ends.low), str(ends.high), x, fmt, cast) for fmt, cast in drawn]
        return list(dict.fromkeys(row for rows in ranges for row in rows))

    layout.evidence_section(proofs, lambda: [evidence.check(fmt, cast, [BFLOAT16]) for fmt, cast in drawn])
    layout.copy_section(page, "errors", *snippets.of_errors(drawn, state.low, state.high, state.x, state.measure))


def _range_box(page: Controls[Errors], presets: Sequence[view.Preset]) -> None:
    """Show the list of ranges: a choice sets the fields of a preset; another range is in the list as its own."""
    state = page.state
    fields = {preset.label: preset.fields for preset in presets}
    chosen = view.chosen_preset(presets, {"low": state.low, "high": state.high, "scale": state.scale})
    label = chosen.label if chosen else f"{state.low[:12]} to {state.high[:12]}"
    key = page.key("range")
    page.give(key, label)
    st.selectbox(
        "Range",
        dict.fromkeys((*fields, label)),
        key=key,
        on_change=lambda: page.set(**fields.get(st.session_state[key], {})),
        width=260,
        help="A range on a log scale comes with the relative error.",
    )


def _more_controls(page: Controls[Errors], formats: Sequence[Format]) -> None:
    """Show the ends of the range, the number, and the options of the roundings."""
    roundings = page.state.roundings
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("From", **page.bind("low"), max_chars=1000, width=150)
        st.text_input("To", **page.bind("high"), max_chars=1000, width=150)
        st.segmented_control("Scale of x", ("linear", "log"), required=True, **page.bind("scale"))
        st.text_input("Number", **page.bind("x"), max_chars=1000, width=150, help="Marked on the curves.")
        if set(roundings) != {ONNX}:
            overflow_box(page, formats)
        if ONNX in roundings:
            st.toggle(
                "saturate", **page.bind("saturate"), help="Up to 8 bits: too large numbers become the largest value."
            )
            if not all(fmt.has_zero or not fmt.is_float for fmt in formats):
                st.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), width=120)


def _picture(state: Errors, curves: Sequence[view.Curve], ends: view.Range, x: Value) -> None:
    """Show the picture, and what its bands and edges mean."""
    is_inside = not x.special and ends.low <= x.number <= ends.high
    drawn = (curves, ends, state.measure, state.scale, x.number if is_inside else None)
    picture(
        drawings.wide(*drawn),
        drawings.narrow(*drawn),
        name="errors",
        detail=f"{state.measure} {state.low}-{state.high}",
    )
    notes = [text for text in (view.without_result_text(curve) for curve in curves) if text]
    if drawings.is_cut(curves, state.measure):
        notes.append("Errors beyond 110 % of the number are cut off.")
    if any(not curve.curve.is_complete for curve in curves):
        notes.append(
            "A band without a line inside: the range has too many values to draw each. The errors fill the band."
        )
    if any(curve.curve.is_stochastic for curve in curves):
        notes.append("Stochastic: the band has the possible errors, the line inside is the expected error.")
    if not is_inside:
        notes.append(f"x = {x} is not in the range.")
    if notes:
        st.caption("  \n".join(notes))
