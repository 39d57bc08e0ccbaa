"""`lowprec explore`: the explorer's server, on this machine alone and with safe settings."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import threading
from pathlib import Path
from typing import Any

__all__ = ["add_command"]

SAFE: dict[str, Any] = {
    "server.address": "127.0.0.1",
    "server.allowedHosts": ("127.0.0.1", "localhost"),
    "server.fileWatcherType": "none",
    "server.maxUploadSize": 8,
    "server.showEmailPrompt": "false",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "global.minCachedMessageSize": 1e9,
    "runner.postScriptGC": "false",
}
"""Streamlit's settings: nothing but this machine may connect, nothing is sent out, uploads are small (MB).

Messages are sent, not looked up in the browser's cache: after runs that rapid clicks cut short, Streamlit 1.67 can
refer to a message that the browser has dropped, and the page stops. Python collects garbage when it is due, not after
each run, which would take longer than the run of most pages; a server does not grow by that.
"""


def flags(port: int | None, headless: bool, theme: dict[str, str]) -> list[str]:
    """Return the settings as arguments of ``streamlit run``."""
    settings: dict[str, Any] = {**SAFE, "server.headless": str(headless).lower(), **theme}
    if port is not None:  # else Streamlit looks for a free one
        settings["server.port"] = port
    several = ((name, value if isinstance(value, tuple) else (value,)) for name, value in settings.items())
    return [f"--{name}={part}" for name, value in several for part in value]


def _port(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and int(text[:9]) <= 65535):
        print(f"lowprec: --port must be a number from 0 (any free port) to 65535; got {text[:40]!r}", file=sys.stderr)
        raise SystemExit(2)
    return int(text)


def _stay_on_this_machine() -> None:
    """Keep Streamlit from asking an outside host for this machine's address, and close what others could read.

    It compares a foreign Origin with that address, checks the Host of its socket alone (a foreign one is a name that
    another site made to lead here), and tells anyone its metrics; no option switches these off.
    """
    importlib.import_module("streamlit.net_util").get_external_ip = lambda: None  # type: ignore[attr-defined]
    app: Any = importlib.import_module("streamlit.web.server.starlette.starlette_app")
    middleware: Any = importlib.import_module("starlette.middleware")
    hosts: Any = importlib.import_module("starlette.middleware.trustedhost")
    usual = app.create_streamlit_middleware
    allowed = list(SAFE["server.allowedHosts"])

    def with_hosts() -> list[Any]:
        check = middleware.Middleware(hosts.TrustedHostMiddleware, allowed_hosts=allowed, www_redirect=False)
        return [check, *usual()]

    app.create_streamlit_middleware = with_hosts
    app.create_metrics_routes = _no_metrics


def _start_soon() -> None:
    """Let the first page not wait: no search for components in all installed packages, imports while a browser loads.

    The explorer's components are its own. What is imported here registers none: that needs Streamlit's runtime.
    """
    scanner: Any = importlib.import_module("streamlit.components.v2.manifest_scanner")
    scanner.scan_component_manifests = list
    app: Any = importlib.import_module("streamlit.web.server.starlette.starlette_app")
    usual = app.create_streamlit_middleware

    def import_pages() -> None:
        for name in ("pages.start.picture", "pages.start.thumbnails", "shared.html"):
            importlib.import_module(f"lowprec.explorer.{name}")

    def with_imports() -> list[Any]:
        threading.Thread(target=import_pages, daemon=True).start()
        return list(usual())

    app.create_streamlit_middleware = with_imports


def _no_metrics(runtime: object, base_url: str | None) -> list[Any]:
    """Return a route that says that there are no metrics."""
    prefix = f"/{base_url.strip('/')}" if base_url else ""
    routing: Any = importlib.import_module("starlette.routing")
    responses: Any = importlib.import_module("starlette.responses")

    async def nothing(request: object) -> Any:
        return responses.PlainTextResponse("Not Found", status_code=404)

    return [routing.Route(f"{prefix}/_stcore/metrics", nothing)]


def _explore(options: argparse.Namespace) -> None:
    port = _port(options.port)
    if importlib.util.find_spec("streamlit") is None:
        raise ValueError("explore needs Streamlit: pip install 'lowprec[explorer]'")
    app = Path(importlib.import_module("lowprec.explorer").__file__ or "").parent / "shared/app.py"
    theme: dict[str, str] = importlib.import_module("lowprec.explorer.shared.theme").OPTIONS
    command = importlib.import_module("streamlit.web.cli")
    _stay_on_this_machine()
    _start_soon()
    sys.stdout.flush()
    command.main(["run", str(app), *flags(port, options.headless, theme)], standalone_mode=False)


def add_command(commands: Any) -> None:
    """Add the command to those of the command line."""
    one = commands.add_parser("explore", help="a page in the browser: every bit, rounding and saturation")
    one.add_argument("--port", metavar="N", help="the port, 0 for any free one (default: the first free from 8501)")
    one.add_argument("--headless", action="store_true", help="do not open a browser")
    one.set_defaults(run=_explore)
