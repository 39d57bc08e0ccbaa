"""One column of the report: what a library must offer to be compared."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import metadata

from ..reference.array_cast import Codes
from ..spec.opset_rules import NEWEST
from .cases import Call

__all__ = ["Declined", "Library", "check_opset"]


class Declined(Exception):  # noqa: N818  nothing is wrong: the library does not offer the call
    """The library has no such operator, type or attribute."""


class Library(ABC):
    """One column of the report."""

    title = ""
    package = ""
    """The distribution that holds it and knows its version."""
    remark = ""
    """A note on its column."""

    newest: int | None = None
    """The newest opset it knows, where it knows opsets; calls of a newer one are made at that one."""
    offers_all = False
    """Whether an error counts as a wrong result."""

    @property
    def version(self) -> str:
        """The installed version."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:  # brought by a distribution of another name
            return str(getattr(importlib.import_module(self.package), "__version__", "?"))

    @abstractmethod
    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the codes of the result, once for each way the library has to compute it; raise Declined."""


def check_opset(call: Call) -> None:
    """Decline the rules of an older opset, for a library that knows none."""
    if call.opset != NEWEST:
        raise Declined("rules of an older opset")
