"""Unusual torch tensors: the oracle's bits of each, a fake result for a fake one, or a TypeError.

A case is a context manager that yields a tensor and what to expect: the values of its elements, a pattern of a
TypeError's message, or `FAKE`. What it needs lives while it is tried.
"""

from __future__ import annotations

import contextlib
import struct
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.overrides import BaseTorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

import lowprec as lp
import lowprec.torch_ops
from lowprec import reference
from lowprec.reference import exact_quantize


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


FAKE = "fake"
X = [0.3, -1000.0, 1e9, float("inf"), -0.0, 5.5]
_Case = Callable[[], contextlib.AbstractContextManager[tuple[Any, Any]]]
CASES: dict[str, _Case] = {}


def _plain() -> Any:
    return torch.tensor(X, device="cpu")


# ---- tensors in memory, however they lie there
def _case(make: Callable[[], Iterator[tuple[Any, Any]]]) -> _Case:
    CASES[make.__name__] = found = contextlib.contextmanager(make)
    return found


def _simple(**makers: Callable[[], tuple[Any, Any]]) -> None:
    CASES.update({name: partial(lambda make: contextlib.nullcontext(make()), make) for name, make in makers.items()})


def _grid(*shape: int) -> tuple[Any, list[float]]:
    values = [number / 4 - 3 for number in range(int(np.prod(shape)))]
    return torch.tensor(values).reshape(shape), values


def _row_major(x: Any) -> tuple[Any, list[float]]:
    return x, x.reshape(-1).tolist()


_simple(
    plain=lambda: (_plain(), X), parameter=lambda: (torch.nn.Parameter(_plain()), X),
    requires_grad=lambda: (_plain().requires_grad_(), X),
    requires_grad_view=lambda: (_plain().requires_grad_()[::2], X[::2]),
    with_history=lambda: (_plain().requires_grad_() * 1, X),
    scalar=lambda: (torch.tensor(5.5), [5.5]), empty=lambda: (torch.empty(0, 3), []),
    empty_slice=lambda: (_plain()[6:], []),
    transposed=lambda: (_grid(3, 4)[0].t(), [n / 4 - 3 for column in range(4) for n in range(column, 12, 4)]),
    strided=lambda: (_plain()[1::2], X[1::2]), offset=lambda: (_plain()[2:], X[2:]),
    expanded=lambda: (_plain().expand(2, 6), X * 2),
    expanded_scalar=lambda: (torch.tensor(5.5).expand(2, 3), [5.5] * 6),
    overlapping=lambda: (_plain().as_strided((5, 2), (1, 1)), [value for n in range(5) for value in X[n : n + 2]]),
    channels_last=lambda: _row_major(_grid(2, 3, 2, 2)[0].to(memory_format=torch.channels_last)),
    channels_last_3d=lambda: _row_major(_grid(1, 2, 2, 2, 3)[0].to(memory_format=torch.channels_last_3d)),
    odd_strides_of_one=lambda: (_plain().as_strided((1, 6), (77, 1)), X),
    subclass=lambda: (_plain().as_subclass(Plain), X),
    subclass_with_functions=lambda: (_plain().as_subclass(Counting), X),
    subclass_without_functions=lambda: (_plain().as_subclass(Opaque), X),
    unaligned=lambda: (torch.frombuffer(bytearray(b"\x7f" + struct.pack("<6f", *X)), dtype=torch.float32, offset=1), X),
    inference=lambda: (torch.inference_mode()(_plain)(), X), dlpack=lambda: (torch.from_dlpack(np.array(X, "f4")), X),
    shared_memory=lambda: (_plain().share_memory_(), X),
    negative_view=lambda: (torch._neg_view(_plain()), [-value for value in X]),
    imaginary_of_conjugate=lambda: (torch.tensor([1 + 2j, -3 - 4j]).conj().imag, [-2.0, 4.0]),
    real_of_conjugate=lambda: (torch.tensor([1 + 2j, -3 - 4j]).conj().real, [1.0, -3.0]),
    zero=lambda: (torch._efficientzerotensor(5), [0.0] * 5),
    zero_matrix=lambda: (torch._efficientzerotensor((2, 3)), [0.0] * 6),
    zero_view=lambda: (torch._efficientzerotensor((4, 3)).t(), [0.0] * 12),
    part_of_nested=lambda: (torch.nested.nested_tensor([torch.ones(2), _plain()]).unbind()[1], X),
    values_of_jagged=lambda: (
        torch.nested.nested_tensor([torch.ones(2), _plain()], layout=torch.jagged).values(), [1.0, 1.0, *X],
    ),
    wrapper=lambda: (Wrapper(_plain()), X), wrapper_of_transposed=lambda: (Wrapper(_grid(3, 4)[0]), _grid(3, 4)[1]),
)  # fmt: skip


