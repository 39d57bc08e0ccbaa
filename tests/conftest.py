"""What every test shares: the build left as it was found, odd floating-point modes, a tally of conversions."""

from __future__ import annotations

import collections
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Read where OpenMP is loaded: a thread that waits must leave the core to the tests of the next process.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import hypothesis
from support.array_libraries import LIBRARIES, Library, library
from support.float_modes import MODES, can_set, in_mode
from support.optional import Missing, optional

import lowprec as lp
from lowprec import _kernels

_BUILD = os.environ.get("LOWPREC_TEST_BUILD", "")
if _BUILD and not Path(lp.__file__).is_relative_to(_BUILD):
    raise RuntimeError(f"the tests of the build in {_BUILD} have imported {lp.__file__}")

# None holds doctests; of several conftest.py only one can be the module `conftest`, and scripts that check with other
# packages, or renew what those made, are for environments of their own.
collect_ignore_glob = ["conftest.py", "*/conftest.py", "support/*", "*/check_*.py", "*/renew_*.py"]

_TALLY: collections.Counter[str] = collections.Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all cases but each n-th of what is marked `one_in(n)`, and tests in a browser, which try twice."""
    seen: collections.Counter[str] = collections.Counter()
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.flaky(reruns=1))  # it shares the machine: a click can come before its answer
        sweep = item.get_closest_marker("one_in")
        if sweep is not None:
            name = item.nodeid.partition("[")[0]
            if seen[name] % sweep.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1


@pytest.fixture(autouse=True)
def _as_found() -> Iterator[None]:
    isa = _kernels.isa()
    yield
    _kernels.use_isa(isa)
    lp.set_num_threads(None)


@pytest.fixture(params=_kernels.available_isas())
def tier(request: pytest.FixtureRequest) -> str:
    """Put each instruction set of this machine in use."""
    _kernels.use_isa(request.param)
    return str(request.param)


@pytest.fixture
def working_folder(tmp_path: Path) -> Iterator[Path]:
    """Make an empty folder the current one; it stays so where a test undoes what it patched."""
    with contextlib.chdir(tmp_path):
        yield tmp_path


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Give every array library that is here."""
    with library(request.param) as found:
        yield found


hypothesis.settings.register_profile("untimed", deadline=None)  # no test is timed: machines are busy
hypothesis.settings.load_profile("untimed")

torch: Any = optional("torch")
if not isinstance(torch, Missing):
    torch.ones(1 << 20).add_(1)  # torch's threads start here: they keep the mode that the thread starting them is in


@pytest.fixture(params=["whole", "pieces"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Have `convert` read tensors whole, or in pieces of every kind; return a number of threads."""
    if request.param == "whole":
        return 1
    monkeypatch.setattr("lowprec.checkpoints.memory_limit.LARGEST_CHUNK", 1 << 10)
    monkeypatch.setattr("lowprec.checkpoints.schemes.cast.BATCH", 8)
    for name in ("CHUNK", "PART", "SCALED_PART"):
        monkeypatch.setattr(f"lowprec.checkpoints.schemes.cast.{name}", 1 << 7)
    return 3


@pytest.fixture(params=MODES[1:])
def odd_mode(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave the calling thread in a floating-point mode that would change the bits; it must be put back after calls."""
    if not can_set():
        pytest.skip("the modes are set for x86-64 and aarch64 with glibc")
    with in_mode(request.param):
        yield


@pytest.fixture
def tally() -> collections.Counter[str]:
    """Give the counts of conversions that were compared, and of those that differed; printed at the end of the run."""
    return _TALLY


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # one of several processes: its counts go to the one that prints
        session.config.workeroutput["tally"] = dict(_TALLY)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _TALLY.update(getattr(node, "workeroutput", {}).get("tally", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in sorted({key.partition(" differ")[0] for key in _TALLY}):
        differ = _TALLY[f"{name} differ"]
        terminalreporter.write_line(f"{name}: {_TALLY[name]:,} compared, {differ} differences")
