"""The page Anatomy: one code of one format, bit by bit, and the table of all its codes."""

from dataclasses import replace

import streamlit as st

from lowprec import as_format
from lowprec.explorer import components, render, snippets
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import ANATOMY_SHOWS, FORMAT_NAMES, Anatomy
from lowprec.explorer.views import anatomy as view
from lowprec.explorer.views import numbers


def keep_number(old: Anatomy, new: Anatomy) -> Anatomy:
    """Carry the number over when the format changes, as Cast does."""
    return replace(new, at=view.carried(old.at, old.fmt))


page = Controls(Anatomy)
render.heading(
    "Anatomy", "Click a bit, drag across several, or type a number: what a code of the format stands for.",
    "ONNX on its formats", "Cast",
)  # fmt: skip
left, right = st.columns([2, 3])
left.selectbox("Format", FORMAT_NAMES, **page.bind("fmt", keep_number))
right.text_input(
    "Code or number", **page.bind("at"), max_chars=1000,
    help="A code: 0x2A, 0b0_0101_010. A number: 0.3, 17/23, 0x1.2p-2 (a hex-float has a point or a p), -inf, nan.",
)  # fmt: skip
fmt = as_format(page.state.fmt)
found = page.settled(lambda state: view.anatomy(state.at, fmt), at="0x0")


def go(code: int) -> None:
    """Show another code."""
    page.set(at=numbers.code_text(code, fmt))


if fmt.bits > 8:  # too wide for half a page
    components.switches(fmt, found.code, found.fields, key="bits", on_change=go)
picture, said = st.columns([6, 5], gap="large")
with picture:
    if fmt.bits <= 8:
        components.switches(fmt, found.code, found.fields, key="bits", on_change=go)
    render.value_line(found)
    steps = st.columns(2)
    for column, near, name in zip(steps, (found.below, found.above), ("previous", "next"), strict=True):
        text = f"{name}: {numbers.apart(near.value, fmt)}" if near else f"{name}: none"
        column.button(
            text, key=name, disabled=near is None, on_click=go, args=(near.code if near else 0,), width="stretch"
        )
with said:
    render.facts(view.facts(found))

if fmt.is_float and fmt.bits == 16:
    st.header("Binades", anchor=False)
    st.caption("Where each begins, and the step inside it; click to go there.")
    rows = view.binades(fmt)
    here = max(first for *_, first in rows if first <= found.code)
    components.code_grid(fmt, rows, 8, here, label="Binades", key="binades", on_change=go)

st.header("All codes" if fmt.bits <= 8 else "Codes nearby", anchor=False)
bar = st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute")
bar.segmented_control("Show values as", ANATOMY_SHOWS, required=True, **page.bind("show"))
bar.download_button("CSV", view.csv_text(found.code, fmt), f"{fmt.name}.csv", "text/csv", icon=":material/download:")
cells = view.table(found.code, fmt, page.state.show)
render.html(render.legend([kind for kind in render.KINDS if any(cell[2] == kind for cell in cells)]))
with st.container(height=480 if len(cells) > 256 else "content", border=False):
    components.code_grid(fmt, cells, view.columns(fmt), found.code, label="Codes", key="codes", on_change=go)
render.take_along(page, "anatomy", *snippets.of_code(found))
