"""How many CPUs a process may use: affinity, control groups of both versions, environment variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lowprec.backends.threads import available_cores

AFFINITY = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _proc(folder: Path, cgroup: str, mounts: list[str]) -> Path:
    """Write what /proc/self says of control groups."""
    proc = folder / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(cgroup)
    (proc / "mountinfo").write_text("".join(f"30 23 0:26 {mount}\n" for mount in mounts))
    return proc


def _group(path: Path, **files: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text + "\n")
    return path


@pytest.fixture(autouse=True)
def _sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)


@pytest.mark.parametrize(
    ("limit", "cores"),
    [("max 100000", 16), ("200000 100000", 2), ("250000 100000", 3), ("50000 100000", 1), ("9900000 100000", 16)],
)
def test_version_2(tmp_path: Path, limit: str, cores: int) -> None:
    mounted = tmp_path / "fs"
    _group(mounted / "user" / "job", cpu__max=limit)
    proc = _proc(tmp_path, "0::/user/job\n", [f"/ {mounted} rw - cgroup2 cgroup2 rw,nsdelegate"])
    assert available_cores(proc) == cores


def test_the_tightest_group_above_counts(tmp_path: Path) -> None:
    mounted = tmp_path / "fs"
    _group(mounted / "a", cpu__max="300000 100000")
    _group(mounted / "a" / "b", cpu__max="800000 100000")
    _group(mounted / "a" / "b" / "c", cpu__max="max 100000")
    proc = _proc(tmp_path, "0::/a/b/c\n", [f"/ {mounted} rw shared:9 - cgroup2 cgroup2 rw"])
    assert available_cores(proc) == 3


@pytest.mark.parametrize(("quota", "cores"), [("-1", 16), ("400000", 4), ("150000", 2), ("1000", 1)])
def test_version_1(tmp_path: Path, quota: str, cores: int) -> None:
    mounted = tmp_path / "cpu,cpuacct"
    _group(mounted / "job", cpu__cfs_quota_us=quota, cpu__cfs_period_us="100000")
    cgroup = "4:memory:/other\n3:cpu,cpuacct:/job\n1:name=systemd:/\n0::/\n"
    mounts = [f"/ {tmp_path}/memory rw - cgroup cgroup rw,memory", f"/ {mounted} rw - cgroup cgroup rw,cpu,cpuacct"]
    assert available_cores(_proc(tmp_path, cgroup, mounts)) == cores


def test_in_a_container_the_mount_is_the_group_itself(tmp_path: Path) -> None:
    mounted = _group(tmp_path / "fs", cpu__cfs_quota_us="500000", cpu__cfs_period_us="100000")
    proc = _proc(tmp_path, "3:cpu:/docker/abc\n", [f"/docker/abc {mounted} rw - cgroup cgroup rw,cpu"])
    assert available_cores(proc) == 5
    (tmp_path / "two").mkdir()
    proc = _proc(tmp_path / "two", "3:cpu:/elsewhere\n", [f"/docker/abc {mounted} rw - cgroup cgroup rw,cpu"])
    assert available_cores(proc) == 5


@pytest.mark.parametrize("broken", ["", "junk", "0::/a\n"])
def test_what_cannot_be_read_limits_nothing(tmp_path: Path, broken: str) -> None:
    mounted = _group(tmp_path / "fs" / "a", cpu__max="junk").parent
    assert available_cores(_proc(tmp_path, broken, [f"/ {mounted} rw - cgroup2 cgroup2 rw"])) == 16
    assert available_cores(tmp_path / "nowhere") == 16


def test_without_affinity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert available_cores(tmp_path) == 7


def _threads(before: str = "", **environment: str) -> str:
    """Return what a new process prints as its number of threads."""
    kept = {name: text for name, text in os.environ.items() if not name.endswith("_NUM_THREADS")}
    code = f"import os\n{before}\nimport lowprec as lp\nprint(lp.get_num_threads() if lp.build_info()['openmp'] else 0)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.one_in(7)
@pytest.mark.parametrize(("environment", "threads"), [
    ({"OMP_NUM_THREADS": "1"}, 1), ({"OMP_NUM_THREADS": "1,4"}, 1), ({"OMP_NUM_THREADS": "4096"}, None),
    ({"OMP_NUM_THREADS": "junk"}, None), ({"OMP_NUM_THREADS": "0"}, None), ({"OMP_NUM_THREADS": ""}, None),
    ({"OMP_NUM_THREADS": "1", "LOWPREC_NUM_THREADS": "3"}, 3),
], ids=str)  # fmt: skip
def test_environment(environment: dict[str, str], threads: int | None) -> None:
    assert _threads(**environment) in ("0", str(threads or _threads()))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_affinity() -> None:
    assert _threads("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})") in ("0", "1")
