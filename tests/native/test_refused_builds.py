"""Compilers and flags whose arithmetic would give other bits are refused, with one line that says why."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

SOURCE = '#include "elementwise.h"\nu32 f(u32 v, const params_t *p) { return lp_encode_upper16(v, p); }\n'


def errors(compiler: str, *flags: str) -> list[str]:
    """Return the errors of a compiler for a file with the functions of one element."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    includes = f"-I{Path(ROOT, 'lowprec', '_native')}"
    command = [compiler, *flags, includes, "-x", "c", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=SOURCE, capture_output=True, text=True)
    return re.findall(r"error: (?:#error )?\"?(.*?)\"?$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
def test_other_arithmetic(flag: str) -> None:
    assert errors("gcc", "-O3") == []
    (reason,) = errors("gcc", flag)
    assert reason.startswith("lowprec needs IEEE 754 arithmetic: compile it without -ffast-math, -Ofast")


def test_excess_precision() -> None:
    assert errors("i686-linux-gnu-gcc", "-msse2", "-mfpmath=sse") == []
    (reason,) = errors("i686-linux-gnu-gcc")
    assert reason.endswith("on 32-bit x86 compile it with -msse2 -mfpmath=sse")


@pytest.mark.parametrize("compiler", ["aarch64-linux-gnu-gcc", "s390x-linux-gnu-gcc"])
def test_other_architectures(compiler: str) -> None:
    assert errors(compiler, "-O3", "-ffp-contract=off") == []
    (reason,) = errors(compiler, "-ffast-math")
    assert reason.startswith("lowprec needs IEEE 754 arithmetic")
