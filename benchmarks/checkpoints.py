"""The commands `checkpoints` and `dask`: time and memory of converting large files.

`checkpoints`, without an option: a .safetensors file of float32 to float8_e4m3fn, with the report of what was lost,
against a plain copy of the same bytes and a loop of `astype` piece by piece, without report and saturation; the best
time counts. `--dequantize`: block FP8 as DeepSeek stores it and MXFP4 of gpt-oss, to bfloat16. `--recipes` and
`--scales`: weights in bfloat16, of a Llama, gpt-oss or a .gguf file, by every recipe and every kind of scale; medians
count. With `--peer-python PATH`, an interpreter that has llm-compressor, that quantizes a folder of `--peer-size` too.
Each way runs in a process of its own, which ends with fsync; they take turns. The copy reads the source, 8 MiB at a
time, and writes as many bytes as the result has. The time of the processor is that of all threads, in the program and
in the kernel. Peak memory is RssAnon, asked for every 5 ms.

`dask` quantizes a file of float32 that is larger than the memory of two Dask workers, each with a limit, chunk by
chunk. Printed: the most that each held, the time, and how many codes, compared one by one with NumPy's, differ.

Files are made in a folder of their own, and deleted.
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
from typing import Any, NamedTuple

import gguf
import ml_dtypes
import numpy as np

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.gguf_file import GgufFile
from lowprec.checkpoints.memory_limit import parse_size
from lowprec.checkpoints.recipes import RECIPES

PIECE = 8 << 20
ROWS, COLUMNS = 4096, 7168
"""A projection of DeepSeek V3."""

WIDTH = 4096
"""Of the layers of a Llama."""

HIDDEN = 2880
"""Of gpt-oss, whose experts are [2 * HIDDEN, HIDDEN] and [HIDDEN, HIDDEN]."""

Array = np.ndarray[Any, Any]
Entries = dict[str, tuple[str, tuple[int, ...], Array]]
"""By name: the type, the shape, and bytes that are repeated to fill the tensor."""


LLAMA, GPT_OSS = ("llama", "LlamaForCausalLM"), ("gpt_oss", "GptOssForCausalLM")

SIZES = {"F32": 4, "BF16": 2}
"""Bytes of an element, of other types one."""


def write(folder: Path, entries: Entries, quantization: dict[str, Any] | None, model: tuple[str, str] = LLAMA) -> None:
    """Write a folder of one file and a config.json; `model` is its type and its class."""
    folder.mkdir()
    header: dict[str, Any] = {}
    end = 0
    for name, (dtype, shape, _) in entries.items():
        start, end = end, end + int(np.prod(shape)) * SIZES.get(dtype, 1)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with Path(folder, "model.safetensors").open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name, (_, _, content) in entries.items():
            start, end = header[name]["data_offsets"]
            for at in range(start, end, content.size):
                stream.write(content[: min(content.size, end - at)])
        stream.flush()
        os.fsync(stream.fileno())
    config: dict[str, Any] = {"model_type": model[0], "architectures": [model[1]], "torch_dtype": "bfloat16"}
    if quantization is not None:
        config["quantization_config"] = quantization
    Path(folder, "config.json").write_text(json.dumps(config))


def block_fp8(folder: Path, size: int) -> None:
    """Write about so many bytes of weights in float8_e4m3fn with float32 factors to blocks of 128 by 128."""
    random = np.random.default_rng(20261122)
    codes = random.standard_normal(PIECE, np.float32).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    grid = (ROWS // 128, COLUMNS // 128)
    factors = (random.random(grid, np.float32) * np.float32(1e-3)).view(np.uint8).reshape(-1)
    entries: Entries = {}
    for number in range(max(1, size // (ROWS * COLUMNS))):
        name = f"model.layers.{number}.mlp.up_proj.weight"
        entries[name] = "F8_E4M3", (ROWS, COLUMNS), codes
        entries[f"{name}_scale_inv"] = "F32", grid, factors
    write(folder, entries, {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]})


def gpt_oss(folder: Path, size: int) -> None:
    """Write about so many bytes of experts in MXFP4: one layer."""
    random = np.random.default_rng(20261122)
    codes = random.integers(0, 256, PIECE, np.uint8)
    exponents = random.integers(115, 125, PIECE, np.uint8)
    experts = max(1, size // (3 * HIDDEN * HIDDEN // 32 * 17))
    entries: Entries = {}
    for name, rows in (("gate_up_proj", 2 * HIDDEN), ("down_proj", HIDDEN)):
        shape = (experts, rows, HIDDEN // 32)
        entries[f"model.layers.0.mlp.experts.{name}_blocks"] = "U8", (*shape, 16), codes
        entries[f"model.layers.0.mlp.experts.{name}_scales"] = "U8", shape, exponents
    write(folder, entries, {"quant_method": "mxfp4"})


def bf16_numbers() -> Array:
    """Return the bytes of normal numbers in BF16."""
    numbers = np.float32(0.02) * np.random.default_rng(20261122).standard_normal(PIECE // 2, np.float32)
    return numbers.astype(ml_dtypes.bfloat16).view(np.uint8)


def bf16_gpt_oss(folder: Path, size: int) -> None:
    """Write about so many bytes of experts of gpt-oss in BF16: one layer, whose inputs are the second axis."""
    content, experts = bf16_numbers(), max(1, size // (6 * HIDDEN * HIDDEN))
    shapes = {"gate_up_proj": (experts, HIDDEN, 2 * HIDDEN), "down_proj": (experts, HIDDEN, HIDDEN)}
    names = {f"model.layers.0.mlp.experts.{name}": shape for name, shape in shapes.items()}
    write(folder, {name: ("BF16", shape, content) for name, shape in names.items()}, None, GPT_OSS)


def bf16_gguf(folder: Path, size: int) -> None:
    """Write about so many bytes of weights in BF16 as model.gguf: projections of 4096 by 4096."""
    folder.mkdir()
    rows = np.resize(bf16_numbers(), (WIDTH, 2 * WIDTH))
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    for layer in range(max(1, size // rows.nbytes)):
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", rows, raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def bf16_model(folder: Path, size: int) -> None:
    """Write about so many bytes of weights in BF16, normal numbers: layers of two projections of 4096 by 4096."""
    content = bf16_numbers()
    shape, layers = (WIDTH, WIDTH), range(max(1, size // (4 * WIDTH * WIDTH)))
    names = (f"model.layers.{layer}.mlp.{which}_proj.weight" for layer in layers for which in ("gate", "up"))
    write(folder, dict.fromkeys(names, ("BF16", shape, content)), None)


JOBS = {"block FP8": (block_fp8, 1.1, 0.8, 128), "gpt-oss MXFP4": (gpt_oss, 2.5, 2.5, 256)}
"""By title: what writes the checkpoint, and the goals: wall and CPU time over a plain copy, peak MiB."""

SCALES = {
    "FP8, a scale to a row": {"to": "float8_e4m3fn", "scale": "axis:0"},
    "FP8, one scale": {"to": "float8_e4m3fn", "scale": "tensor"},
    "FP8, a scale to 128": {"to": "float8_e4m3fn", "scale": "block:128"},
    "MXFP4": {"to": "float4_e2m1fn", "scale": "block:32", "scale_format": "float8_e8m0fnu"},
    "int8, a scale to a row": {"to": "int8", "scale": "axis:0"},
    "int4, a scale to 128": {"to": "int4", "scale": "block:128"},
}
"""Conversions with scales, by title: the options of `convert`."""

GOALS = {
    "fp8-dynamic": 1.3, "fp8-block": 1.3, "int8": 1.4, "w4a16": 1.4, "w4a16-g32": 1.4, "mxfp4a16": 1.6, "mxfp8": 1.6,
    "nvfp4a16": 1.6, "FP8, a scale to a row": 1.3, "FP8, one scale": 1.3, "FP8, a scale to 128": 1.3, "MXFP4": 1.6,
    "int8, a scale to a row": 1.4, "int4, a scale to 128": 1.4, "q8_0": 1.6, "q4_0": 1.6, "mxfp4": 1.6,
}  # fmt: skip
"""CPU time over a plain copy, at most, by recipe or title; other recipes have none."""


LLM_COMPRESSOR = {
    "fp8-dynamic": "FP8_DYNAMIC", "fp8-block": "FP8_BLOCK", "int8": "W8A8", "w4a16": "W4A16", "mxfp4a16": "MXFP4A16",
    "mxfp8": "MXFP8A16", "nvfp4a16": "NVFP4A16",
}  # fmt: skip
"""Its presets, by our recipes."""
LLM_COMPRESSOR_SCRIPT = """
import resource, sys, time
from llmcompressor import model_free_ptq

