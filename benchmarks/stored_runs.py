"""Stored runs, a JSON file for each kind of machine in benchmarks/results/, and the tables that are made of them."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

import rows
from peers import BLOCK_PEERS, PEERS, ROUNDING_PEERS

from lowprec import _kernels

FOLDER = Path(__file__).with_name("results")
OTHERS = ("checkpoints", "gpu")
"""Files of that folder that hold no runs of conversions."""
VERSIONS = ("numpy", "ml_dtypes", "torch", "onnxruntime", "jax")
VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}

ROOT = Path(__file__).parent.parent
LESSER_LOOPS = {"v3": "AVX2", "base": "baseline"}
"""The columns of instruction sets that are less than the machine has."""
OURS = ("lowprec", *LESSER_LOOPS.values(), "2 threads", "non-temporal")
COLUMNS = tuple(dict.fromkeys((*OURS, *PEERS, *ROUNDING_PEERS, *BLOCK_PEERS)))
README_ROWS = (
    "float32 → float8_e4m3fn",
    "quantize float32 → int8, block 32",
    "dequantize int4 packed → float32, block 32",
)
README_COLUMNS = ("lowprec", "torch", "torch.compile", "ONNX Runtime", "JAX", "NumPy")
HEADS = {"NumPy": "NumPy, ml_dtypes", "2 threads": f"2 threads (≤ {rows.TWO_THREADS})"}
MISSED = " ✗"


def _numbers(vendor: str, family: int, *models: int) -> set[tuple[str, int, int]]:
    return {(vendor, family, model) for model in models}


GENERATIONS = {
    "Zen 2": _numbers("AuthenticAMD", 23, *range(0x30, 0x40), *range(0x60, 0x80)),
    "Zen 3": _numbers("AuthenticAMD", 25, *range(0x10), *range(0x20, 0x60)),
    "Zen 4": _numbers("AuthenticAMD", 25, *range(0x10, 0x20), *range(0x60, 0xB0)),
    "Zen 5": _numbers("AuthenticAMD", 26, *range(0x80)),
    "Skylake": _numbers("GenuineIntel", 6, 85),
    "Ice Lake": _numbers("GenuineIntel", 6, 106, 108),
    "Sapphire Rapids": _numbers("GenuineIntel", 6, 143),
    "Emerald Rapids": _numbers("GenuineIntel", 6, 207),
    "Granite Rapids": _numbers("GenuineIntel", 6, 173, 174),
}
"""The processors of servers, by family and model."""


def _cpu_fields() -> dict[str, str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _caches() -> dict[str, str]:
    """Return `{"L1d": "48K", …}` of the first core; empty where the system does not tell."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind, "")] = size
    return found


def generation(vendor: str, family: int, model: int) -> str:
    """Return what the maker calls a generation, as far as it is listed, and its numbers."""
    known = next((name for name, numbers in GENERATIONS.items() if (vendor, family, model) in numbers), "")
    return f"{known} (family {family}, model {model})" if known else f"family {family}, model {model}"


def machine() -> dict[str, Any]:
    """Return vendor, model, generation, the cores that the process may use, and caches."""
    fields = _cpu_fields()
    vendor = fields.get("vendor_id", platform.machine())
    affinity = getattr(os, "sched_getaffinity", None)
    family, model = (int(fields.get(name, -1)) for name in ("cpu family", "model"))
    return {
        "vendor": VENDORS.get(vendor, vendor.lower()),
        "model": fields.get("model name", platform.processor()),
        "generation": generation(vendor, family, model),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "caches": _caches(),
        "system": platform.system(),
    }


def _compiler() -> str:
    """Return the compiler that is named in the compiled kernels."""
    named = re.search(rb"GCC: \([^)]*\) [0-9.]+|clang version [0-9.]+", Path(_kernels.__file__).read_bytes())
    return named[0].decode("ascii") if named else "unknown"


def _commit() -> str:
    command = ["git", "-C", str(FOLDER.parent), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def circumstances() -> dict[str, Any]:
    """Return what a run is stored with, beside its rows."""
    versions = {}
    for name in VERSIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "date": str(date.today()),
        "commit": _commit(),
        "machine": machine(),
        "compiler": _compiler(),
        "loops": _kernels.isa(),
        "versions": versions,
        "load average": round(os.getloadavg()[0], 2),
    }


def described(run: dict[str, Any]) -> str:
    """Return the circumstances of a run in one line."""
    cpu, versions = run["machine"], run.get("versions", {})
    caches = "/".join(f"{size} {name}" for name, size in cpu.get("caches", {}).items() if name != "L1i")
    words = [
        ", ".join(
            filter(None, (cpu["model"], cpu.get("generation"), f"{cpu['cores']} cores" + f" ({caches})" * bool(caches)))
        ),
        run["date"],
        f"commit {run['commit']}" if "commit" in run else "",
        f"loops {run['loops']}" if "loops" in run else "",
        run.get("compiler", ""),
        *(f"{name} {version}" for name, version in versions.items()),
        f"load average {run['load average']}" if "load average" in run else "",
        run.get("note", ""),
    ]
    return ", ".join(word for word in words if word)


