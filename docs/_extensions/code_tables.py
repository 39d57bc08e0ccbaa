"""Directives that print what the code knows: `recipe-tables`, `format-codes`, `conformance-table`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

__all__ = ["ConformanceTable", "FormatCodes", "RecipeTables", "format_pages", "recipe_pages"]


def recipe_pages() -> list[tuple[str, str]]:
    """Return name and text of every recipe, as `lowprec recipes NAME` prints it."""
    from lowprec.checkpoints.recipes import CHANGES, RECIPES
    from lowprec.cli.recipes import change_text, recipe_text

    texts = [*((one.name, recipe_text(one)) for one in RECIPES), *((one.name, change_text(one)) for one in CHANGES)]
    return [(name, text.removeprefix(f"{name}: ")) for name, text in texts]


def format_pages() -> list[tuple[str, str]]:
    """Return name, facts and codes of every row of up to 8 bits, as `lowprec formats NAME` prints them."""
    from lowprec.cli.formats import code_table, facts
    from lowprec.spec.formats import FORMATS, Kind

    narrow = (fmt for fmt in FORMATS.values() if 0 < fmt.bits <= 8 and fmt.kind is not Kind.BOOL)
    return [(fmt.name, f"{facts(fmt)}\n\n{code_table(fmt)}") for fmt in narrow]


class _Sections(SphinxDirective):
    """A section for each pair of a name and a text."""

    @staticmethod
    def pages() -> Iterable[tuple[str, str]]:
        """Return the names and the texts."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        found: list[nodes.Node] = []
        for name, text in self.pages():
            section = nodes.section(ids=[nodes.make_id(name)])
            section += nodes.title("", name)
            section += nodes.literal_block(text, text, language="none")
            found.append(section)
        return found


class RecipeTables(_Sections):
    """Every recipe of `lowprec convert`."""

    pages = staticmethod(recipe_pages)


class FormatCodes(_Sections):
    """Every format of up to 8 bits."""

    pages = staticmethod(format_pages)


class ConformanceTable(SphinxDirective):
    """The stored run of `lowprec conformance`."""

    def run(self) -> list[nodes.Node]:
        """Return when it ran, and its table."""
        from lowprec.conformance.report import kept_results

        kept = kept_results()
        return self.parse_text_to_nodes(
            f"Differing / tried inputs, {kept.date}, {kept.machine}.\n\n{kept.as_markdown()}"
        )


def setup(app: Any) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("conformance-table", ConformanceTable)
    app.add_directive("recipe-tables", RecipeTables)
    app.add_directive("format-codes", FormatCodes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
