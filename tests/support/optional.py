"""Packages that not every machine has: what a test uses of a missing one skips that test, or the module it is in."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

PACKAGES = frozenset({
    "apytypes", "axe_playwright_python", "cupy", "dask", "distributed", "gfloat", "gguf", "jax", "jinja2", "nbclient",
    "nbformat", "numkong", "onnx", "onnxruntime", "PIL", "playwright", "psutil", "pychop", "safetensors", "streamlit",
    "torch", "torchao", "tqdm",
})  # fmt: skip
"""All that the tests import and the extra `test` does not install; any other import that fails is an error."""


class Missing:
    """The place of a module, or of something in it, that is not installed: any use of it is a skip."""

    def __init__(self, package: str) -> None:
        self._package = package

    def _skip(self) -> Any:
        pytest.skip(f"could not import {self._package!r}", allow_module_level=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # collection looks for these in everything that a module holds
            raise AttributeError(name)
        return self._skip()

    def __getitem__(self, _: Any) -> Any:
        return self._skip()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self._skip()


def missing_package(error: BaseException | None) -> str | None:
    """Return which of these packages an import failed for want of; None if it failed for another reason."""
    while error is not None:
        package = error.name.partition(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else ""
        if package in PACKAGES:
            return package
        error = error.__cause__ or error.__context__
    return None


def optional(name: str) -> Any:
    """Import `module`, or what `module:attribute` names; give a `Missing` where a package that it needs is missing.

    For modules of which some tests do without the package: where none does, `pytest.importorskip` says so at once.
    """
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
        return getattr(found, attribute) if attribute else found
    except ImportError as error:
        package = missing_package(error)
        if package is None:
            raise
        return Missing(package)
