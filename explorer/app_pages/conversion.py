"""The page Conversion."""

from lowprec.explorer import render
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import Conversion

page = Controls(Conversion)
render.heading("Conversion", "Under construction.", "The rule", "Cast")
