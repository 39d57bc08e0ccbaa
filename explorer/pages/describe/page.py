"""The page Describe a format: a float by its parts, its facts, and the values of its codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import streamlit as st

from lowprec import Format
from lowprec.reference.exact_cast import decode

from ...shared import codes as codes_view
from ...shared import evidence, format_facts, layout, numbers, theme
from ...shared.browser.picture import picture
from ...shared.code_table import code_table
from ...shared.codes import portable_text
from ...shared.controls import Controls
from ...shared.format_names import format_named
from ...shared.interaction import Bits
from ...shared.link import checked, read
from . import picture as drawings
from . import snippets, view
from .state import DESCRIBABLE_NAMES, Describe

__all__ = ["p3109_controls", "part_controls", "same_number", "show", "use"]

_SIGNS = {True: "signed", False: "unsigned"}
_DOMAINS = {True: "extended: with Inf", False: "finite"}


def same_number(old: Describe, new: Describe) -> Describe:
    """Keep the number when the format changes."""
    return replace(new, at=portable_text(old.at, format_named(old.fmt)))


def use(page: Controls[Describe], name: str) -> None:
    """Show another format, from a callback; a name that is no format's changes nothing."""
    old, _ = read(Describe, st.query_params)
    try:
        name = checked(Describe, "fmt", name)
    except ValueError as error:
        page.refuse(f"{name} {error}")
        return
    page.set(fmt=name, at=same_number(old, old).at)


def _changed(page: Controls[Describe], key: str, part: str, name_with: Callable[[Format, str, Any], str]) -> None:
    value = st.session_state[key]
    if value is None:  # a control was emptied: the value stays
        return
    old, _ = read(Describe, st.query_params)
    try:
        name = name_with(format_named(old.fmt), part, value)
    except ValueError as error:
        page.refuse(str(error).partition("; got")[0])
        return
    use(page, name)


def _bound(page: Controls[Describe], parts: Any, name_with: Callable[[Format, str, Any], str]) -> dict[str, Any]:
    """Return, by the name of each part of the page's format, the arguments that bind a widget to it."""
    found = {}
    for field in fields(parts):
        key, value = page.key(f"{type(parts).__name__}.{field.name}"), getattr(parts, field.name)
        page.give(key, value)
        found[field.name] = {"key": key, "on_change": _changed, "args": (page, key, field.name, name_with)}
    return found


def part_controls(page: Controls[Describe], fmt: Format) -> None:
    """Show a control for each part of a description; what cannot be is refused with the reason."""
    bound = _bound(page, view.parts_of(fmt), view.with_part)
    st.slider(
        "Exponent bits", 1, 11, **bound["exponent_bits"], help="They decide the range; float64 has 11.", width=130
    )
    precision = "They decide the precision: how many values lie between two powers of two."
    st.slider("Mantissa bits", 0, 30, **bound["mantissa_bits"], help=precision, width=130)
    offset = "What is subtracted from the exponent field: one more halves every value."
    label = f"Bias (default {view.default_bias(fmt)})"
    st.number_input(label, -2000, 2000, step=1, **bound["bias"], help=offset, width=150)
    rules = " ".join(f"{name}: {codes}." for name, codes in view.NAN_HELP.items())
    inf = "The highest code that is not NaN is Inf; with the sign bit it is −Inf."
    zero = "Code 0 is zero. Off, it is a power of two, as in float8_e8m0fnu: only without sign and mantissa."
    with st.popover("NaN, Inf, sign"):
        st.segmented_control(
            "NaN codes", list(view.NAN_HELP), required=True, **bound["nan"], help=f"Which codes are NaN. {rules}"
        )
        st.toggle("Sign", **bound["signed"], help="The highest bit is the sign. Off, no value is below zero.")
        st.toggle("Inf", **bound["inf"], help=inf)
        st.toggle("Zero", **bound["zero"], help=zero)


def _p3109_with(fmt: Format, part: str, value: Any) -> str:
    return view.p3109_name(replace(view.p3109_like(fmt), **{part: value}))


