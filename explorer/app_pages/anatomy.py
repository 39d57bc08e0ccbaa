"""The page Anatomy: one code of one format, bit by bit."""

import streamlit as st

from lowprec import as_format
from lowprec.explorer import components, render
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import FORMAT_NAMES, Anatomy

page = Controls(Anatomy)
render.heading("Anatomy", "Click a bit, or type a number.", "Cast", "Cast")
name = st.selectbox("Format", FORMAT_NAMES, **page.bind("fmt"))
st.text_input("Code or number", **page.bind("at"))
fmt = as_format(page.state.fmt)
code = int(page.state.at, 16) if page.state.at.startswith("0x") else 0
fields = [(field, field, first, last) for field, first, last in render.fields_of(fmt)]
components.switches(fmt, code, fields, key="bits", on_change=lambda new: page.set(at=hex(new)))
render.html(render.strip(fmt, code) + render.legend(["sign", "exponent", "mantissa"]))
cells = [(f"{c:02X}", str(c), "normal", c) for c in range(1 << min(fmt.bits, 8))]
components.code_grid(fmt, cells, 16, code, label="codes", key="codes", on_change=lambda new: page.set(at=hex(new)))
render.take_along(page, "anatomy", "import lowprec", "import onnx")
