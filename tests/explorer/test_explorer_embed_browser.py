"""A page of the explorer embedded in a page of another server: what is seen, and that its links open outside."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import Visit


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def slides(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Give a folder and the address where another server of this machine shows it."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("options", ["", "&embed_options=hide_controls"])
def test_a_page_within_another(visit: Visit, slides: tuple[Path, str], options: str) -> None:
    folder, there = slides
    page = visit.go("anatomy?at=0x7e")
    frame = page.locator("code", has_text="<iframe").text_content()
    assert "&embed=true" in frame.replace("&amp;", "&")
    frame = frame.replace("embed=true", f"embed=true{options}")
    (folder / "slide.html").write_text(f"<!doctype html><link rel=icon href=data:,><h1>A slide</h1>{frame}", "utf-8")
    page.goto(f"{there}/slide.html")
    inside = page.frame_locator("iframe")
    inside.get_by_role("switch").last.wait_for()
    inside.get_by_role("switch").last.click()
    inside.locator("dd", has_text="0x7F = 127").wait_for(state="attached")  # in a closed disclosure
    assert inside.get_by_role("heading", name="Anatomy").bounding_box()["height"] <= 1
    assert inside.get_by_role("textbox", name="Code or number").is_visible() is not bool(options)
    for absent in (inside.get_by_role("link", name="Compare"), inside.locator("summary", has_text="Link")):
        assert absent.count() == 0
    visit.requests.remove(f"{there}/slide.html")


def test_a_link_of_an_embedded_page_opens_outside(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/saturation?embed=true&opset=23")
    page.locator("summary", has_text="The tables of Cast").click()
    page.get_by_role("link", name="80 -nan").first.wait_for()
    visit.settle()
    with visit.context.expect_page() as opened:
        page.get_by_role("link", name="80 -nan").first.click()
    opened.value.get_by_role("switch").first.wait_for()
    assert "embed" not in opened.value.url
    assert "/saturation" in page.url
