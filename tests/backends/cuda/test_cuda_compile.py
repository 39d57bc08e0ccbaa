"""The CUDA text compiled by NVIDIA's own compilers, which need no GPU: NVRTC as CuPy calls it, and nvcc."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from support.cuda_on_cpu import casts, quantizations, roundings

from lowprec.backends import cuda

ARCHITECTURES = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100")
NVRTC_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")


def _some_conversions() -> list[cuda.Conversion]:
    """Return kernels enough for every loop, and every width at each end; small ones, since compiling takes long."""
    parts = {
        made: {*made.loops, ("from", made.source_bits), ("to", made.target_bits)}
        for made in [*casts(), *quantizations(), *roundings()]
    }
    missing, chosen = set().union(*parts.values()), []
    while missing:
        chosen.append(max(parts, key=lambda made: len(parts[made] & missing) / made.vector_length))
        missing -= parts[chosen[-1]]
    return chosen


@pytest.fixture(scope="module")
def source() -> str:
    return cuda.kernel_source({f"kernel{index}": made for index, made in enumerate(_some_conversions())})


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    for package in NVRTC_PACKAGES:
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if re.match(r"libnvrtc\.so", file.name):
                return ctypes.CDLL(str(file.locate()))
    pytest.skip("no NVRTC here: pip install nvidia-cuda-nvrtc")


@pytest.fixture
def nvcc() -> str:
    return shutil.which("nvcc") or pytest.skip("no nvcc here")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc(nvrtc: ctypes.CDLL, source: str, architecture: str) -> None:
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"lowprec.cu", 0, None, None) == 0
    options = [option.encode() for option in (*cuda.OPTIONS, f"--gpu-architecture={architecture}")]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    assert (status, log.value.decode()) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvcc(nvcc: str, source: str, architecture: str, tmp_path: Path) -> None:
    text = tmp_path / "lowprec.cu"
    text.write_text(source, encoding="utf-8")
    strict = ["--Werror=all-warnings", "--resource-usage", f"--gpu-architecture={architecture}", *cuda.OPTIONS]
    done = subprocess.run(
        [nvcc, "--cubin", *strict, text, "-o", tmp_path / "lowprec.cubin"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    used = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
    assert len(used) == source.count("LP_KERNEL(kernel")
    assert max(int(count) for counts in used for count in counts) <= 32, "all but a few bytes in registers"


def test_elements_are_loaded_and_stored_together(nvcc: str, tmp_path: Path) -> None:
    text = tmp_path / "lowprec.cu"
    made = {"narrow": cuda.Conversion(("encode8",), 32, 8), "packed": cuda.Conversion(("encode8",), 32, 4)}
    text.write_text(cuda.kernel_source(made), encoding="utf-8")
    subprocess.run([nvcc, "--ptx", *cuda.OPTIONS, text, "-o", tmp_path / "lowprec.ptx"], check=True)
    narrow, packed = (tmp_path / "lowprec.ptx").read_text(encoding="utf-8").split(".entry ")[1:]
    assert len(re.findall(r"ld\.global\.nc\.v4\.u32", narrow)) == 1
    assert len(re.findall(r"st\.global\.v4\.u8", narrow)) == 1
    assert len(re.findall(r"ld\.global\.nc\.v4\.u32", packed)) == 2
    assert len(re.findall(r"st\.global\.u32", packed)) == 1
