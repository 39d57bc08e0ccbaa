"""Convert a large checkpoint: peak memory, and time against a plain copy and a NumPy + ml_dtypes loop.

    python benchmarks/convert.py --size 8G --folder /somewhere/with/room

makes a .safetensors file of float32 in a folder of its own, converts it to float8_e4m3fn, and deletes everything. Each
way runs in a process of its own, which ends with fsync; they take turns, and the best time counts. The plain copy
reads the same bytes, 8 MiB at a time, and writes as many as the conversion does. The loop is
``astype`` piece by piece, without a report and without saturation. The conversion is run as the command does it, with
its report of what was lost. Peak memory is RssAnon, asked for every 5 ms.

    python benchmarks/convert.py --dequantize --size 8G --folder /somewhere/with/room

makes folders of quantized weights instead, DeepSeek's block FP8 and gpt-oss's MXFP4, and dequantizes them to bfloat16.
The time of the processor counts too: of all threads, in the program and in the kernel.

    python benchmarks/convert.py --recipes --scales --size 2G --folder /somewhere/with/room

makes folders of weights in bfloat16, of Llama, gpt-oss and GGUF, and quantizes them by every recipe, and with every
kind of scale. A way and the
plain copy of the same bytes take turns; medians count. With ``--peer-python PATH``, an interpreter that has
llm-compressor, that quantizes a folder of ``--peer-size`` too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import gguf
import ml_dtypes
import numpy as np
from peer_llm_compressor import PRESETS
from quantized_checkpoints import GOALS, JOBS, SCALES, bf16_gguf, bf16_gpt_oss, bf16_model

from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.gguf_file import GgufFile
from lowprec.checkpoints.memory_limit import parse_size
from lowprec.checkpoints.recipes import RECIPES

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


def copy_folder(source: Path, target: Path, nbytes: int) -> None:
    """Read a folder in pieces and write so many bytes into another one."""
    target.mkdir()
    buffer, done, written = np.zeros(PIECE, np.uint8), 0, 0
    total = sum(file.stat().st_size for file in source.iterdir())
    with (target / "model.safetensors").open("wb", buffering=0) as writing:
        for file in source.iterdir():
            with file.open("rb", buffering=0) as reading:
                while n := reading.readinto(memoryview(buffer)):
                    done += n
                    while left := done * nbytes // total - written:
                        written += writing.write(buffer[: min(left, PIECE)])
        os.fsync(writing.fileno())


WAYS = {
    "convert": lambda source, target, _: convert(source, target, to=TARGET, overwrite=True),
    "copy": lambda source, target, _: loop(source, target, cast=False),
    "loop": lambda source, target, _: loop(source, target, cast=True),
    "dequantize": lambda source, target, _: convert(source, target, to="bfloat16"),
    "copy-folder": copy_folder,
}
WAYS |= {one.name: lambda source, target, _, name=one.name: convert(source, target, recipe=name) for one in RECIPES}  # type: ignore[misc]
GGUF = {one.name: one.scheme.code_name for one in RECIPES if GgufFile in one.containers}
"""What GGUF calls the types that recipes write."""


def encode_gguf(source: Path, target: Path, nbytes: int, *, name: str, peer: bool = False) -> None:
    """Quantize the file of a folder by a recipe or, as a peer, by gguf-py, whose bytes are written without a header."""
    target.mkdir()
    source, target = source / "model.gguf", target / "model.gguf"
    if not peer:
        convert(source, target, recipe=name)
        return
    kind = gguf.GGMLQuantizationType[GGUF[name]]
    with target.open("wb", buffering=0) as writing:
        for tensor in gguf.GGUFReader(source).tensors:
            writing.write(gguf.quants.quantize(gguf.quants.dequantize(tensor.data, tensor.tensor_type), kind))
        os.fsync(writing.fileno())


WAYS |= {name: partial(encode_gguf, name=name) for name in GGUF}
WAYS |= {f"gguf-py {name}": partial(encode_gguf, name=name, peer=True) for name in GGUF}
WAYS |= {title: lambda source, target, _, how=how: convert(source, target, **how) for title, how in SCALES.items()}  # type: ignore[misc]
CASTS = ("convert", "copy", "loop")


class Cost(NamedTuple):
    """Seconds of wall time and of the processor, and the peak of anonymous memory in MiB."""

    seconds: float
    cpu: float
    peak: float


def anonymous(pid: int) -> int:
    """Return how much memory of its own a process has, in KiB; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


