"""Subclasses of torch.Tensor and a dispatch mode, for the tests of unusual tensors."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


class Counting(torch.Tensor):
    """A subclass that sees functions."""

    seen = 0

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen += 1
        return super().__torch_function__(function, types, args, kwargs)


class Opaque(torch.Tensor):
    """A subclass that sees none."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


class Wrapper(torch.Tensor):
    """A subclass without memory, that passes operators on to the tensor it wraps."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype)
        made.inner = inner  # type: ignore[method-assign]
        return made

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        args, kwargs = tree_map_only(cls, lambda x: x.inner, (args, kwargs or {}))
        return function(*args, **kwargs)


class Deaf(Wrapper):
    """A subclass without memory, that knows no operator of lowprec."""

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        return NotImplemented if function.namespace == "lowprec" else super().__torch_dispatch__(
            function, types, args, kwargs
        )  # fmt: skip


class Passing(TorchDispatchMode):
    """A mode that changes nothing and counts lowprec's operators."""

    seen = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += function.namespace == "lowprec"
        return function(*args, **(kwargs or {}))