@_case
def memory_mapped() -> Iterator[tuple[Any, Any]]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(struct.pack("<6f", *X))
        file.flush()
        yield torch.from_file(file.name, size=6, dtype=torch.float32), X


@_case
def dual() -> Iterator[tuple[Any, Any]]:
    with torch.autograd.forward_ad.dual_level():
        yield torch.autograd.forward_ad.make_dual(_plain(), torch.ones(6))[::2], X[::2]


def _within(**contexts: Callable[[], contextlib.AbstractContextManager[Any]]) -> None:
    """Add a case of a plain tensor in each context."""
    for name, context in contexts.items():

        def made(context: Callable[[], Any] = context) -> Iterator[tuple[Any, Any]]:
            with context():
                yield _plain()[::2], X[::2]

        CASES[name] = contextlib.contextmanager(made)


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


_within(
    inference_mode=torch.inference_mode, autocast=lambda: torch.autocast("cpu", torch.bfloat16),
    default_device=lambda: torch.device("meta"), function_mode=BaseTorchFunctionMode, deterministic=_deterministic,
)  # fmt: skip


@_case
def dispatch_modes() -> Iterator[tuple[Any, Any]]:
    with Passing() as outer, Passing() as inner:
        yield _plain()[::2], X[::2]
    assert inner.seen == outer.seen >= 4


def _escaped(transform: Callable[..., Any], *arguments: Any) -> Any:
    caught = []
    transform(lambda x: (caught.append(x), x.sum())[1])(*arguments)
    return caught[-1]


_simple(
    escaped_functional=lambda: (_escaped(torch.func.functionalize, _plain()), X),
    functional=lambda: (torch._to_functional_tensor(_plain()), X),
    escaped_grad=lambda: (_escaped(torch.func.grad, _plain()), X),
)


# ---- tensors without memory
def _freed(x: Any) -> Any:
    x.untyped_storage().resize_(0)
    return x


_DENSE = r"`x` must be a dense torch tensor with data; got one that is "
_simple(
    meta=lambda: (torch.empty(2, device="meta"), f"{_DENSE}torch.strided on meta: give it data first"),
    sparse_coo=lambda: (torch.eye(2).to_sparse(), rf"{_DENSE}torch.sparse_coo on cpu: make it dense, `x.to_dense\(\)`"),
    sparse_csr=lambda: (torch.eye(2).to_sparse_csr(), rf"{_DENSE}torch.sparse_csr on cpu: .*`x.to_dense\(\)`"),
    sparse_csc=lambda: (torch.eye(2).to_sparse_csc(), rf"{_DENSE}torch.sparse_csc on cpu: .*`x.to_dense\(\)`"),
    sparse_bsr=lambda: (torch.eye(2).to_sparse_bsr((1, 1)), rf"{_DENSE}torch.sparse_bsr on cpu: .*`x.to_dense\(\)`"),
    sparse_bsc=lambda: (torch.eye(2).to_sparse_bsc((1, 1)), rf"{_DENSE}torch.sparse_bsc on cpu: .*`x.to_dense\(\)`"),
    mkldnn=lambda: (torch.eye(2).to_mkldnn(), rf"{_DENSE}torch._mkldnn on cpu: make it dense, `x.to_dense\(\)`"),
    nested=lambda: (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), rf"{_DENSE}nested: .*`x.unbind\(\)`"),
    jagged=lambda: (
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        rf"{_DENSE}nested: .*`x.unbind\(\)`",
    ),
    quantized=lambda: (
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
        r"`x` must hold .*; got dtype torch.quint8: take the values, `x.dequantize\(\)`, or the codes, `x.int_repr",
    ),
    quantized_per_channel=lambda: (
        torch.quantize_per_channel(torch.ones(2, 2), torch.ones(2), torch.zeros(2), 0, torch.qint8),
        r"`x` must hold .* torch.qint8: .*`x.dequantize\(\)",
    ),
    packed_pairs=lambda: (
        torch.zeros(3, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
        r"`x` must hold .*; got dtype torch.float4_e2m1fn_x2: `x.view\(torch.uint8\)` holds its codes, packed",
    ),
    freed=lambda: (_freed(_plain()), f"{_DENSE}without memory, for its storage was freed: give it data first"),
    freed_view=lambda: (_freed(_plain()[1:]), f"{_DENSE}without memory, for its storage was freed"),
    escaped_batch=lambda: (
        _escaped(torch.vmap, torch.ones(3, 2)),
        f"{_DENSE}a wrapper of torch.func: use it inside the transform that made it",
    ),
    uninitialized=lambda: (torch.nn.UninitializedParameter(), "Attempted to use an uninitialized parameter"),
    deaf_wrapper=lambda: (Deaf(_plain()), r"Multiple dispatch failed for 'torch._?ops.*lowprec"),
    complex_numbers=lambda: (torch.zeros(2, dtype=torch.complex64), "`x` must hold .*; got dtype torch.complex64"),
    bits=lambda: (torch.zeros(2, dtype=torch.uint8).view(torch.bits8), "`x` must hold .*; got dtype torch.bits8"),
)


