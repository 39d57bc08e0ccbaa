"""How far a conversion is: a bar on a terminal, a line now and then elsewhere, JSON lines for machines."""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from .npy_header import FileError

__all__ = ["STYLES", "Progress", "make_progress", "size_text"]

STYLES = ("auto", "bar", "plain", "json", "none")

_EVERY = {"plain": 5.0, "json": 0.5}
"""Seconds between lines."""


def size_text(nbytes: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} TiB"


class Progress:
    """Says nothing; the others say it on standard error."""

    def __init__(self, total: int) -> None:
        """Start at none of so many bytes."""
        self.total, self.done, self.started = total, 0, time.monotonic()

    def phase(self, name: str) -> None:
        """Say what is being done from now on."""

    def advance(self, nbytes: int) -> None:
        """Say that so many more bytes are done."""
        self.done += nbytes

    def close(self) -> None:
        """Say no more."""

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self.done / max(time.monotonic() - self.started, 1e-9)


class _Lines(Progress):
    def __init__(self, total: int, style: str) -> None:
        super().__init__(total)
        self._style, self._name, self._next = style, "", self.started + _EVERY[style]

    def phase(self, name: str) -> None:
        self._name = name
        if self._style == "json":
            self._say()

    def advance(self, nbytes: int) -> None:
        super().advance(nbytes)
        if time.monotonic() >= self._next:
            self._say()

    def _say(self) -> None:
        self._next = time.monotonic() + _EVERY[self._style]
        left = (self.total - self.done) / self.rate if self.done else None
        if self._style == "json":
            fields: dict[str, Any] = {"phase": self._name, "bytes": self.done, "of": self.total}
            fields |= {"bytes_per_second": round(self.rate), "seconds_left": None if left is None else round(left, 1)}
            print(json.dumps(fields), file=sys.stderr, flush=True)
            return
        eta = "" if left is None else f", {size_text(self.rate)}/s, {left:.0f} s left"
        part = f"{100 * self.done / self.total:.0f} %" if self.total else "100 %"
        print(f"{self._name}: {part} of {size_text(self.total)}{eta}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._style == "json":
            self._name = "done" if self.done >= self.total else "stopped"
            self._say()


class _Bar(Progress):
    def __init__(self, total: int, tqdm: Any) -> None:
        super().__init__(total)
        self._bar = tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, leave=False)

    def phase(self, name: str) -> None:
        self._bar.set_description(name)

    def advance(self, nbytes: int) -> None:
        super().advance(nbytes)
        self._bar.update(nbytes)

    def close(self) -> None:
        self._bar.close()


def make_progress(style: str, total: int) -> Progress:
    """Return what tells of so many bytes in one of `STYLES`; ``auto`` is a bar on a terminal that has tqdm."""
    if style not in STYLES:
        raise ValueError(f"`progress` must be one of {', '.join(STYLES)}; got {style!r}")
    if style == "auto":
        style = "bar" if sys.stderr is not None and sys.stderr.isatty() and _tqdm() is not None else "plain"
    if style == "bar":
        tqdm = _tqdm()
        if tqdm is None:
            raise FileError("--progress bar needs tqdm: pip install 'lowprec[convert]'")
        return _Bar(total, tqdm)
    return Progress(total) if style == "none" or sys.stderr is None else _Lines(total, style)


def _tqdm() -> Any:
    try:
        return importlib.import_module("tqdm").tqdm
    except ImportError:
        return None
