"""What a compiler makes of the loops, without a clock: the commands `vectorised` and `instructions`.

`vectorised` prints how many inner loops of each tier gcc leaves scalar, and fails on the unexpected. `instructions`
counts those for 64 elements in the inner loops of vectors. How many elements go through one, which compilers unroll,
is known from what it stores. A loop has several texts, short ones for plain formats: the shortest is counted, and the
longest with its branches for what is rare. Loops with runs of scales, which prepare these in loops of their own, are
left out. An instruction is not a cycle.
"""

from __future__ import annotations

import argparse
import ast
import collections
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lowprec._native import all_kernels

MODES = ("", "uniform", "elementwise", "columns")
PACKAGE = Path(__file__).parent.parent / "lowprec"
SETUP = ast.parse(Path(__file__).parent.parent.joinpath("setup.py").read_text(encoding="utf-8"))
LITERALS = {
    target.id: ast.literal_eval(node.value)
    for node in SETUP.body
    if isinstance(node, ast.Assign)
    for target in node.targets
    if isinstance(target, ast.Name) and target.id in ("GNU_FLAGS", "TIERS")
}
FLAGS, TIERS = LITERALS["GNU_FLAGS"], LITERALS["TIERS"]  # those that the build uses

# How many inner loops of a function may be scalar, in every tier.
SCALAR = {
    # prefetches; 16 stores or 4 scales, unrolled
    "prefetch_block": 2, "prefetch_bits": 2, "prefetch_elements": 1,
    "spread_runs": 1, "repeat_scales": 2, "fill": 1, "copy_scales": 1,
    # a copy, which is a call
    "block_slots": 1,
    # for what other loops leave over
    "pack2": 1, "pack6": 2, "unpack2": 1, "unpack6": 2, "largest_ratio": 1,
    # over blocks, whose inner loops are other functions'; over what is rare; over the bytes of a mask
    "compare_values": 4, "count_saturated": 1, "count_beyond_q4_0": 1, "count_beyond_mxfp4": 1,
    "block_values": 1,
    # a group again, by the whole rule, where one of its elements needs that; with random numbers also what is left over
    "round32_to8": 1, "round32_to16": 1, "stochastic32_to8": 4, "stochastic32_to16": 4,
    "stochastic_fine32_to8": 4, "stochastic_fine32_to16": 4,
    # choices between words of 64 bits: sources and targets that are rarely rounded by such a rule
    **{f"round64_to{width}": 2 for width in (8, 16, 32, 64)}, **{f"stochastic64_to{width}": 4 for width in (8, 16, 32)},
    "exact_float64_to32": 4, **{f"exact_{kind}64_to{width}": 4 for kind in ("int", "uint") for width in (32, 64)},
    # one to a block
    "quotient_scales": 1, "product_scales": 1,
}  # fmt: skip
# SSE2 has no 64-bit comparison, no 32-bit maximum, no conversion of 64-bit integers, no byte shuffle.
SCALAR_ON_BASE = {
    "int64_to_float64_odd": 2, "uint64_to_float64_odd": 2, "float64_to_float32_odd": 2, "float32_to_float64": 2,
    "nonzero64": 2, "divide64_uniform": 1, "divide64_elementwise": 1, "truncate": 1, "truncate64": 3,
    "truncate32_to64": 1, "pack6": 3, "unpack6": 3, "byteswap32": 1, "byteswap64": 1,
    "absmax": 3, "absmax_short": 1, "largest_of_pairs": 1, "value_range": 2, "finite_ends": 1,
}  # fmt: skip
SCALAR_BELOW_V4 = {"int64_to_float32": 1, "uint64_to_float32": 1, "truncate64": 1}  # one instruction, but for scalars
# Dropped for what is written out.
SCALAR_WITH_VECTORS = {"truncate": 3, "compare_values": 6, "is_finite": 1}
KNOWN = {
    "base": {**SCALAR, **SCALAR_BELOW_V4, **SCALAR_ON_BASE},
    "v3": {**SCALAR, **SCALAR_BELOW_V4, **SCALAR_WITH_VECTORS},
    "v4": {**SCALAR, **SCALAR_WITH_VECTORS, "int64_to_float32": 2, "uint64_to_float32": 2},  # by 32 bits: dropped
}


def inner_loops(source: Path, tier: str) -> dict[str, list[int]]:
    """Return the lines at which the inner loops of each function begin; specializations apart, as `truncate 0`."""
    start = re.compile(rf"static .*?(?:__pyx_fuse_(\w+?))?__pyx_f_7lowprec_7_native_\d+tier_{tier}_(\w+)\(.*\) \{{")
    found: dict[str, list[int]] = {}
    function = ""
    above: list[tuple[int, int]] = []  # indentation and line of the loops that are open
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        if match := start.match(line):
            function = " ".join(part for part in (match[2], match[1]) if part)
            above = []
        elif line == "}":
            function = ""
        elif function and (match := re.match(r"( *)(for \(|\})", line)):
            above = [loop for loop in above if loop[0] < len(match[1])]
            if match[2] != "}":
                loops = found.setdefault(function, [])
                if above and above[-1][1] in loops:
                    loops.remove(above[-1][1])  # it is no inner loop
                above.append((len(match[1]), number))
                loops.append(number)
    if len(found) < 200:
        raise SystemExit(f"{source}: only {len(found)} loops found; has Cython changed how it names functions?")
    return found


