"""Convert a large checkpoint: peak memory, and time against a plain copy and a NumPy + ml_dtypes loop.

    python benchmarks/convert.py --size 8G --folder /somewhere/with/room

makes a .safetensors file of float32 in a folder of its own, converts it to float8_e4m3fn, and deletes everything. Each
way runs in a process of its own, which ends with fsync; they take turns, and the best time counts. The plain copy
reads the same bytes, 8 MiB at a time, and writes as many as the conversion does. The loop is
``astype`` piece by piece, without a report and without saturation. The conversion is run as the command does it, with
its report of what was lost. Peak memory is RssAnon, asked for every 5 ms.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ml_dtypes
import numpy as np

from lowprec.checkpoints import convert
from lowprec.checkpoints.files.limits import parse_size

PIECE = 8 << 20
TENSORS = 16
TARGET = "float8_e4m3fn"


def make(path: Path, size: int) -> None:
    """Write a checkpoint of about so many bytes: normal numbers, spread as those of layers are."""
    rng = np.random.default_rng(20261121)
    rows = max(1, size // TENSORS // (4 * 4096))
    nbytes = 4 * 4096 * rows
    entries = {
        f"layers.{i}.weight": {"dtype": "F32", "shape": [rows, 4096], "data_offsets": [i * nbytes, (i + 1) * nbytes]}
        for i in range(TENSORS)
    }
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    block = (0.02 * rng.standard_normal(PIECE // 4)).astype(np.float32)
    with path.open("wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        for i in range(TENSORS):
            scaled = (block * np.float32(1 + i / 8)).view(np.uint8)
            for start in range(0, nbytes, PIECE):
                stream.write(scaled[: min(PIECE, nbytes - start)])
        stream.flush()
        os.fsync(stream.fileno())


def loop(source: Path, target: Path, *, cast: bool) -> None:
    """Read in pieces and write a quarter of the bytes: those of the cast, or any."""
    buffer = np.empty(PIECE, np.uint8)
    with source.open("rb", buffering=0) as reading, target.open("wb", buffering=0) as writing:
        header = reading.read(8 + int.from_bytes(reading.read(8), "little"))
        writing.write(header)
        while n := reading.readinto(memoryview(buffer)):
            if cast:
                writing.write(buffer[: n // 4 * 4].view(np.float32).astype(ml_dtypes.float8_e4m3fn).view(np.uint8))
            else:
                writing.write(buffer[: n // 4])
        os.fsync(writing.fileno())


WAYS = {
    "convert": lambda source, target: convert(source, target, to=TARGET, overwrite=True),
    "copy": lambda source, target: loop(source, target, cast=False),
    "loop": lambda source, target: loop(source, target, cast=True),
}


def anonymous(pid: int) -> int:
    """Return how much memory of its own a process has, in KiB; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


def run(way: str, source: Path) -> tuple[float, float]:
    """Return the seconds and the peak MiB of one way, run in a process of its own."""
    target = source.with_name("target.safetensors")
    command = [sys.executable, __file__, "--way", way, "--folder", str(source.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        peak = 0
        while child.poll() is None:
            peak = max(peak, anonymous(child.pid))
            time.sleep(0.005)
        if child.returncode or child.stdout is None:
            sys.exit(f"{way} failed")
        seconds = float(child.stdout.read())
    target.unlink()
    return seconds, peak / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="8G", help="of the input (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where there is room for it")
    parser.add_argument("--repeat", type=int, default=3, help="how often each way runs (default: %(default)s)")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        started = time.perf_counter()
        WAYS[options.way](options.folder / "source.safetensors", options.folder / "target.safetensors")
        print(time.perf_counter() - started)
        return
    free = shutil.disk_usage(options.folder).free
    if free < 2 * options.size:
        sys.exit(f"{options.folder}: has {free >> 20} MiB left; {2 * options.size >> 20} are needed")
    with tempfile.TemporaryDirectory(prefix="lowprec-benchmark-", dir=options.folder) as folder:
        source = Path(folder, "source.safetensors")
        make(source, options.size)
        gib = source.stat().st_size / 2**30
        best = dict.fromkeys(WAYS, math.inf)
        peak = 0.0
        for number in range(options.repeat):
            for way in WAYS:
                if way == "loop" and number:  # slow, and steady
                    continue
                seconds, mib = run(way, source)
                best[way] = min(best[way], seconds)
                peak = max(peak, mib) if way == "convert" else peak
                print(f"  {way:8} {seconds:8.2f} s  {gib / seconds:6.2f} GiB/s  peak {mib:6.1f} MiB", flush=True)
    print(f"{gib:.2f} GiB of float32 to {TARGET}, {len(os.sched_getaffinity(0))} cores")
    print(f"peak anonymous memory      {peak:7.1f} MiB   (goal: at most 256)")
    print(f"time over a plain copy     {best['convert'] / best['copy']:7.2f}       (goal: at most 1.25)")
    print(f"NumPy + ml_dtypes over it  {best['loop'] / best['convert']:7.2f}       (goal: at least 5)")


if __name__ == "__main__":
    main()
