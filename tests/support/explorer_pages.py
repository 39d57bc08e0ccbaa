"""Pages of the explorer, run without a browser."""

from __future__ import annotations

import contextlib
import functools
import json
from pathlib import Path
from typing import Any

import pytest

from lowprec import explorer

calc_hash = pytest.importorskip("streamlit.util").calc_hash
AppTest = pytest.importorskip("streamlit.testing.v1").AppTest
with contextlib.suppress(ImportError, AttributeError):
    # A server looks once for components in all that is installed, a test would for every page: most of its time.
    from streamlit.components.v2 import manifest_scanner

    manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
FOLDER = Path(explorer.__file__).parent  # type: ignore[attr-defined]

_SCRIPT = """
from lowprec.explorer.pages.{name} import PAGE
from lowprec.explorer.shared.controls import Controls

PAGE.show(Controls(PAGE.state))
"""


def turn_to(test: Any, path: str) -> Any:
    """Return the app with another page chosen, not run yet; `AppTest.switch_page` takes files alone."""
    test._page_hash = calc_hash(path)
    return test


def page(name: str, *opened: str, **query: str) -> Any:
    """Return a page that ran with a query string, and with disclosures opened by their keys."""
    test = AppTest.from_string(_SCRIPT.format(name=name), default_timeout=60)
    for part, text in query.items():
        test.query_params[part] = text
    for key in opened:
        test.session_state[f"more-{key}"] = True
    return test.run()


def copied(test: Any) -> tuple[str, str, str]:
    """Return the link, the Python and the ONNX that a page offers."""
    link, python, onnx, _ = (element.value for element in test.code)  # the last embeds the page
    return link, python, onnx


def texts(test: Any) -> str:
    return "\n".join(element.proto.body for element in test.get("html"))


def charts(test: Any) -> list[str]:
    return [element.proto.spec for element in test.get("vega_lite_chart")]


def sent(test: Any, component: str) -> list[dict[str, Any]]:
    """Return the data that a page sends to its components of a name."""
    found = [element.proto for element in test.get("bidi_component")]
    return [one for proto in found if proto.component_name == f"lowprec_{component}" for one in json.loads(proto.json)]


def pictures(test: Any) -> str:
    return "\n".join(one["drawings"][0]["svg"] for one in sent(test, "picture"))


def asked(test: Any, part: str) -> str:
    text = test.query_params[part]
    return str(text if isinstance(text, str) else text[-1])


def healthy(test: Any) -> Any:
    """Return a page that shows no exception, error or warning."""
    assert not test.exception
    assert not test.error
    assert not test.warning
    return test
