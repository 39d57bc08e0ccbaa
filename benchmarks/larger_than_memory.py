"""The command `dask`: quantizes a file larger than the memory of two Dask workers, each with a limit, chunk by chunk.

The file is float32, written beside the results in a temporary directory. Printed: what the workers were allowed, the
most they held, the time, and how many of the codes, compared one by one with NumPy's, differ.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import lowprec as lp

COLUMNS = 8192
CHUNK = 2048  # rows: 64 MiB of float32
BLOCK = 32


def write_values(path: Path, rows: int) -> None:
    """Write random values, some of them out of range, without ever holding more than a chunk of them."""
    values = np.lib.format.open_memmap(path, "w+", np.float32, (rows, COLUMNS))
    rng = np.random.default_rng(0)
    for start in range(0, rows, CHUNK):
        part = rng.standard_normal((min(CHUNK, rows - start), COLUMNS), np.float32)
        values[start : start + len(part)] = part * 300
    values.flush()


def write_scales(path: Path, rows: int) -> None:
    np.save(path, np.random.default_rng(1).uniform(0.5, 2, (rows, COLUMNS // BLOCK)).astype(np.float32))


def read_rows(path: str, block_info: Any = None) -> np.ndarray:
    """Read a chunk of the file: in the worker, so that nothing large is sent to it."""
    start, stop = block_info[None]["array-location"][0]
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def lazily(path: Path) -> Any:
    """Return a file as a Dask array of chunks of rows."""
    shape = np.load(path, mmap_mode="r").shape
    chunks = da.core.normalize_chunks((CHUNK, shape[1]), shape)
    return da.map_blocks(read_rows, str(path), chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))


def peak_memory(dask_worker: Any) -> int:
    """Return the most memory that a worker has held, in bytes; Linux alone says so of the process itself."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


class Target:
    """A file that takes the chunks of a result, opened by whoever writes one."""

    def __init__(self, path: Path, shape: tuple[int, ...]) -> None:
        self.path = str(path)
        np.lib.format.open_memmap(path, "w+", np.uint8, shape).flush()

    def __setitem__(self, index: Any, codes: np.ndarray) -> None:
        held = np.load(self.path, mmap_mode="r+")
        held[index] = codes
        held.flush()


def compare(source: Path, scales: Path, result: Path, target: str) -> int:
    """Return how many codes of the result differ from NumPy's."""
    values, scale, codes = (np.load(path, mmap_mode="r") for path in (source, scales, result))
    different = 0
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        arrays = np.array(values[part]), np.array(scale[part])
        expected = lp.quantize_linear(*arrays, axis=1, block_size=BLOCK, output_dtype=target)
        different += int(np.count_nonzero(expected.view(np.uint8) != codes[part]))
    return different


def main(arguments: list[str]) -> None:
    """Run it and print a line for each target."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["dask"])
    parser.add_argument("size", nargs="?", type=float, default=3.0, help="GiB of the file (default: %(default)s)")
    parser.add_argument("limit", nargs="?", type=float, default=1.0, help="GiB of a worker (default: %(default)s)")
    options = parser.parse_args(arguments)
    rows = max(CHUNK, int(options.size * 2**30) // (4 * COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        source, scales = Path(folder, "values.npy"), Path(folder, "scales.npy")
        write_values(source, rows)
        write_scales(scales, rows)
        limit = int(options.limit * 2**30)
        memory = {"memory_limit": limit, "local_directory": folder}
        place = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        with LocalCluster(n_workers=2, threads_per_worker=1, **memory, **place) as cluster, Client(cluster) as client:
            print(f"file {source.stat().st_size / 2**30:.2f} GiB, two workers of {options.limit:.2f} GiB each")
            for target in ("float8_e4m3fn", "uint8"):
                how = {"axis": 1, "block_size": BLOCK, "output_dtype": target}
                lazy = lp.quantize_linear(lazily(source), lazily(scales), **how)
                result = Target(Path(folder, f"{target}.npy"), lazy.shape)
                started = time.perf_counter()
                da.store(lazy, result, lock=False)
                taken = time.perf_counter() - started
                peaks = [f"{peak / 2**30:.2f}" for peak in client.run(peak_memory).values()]
                different = compare(source, scales, Path(result.path), target)
                print(f"{target:16} {taken:6.1f} s  peak memory of the workers {', '.join(peaks)} GiB  ", end="")
                print(f"{lazy.size:,} codes, {different} differ from NumPy's")
