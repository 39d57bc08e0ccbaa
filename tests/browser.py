"""A browser and a server for the tests of the explorer; both end with the tests."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

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
def server() -> Iterator[str]:
    """Start `lowprec explore` and give its address."""
    port = free_port()
    command = [sys.executable, "-m", "lowprec", "explore", "--headless", "--port", str(port)]
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def wait_for(address: str, process: subprocess.Popen[Any]) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            if answer.status == 200:
                return
        if process.poll() is not None:
            raise RuntimeError("the server ended before it answered")
        time.sleep(0.1)
    raise RuntimeError("the server did not answer within a minute")


class Visit:
    """One page in a browser of its own: what it asked for and what it complained about is kept."""

    def __init__(self, browser: Any, address: str, *, dark: bool = False, phone: bool = False) -> None:
        self.address, self.requests, self.complaints = address, [], []  # type: tuple[str, list[str], list[str]]
        size = {"width": 390, "height": 844} if phone else {"width": 1280, "height": 800}
        self.context = browser.new_context(color_scheme="dark" if dark else "light", viewport=size, has_touch=phone)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)

    def _heard(self, message: Any) -> None:
        # Streamlit asks below the page's own path for its server first, and takes a 404 for an answer
        probes = ("/_stcore/health", "/_stcore/host-config")
        if message.type == "error" and not message.location["url"].endswith(probes):
            self.complaints.append(message.text)

    def go(self, path: str) -> Any:
        """Open a page and wait until it is there."""
        self.page.goto(f"{self.address}/{path}")
        self.page.get_by_text("ONNX node", exact=True).wait_for()
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the page has been still for a while."""
        self.page.wait_for_function("!document.querySelector('[data-testid=stStatusWidget], [data-testid=stSkeleton]')")
        self.page.wait_for_timeout(400)

    def address_has(self, text: str) -> None:
        """Wait until the address holds a text."""
        self.page.wait_for_function("text => decodeURIComponent(location.href).includes(text)", arg=text)

    def outside(self) -> list[str]:
        """Return what was asked of another host."""
        return [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))]
