"""What is distributed: the sources hold every file that git tracks, but what serves git; a wheel, what is read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from support.paths import ROOT

pytest.importorskip("Cython", reason="setup.py needs Cython")
pytest.importorskip("setuptools", "77", reason="setup.py needs setuptools 77")
FOR_GIT = (".git", ".github/", ".pre-commit")


@pytest.mark.slow
def test_it_holds_what_git_tracks(tmp_path: Path) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    command = ["setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "sdist", "--dist-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-W", "ignore", *command], cwd=ROOT, capture_output=True, check=True, timeout=300)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert [
        name for name in tracked if name not in held and not name.startswith(FOR_GIT) and (ROOT / name).exists()
    ] == []
    assert [name for name in held if name.startswith("lowprec/") and name.endswith((".c", ".so"))] == []
    rendered = {name.removesuffix(".in") for name in tracked if name.endswith(".pxi.in")}
    assert len(rendered) >= 5
    assert not held & rendered


def test_a_wheel_holds_what_the_explorer_reads() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    home = ROOT / "explorer"
    in_browser = (f"shared/browser/{each}" for each in listed["lowprec.explorer.shared.browser"])
    patterns = [*listed["lowprec.explorer"], *in_browser]
    held = {path for pattern in patterns for path in home.glob(pattern)}
    read = {path for path in home.rglob("*") if path.suffix in (".css", ".html", ".j2", ".js", ".json", ".svg")}
    assert len(read) > 50
    assert held == read
