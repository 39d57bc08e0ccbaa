"""What every test shares: the build left as it was found, and a tally of compared conversions."""

from __future__ import annotations

import collections
from collections.abc import Iterator

import pytest

import lowprec as lp
from lowprec import _kernels

_TALLY: collections.Counter[str] = collections.Counter()


@pytest.fixture(autouse=True)
def _as_found() -> Iterator[None]:
    isa = _kernels.isa()
    yield
    _kernels.use_isa(isa)
    lp.set_num_threads(None)


@pytest.fixture
def tally() -> collections.Counter[str]:
    """Give the counts of conversions that were compared, and of those that differed; printed at the end of the run."""
    return _TALLY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in sorted({key.partition(" differ")[0] for key in _TALLY}):
        differ = _TALLY[f"{name} differ"]
        terminalreporter.write_line(f"{name}: {_TALLY[name]:,} compared, {differ} differences")
