"""What pytest leaves out below docs/, and the folder of tiny models in which the examples on checkpoints run."""

from __future__ import annotations

import contextlib
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parent
collect_ignore_glob = ["conf.py", "conftest.py", "_extensions/*", "_build/*", "api/generated/*", "*/tiny_models.py"]


@pytest.fixture(autouse=True)
def folder_of_tiny_models(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Run a page on checkpoints in a folder of its own, with the models of checkpoints/tiny_models.py."""
    if request.path.parent != DOCS / "checkpoints":
        yield
        return
    with contextlib.chdir(tmp_path):
        runpy.run_path(str(DOCS / "checkpoints" / "tiny_models.py"), run_name="__main__")
        yield
