"""The page Errors."""

from lowprec.explorer import page_layout
from lowprec.explorer.controls import Controls
from lowprec.explorer.page_states import Errors

page = Controls(Errors)
page_layout.heading("Errors", "See the rounding error of a format against the value.", "ONNX on its formats")
page_layout.copy_section(page, "errors", "import lowprec as lp", "None: there is no such node.")
