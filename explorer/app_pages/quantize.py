"""The page Quantize."""

from lowprec.explorer import render
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import Quantize

page = Controls(Quantize)
render.heading("Quantize", "Under construction.", "The rule", "Cast")
