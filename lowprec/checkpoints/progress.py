"""Progress of a conversion: tqdm's bar or lines on standard error, or calls of the caller's own function."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, Literal, get_args

from ..spec.scalar_arguments import shown

__all__ = ["STYLES", "Callback", "Progress", "ProgressName", "as_progress", "make_progress", "size_text"]

ProgressName = Literal["auto", "bar", "plain", "none"]
"""How the progress of a conversion is shown."""

STYLES: tuple[ProgressName, ...] = get_args(ProgressName)

Callback = Callable[[int, int, str], object]
"""Is called with the bytes that are done, those of the whole, and the name of the tensor that was read last."""

INTERVAL = 5.0
"""Seconds between lines."""


def size_text(nbytes: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} TiB"


class Progress:
    """Counts the bytes that are read, and shows nothing."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0

    def phase(self, name: str) -> None:
        """Name the step that begins."""

    def advance(self, nbytes: int, tensor: str = "") -> None:
        """Add bytes of a tensor that have been read."""
        self.done += nbytes

    def skip(self, nbytes: int) -> None:
        """Add bytes that need not be read: they count as done, and not for the rate."""
        self.done += nbytes

    def say(self, text: str) -> None:
        """Show a line."""

    def close(self) -> None:
        """Show no more."""


class _Bar(Progress):
    def __init__(self, total: int, tqdm: Any) -> None:
        super().__init__(total)
        self._bar = tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, leave=False)
        self.phase, self.close = self._bar.set_description, self._bar.close  # type: ignore[method-assign]

    def advance(self, nbytes: int, tensor: str = "") -> None:
        super().advance(nbytes, tensor)
        self._bar.update(nbytes)

    def skip(self, nbytes: int) -> None:
        super().skip(nbytes)
        self._bar.initial += nbytes
        self._bar.n += nbytes
        self._bar.refresh()

    def say(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)


class _Lines(Progress):
    def __init__(self, total: int) -> None:
        super().__init__(total)
        self._name, self._started, self._skipped = "", time.monotonic(), 0
        self._next = self._started + INTERVAL

    def phase(self, name: str) -> None:
        self._name = name

    def skip(self, nbytes: int) -> None:
        super().skip(nbytes)
        self._skipped += nbytes

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def advance(self, nbytes: int, tensor: str = "") -> None:
        super().advance(nbytes, tensor)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + INTERVAL
            rate = (self.done - self._skipped) / max(now - self._started, 1e-9)
            left = (self.total - self.done) / rate if rate else 0.0
            text = f"{self._name}: {100 * self.done / max(self.total, 1):.0f} % of {size_text(self.total)}"
            print(f"{text}, {size_text(rate)}/s, {left:.0f} s left", file=sys.stderr, flush=True)


class _Calls(Progress):
    def __init__(self, total: int, function: Callback) -> None:
        super().__init__(total)
        self._function = function

    def advance(self, nbytes: int, tensor: str = "") -> None:
        super().advance(nbytes, tensor)
        self._function(self.done, self.total, tensor)

    def skip(self, nbytes: int) -> None:
        super().skip(nbytes)
        if nbytes:
            self._function(self.done, self.total, "")


def as_progress(progress: object) -> str | Callback:
    """Return one of `STYLES`, or a function to be called; True is ``auto``, False ``none``, all else a ValueError."""
    if isinstance(progress, bool):
        return "auto" if progress else "none"
    if callable(progress) or (isinstance(progress, str) and progress in STYLES):
        return progress
    names = ", ".join(STYLES)
    raise ValueError(f"`progress` must be one of {names}, or a function of done, total and name; got {shown(progress)}")


def make_progress(progress: str | Callback, total: int) -> Progress:
    """Return a display of so many bytes in one of `STYLES`, ``auto`` a bar on a terminal with tqdm; or calls."""
    if not isinstance(progress, str):
        return _Calls(total, progress)
    if progress == "none" or sys.stderr is None:
        return Progress(total)
    tqdm = None if progress == "plain" or (progress == "auto" and not sys.stderr.isatty()) else _tqdm()
    if tqdm is None and progress == "bar":
        raise ImportError("`progress` bar needs tqdm, which is not installed: pip install 'lowprec[convert]'")
    return _Lines(total) if tqdm is None else _Bar(total, tqdm)


def _tqdm() -> Any:
    try:
        return importlib.import_module("tqdm").tqdm
    except ImportError:
        return None
