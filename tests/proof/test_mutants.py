"""Mutants of Python code: what the operators change, what they leave alone, and that tests notice a few of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mutants.mutant import Mutant, apply, changed_lines, describe, mutated_text
from support.mutants.python_mutants import find, find_in_text
from support.mutants.python_runs import Runner, chosen
from support.mutants.recent_tests import functions_with
from support.mutants.survivors import survivors
from support.paths import ROOT

CHANGES = {
    "a < b": {"a <= b"},
    "a<=b": {"a<b"},
    "a == b": {"a != b"},
    "a not in b": {"a in b"},
    "a is b": {"a is not b"},
    "(a) < (b) >= c": {"(a) <= (b) >= c", "(a) < (b) > c"},
    "a + b": {"a - b"},
    "a += b": {"a -= b"},
    "a << 3": {"a >> 3", "a << 2", "a << 4"},
    "-a": {"a"},
    "~a": {"a"},
    "not a": {"a"},
    "not (b := a)": {"(b := a)"},
    "a and b or c": {"a or b or c", "a and b and c"},
    "f(0)": {"f(1)", "f((-1))"},
    "f(1.5)": {"f(2.5)"},
    "f(True)": {"f(False)"},
    "min(a, max(b))": {"max(a, max(b))", "min(a, min(b))"},
    "np.maximum(a, b)": {"np.minimum(a, b)"},
    "check_width(a)": {"pass"},
    "self._require(a)": {"pass"},
    "if a:\n    raise E": {"if False:\n    raise E", "if a:\n    pass"},
    "def f():\n    return a": {"def f():\n    return None"},
    '"ä", a == "ä"': {'"ä", a != "ä"'},  # the syntax tree counts bytes
}
LEFT_ALONE = [
    '"""Text: a < b."""',
    "import a",
    "# a < b",
    "__all__ = ['a'] + ['b']",
    "def f(a: int | None = None) -> dict[str, 1]: ...",
    "x: Literal[1]",
    "Size = Callable[[int], str] | None",
    "@cache(1)\ndef f(): ...",
    "if TYPE_CHECKING:\n    a < b",
    'f"{a + 1}"',
    "a = 'x' + b",
    "def f():\n    return None",
    "update(a)",
]

LOOKS = ["f(width=190)", "{'grid': False}", "f(horizontal=True)", "{'strokeDash': [6, -3]}", "st.columns([3, 2])"]

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


@pytest.mark.parametrize("text", CHANGES)
def test_what_an_operator_changes(text: str) -> None:
    assert {mutated_text(text, mutant) for mutant in find_in_text(text, "a.py")} == CHANGES[text]


@pytest.mark.parametrize("text", LOOKS)
def test_looks_of_the_explorer_are_left_alone(text: str) -> None:
    assert not find_in_text(text, "explorer/a.py")
    assert find_in_text(text, "lowprec/a.py")


@pytest.mark.parametrize("text", ["f(width=a + 9)", "{'grid': f(True)}", "f(3, horizontal=True)", "st.tabs([3])"])
def test_what_is_no_look_is_changed(text: str) -> None:
    assert find_in_text(text, "explorer/a.py")


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_no_code_stays(text: str) -> None:
    assert find_in_text(text, "a.py") == []


def test_text_of_an_exception_stays() -> None:
    assert [mutant.after for mutant in find_in_text("raise ValueError(f'{a}' + str(1))", "a.py")] == ["pass"]


def test_a_mutant_is_written_and_described(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nif x < 2:\n    y = 3\n", encoding="utf-8")
    mutant = Mutant("a.py", 2, 5, "<", "<=")
    assert describe(mutant, tmp_path) == "a.py:2:5\n  - if x < 2:\n  + if x <= 2:"
    apply(mutant, tmp_path)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "x = 1\nif x <= 2:\n    y = 3\n"
    with pytest.raises(ValueError, match=r"not .> ."):
        mutated_text((tmp_path / "a.py").read_text(encoding="utf-8"), Mutant("a.py", 2, 5, "> ", "<"))


def test_fast_tests_and_those_that_belong_come_first() -> None:
    found = {"tests/ops/a": 1.0, "tests/spec/b": 3.0, "tests/spec/c": 2.0, "tests/cli/d": 50.0}
    assert chosen(found, ["tests/spec/"], 30) == ["tests/spec/c", "tests/spec/b", "tests/ops/a"]
    assert chosen(found, ["tests/spec/"], 100, "d") == ["tests/cli/d", "tests/spec/c", "tests/spec/b", "tests/ops/a"]
    assert chosen({"a": 50.0}, [], 30) == ["a"]
    assert chosen({"a[1]": 1.0, "a[2]": 2.0, "b[1]": 8.0, "b[2]": 9.0}, [], 30) == ["a[1]", "b[1]", "a[2]", "b[2]"]


def test_functions_that_changed_lines_belong_to() -> None:
    text = "import a\n\n@b\n@c\ndef test_one():\n    pass\n\ndef two():\n    pass\n\ndef test_three():\n    pass\n"
    for line, names in ((1, []), (3, ["test_one"]), (6, ["test_one"]), (7, []), (9, []), (12, ["test_three"])):
        assert functions_with({line}, text) == names
    assert functions_with({5, 11}, text) == ["test_one", "test_three"]


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


@pytest.mark.slow
def test_a_function_is_the_name_of_all_its_cases(runner: Runner) -> None:
    tests = ["tests/ops/cast/test_cast_errors.py::test_values"]
    assert runner.run(None, tests, 300).ran > 10


@pytest.mark.slow
def test_the_text_without_a_change_survives(runner: Runner) -> None:
    assert runner.run(None, ["tests/spec/test_p3109.py"], 300).end == "survived"
