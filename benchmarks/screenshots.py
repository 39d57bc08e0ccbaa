"""Take the pictures of the explorer in docs/screenshots: `python benchmarks/screenshots.py` (needs chromium)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import sync_playwright  # noqa: E402
from support.browser import CHROMIUM, FLAGS, Visit, server  # noqa: E402

PICTURES = {
    "anatomy": ("anatomy?at=0.3", False),
    "rounding": ("rounding?x=0.3", False),
    "saturation": ("saturation?opset=23", False),
    "compare": ("compare", True),
    "conversion": ("conversion", True),
    "quantize": ("quantize", False),
}
"""Name, page, and whether it is taken in the dark scheme."""


def main() -> None:
    folder = ROOT / "docs" / "screenshots"
    folder.mkdir(exist_ok=True)
    with server() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (path, dark) in PICTURES.items():
            visit = Visit(browser, address, dark=dark)
            visit.go(path)
            visit.page.wait_for_timeout(3000)  # charts draw themselves after the page is there
            visit.page.screenshot(path=folder / f"{name}.png")
            visit.context.close()
            print(f"{name}.png: {(folder / f'{name}.png').stat().st_size} bytes")
        browser.close()


if __name__ == "__main__":
    main()
