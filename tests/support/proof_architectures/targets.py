"""The architectures: how the driver is compiled and run for each."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.paths import ROOT

NATIVE = ROOT / "lowprec" / "_native"
PREFIX = "__pyx_f_7lowprec_7_native_9tier_base_"


@dataclass(frozen=True)
class Target:
    """An architecture: its compiler, what runs its programs, its order of bytes, Debian's packages.

    One that is emulated has options for that, and the header which it needs.
    """

    compiler: tuple[str, ...]
    runner: tuple[str, ...]
    order: str
    packages: str
    options: tuple[str, ...] = ()
    header: str = ""

    def missing(self) -> str | None:
        """Return what must be installed, or None."""
        programs = [self.compiler[0], *self.runner[:1]]
        absent = [program for program in programs if shutil.which(program) is None]
        if self.header and not absent:
            command = [*self.compiler, "-include", self.header, "-E", "-x", "c", "/dev/null"]
            absent = [self.header] if subprocess.run(command, capture_output=True).returncode else []
        return f"no {' and no '.join(absent)}: apt install {self.packages}" if absent else None


TARGETS = {
    "x86-64": Target(("gcc",), (), "<", "gcc"), "x86-64-v3": Target(("gcc", "-march=x86-64-v3"), (), "<", "gcc"),
    "aarch64": Target(
        ("aarch64-linux-gnu-gcc",), ("qemu-aarch64",), "<", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user",
    ),
    "x86-64-v4-emulated": Target(
        ("gcc", "-march=x86-64-v3"), (), "<", "gcc libsimde-dev",
        ("-O1", "-DSIMDE_NO_INLINE", "-Wno-psabi",  # inlined, gcc takes ten times as long
         "-include", str(Path(__file__).with_name("emulated_avx512.h"))),
        "simde/x86/avx512.h",
    ),
    "i386": Target(
        ("i686-linux-gnu-gcc", "-msse2", "-mfpmath=sse"), (), "<", "gcc-i686-linux-gnu libc6-dev-i386-cross",
    ),
    "s390x": Target(
        ("s390x-linux-gnu-gcc",), ("qemu-s390x",), ">", "gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user",
    ),
}  # fmt: skip

PYCONFIG = "".join(
    f"#undef SIZEOF_{name}\n#define SIZEOF_{name} __SIZEOF_{macro}__\n"
    for name, macro in (("LONG", "LONG"), ("VOID_P", "POINTER"), ("SIZE_T", "SIZE_T"), ("UINTPTR_T", "POINTER"))
)  # fmt: skip
"""Python's headers are those of this machine; the loops use no Python."""


def loops_of_table() -> dict[str, tuple[bool, list[str]]]:
    """Return name -> whether a loop takes random numbers, and its C functions: one, or one for each scale mode."""
    listed: dict[str, Any] = runpy.run_path(str(NATIVE / "all_kernels.py"))["names_of_loops"]()
    found: dict[str, tuple[bool, list[str]]] = {}
    for name in [*listed["elements"], *listed["written_out"], *listed["moving"]]:
        function, _, word = listed["address_of"].get(name, listed["function_of"]((name,))).partition("[")
        specialization = f"__pyx_fuse_{list(listed['WIDTHS'].values()).index(word[:-1])}" if word else ""
        found[name] = False, [specialization + PREFIX + function]
    for name in listed["scaled"]:
        found[name] = False, [f"{PREFIX}{name}_{mode}" for mode in ("uniform", "elementwise")]
    for name in (*listed["rounded"], *listed["random"]):
        found[name] = name in listed["random"], [PREFIX + listed["function_of"]((name,))]
    for chain in (*listed["fused"], *listed["fused_rounded"]):
        found["fused:" + ".".join(chain)] = False, [PREFIX + listed["function_of"](chain)]
    for chain in listed["fused_scaled"]:
        modes = [*listed["modes"], *(["columns"] if chain in listed["by_columns"] else [])]
        functions = [f"{PREFIX}{listed['function_of'](chain, mode)}" for mode in modes]
        found["fused:" + ".".join(chain)] = False, functions
    return found


def write_table(folder: Path) -> None:
    """Write the loops of the base tier as C initialisers, and what Python's headers must know of the target."""
    looked_up = runpy.run_path(str(NATIVE / "all_kernels.py"))["LOOKED_UP"]
    tabled = {chain[0] if len(chain) == 1 else "fused:" + ".".join(chain) for chain in looked_up}
    lines = (
        f'{{"{name}", {is_random:d}, {{{", ".join(f"(void *){function}" for function in functions)}}}, '
        f"{f'(void *){functions[0]}_by_tables' if name in tabled else 'NULL'}}},\n"
        for name, (is_random, functions) in loops_of_table().items()
    )
    folder.joinpath("table.inc").write_text("".join(lines), encoding="utf-8")
    folder.joinpath("sizes.h").write_text("#include <pyconfig.h>\n" + PYCONFIG, encoding="utf-8")


class Driver:
    """The driver compiled for one target, in a folder with what `write_table` wrote."""

    def __init__(self, name: str, folder: Path, flags: list[str]) -> None:
        self.name, self.target, self.file = name, TARGETS[name], folder / name
        source = Path(__file__).with_name("driver.c")
        places = (folder, NATIVE, sysconfig.get_paths()["include"])
        includes = [*(f"-I{place}" for place in places), "-include", "sizes.h"]
        cached = ["ccache"] if shutil.which("ccache") else []
        machine = [*self.target.compiler, *flags, *self.target.options]
        macro = f'-DTIER_C="{NATIVE / "tier_base.c"}"'
        compiled = [*cached, *machine, *includes, macro, "-ffunction-sections", "-w", "-c", str(source)]
        subprocess.run([*compiled, "-o", f"{self.file}.o"], check=True)
        linked = ["-static", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all"]  # no Python
        subprocess.run([*machine, *linked, f"{self.file}.o", "-o", str(self.file)], check=True)

    def __call__(self, job: str, count: int, lines: str = "") -> list[str]:
        """Return the lines that the driver prints for those of its input."""
        command = [*self.target.runner, str(self.file), job, str(count)]
        done = subprocess.run(command, input=lines, capture_output=True, text=True)
        if done.returncode:
            differ = done.stdout.count("differs")
            raise SystemExit(f"{self.name}, {job}: status {done.returncode}; {done.stderr}{differ} loops differ")
        return done.stdout.splitlines()

    def text_of(self, params: bytes, widths: list[int]) -> str:
        """Return parameters, fields of so many bytes, in hexadecimal and in the target's order of bytes."""
        if self.target.order == "<":
            return params.hex()
        ends = [sum(widths[: i + 1]) for i in range(len(widths))]
        return b"".join(params[end - width : end][::-1] for end, width in zip(ends, widths, strict=True)).hex()


def widths_of_params() -> list[int]:
    """Return the bytes of each field of `params_t`, which has no padding."""
    text = NATIVE.joinpath("params.h").read_text(encoding="utf-8")
    types = re.findall(r"^    ((?:unsigned )?(?:int|long long)) \w+;", text, re.MULTILINE)
    return [8 if "long long" in word else 4 for word in types]
