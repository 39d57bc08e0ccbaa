"""The options that write which tests passed, and leave those out of a later run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.passed_tests import INDEPENDENT, MIXED, is_independent
from support.paths import ROOT

SAMPLES = ["tests/spec/test_format_spelling.py", "tests/project/test_public_names.py"]


def summary(*options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SAMPLES, *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def count(summary: str, word: str) -> int:
    numbers = [part.split()[0] for part in summary.split(", ") if word in part]
    return int(numbers[0]) if numbers else 0


@pytest.mark.slow
def test_what_passed_is_left_out_where_no_package_changes_it(tmp_path: Path) -> None:
    names = tmp_path / "passed.txt"
    first = summary(f"--write-passed={names}")
    written = names.read_text(encoding="utf-8").splitlines()
    assert len(written) == count(first, "passed") > 0
    independent = [name for name in written if name.startswith("tests/spec/")]
    assert 0 < len(independent) < len(written)

    second = summary(f"--skip-passed={names}")
    assert count(second, "deselected") == len(independent) + count(first, "deselected")
    assert count(second, "passed") == len(written) - len(independent)

    names.write_text("\n".join(written[:1]), encoding="utf-8")  # a test that is not named runs
    assert count(summary(f"--skip-passed={names}"), "passed") >= len(written) - 1


def test_modules_that_look_for_a_package_run_again() -> None:
    modules = {folder: sorted((ROOT / "tests" / folder).rglob("test_*.py")) for folder in (*INDEPENDENT, *MIXED)}
    assert all(is_independent(path) for folder in INDEPENDENT for path in modules[folder])
    again = [path.name for folder in MIXED for path in modules[folder] if not is_independent(path)]
    assert {"test_convert_onnx.py", "test_open.py", "test_convert_command.py", "test_explore_command.py"} <= {*again}
    assert not {"test_tied_heads.py", "test_check.py", "test_explain_command.py"} & {*again}
    assert not is_independent(ROOT / "tests" / "backends" / "test_dask.py")
    assert not is_independent(ROOT / "lowprec" / "checkpoints" / "recipes" / "mx.py")
