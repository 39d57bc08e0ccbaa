"""One server and one browser for all tests of the explorer that need them; skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import AT_REST, CHROMIUM, FLAGS, Visit, server


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


@pytest.fixture(scope="module")
def tabs() -> Iterator[dict[str, Visit]]:
    """Keep the tabs of `turning` for the tests of a module."""
    found: dict[str, Visit] = {}
    yield found
    for visit in found.values():
        visit.context.close()


@pytest.fixture
def turning(browser: Any, address: str, tabs: dict[str, Visit], request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Give a tab as `visit` does, which the tests of a module share: they only turn to links that say all of a state.

    The app is loaded in it once, and again after what left it in disorder.
    """
    look = getattr(request, "param", {})
    found = tabs.pop(f"{look}", None)
    if found is None:
        found = Visit(browser, address, **look)
        found.go("")
    yield found
    outside, complaints = found.outside(), [*found.complaints]
    if outside or complaints or not found.page.evaluate(AT_REST):
        found.context.close()
    else:
        found.requests.clear()
        tabs[f"{look}"] = found
    assert outside == []
    assert complaints == []
