"""Check that gcc vectorises every inner loop of the tiers; print those it leaves scalar and fail on the unexpected."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "lowprec"
SETUP = ast.parse(Path(__file__).parent.parent.joinpath("setup.py").read_text(encoding="utf-8"))
LITERALS = {
    node.targets[0].id: ast.literal_eval(node.value)
    for node in SETUP.body
    if isinstance(node, ast.Assign) and node.targets[0].id in ("GNU_FLAGS", "TIERS")
}
FLAGS, TIERS = LITERALS["GNU_FLAGS"], LITERALS["TIERS"]  # those that the build uses

# SSE2 has no shift by a vector, no 64-bit comparison, no 32-bit maximum and no byte shuffle: these stay scalar there.
SCALAR_ON_BASE = {
    "int64_to_float64_odd", "uint64_to_float64_odd", "float64_to_float32_odd", "float32_to_float64", "truncate64",
    "nonzero", "pack6", "unpack6", "byteswap32", "byteswap64", "divide64_elementwise", "absmax",
    "absmax_short", "largest_of_pairs",
}  # fmt: skip


SCALAR_BELOW_V4 = {"integer_to_float32"}  # one instruction an element, but for scalars alone
LEFT_OUT = {  # dropped for what is written out
    "v4": {
        "truncate 0", "quantize_uniform 0", "quantize_elementwise 0", "dequantize_elementwise", "may_exceed",
        "count_outside", "compare_values", "is_finite",
    },
}  # fmt: skip
SCALAR = {  # its loop is for what the others leave over; written out; over groups; no loop over elements
    "compare_values", "encode_half16", "decode_half16", "count_saturated", "prefetch_block", "repeat_scales",
}  # fmt: skip


def scalar_loops(tier: str, folder: str) -> set[str]:
    """Compile one tier and return the functions none of whose loops was vectorised."""
    source = PACKAGE / f"_native/tier_{tier}.c"
    include = sysconfig.get_paths()["include"]
    command = ["gcc", *FLAGS, "-fPIC", "-fopt-info-vec-optimized", *TIERS[tier], f"-I{include}"]
    done = subprocess.run([*command, "-c", source, "-o", f"{folder}/out.o"], capture_output=True, text=True, check=True)
    vectorised = {int(line) for line in re.findall(r":(\d+):\d+: optimized: loop vectorized", done.stderr)}
    function, found = "", {}
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        start = re.match(
            r"static (?:CYTHON_INLINE )?(?:void|int|int32_t) (?:__pyx_fuse_)?(\w*?)"
            rf"__pyx_f_7lowprec_7_native_\d+tier_{tier}_(\w+)\(.*\) \{{",
            line,
        )
        if start:
            function = f"{start.group(2)} {start.group(1)}".strip()
        elif line == "}":
            function = ""
        elif function and re.search(r"\bfor \(", line):
            found.setdefault(function, []).append(number in vectorised)
    if len(found) < 50:
        raise SystemExit(f"{source}: only {len(found)} loops found; has Cython changed how it names functions?")
    scalar = {name.split()[0] for name, loops in found.items() if not any(loops) and name not in LEFT_OUT.get(tier, ())}
    return {name for name in scalar - SCALAR if not name.endswith("_avx512")}  # those are written out


def main() -> int:
    """Return 0 if all is as expected."""
    unexpected = 0
    with tempfile.TemporaryDirectory() as folder:
        for tier in TIERS:
            scalar = scalar_loops(tier, folder)
            known = {"base": SCALAR_ON_BASE | SCALAR_BELOW_V4, "v3": SCALAR_BELOW_V4}.get(tier, set())
            surprise = scalar - known
            unexpected += len(surprise)
            scalars, surprises = (", ".join(sorted(names)) or "none" for names in (scalar, surprise))
            print(f"{tier}: scalar {scalars}; unexpected {surprises}")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
