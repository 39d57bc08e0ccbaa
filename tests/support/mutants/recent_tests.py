"""The tests that were written or changed since a commit: where survivors were looked at, they are for these."""

from __future__ import annotations

import ast
import re
import subprocess

from support.mutants.line_map import EXCLUDED
from support.paths import ROOT

_LEFT_OUT = (*EXCLUDED, "mutants.py")  # the last make a copy of the repository
_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def recent_tests(commit: str) -> list[str]:
    """Return the names of test functions with a line that the commit does not have, ``file::function``."""
    command = ["git", "diff", "-U0", commit, "--", "tests/*/test_*.py"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    changed: dict[str, set[int]] = {}
    path = ""
    for line in text.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif found := _HUNK.match(line):
            first, count = int(found[1]), int(found[2] or 1)
            changed.setdefault(path, set()).update(range(first, first + count))
    return [
        f"{path}::{name}"
        for path, lines in sorted(changed.items())
        if (ROOT / path).is_file() and not any(part in path for part in _LEFT_OUT)
        for name in functions_with(lines, (ROOT / path).read_text(encoding="utf-8"))
    ]


def functions_with(lines: set[int], text: str) -> list[str]:
    """Return the names of the test functions that have one of the lines, their decorators included."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if lines & set(range(first, (node.end_lineno or first) + 1)):
                found.append(node.name)
    return found
