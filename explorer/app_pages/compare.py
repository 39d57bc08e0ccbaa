"""The page Compare."""

from lowprec.explorer import render
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import Compare

page = Controls(Compare)
render.heading("Compare", "Under construction.", "The rule", "Cast")
