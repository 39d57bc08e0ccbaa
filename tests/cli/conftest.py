"""A folder with an array in it, for the commands that read one; a folder for temporary files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.command_line import X


@pytest.fixture
def folder_with_array(working_folder: Path) -> None:
    np.save("x.npy", X)


@pytest.fixture
def temporary(working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder for temporary files, which must be empty again at the end of a test."""
    folder = working_folder / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not os.listdir(folder)
