"""`lowprec explore`: its settings, its messages, and a server on the loopback interface that ends on request."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from support.browser import free_port, server, wait_for
from support.command_line import fail, usage_error

from lowprec.cli import explore
from lowprec.explorer.shared import theme


def test_without_streamlit_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None if name == "streamlit" else find(name, *_))
    assert fail("explore", "--headless") == "explore needs Streamlit: pip install 'lowprec[explorer]'"


@pytest.mark.parametrize("port", ["65536", "-1", "http", "", "8_501", "9" * 5000, "1.0"])
def test_a_wrong_port_is_one_line(port: str) -> None:
    err = usage_error("explore", f"--port={port}")
    assert err.count("\n") == 1
    assert err.startswith("lowprec: --port must be a number from 0 (any free port) to 65535; got ")


def test_the_settings_are_safe_and_known_to_streamlit() -> None:
    config = pytest.importorskip("streamlit.config")
    flags = explore.flags(8599, True, theme.OPTIONS)
    settings = [flag.removeprefix("--").partition("=")[::2] for flag in flags]
    assert ("server.address", "127.0.0.1") in settings
    assert ("browser.gatherUsageStats", "false") in settings
    assert ("server.port", "8599") in settings
    assert ("server.headless", "true") in settings
    assert float(dict(settings)["global.minCachedMessageSize"]) > 1e8  # no message is looked up in a cache
    assert ("runner.postScriptGC", "false") in settings  # else each run ends with a full collection
    assert [value for name, value in settings if name == "server.allowedHosts"] == ["127.0.0.1", "localhost"]
    assert {name for name, _ in settings} <= set(config.get_config_options(force_reparse=False))
    assert not any(flag.startswith("--server.port") for flag in explore.flags(None, False, {}))


def test_a_busy_port_is_an_error() -> None:
    pytest.importorskip("streamlit")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = str(holder.getsockname()[1])
        command = [sys.executable, "-m", "lowprec", "explore", "--headless", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert port in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_port_0_is_any_free_port() -> None:
    pytest.importorskip("streamlit")
    found = set()
    with contextlib.ExitStack() as stack:
        for _ in range(2):  # two at a time: no fixed port
            address = stack.enter_context(server(port=0))
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=20) as answer:
                assert answer.status == 200
            found.add(urllib.parse.urlsplit(address).port)
    assert len(found) == 2
    assert not found & {0, None}


def handshake(address: str, origin: str, host: str = "") -> int:
    """Ask for the page's WebSocket as a page of another host would, and return the status."""
    place = urllib.parse.urlsplit(address)
    request = (
        f"GET /_stcore/stream HTTP/1.1\r\nHost: {host or place.netloc}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port), timeout=60) as line:
        line.sendall(request.encode())
        return int(line.recv(4096).split()[1])


def status(address: str, path: str, host: str) -> int:
    """Return the status of a request over plain HTTP that names some host."""
    asked = urllib.request.Request(f"{address}/{path}", headers={"Host": host})
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_strangers_are_refused_and_no_other_host_is_asked() -> None:
    """Foreign origins and hosts, over WebSockets and plain HTTP; there are no metrics."""
    pytest.importorskip("streamlit")
    with socket.socket() as proxy:  # where every request to an outside host would go
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        proxy.settimeout(1)
        there = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        outside = {"http_proxy": there, "https_proxy": there, "HTTP_PROXY": there, "no_proxy": "", "NO_PROXY": ""}
        with server(environment=outside) as address:
            port = address.rpartition(":")[2]
            assert handshake(address, address) == 101
            assert handshake(address, "http://example.org") == 403
            assert handshake(address, "http://example.org", "example.org") == 400  # a name that leads here
            for path in ("", "start", "_stcore/health", "_stcore/host-config"):
                assert status(address, path, f"127.0.0.1:{port}") == status(address, path, "localhost") == 200, path
                for host in ("example.com", f"example.com:{port}", "127.0.0.1.example.com"):
                    assert status(address, path, host) == 400, (path, host)
            assert status(address, "_stcore/metrics", f"127.0.0.1:{port}") == 404
            with pytest.raises(TimeoutError):
                proxy.accept()


def test_it_serves_from_any_folder_and_ends_on_interrupt(tmp_path: Path) -> None:
    pytest.importorskip("streamlit")
    port = free_port()
    (tmp_path / ".streamlit").mkdir()  # a stranger's settings do not open the server to the world
    (tmp_path / ".streamlit" / "config.toml").write_text('[server]\naddress = "0.0.0.0"\n', encoding="utf-8")
    command = [sys.executable, "-m", "lowprec", "explore", "--headless", "--port", str(port)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health", process)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
                assert b"<html" in answer.read()
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert f"http://127.0.0.1:{port}" in out
    assert "0.0.0.0" not in out
    assert "Traceback" not in out
    assert process.returncode in (0, 130)
    assert [path.name for path in tmp_path.iterdir()] == [".streamlit"]
