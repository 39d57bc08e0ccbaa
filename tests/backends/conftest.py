"""Fixtures of the calls of the linear operators that came before."""

from __future__ import annotations

import pytest
from support.known_calls import record

from lowprec.backends.prepared_calls import DEQUANTIZED, QUANTIZED


@pytest.fixture
def forgotten() -> None:
    """Forget all calls that came before."""
    QUANTIZED.clear()
    DEQUANTIZED.clear()


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Give, for each call in order, whether it was carried out as one that came before."""
    return record(monkeypatch)
