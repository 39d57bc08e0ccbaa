"""`lowprec conformance --exhaustive`: every float32 input against exact arithmetic, with digests to publish."""

from __future__ import annotations

import argparse
import datetime
import platform
import re
import time
from pathlib import Path

from .. import __version__
from ..checkpoints.progress import Progress, make_progress
from ..spec.arguments import shown
from ..spec.counted_text import count_text

__all__ = ["add_options", "check_absent", "run"]

_BYTES = 4
"""Of an input: progress is shown in bytes."""

_NEEDING = {"targets": "--target", "slices": "--slice", "isa": "--isa", "array_api": "--array-api",
            "digests": "--digests", "write_digests": "--write-digests"}  # fmt: skip


def _slices(texts: list[str] | None) -> list[int]:
    """Return the numbers of slices that texts name, in order; all where None is given."""
    from ..conformance.exhaustive_variants import SLICES

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
    from ..conformance.exhaustive_digests import expected_runs, file_text, slice_digest, total
    from ..conformance.exhaustive_variants import SLICE, SLICES, chosen, slice_name

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
    from ..conformance.exhaustive_digests import kept_digests, total
    from ..conformance.exhaustive_variants import SLICES, slice_name

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
    from ..conformance.exhaustive import array_api_way, check_slice, tier_ways
    from ..conformance.exhaustive_digests import read_digests
    from ..conformance.exhaustive_variants import SLICE, chosen, slice_name

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
