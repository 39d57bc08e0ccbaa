"""Execute docs/tutorials/notebook.ipynb and store its outputs: `python tests/project/renew_notebook.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import nbformat
from support.notebooks import executed
from support.paths import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"

if __name__ == "__main__":
    nbformat.write(executed(NOTEBOOK), NOTEBOOK)
