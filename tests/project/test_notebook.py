"""The notebook of the documentation: it runs, and its stored outputs are those of a run."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.notebook_page import Page
from support.paths import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"


@pytest.fixture(scope="module")
def stored() -> Any:
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def _joined(text: str | list[str]) -> str:
    return "".join(text)


def _outputs(stored: Any) -> list[dict[str, Any]]:
    return [output for cell in stored["cells"] for output in cell.get("outputs", ())]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of Jupyter; what the kernel warns of would be an output
def test_a_run_gives_the_stored_outputs() -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    from support.notebooks import executed, texts_of

    assert texts_of(executed(NOTEBOOK)) == texts_of(nbformat.read(NOTEBOOK, as_version=4))


def test_it_has_outputs_and_nothing_of_a_machine(stored: Any) -> None:
    code = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert all(not cell["metadata"] for cell in stored["cells"])
    assert {output["output_type"] for output in _outputs(stored)} <= {"stream", "execute_result", "display_data"}
    assert not [output for output in _outputs(stored) if output.get("name") == "stderr"]
    assert not re.findall(r'(?<![\w<"])/(?:home|tmp|root|work|usr|Users|var)\b', NOTEBOOK.read_text(encoding="utf-8"))


def test_it_needs_lowprec_and_numpy_alone(stored: Any) -> None:
    source = "\n".join(_joined(cell["source"]) for cell in stored["cells"] if cell["cell_type"] == "code")
    imported = set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
    assert imported == {"lowprec", "numpy", "contextlib", "dataclasses", "tempfile"}


def test_what_it_shows_as_html_is_well_formed(stored: Any) -> None:
    pages = [
        _joined(output["data"]["text/html"]) for output in _outputs(stored) if "text/html" in output.get("data", {})
    ]
    assert len(pages) >= 8
    assert all(Page(page).tables for page in pages)
