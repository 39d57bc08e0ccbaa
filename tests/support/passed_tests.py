"""Options of pytest that write which tests pass, and leave those out of a later run with more packages."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from support.paths import TESTS

INDEPENDENT = ("loss", "native", "ops/blocks", "ops/cast", "ops/quantize", "reference", "spec", "teaching")
"""Folders of tests whose result does not depend on packages that may be missing: with one of them, a test has a
parameter of its own, or it is skipped without it."""

MIXED = (
    "arrays", "backends", "checkpoints", "cli", "conformance", "explorer", "ops", "programs", "project", "proof",
    "torch_ops",
)  # fmt: skip
"""Folders of which the same holds for modules that name no such package, nor look for one."""

_LOOKS_FOR_A_PACKAGE = re.compile(r"\b(importorskip|optional|sys\.modules|find_spec|subprocess)\b")


@functools.cache
def is_independent(path: Path) -> bool:
    """Return whether no optional package changes the result of the tests of a module."""
    if _within(path, INDEPENDENT):
        return True
    return _within(path, MIXED) and not _LOOKS_FOR_A_PACKAGE.search(path.read_text(encoding="utf-8"))


def _within(path: Path, folders: tuple[str, ...]) -> bool:
    return any(TESTS / folder in path.parents for folder in folders)


class _Record:
    """The names of the tests that passed, written at the end of the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._path.write_text("\n".join(sorted(self._names)), encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("lowprec")
    group.addoption("--write-passed", metavar="FILE", help="write the names of the tests that pass to FILE")
    folders = ", ".join((*INDEPENDENT, *MIXED))
    group.addoption("--skip-passed", metavar="FILE", help=f"leave out tests of {folders} that FILE names")


def pytest_configure(config: pytest.Config) -> None:
    """Record reports where they arrive: in the process that gives tests to the others."""
    path = config.getoption("--write-passed")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Record(Path(path).absolute()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before."""
    path = config.getoption("--skip-passed")
    if not path:
        return
    passed = set(Path(path).read_text(encoding="utf-8").splitlines())
    left_out = {item for item in items if item.nodeid in passed and is_independent(item.path)}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
