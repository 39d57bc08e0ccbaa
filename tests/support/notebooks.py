"""Notebooks executed by nbclient, with outputs that are the same on every machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from support.optional import optional

_TIMES = re.compile(r"(seconds=)[\d.e+-]+")
_RATES = re.compile(r"(bytes_per_second=)[\d.e+-]+")
_SPEED = re.compile(r"in \d+\.\d s, [\d.]+ \w+/s")
_LONG = re.compile(r"(?<![\w.])\d+\.\d{7,}(?:e[+-]\d+)?")


def _steady(text: str) -> str:
    """Return a text without times, and with numbers of six digits."""
    text = _RATES.sub(r"\1...", _TIMES.sub(r"\1...", _SPEED.sub("in ... s, .../s", text)))
    return _LONG.sub(lambda match: f"{float(match[0]):.6g}", text)


def executed(path: Path) -> Any:
    """Return a notebook with the outputs of a new run, and no metadata but its language; an error is raised."""
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    nbclient, nbformat = optional("nbclient"), optional("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", record_timing=False).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                output.text = _steady(output.text)
            for kind, text in output.get("data", {}).items():
                output.data[kind] = _steady(text)
    return notebook


def texts_of(notebook: Any) -> dict[str, list[str]]:
    """Return what each cell prints and the text of what it shows, by the cell's id."""
    return {cell.id: [_text_of(output) for output in cell.outputs] for cell in notebook.cells if "outputs" in cell}


def _text_of(output: Any) -> str:
    return str(output.text if output.output_type == "stream" else output.data["text/plain"])
