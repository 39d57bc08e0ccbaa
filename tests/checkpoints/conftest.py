"""Every test of checkpoints runs in an empty folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _empty_folder(working_folder: Path) -> None:
    pass
