"""Bars of a stored run of benchmarks/speed.py: which rows and contenders, and the picture that matplotlib draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CASES", "THEMES", "Theme", "alternative_text", "chosen_rows", "described", "draw"]

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
    """Return the times of a row as multiples of its roofline, for the contenders that have one."""
    times = row["minimum"]
    return {name: times[name] / times["roofline"] for name in CONTENDERS if name in times}


def chosen_rows(run: Mapping[str, Any], cases: str) -> list[tuple[str, dict[str, float]]]:
    """Return name and multiples of the rows of a run that a picture shows."""
    found = {row["case"]: multiples(row) for row in run["rows"]}
    names = tuple(found) if cases == "all" else CASES[cases]
    return [(name, found[name]) for name in names if name in found]


def size_text(elements: int) -> str:
    """Return 64 Mi for 67108864."""
    for shift, unit in ((20, " Mi"), (10, " Ki")):
        if elements >= 1 << shift and elements % (1 << shift) == 0:
            return f"{elements >> shift}{unit}"
    return str(elements)


def described(run: Mapping[str, Any]) -> str:
    """Return what a caption says of a run: size, threads, machine, date, versions."""
    machine, threads = run["machine"], run.get("threads", 1)
    versions = ", ".join(f"{name} {number}" for name, number in run.get("versions", {}).items())
    parts = [
        f"{size_text(run['elements'])} elements, {threads} thread{'s' * (threads > 1)}",
        f"{machine['model']}, {machine['cores']} cores",
        str(run["date"]),
        *([versions] if versions else []),
        *([str(run["note"])] if run.get("note") else []),
    ]
    return "; ".join(parts)


def alternative_text(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return what a picture shows, in words: every bar with its number."""
    lines = (f"{name}: {', '.join(f'{who} {ratio:.2f}' for who, ratio in ratios.items())}" for name, ratios in rows)
    return f"Bars, multiples of the time of a copy. {'; '.join(lines)}."


def draw(rows: Sequence[tuple[str, Mapping[str, float]]], theme: Theme, path: Path) -> None:
    """Draw the bars of a picture as SVG: from 1, the time of the copy, to the multiple, on a logarithmic axis."""
    import matplotlib
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none", "svg.hashsalt": "lowprec", "font.family": "sans-serif", "font.size": 10,
        "text.color": theme.text, "axes.labelcolor": theme.text, "xtick.color": theme.text, "ytick.color": theme.text,
    }  # fmt: skip
    names = [name for name in CONTENDERS if any(name in ratios for _, ratios in rows)]
    with matplotlib.rc_context(style):
        bars = sum(len(ratios) for _, ratios in rows)
        figure = Figure(figsize=(7.2, 0.17 * bars + 0.2 * len(rows) + 0.95), layout="constrained")
        axes = figure.add_subplot()
        place, ticks = 0.0, []
        for _, ratios in rows:
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
        _finish(axes, [name for name, _ in rows], ticks, theme)
        largest = max(ratio for _, ratios in rows for ratio in ratios.values())
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
