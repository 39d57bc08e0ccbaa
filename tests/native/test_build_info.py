"""What this build is: environment variables, instruction sets, the tables of loops."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import subprocess
import sys

import pytest

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.threads import available_cores

SETS = ", ".join(_kernels.available_isas())
WRONG = [
    ("LOWPREC_NUM_THREADS", value, f"LOWPREC_NUM_THREADS must be an integer from 1 to 1024; got {value!r}")
    for value in ("x", "0", "1025", "-1", "1.5", "9" * 5000)
] + [
    ("LOWPREC_ISA", value, f"LOWPREC_ISA must be one of {SETS} on this machine; got {value!r}")
    for value in ("v5", "V4", "avx2")
] + [("LOWPREC_OPENMP", value, f"LOWPREC_OPENMP must be 0 or 1; got {value!r}") for value in ("x", "2")]  # fmt: skip


def process(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOWPREC_", "OMP_NUM"))}
    return subprocess.run(
        [sys.executable, *command], env={**kept, **variables}, capture_output=True, text=True, check=False, timeout=60
    )


STATE = "import lowprec as lp; found = lp.build_info(); print(found['isa'], found['threads'], found['openmp'] > 0)"


@functools.cache
def default_state() -> str:
    return process("-c", STATE).stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(WRONG)), ids=[f"{name}={value[:5]}" for name, value, _ in WRONG])
def test_a_wrong_variable_is_one_line(number: int) -> None:
    name, value, line = WRONG[number]
    done = process("-c", STATE, **{name: value})
    assert (done.returncode, done.stderr) == (0, f"lowprec: {line}\n")
    assert done.stdout == default_state()
    command = (["formats"], ["--version"], ["explain", "1", "float8_e4m3fn"])[number % 3]
    done = process("-m", "lowprec", *command, **{name: value})
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"lowprec: {line}\n")


def test_both_variables_wrong() -> None:
    done = process("-m", "lowprec", "formats", LOWPREC_ISA="v5", LOWPREC_NUM_THREADS="x")
    assert (done.returncode, done.stdout) == (1, "")
    assert sorted(line[:20] for line in done.stderr.splitlines()) == ["lowprec: LOWPREC_ISA", "lowprec: LOWPREC_NUM"]


def test_a_wrong_variable_goes_to_the_logger() -> None:
    code = (
        "import logging, sys; logging.basicConfig(stream=sys.stdout, format='%(levelname)s %(name)s %(message)s'); "
        "import lowprec"
    )
    done = process("-W", "error", "-c", code, LOWPREC_ISA="v5")
    line = f"lowprec: LOWPREC_ISA must be one of {SETS} on this machine; got 'v5'"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"WARNING lowprec {line}\n", "")


@pytest.mark.parametrize(("value", "wanted"), [("5", "5"), ("", str(available_cores()))])
def test_threads_variable(value: str, wanted: str) -> None:
    done = process("-c", STATE, LOWPREC_NUM_THREADS=value)
    assert done.stderr == ""
    assert done.stdout.split()[1:] in ([wanted, "True"], ["1", "False"])


def test_an_instruction_set_that_was_not_built_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert _kernels.available_isas() == ("base",)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("value", ["", *_kernels.available_isas()])
def test_instruction_set_variable(value: str) -> None:
    done = process("-c", STATE, LOWPREC_ISA=value)
    assert (done.stdout.split()[0], done.stderr) == (value or _kernels.available_isas()[-1], "")


def test_one_thread_has_a_reason() -> None:
    info = lp.build_info()
    assert (info["serial_reason"] is None) == (info["openmp"] > 0)
    assert info["openmp"] == _kernels.openmp()
    assert info["openmp"] or info["threads"] == 1


def test_an_unknown_instruction_set() -> None:
    before = _kernels.isa()
    with pytest.raises(ValueError, match=r"`name` must be one of .*base.*; got 'v9'"):
        _kernels.use_isa("v9")
    assert _kernels.isa() == before


TABLE = """
from lowprec import _kernels
from lowprec._native import tier_base
tier_base.{table} = {loops}
try:
    _kernels.use_isa("base")
except ImportError as error:
    print(error)
"""


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("table", "most", "entry"), [
    ("LOOPS", 96, 0), ("SCALE_LOOPS", 16, (0, 0, 0)), ("FUSED_LOOPS", 96, 0), ("FUSED_SCALE_LOOPS", 96, (0, 0, 0)),
])  # fmt: skip
def test_a_table_beyond_its_bound_or_with_another_loop(table: str, most: int, entry: object) -> None:
    for loops, said in (
        (f"dict.fromkeys(map(str, range({most + 1})), {entry})", f"at most {most} loops in {table}; got {most + 1}"),
        (f'{{**tier_base.{table}, "another": {entry}}}', "the loops of the other instruction sets"),
    ):
        done = process("-c", TABLE.format(table=table, loops=loops))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"lowprec._native.tier_base must have {said}\n"
