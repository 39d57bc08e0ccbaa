"""The page Describe a format."""

from lowprec.explorer import page_layout
from lowprec.explorer.controls import Controls
from lowprec.explorer.page_states import Describe

page = Controls(Describe)
page_layout.heading("Describe a format", "Choose the parts of a float format.", "ONNX on its formats")
page_layout.copy_section(page, "describe", "import lowprec as lp", "None: there is no such node.")
