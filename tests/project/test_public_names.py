"""What a package shows of itself: `dir`, public packages that are there before they are touched."""

from __future__ import annotations

import ast
import importlib

import pytest
from support.paths import printed

import lowprec as lp

PACKAGES = ["checkpoints", "loss", "onnx", "reference", "teaching"]
LATE = ["convert", *PACKAGES]
"""Names of `lowprec` whose packages are imported at their first use."""


def test_dir_lists_what_is_public_and_nothing_else() -> None:
    found = ast.literal_eval(printed("import lowprec as lp; print(dir(lp))"))
    assert found == sorted([*lp.__all__, *PACKAGES, "__version__"])
    assert [name for name in found if not hasattr(lp, name) and name != "onnx"] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_of_public_packages(name: str) -> None:
    if name == "onnx":
        pytest.importorskip("onnx")
    package = importlib.import_module(f"lowprec.{name}")
    late = ["open"] if name == "checkpoints" else []
    assert dir(package) == sorted([*package.__all__, *late])
    assert [one for one in dir(package) if one.startswith("_") or not hasattr(package, one)] == []


def test_a_star_import_leaves_the_builtin_open() -> None:
    assert printed("from lowprec.checkpoints import *; import builtins; print(open is builtins.open)") == "True\n"


@pytest.mark.parametrize("name", LATE)
def test_packages_are_there_before_they_are_touched(name: str) -> None:
    if name == "onnx":
        pytest.importorskip("onnx")
    home = "lowprec.checkpoints" if name == "convert" else f"lowprec.{name}"
    before = f"print({home!r} in sys.modules)" if name != "reference" else "print(False)"  # `explain` needs that one
    code = f"import sys, lowprec as lp; {before}; lp.{name}; print({home!r} in sys.modules)"
    assert printed(code) == "False\nTrue\n"


def test_names_from_packages_that_lack_their_libraries() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import inspect, lowprec as lp\n"
        "print(hasattr(lp, 'onnx'), 'onnx' in dict(inspect.getmembers(lp)))\n"
        "try: import lowprec.onnx\n"
        "except ImportError as error: print(error)\n"
        "try: lp.onnx\n"
        "except AttributeError as error: print(error)\n"
    )
    needs = "lowprec.onnx needs the onnx package, 1.23 or newer: pip install 'onnx>=1.23'\n"
    assert printed(code) == f"False False\n{needs}{needs}"


def test_an_unknown_name() -> None:
    for package in ("lowprec", "lowprec.checkpoints", "lowprec.reference"):
        module = importlib.import_module(package)
        with pytest.raises(AttributeError, match=f"^module '{package}' has no attribute 'castt'$"):
            getattr(module, "castt")  # noqa: B009  not written as an attribute, which mypy would refuse
