"""The share of long sweeps: as many days as there are parts see every case once."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from support.daily_share import PARTS, in_share, shared


def test_without_a_share_all_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOWPREC_SHARE", raising=False)
    assert shared("abcdefg") == list("abcdefg")


def test_each_case_is_shown_once_in_so_many_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOWPREC_SHARE", "today")
    days = [date(2026, 11, 29) + timedelta(days) for days in range(PARTS)]
    assert [sum(in_share(place, day) for day in days) for place in range(3 * PARTS)] == [1] * (3 * PARTS)
    assert 0 < len(shared(range(9))) < 9
