"""The page Quantize: a small tensor, and one of the sections that show what becomes of it."""

import streamlit as st

from lowprec.explorer import page_layout
from lowprec.explorer.checkpoint_controls import forget_tensor
from lowprec.explorer.controls import Controls
from lowprec.explorer.page_states import ORIGINS, SHOWS, Quantize
from lowprec.explorer.quantize_sections import LABELS, show_section
from lowprec.explorer.tensor_controls import tensor_from

page = Controls(Quantize)
page_layout.heading(
    "Quantize",
    "Choose a tensor, a format and the elements that share a scale, to see what quantization loses.",
    "QuantizeLinear's rule",
    "QuantizeLinear",
)
st.segmented_control("Tensor", ORIGINS, required=True, **page.bind("origin", forget_tensor))
tensor = tensor_from(page)
st.segmented_control("Show", SHOWS, required=True, **page.bind("show"), format_func=lambda show: LABELS[show])
snippets = show_section(page, tensor)
page_layout.open_in(page.state)
page_layout.copy_section(page, "quantize", *snippets)
