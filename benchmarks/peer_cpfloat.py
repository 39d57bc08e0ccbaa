"""CPFloat: a C library of headers, compiled here; it rounds float32 to float32, without codes.

It has no Python package. Get the repository north-numerical-computing/cpfloat and name its folder `src` in the
environment variable `CPFLOAT`; a C compiler is needed. Its random numbers are those of C's `rand`, unless the
variable `PCG` names a folder of imneme/pcg-c that has been built, whose generator CPFloat recommends.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import lowprec as lp

MODES = {
    "nearest_away": -1, "nearest_zero": 0, "nearest_even": 1, "toward_positive": 2, "toward_negative": 3,
    "toward_zero": 4, "stochastic": 5, "to_odd": 7,
}  # fmt: skip
"""Its numbers of the roundings; it has no `away_from_zero`."""

SOURCE = """
#include <stdlib.h>
#include "cpfloat_binary32.h"
int round_array(float *y, const float *x, size_t n, int precision, int emin, int emax, int mode) {
    static optstruct *options;
    if (!options) options = init_optstruct();
    options->precision = precision, options->emin = emin, options->emax = emax, options->round = mode;
    options->explim = CPFLOAT_EXPRANGE_TARG, options->subnormal = CPFLOAT_SUBN_USE, options->flip = CPFLOAT_SOFTERR_NO;
    options->saturation = CPFLOAT_SAT_USE, options->infinity = CPFLOAT_INF_USE;
    return cpfloatf(y, x, n, options);
}
"""


def available() -> bool:
    """Whether CPFloat's folder is named."""
    return bool(os.environ.get("CPFLOAT"))


@functools.cache
def _library() -> ctypes.CDLL:
    pcg = os.environ.get("PCG")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "cpf.c"), Path(folder, "cpf.so")
        source.write_text(SOURCE, encoding="utf-8")
        generator = ["-include", f"{pcg}/include/pcg_variants.h"] if pcg else []
        command = [shutil.which("gcc") or "cc", "-O3", "-march=native", "-std=gnu99", "-w", "-shared", "-fPIC"]
        command += [f"-I{os.environ['CPFLOAT']}", *generator, str(source), "-o", str(library)]
        subprocess.run([*command, *([f"{pcg}/src/libpcg_random.a"] if pcg else []), "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
    loaded.round_array.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 4]
    return loaded


def rounded(x: np.ndarray, out: np.ndarray, fmt: lp.Format, mode: str) -> None:
    """Round float32 numbers to the values of a format; beyond its range to those of all exponents up to the largest."""
    largest = int(np.frexp(float(fmt.max))[1]) - 1
    shape = fmt.mantissa_bits + 1, 1 - fmt.bias, largest
    if _library().round_array(out.ctypes.data, x.ctypes.data, x.size, *shape, MODES[mode]):
        raise ValueError(f"CPFloat refuses {fmt.name}, {mode}")
