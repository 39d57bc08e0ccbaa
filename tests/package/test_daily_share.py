"""The share of long sweeps: three days see every case once."""

from __future__ import annotations

from datetime import date

import pytest
from support.daily_share import in_share, shared


def test_without_a_share_all_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOWPREC_SHARE", raising=False)
    assert shared("abcdefg") == list("abcdefg")


def test_three_days_show_each_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOWPREC_SHARE", "today")
    days = [date(2026, 11, day) for day in (29, 30)] + [date(2026, 12, 1)]
    assert [sum(in_share(place, day) for day in days) for place in range(10)] == [1] * 10
    assert 0 < len(shared(range(9))) < 9
