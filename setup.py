"""Build the kernels: one module with the entry points, and the same loops once per instruction set."""

import os
import platform
import re
import runpy
import sys
import tempfile
from pathlib import Path

import numpy
from Cython import Tempita
from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

GNU_FLAGS = ["-O3", "-g0", "-fno-trapping-math", "-fno-math-errno", "-ffp-contract=off"]  # strict IEEE, and vectorised
MSVC_FLAGS = ["/O2", "/fp:strict"]
TIERS = {"base": [], "v3": ["-march=x86-64-v3"], "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}
X86_64 = platform.machine().lower() in ("x86_64", "amd64") and sys.platform.startswith("linux")


class BuildKernels(build_ext):
    """Add the flags that the compiler at hand understands."""

    def build_extensions(self):
        """Set the flags of every module, then build as usual."""
        self.parallel = self.parallel or True  # one module a core
        self.force = True  # objects of a build with other flags may lie here, and no timestamp tells
        msvc = self.compiler.compiler_type == "msvc"
        openmp = "/openmp" if msvc else "-fopenmp"
        wanted = os.environ.get("LOWPREC_OPENMP", "1") != "0" and self.understands(openmp)
        for extension in self.extensions:
            extension.extra_compile_args += MSVC_FLAGS if msvc else GNU_FLAGS
            if extension.name.endswith("_kernels") and wanted:
                extension.extra_compile_args.append(openmp)
                extension.extra_link_args += [] if msvc else [openmp]
        super().build_extensions()

    def understands(self, flag):
        """Whether a program compiles and links with the flag."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text("#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
            link = [] if self.compiler.compiler_type == "msvc" else [flag]
            try:
                objects = self.compiler.compile([str(source)], output_dir=folder, extra_postargs=[flag])
                self.compiler.link_executable(objects, "probe", output_dir=folder, extra_postargs=link)
            except Exception:  # no OpenMP here: the kernels run on one thread and build_info() says so
                return False
        return True


def extension(name, flags=(), include_dirs=(), **options):
    """One module of the package."""
    source = f"lowprec/{name.replace('.', '/')}.pyx"
    folders = ["lowprec/_native", *include_dirs]
    return Extension(f"lowprec.{name}", [source], extra_compile_args=list(flags), include_dirs=folders, **options)


def render_templates(folder):
    """Write the .pxi files whose templates are .pxi.in files, where they are not what would be written."""
    names = runpy.run_path(str(folder / "loop_list.py"))["names_of_loops"]()
    for template in folder.glob("*.pxi.in"):
        text = Tempita.Template(template.read_text(encoding="utf-8"), name=template.name).substitute(names)
        text = re.sub(r"(?m)^(?=.{121})(.*)$", r"\1  # noqa", text)  # the name of a long chain
        rendered = template.with_suffix("")
        if not rendered.exists() or rendered.read_text(encoding="utf-8") != text:
            rendered.write_text(text, encoding="utf-8")


def modules():
    """Return the module of the entry points and those of the loops."""
    kernels = extension(
        "_kernels",
        include_dirs=[numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
    )
    tiers = [extension(f"_native.tier_{name}", flags) for name, flags in TIERS.items() if X86_64 or name == "base"]
    return [kernels, *tiers]


DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "freethreading_compatible": True,
}

if __name__ == "__main__":  # which a process of the pool is not
    render_templates(Path(__file__).parent / "lowprec/_native")
    Options.emit_code_comments = False  # a third of the C
    setup(
        cmdclass={"build_ext": BuildKernels},
        ext_modules=cythonize(modules(), compiler_directives=DIRECTIVES, nthreads=os.cpu_count() or 1),
    )
