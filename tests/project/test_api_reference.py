"""The API reference: every public name is in docs/api/index.md, and every docstring passes checks of numpydoc."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest
from support.paths import ROOT

MODULES = ("lowprec", "lowprec.checkpoints", "lowprec.loss", "lowprec.reference", "lowprec.teaching", "lowprec.onnx")
PARTS = {
    "lowprec.reference.whole_arrays": ["expected_from_float64", "expected_from_integers"],
    "lowprec.conformance.cast_inputs": ["landmarks", "sweep_float32", "sweep_float64", "sweep_int64", "sweep_uint64"],
}
"""Modules of which the index lists some functions."""

CHECKS = {
    "GL01", "GL02", "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10",  # layout, sections, a docstring at all
    "SS01", "SS02", "SS03", "SS04", "SS05", "SS06",  # the first line
    "PR02", "PR05", "PR06", "PR07", "PR09", "PR10",  # Parameters: none unknown, each described
    "RT03", "RT05", "YD01", "SA02", "SA03", "SA04",
}  # fmt: skip
FUNCTIONS = CHECKS | {"EX01"}  # an example too


def module_of(name: str) -> ModuleType:
    """Import a module; skip the test where a package that it needs is missing."""
    if name == "lowprec.onnx":
        pytest.importorskip("onnx")
    return importlib.import_module(name)


def listed() -> Iterator[tuple[str, str]]:
    """Yield module and name of everything that the index lists."""
    text = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    for module, block in re.findall(r"\.\. currentmodule:: (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for name in re.findall(r"^   (\w+)$", block, re.MULTILINE):
            yield module, name


@pytest.mark.parametrize("name", MODULES)
def test_the_index_lists_every_public_name_once(name: str) -> None:
    found = sorted(one for module, one in listed() if module == name)
    module = module_of(name)
    late = ["open"] if name == "lowprec.checkpoints" else []  # public, and not in `__all__`
    assert found == sorted([*module.__all__, *late])


def test_the_index_lists_no_other_module() -> None:
    assert {module for module, _ in listed()} == {*MODULES, *PARTS}


@pytest.mark.parametrize("name", PARTS)
def test_the_index_lists_functions_of_other_modules(name: str) -> None:
    assert [one for module, one in listed() if module == name] == PARTS[name]


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in PARTS.get(module.__name__, module.__all__):
        found = getattr(module, name)
        if callable(found) and getattr(found, "__doc__", None):
            yield f"{module.__name__}.{name}", found


@pytest.mark.parametrize("name", [*MODULES, *PARTS])
def test_docstrings_are_numpydocs(name: str) -> None:
    validate = pytest.importorskip("numpydoc.validate").validate
    wrong = []
    for path, found in _public(module_of(name)):
        checks = FUNCTIONS if isinstance(found, FunctionType) else CHECKS
        wrong += [(path, code, text) for code, text in validate(path)["errors"] if code in checks]
    assert wrong == []
