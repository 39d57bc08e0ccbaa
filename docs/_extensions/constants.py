"""Constants that a package passes on from one of its modules have the docstring that follows their assignment there."""

from __future__ import annotations

import sys
from typing import Any

from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

__all__ = ["docstring_of"]


def docstring_of(name: str, value: object) -> list[str]:
    """Return the lines that document the constant `name` (with its package); none where nothing does.

    It is looked for by identity in the modules of the package, since the module may name it otherwise.
    """
    package, _, attribute = name.rpartition(".")
    found = {}
    for module in [one for one in sys.modules if one.startswith(f"{package}.")]:
        names = [one for one, other in vars(sys.modules[module]).items() if other is value]
        if names:
            try:
                documented = ModuleAnalyzer.for_module(module).find_attr_docs()
            except PycodeError:  # compiled: no source to read
                continue
            found.update({one: documented["", one] for one in names if ("", one) in documented})
    return found.get(attribute) or next(iter(found.values()), [])


def _process(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    if what == "data":
        lines[:] = docstring_of(name, value) or lines


def setup(app: Any) -> dict[str, bool]:
    """Ask for the docstring before numpydoc reads what the type of the constant says of itself."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
