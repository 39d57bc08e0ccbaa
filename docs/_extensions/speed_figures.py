"""Pictures and tables of the measurements in benchmarks/results, made when the site is built.

`speed-plot NAME ELEMENTS` draws bars of a stored run, for each theme; `speed-table NAME ELEMENTS` is its table, or with
`:part:` that of newly allocated outputs or of small calls. `speed-summary` and `faster-peers` say what all runs come
to; they, `checkpoint-table` and `gpu-table` have no arguments.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import rows  # noqa: E402
import stored_runs  # noqa: E402

__all__ = ["CheckpointTable", "GpuTable", "SpeedPlot", "SpeedTable"]

CASES: dict[str, tuple[str, ...]] = {
    "casts": (
        "float32 → float8_e4m3fn",
        "float32 → float4_e2m1fn packed",
        "float32 → bfloat16",
        "bfloat16 → float8_e4m3fn",
        "float8_e4m3fn → float32",
        "float8_e4m3fn → bfloat16",
    ),
    "quantize": (
        "quantize float32 → int8, tensor",
        "quantize float32 → int8, last axis",
        "quantize float32 → int8, block 32",
        "quantize float32 → float8_e4m3fn, block 32",
        "quantize float32 → int4 packed, block 32",
    ),
    "dequantize": (
        "dequantize int8 → float32, tensor",
        "dequantize int8 → float32, last axis",
        "dequantize int8 → float32, block 32",
        "dequantize float8_e4m3fn → float32, block 32",
        "dequantize int4 packed → float32, block 32",
    ),
}
"""The rows of each picture; `all` are those of the run."""

CONTENDERS = {
    "lowprec": ("lowprec", "#0072b2", "#56b4e9"),
    "torch": ("torch", "#d55e00", "#e8833a"),
    "torch.compile": ("torch.compile", "#e69f00", "#f0c060"),
    "ONNX Runtime": ("ONNX Runtime", "#009e73", "#2fc79b"),
    "JAX": ("JAX", "#cc79a7", "#dda0c2"),
    "NumPy": ("NumPy, ml_dtypes", "#6e6e6e", "#a0a0a0"),
}
"""The contenders in the order of the bars: name, and the colours in the light and the dark theme (Okabe and Ito's)."""


@dataclass(frozen=True)
class Theme:
    """Colours of a picture that do not depend on the contender."""

    name: str
    text: str
    line: str
    place: int
    """Where the colours of this theme are in `CONTENDERS`."""


THEMES = (Theme("light", "#1f2328", "#c9ccd1", 1), Theme("dark", "#e6e6e6", "#55595f", 2))


def multiples(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the times of a row as multiples of its copy, for the contenders that have one."""
    ratios = rows.multiples(dict(row))
    return {name: ratios[name] for name in CONTENDERS if name in ratios}


def chosen_rows(run: Mapping[str, Any], cases: str) -> list[tuple[str, dict[str, float]]]:
    """Return name and multiples of the rows of a run that a picture shows."""
    found = {row["case"]: multiples(row) for row in run["rows"]}
    names = tuple(found) if cases == "all" else CASES[cases]
    return [(name, found[name]) for name in names if name in found]


def described(run: Mapping[str, Any]) -> str:
    """Return what a caption says of a run: size, threads, machine, date, versions."""
    machine, threads = run["machine"], run.get("threads", 1)
    versions = ", ".join(f"{name} {number}" for name, number in run.get("versions", {}).items())
    parts = [
        f"{stored_runs.size(run['elements'])} elements, {threads} thread{'s' * (threads > 1)}",
        ", ".join(filter(None, (machine["model"], machine.get("generation"), f"{machine['cores']} cores"))),
        str(run["date"]),
        *([versions] if versions else []),
        *([str(run["note"])] if run.get("note") else []),
    ]
    return "; ".join(parts)


def alternative_text(shown: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return what a picture shows, in words: every bar with its number."""
    lines = (f"{name}: {', '.join(f'{who} {ratio:.2f}' for who, ratio in ratios.items())}" for name, ratios in shown)
    return f"Bars, multiples of the time of a copy. {'; '.join(lines)}."


def draw(shown: Sequence[tuple[str, Mapping[str, float]]], theme: Theme, path: Path) -> None:
    """Draw the bars of a picture as SVG: from 1, the time of the copy, to the multiple, on a logarithmic axis."""
    import matplotlib
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none", "svg.hashsalt": "lowprec", "font.family": "sans-serif", "font.size": 10,
        "text.color": theme.text, "axes.labelcolor": theme.text, "xtick.color": theme.text, "ytick.color": theme.text,
    }  # fmt: skip
    names = [name for name in CONTENDERS if any(name in ratios for _, ratios in shown)]
    with matplotlib.rc_context(style):
        bars = sum(len(ratios) for _, ratios in shown)
        figure = Figure(figsize=(7.2, 0.17 * bars + 0.2 * len(shown) + 0.95), layout="constrained")
        axes = figure.add_subplot()
        place, ticks = 0.0, []
        for _, ratios in shown:
            start = place
            for name, ratio in ratios.items():
                axes.barh(place, ratio - 1, left=1, height=0.86, color=CONTENDERS[name][theme.place])
                axes.annotate(
                    f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}", (max(ratio, 1), place), xytext=(3, 0),
                    textcoords="offset points", va="center", fontsize=8.5,
                )  # fmt: skip
                place += 1
            ticks.append((start + place - 1) / 2)
            place += 1.2
        _finish(axes, [name for name, _ in shown], ticks, theme)
        largest = max(ratio for _, ratios in shown for ratio in ratios.values())
        axes.set_xlim(0.7, largest * 1.6)
        if len(names) > 1:
            marks = [matplotlib.patches.Patch(color=CONTENDERS[name][theme.place]) for name in names]
            labels = [CONTENDERS[name][0] for name in names]
            figure.legend(marks, labels, loc="outside upper center", ncols=len(names), frameon=False, fontsize=9,
                          columnspacing=1.2, handlelength=1)  # fmt: skip
        figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})


