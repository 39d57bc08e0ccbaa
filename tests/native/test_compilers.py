"""Headers compile with gcc and clang; flags whose arithmetic would give other bits are refused, with the reason."""

from __future__ import annotations

import platform
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

NATIVE = ROOT / "lowprec" / "_native"
SOURCE = '#include "scalar_kernels.h"\nu32 f(u32 v, const params_t *p) { return lp_encode_upper16(v, p); }\n'

FEATURES = """#include <stdio.h>
#include "cpu_features.h"
int main(void) { return printf("%d %d %d", lp_has_v3(), lp_has_v4(), lp_has_v4_vbmi()) < 0; }
"""
NAMES = {  # of /proc/cpuinfo
    "v3": {"avx2", "bmi1", "bmi2", "fma", "f16c", "abm", "movbe", "popcnt"},
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "v4_vbmi": {"avx512vbmi"},
}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_features_of_the_processor(compiler: str, tmp_path: Path) -> None:
    info = Path("/proc/cpuinfo")
    if shutil.which(compiler) is None or platform.machine() != "x86_64" or not info.exists():
        pytest.skip(f"no {compiler} here, or no x86-64 Linux")
    program, source = tmp_path / "program", tmp_path / "program.c"
    source.write_text(FEATURES, encoding="utf-8")
    subprocess.run([compiler, f"-I{NATIVE}", str(source), "-o", str(program)], check=True)
    found = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    flags = set(re.findall(r"\w+", re.findall(r"flags\s*:(.*)", info.read_text(encoding="utf-8"))[0]))
    has_v3 = flags >= NAMES["v3"]
    has_v4 = has_v3 and flags >= NAMES["v4"]
    assert found == f"{has_v3:d} {has_v4:d} {has_v4 and flags >= NAMES['v4_vbmi']:d}"


def errors(compiler: str, *flags: str) -> list[str]:
    """Return the errors of a compiler for a file with the functions of one element."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    command = [compiler, *flags, f"-I{NATIVE}", "-x", "c", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=SOURCE, capture_output=True, text=True)
    return re.findall(r"error: (?:#error )?\"?(.*?)\"?$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_other_arithmetic(compiler: str, flag: str) -> None:
    assert errors(compiler, "-O3") == []
    (reason,) = errors(compiler, flag)
    assert reason.startswith("lowprec needs IEEE 754 arithmetic: compile it without -ffast-math, -Ofast")


def test_excess_precision() -> None:
    assert errors("i686-linux-gnu-gcc", "-msse2", "-mfpmath=sse") == []
    (reason,) = errors("i686-linux-gnu-gcc")
    assert reason.endswith("on 32-bit x86 compile it with -msse2 -mfpmath=sse")


@pytest.mark.parametrize(
    ("compiler", "flag"), [("gcc", "-march=sapphirerapids"), ("aarch64-linux-gnu-gcc", "-march=armv8.2-a+fp16")]
)
def test_processors_with_half_precision(compiler: str, flag: str) -> None:
    if compiler == "gcc" and platform.machine() != "x86_64":
        pytest.skip("the flag is that of x86-64")
    assert errors(compiler, flag) == []


@pytest.mark.parametrize("compiler", ["aarch64-linux-gnu-gcc", "s390x-linux-gnu-gcc"])
def test_other_architectures(compiler: str) -> None:
    assert errors(compiler, "-O3", "-ffp-contract=off") == []
    (reason,) = errors(compiler, "-ffast-math")
    assert reason.startswith("lowprec needs IEEE 754 arithmetic")


LOOPS = """#include "vector_kernels/quantize.h"
#include "scalar_kernels.h"
#include "cpu_features.h"
#if !LP_VECTORS
#error no vectors
#endif
void f(const uint8_t *s, float *d, const params_t *p) {
    lp_reader r = lp_reader_of_float8(p);
    lp_float_group x = lp_read_float8(1, s, &r);
    for (int j = 0; j < 4; j++) floats_store(d + LP_LANES * j, x.v[j]);
}
int g(void) { return lp_has_v3() + lp_has_v4(); }
"""
WINDOWS = "--driver-mode=cl --target=x86_64-pc-windows-msvc /c /WX /imsvc{stubs} /I{native} loops.c"
MACOS = "--target={target} -c -Wall -Wextra -Werror -Wno-unused-function -isystem {stubs} -I{native} loops.c"


@pytest.mark.parametrize(("command", "flags"), [
    (WINDOWS, "-march=x86-64-v3"), (MACOS.replace("{target}", "x86_64-apple-macos11"), "-march=x86-64-v3"),
    (MACOS.replace("{target}", "arm64-apple-macos11"), ""),
], ids=["Windows", "macOS, Intel", "macOS, Arm"])  # fmt: skip
def test_vectors_of_other_systems(command: str, flags: str, tmp_path: Path) -> None:
    """Without the headers of those systems: the compiler's own, and three functions of string.h."""
    pytest.importorskip("Cython", reason="setup.py needs Cython")
    if shutil.which("clang") is None:
        pytest.skip("no clang here")
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    declarations = "void *memcpy(void *, const void *, size_t), *memset(void *, int, size_t);"
    comparison = "int memcmp(const void *, const void *, size_t);"
    (stubs / "string.h").write_text(f"#include <stddef.h>\n{declarations}\n{comparison}\n", encoding="utf-8")
    (tmp_path / "loops.c").write_text(LOOPS, encoding="utf-8")
    build = runpy.run_path(str(ROOT / "setup.py"), run_name="setup_of_lowprec")
    own = [*build["GNU_FLAGS"], *flags.split(), "-ffreestanding", "-nostdlibinc", "-D__MM_MALLOC_H"]
    arguments = build["clang_cl_flags"](own) if "driver-mode=cl" in command else own
    listed = command.format(stubs=stubs, native=NATIVE).split()
    done = subprocess.run(["clang", *listed, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert any((tmp_path / name).is_file() for name in ("loops.obj", "loops.o"))
