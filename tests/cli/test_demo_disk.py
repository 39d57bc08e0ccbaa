"""`lowprec demo` and the disk: the room that it needs, what it copies, what it says it removed, full disks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import fail, listing, run

from lowprec.cli import demo

MIB = 1 << 20

pytestmark = pytest.mark.usefixtures("temporary")


def shutil_usage(free: int, first: int | None = None) -> Any:
    """Return a function in the place of `shutil.disk_usage`; `first` is what its first call says is free."""
    said = [free if first is None else first]

    def usage(path: Any) -> Any:
        return type("usage", (), {"free": said.pop() if said else free})

    return usage


@pytest.mark.parametrize("free", [MIB, 2 * MIB + 100_000], ids=["synthetic", "outputs"])
def test_too_little_room(
    free: int, temporary: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checkpoint and a copy need 2 MiB; kept outputs, after the checkpoint was written, 1.9 MiB together."""
    usage = shutil_usage(free)
    monkeypatch.setattr("shutil.disk_usage", usage)
    before = listing()
    if free > 2 * MIB:
        run("demo", "--size", "1M", capsys=capsys)
        monkeypatch.setattr("shutil.disk_usage", shutil_usage(int(1.2 * MIB), 2 * MIB + 100_000))
    error = fail("demo", "--size", "1M", "--keep", "kept", capsys=capsys)
    assert error.startswith(f"{temporary.parent}: the demo needs ")
    assert error.endswith("left; --keep, or TMPDIR, names a folder on another one")
    assert listing() == before
    assert os.listdir(temporary) == []


def room_of(text: str) -> float:
    """Return the room that the demo says it needs, in KiB."""
    found = re.search(r"They use up to (\S+) KiB of that disk", text)
    assert found is not None
    return float(found[1])


def test_an_output_that_is_larger_than_the_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.random.RandomState(1).standard_normal((64, 96)).astype(np.float32))
    run("cast", "x.npy", "y.npz", "--to", "float8_e4m3fn", capsys=capsys)
    text = run("demo", "y.npz", "--keep", "kept", capsys=capsys)
    sizes = {path.name: path.stat().st_size for path in Path("kept").iterdir()}
    assert max(sizes, key=sizes.__getitem__) == "bf16.npz"
    assert sizes["bf16.npz"] > 1.5 * Path("y.npz").stat().st_size
    assert room_of(text) == pytest.approx(sum(sizes.values()) / 1024, abs=1)  # kept, all of them
    assert room_of(run("demo", "y.npz", capsys=capsys)) == pytest.approx(sizes["bf16.npz"] / 1024, abs=1)


def test_folders_in_folders_are_copied(capsys: pytest.CaptureFixture[str]) -> None:
    Path("model/notes/old").mkdir(parents=True)
    demo.write_model(Path("model"), 128)
    Path("model/notes/old/first.txt").write_text("nothing")
    weights, files = Path("model/model.safetensors"), [path for path in Path("model").rglob("*") if path.is_file()]
    result = json.loads(run("demo", "model", "--json", capsys=capsys))
    assert result["bytes"] == sum(path.stat().st_size for path in files) > weights.stat().st_size
    assert result["copy_seconds"] > 0


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from lowprec.cli import main
sys.exit(main(sys.argv[2:]))
"""


GOLDEN = Path(__file__).parents[1] / "checkpoints" / "golden" / "MXFP4A16"


@pytest.mark.parametrize(
    ("limit", "arguments", "what"),
    [(MIB // 2, ["--size", "1M"], "new/original: cannot be written"), (4096, ["x.npz"], "new/copy"),
     (60_000, [str(GOLDEN)], "new/fp8-dynamic: cannot be written"),
     (60_000, [str(GOLDEN), "--keep", "kept"], "new/fp8-dynamic: cannot be written")],
    ids=["synthetic", "copy", "output", "kept output"],
)  # fmt: skip
def test_a_full_disk(limit: int, arguments: list[str], what: str, temporary: Path) -> None:
    np.savez("x.npz", w=np.ones((64, 64), np.float32))
    before = listing()
    command, environment = [sys.executable, "-c", LIMITED, str(limit), "demo"], {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("lowprec: ")
    assert what in done.stderr
    assert done.stderr.endswith("; File too large\n")
    assert done.stderr.count("\n") == 1
    assert listing() == before
    assert os.listdir(temporary) == []
