"""A folder with an array in it, for the commands that read one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.command_line import X


@pytest.fixture
def folder_with_array(working_folder: Path) -> None:
    np.save("x.npy", X)
