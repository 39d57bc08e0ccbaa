"""The command `explorer`: the explorer's speed and memory, in a browser (needs chromium and Playwright).

It prints medians of: the time from starting the server to the first page drawn; a click on a bit until it is repainted,
and until the server's answer stands in the address and on the page; a step from page to page. Then it changes bits,
formats, pages and the settings of Quantize, and prints at each quarter the resident memory of the server and the
JavaScript heap of the page after a collection of garbage. Memory is flat if the second half adds less than 5 %.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import sync_playwright  # noqa: E402
from support.browser import AT_REST, CHROMIUM, FLAGS, Visit, server  # noqa: E402

CLICK = """index => new Promise(resolve => {
    const roots = [...document.querySelectorAll('*')].map(found => found.shadowRoot);
    const root = roots.find(found => found?.querySelector('.picture [data-bit]'));
    const button = root.querySelectorAll('[role=switch]')[index], text = button.textContent;
    const value = () => root.querySelector('[data-part=value]').textContent;
    const address = location.href, before = value(), start = performance.now();
    let painted = null;
    const look = () => {
        const now = performance.now() - start;
        if (painted === null && button.textContent !== text) painted = now;
        if (painted !== null && location.href !== address && value() !== before) resolve([painted, now]);
        else if (now > 20000) resolve([painted, now]);
        else setTimeout(look, 1);
    };
    button.dispatchEvent(new MouseEvent('click'));
    look();
})"""
"""Click a bit; the milliseconds until it is repainted, and until address and value have followed."""

HEADINGS = {"Start": "A number format is a ruler"}
"""The heading of a page where it is not its title."""

PAGES = ("Rounding", "Compare", "Anatomy", "Quantize", "Saturation", "Cast & BitCast")
FORMATS = ("float8_e4m3fn", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn", "float16", "int8")


def first_page(driver: Any) -> float:
    """Return the seconds from starting a server to the start page being drawn."""
    browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    start = time.perf_counter()
    with server() as address:
        page = browser.new_page()
        page.goto(address)
        page.locator("summary", has_text="Link").wait_for()
        seconds = time.perf_counter() - start
        browser.close()
    return seconds


def rss_of(address: str) -> float:
    """Return the resident MiB of the process that listens at an address of this machine; Linux alone."""
    port = f":{urlsplit(address).port:04X} "
    sockets = [
        line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines() if port in line.split()[1] + " "
    ]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = {str(link.readlink()) for link in (process / "fd").iterdir()}
            if (
                any(f"socket:[{number}]" in links for number in sockets)
                and b"explore" in (process / "cmdline").read_bytes()
            ):
                found = re.search(r"VmRSS:\s+(\d+) kB", (process / "status").read_text())
                return int(found[1]) / 1024 if found else float("nan")
        except OSError:
            continue
    return float("nan")


def heap_of(page: Any) -> float:
    """Return the MiB of the page's JavaScript heap after garbage was collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
    session.detach()
    return float(used)


def interaction(visit: Visit, index: int) -> None:
    """Change something: a page every tenth time, else a bit, a format or a setting of the page."""
    page = visit.page
    if index % 10 == 0:
        turn(visit, PAGES[index // 10 % len(PAGES)])
    elif page.get_by_role("switch", name="bit").count():
        bits = page.get_by_role("switch", name="bit")
        bits.nth(index % bits.count()).click()
    elif page.get_by_role("slider").count():
        page.get_by_role("slider").first.press("ArrowRight" if index % 3 else "ArrowLeft")
    elif page.get_by_role("radio", name="error", exact=True).count():  # what the pictures of Quantize show
        page.get_by_role("radio", name="error" if index % 2 else "picture", exact=True).last.click()
    elif page.get_by_role("textbox", name="number", exact=False).count():
        box = page.get_by_role("textbox", name="number", exact=False).first
        box.fill(str(index / 7))
        box.press("Enter")
    formats = page.get_by_role("combobox", name="Format", exact=True)
    if index % 25 == 13 and formats.count():
        box = formats.first
        box.fill(FORMATS[index // 25 % len(FORMATS)])
        box.press("Enter")
        page.keyboard.press("Escape")  # an open list hides the menu
    page.wait_for_function("document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'")


def timed(action: Callable[[], None]) -> float:
    """Return the milliseconds that an action takes."""
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)


def turn(visit: Visit, title: str) -> None:
    """Go to a page by the menu and wait until all of it is drawn."""
    visit.page.get_by_role("link", name=title, exact=True).first.click()
    visit.page.get_by_role("heading", level=1, name=HEADINGS.get(title, title)).wait_for()
    visit.page.wait_for_function(AT_REST)


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["explorer"])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--clicks", type=int, default=50)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--interactions", type=int, default=1000)
    options = parser.parse_args(arguments)
    with sync_playwright() as driver:
        starts = [first_page(driver) for _ in range(options.starts)]
        if starts:
            print(f"cold server to first page: median {statistics.median(starts):.2f} s of {len(starts)}", flush=True)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with server() as address:
            visit = Visit(browser, address)
            page = visit.go("anatomy?at=0x2a")
            times = [page.evaluate(CLICK, 1 + click % 7) for click in range(options.clicks + 5)][5:]
            if options.clicks:
                painted, answered = (statistics.median(column) for column in zip(*times, strict=True))
                worst = statistics.quantiles([row[1] for row in times], n=10)[-1]
                print(f"click on a bit: repainted {painted:.1f} ms, address and value {answered:.0f} ms, "
                      f"nine of ten within {worst:.0f} ms", flush=True)  # fmt: skip
            every = []
            for title in PAGES:
                turns = []
                for _ in range(options.turns):
                    turn(visit, "Start")
                    turns.append(timed(lambda title=title: turn(visit, title)))  # type: ignore[misc]
                every += turns
                first, later = turns[0], statistics.median(turns[1:])
                print(f"to {title}: {later:.0f} ms, the first time {first:.0f} ms", flush=True)
            print(f"from page to page: median {statistics.median(every):.0f} ms", flush=True)
            for index in range(options.interactions + 1):
                if index % max(1, options.interactions // 4) == 0:
                    print(f"{index} interactions: server {rss_of(address):.1f} MiB, page {heap_of(page):.1f} MiB",
                          flush=True)  # fmt: skip
                interaction(visit, index)
            print("complaints:", visit.complaints or "none")
        browser.close()
