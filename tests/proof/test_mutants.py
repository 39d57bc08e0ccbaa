"""Mutants of Python code: tests notice five known ones, and the list of survivors is today's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.mutants.mutant import changed_lines
from support.mutants.python_mutants import find
from support.mutants.python_runs import Runner
from support.mutants.survivors import survivors
from support.paths import ROOT

KILLED = [  # a file, a line before and after a change, and a test that notices it
    ("lowprec/spec/finfo.py", "if not row.is_float:", "if row.is_float:", "tests/spec/test_p3109.py"),
    ("lowprec/spec/formats.py", "check_fields(self)", "pass", "tests/spec/test_format_objects.py"),
    ("lowprec/spec/p3109.py", "if name.lower() != spelled:", "if name.lower() == spelled:", "tests/spec/test_p3109.py"),
    (
        "lowprec/spec/scalar_arguments.py",
        "return as_integer(value) == 1",
        "return as_integer(value) == 2",
        "tests/spec/test_described_formats.py",
    ),
    (
        "lowprec/spec/custom_formats.py",
        "_LONGEST_NAME = 64",
        "_LONGEST_NAME = 63",
        "tests/spec/test_described_formats.py",
    ),
]


def test_every_survivor_is_a_mutant_of_today() -> None:
    for survivor in survivors():
        if survivor.path.endswith(".py"):
            changes = {changed_lines(mutant, ROOT) for mutant in find(survivor.path)}
            assert (survivor.before, survivor.after) in changes, survivor
        assert len(survivor.reason) > 20


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    made = Runner(ROOT, tmp_path_factory.mktemp("mutants") / "copy", ["pytest", "hypothesis", "torch"])
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(("path", "line", "changed", "tests"), KILLED)
def test_a_change_is_noticed(runner: Runner, path: str, line: str, changed: str, tests: str) -> None:
    mutant = next(mutant for mutant in find(path) if changed_lines(mutant, ROOT) == (line, changed))
    before = (runner.folder / path).read_text(encoding="utf-8")
    result = runner.run(mutant, [tests], 300)
    assert result.end == "killed"
    assert result.test.startswith(tests)
    assert (runner.folder / path).read_text(encoding="utf-8") == before
