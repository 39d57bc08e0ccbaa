"""Take the screenshots of docs/screenshots: `python docs/_extensions/screenshots.py [PAGE …]`; needs chromium, Pillow.

Each page of the explorer is taken light, dark, and 390 px wide; a state that shows much of it is chosen here.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from PIL import Image  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from support.browser import CHROMIUM, FLAGS, Visit, server  # noqa: E402

from lowprec.explorer.pages import PAGES  # noqa: E402

QUERIES = {
    "start": "values=2",
    "anatomy": "at=0.3",
    "rounding": "x=465",
    "saturation": "opset=23",
    "conversion": "source=float64&via=float32&target=bfloat16&at=1.0039063",
    "quantize": "show=sweep",
}
"""The states of pages that are not shown as they begin."""

VIEWS = {"light": {}, "dark": {"dark": True}, "phone": {"phone": True}}
COLOURS = 128
"""Of a picture: enough for text and flat areas, and a third of the bytes."""


def main(names: list[str]) -> None:
    """Take those of the named pages, or of all."""
    folder = ROOT / "docs" / "screenshots"
    folder.mkdir(exist_ok=True)
    with server() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for path in names or [page.path for page in PAGES]:
            for view, options in VIEWS.items():
                visit = Visit(browser, address, **options)
                visit.go(f"{path}?{QUERIES.get(path, '')}")
                visit.page.wait_for_timeout(2000)  # charts draw themselves after the page is there
                taken = Image.open(BytesIO(visit.page.screenshot())).convert("RGB")
                visit.context.close()
                file = folder / f"{path}-{view}.png"
                taken.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
                print(f"{file.name}: {file.stat().st_size} bytes")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
