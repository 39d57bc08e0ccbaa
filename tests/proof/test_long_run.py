"""What the long runs share."""

from __future__ import annotations

import re

import numpy as np
from support.long_run import circumstances, until


def test_machine_and_date_are_named() -> None:
    assert re.fullmatch(
        r".+, \d+ cores, \w+ \w+, Python 3\.\d+\.\d+\S*, lowprec [\d.]+\S*, \d{4}-\d\d-\d\d", circumstances()
    )


def test_a_run_ends_after_its_minutes() -> None:
    assert list(until(1, iter([0.0, 20.0, 40.0, 60.0, 80.0]).__next__)) == [0, 1, 2]
    assert list(until(0, iter([np.inf, np.inf]).__next__)) == [0]