def run(way: str, source: Path, target: Path, nbytes: int = 0) -> Cost:
    """Return what one way costs, run in a process of its own."""
    return watch([sys.executable, __file__, "--way", way, str(source), str(target), str(nbytes)])


def watch(command: list[str]) -> Cost:
    """Return what a command costs that prints its seconds and those of the processor last."""
    with (
        tempfile.TemporaryFile("w+", errors="replace") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        peak = 0
        while child.poll() is None:
            peak = max(peak, anonymous(child.pid))
            time.sleep(0.005)
        if child.returncode or child.stdout is None:
            errors.seek(0)
            raise subprocess.SubprocessError(errors.read().strip().rpartition("\n")[2][:200])
        seconds, cpu = map(float, child.stdout.read().split()[-2:])
    return Cost(seconds, cpu, peak / 1024)


def run_here(way: str, source: str, target: str, nbytes: str) -> None:
    """Run one way, and print its seconds and those of the processor."""
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    WAYS[way](Path(source), Path(target), int(nbytes))
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    print(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def processor() -> str:
    """Return the vendor and the name of the processor, and how many cores there are."""
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{fields.get('vendor_id')}, {fields.get('model name')}, {len(os.sched_getaffinity(0))} cores"


def time_casts(folder: Path, size: int, repeat: int) -> None:
    """Cast a file of float32, and print the costs."""
    source, target = folder / "source.safetensors", folder / "target.safetensors"
    make(source, size)
    gib = source.stat().st_size / 2**30
    best = dict.fromkeys(CASTS, math.inf)
    peak = 0.0
    for number in range(repeat):
        for way in CASTS:
            if way == "loop" and number:  # slow, and steady
                continue
            cost = run(way, source, target)
            target.unlink()
            best[way] = min(best[way], cost.seconds)
            peak = max(peak, cost.peak) if way == "convert" else peak
            print(
                f"  {way:8} {cost.seconds:8.2f} s  {gib / cost.seconds:6.2f} GiB/s  peak {cost.peak:6.1f} MiB",
                flush=True,
            )
    print(f"{gib:.2f} GiB of float32 to {TARGET}, {processor()}")
    print(f"peak anonymous memory      {peak:7.1f} MiB   (goal: at most 256)")
    print(f"time over a plain copy     {best['convert'] / best['copy']:7.2f}       (goal: at most 1.25)")
    print(f"NumPy + ml_dtypes over it  {best['loop'] / best['convert']:7.2f}       (goal: at least 5)")


def time_dequantization(folder: Path, size: int, repeat: int) -> None:
    """Dequantize folders, and print the costs as multiples of those of a plain copy."""
    print(f"to bfloat16, {processor()}, best of {repeat}")
    for title, (write, wall, cpu, mib) in JOBS.items():
        source, target = folder / "source", folder / "target"
        write(source, size)
        costs: dict[str, list[Cost]] = {"dequantize": [], "copy-folder": []}
        nbytes = 0
        for _ in range(repeat):
            for way, found in costs.items():
                found.append(run(way, source, target, nbytes))
                nbytes = sum(file.stat().st_size for file in target.iterdir())
                shutil.rmtree(target)
                one = found[-1]
                print(f"  {way:11} {one.seconds:8.2f} s  {one.cpu:8.2f} s CPU  peak {one.peak:6.1f} MiB", flush=True)
        ours, copy = (Cost(*map(min, zip(*found, strict=True))) for found in costs.values())
        peak = max(one.peak for one in costs["dequantize"])
        before = sum(file.stat().st_size for file in source.iterdir())
        print(f"{title}, {before >> 20} to {nbytes >> 20} MiB")
        print(f"  wall over a plain copy   {ours.seconds / copy.seconds:7.2f}       (goal: at most {wall})")
        print(f"  CPU time over it         {ours.cpu / copy.cpu:7.2f}       (goal: at most {cpu})")
        print(f"  peak anonymous memory    {peak:7.1f} MiB   (goal: at most {mib})", flush=True)
        shutil.rmtree(source)


def size_of(folder: Path) -> int:
    """Return how many bytes the files of a folder have."""
    return sum(file.stat().st_size for file in folder.iterdir())


def medians(costs: list[Cost]) -> Cost:
    """Return the median times and the largest peak."""
    seconds, cpu, peak = zip(*costs, strict=True)
    return Cost(statistics.median(seconds), statistics.median(cpu), max(peak))


def take_turns(command: Callable[[Path], Cost], source: Path, target: Path, repeat: int) -> tuple[Cost, Cost]:
    """Return what a way costs, and a plain copy of the same bytes."""
    ways: list[Cost] = []
    copies: list[Cost] = []
    for _ in range(repeat):
        ways.append(command(target))
        nbytes = size_of(target)
        shutil.rmtree(target)
        copies.append(run("copy-folder", source, target, nbytes))
        shutil.rmtree(target)
    return medians(ways), medians(copies)


def time_quantization(folder: Path, jobs: Sequence[str], options: argparse.Namespace) -> None:
    """Quantize a folder of weights in every way, and print the costs as multiples of those of a plain copy."""
    target = folder / "target"
    print(f"{options.size >> 20} MiB of bfloat16, {processor()}, medians of {options.repeat}; x: over a plain copy")
    print(f"{'':24}{'CPU s':>8}{'CPU x':>8}{'goal':>6}{'wall x':>8}{'MiB':>7}{'peer CPU x':>12}{'wall x':>8}{'MiB':>7}")
    for job in jobs:
        source = source_of(job, folder, "source", options.size)
        try:
            ours, copy = take_turns(partial(run, job, source), source, target, options.repeat)
        except subprocess.SubprocessError as error:  # a recipe for other checkpoints
            print(f"{job:24}  {str(error).rpartition(str(source))[2].partition(': ')[2]}", flush=True)
            shutil.rmtree(target, ignore_errors=True)
            continue
        row = f"{job:24}{ours.cpu:8.2f}{ours.cpu / copy.cpu:8.2f}{GOALS.get(job, '-'):>6}"
        row += f"{ours.seconds / copy.seconds:8.2f}{ours.peak:7.0f}"
        print(row + peer_columns(job, folder, options), flush=True)


def source_of(job: str, folder: Path, name: str, size: int) -> Path:
    """Return a folder with weights in bfloat16 for a recipe or a kind of scale; it is written once."""
    write = bf16_gguf if job in GGUF else bf16_gpt_oss if job == "gptoss-mxfp4" else bf16_model
    source = folder / f"{name}-{write.__name__}"
    if not source.exists():
        write(source, size)
    return source


def peer_columns(job: str, folder: Path, options: argparse.Namespace) -> str:
    """Return what gguf-py costs for its types, and llm-compressor for its presets, where it is asked for."""
    if job not in GGUF and not (options.peer_python and job in PRESETS):
        return ""
    source, target = source_of(job, folder, "small", options.peer_size), folder / "target"
    if job in GGUF:
        peer, copy = take_turns(partial(run, f"gguf-py {job}", source), source, target, 1)
        return f"{peer.cpu / copy.cpu:12.1f}{peer.seconds / copy.seconds:8.1f}{peer.peak:7.0f}"
    command = [options.peer_python, str(Path(__file__).with_name("peer_llm_compressor.py")), job, str(source)]
    try:
        peer, copy = take_turns(lambda target: watch([*command, str(target)]), source, target, 1)
    except subprocess.SubprocessError as error:
        return f"  {error}"
    return f"{peer.cpu / copy.cpu:12.1f}{peer.seconds / copy.seconds:8.1f}{peer.peak:7.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="8G", help="of the input (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where there is room for it")
    parser.add_argument("--repeat", type=int, default=3, help="how often each way runs (default: %(default)s)")
    parser.add_argument("--dequantize", action="store_true", help="dequantize quantized folders to bfloat16")
    parser.add_argument("--recipes", action="store_true", help="quantize a folder of bfloat16 by every recipe")
    parser.add_argument("--scales", action="store_true", help="quantize it with every kind of --scale")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter that has llm-compressor, to compare with")
    parser.add_argument("--peer-size", type=parse_size, default="256M", help="of its input (default: %(default)s)")
    parser.add_argument("--way", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        run_here(*options.way)
        return
    needed = (6 if options.dequantize else 4) * options.size
    free = shutil.disk_usage(options.folder).free
    if free < needed:
        sys.exit(f"{options.folder}: has {free >> 20} MiB left; {needed >> 20} are needed")
    with tempfile.TemporaryDirectory(prefix="lowprec-benchmark-", dir=options.folder) as folder:
        jobs = [one.name for one in RECIPES] * options.recipes + list(SCALES) * options.scales
        if jobs:
            time_quantization(Path(folder), jobs, options)
            return
        measure = time_dequantization if options.dequantize else time_casts
        measure(Path(folder), options.size, options.repeat)


if __name__ == "__main__":
    main()
