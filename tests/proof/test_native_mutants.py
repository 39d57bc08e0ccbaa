"""The mutants of C and Cython: what they change, what they leave alone, and the choice between them in one build."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.mutants import native_runs
from support.mutants.mutant import Mutant, mutated_text
from support.mutants.native_choice import VARIABLE, text_with_choices
from support.mutants.native_mutants import changed_number, find, is_cython, sources
from support.paths import ROOT, with_support

C = """/* a < b */
#define LIMIT 8
typedef struct { int bits : 4; } word;
static inline int f(const int *x, int n) {
    int sum = 0, t[4];
    const char *p = (const char *)x; // n == 3
    if (n <= 0 && x != 0) return -1;
    for (int i = 0; i < n; i++) sum += x[i] & 0x7f;
    return !sum ? sum << 2 : ~sum;
}
"""
CYTHON = '''"""n < 1 here is text."""
cdef enum:
    SIZE = 32


cdef int g(const char *s, Py_ssize_t n, int k=3) except -1:
    cdef Py_ssize_t whole = n // 4
    cdef int counts[8]
    if n < 0 or not k:  # n > 7
        raise ValueError("n < 0")
    return <int>s[whole + 1]
'''
TEMPLATE = """{{# n < 1 (not text }}
cdef void h(int n):
{{for i in range(3)}}
    use({{i}}, n - 1)
{{endfor}}
"""


def mutants_of(tmp_path: Path, name: str, text: str) -> list[Mutant]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return find(path, tmp_path)


def changes(mutants: list[Mutant]) -> set[tuple[int, str, str]]:
    return {(mutant.line, mutant.before, mutant.after) for mutant in mutants}


def test_mutants_of_c_are_of_expressions_alone(tmp_path: Path) -> None:
    assert changes(mutants_of(tmp_path, "a.h", C)) == {
        (5, "0", "1"),
        (7, "n <= 0 && x != 0", "0"), (7, "<=", "<"), (7, "0", "1"), (7, "&&", "||"), (7, "!=", "=="),
        (7, "-", ""), (7, "1", "2"),
        (8, "0", "1"), (8, "<", "<="), (8, "&", "|"), (8, "0x7f", "0x7e"),
        (9, "!", ""), (9, "<<", ">>"), (9, "2", "3"), (9, "~", ""),
    }  # fmt: skip


def test_mutants_of_cython_are_of_expressions_alone(tmp_path: Path) -> None:
    assert changes(mutants_of(tmp_path, "a.pyx", CYTHON)) == {
        (7, "4", "5"),
        (9, "n < 0 or not k", "0"), (9, "<", "<="), (9, "0", "1"), (9, "or", "and"), (9, "not ", ""),
        (11, "+", "-"), (11, "1", "2"),
    }  # fmt: skip


def test_lines_of_templates_are_left_alone(tmp_path: Path) -> None:
    assert changes(mutants_of(tmp_path, "a.pxi.in", TEMPLATE)) == {(4, "-", "+"), (4, "1", "2")}


@pytest.mark.parametrize(
    ("number", "changed"),
    [("0x7F", "0x7e"), ("0xffu", "0xfeu"), ("23", "24"), ("1u", "2u"), ("0x1p20f", "0x1p21f"), ("0.5f", "1.0f")],
)
def test_constants_change_by_little(number: str, changed: str) -> None:
    assert changed_number(number) == changed


def test_the_choice_of_an_argument_of_an_intrinsic_is_around_the_call(tmp_path: Path) -> None:
    text = "static inline __m512i f(__m512i x) { return _mm512_srli_epi32(x, 7); }\n"
    (mutant,) = (mutant for mutant in mutants_of(tmp_path, "a.h", text) if mutant.before == "7")
    chosen = f"({VARIABLE} == 3 ? (_mm512_srli_epi32(x, 8)) : (_mm512_srli_epi32(x, 7)))"
    assert text_with_choices(text, {mutant: 3}, False) == text.replace("_mm512_srli_epi32(x, 7)", chosen)


def test_two_mutants_of_an_expression_are_chosen_one_by_one(tmp_path: Path) -> None:
    mutants = mutants_of(tmp_path, "a.pyx", "cdef int f(int n):\n    return n + 1\n")
    assert text_with_choices((tmp_path / "a.pyx").read_text(), dict(zip(mutants, (5, 6), strict=True)), True) == (
        f"cdef int f(int n):\n    return ((n + 2) if {VARIABLE} == 6 else ((n - 1) if {VARIABLE} == 5 else (n + 1)))\n"
    )


def test_the_body_of_a_condition_is_no_part_of_it(tmp_path: Path) -> None:
    text = "void f(int n, int *x) { if (n) x[n - 1] = 0; }\n"
    mutants = mutants_of(tmp_path, "a.h", text)
    chosen = text_with_choices(text, {mutant: 1 for mutant in mutants if mutant.before == "-"}, False)
    assert f"if (n) x[({VARIABLE} == 1 ? (n + 1) : (n - 1))] = 0;" in chosen


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_program_with_choices_does_what_each_mutant_does(tmp_path: Path) -> None:
    body = C + "int main(void) { const int x[3] = {200, 7, 1}; return f(x, 2) + f(x + 2, 1) + f(x, 0) + f(0, 1); }\n"
    body = body.replace("x[i] &", "(x ? x[i] : 0) &")
    mutants = [mutant for mutant in mutants_of(tmp_path, "a.h", body) if mutant.line == 9]
    numbers = {mutant: number for number, mutant in enumerate(mutants, 1)}
    prefix = f'#include <stdlib.h>\n#define {VARIABLE} atoi(getenv("NUMBER"))\n'

    def result(text: str, number: int) -> int:
        program = tmp_path / "program.c"
        program.write_text(prefix + text, encoding="utf-8")
        subprocess.run(["cc", "-w", "-o", tmp_path / "program", program], check=True)
        return subprocess.run([tmp_path / "program"], env={"NUMBER": str(number)}, check=False).returncode

    together = text_with_choices(body, numbers, False)
    alone = {mutant: result(mutated_text(body, mutant), 0) for mutant in mutants}
    assert {mutant: result(together, number) for mutant, number in numbers.items()} == alone
    assert len(set(alone.values())) > 2


@pytest.mark.slow
def test_every_file_has_mutants_and_tests() -> None:
    found = {kind: [mutant for path in paths for mutant in find(path, ROOT)] for kind, paths in sources(ROOT).items()}
    assert all(len(mutants) >= 30 for mutants in found.values())
    for mutants in found.values():
        for path in {mutant.path for mutant in mutants}:
            text = (ROOT / path).read_text(encoding="utf-8")
            own = [mutant for mutant in mutants if mutant.path == path]
            assert all(mutated_text(text, mutant) != text for mutant in own)
            assert not any(
                "/*" in mutant.before or "#" in mutant.before for mutant in own if not is_cython(ROOT / path)
            )
            assert native_runs.tests_of(path)


def test_the_tests_of_the_table_are_there() -> None:
    named = {name for tests in native_runs.TESTS.values() for name in tests} | set(native_runs.WIDER)
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


RUNS = """
import sys
from pathlib import Path
from support.mutants.native_processes import Task, run_tasks

folder = Path(sys.argv[1])


def report(task, result):
    print(task.number, result.end, result.test, sep="|", flush=True)
    return [Task(0, [result.test], 1)] if task.number == 1 else []


run_tasks(folder, ["test_a.py"], [Task(number, ["test_a.py"], 1) for number in (1, 2, 3, 4)], 2, report)
"""
TESTS_OF_A_COPY = """
import os


def test_quick():
    assert 1


def test_number():
    number = os.environ["LOWPREC_MUTANT"]
    assert number != "1"
    if number == "2":
        os.abort()
    while number == "3":
        pass
"""


@pytest.mark.slow  # a second of a core is the limit that one mutant reaches
def test_a_mutant_ends_by_a_failure_a_crash_or_time(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(TESTS_OF_A_COPY, encoding="utf-8")
    command = [sys.executable, "-c", RUNS, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=with_support(), capture_output=True, text=True, check=True)
    assert {line for line in done.stdout.splitlines() if "|" in line} == {
        "0|survived|",
        "1|killed|test_a.py::test_number",
        "2|killed by a signal|SIGABRT",
        "3|killed by time|",
        "4|survived|",
    }
