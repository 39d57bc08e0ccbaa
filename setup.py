"""Build the kernels: the entry points, with OpenMP and without, and the same loops once per instruction set."""

import copy
import os
import platform
import re
import runpy
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy
from Cython import Tempita
from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

GNU_FLAGS = ["-O3", "-g0", "-fno-trapping-math", "-fno-math-errno", "-ffp-contract=off"]  # strict IEEE, and vectorised
MSVC_FLAGS = ["/O2", "/fp:strict"]
CLANG_CL = os.environ.get("LOWPREC_CLANG_CL", "clang-cl")  # compiles the loops where MSVC compiles the entry points
TIERS = {"base": [], "v3": ["-march=x86-64-v3"], "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}
SSE_FLAGS = ["-msse2", "-mfpmath=sse"]  # x87 registers have more bits than a float32: results would be rounded twice
X86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i586", "i686")
X86_64 = X86 and sys.maxsize > 2**32
SERIAL = "lowprec._kernels_serial"
NO_COMPILER = (
    "lowprec needs a C compiler, and {found}. Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc; "
    "macOS: xcode-select --install; Windows: the Build Tools for Visual Studio, with C++"
)
NO_HEADERS = (
    "lowprec needs the C headers of Python, and there is no Python.h in {found}. Debian, Ubuntu: apt install "
    "python3-dev; Fedora: dnf install python3-devel; macOS, Windows: the installers of python.org have it"
)


class BuildKernels(build_ext):
    """Add the flags that the compiler at hand understands."""

    def build_extensions(self):
        """Set the flags of every module, then build as usual."""
        self.check_tools()
        msvc = self.compiler.compiler_type == "msvc"
        self.parallel = self.parallel or not msvc  # one module a core; with MSVC two compilers take turns
        self.force = True  # objects of a build with other flags may lie here, and no timestamp tells
        openmp = "/openmp" if msvc else "-fopenmp"
        wanted = os.environ.get("LOWPREC_OPENMP", "1") != "0" and self.understands(openmp)
        if not wanted:  # then `_kernels` has none itself: it runs on one thread, and build_info() says so
            self.extensions[:] = [extension for extension in self.extensions if extension.name != SERIAL]
        self.clang_cl = shutil.which(CLANG_CL) if msvc else None
        self.extensions[:] = [extension for extension in self.extensions if self.has_tier(extension)]
        self.write_sources()
        for extension in self.extensions:
            if self.clang_cl and is_tier(extension):
                extension.extra_compile_args = clang_cl_flags([*extension.extra_compile_args, *GNU_FLAGS])
            else:
                extension.extra_compile_args += MSVC_FLAGS if msvc else GNU_FLAGS
            if X86 and sys.maxsize < 2**32 and not msvc:
                extension.extra_compile_args += SSE_FLAGS
            if extension.name.endswith("._kernels") and wanted:
                extension.extra_compile_args.append(openmp)
                extension.extra_link_args += [] if msvc else [openmp]
        super().build_extensions()

    def has_tier(self, extension):
        """Whether what compiles a module knows its instruction set: a universal binary of macOS has others too."""
        flags = extension.extra_compile_args
        if not is_tier(extension) or not flags:
            return True
        if self.compiler.compiler_type == "msvc":
            return self.clang_cl is not None
        return self.compiles("#include <immintrin.h>\n", flags)

    def build_extension(self, extension):
        """Build a module; the loops by clang-cl where there is one, since MSVC has no way to compile their vectors."""
        if not (self.clang_cl and is_tier(extension)):
            super().build_extension(extension)
            return
        compiler = self.compiler
        self.compiler = copy.copy(compiler)
        self.compiler.cc = self.clang_cl
        try:
            super().build_extension(extension)
        finally:
            self.compiler = compiler

    def check_tools(self):
        """Raise, with one line that says what to install, where there is no compiler or no header of Python."""
        if self.compiler.compiler_type == "msvc":
            try:
                self.compiler.initialize()  # looks for the compiler, as the first file to compile would
            except PlatformError as error:
                raise PlatformError(NO_COMPILER.format(found=str(error).splitlines()[0].rstrip("."))) from None
            name = "MSVC"
        else:
            name = self.compiler.compiler_so[0]
            if shutil.which(name) is None:
                raise PlatformError(NO_COMPILER.format(found=f"there is no program {name!r}"))
        if not self.compiles("#include <stdio.h>\n"):
            raise PlatformError(NO_COMPILER.format(found=f"{name!r} cannot compile an empty file"))
        if not self.compiles("#include <Python.h>\n"):
            raise PlatformError(NO_HEADERS.format(found=sysconfig.get_path("include")))

    def write_sources(self):
        """Write the templates' files and the C of every module: here, where what compiles it is known to be there."""
        render_templates(Path(__file__).parent / "lowprec/_native")
        Options.emit_code_comments = False  # a third of the C
        modules = cythonize(self.extensions, compiler_directives=DIRECTIVES, nthreads=os.cpu_count() or 1)
        written = {module.name: module.sources for module in modules}
        for extension in self.extensions:
            extension.sources = written[extension.name]

    def understands(self, openmp):
        """Whether a program with OpenMP compiles and links with the flag."""
        program = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"
        return self.compiles(program, [openmp], [] if self.compiler.compiler_type == "msvc" else [openmp])

    def compiles(self, program, flags=(), link=None):
        """Whether a program compiles with the flags; and links, with those for that, where they are given."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text(program)
            try:
                objects = self.compiler.compile([str(source)], output_dir=folder, extra_postargs=list(flags))
                if link is not None:
                    self.compiler.link_executable(objects, "probe", output_dir=folder, extra_postargs=link)
            except Exception:
                return False
        return True


def is_tier(extension):
    """Whether a module holds the loops of an instruction set."""
    return "tier_" in extension.name


def clang_cl_flags(flags):
    """Return flags of clang as its driver for Windows takes them."""
    return [f"/clang:{flag}" for flag in flags if flag != "-g0"]


def extension(name, flags=(), include_dirs=(), **options):
    """One module of the package."""
    source = f"lowprec/{name.replace('.', '/')}.pyx"
    folders = ["lowprec/_native", *include_dirs]
    return Extension(f"lowprec.{name}", [source], extra_compile_args=list(flags), include_dirs=folders, **options)


def render_templates(folder):
    """Write the .pxi files whose templates are .pxi.in files, where they are not what would be written."""
    names = runpy.run_path(str(folder / "all_kernels.py"))["names_of_loops"]()
    for template in folder.glob("*.pxi.in"):
        text = Tempita.Template(template.read_text(encoding="utf-8"), name=template.name).substitute(names)
        text = re.sub(r"(?m)^(?=.{121})(.*)$", r"\1  # noqa", text)  # the name of a long chain
        rendered = template.with_suffix("")
        if not rendered.exists() or rendered.read_text(encoding="utf-8") != text:
            rendered.write_text(text, encoding="utf-8")


def modules():
    """Return the modules of the entry points and those of the loops."""
    numpy_api = {
        "include_dirs": [numpy.get_include()],
        "define_macros": [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
    }
    kernels = [extension(name, **numpy_api) for name in ("_kernels", "_kernels_serial")]
    tiers = [extension(f"_native.tier_{name}", flags) for name, flags in TIERS.items() if X86_64 or name == "base"]
    return [*tiers[::-1], *kernels]  # the longest first: two cores end together


DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "freethreading_compatible": True,
}

if __name__ == "__main__":  # which a process of the pool is not
    setup(cmdclass={"build_ext": BuildKernels}, ext_modules=modules())
