"""Patterns of the names of tensors and modules: wildcards, or regular expressions after ``re:``."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...spec.scalar_arguments import shown
from ..files.errors import FileError

__all__ = ["NamePatterns"]

EXPRESSION = "re:"
WEIGHT = ".weight"


@dataclass(frozen=True, slots=True)
class NamePatterns:
    """The patterns of one option.

    A pattern with wildcards must fit the whole name of a tensor or of its module, which is the name without ".weight";
    a regular expression must fit from the start, as in the configurations of compressed-tensors.

    Attributes
    ----------
    parameter : str
        The parameter's name, for errors.
    patterns : tuple of str
        The patterns.
    """

    parameter: str
    patterns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for what is no regular expression."""
        for pattern in self.patterns:
            if pattern.startswith(EXPRESSION):
                try:
                    re.compile(pattern.removeprefix(EXPRESSION))
                except (re.error, RecursionError, OverflowError) as error:
                    raise ValueError(
                        f"`{self.parameter}` must be a regular expression after re:; got {shown(pattern)} ({error})"
                    ) from None

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.patterns)

    def fit(self, name: str) -> bool:
        """Whether a pattern fits the name of a tensor, or of its module."""
        return any(_fits(pattern, name) for pattern in self.patterns)

    def check(self, path: Path, names: Iterable[str]) -> None:
        """Raise FileError where a pattern fits no name of a checkpoint."""
        everything = list(names)
        for pattern in self.patterns:
            if not any(_fits(pattern, name) for name in everything):
                raise FileError(f"{path}: has no tensor or module that `{self.parameter}` {shown(pattern)} names")


def _fits(pattern: str, name: str) -> bool:
    names = {name, name.removesuffix(WEIGHT)}
    if pattern.startswith(EXPRESSION):
        return any(re.match(pattern.removeprefix(EXPRESSION), one) for one in names)
    return any(fnmatch.fnmatchcase(one, pattern) for one in names)
