"""The rules of the package: public names, lazy imports, what a wheel holds, one home for format names."""

from __future__ import annotations

import ast
import pickle
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.optional import optional
from support.paths import ROOT, printed

import lowprec as lp
from lowprec import reference
from lowprec.backends import cuda
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC

onnx: Any = optional("onnx")

PACKAGE = Path(lp.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
PUBLIC = [
    "Format", "Quantized", "absmax_scale", "as_format", "bitcast", "build_info", "cast", "cast_like", "compare",
    "convert", "decode", "dequantize", "dequantize_linear", "dynamic_quantize_linear", "encode", "explain", "finfo",
    "float_format", "formats", "get_num_threads", "iinfo", "minmax_scale", "mx_dequantize", "mx_quantize",
    "nvfp4_dequantize", "nvfp4_quantize", "pack", "quantize", "quantize_linear", "register", "roundings",
    "set_num_threads", "stochastic_bits", "storage_dtype", "to_jax",
    "to_numpy", "to_torch", "unpack",
]  # fmt: skip


def test_public_names() -> None:
    assert lp.__all__ == PUBLIC
    assert all(getattr(lp, name).__doc__ for name in PUBLIC if name not in ("formats", "roundings"))
    assert lp.__version__ == metadata.version("lowprec")


@pytest.mark.parametrize("name", sorted({*PUBLIC} - {"Format", "Quantized", "formats", "roundings"}))
def test_docstrings_say_what_they_must(name: str) -> None:
    text = getattr(lp, name).__doc__
    assert ">>> " in text, "a doctest"
    if name not in ("build_info", "get_num_threads", "set_num_threads"):
        assert re.search(r"Source: |source", text), "the source"
        assert "Parameters" in text
        assert "Raises" in text


def test_import_is_lazy() -> None:
    code = (
        "import sys, lowprec; "
        "print([m for m in ('torch', 'onnx', 'cupy', 'jax', 'dask', 'tqdm', 'streamlit') if m in sys.modules])"
    )
    assert printed(code) == "[]\n"


def test_a_wheel_has_every_folder() -> None:
    """Wheels hold what this list names; an editable installation does not need it."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    homes = {"lowprec": ROOT / "lowprec", "lowprec.explorer": ROOT / "explorer"}
    folders = {
        ".".join([name, *init.parent.relative_to(home).parts])
        for name, home in homes.items()
        for init in home.rglob("__init__.py")
    }
    assert folders == set(listed)


def test_a_wheel_has_the_text_of_cuda_kernels() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["lowprec._native"]
    for name in cuda._TEXTS:
        assert any(Path(name).match(pattern) for pattern in patterns), name


def _code_strings(path: Path) -> str:
    """Return a module without its comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, (ast.Module, ast.ClassDef)):
            node.body = [n for n in node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    return ast.unparse(tree)


def test_format_names_have_one_home() -> None:
    names = [fmt.name for fmt in NUMERIC if fmt.name not in dir(np) or fmt.bits < 8]
    assert "bfloat16" in names
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    for path in MODULES:
        if path.stem != "formats":
            found = pattern.findall(_code_strings(path))
            if path.stem in ("convert", "loss"):  # the examples of `convert --help`, the default of `loss --to`
                assert set(found) <= {"float8_e4m3fn", "int4", "float4_e2m1fn", "bfloat16", "float8_e8m0fnu"}
                continue
            assert not found, (path.name, found)
    for path in [file for kind in ("pyx", "pxi", "pxd", "cuh") for file in PACKAGE.rglob(f"*.{kind}")]:
        assert not pattern.findall(path.read_text(encoding="utf-8")), path.name


def test_formats_are_onnxs() -> None:
    theirs = dict(onnx.TensorProto.DataType.items())
    theirs.pop("UNDEFINED")
    ours = {fmt.onnx_name: fmt.onnx_enum for fmt in lp.formats.values()}
    assert ours.pop(None) is None
    assert ours == theirs
    assert len(ONNX_NUMERIC) == 25
    assert [fmt.name for fmt in NUMERIC if fmt not in ONNX_NUMERIC] == [
        "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz",
    ]  # fmt: skip


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_aliases(fmt: lp.Format) -> None:
    aliases: list[object] = [fmt, fmt.name, fmt.dtype, fmt.dtype.type]
    if fmt.onnx_enum is not None:
        aliases += [fmt.onnx_name, fmt.onnx_enum, np.int64(fmt.onnx_enum)]
    for alias in aliases:
        assert lp.as_format(alias) is fmt
    assert lp.as_format(fmt.dtype.newbyteorder(">")) is fmt
    assert pickle.loads(pickle.dumps(fmt)) is fmt
    assert repr(fmt).startswith(f"<Format {fmt.name}: ")


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.torch_name], ids=lambda fmt: fmt.name)
def test_torch_aliases(fmt: lp.Format) -> None:
    torch = pytest.importorskip("torch")
    assert lp.as_format(getattr(torch, fmt.torch_name or "")) is fmt


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.is_float], ids=lambda fmt: fmt.name)
def test_finfo_against_ml_dtypes_and_the_oracle(fmt: lp.Format) -> None:
    ours = lp.finfo(fmt)
    theirs = ml_dtypes.finfo(fmt.dtype)
    assert (ours.bits, ours.max, ours.eps) == (theirs.bits, float(theirs.max), float(theirs.eps))
    assert ours.smallest_normal == float(theirs.smallest_normal)
    assert ours.min == float(theirs.min)
    numpys = np.finfo(fmt.dtype) if fmt.dtype.isbuiltin == 1 else theirs
    for fact in ("tiny", "nmant", "nexp", "minexp", "maxexp"):  # NumPy's names
        assert getattr(ours, fact) == getattr(numpys, fact), fact
    assert float(reference.decode(fmt.max_code, fmt)) == ours.max
    smallest = 1 if fmt.has_zero else 0
    assert float(reference.decode(smallest, fmt)) == (ours.smallest_subnormal if fmt.has_zero else ours.smallest_normal)
    if ours.nan_code is not None:
        assert reference.decode(ours.nan_code, fmt).special == "nan"
    if ours.inf_code is not None:
        assert reference.decode(ours.inf_code, fmt).special == "inf"


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.is_integer], ids=lambda fmt: fmt.name)
def test_iinfo_against_ml_dtypes(fmt: lp.Format) -> None:
    theirs = ml_dtypes.iinfo(fmt.dtype)
    ours = lp.iinfo(fmt)
    assert (ours.bits, ours.min, ours.max, ours.dtype) == (theirs.bits, theirs.min, theirs.max, fmt.dtype)