# ---- tensors that are fake: a fake result, of the right shape and dtype
_simple(fake_from_real=lambda: (FakeTensorMode().from_tensor(_plain()[::2]), FAKE))


@_case
def fake() -> Iterator[tuple[Any, Any]]:
    with FakeTensorMode():
        yield torch.empty(6), FAKE


@_case
def fake_outside_its_mode() -> Iterator[tuple[Any, Any]]:
    with FakeTensorMode():
        x = torch.empty(6)
    yield x, FAKE


@_case
def real_where_others_are_fake() -> Iterator[tuple[Any, Any]]:
    x = _plain()
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield x, FAKE


# ---- what is tried
CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[float], int], Any]] = {
    "cast": (
        lambda x: lp.cast(x, "float8_e4m3fn"), lambda v: reference.encode(v, "float8_e4m3fn"), torch.float8_e4m3fn,
    ),
    "cast unsaturated": (
        lambda x: lp.cast(x, "float8_e5m2", saturate=False),
        lambda v: reference.encode(v, "float8_e5m2", saturate=False), torch.float8_e5m2,
    ),
    "encode": (lambda x: lp.encode(x, "float6_e2m3fn"), lambda v: reference.encode(v, "float6_e2m3fn"), torch.uint8),
    "bitcast": (
        lambda x: lp.bitcast(x, "uint32"), lambda v: int.from_bytes(struct.pack("<f", v), "little"), torch.uint32,
    ),
    "quantize": (lambda x: lp.quantize_linear(x, 0.5, 3, output_dtype="int8"),
                 lambda v: exact_quantize.quantize(v, 0.5, 3, "int8", precision="float32"), torch.int8),
}  # fmt: skip
"""Of each call the expected code of an element, and the dtype of the result."""


def _codes(result: Any) -> list[int]:
    if torch._is_functional_tensor(result):
        result = torch._from_functional_tensor(result)
    assert isinstance(result, torch.Tensor), type(result)
    assert not result.requires_grad
    unsigned = getattr(torch, f"uint{8 * result.itemsize}")
    found: list[int] = result.contiguous().view(unsigned).reshape(-1).tolist()
    return found


@pytest.mark.filterwarnings("ignore")  # torch's own: prototypes, and the like
@pytest.mark.parametrize("name", CASES)
def test_odd_tensors(name: str) -> None:
    with CASES[name]() as (x, expected), warnings.catch_warnings():
        warnings.simplefilter("error")
        for what, (call, code, dtype) in CALLS.items():
            if isinstance(expected, list):
                call(torch.ones(x.shape, device="cpu"))  # a dense tensor, for which the odd one is not taken
                for _ in range(2):  # the second call finds what the first one remembered
                    result = call(x)
                    assert (result.shape, result.dtype) == (x.shape, dtype), (what, result.shape, result.dtype)
                    assert _codes(result) == list(map(code, expected)), (what, result)
            elif expected == FAKE:
                result = call(x)
                assert isinstance(result, FakeTensor), type(result)
                assert (result.shape, result.dtype) == (x.shape, dtype), (what, result.shape, result.dtype)
            elif not (what == "bitcast" and name in ("complex_numbers", "deaf_wrapper")):  # their bits can be viewed
                with pytest.raises((TypeError, ValueError), match=f"(?s){expected}"):
                    call(x)
