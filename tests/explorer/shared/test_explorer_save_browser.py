"""Every picture and chart of a page is saved by its two buttons: SVG that stands alone, and the same as PNG."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.browser import Visit

SVG = "{http://www.w3.org/2000/svg}"
PAGES = {
    "anatomy?at=0x2a": {"bits-float8_e4m3fn-0x2a": ["exponent"]},
    "rounding?x=0.3": {
        "interval-float8_e4m3fn-0.3": ["0.3", "0.3125", "midpoint 0.296875"],
        "by-hand-float8_e4m3fn-0.3": ["guard", "sticky"],
    },
    "conversion?at=0x3e99999a&codes=1+2+3&packed=int4": {
        "casts-float32-0x3e99999a-to-float8_e4m3fn": ["0.3125"], "packing-int4": ["byte 0 = 0x21", "byte 1 = 0x03"],
    },
    "quantize": {"settings-side-by-side": ["Between which values?"]},
}  # fmt: skip


def saved(page: Any, name: str, kind: str) -> Path:
    button = page.get_by_role("button", name=f"{kind.upper()}: save {name}", exact=True)
    with page.expect_download() as caught:
        button.press("Enter")
    assert caught.value.suggested_filename == f"{name}.{kind}"
    return Path(caught.value.path())


@pytest.mark.parametrize(
    ("visit", "path"), [*(({}, path) for path in PAGES), ({"dark": True}, "anatomy?at=0x2a")],
    indirect=["visit"], ids=lambda value: value.partition("?")[0] if isinstance(value, str) else "dark" * bool(value),
)  # fmt: skip
def test_pictures_are_saved(visit: Visit, path: str) -> None:
    image = pytest.importorskip("PIL.Image")
    page, pictures = visit.go(path), PAGES[path]
    assert page.get_by_role("button", name="SVG: save").count() == len(pictures)
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    colour = (20, 22, 28, 255) if is_dark else (255, 255, 255, 255)
    for name, shown in pictures.items():
        svg = saved(page, name, "svg").read_bytes()
        assert b"var(" not in svg  # colours of the moment
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.find(f"{SVG}title").text
        assert root.find(f".//{SVG}foreignObject") is None
        links = [text for one in root.iter() for at, text in one.items() if at.endswith("href")]
        assert all(text.startswith("data:") for text in links)  # it needs no other file
        assert set(shown) <= {"".join(one.itertext()).strip() for one in root.iter(f"{SVG}text")}, name
        width, height = (float(root.get(side)) for side in ("width", "height"))
        assert root.get("viewBox").split()[2:] == [f"{width:.0f}", f"{height:.0f}"]
        picture = image.open(io.BytesIO(saved(page, name, "png").read_bytes()))
        scale = picture.width / width
        assert scale >= 2
        assert abs(picture.height - height * scale) <= 1
        flat = picture.convert("RGBA")
        assert flat.getpixel((1, 1)) == colour  # the page's
        assert len(flat.getcolors(1 << 24)) > 3  # not blank