def used():  # by this process and those that it started
    times = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in times)

if __name__ == "__main__":
    scheme, source, target = sys.argv[1:]
    before, started = used(), time.perf_counter()
    model_free_ptq(source, target, scheme=scheme, ignore=["lm_head"], device="cpu")
    print(time.perf_counter() - started, used() - before)
"""
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
    return watch([sys.executable, __file__, way, str(source), str(target), str(nbytes)])


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


def circumstances() -> dict[str, Any]:
    """Return machine, date and versions; what finds them is not loaded in the processes that are watched."""
    import stored_runs

    return stored_runs.circumstances()


def described() -> str:
    """Return machine, date and versions in one line."""
    import stored_runs

    return stored_runs.described(circumstances())


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
    print(f"{gib:.2f} GiB of float32 to {TARGET}, {described()}")
    print(f"peak anonymous memory      {peak:7.1f} MiB   (goal: at most 256)")
    print(f"time over a plain copy     {best['convert'] / best['copy']:7.2f}       (goal: at most 1.25)")
    print(f"NumPy + ml_dtypes over it  {best['loop'] / best['convert']:7.2f}       (goal: at least 5)")


def time_dequantization(folder: Path, size: int, repeat: int) -> None:
    """Dequantize folders, and print the costs as multiples of those of a plain copy."""
    print(f"to bfloat16, {described()}, best of {repeat}")
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


def time_quantization(folder: Path, jobs: Sequence[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Quantize a folder of weights in every way; print and return the costs as multiples of those of a plain copy."""
    target, found = folder / "target", []
    print(f"{options.size >> 20} MiB of bfloat16, {described()}, medians of {options.repeat}; x: over a plain copy")
    heads = ("CPU s", "CPU x", "goal", "wall x", "MiB", "peer CPU x", "peer wall x", "peer MiB")
    print(f"{'':24}", *(f"{head:>11}" for head in heads))
    for job in jobs:
        source = source_of(job, folder, "source", options.size)
        try:
            ours, copy = take_turns(partial(run, job, source), source, target, options.repeat)
        except subprocess.SubprocessError as error:  # a recipe for other checkpoints
            print(f"{job:24}  {str(error).rpartition(str(source))[2].partition(': ')[2]}", flush=True)
            shutil.rmtree(target, ignore_errors=True)
            continue
        row = {
            "case": job, "CPU s": round(ours.cpu, 2), "CPU x": round(ours.cpu / copy.cpu, 2), "goal": GOALS.get(job),
            "wall x": round(ours.seconds / copy.seconds, 2), "MiB": round(ours.peak),
            **peer_costs(job, folder, options),
        }  # fmt: skip
        found.append(row)
        print(f"{job:24}", *(f"{'-' if row.get(head) is None else row[head]:>11}" for head in heads), flush=True)
    return found


