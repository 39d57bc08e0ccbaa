"""Take the screenshots of docs/screenshots: `python docs/_extensions/screenshots.py`, with chromium and Pillow."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from PIL import Image  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from support.browser import CHROMIUM, FLAGS, Visit, server  # noqa: E402

PICTURES = {"rounding": "x=465"}
"""The pages that README and the site show, and the states that show much of them."""

COLOURS = 128
"""Of a picture: enough for text and flat areas, and a third of the bytes."""


def main(names: list[str]) -> None:
    """Take those of the named pages, or of `PICTURES`."""
    folder = ROOT / "docs" / "screenshots"
    folder.mkdir(exist_ok=True)
    with server() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for path in names or PICTURES:
            visit = Visit(browser, address)
            visit.go(f"{path}?{PICTURES.get(path, '')}")
            visit.page.wait_for_timeout(2000)  # charts draw themselves after the page is there
            taken = Image.open(BytesIO(visit.page.screenshot())).convert("RGB")
            visit.context.close()
            file = folder / f"{path}-light.png"
            taken.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
            print(f"{file.name}: {file.stat().st_size} bytes")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
