"""What the long runs of tests/proof share: the line that names machine and date, and a limit of time."""

from __future__ import annotations

import datetime
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import lowprec as lp


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return fields.get("model name", platform.machine())


def circumstances() -> str:
    """Return machine, system, Python, version and date in one line: what docs/proof.md says of a figure."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, lowprec {lp.__version__}"
    return f"{_processor()}, {cores} cores, {system}, {datetime.date.today().isoformat()}"


def until(minutes: float) -> Iterator[int]:
    """Yield 0, 1, 2, … until so many minutes have passed; at least once."""
    end, count = time.monotonic() + 60 * minutes, 0
    while count == 0 or time.monotonic() < end:
        yield count
        count += 1
