"""The page Rounding."""

from lowprec.explorer import render
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import Rounding

page = Controls(Rounding)
render.heading("Rounding", "Under construction.", "The rule", "Cast")
