"""The tests themselves: which folder tests which part of the package, and that no test module imports another."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from support.folders_of_tests import FOLDERS
from support.paths import ROOT, TESTS

import lowprec as lp

MODULES = sorted(TESTS.rglob("*.py"))
NAMES = [path.stem for path in MODULES if path.stem.startswith("test_")]


def test_every_folder_of_the_package_has_its_tests() -> None:
    package = {path.parent.name for path in Path(lp.__file__).parent.glob("*/__init__.py")} | {"explorer"}
    assert package == set(FOLDERS)
    folders = {path.relative_to(TESTS).parts[0] for path in MODULES if path.stem.startswith("test_")}
    assert folders == {"programs", "project", "proof", *(name for names in FOLDERS.values() for name in names)}
    assert [path.name for path in TESTS.glob("*.py")] == ["conftest.py"]


def test_names_of_test_modules_are_unique() -> None:
    assert sorted(set(NAMES)) == sorted(NAMES)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(TESTS)))
def test_what_modules_share_is_in_support(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.partition(".")[0] for name in names} & {*NAMES, "conftest", "tests"}


def test_files_named_in_the_documentation_exist() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for name in re.findall(r"\btests/[\w/]+\.py", page.read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), (page.name, name)


def test_modules_that_variants_of_the_build_are_tested_with_exist() -> None:
    for script in ("aarch64", "run", "sanitize", "wheel"):
        text = (ROOT / ".ci" / script).read_text(encoding="utf-8")
        lists = re.findall(r"\b(tests/[\w/]*)(?:\{([\w,]+)\}(\.py))?", text)
        assert lists
        for start, names, end in lists:
            for name in names.split(","):
                assert [*ROOT.glob(f"{start}{name}{end or '*'}")], (script, start, name)
