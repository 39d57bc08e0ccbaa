"""The share of slow tests: as many days as there are parts see every case once, and every test with every case."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from support.daily_share import PARTS, PARTS_OF_TESTS, in_share, shared


def test_without_a_share_all_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOWPREC_SHARE", raising=False)
    assert shared("abcdefg") == list("abcdefg")


def test_each_case_is_shown_once_in_so_many_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOWPREC_SHARE", "today")
    days = [date(2026, 11, 29) + timedelta(days) for days in range(PARTS)]
    assert [sum(in_share(place, day) for day in days) for place in range(3 * PARTS)] == [1] * (3 * PARTS)
    assert 0 < len(shared(range(9))) < 9


def test_every_test_meets_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOWPREC_SHARE", "today")
    days = [date(2026, 11, 29) + timedelta(days) for days in range(PARTS * PARTS_OF_TESTS)]
    met = {(test, case) for day in days for test in range(PARTS_OF_TESTS) for case in range(PARTS)
           if in_share(test, day, PARTS_OF_TESTS) and in_share(case, day)}  # fmt: skip
    assert len(met) == PARTS * PARTS_OF_TESTS
