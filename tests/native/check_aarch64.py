"""Compare the loops compiled for aarch64, run by qemu-user, with those of x86-64; not a test that pytest collects.

It needs gcc, Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user, and a build of lowprec in place:

    PYTHONPATH=tests python tests/native/check_aarch64.py

All programs of casts and of quantizations convert the same inputs, by their chains and by their fused loops, in each
scale mode. The results must be the same bits; that gcc vectorises for NEON what it vectorises for AVX2 is checked too.
"""

from __future__ import annotations

import importlib
import itertools
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from support import cuda_on_cpu
from support.paths import ROOT, TESTS

from lowprec import _kernels
from lowprec.backends.program import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.spec.formats import as_format
from lowprec.spec.opset_rules import NEWEST, CastRules
from lowprec.spec.rounding_rules import OVERFLOWS, ROUNDINGS, STOCHASTIC, Rounding

SOURCES = ("float64", "float32", "float16", "bfloat16", "float8_e5m2", "int64", "uint64", "int32", "binary8p1uf")
ROUNDED = (
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e3m2fn",
    "float4_e2m1fn", "binary8p3se", "binary8p1uf", "binary16p9ue",
)  # fmt: skip
"""The formats at both ends of the programs of roundings."""

NATIVE = ROOT / "lowprec" / "_native"
PREFIX = "__pyx_f_7lowprec_7_native_9tier_base_"
TARGETS = {  # how a driver is compiled and run
    "x86-64": (["gcc"], []),
    "x86-64-v3": (["gcc", "-march=x86-64-v3"], []),
    "aarch64": (["aarch64-linux-gnu-gcc"], ["qemu-aarch64"]),
}


def lines_of_programs() -> list[str]:
    """Return the programs of all casts and quantizations, each once, as the driver reads them."""
    found = {}
    make = _kernels.Program

    def record(names: tuple[str, ...], source_bits: int, target_bits: int, values: dict[str, int]) -> Any:
        made = make(names, source_bits, target_bits, values)
        fused = made != make(names, source_bits, target_bits, values, fused=False)
        found[names, made.params] = f"{source_bits} {target_bits} {fused:d} {made.params.hex()} {' '.join(names)}\n"
        return made

    with mock.patch.object(_kernels, "Program", record):
        for programs in (cuda_on_cpu.casts(), cuda_on_cpu.quantizations(), roundings()):
            for _ in programs:
                pass
    return sorted(found.values())


def roundings() -> Iterator[Any]:
    """Yield the programs of every rounding without random numbers, whose loops have another signature."""
    modes = [mode for mode in ROUNDINGS if mode not in STOCHASTIC]
    for source, target, mode, overflow in itertools.product(SOURCES, ROUNDED, modes, OVERFLOWS):
        rules = CastRules(NEWEST, True, "up", Rounding(mode, overflow, "signed"))
        plan = make_plan(as_format(source), as_format(target), rules)
        yield make_program.__wrapped__(plan, packed=plan.target.bits == 4)


def table() -> str:
    """Return the loops of the base tier as C initialisers."""
    listed: dict[str, Any] = runpy.run_path(str(NATIVE / "loop_list.py"))["names_of_loops"]()
    entries = []
    for name in [*listed["elements"], *listed["written_out"], *listed["moving"]]:
        function, _, word = listed["address_of"].get(name, name).partition("[")
        specialization = f"__pyx_fuse_{list(listed['WIDTHS'].values()).index(word[:-1])}" if word else ""
        entries.append((name, [specialization + PREFIX + function]))
    for name in listed["scaled"]:
        entries.append((name, [f"{PREFIX}{name}_{mode}" for mode in ("uniform", "elementwise")]))
    entries += [(name, [PREFIX + name]) for name in listed["rounded"]]
    chains = [*listed["fused"], *listed["fused_rounded"]]
    entries += [("fused:" + ".".join(chain), [PREFIX + listed["name_of"](chain)]) for chain in chains]
    for chain in listed["fused_scaled"]:
        name = listed["name_of"](chain)
        entries.append(("fused:" + ".".join(chain), [f"{PREFIX}{name}_{mode}" for mode in listed["modes"]]))
    return "".join(
        f'{{"{name}", {{{", ".join(f"(void *){address}" for address in addresses)}}}}},\n'
        for name, addresses in entries
    )


def results(folder: Path, target: str, flags: list[str], programs: str) -> list[str]:
    """Compile the driver for one target and return the lines it prints."""
    compiler, runner = TARGETS[target]
    driver = folder / target
    includes = [f"-I{place}" for place in (folder, NATIVE, sysconfig.get_paths()["include"])]
    macros = [f'-DTIER_C="{NATIVE / "tier_base.c"}"', f"-DRECIPROCALS={PREFIX}reciprocals"]
    linker = ["-static", "-ffunction-sections", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all"]  # no Python
    command = [*compiler, *flags, *includes, *macros, *linker, "-w", str(TESTS / "native" / "aarch64_driver.c")]
    subprocess.run([*command, "-o", str(driver)], check=True)
    done = subprocess.run([*runner, str(driver)], input=programs, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{target}: status {done.returncode}; {done.stderr}{done.stdout.count('differs')} differ")
    return done.stdout.splitlines()


def main() -> int:
    """Return 0 if all is as expected."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    vectorised = importlib.import_module("vectorised")
    programs = lines_of_programs()
    with tempfile.TemporaryDirectory() as name:
        scalar, total = vectorised.scalar_loops("base", name, ["aarch64-linux-gnu-gcc"])
        known = vectorised.KNOWN["v3"]
        surprises = [f"{name} ({n})" for name, n in sorted(scalar.items()) if not vectorised.is_known(name, n, known)]
        print(f"aarch64: {total} inner loops, {scalar.total()} scalar; unexpected: {', '.join(surprises) or 'none'}")
        Path(name, "table.inc").write_text(table(), encoding="utf-8")
        found = {target: results(Path(name), target, vectorised.FLAGS, "".join(programs)) for target in TARGETS}
    expected = found["x86-64"]
    fused = sum(line.split()[2] == "1" for line in programs)
    print(f"{len(programs)} programs, {fused} with a fused loop")
    failed = bool(surprises) or len(expected) != len(programs)
    for target, lines in found.items():
        different = [line for line, theirs in zip(lines, expected, strict=True) if line != theirs]
        print(f"{target}: {len(different)} programs with other results", *different[:5], sep="\n  ")
        failed = failed or bool(different)
    return failed


if __name__ == "__main__":
    sys.exit(main())
