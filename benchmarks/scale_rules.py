"""What the scale rules of MX and NVFP4 lose: signal-to-quantization-noise ratios in dB, on weights of fixed seeds.

    python benchmarks/scale_rules.py [--block-sizes 16,32,64,128] [--size 2048] [--rounding nearest_even]

Weights are float32 matrices, quantized along their rows: normal deviates; Student's t with 4 and with 3 degrees of
freedom, whose tails are those of trained weights and of activations; and normal deviates in which every 128th column
is 20 times as large. The rows differ by up to a factor of 2, so that blocks meet every position between two powers of
two. More decibels are better; in a row the largest is bold. An NVFP4 block has 16 elements, whatever the option says;
its columns are the default and the rules of libraries.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from lowprec.loss import block_sweep
from lowprec.spec.formats import NVFP4
from lowprec.spec.scale_rules import NVFP4_RULES, SCALE_RULES

ELEMENTS = {
    "MXFP8 e4m3": "mxfp8_e4m3", "MXFP8 e5m2": "mxfp8_e5m2",
    "MXFP6 e2m3": "mxfp6_e2m3", "MXFP6 e3m2": "mxfp6_e3m2", "MXFP4": "mxfp4",
}  # fmt: skip
OUTLIERS = 128
"""Of so many columns one is larger."""

Array = np.ndarray[Any, Any]


def _with_outliers(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    x = rng.standard_normal(shape)
    x[:, ::OUTLIERS] *= 20
    return x


WEIGHTS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "Student t, 4": lambda rng, shape: rng.standard_t(4, shape),
    "Student t, 3": lambda rng, shape: rng.standard_t(3, shape),
    "outlier channels": _with_outliers,
}


def weights(name: str, size: int) -> Array:
    """Return a matrix of weights, the same every time."""
    rng = np.random.default_rng(list(WEIGHTS).index(name))
    x = WEIGHTS[name](rng, (size, size)) * np.exp2(rng.uniform(0, 1, (size, 1))) * 0.02
    return x.astype(np.float32)


def _line(name: str, weights_name: str, block_size: int, values: list[float]) -> str:
    best = max(values)
    cells = [f"**{value:.2f}**" if round(value, 2) == round(best, 2) else f"{value:.2f}" for value in values]
    return f"| {weights_name} | {name} | {block_size} | {' | '.join(cells)} |"


def _header(names: tuple[str, ...]) -> str:
    return f"| weights | | block | {' | '.join(names)} |\n| --- | --- | ---: |{' ---: |' * len(names)}"


def main() -> None:
    """Print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--block-sizes", default="16,32,64,128", help="of MX (default: %(default)s)")
    parser.add_argument("--size", type=int, default=2048, help="rows and columns (default: %(default)s)")
    parser.add_argument("--rounding", default="nearest_even", help="of the elements (default: %(default)s)")
    options = parser.parse_args()
    rounding: dict[str, Any] = {"rounding": options.rounding}
    rounding |= {"seed": 0} if options.rounding.startswith("stochastic") else {}
    matrices = {name: weights(name, options.size) for name in WEIGHTS}
    print(_header(SCALE_RULES))
    for weights_name, x in matrices.items():
        for name, element in ELEMENTS.items():
            for block_size in map(int, options.block_sizes.split(",")):
                found = block_sweep(x, formats=[element], block_sizes=[block_size], scale_rules=SCALE_RULES, **rounding)
                print(_line(name, weights_name, block_size, [one.sqnr_db for one in found]), flush=True)
    print(f"\n{_header(('default', *NVFP4_RULES))}")
    for weights_name, x in matrices.items():
        found = block_sweep(x, formats=[NVFP4], block_sizes=[16], scale_rules=(None, *NVFP4_RULES), **rounding)
        print(_line("NVFP4", weights_name, 16, [one.sqnr_db for one in found]), flush=True)


if __name__ == "__main__":
    main()
