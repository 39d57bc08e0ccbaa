"""Instructions for 64 elements in the inner loops of vectors, counted in what a compiler makes of a tier.

    python benchmarks/instructions.py [--tier base] [--compiler aarch64-linux-gnu-gcc] [--only TEXT]

The compiler is gcc of any processor, with its own objdump. A loop has several texts, short ones for plain formats: the
shortest is counted, and the longest with its branches for what is rare. Loops with runs of scales, which prepare these
in loops of their own, are left out. No clock is asked: an instruction is not a cycle.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sysconfig
import tempfile
from typing import NamedTuple

from vectorised import FLAGS, PACKAGE, TIERS

STORE = re.compile(r"(st[pr1]\s+\{?[qv]\d.*\[x|v?mov\S*\s+%[yz]mm\d+,.*\()")


class Instruction(NamedTuple):
    """One instruction: its address, its text, and where in its function it branches to."""

    address: int
    text: str
    target: int | None


def width(command: list[str]) -> int:
    """Return the elements of a group: bytes of a vector."""
    source = '#include "instruction_sets/vectors.h"\n#if LP_VECTORS\nwidth=LP_WIDTH\n#endif\n'
    arguments = [*command, f"-I{PACKAGE / '_native'}", "-E", "-P", "-x", "c", "-"]
    text = subprocess.run(arguments, input=source, capture_output=True, text=True, check=True).stdout
    found = re.search(r"width=(\d+)", text)
    if found is None:
        raise SystemExit(f"{command[0]} makes no loops of vectors with {' '.join(command[1:]) or 'its own flags'}")
    return int(found[1])


def functions(listing: str) -> dict[str, list[Instruction]]:
    """Return the instructions of each function."""
    found: dict[str, list[Instruction]] = {}
    name = ""
    for line in listing.splitlines():
        if heading := re.match(r"[0-9a-f]+ <(.*)>:", line):
            name = heading[1]
            found[name] = []
        elif name and (one := re.match(r"\s*([0-9a-f]+):\t(.*)", line)):
            target = re.match(rf"(?:j|b|cb|tb)\S*\s.*?\b([0-9a-f]+) <{re.escape(name)}\+?\w*>", one[2])
            found[name].append(Instruction(int(one[1], 16), one[2], int(target[1], 16) if target else None))
    return found


def loops_that_store(instructions: list[Instruction]) -> list[int]:
    """Return how many instructions the loops have that hold no other loop and store vectors."""
    places = {one.address: index for index, one in enumerate(instructions)}
    loops = [
        (places[one.target], index)
        for index, one in enumerate(instructions)
        if one.target is not None and one.target <= one.address and one.target in places
    ]
    inner = [one for one in loops if not any(one[0] <= two[0] and two[1] <= one[1] and one != two for two in loops)]
    return sorted(
        last - first + 1
        for first, last in inner
        if any(STORE.match(one.text) for one in instructions[first : last + 1])
    )


def main() -> None:
    """Print a line for each loop of vectors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tier", default="base", choices=TIERS, help="whose flags and C (default: %(default)s)")
    parser.add_argument("--compiler", default="aarch64-linux-gnu-gcc", help="default: %(default)s")
    parser.add_argument("--only", default="", metavar="TEXT", help="loops whose names contain the text")
    options = parser.parse_args()
    command = [options.compiler, *TIERS[options.tier]]
    elements = width(command)
    folders = [f"-I{place}" for place in (PACKAGE / "_native", sysconfig.get_paths()["include"])]
    with tempfile.TemporaryDirectory() as folder:
        built = f"{folder}/loops.o"
        source = str(PACKAGE / f"_native/tier_{options.tier}.c")
        subprocess.run([*command, *FLAGS, "-w", *folders, "-c", source, "-o", built], check=True)
        objdump = [f"{options.compiler.removesuffix('gcc')}objdump", "-d", "--no-show-raw-insn", built]
        listing = subprocess.run(objdump, capture_output=True, text=True, check=True).stdout
    print(f"{options.compiler}, tier {options.tier}, groups of {elements}\n")
    print("| loop | shortest, for 64 elements | longest |\n| --- | ---: | ---: |")
    for name, instructions in functions(listing).items():
        loop = name.partition(f"tier_{options.tier}_")[2]
        if loop.endswith("_vector") and options.only in loop and "_runs_" not in loop:
            counts = [count * 64 // elements for count in loops_that_store(instructions)]
            if counts:
                print(f"| {loop.removesuffix('_vector')} | {counts[0]} | {counts[-1]} |")


if __name__ == "__main__":
    main()