def scalar_loops(tier: str, folder: str, command: Sequence[str]) -> tuple[collections.Counter[str], int]:
    """Compile the C of one tier; return how many inner loops of each function stay scalar, and the number of all."""
    source = PACKAGE / f"_native/tier_{tier}.c"
    folders = [f"-I{place}" for place in (source.parent, sysconfig.get_paths()["include"])]
    arguments = [*FLAGS, "-fPIC", "-fopt-info-vec-optimized", *folders, "-o", f"{folder}/out.o"]
    done = subprocess.run([*command, *arguments, "-c", str(source)], capture_output=True, text=True, check=True)
    vectorised = {int(line) for line in re.findall(r":(\d+):\d+: optimized: loop vectorized", done.stderr)}
    loops = inner_loops(source, tier)
    scalar = collections.Counter({name: sum(line not in vectorised for line in lines) for name, lines in loops.items()})
    for name, lines in loops.items():
        if f"{name}_vector" in loops and scalar[name] == len(lines):  # dropped: vectors take all
            del scalar[name]
    return +scalar, sum(map(len, loops.values()))


def is_known(name: str, count: int, known: dict[str, int]) -> bool:
    """Whether a function may have so many scalar loops; a fused loop as many as the functions it is made of."""
    name = name.split()[0]
    if name.endswith(("_vector", "_vectors", "_by_tables")):  # written out
        return True
    parts = re.sub(r"_(uniform|elementwise|runs)$", "", name.removeprefix("fused_")).split("__")
    return count <= sum(known.get(part, 0) for part in {name, *parts})


ARM_STORE = re.compile(r"st(p|u?r|1)\s+(\{[^}]*\}|[qd]\d+).*\[x")
X86_STORE = re.compile(r"(\S+)\s+(?:\$\S+,)?%([xyz])mm\d+,[^%]*\((?!%r[sb]p)")


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


def stored_bytes(text: str) -> int:
    """Return how many bytes of vectors an instruction stores; 0 for those that it keeps on the stack."""
    if arm := ARM_STORE.match(text):
        if arm[1] == "1":
            first, _, last = arm[2].strip("{}").partition("-")
            numbers = [int(re.findall(r"v(\d+)", register)[0]) for register in (first, last or first)]
            return 16 * ((numbers[1] - numbers[0]) % 32 + 1)
        return (16 if arm[2][0] == "q" else 8) * (2 if arm[1] == "p" else 1)
    x86 = X86_STORE.match(text)
    if x86 is None:
        return 0
    name, size = x86[1], {"x": 16, "y": 32, "z": 64}[x86[2]]
    if name.startswith("vextract"):
        return 32 if name.endswith("x4") and "64" in name else 16
    if name.startswith("vpmov"):
        return size // (4 if name.endswith("db") else 2)
    return size // 2 if name == "vcvtps2ph" else {"vmovq": 8, "vmovd": 4}.get(name, size)


def bits_of_results() -> dict[str, int]:
    """Return the bits that an element has in the output of each loop of vectors, by the name of its function."""
    chains = {all_kernels.function_of(chain, mode): chain for chain in all_kernels.VECTORS for mode in MODES}
    return {
        name: 4 if chain[-1] == "pack4" else int(re.findall(r"\d+", all_kernels.words(chain)[1])[0])
        for name, chain in chains.items()
    }


def loops_that_store(instructions: list[Instruction], bits: int) -> list[tuple[int, int]]:
    """Return the instructions, and the elements of so many bits, of the loops that hold no other and store vectors."""
    places = {one.address: index for index, one in enumerate(instructions)}
    loops = [
        (places[one.target], index)
        for index, one in enumerate(instructions)
        if one.target is not None and one.target <= one.address and one.target in places
    ]
    inner = [one for one in loops if not any(one[0] <= two[0] and two[1] <= one[1] and one != two for two in loops)]
    found = []
    for first, last in inner:
        texts = [one.text for one in instructions[first : last + 1]]
        if nbytes := sum(map(stored_bytes, texts)):
            found.append((len(texts), nbytes * 8 // bits))
    return found


def print_instructions(options: argparse.Namespace) -> None:
    """Print a line for each loop of vectors; the compiler is gcc of any processor, with its own objdump."""
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
    bits = bits_of_results()
    for name, instructions in functions(listing).items():
        loop = name.partition(f"tier_{options.tier}_")[2]
        if loop in bits and options.only in loop and "_runs_" not in loop:
            loops = loops_that_store(instructions, bits[loop])
            counts = sorted(count * 64 // stored for count, stored in loops if stored in (elements, 64))
            if counts:
                print(f"| {loop.removesuffix('_vector')} | {counts[0]} | {counts[-1]} |")


def unexpected_loops() -> int:
    """Print the loops that gcc leaves scalar in each tier; return how many are unexpected."""
    unexpected = 0
    with tempfile.TemporaryDirectory() as folder:
        for tier, flags in TIERS.items():
            scalar, total = scalar_loops(tier, folder, ["gcc", *flags])
            surprises = [f"{name} ({n})" for name, n in sorted(scalar.items()) if not is_known(name, n, KNOWN[tier])]
            unexpected += len(surprises)
            print(f"{tier}: {total} inner loops, {scalar.total()} scalar; unexpected: {', '.join(surprises) or 'none'}")
    return unexpected


def main(arguments: list[str]) -> int:
    """Return 0 if all is as expected."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["vectorised", "instructions"])
    parser.add_argument("--tier", default="base", choices=TIERS, help="whose flags and C (default: %(default)s)")
    parser.add_argument("--compiler", default="aarch64-linux-gnu-gcc", help="of instructions (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="instructions: loops whose names contain the text")
    options = parser.parse_args(arguments)
    if options.command == "instructions":
        print_instructions(options)
        return 0
    return 1 if unexpected_loops() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["vectorised"]))
