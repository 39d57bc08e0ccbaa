"""The directive `table-of`: recipes, formats or storage dtypes, as the package writes them in Markdown."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

__all__ = ["Table", "recipe_rows"]


def recipe_rows() -> str:
    """Return the table of recipes."""
    from lowprec.checkpoints.recipes import CHANGES, RECIPES

    rows = [("recipe", "layout", "what is written", "for"), ("---",) * 4]
    rows += [(f"`{one.name}`", one.layout, one.summary, one.readers) for one in (*RECIPES, *CHANGES)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


class Table(SphinxDirective):
    """A table by its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        from lowprec.cli.formats import markdown_formats, storage_table

        texts = {"recipes": recipe_rows, "formats": markdown_formats, "storage-dtypes": storage_table}
        return self.parse_text_to_nodes(texts[self.arguments[0]]())


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("table-of", Table)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
