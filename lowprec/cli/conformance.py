"""`lowprec conformance`: the report, and with `--exhaustive` all float32 inputs."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import __version__
from .._notebook_display import count_text
from ..checkpoints.progress import Progress, make_progress
from ..spec.scalar_arguments import shown

__all__ = ["add_command", "add_options", "check_absent", "report", "run"]


_BYTES = 4
"""Of an input: progress is shown in bytes."""

_NEEDING = {"targets": "--target", "slices": "--slice", "isa": "--isa", "array_api": "--array-api",
            "digests": "--digests", "write_digests": "--write-digests"}  # fmt: skip


def _slices(texts: list[str] | None) -> list[int]:
    """Return the numbers of slices that texts name, in order; all where None is given."""
    from ..conformance.exhaustive import SLICES

    if texts is None:
        return list(range(SLICES))
    found: set[int] = set()
    for text in texts:
        number = r"(0x[0-9a-fA-F]{1,2}|\d{1,3})"
        parts = re.fullmatch(rf"{number}(?:-{number})?", text)
        ends = [int(part, 16 if part.startswith("0x") else 10) for part in (parts.groups() if parts else ()) if part]
        if not ends or not ends[0] <= ends[-1] < SLICES:
            wanted = f"a number from 0 to {SLICES - 1}, or a range such as 0x38-0x47"
            raise ValueError(f"`--slice` must be {wanted}; got {shown(text)}")
        found.update(range(ends[0], ends[-1] + 1))
    return sorted(found)


def _write(options: argparse.Namespace) -> None:
    """Write the digests of the oracle to files, and print those of variants."""
    from ..conformance.exhaustive import (
        SLICE,
        SLICES,
        chosen,
        expected_runs,
        file_text,
        slice_digest,
        slice_name,
        total,
    )

    targets = dict.fromkeys(variant.target.name for variant in chosen(options.targets))
    every = {target: chosen([target]) for target in targets}
    folder: Path = options.write_digests
    folder.mkdir(parents=True, exist_ok=True)
    progress = make_progress("auto", sum(map(len, every.values())) * SLICES * SLICE * _BYTES)
    try:
        for target, variants in every.items():
            found: dict[str, list[str]] = {}
            for variant in variants:
                found[variant.name] = []
                for index in range(SLICES):
                    progress.phase(f"{variant.name} {slice_name(index)}")
                    found[variant.name].append(slice_digest(variant, expected_runs(variant, index)))
                    progress.advance(SLICE * _BYTES)
                print(f"{total(found[variant.name])}  {variant.name}", flush=True)
            (folder / f"{target}.txt").write_text(file_text(found), encoding="utf-8", newline="\n")
    finally:
        progress.close()


def _compared(name: str, found: dict[int, str], published: list[str] | None) -> str:
    """Return what is to be said of the digests of a variant; raise ValueError where one is not that which is kept."""
    from ..conformance.exhaustive import SLICES, kept_digests, slice_name, total

    for index, digest in found.items():
        if published is not None and digest != published[index]:
            where = f"{name}, slice {slice_name(index)}"
            raise ValueError(f"{where}: the digest is {digest}, the published one {published[index]}")
    said = "" if published is None else ", the published digests"
    if len(found) == SLICES:
        whole, kept = total(found[index] for index in range(SLICES)), kept_digests().get(name)
        if whole != kept:
            raise ValueError(f"{name}: the digest of all slices is {whole}, the kept one {kept}")
        said += f", SHA-256 {whole} as kept"
    return said


def _check(options: argparse.Namespace) -> None:
    from ..conformance.exhaustive import SLICE, array_api_way, check_slice, chosen, read_digests, slice_name, tier_ways

    variants, slices = chosen(options.targets), _slices(options.slices)
    if options.array_api is not None and options.isa is not None:
        raise ValueError("`--isa` must be absent where `--array-api` is given: its calls run no loop of a tier")
    ways = tier_ways(options.isa or "all") if options.array_api is None else [array_api_way(options.array_api)]
    published = {} if options.digests is None else {one.name: read_digests(options.digests, one) for one in variants}
    started, names = time.monotonic(), ", ".join(way.name for way in ways)
    progress: Progress = make_progress("auto", len(variants) * len(slices) * SLICE * _BYTES)
    try:
        for variant in variants:
            found: dict[int, str] = {}
            for index in slices:
                progress.phase(f"{variant.name} {slice_name(index)}")
                found[index] = check_slice(variant, index, ways, lambda inputs: progress.advance(inputs * _BYTES))
            digests = _compared(variant.name, found, published.get(variant.name))
            print(f"{variant.name}: {len(slices) * SLICE} inputs by {names}: 0 differences{digests}", flush=True)
    finally:
        progress.close()
    results = len(variants) * len(slices) * SLICE * len(ways)
    took = datetime.timedelta(seconds=round(time.monotonic() - started))
    print(f"{count_text(len(variants), 'variant')}, {results} results compared, 0 differences, {took}")
    print(f"lowprec {__version__}, {platform.machine()}, {platform.system()}, {datetime.date.today().isoformat()}")


def run(options: argparse.Namespace) -> None:
    """Compare, or write digests."""
    if options.write_digests is None:
        return _check(options)
    for name in ("slices", "isa", "array_api", "digests"):
        if getattr(options, name) is not None:
            raise ValueError(f"`{_NEEDING[name]}` must be absent where `--write-digests` is given")
    return _write(options)


def check_absent(options: argparse.Namespace) -> None:
    """Raise ValueError for an option that needs ``--exhaustive``, which was not given."""
    for name, option in _NEEDING.items():
        if getattr(options, name) is not None:
            raise ValueError(f"`{option}` must be given with `--exhaustive`")


def add_options(one: argparse.ArgumentParser) -> None:
    """Add the options that need ``--exhaustive``."""
    group = one.add_argument_group("with --exhaustive")
    group.add_argument(
        "--target", dest="targets", nargs="+", metavar="TARGET", help="formats, or names of variants; default: all"
    )
    group.add_argument(
        "--slice", dest="slices", nargs="+", metavar="N",
        help="slices of 2^24 inputs by the upper 8 bits of their codes: 63, 0x3f or 0x38-0x47; default: all 256",
    )  # fmt: skip
    group.add_argument("--isa", help="the loops of one instruction set: base, v3 or v4; default: all of this machine")
    group.add_argument(
        "--array-api", nargs="?", const="numpy", choices=("numpy", "torch", "array_api_strict"),
        help="array-API calls, in NumPy where no library is named, in place of the loops",
    )  # fmt: skip
    group.add_argument("--digests", type=Path, metavar="FOLDER", help="compare digests of slices with those in files")
    group.add_argument(
        "--write-digests", type=Path, metavar="FOLDER",
        help="convert nothing: write the digests of the exact codes to FOLDER, a file for each target, and print those "
        "of variants, as lowprec keeps them",
    )  # fmt: skip


def report() -> Any:
    """Run every case with every library that is installed."""
    from ..conformance.cast_cases import Case, bitcast_cases, cast_cases, rounding_cases, scale_cases, text_cases
    from ..conformance.comparison import compare
    from ..conformance.libraries import installed
    from ..conformance.quantize_cases import quantize_cases

    def cases() -> Iterator[Case]:
        for some in (cast_cases, text_cases, bitcast_cases, quantize_cases, rounding_cases, scale_cases):
            yield from some()

    return compare(cases(), *installed())


def _rule_lines(summary: dict[str, Any]) -> str:
    """Return a summary as JSON, each rule on a line."""
    rules = ",\n".join(f"  {json.dumps(rule)}: {json.dumps(row)}" for rule, row in summary["rules"].items())
    rest = json.dumps({name: value for name, value in summary.items() if name != "rules"}, indent=1)
    return f'{rest[:-2]},\n "rules": {{\n{rules}\n }}\n}}'


def _run(options: argparse.Namespace) -> None:
    from ..conformance import report as reports

    if options.exhaustive:
        return run(options)
    check_absent(options)
    result = report()
    if options.summary:
        print(_rule_lines(reports.summary(result)))
    elif options.json:
        print(json.dumps(result.as_json(), indent=1))
    else:
        print(
            reports.markdown_table(result.versions, result.cells, result.notes)
            if options.markdown
            else reports.as_text(result)
        )
    return None


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    one = commands.add_parser(
        "conformance",
        help="which installed libraries follow the rules of the ONNX operators and of rounding, and where not",
        description="Run onnx.reference, ONNX Runtime, ml_dtypes, torch, NumKong, gfloat, pychop, APyTypes and "
        "torchao, as far as they are installed, and lowprec itself against exact arithmetic: every code of the narrow "
        "formats, ties, the edges of overflow and of the subnormals, NaN, Inf; every rounding mode; the scales of MX "
        "blocks. Print how many inputs differ, and one input for each difference. It takes about half a minute.",
    )
    form = one.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--summary", action="store_true", help="print the counts alone, as lowprec keeps them")
    form.add_argument("--markdown", action="store_true", help="print the table alone, as Markdown")
    form.add_argument(
        "--exhaustive", action="store_true",
        help="convert all 2^32 float32 inputs instead, by lowprec alone, and compare with exact arithmetic: 40 minutes "
        "of one core, or 6 hours in array-API calls",
    )  # fmt: skip
    add_options(one)
    one.set_defaults(run=_run)
