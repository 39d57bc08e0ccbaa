"""No conversion touches memory before or behind its arrays: each array borders on a page without access.

The pages are of a NumPy allocator that is compiled here (tests/support/sanitizers). They see what AddressSanitizer does
not: masked loads and stores, and the build that users have.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from support.paths import TESTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="needs Linux and cc"),
]

ENDS = """
import sys
import guarded_memory, numpy as np
import lowprec as lp
from lowprec import _kernels
from lowprec.spec.formats import NUMERIC

lengths = [*range(1, 10), 15, 16, 17, 31, 33, 48, 63, 65, 97, 127, 130, 191, 1027, 4099]
rng = np.random.default_rng(20)
calls = 0
for isa in _kernels.available_isas():
    _kernels.use_isa(isa)
    for source in NUMERIC:
        for n in lengths:
            codes = rng.integers(0, 1 << min(source.bits, 63), n, np.uint64).astype(source.code_dtype)
            for target in NUMERIC:
                lp.encode(codes, target, source=source)
                calls += 1
                if target.bits in (2, 4, 6):
                    lp.encode(codes, target, source=source, packed=True)
                    calls += 1
    for n in lengths:
        x = rng.normal(0, 9, (2, n)).astype(np.float32)
        scale = rng.uniform(0.5, 2, n).astype(np.float32)
        for name in ("int4", "int8", "uint16", "float8_e4m3fn", "float4_e2m1fn"):
            zero = None if name.startswith("float") else np.zeros(n, lp.as_format(name).dtype)
            codes = lp.quantize_linear(x, scale, zero, axis=1, output_dtype=name)
            lp.dequantize_linear(codes, scale, zero, axis=1)
            lp.quantize_linear(x[:, ::-1], scale, zero, axis=1, output_dtype=name)
            calls += 3
print(calls, len(_kernels.available_isas()))
"""


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guard")
    source = TESTS / "support" / "sanitizers" / "guarded_memory.c"
    headers = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    command = ["cc", "-O1", "-shared", "-fPIC", *headers, str(source), "-o", str(folder / "guarded_memory.so")]
    subprocess.run(command, check=True)
    return folder


def process(guard: Path, side: str, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(guard), "GUARDED_MEMORY": side}
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, *arguments],
        env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("side", ["end", "start"])
def test_conversions_stay_inside(guard: Path, side: str) -> None:
    done = process(guard, side, ENDS)
    assert done.returncode == 0, done.stderr
    calls, instruction_sets = map(int, done.stdout.split())
    assert calls > 15_000 * instruction_sets
