"""Tests that need a package of the extra `test-all` are skipped where it is missing, by the import that fails."""

from __future__ import annotations

import doctest
from collections.abc import Generator
from typing import Any

import pytest
from support.optional import missing_package

# What needs a processor with VBMI cannot be imported elsewhere.
collect_ignore = ["conftest.py", "setup.py", "build", "lowprec/_native/tier_v4_vbmi.py"]


def _skip_where_a_package_is_missing() -> Generator[None, Any, Any]:
    try:
        return (yield)
    except Exception as error:
        failure = error.exc_info[1] if isinstance(error, doctest.UnexpectedException) else error
        package = missing_package(failure)
        if package is None:
            raise
        pytest.skip(f"could not import {package!r}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skip a test whose fixtures cannot import."""
    return (yield from _skip_where_a_package_is_missing())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skip a test, a page or a docstring at the line that cannot import."""
    return (yield from _skip_where_a_package_is_missing())


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Skip the docstrings of a module of the package that cannot be imported."""
    report = yield
    if report.failed and collector.path.is_relative_to(collector.config.rootpath / "lowprec"):
        package = missing_package(report.call.excinfo.value)
        if package is not None:
            report.outcome = "skipped"
            report.longrepr = str(collector.path), 0, f"Skipped: could not import {package!r}"
    return report
