"""The page Arithmetic."""

from lowprec.explorer import page_layout
from lowprec.explorer.controls import Controls
from lowprec.explorer.page_states import Arithmetic

page = Controls(Arithmetic)
page_layout.heading("Arithmetic", "Calculate in a format.", "ONNX on its formats")
page_layout.copy_section(page, "arithmetic", "import lowprec as lp", "None: there is no such node.")