def folder_of(command: str) -> Path:
    """Return where the runs of a command are stored: those of casts in the folder itself."""
    return FOLDER / command if command in ("roundings", "blocks") else FOLDER


def names(folder: Path = FOLDER) -> list[str]:
    """Return the names of the files that hold runs."""
    return [path.stem for path in sorted(folder.glob("*.json")) if path.stem not in OTHERS]


def name_of(cpu: dict[str, Any]) -> str:
    """Return the name of the file with the runs of such a machine: of its vendor and generation."""
    known = str(cpu["generation"]).partition(" (")[0]
    return re.sub("[^a-z0-9]+", "-", f"{cpu['vendor']} {known}".lower())


def load(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return the runs of a file by the number of elements (a text); empty where none are stored."""
    path = folder / f"{name}.json"
    runs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return runs


def store(run: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Replace the stored run of the same vendor, generation and number of elements."""
    name = name_of(run["machine"])
    runs = load(name, folder) | {str(run["elements"]): run}
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(_json(dict(sorted(runs.items(), key=lambda item: int(item[0]))), 0) + "\n", encoding="utf-8")
    return path


def store_other(name: str, what: str, run: dict[str, Any]) -> None:
    """Replace one run of a file that holds no runs of conversions."""
    path = FOLDER / f"{name}.json"
    path.write_text(_json(load(name) | {what: run}, 0) + "\n", encoding="utf-8")


def of_this_machine(folder: Path = FOLDER) -> dict[str, Any]:
    """Return the runs that are stored for the vendor and the generation of this machine; empty where none are."""
    here = machine()
    for name in names(folder):
        found = {
            elements: run
            for elements, run in load(name, folder).items()
            if all(run["machine"].get(what) == here[what] for what in ("vendor", "generation"))
        }
        if found:
            return found
    return {}


def stored_ratios(run: dict[str, Any], loops: str) -> dict[str, float]:
    """Return the multiples of a copy of a run by loops of an instruction set, by the names of the rows."""
    name = "lowprec" if run["loops"] == loops else LESSER_LOOPS.get(loops, "")
    found = ((row["case"], rows.multiples(row)) for row in run["rows"])
    return {case: ratios[name] for case, ratios in found if name in ratios}


def _json(value: Any, depth: int) -> str:
    """Return JSON with one line for each row, so that two runs can be compared by lines."""
    if not isinstance(value, (dict, list)) or not value or depth == 3:
        return json.dumps(value, ensure_ascii=False)
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + inner + f",{inner}".join(_json(item, 3) for item in value) + outer + "]"
    parts = (f"{json.dumps(key, ensure_ascii=False)}: {_json(item, depth + 1)}" for key, item in value.items())
    return "{" + inner + f",{inner}".join(parts) + outer + "}"


Table = tuple[list[str], list[list[str]]]
"""The head of a table, and its rows; the first column has names."""


def markdown(table: Table, indent: str = "") -> str:
    """Return a table as Markdown; columns of numbers are aligned to the right."""
    head, lines = table
    marks = ["---", *("---" if name.startswith("other") else "---:" for name in head[1:])]
    return "\n".join(f"{indent}| {' | '.join(cells)} |".replace("|  |", "| |") for cells in (head, marks, *lines))


def size(elements: int) -> str:
    """Return 64 Mi for 67108864."""
    for shift, unit in ((20, " Mi"), (10, " Ki")):
        if elements >> shift << shift == elements and elements >> shift:
            return f"{elements >> shift}{unit}"
    return str(elements)


def columns(lines: list[dict[str, Any]]) -> list[str]:
    """Return the columns for which some row has a time."""
    return [name for name in COLUMNS if any(name in row["minimum"] for row in lines)]


def head(names: Sequence[str], more: Sequence[str] = ()) -> list[str]:
    """Return the head of the table of a run."""
    return ["", "copy, ns", "target", *(HEADS.get(name, name) for name in names), *more, "other bits"]


def cells_of(
    row: dict[str, Any], names: Sequence[str], elements: int, known: dict[str, dict[str, float]], loops: str,
    statistic: str = "minimum", more: Sequence[str] = (),
) -> list[str]:  # fmt: skip
    """Return the cells of a row; `known` has the multiples of all rows so far, and takes those of this one."""
    ratios = known[row["case"]] = rows.multiples(row, statistic)
    goal = rows.target_of(row, elements, known, loops)
    limits = {"2 threads": rows.TWO_THREADS}
    if elements >= 1 << 24 and (least := rows.target_of(row, elements, {}, "v3").limit):
        limits["AVX2"] = least
    cells = [row["case"], f"{row[statistic]['roofline']:.3f}", str(goal) or "–"]
    for name in names:
        if name not in ratios:
            cells.append("–")
            continue
        bad = rows.missed(goal, ratios) if name == "lowprec" else round(ratios[name], 2) > limits.get(name, 1e9)
        cells.append(f"{ratios[name]:.2f}{MISSED if bad else ''}")
    return [*cells, *more, ", ".join(row.get("other bits", []))]


def run_table(run: dict[str, Any]) -> Table:
    """Return the rows of a stored run, as multiples of a copy."""
    names, known = columns(run["rows"]), {}
    return head(names), [cells_of(row, names, run["elements"], known, run["loops"]) for row in run["rows"]]


def heading(run: dict[str, Any]) -> str:
    """Return what a stored run measured, and how many targets it misses."""
    threads = run.get("threads", 1)
    missed = sum(any(MISSED in cell for cell in cells) for cells in run_table(run)[1])
    runs = f", medians of {run['runs']} runs" if "runs" in run else ""
    counted = f"minima of interleaved rounds{', processor time' * ('clock' in run)}{runs}"
    return (
        f"{size(run['elements'])} elements, {threads} thread{'s' * (threads > 1)}, {counted}; "
        f"{missed} of {len(run['rows'])} rows miss a target"
    )


def fresh_table(lines: list[dict[str, Any]]) -> Table:
    """Return what newly allocated outputs cost."""
    found = []
    for row in lines:
        times = row["minimum"]
        ratios = [f"{times[name] / times['roofline']:.2f}" for name in ("lowprec", "out=")]
        found.append([row["case"], f"{times['roofline']:.3f}", *ratios])
    return ["newly allocated output", "copy into such memory, ns", "lowprec", "lowprec, out="], found


def calls_table(lines: list[dict[str, Any]]) -> Table:
    """Return what calls on few elements cost: casts by their number, or scales of 16 by their kind."""
    names = list(dict.fromkeys(name for row in lines for name in row["microseconds"]))
    what = "16 float32 elements" if "call" in lines[0] else "float32 → float8_e4m3fn"
    found = []
    for row in lines:
        times = row["microseconds"]
        title = row.get("call") or f"{row['elements']} elements"
        found.append([title, *(f"{times[name]:.2f}" if name in times else "–" for name in names)])
    return [f"{what}, µs a call", *(name.replace("`", "") for name in names)], found


def run_text(run: dict[str, Any]) -> str:
    """Return all tables of a stored run as Markdown."""
    parts = [f"**{heading(run)}.** {described(run)}.", markdown(run_table(run))]
    parts += [markdown(fresh_table(run["fresh"]))] if run.get("fresh") else []
    parts += [markdown(calls_table(run[name])) for name in ("small calls", "small scales") if run.get(name)]
    return "\n\n".join(parts)


def readme_text(folder: Path = FOLDER) -> str:
    """Return three rows of the latest run of 64 Mi elements that has them and torch's times of two."""
    whole = []
    for name in names(folder):
        run = load(name, folder).get(str(1 << 26))
        times = {row["case"]: row["minimum"] for row in run["rows"]} if run else {}
        if set(README_ROWS) <= set(times) and sum("torch" in times[case] for case in README_ROWS) > 1:
            whole.append(run)
    if not whole:
        return "  No run of 64 Mi elements is stored."
    run = max(whole, key=lambda run: str(run["date"]))
    ratios = {row["case"]: rows.multiples(row) for row in run["rows"]}
    found = [
        [case, *(f"{ratios[case][name]:.2f}" if name in ratios[case] else "–" for name in README_COLUMNS)]
        for case in README_ROWS
    ]
    table = markdown((["", *(HEADS.get(name, name) for name in README_COLUMNS)], found), "  ")
    cpu = run["machine"]
    model = ", ".join(filter(None, (cpu["model"], cpu.get("generation"))))
    return f"{table}\n\n  64 Mi elements, one thread; {cpu['cores']} cores of {model}, {run['date']}."


def inserted(text: str, name: str, table: str) -> str:
    """Return a page with the part between `<!-- speed: name -->` and `<!-- end -->` replaced."""
    pattern = rf"(<!-- speed: {re.escape(name)} -->\n).*?(\n *<!-- end -->)"
    new, count = re.subn(pattern, lambda found: f"{found[1]}\n{table}\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"a page must have one place `<!-- speed: {name} -->`, not {count}")
    return new


def write_pages(path: Path = ROOT / "README.md") -> None:
    """Put the rows into README.md; the site makes its tables when it is built."""
    path.write_text(inserted(path.read_text(encoding="utf-8"), "readme", readme_text()), encoding="utf-8")
