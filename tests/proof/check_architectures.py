"""Compare the loops compiled for aarch64, i386, s390x and AVX-512 with those of x86-64, and with the oracle.

    PYTHONPATH=tests python tests/proof/check_architectures.py --target aarch64 --target s390x

It needs gcc, a build of lowprec in place, and for each target a cross compiler and, but for i386, qemu-user; AVX-512 is
emulated by SIMDe on a machine with AVX2. What is missing is named, and that target skipped. All programs of casts and
of quantizations, stochastic ones too, convert the same inputs, by their chains and by their fused loops, in each scale
mode; the first ones in every length up to two groups. MX, NVFP4 and GGUF blocks, ranges, error statistics and random
numbers follow. The results must be the same numbers. Every pair of formats also converts codes whose results
`lowprec.reference` has computed. For aarch64, gcc must vectorise what it vectorises for AVX2.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from support.long_run import circumstances
from support.paths import ROOT
from support.proof_architectures.programs import Recorded, all_programs, block_lines, cases_of_oracle, line_of
from support.proof_architectures.targets import TARGETS, Driver, loops_of_table, write_table

BASE = "x86-64"
QUICK, ALL = 2048 + 3, 65536 + 3
"""Elements of a program; with all, every code of 16 bits."""
TAILS = 129
"""The longest one of programs in every length."""


def against_oracle(driver: Driver, cases: list[tuple[str, Recorded, Any, Any]]) -> tuple[int, list[str]]:
    """Return how many codes were compared, and the conversions in which one differs."""
    text = "".join(
        f"{line_of(program, driver)}{len(codes)} {' '.join(f'{code:x}' for code in codes.tolist())}\n"
        for _, program, codes, _ in cases
    )
    lines = driver("codes", 0, text)
    compared, failures = 0, [] if len(lines) == len(cases) else [f"{len(lines)} lines of {len(cases)}"]
    for (name, _, codes, wanted), line in zip(cases, lines, strict=False):
        found = np.array([int(code, 16) for code in line.split()], np.uint64)
        wanted = wanted.view(f"u{wanted.itemsize}").astype(np.uint64)
        compared += len(found)
        for at in np.flatnonzero(found != wanted)[:1]:
            failures.append(f"{name}: {codes[at]:#x} becomes {found[at]:#x}, expected {wanted[at]:#x}")
    return compared, failures


def results(driver: Driver, programs: list[Recorded], count: int) -> dict[str, list[str]]:
    """Return what the driver prints for each kind of loop."""
    lines = "".join(line_of(program, driver) for program in programs)
    return {
        "programs": driver("programs", count, lines), "tails": driver("tails", TAILS, lines),
        "blocks": driver("blocks", count, "".join(block_lines(driver))), "others": driver("others", count),
    }  # fmt: skip


def report(name: str, found: dict[str, list[str]], base: dict[str, list[str]]) -> int:
    """Print how many results of a target differ from those of x86-64, and return that."""
    failed = 0
    for job, lines in found.items():
        different = [line for line, theirs in zip(lines, base[job], strict=True) if line != theirs]
        failed += len(different)
        print(
            f"{name}: {len(lines)} {job}, {len(different)} with other results than {BASE}", *different[:5], sep="\n  "
        )
    return failed


def is_vectorised(folder: str) -> bool:
    """Print which loops gcc leaves scalar for aarch64; return whether they are those that it leaves scalar for AVX2."""
    vectorised = importlib.import_module("vectorised")
    scalar, total = vectorised.scalar_loops("base", folder, list(TARGETS["aarch64"].compiler))
    known = vectorised.KNOWN["v3"]
    surprises = [f"{name} ({n})" for name, n in sorted(scalar.items()) if not vectorised.is_known(name, n, known)]
    print(f"aarch64: {total} inner loops, {scalar.total()} scalar; unexpected: {', '.join(surprises) or 'none'}")
    return not surprises


def check(names: Sequence[str], *, quick: bool, flags: list[str], folder: Path) -> int:
    """Return how many comparisons failed."""
    write_table(folder)
    programs, cases = all_programs(), list(cases_of_oracle())
    used = {name for names_of_loops, *_ in programs for name in names_of_loops}
    used |= {"fused:" + ".".join(names_of_loops) for names_of_loops, _, _, fused, _ in programs if fused}
    unused = sorted(loops_of_table().keys() - used)
    print(
        f"{len(programs)} programs, {sum(program[3] for program in programs)} with a fused loop, of {len(used)} loops"
    )
    print(f"loops that no program has: {', '.join(unused) or 'none'}")

    def one(name: str) -> tuple[dict[str, list[str]], tuple[int, list[str]], float]:
        start = time.monotonic()
        driver = Driver(name, folder, flags)
        seconds = time.monotonic() - start
        return results(driver, programs, QUICK if quick else ALL), against_oracle(driver, cases), seconds

    with ThreadPoolExecutor(2) as pool:
        found = dict(zip([BASE, *names], pool.map(one, [BASE, *names]), strict=True))
    failed = 0
    for name, (lines, (compared, failures), seconds) in found.items():
        failed += len(failures) + (report(name, lines, found[BASE][0]) if name != BASE else 0)
        print(
            f"{name}: {compared} codes, {len(failures)} conversions differ from the oracle", *failures[:5], sep="\n  "
        )
        print(f"{name}: compiled in {seconds:.0f} s")
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if all is as expected, 1 where a result differs, 2 where a target named by --target cannot be run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--target", action="append", choices=[name for name in TARGETS if name != BASE],
        help="an architecture; more than one by more options; all but x86-64-v3 without",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} elements of a program instead of {ALL}")
    options = parser.parse_args(arguments)
    names = []
    for name in options.target or [name for name in TARGETS if name not in (BASE, "x86-64-v3")]:
        if missing := TARGETS[name].missing():
            print(f"{name}: skipped, {missing}")
        else:
            names.append(name)
    if not names:
        return 2 if options.target else 0
    sys.path.insert(0, str(ROOT / "benchmarks"))
    flags = importlib.import_module("vectorised").FLAGS
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        failed = check(names, quick=options.quick, flags=flags, folder=Path(folder))
        if "aarch64" in names and not options.quick:
            failed += not is_vectorised(folder)
    print(f"{failed} differences; {time.monotonic() - start:.0f} s; {circumstances()}")
    if options.target and len(names) < len(set(options.target)):
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