def _finish(axes: Any, names: Sequence[str], ticks: Sequence[float], theme: Theme) -> None:
    """Label the axes: a name to each group of bars, plain numbers below, a line at the time of the copy."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(ticks, [name.replace(", ", ",\n", 1) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", which="both", color=theme.line)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.axvline(1, color=theme.text, linewidth=1)
    axes.grid(axis="x", color=theme.line, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.set_xlabel("time, as a multiple of a copy of the same bytes (1)")


def stored(directive: SphinxDirective, name: str) -> dict[str, Any]:
    """Return the runs of a file; the page is made again when it changes."""
    path = BENCHMARKS / "results" / f"{name}.json"
    directive.env.note_dependency(str(path))
    runs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return runs


def stored_run(directive: SphinxDirective) -> dict[str, Any]:
    """Return the run that the arguments name."""
    name, elements = directive.arguments
    runs = stored(directive, name)
    if elements not in runs:
        raise directive.error(f"{name}.json has runs of {', '.join(runs)} elements, not {elements}")
    run: dict[str, Any] = runs[elements]
    return run


def table_node(table: stored_runs.Table, caption: str) -> nodes.container:
    """Return a table under its caption; numbers are aligned to the right."""
    head, lines = table
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    for part, cells_of_part in ((nodes.thead(), [head]), (nodes.tbody(), lines)):
        for cells in cells_of_part:
            line = nodes.row()
            for place, cell in enumerate(cells):
                if part.tagname == "thead":
                    cell = cell.removeprefix("others: ")
                number = place > 0 and not head[place].startswith("other")
                line += nodes.entry("", nodes.paragraph("", cell), classes=["text-right"] if number else [])
            part += line
        group += part
    made = nodes.container(classes=["speed-table"])
    made += [*([nodes.paragraph("", caption)] if caption else []), nodes.table("", group)]
    return made


class SpeedPlot(SphinxDirective):
    """The bars of one run; the content is the first sentence of the caption."""

    required_arguments = 2
    has_content = True
    option_spec = {"cases": lambda text: directives.choice(text, (*CASES, "all"))}  # noqa: RUF012  docutils' own way

    def run(self) -> list[nodes.Node]:
        """Return a figure with an image for each theme."""
        name, elements = self.arguments
        cases = self.options.get("cases", "all")
        run = stored_run(self)
        shown = chosen_rows(run, cases)
        folder = Path(self.env.doctreedir) / "plots"
        folder.mkdir(parents=True, exist_ok=True)
        pictures = nodes.container(classes=["speed-plot"])
        for theme in THEMES:
            path = folder / f"speed-{name}-{elements}-{cases}-{theme.name}.svg"
            draw(shown, theme, path)
            uri = Path(os.path.relpath(path, Path(self.env.doc2path(self.env.docname)).parent)).as_posix()
            pictures += nodes.image(uri=uri, alt=alternative_text(shown), classes=[f"only-{theme.name}"])
        caption = nodes.caption("", " ".join([*self.content, f"{described(run)}."]))
        return [nodes.figure("", pictures, caption, classes=["speed"])]


NOTICEABLE = 0.97
"""Of our time, below which a peer is called faster."""
SHOWN = ("amd-zen-3", "amd-zen-5", "intel-emerald-rapids")
"""The files with runs of today's loops."""
PEERS_TIMED = ("amd-zen-3", "amd-zen-5")
"""Those that have the peers in every row."""
PARTS = {
    "fresh": stored_runs.fresh_table,
    "small calls": stored_runs.calls_table,
    "small scales": stored_runs.calls_table,
}


