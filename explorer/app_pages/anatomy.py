"""The page Anatomy: one code of one format, its bits, its value, and the table of all codes."""

from dataclasses import replace

import streamlit as st

from lowprec.explorer import charts, code_snippets, components, page_layout, pictures, theme
from lowprec.explorer.controls import Controls
from lowprec.explorer.format_names import format_named
from lowprec.explorer.page_states import ANATOMY_SHOWS, FORMAT_NAMES, Anatomy
from lowprec.explorer.views import anatomy as view
from lowprec.explorer.views import evidence, format_card, numbers
from lowprec.spec.formats import FLOAT64


def same_number(old: Anatomy, new: Anatomy) -> Anatomy:
    """Keep the number when the format changes."""
    return replace(new, at=view.portable_text(old.at, format_named(old.fmt)))


page = Controls(Anatomy)
page_layout.heading(
    "Anatomy",
    "Click a bit, drag across several, or type a number, to see the value of a code.",
    "ONNX on its formats",
)
left, right = st.columns([2, 3])
page.format_box(left, "Format", "fmt", FORMAT_NAMES, same_number)
help_ = "A code: 0x2A, 0b0_0101_010. A number: 0.3, 17/23, 0x1.2p-2 (a hex-float has a point or a p), -inf, nan."
right.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_)
fmt = format_named(page.state.fmt)
anatomy = page.compute_or_reset(lambda state: view.anatomy(state.at, fmt), at="0x0")


def go(code: int) -> None:
    """Show another code."""
    page.set(at=numbers.code_text(code, fmt))


if fmt.bits > 8:  # too wide for half a page
    components.bit_switches(fmt, anatomy.code, anatomy.fields, key="bits", on_change=go)
left, right = st.columns([6, 5], gap="large")
with left:
    if fmt.bits <= 8:
        components.bit_switches(fmt, anatomy.code, anatomy.fields, key="bits", on_change=go)
    page_layout.show("code_value", anatomy=anatomy)
    if anatomy.losses:
        page_layout.show("loss_sentence", losses=anatomy.losses)
    page_layout.open_in(page.state)
    steps = st.columns(2)
    for column, near, name in zip(steps, (anatomy.below, anatomy.above), ("previous", "next"), strict=True):
        text = f"{name}: {numbers.apart(near.value, fmt)}" if near else f"{name}: none"
        column.button(
            text, key=name, disabled=near is None, on_click=go, args=(near.code if near else 0,), width="stretch"
        )
    page_layout.save_picture(pictures.bit_row(anatomy, charts.is_dark()), "bits", f"{fmt.name} {anatomy.code:#x}")
with right:
    page_layout.show("facts", facts=view.facts(anatomy))

st.header("The format", anchor=False)
page_layout.show("format_card", facts=format_card.card(fmt))
st.caption(
    "A binade is the values from one power of two up to the next. 1 ≤ v < 2: from 1 up to, but not including, 2. "
    + (format_card.binade_sentence(fmt) if fmt.is_float else "")
)
if view.has_binades(fmt):
    st.header("Binades", anchor=False)
    st.caption("The first value of each binade and the step between its values. Click one to show it.")
    rows = view.binades(fmt)
    selected = max(first for *_, first in rows if first <= anatomy.code)
    components.code_grid(fmt, components.Grid("Binades", rows, 8, selected), key="binades", on_change=go)

title = "All codes" if fmt.bits <= 8 else "Codes nearby"
st.header(title, anchor=False)
bar = st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute")
bar.segmented_control("Show values as", ANATOMY_SHOWS, required=True, **page.bind("show"))
bar.download_button("CSV", view.csv_text(anatomy.code, fmt), f"{fmt.name}.csv", "text/csv", icon=":material/download:")
cells = view.table(anatomy.code, fmt, page.state.show)
page_layout.show("legend", names=[kind for kind in theme.CLASSES if any(cell[2] == kind for cell in cells)])
with st.container(height=480 if len(cells) > 256 else "content", border=False):
    grid = components.Grid("Codes", cells, view.columns(fmt), anatomy.code)
    components.code_grid(fmt, grid, key="codes", on_change=go)
table = pictures.code_table(f"{title}, {fmt.name}", cells, view.columns(fmt), charts.is_dark())
page_layout.save_picture(table, "codes", f"{fmt.name} {cells[0][0]}-{cells[-1][0]}")
if anatomy.typed is None:
    page_layout.evidence_section([evidence.of_code(anatomy.value, fmt)], lambda: [evidence.check(FLOAT64, {}, [fmt])])
else:
    page_layout.evidence_section([evidence.evidence(anatomy.typed, fmt, {})], lambda: [evidence.check(fmt, {})])
page_layout.copy_section(page, "anatomy", *code_snippets.of_code(anatomy))
