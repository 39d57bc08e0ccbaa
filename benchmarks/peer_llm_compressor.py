"""Quantize a folder with llm-compressor on the CPU and print the seconds and those of the processor.

    PYTHON benchmarks/peer_llm_compressor.py RECIPE SOURCE TARGET

PYTHON is an interpreter that has llmcompressor; RECIPE is one of ours.
"""

from __future__ import annotations

import resource
import sys
import time

PRESETS = {
    "fp8-dynamic": "FP8_DYNAMIC",
    "fp8-block": "FP8_BLOCK",
    "int8": "W8A8",
    "w4a16": "W4A16",
    "mxfp4a16": "MXFP4A16",
    "mxfp8": "MXFP8A16",
    "nvfp4a16": "NVFP4A16",
}


def used() -> float:
    """Return the seconds of the processor, of this process and those that it started."""
    times = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in times)


def main() -> None:
    from llmcompressor import model_free_ptq

    recipe, source, target = sys.argv[1:]
    before, started = used(), time.perf_counter()
    model_free_ptq(source, target, scheme=PRESETS[recipe], ignore=["lm_head"], device="cpu")
    print(time.perf_counter() - started, used() - before)


if __name__ == "__main__":
    main()
