"""The page Rounding: one real number, the two values it lies between, and all rounding modes."""

from __future__ import annotations

from typing import Any

import streamlit as st

from lowprec import Format
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import DEFAULT_RANDOM_BITS, ROUND_MODES

from ...shared import chart, evidence, layout, roundings
from ...shared.browser.picture import picture
from ...shared.cast_controls import overflow_box, rounding_box
from ...shared.cast_options import BY_WIDTH, ONNX, cast_options, overflow_of
from ...shared.codes import losses_of
from ...shared.controls import Controls
from ...shared.format_facts import range_end
from ...shared.format_names import format_named, is_described
from ...shared.numbers import digits_of, input_text, short
from ...shared.page import FORMAT_NAMES, OPSETS
from . import picture as pictures
from . import snippets, view
from .chart import number_line, step_sizes
from .ruler import digits, ruler
from .state import LINES, Rounding

__all__ = ["show"]


_HELP = (
    "On: too large numbers become the largest value. Up to 8 bits, by Cast's attribute; for the other eleven rules "
    "off means overflow='ovf_inf', unless an overflow rule is chosen below."
)


def show(page: Controls[Rounding]) -> None:
    """Show the page."""
    layout.heading("Rounding", "A number between two values: which one does it become?", "The rule of Cast")
    fmt = format_named(page.state.fmt)
    page.compute_or_reset(lambda state: _compute(state, "0", fmt), opset=NEWEST)
    page.compute_or_reset(lambda state: Value.of(state.x, parameter="number"), x=Rounding().x)
    state = page.state
    rounding = _compute(state, state.x, fmt)
    explanation = rounding.explanation
    with layout.controls():
        st.text_input(
            "Number", **page.bind("x"), max_chars=1000, width=132, help="0.3, 17/23, 0x1.2p-2, 1e6, -0, inf, nan"
        )
        with st.container(width=210):
            page.format_box(st, "Format", "fmt", FORMAT_NAMES)
        st.toggle("saturate", **page.bind("saturate"), help=_HELP)
        with st.popover("examples", width="content"):
            for preset in view.presets(fmt):
                st.button(
                    preset.label, key=f"preset {preset.label}", help=preset.x, on_click=page.set, kwargs={"x": preset.x}
                )
        layout.show("pages/rounding/rounding_result", explanation=explanation, value=_result(explanation))
    _pictures(page, explanation, fmt)
    if losses := losses_of(explanation):
        layout.show("loss_sentence", losses=losses)
    _tables(page, rounding, fmt)
    cast = cast_options(state.saturate, ROUND_MODES[0], state.opset, state.rounding, _overflow(state))
    layout.evidence_section(lambda: [evidence.evidence(explanation.x, fmt, cast)], lambda: [evidence.check(fmt, cast)])
    layout.copy_section(page, "rounding", *snippets.of_number(input_text(explanation.x), fmt, cast))


def _result(explanation: Explanation) -> str:
    text = short(explanation.value, 26, max(12, digits_of(explanation.format)))
    return "NaN" if explanation.value.special == "nan" else text.replace("inf", "Inf")


def _overflow(state: Rounding) -> str:
    """Return the overflow rule of a rounding beyond ONNX: by the switch, unless one is chosen."""
    return "ovf_inf" if state.overflow == BY_WIDTH and not state.saturate else state.overflow


def _compute(state: Rounding, x: str, fmt: Format) -> roundings.Rounding:
    """Return the view of a state with a number; ValueError where the opset lacks the format."""
    options: dict[str, Any] = {"saturate": state.saturate, "opset": state.opset}
    return roundings.rounding(x, fmt, **options, rounding=state.rounding, overflow=_overflow(state))


def _pictures(page: Controls[Rounding], explanation: Explanation, fmt: Format) -> None:
    """Show the interval with the twelve rules, and how a circuit decides."""
    state = page.state
    found = ruler(explanation, overflow_of(fmt, _overflow(state)) if fmt.is_float else "sat_finite")
    if found is None:
        return
    of_cast = "toward_zero" if not fmt.is_float else "nearest_even" if fmt.has_zero else "away_from_zero"
    chosen = of_cast if state.rounding == ONNX or not fmt.is_float else state.rounding
    has_switch = fmt.is_float and fmt.bits == 8
    drawn = {
        wide: pictures.interval(
            found, explanation, chosen=chosen, rule_name=chosen.replace("_", " "),
            saturate=state.saturate if has_switch else None, wide=wide,
        )
        for wide in (True, False)
    }  # fmt: skip
    detail = f"{fmt.name} {state.x}"
    picture(drawn[True], drawn[False], name="interval", detail=detail, on_set=page.take, drag=pictures.drag(found))
    if (hand := digits(explanation)) is None:
        return
    line = st.container(horizontal=True, vertical_alignment="center")
    line.markdown("**By hand** :gray[how a circuit decides with three bits: nearest, ties to even]")
    line.button("▸ step", on_click=page.set, kwargs={"hand": state.hand % 4 + 1}, help="One step after the other")
    picture(
        pictures.by_hand(hand, explanation, state.hand),
        pictures.by_hand(hand, explanation, state.hand, wide=False),
        name="by hand",
        detail=detail,
    )


def _tables(page: Controls[Rounding], rounding: roundings.Rounding, fmt: Format) -> None:
    """Show, closed, all values and codes, and the number line."""
    state, explanation = page.state, rounding.explanation
    with layout.more("All values and codes as a table", "error, other overflow rules, opset, chances"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if fmt.is_float:
                rounding_box(page)
            if not is_described(state.fmt):
                st.selectbox("Opset", OPSETS, width=90, **page.bind("opset"))
            overflow_box(page, [fmt])
        layout.show("pages/rounding/range_end", end=range_end(fmt))
        layout.open_in(state)
        layout.show("pages/rounding/rounding_modes", fmt=fmt, modes=rounding.modes)
        if rounding.chances:
            layout.show("rounding_chances", fmt=fmt, chances=rounding.chances)
            st.caption(
                f"Stochastic roundings with {DEFAULT_RANDOM_BITS} random bits: the exact probability of the upper "
                "neighbour, and what both neighbours become by the overflow rule."
            )
    if fmt.is_float:
        with layout.more(
            "On the number line", "the values around x, the distance of neighbours", key="line"
        ) as section:
            if section.open:
                _number_line(page, explanation, fmt)


def _number_line(page: Controls[Rounding], explanation: Explanation, fmt: Format) -> None:
    """Show the values around the number, and the distances of neighbours, as charts."""
    state = page.state
    st.segmented_control("Draw", LINES, required=True, **page.bind("line"))
    line = view.line(fmt, input_text(explanation.x), explanation.code, state.line)
    if not line.is_complete:
        st.caption("The values around x: the format has too many to show them all.")
    description = "The values of the format and x among them"
    chart.show(number_line(line, state.line), description, f"number-line-{fmt.name}")
    description = "The distance between neighbours by magnitude"
    chart.show(step_sizes(view.spacing(fmt)), description, f"distances-{fmt.name}")
