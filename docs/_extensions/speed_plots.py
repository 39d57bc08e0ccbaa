"""The directive `speed-plot`: a stored run of benchmarks/results as a picture for each theme, made at build time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from speed_bars import CASES, THEMES, alternative_text, chosen_rows, described, draw
from sphinx.util.docutils import SphinxDirective

__all__ = ["SpeedPlot"]


class SpeedPlot(SphinxDirective):
    """The bars of one run: vendor and number of elements; the content is the first sentence of the caption."""

    required_arguments = 2
    has_content = True
    option_spec = {"cases": lambda text: directives.choice(text, (*CASES, "all"))}  # noqa: RUF012  docutils' own way

    def run(self) -> list[nodes.Node]:
        """Return a figure with an image for each theme."""
        vendor, elements = self.arguments
        cases = self.options.get("cases", "all")
        stored = Path(self.env.srcdir).parent / "benchmarks" / "results" / f"{vendor}.json"
        self.env.note_dependency(str(stored))
        runs = json.loads(stored.read_text(encoding="utf-8"))
        if elements not in runs:
            raise self.error(f"{stored.name} has runs of {', '.join(runs)} elements, not {elements}")
        run = runs[elements]
        rows = chosen_rows(run, cases)
        folder = Path(self.env.doctreedir) / "plots"
        folder.mkdir(parents=True, exist_ok=True)
        pictures = nodes.container(classes=["speed-plot"])
        for theme in THEMES:
            path = folder / f"speed-{vendor}-{elements}-{cases}-{theme.name}.svg"
            draw(rows, theme, path)
            uri = Path(os.path.relpath(path, Path(self.env.doc2path(self.env.docname)).parent)).as_posix()
            pictures += nodes.image(uri=uri, alt=alternative_text(rows), classes=[f"only-{theme.name}"])
        caption = nodes.caption("", " ".join([*self.content, f"{described(run)}."]))
        return [nodes.figure("", pictures, caption, classes=["speed"])]


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("speed-plot", SpeedPlot)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
