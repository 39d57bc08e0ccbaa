"""Indented blocks that begin with >>> are Python sessions: MyST gives indented blocks no language."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

__all__ = ["PythonSessions"]


class PythonSessions(SphinxTransform):
    """Gives sessions their language, before Sphinx asks for that of each block."""

    default_priority = 100

    def apply(self, **kwargs: Any) -> None:
        """Mark the sessions of one page."""
        for block in self.document.findall(nodes.literal_block):
            if block.get("language", "none") in ("none", "default") and block.astext().startswith(">>> "):
                block["language"] = "pycon"


def setup(app: Any) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(PythonSessions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
