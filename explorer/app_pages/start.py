"""The page Start."""

from lowprec.explorer import page_layout
from lowprec.explorer.controls import Controls
from lowprec.explorer.page_states import Start

page = Controls(Start)
page_layout.heading("Start", "Choose an example, or a question.", "ONNX on its formats")
page_layout.copy_section(page, "start")
