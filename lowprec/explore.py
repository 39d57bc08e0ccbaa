"""`lowprec explore`: the explorer's server, on this machine alone and with safe settings."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

__all__ = ["add_parser"]

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
}
"""Streamlit's settings: nothing but this machine may connect, nothing is sent out, uploads are small (MB)."""


def flags(port: int | None, headless: bool, theme: dict[str, str]) -> list[str]:
    """Return the settings as arguments of ``streamlit run``."""
    settings: dict[str, Any] = {**SAFE, "server.headless": str(headless).lower(), **theme}
    if port is not None:  # else Streamlit looks for a free one
        settings["server.port"] = port
    several = ((name, value if isinstance(value, tuple) else (value,)) for name, value in settings.items())
    return [f"--{name}={part}" for name, value in several for part in value]


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise ValueError
    return port


def _explore(options: argparse.Namespace) -> None:
    if importlib.util.find_spec("streamlit") is None:
        raise ValueError("explore needs Streamlit: pip install 'lowprec[explorer]'")
    app = Path(importlib.import_module("lowprec.explorer").__file__ or "").parent / "app.py"
    theme: dict[str, str] = importlib.import_module("lowprec.explorer.theme").OPTIONS
    command = importlib.import_module("streamlit.web.cli")
    sys.stdout.flush()
    command.main(["run", str(app), *flags(options.port, options.headless, theme)], standalone_mode=False)


def add_parser(commands: Any) -> None:
    """Add the command to those of the command line."""
    one = commands.add_parser("explore", help="a page in the browser: every bit, rounding and saturation")
    one.add_argument("--port", type=_port, metavar="N", help="the port (default: the first free one from 8501)")
    one.add_argument("--headless", action="store_true", help="do not open a browser")
    one.set_defaults(run=_explore)
