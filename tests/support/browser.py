"""A browser and a server for the tests of the explorer; both end with the tests."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server(*, port: int | None = None, environment: dict[str, str] | None = None) -> Iterator[str]:
    """Start `lowprec explore` and give its address; with port 0 the one that it prints."""
    wanted = free_port() if port is None else port
    command = [sys.executable, "-m", "lowprec", "explore", "--headless", "--port", str(wanted)]
    around: dict[str, Any] = {"env": {**os.environ, **(environment or {})}}
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stdout=log, stderr=log, **around) as process:
        try:
            address = f"http://127.0.0.1:{wanted}" if wanted else printed(log, process)
            wait_for(f"{address}/_stcore/health", process)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def printed(log: IO[str], process: subprocess.Popen[Any]) -> str:
    """Wait until a server has written its address to a file, and return it."""
    for _ in range(600):
        # read at a place of its own: the server writes where the file itself stands
        if found := re.search(rb"http://127\.0\.0\.1:\d+(?=\s)", os.pread(log.fileno(), 1 << 16, 0)):
            return found[0].decode()
        if process.poll() is not None:
            raise RuntimeError("the server ended before it said where it is")
        time.sleep(0.1)
    raise RuntimeError("the server did not say where it is within a minute")


def wait_for(address: str, process: subprocess.Popen[Any]) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            if answer.status == 200:
                return
        if process.poll() is not None:
            raise RuntimeError("the server ended before it answered")
        time.sleep(0.1)
    raise RuntimeError("the server did not answer within a minute")


_SCRIPTS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def script(name: str) -> str:
    """Return what calls a function of browser.js with one argument, or none."""
    return f"argument => ({_SCRIPTS}).{name}(argument)"


AT_REST = script("quiet")
DRAWN_WHEN_OPENED = {
    "anatomy": ["Table of codes"], "compare": ["All facts of the formats", "The number in each format"],
    "describe": ["Table of values"], "rounding": ["On the number line"], "saturation": ["The tables of Cast"],
}  # fmt: skip
"""By the path of a page, the names of disclosures whose inside is there only after they were opened."""


class Visit:
    """One page in a tab of its own: what it asked for and what it complained about is kept.

    `contexts` keeps those of a browser by their look: what a page loads is then in the cache for the next one.
    """

    def __init__(
        self, browser: Any, address: str, contexts: dict[str, Any] | None = None, *, dark: bool = False,
        phone: bool = False,
    ) -> None:  # fmt: skip
        self.address, self.requests, self.complaints = address, [], []  # type: tuple[str, list[str], list[str]]
        size = {"width": 390, "height": 844} if phone else {"width": 1280, "height": 800}
        look = {"color_scheme": "dark" if dark else "light", "viewport": size, "has_touch": phone}
        kept = {} if contexts is None else contexts
        self.context = kept.get(f"{look}") or kept.setdefault(f"{look}", browser.new_context(**look))
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)

    def _heard(self, message: Any) -> None:
        # Streamlit asks below the page's own path for its server first, and takes a 404 for an answer
        probes = ("/_stcore/health", "/_stcore/host-config")
        if message.type in ("error", "warning") and not message.location["url"].endswith(probes):
            self.complaints.append(f"{message.type}: {message.text}")

    def go(self, path: str) -> Any:
        """Open a page and wait until it is there."""
        self.page.goto(f"{self.address}/{path}")
        self.page.locator("summary", has_text="Link").wait_for()  # the last part of every page
        self.settle()
        return self.page

    def turn_to(self, path: str) -> None:
        """Show another link without loading the app again, as Back and Forward do, and wait until it is drawn."""
        self.page.evaluate(script("turn"), path)
        self.page.wait_for_function(script("drawn"), arg=path)

    def arrive(self, title: str) -> None:
        """Wait until the page of a title is there."""
        heading = "A number format is a ruler" if title == "Start" else title
        self.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
        self.settle()

    def choose_page(self, title: str) -> None:
        self.page.get_by_role("link", name=title, exact=True).first.click()
        self.arrive(title)

    def menu_shows(self, title: str) -> None:
        """Check that the menu, a landmark, marks a page as the one that is shown, and wait for its title."""
        menu = self.page.get_by_role("navigation", name="Pages")
        entry = menu.get_by_role("link", name=title, exact=True).inner_text()
        assert menu.locator("[aria-current=page]").all_inner_texts() == [entry]
        self.page.wait_for_function("text => document.title === text", arg=f"{title} · lowprec explorer")

    def enter(self, title: str) -> Any:
        """Open the bare address and choose a page in the menu, as a person does."""
        self.go("")
        self.choose_page(title)
        return self.page

    def type(self, label: str, text: str, role: str = "textbox", *, exact: bool = True) -> None:
        """Type a text into the box of a label, or into its list."""
        box = self.page.get_by_role(role, name=label, exact=exact)
        box.evaluate("box => box.scrollIntoView({ block: 'center', behavior: 'instant' })")  # a scroll closes a list
        box.fill(text)
        box.press("Enter")

    def bits(self) -> str:
        """Return the bits that are drawn as switches."""
        self.page.get_by_role("switch").first.wait_for()
        return "".join(self.page.get_by_role("switch").locator("text").all_text_contents())

    def width_is_kept(self) -> bool:
        """Whether no part of the page is wider than the screen."""
        return bool(self.page.evaluate(script("width")) <= self.page.viewport_size["width"])

    def settle(self) -> None:
        """Wait until the page has been at rest for a while."""
        self.page.wait_for_function(script("still"), arg=time.monotonic())

    def open(self, label: str) -> None:
        """Open a closed disclosure by the name that it has in bold."""
        self.page.locator("summary").filter(has=self.page.get_by_text(label, exact=True)).click()
        self.settle()

    def open_all(self, path: str) -> None:
        """Open what the page at a path draws only when it is opened, where that is closed."""
        for label in DRAWN_WHEN_OPENED.get(path, []):
            if self.page.locator("details:not([open]) > summary").get_by_text(label, exact=True).count():
                self.open(label)

    @contextlib.contextmanager
    def answer(self) -> Iterator[None]:
        """Wait after an action until the page has answered it and is at rest; fail where nothing comes of it."""
        before = self.page.evaluate(script("answers"))
        yield
        self.page.wait_for_function(script("answered"), arg=before)

    def address_has(self, text: str) -> None:
        """Wait until the address holds a text, and the run that wrote it has ended: a run would undo what is typed."""
        self.page.wait_for_function("text => decodeURIComponent(location.href).includes(text)", arg=text)
        self.settle()

    def outside(self) -> list[str]:
        return [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))]
