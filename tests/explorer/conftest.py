"""One server and one browser for all tests of the explorer that need them; skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import CHROMIUM, FLAGS, Visit, server


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def address(browser: Any) -> Iterator[str]:
    """Give the address of a server that runs while there is a browser for it."""
    pytest.importorskip("streamlit")
    with server() as found:
        yield found


@pytest.fixture(scope="session")
def contexts() -> dict[str, Any]:
    return {}


@pytest.fixture
def visit(browser: Any, address: str, contexts: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Give a page in a tab of its own, with the options of `Visit` as parameter; it must end without complaint."""
    found = Visit(browser, address, contexts, **getattr(request, "param", {}))
    yield found
    for page in found.context.pages:  # and those that it opened
        page.close()
    assert found.outside() == []
    assert found.complaints == []
