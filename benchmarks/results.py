"""Stored runs: one JSON file for each vendor in benchmarks/results/, with machine, compiler, versions and commit."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

from lowprec import _kernels

FOLDER = Path(__file__).with_name("results")
VERSIONS = ("numpy", "ml_dtypes", "torch", "onnxruntime", "jax")
VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}


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


def load(vendor: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return the runs of a vendor by the number of elements (a text); empty where none are stored."""
    path = folder / f"{vendor}.json"
    runs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return runs


def store(run: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Replace the stored run of the same vendor and number of elements."""
    vendor = run["machine"]["vendor"]
    runs = load(vendor, folder) | {str(run["elements"]): run}
    folder.mkdir(exist_ok=True)
    path = folder / f"{vendor}.json"
    path.write_text(_json(dict(sorted(runs.items(), key=lambda item: int(item[0]))), 0) + "\n", encoding="utf-8")
    return path


def _json(value: Any, depth: int) -> str:
    """Return JSON with one line for each row, so that two runs can be compared by lines."""
    if not isinstance(value, (dict, list)) or not value or depth == 3:
        return json.dumps(value, ensure_ascii=False)
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + inner + f",{inner}".join(_json(item, 3) for item in value) + outer + "]"
    parts = (f"{json.dumps(key, ensure_ascii=False)}: {_json(item, depth + 1)}" for key, item in value.items())
    return "{" + inner + f",{inner}".join(parts) + outer + "}"
