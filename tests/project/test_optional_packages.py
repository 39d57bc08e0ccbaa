"""The tests with the extra `test` alone: a missing package of `test-all` skips what needs it, and nothing else."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.optional import PACKAGES, Missing, missing_package, optional
from support.paths import ROOT, TESTS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = sorted(  # those left out are for environments of their own
    path for path in [*TESTS.rglob("*.py"), ROOT / "conftest.py"] if not path.name.startswith(("check_", "renew_"))
)


def _packages(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", text, maxsplit=1)[0].replace("-", "_") for text in requirements}


EXTRAS = {name: _packages(texts) for name, texts in PROJECT["optional-dependencies"].items()}
EVERYWHERE = {"lowprec", "support", *sys.stdlib_module_names, *_packages(PROJECT["dependencies"]), *EXTRAS["test"]}


def _unasked(body: list[ast.stmt], asked: set[str]) -> Iterator[tuple[int, str]]:
    """Yield imports of packages that may be missing, and for which no `importorskip` before them asked."""
    for statement in body:
        names = []
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            names = [statement.module or ""]
        elif isinstance(statement, ast.Expr | ast.Assign):
            calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)]
            texts = [one.args[0] for one in calls if ast.unparse(one.func) == "pytest.importorskip"]
            asked = asked | {str(text.value).partition(".")[0] for text in texts if isinstance(text, ast.Constant)}
        for name in names:
            if name.partition(".")[0] not in asked:
                yield statement.lineno, name
        for part in ("body", "orelse", "finalbody"):
            yield from _unasked(getattr(statement, part, []), set(asked))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_import_what_is_there_alone(path: Path) -> None:
    assert list(_unasked(ast.parse(path.read_text(encoding="utf-8")).body, EVERYWHERE)) == []


def test_no_folder_of_tests_is_taken_for_a_package() -> None:
    assert not {path.name for path in TESTS.iterdir()} & PACKAGES


def test_packages_are_those_of_the_extra() -> None:
    no_modules_of_tests = {"lowprec", "nvidia_cuda_nvrtc", "pytest_rerunfailures"}  # a library, a plugin
    assert EXTRAS["test-all"] - no_modules_of_tests <= PACKAGES
    assert not PACKAGES & EVERYWHERE


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("torch", "torch:float32"):
        found: Any = optional(name)
        assert isinstance(found, Missing)
        for use in (lambda x: x.anything, lambda x: x(1), lambda x: x[1]):
            with pytest.raises(pytest.skip.Exception, match=r"^could not import 'torch'$"):
                use(found)
    assert optional("math:pi") > 3
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        optional("no_such_package")
    with pytest.raises(AttributeError):
        optional("math:no_such_name")


def test_an_error_that_comes_of_a_missing_package() -> None:
    error = ImportError("needs it")
    error.__cause__ = ModuleNotFoundError("no", name="torch.nn")
    assert missing_package(error) == "torch"
    assert missing_package(ModuleNotFoundError("no", name="torchnn")) is None
    assert missing_package(None) is None


def test_what_cannot_import_is_skipped(tmp_path: Path) -> None:
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "lowprec").mkdir()
    (tmp_path / "lowprec" / "needs_torch.py").write_text("import sys\nsys.modules['torch'] = None\nimport torch\n")
    hidden = ">>> import sys\n>>> sys.modules['torch'] = None\n"
    (tmp_path / "skipped.md").write_text(f"{hidden}>>> import torch.nn\n>>> 1 + 1\n3\n")
    (tmp_path / "passed.md").write_text(f"{hidden}>>> 1 + 1\n2\n")
    (tmp_path / "wrong.md").write_text(f"{hidden}>>> 1 + 1\n3\n>>> import torch\n")
    (tmp_path / "test_it.py").write_text(
        "import sys\nsys.modules['torch'] = None\n"
        "def test_skipped():\n    import torch\n"
        "def test_fails():\n    import toch\n"
    )
    (tmp_path / "misspelt.md").write_text(">>> import toch\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-c",
        "/dev/null",
        "--rootdir",
        ".",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-o", f"pythonpath={TESTS}", "--doctest-modules", "--doctest-glob=*.md", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "3 failed, 1 passed, 3 skipped" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("could not import 'torch'") == 2  # the lines of two skips are one
    assert "PASSED passed.md" in done.stdout
