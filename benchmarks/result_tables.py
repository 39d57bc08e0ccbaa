"""Markdown of stored runs: the tables of docs/performance.md and the rows of README.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import results
import targets
from peers import PEERS

ROOT = Path(__file__).parent.parent
COLUMNS = ("lowprec", "AVX2", "baseline", "2 threads", "non-temporal", *PEERS)
README_ROWS = (
    "float32 → float8_e4m3fn",
    "quantize float32 → int8, block 32",
    "dequantize int4 packed → float32, block 32",
)
README_COLUMNS = ("lowprec", "torch", "torch.compile", "ONNX Runtime", "JAX", "NumPy")
HEADS = {
    "NumPy": "NumPy, ml_dtypes",
    "2 threads": f"2 threads (≤ {targets.TWO_THREADS})",
}
MISSED = " ✗"


def size(elements: int) -> str:
    """Return 64 Mi for 67108864."""
    for shift, unit in ((20, " Mi"), (10, " Ki")):
        if elements >> shift << shift == elements and elements >> shift:
            return f"{elements >> shift}{unit}"
    return str(elements)


def columns(rows: list[dict[str, Any]]) -> list[str]:
    """Return the columns for which some row has a time."""
    return [name for name in COLUMNS if any(name in row["minimum"] for row in rows)]


def header(names: list[str], unit: str, more: tuple[str, ...] = ()) -> str:
    """Return the head of a table."""
    numbers = (["roofline, ns"] if unit == "ns" else []) + ["target"] + [HEADS.get(name, name) for name in names]
    return f"| | {' | '.join((*numbers, *more, 'other bits'))} |\n| --- |{' ---: |' * (len(numbers) + len(more))} --- |"


def line(
    row: dict[str, Any], names: list[str], elements: int, unit: str, known: dict[str, dict[str, float]], loops: str,
    statistic: str = "minimum", more: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """Return one row; `known` has the multiples of all rows so far."""
    ratios = targets.multiples(row, statistic)
    known[row["case"]] = ratios
    conversion = targets.row_of(row["case"])
    goal = targets.target(conversion, elements, known, loops) if conversion else targets.Target()
    limits = {"2 threads": targets.TWO_THREADS}
    if conversion and elements >= 1 << 24:
        limits["AVX2"] = targets.out_of_cache(conversion, "v3") or 1e9
    cells = [f"{row[statistic]['roofline']:.3f}"] if unit == "ns" else []
    cells.append(str(goal) or "–")
    for name in names:
        if name not in ratios:
            cells.append("–")
            continue
        bad = targets.missed(goal, ratios) if name == "lowprec" else round(ratios[name], 2) > limits.get(name, 1e9)
        cells.append(f"{ratios[name]:.2f}{MISSED if bad else ''}")
    return f"| {row['case']} | {' | '.join((*cells, *more, ', '.join(row.get('other bits', []))))} |"


def run_table(run: dict[str, Any]) -> str:
    """Return a stored run: its circumstances and its table."""
    names, known, unit = columns(run["rows"]), {}, run.get("unit", "ns")
    lines = [line(row, names, run["elements"], unit, known, run.get("loops", "v4")) for row in run["rows"]]
    threads, statistic = run.get("threads", 1), run.get("statistic", "minima")
    heading = f"**{size(run['elements'])} elements, {threads} thread{'s' * (threads > 1)}**"
    parts = [
        f"{heading}, {statistic} of interleaved rounds. {results.described(run)}.",
        "\n".join([header(names, unit), *lines]),
        f"Targets missed: {sum(MISSED in text for text in lines)} rows of {len(lines)}.",
        fresh_table(run["fresh"]) if run.get("fresh") else "",
        small_table(run["small calls"]) if run.get("small calls") else "",
        small_scales_table(run["small scales"]) if run.get("small scales") else "",
    ]
    return "\n\n".join(part for part in parts if part)


def fresh_table(rows: list[dict[str, Any]]) -> str:
    """Return what newly allocated outputs cost."""
    lines = ["| newly allocated output | roofline into such memory, ns | lowprec | lowprec, `out=` |"]
    lines.append("| --- | ---: | ---: | ---: |")
    for row in rows:
        times = row["minimum"]
        ratios = [f"{times[name] / times['roofline']:.2f}" for name in ("lowprec", "out=")]
        lines.append(f"| {row['case']} | {times['roofline']:.3f} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def small_table(rows: list[dict[str, Any]]) -> str:
    """Return what small calls cost."""
    names = list(rows[0]["microseconds"])
    lines = [f"| float32 → float8_e4m3fn, µs a call | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    for row in rows:
        cells = (f"{row['microseconds'][name]:.2f}" for name in names)
        lines.append(f"| {row['elements']} elements | {' | '.join(cells)} |")
    return "\n".join(lines)


def small_scales_table(rows: list[dict[str, Any]]) -> str:
    """Return what scales and blocks of few elements cost."""
    names = list(rows[0]["microseconds"])
    lines = [f"| 16 float32 elements, µs a call | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    for row in rows:
        lines.append(f"| {row['call']} | {' | '.join(f'{time:.2f}' for time in row['microseconds'].values())} |")
    return "\n".join(lines)


def vendor_tables(vendor: str, folder: Path = results.FOLDER) -> str:
    """Return every table of a vendor."""
    return "\n\n".join(run_table(run) for run in results.load(vendor, folder).values())


def _has_peers(run: dict[str, Any]) -> bool:
    return sum("torch" in row["minimum"] for row in run["rows"] if row["case"] in README_ROWS) > 1


def _cases(run: dict[str, Any]) -> set[str]:
    return {row["case"] for row in run["rows"]}


def readme_table(folder: Path = results.FOLDER) -> str:
    """Return three rows of the latest run of 64 Mi elements that has them."""
    stored = (results.load(path.stem, folder).get(str(targets.OUT_OF_CACHE)) for path in sorted(folder.glob("*.json")))
    whole = [run for run in stored if run and set(README_ROWS) <= _cases(run) and _has_peers(run)]
    if not whole:
        return "  No run of 64 Mi elements is stored."
    run = max(whole, key=lambda run: str(run["date"]))
    rows = {row["case"]: targets.multiples(row) for row in run["rows"]}
    lines = [f"  | | {' | '.join(HEADS.get(name, name) for name in README_COLUMNS)} |"]
    lines.append("  | --- |" + " ---: |" * len(README_COLUMNS))
    for case in README_ROWS:
        cells = (f"{rows[case][name]:.2f}" if name in rows[case] else "–" for name in README_COLUMNS)
        lines.append(f"  | {case} | {' | '.join(cells)} |")
    cpu = run["machine"]
    model = ", ".join(filter(None, (cpu["model"], cpu.get("generation"))))
    lines.append(f"\n  64 Mi elements, one thread; {cpu['cores']} cores of {model}, {run['date']}.")
    return "\n".join(lines)


def tables(folder: Path = results.FOLDER) -> dict[str, tuple[str, str]]:
    """Return every generated part: name → (page, Markdown)."""
    found = {path.stem: ("docs/performance.md", vendor_tables(path.stem, folder)) for path in folder.glob("*.json")}
    return {"readme": ("README.md", readme_table(folder)), **dict(sorted(found.items()))}


def inserted(text: str, name: str, table: str) -> str:
    """Return a page with the part between `<!-- speed: name -->` and `<!-- end -->` replaced."""
    pattern = rf"(<!-- speed: {re.escape(name)} -->\n).*?(\n *<!-- end -->)"
    new, count = re.subn(pattern, lambda found: f"{found[1]}\n{table}\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"a page must have one place `<!-- speed: {name} -->`, not {count}")
    return new


def write_pages() -> None:
    """Put the tables into the pages."""
    for name, (page, table) in tables().items():
        path = ROOT / page
        path.write_text(inserted(path.read_text(encoding="utf-8"), name, table), encoding="utf-8")