def source_of(job: str, folder: Path, name: str, size: int) -> Path:
    """Return a folder with weights in bfloat16 for a recipe or a kind of scale; it is written once."""
    write = bf16_gguf if job in GGUF else bf16_gpt_oss if job == "gptoss-mxfp4" else bf16_model
    source = folder / f"{name}-{write.__name__}"
    if not source.exists():
        write(source, size)
    return source


def peer_costs(job: str, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Return what gguf-py costs for its types, and llm-compressor for its presets, where it is asked for."""
    if job not in GGUF and not (options.peer_python and job in LLM_COMPRESSOR):
        return {}
    source, target = source_of(job, folder, "small", options.peer_size), folder / "target"
    script = folder / "llm_compressor.py"
    script.write_text(LLM_COMPRESSOR_SCRIPT, encoding="utf-8")
    words = [options.peer_python, str(script), LLM_COMPRESSOR.get(job, ""), str(source)]

    def command(target: Path) -> Cost:
        return run(f"gguf-py {job}", source, target) if job in GGUF else watch([*words, str(target)])

    try:
        peer, copy = take_turns(command, source, target, 1)
    except subprocess.SubprocessError as error:
        print(f"{job}: {error}")
        return {}
    ratios = {"peer CPU x": peer.cpu / copy.cpu, "peer wall x": peer.seconds / copy.seconds}
    return {**{name: round(ratio, 1) for name, ratio in ratios.items()}, "peer MiB": round(peer.peak)}


CHUNK, BLOCK = 2048, 32
"""Rows, 56 MiB of float32, and the elements that share a scale."""


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
    import dask.array as da

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


def time_dask(folder: Path, size: int, limit: int) -> None:
    """Quantize a file in two workers of so much memory, and print a line for each target."""
    import dask.array as da
    from distributed import Client, LocalCluster

    source, scales = folder / "values.npy", folder / "scales.npy"
    rows = max(CHUNK, size // (4 * COLUMNS))
    write_values(source, rows)
    write_scales(scales, rows)
    memory = {"memory_limit": limit, "local_directory": str(folder)}
    place = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **memory, **place) as cluster, Client(cluster) as client:
        print(f"file {source.stat().st_size / 2**30:.2f} GiB, two workers of {limit / 2**30:.2f} GiB each")
        for target in (TARGET, "uint8"):
            how = {"axis": 1, "block_size": BLOCK, "output_dtype": target}
            lazy = lp.quantize_linear(lazily(source), lazily(scales), **how)
            result = Target(folder / f"{target}.npy", lazy.shape)
            started = time.perf_counter()
            da.store(lazy, result, lock=False)
            taken = time.perf_counter() - started
            peaks = [f"{peak / 2**30:.2f}" for peak in client.run(peak_memory).values()]
            different = compare(source, scales, Path(result.path), target)
            print(f"{target:16} {taken:6.1f} s  peak memory of the workers {', '.join(peaks)} GiB  ", end="")
            print(f"{lazy.size:,} codes, {different} differ from NumPy's")


def main(arguments: list[str]) -> None:
    """Make checkpoints, convert them, print and store what that costs."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=["checkpoints", "dask"])
    default = "3G" if "dask" in arguments else "8G"
    parser.add_argument("--size", type=parse_size, default=default, help="of the input (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where there is room for it")
    parser.add_argument("--repeat", type=int, default=3, help="how often each way runs (default: %(default)s)")
    parser.add_argument("--dequantize", action="store_true", help="dequantize quantized folders to bfloat16")
    parser.add_argument("--recipes", action="store_true", help="quantize a folder of bfloat16 by every recipe")
    parser.add_argument("--scales", action="store_true", help="quantize it with every kind of --scale")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter that has llm-compressor, to compare with")
    parser.add_argument("--peer-size", type=parse_size, default="256M", help="of its input (default: %(default)s)")
    parser.add_argument("--store", action="store_true", help="with --recipes or --scales: replace the stored run")
    parser.add_argument("--limit", type=parse_size, default="1G", help="dask: of each worker (default: %(default)s)")
    options = parser.parse_args(arguments)
    needed = (6 if options.dequantize else 4) * options.size
    free = shutil.disk_usage(options.folder).free
    if free < needed:
        sys.exit(f"{options.folder}: has {free >> 20} MiB left; {needed >> 20} are needed")
    with tempfile.TemporaryDirectory(prefix="lowprec-benchmark-", dir=options.folder) as folder:
        if options.command == "dask":
            time_dask(Path(folder), options.size, options.limit)
            return
        jobs = [one.name for one in RECIPES] * options.recipes + list(SCALES) * options.scales
        if jobs:
            rows = time_quantization(Path(folder), jobs, options)
            if options.store:
                import stored_runs

                run = {"MiB": options.size >> 20, "repeat": options.repeat, **circumstances(), "rows": rows}
                stored_runs.store_other("checkpoints", "scales" if options.scales else "recipes", run)
            return
        measure = time_dequantization if options.dequantize else time_casts
        measure(Path(folder), options.size, options.repeat)


if __name__ == "__main__":  # in a process of its own, one of the ways
    run_here(*sys.argv[1:])
