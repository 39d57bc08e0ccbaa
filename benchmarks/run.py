"""The benchmarks, one command: `python benchmarks/run.py NAME [--help]`.

Speeds of conversions are multiples of a copy: a C loop that reads and writes the same bytes and computes nothing
(roof.c), timed in the same process in turn with ours and every peer that is installed. NOTES.md has the methods.
"""

from __future__ import annotations

import importlib
import sys

COMMANDS = {
    "casts": ("speeds", "casts, quantizations and dequantizations: our loops and every peer, multiples of a copy"),
    "roundings": ("speeds", "every rounding mode to narrow formats, the same way"),
    "blocks": ("speeds", "MX, NVFP4 and GGUF blocks, the same way"),
    "scales": ("speeds", "absmax_scale, as multiples of reading the array once"),
    "calls": ("calls", "microseconds that a call on few elements takes, with options and without"),
    "rows": ("loops", "nanoseconds an element of loops of vectors, called at their addresses"),
    "cycles": ("loops", "cycles an element of each conversion, and the time of a call before its first one"),
    "instructions": ("vectorised", "instructions for 64 elements, counted in what a compiler makes of the loops"),
    "vectorised": ("vectorised", "fails where gcc leaves an inner loop scalar that is not a known exception"),
    "check": ("speeds", "fails where a conversion takes 1.5 times what is stored for such a machine"),
    "checkpoints": ("checkpoints", "time and memory of converting large checkpoints, against a plain copy"),
    "dask": ("checkpoints", "a file larger than the memory of the Dask workers that quantize it"),
    "explorer": ("explorer_speed", "time and memory of the explorer in a browser"),
    "gpu": ("gpu", "bandwidth of the CUDA kernels as a share of a copy on the device"),
}
"""The module of each, and what it measures."""


def main(arguments: list[str]) -> int:
    """Run the benchmark that is named first with the other arguments; its module's `main` gets all of them."""
    if not arguments or arguments[0] not in COMMANDS:
        print((__doc__ or "").strip(), *(f"{name:13} {text}" for name, (_, text) in COMMANDS.items()), sep="\n")
        return 0 if arguments in (["--help"], ["-h"]) else 2
    return int(importlib.import_module(COMMANDS[arguments[0]][0]).main(arguments) or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
