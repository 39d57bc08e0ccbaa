"""The page Saturation."""

from lowprec.explorer import render
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import Saturation

page = Controls(Saturation)
render.heading("Saturation", "Under construction.", "The rule", "Cast")