class SpeedTable(SphinxDirective):
    """The table of a run, or of a part of it that is stored with it."""

    required_arguments = 2
    option_spec = {"part": lambda text: directives.choice(text, PARTS)}  # noqa: RUF012  docutils' own way

    def run(self) -> list[nodes.Node]:
        """Return the table under a sentence that says where it was measured."""
        run, part = stored_run(self), self.options.get("part")
        if part:
            return [table_node(PARTS[part](run[part]), f"{described(run)}.")]
        return [table_node(stored_runs.run_table(run), f"{stored_runs.heading(run)}. {stored_runs.described(run)}.")]


def machine_text(run: Mapping[str, Any]) -> str:
    """Return size, processor, loops and date of a run."""
    machine = run["machine"]
    processor = machine.get("generation", "").partition(" (")[0] or machine["model"]
    return (
        f"{stored_runs.size(run['elements'])}, {machine['vendor'].upper()} {processor}, {run['loops']}, {run['date']}"
    )


class SpeedSummary(SphinxDirective):
    """Medians of every stored run, its slowest row, and what two threads gain."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = []
        for run in (run for name in SHOWN for run in stored(self, name).values()):
            ratios = {row["case"]: rows.multiples(row) for row in run["rows"]}
            cells = [machine_text(run)]
            for operation in ("cast", "quantize", "dequantize"):
                found = [
                    one["lowprec"] for case, one in ratios.items()
                    if operation == (case.split()[0] if case.split()[0] in ("quantize", "dequantize") else "cast")
                ]  # fmt: skip
                cells.append(f"{statistics.median(found):.2f}")
            slowest = max(ratios, key=lambda case: ratios[case]["lowprec"])
            gains = [
                row["minimum"]["lowprec"] / row["minimum"]["2 threads"]
                for row in run["rows"] if "2 threads" in row["minimum"]
            ]  # fmt: skip
            cells += [f"{statistics.median(gains):.2f}" if gains else "–"]
            lines.append([*cells, f"{slowest}: {ratios[slowest]['lowprec']:.1f}"])
        head = ["elements, processor, loops, date", "casts", "quantize", "dequantize", "two threads gain"]
        return [table_node(([*head, "others: the slowest row"], lines), "")]


class FasterPeers(SphinxDirective):
    """The rows of the stored runs with every peer in which one takes clearly less time."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = []
        for run in (run for name in PEERS_TIMED for run in stored(self, name).values()):
            for row in run["rows"]:
                ratios = rows.multiples(row)
                found = {name: ratios[name] / ratios["lowprec"] for name in stored_runs.PEERS if name in ratios}
                found = {name: share for name, share in found.items() if share < NOTICEABLE}
                if found:
                    text = ", ".join(f"{name} {share:.2f}" for name, share in found.items())
                    lines.append([machine_text(run), row["case"], text])
        head = ["elements, processor, loops, date", "others: row", "others: their time, lowprec's is 1"]
        return [table_node((head, lines), "")]


class CheckpointTable(SphinxDirective):
    """What conversions of a checkpoint by each recipe cost."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        run = stored(self, "checkpoints")["recipes"]
        names = [name for name in dict.fromkeys(name for row in run["rows"] for name in row) if name != "case"]
        lines = [
            [row["case"], *("–" if row.get(name) is None else f"{row[name]:g}" for name in names)]
            for row in run["rows"]
        ]
        caption = f"{run['MiB']} MiB of bfloat16, medians of {run['repeat']}. {stored_runs.described(run)}."
        return [table_node((["recipe", *(name.replace(" x", " ×") for name in names)], lines), caption)]


class GpuTable(SphinxDirective):
    """The bandwidth of the kernels on each GPU, and its share of a copy's."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        runs = stored(self, "gpu")
        head = [""]
        lines: dict[str, list[str]] = {}
        for name, run in runs.items():
            head += [f"{name}, GB/s", "of a copy"]
            for row in run["rows"]:
                cells = lines.setdefault(row["case"], [row["case"]])
                cells += [str(row["GB/s"]), f"{row['of a copy']:.0%}"]
        caption = "; ".join(
            f"{name}: {run['elements']:,} elements, medians of {run['rounds']}, CuPy {run['CuPy']}, {run['date']}"
            for name, run in runs.items()
        )
        return [table_node((head, list(lines.values())), f"{caption}.")]


def setup(app: Any) -> dict[str, bool]:
    """Add the directives."""
    for name, directive in (
        ("speed-plot", SpeedPlot), ("speed-table", SpeedTable),
        ("speed-summary", SpeedSummary), ("faster-peers", FasterPeers),
        ("checkpoint-table", CheckpointTable), ("gpu-table", GpuTable),
    ):  # fmt: skip
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
