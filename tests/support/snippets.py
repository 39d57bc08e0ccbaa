"""Python that a page of the explorer offers to copy is run."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["run"]


def run(text: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """Return the names that it defines, and what it prints; skip the test where it needs onnx and that is missing."""
    names: dict[str, Any] = {}
    capsys.readouterr()
    if text.startswith("import onnx"):
        pytest.importorskip("onnx")
    exec(text, names)
    return names, capsys.readouterr().out