def p3109_controls(page: Controls[Describe], fmt: Format) -> None:
    """Show the four parts of a name of IEEE P3109: those with the field widths of the format."""
    parts = view.p3109_like(fmt)
    bound, name = _bound(page, parts, _p3109_with), view.p3109_name(parts)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox("K", view.P3109_WIDTHS, **bound["width"], width=90, help="Bits of a code.")
        digits = "Precision: the bits of the mantissa and the leading one."
        st.selectbox("P", view.P3109_PRECISIONS, **bound["precision"], width=90, help=digits)
        for label, part, names in (("Signedness", "signed", _SIGNS), ("Domain", "extended", _DOMAINS)):
            st.segmented_control(label, list(names), required=True, **bound[part], format_func=names.__getitem__)
        st.button(f"Show {name}", on_click=use, args=(page, name), disabled=fmt.name == name)


def show(page: Controls[Describe]) -> None:
    """Show the page."""
    layout.heading(
        "Describe a format",
        "A float of your own: its range and its values, next to formats of ONNX.",
        "ONNX on its formats",
    )
    fmt = format_named(page.state.fmt)
    with layout.controls():
        with st.container(width=210):
            page.format_box(st, "Format", "fmt", DESCRIBABLE_NAMES, same_number)
        help_ = "It is marked among the values. A code: 0x2A. A number: 0.3, 17/23, 0x1.2p-2, -inf, nan."
        st.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_, width=130)
        part_controls(page, fmt)
        with st.popover("Known formats"):
            with st.container(horizontal=True, gap="xsmall"):
                for known in view.WELL_KNOWN:
                    key = f"known {known.name}"
                    st.button(known.label, key=key, help=known.about, on_click=use, args=(page, known.name))
            st.caption("IEEE P3109 names a format by its bits K, its precision P, its sign and its domain.")
            p3109_controls(page, fmt)
    anatomy = page.compute_or_reset(lambda state: codes_view.anatomy(state.at, fmt), at="0x0")

    def take(_: str, name: str) -> None:
        """Show the format of a row."""
        use(page, name)

    shown = anatomy.typed or anatomy.value
    others = view.rows_beside(fmt)
    picture(
        drawings.wide(fmt, others, shown), drawings.narrow(fmt, others, shown),
        name="describe", detail=fmt.name, on_set=take,
    )  # fmt: skip

    with layout.more("Table of values", "a click marks one", key="codes") as table:
        if table.open:
            _table(page, fmt, anatomy.code)
    with layout.more("The format", "its facts, formats with the same codes, other pages"):
        layout.show("pages/describe/described_format", fmt=fmt)
        layout.show("facts", facts=view.facts(fmt))
        layout.open_in(page.state)
        layout.show("format_card", facts=format_facts.card(fmt))
    layout.evidence_section(
        lambda: [evidence.evidence("1", fmt, {}), evidence.of_code(decode(numbers.place("1", fmt).code, fmt), fmt)],
        lambda: evidence.check_both_ways(fmt),
    )
    number = numbers.input_text(shown)
    layout.copy_section(page, "describe", *snippets.of_description(fmt, number, view.same_codes(fmt)))


def _table(page: Controls[Describe], fmt: Format, code: int) -> None:
    """Show the values of a format by code, or the first ones of its binades."""

    def go(_: str, text: str) -> None:
        """Mark another code."""
        page.set(at=numbers.code_text(int(text, 16), fmt))

    if view.shows_binades(fmt):
        title = f"Binades, {fmt.name}: the first value of each and its step"
        cells, columns = codes_view.binades(fmt), 8
        selected = max(first for *_, first in cells if first <= code)
    else:
        title = f"{'All values' if fmt.bits <= 8 else 'Values nearby'}, {fmt.name}"
        cells, columns, selected = codes_view.table(code, fmt, "decimal"), codes_view.columns(fmt), code
    layout.show("legend", names=[kind for kind in theme.CLASSES if any(cell[2] == kind for cell in cells)])
    with st.container(height=480 if len(cells) > 256 else "content", border=False):
        picture(
            *code_table(title, cells, columns, selected, fmt, "Codes"),
            name="codes", detail=fmt.name, on_set=go, bits=Bits("at", f"{code:0{fmt.bits}b}"),
        )  # fmt: skip
