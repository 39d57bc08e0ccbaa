"""The build of a copy of the repository with mutants of C and Cython to choose from, and the tests of each file."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy

from .mutant import Mutant
from .native_choice import DECLARATION, HEADER, VARIABLE, write_choices

MODULES = ("_native.tier_v4", "_native.tier_v3", "_native.tier_base", "_kernels")
COPIED = ("lowprec", "tests", "setup.py", "conftest.py", "pyproject.toml", "README.md", "docs")
FLAGS = ["-O1", "-include", "mutant_choice.h"]
BUILD = f"""
import runpy
setup = runpy.run_path("setup.py", run_name="setup")
setup["GNU_FLAGS"][0:1] = {FLAGS}
modules = [module for module in setup["modules"]() if module.name.removeprefix("lowprec.") in {MODULES}]
setup["setup"](
    name="lowprec", py_modules=[], packages=[], cmdclass={{"build_ext": setup["BuildKernels"]}}, ext_modules=modules,
    script_args=["build_ext", "--inplace"],
)
"""

# The tests of a file: those of the first pattern that it matches. The quick ones come first, and the first failure ends
# a run.
_CASTS = [
    "tests/ops/cast/test_cast_layouts.py", "tests/native/test_programs.py", "tests/spec/test_packing.py",
    "tests/ops/cast/test_cast_sweeps.py", "tests/native/test_fused_loops.py",
]  # fmt: skip
_BLOCKS = ["tests/ops/blocks/test_whole_blocks.py", "tests/ops/blocks/test_mx.py", "tests/ops/blocks/test_nvfp4.py"]
_QUOTIENTS = [
    "tests/ops/quantize/test_quotients.py", "tests/native/test_fused_scales.py",
    "tests/ops/quantize/test_quantize_layouts.py",
]  # fmt: skip
_ROUNDINGS = ["tests/native/test_rounding_loops.py", "tests/native/test_stochastic_loops.py"]
_ERRORS = [
    "tests/loss/test_error_stats.py", "tests/loss/test_scaled_stats.py", "tests/ops/quantize/test_quantize_errors.py",
]  # fmt: skip
_CALLS = [
    "tests/backends/test_known_calls.py", "tests/backends/test_known_calls_refused.py",
    "tests/ops/quantize/test_scale_layouts_fused.py",
]  # fmt: skip
_THREADS = [
    "tests/native/test_threads.py",
    "tests/native/test_stream_output.py",
    "tests/native/test_prefetch_choice.py",
]
TESTS = {
    "*/vector_kernels/round.h": [*_ROUNDINGS, "tests/ops/cast/test_rounding_against_peers.py"],
    "*/vector_kernels/packing.h": ["tests/spec/test_packing.py", "tests/native/test_vector_loops.py"],
    "*/vector_kernels/mx_nvfp4_blocks.h": [*_BLOCKS, "tests/native/test_block_loops.py"],
    "*/vector_kernels/quantize.h": _QUOTIENTS,
    "*/instruction_sets/*": [*_CASTS, *_QUOTIENTS],
    "*/philox.h": ["tests/reference/test_philox.py", *_ROUNDINGS, *_BLOCKS],
    "*rounding*": _ROUNDINGS,
    "*/scalar_kernels.h": [*_CASTS, *_ROUNDINGS, *_QUOTIENTS, "tests/spec/test_convertible_formats.py"],
    "*/scalar_block_kernels.h": _BLOCKS,
    "*/block_*.pxi*": [*_BLOCKS, "tests/ops/blocks/test_block_arguments.py"],
    "*/blocks.pxi": [*_BLOCKS, "tests/ops/blocks/test_block_arguments.py", "tests/native/test_block_loops.py"],
    "*/ggml_*": ["tests/native/test_block_loops.py"],
    "*/error_*": _ERRORS,
    "*/compare_arrays.pxi": _ERRORS,
    "*/range*": [
        "tests/ops/quantize/test_scales.py",
        "tests/ops/quantize/test_dynamic_quantize.py",
        "tests/ops/blocks/test_nvfp4.py",
    ],
    "*/torch_tensors.pxi": ["tests/backends/test_small_calls.py", "tests/arrays/test_torch_tensor_kinds.py"],
    "*/call_cache.pxi": [
        "tests/native/test_entry_points.py",
        "tests/backends/test_small_calls.py",
        *_CALLS,
        "tests/backends/test_known_scales.py",
        *_QUOTIENTS,
    ],
    "*/array_calls.pxi": ["tests/backends/test_known_scales.py"],
    "*/scale*": [*_QUOTIENTS, *_CALLS],
    "*/repeat_scales.pxi": [*_QUOTIENTS, *_CALLS],
    "*/streaming_*": [*_THREADS, *_CASTS],
    "*/programs.pxi": [*_THREADS, *_CASTS, *_QUOTIENTS],
    "*/dense_arrays.pxi": [*_THREADS, *_CASTS, *_QUOTIENTS],
    "*/random_numbers.pxi": ["tests/reference/test_philox.py", *_ROUNDINGS],
    "*/_kernels.pyx": ["tests/native/test_entry_points.py", *_CASTS, "tests/native/test_build_info.py"],
    "*": [*_CASTS, *_QUOTIENTS, *_ROUNDINGS],
}
# What a mutant that outlives those has to outlive too.
WIDER = sorted({name for tests in TESTS.values() for name in tests})


def tests_of(path: str) -> list[str]:
    """Return the tests of a file."""
    return next(tests for pattern, tests in TESTS.items() if fnmatch.fnmatch(path, pattern))


def copy_repository(root: Path, folder: Path) -> None:
    """Copy what a build and the tests need."""
    ignored = shutil.ignore_patterns("__pycache__", "explorer", "*.so.debug")
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=None if name == "lowprec" else ignored)
        else:
            shutil.copy(root / name, folder / name)


def _numbers_in_message(message: str, folder: Path) -> set[int]:
    """Return the numbers of the mutants in the lines that a compiler names."""
    numbers: set[int] = set()
    for name, line in set(re.findall(r"(?m)([\w./-]+\.(?:h|pxi|pyx|pxd|c)):(\d+)", message)):
        path = Path(name) if name.startswith("/") else folder / name
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        near = lines[int(line) - 1 : int(line)] if path.suffix == ".c" else lines[max(0, int(line) - 3) : int(line) + 2]
        numbers |= {int(number, 0) for number in re.findall(rf"{VARIABLE} == (\w+)", " ".join(near))}
    return numbers


def build(root: Path, folder: Path, mutants: list[Mutant]) -> dict[Mutant, int]:
    """Build a copy in an empty folder; return the numbers of the mutants that it has.

    Those whose choice does not compile are left out, as are those of text that no module has here.
    """
    numbers = {mutant: number for number, mutant in enumerate(mutants, 1)}
    copy_repository(root, folder)
    (folder / "lowprec/_native/mutant_choice.h").write_text(HEADER, encoding="utf-8")
    while True:
        for name in {mutant.path for mutant in mutants}:
            shutil.copy(root / name, folder / name)
        write_choices(folder, numbers)
        for module in MODULES:
            path = folder / f"lowprec/{module.replace('.', '/')}.pyx"
            text = path.read_text(encoding="utf-8")
            first = text.index("\n", text.index('"""', 3)) + 1
            if DECLARATION not in text:
                path.write_text(text[:first] + DECLARATION + text[first:], encoding="utf-8")
        # cythonize() compares times, and a copy keeps those of the files it is made from
        for written in [*folder.glob("lowprec/**/tier_*.c"), folder / "lowprec/_kernels.c"]:
            written.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, "-c", BUILD], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        refused = _numbers_in_message(done.stdout + done.stderr, folder) & set(numbers.values())
        if not refused:
            raise RuntimeError(f"the build with mutants failed:\n{(done.stdout + done.stderr)[-4000:]}")
        print(f"left out, since their choice does not compile: {sorted(refused)}", flush=True)
        numbers = {mutant: number for mutant, number in numbers.items() if number not in refused}
    compiled = _compiled_numbers(folder)
    return {mutant: number for mutant, number in numbers.items() if number in compiled}


def _compiled_numbers(folder: Path) -> set[int]:
    """Return the numbers that are left after the preprocessor: other platforms' text has gone."""
    numbers: set[int] = set()
    flags = {"_native.tier_v4": ["-march=x86-64-v4"], "_native.tier_v3": ["-march=x86-64-v3"], "_kernels": ["-fopenmp"]}
    for module in MODULES:
        folders = ["-Ilowprec/_native", f"-I{numpy.get_include()}", f"-I{sysconfig.get_path('include')}"]
        source = f"lowprec/{module.replace('.', '/')}.c"
        text = subprocess.run(
            ["gcc", "-E", "-P", "-O1", *folders, *flags.get(module, []), source],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        numbers |= {int(number.rstrip("uUlL"), 0) for number in re.findall(rf"{VARIABLE} == (\w+)", text)}
    return numbers
