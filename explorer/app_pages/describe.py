"""The page Describe a format: a float by its parts, its facts, and the values of its codes."""

import streamlit as st

from lowprec.explorer import code_snippets, components, page_layout, theme
from lowprec.explorer.controls import Controls
from lowprec.explorer.description_controls import p3109_controls, part_controls, same_number, use
from lowprec.explorer.format_names import format_named
from lowprec.explorer.page_states import DESCRIBABLE_NAMES, Describe
from lowprec.explorer.views import anatomy as codes_view
from lowprec.explorer.views import described as view
from lowprec.explorer.views import evidence, format_card, numbers
from lowprec.reference.exact_cast import decode

page = Controls(Describe)
page_layout.heading(
    "Describe a format",
    "Move the sliders, or type a description, to make a float format of your own and see its values.",
    "ONNX on its formats",
)
fmt = format_named(page.state.fmt)
left, right = st.columns([3, 2])
page.format_box(left, "Format", "fmt", DESCRIBABLE_NAMES, same_number)
help_ = "It is marked among the values. A code: 0x2A. A number: 0.3, 17/23, 0x1.2p-2, -inf, nan."
right.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_)
part_controls(page, fmt)
anatomy = page.compute_or_reset(lambda state: codes_view.anatomy(state.at, fmt), at="0x0")


def go(code: int) -> None:
    """Mark another code."""
    page.set(at=numbers.code_text(code, fmt))


page_layout.show("described_format", fmt=fmt)
page_layout.show("facts", facts=view.facts(fmt))
page_layout.open_in(page.state)
st.header("The format", anchor=False)
page_layout.show("format_card", facts=format_card.card(fmt))

st.header("Formats with a name", anchor=False)
with st.container(horizontal=True, gap="xsmall"):
    for known in view.WELL_KNOWN:
        st.button(known.label, key=f"known {known.name}", help=known.about, on_click=use, args=(page, known.name))
st.caption("IEEE P3109 names a format by its bits K, its precision P, its sign and its domain.")
p3109_controls(page, fmt)

by_binade = view.shows_binades(fmt)
st.header("All values" if fmt.bits <= 8 else "Binades" if by_binade else "Values nearby", anchor=False)
if by_binade:
    st.caption("The first value of each binade and the step between its values. Click one to mark it.")
    cells, columns = codes_view.binades(fmt), 8
    selected = max(first for *_, first in cells if first <= anatomy.code)
else:
    cells, columns = codes_view.table(anatomy.code, fmt, "decimal"), codes_view.columns(fmt)
    selected = anatomy.code
page_layout.show("legend", names=[kind for kind in theme.CLASSES if any(cell[2] == kind for cell in cells)])
with st.container(height=480 if len(cells) > 256 else "content", border=False):
    components.code_grid(fmt, components.Grid("Codes", cells, columns, selected), key="codes", on_change=go)
number = numbers.exact_text(anatomy.typed or anatomy.value)
one = numbers.place("1", fmt).code
page_layout.evidence_section(
    [evidence.evidence("1", fmt, {}), evidence.of_code(decode(one, fmt), fmt)], lambda: evidence.check_both_ways(fmt)
)
page_layout.copy_section(page, "describe", *code_snippets.of_description(fmt, number, view.same_codes(fmt)))
