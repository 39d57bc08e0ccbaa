"""What torch is doing: tensors without memory of their own, calls that its dispatcher must see, memory written to.

torch is never imported here. `torch_ops` says what becomes of the calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "EAGER", "LOWEST", "advice", "check_tensor", "compiling", "dispatched", "eager", "mark_written", "recorded",
    "transformed",
]  # fmt: skip

LOWEST = 1 << 16
"""No process has memory below this address: a tensor that seems to start there has none."""

_Function = TypeVar("_Function", bound=Callable[..., Any])

EAGER: dict[str, Callable[..., Any]] = {}
"""The public functions that torch's operators of the same names call once the tensors have memory, and those that
torch.compile calls between two graphs."""


def eager(function: _Function) -> _Function:
    """Let torch's operator of the same name call a function, or Python between two graphs."""
    EAGER[function.__name__] = function
    return function


def transformed() -> Any:
    """Whether torch traces or transforms the calls of this moment, for which it must see operators and no memory.

    So it is under `torch.compile`, `torch.export`, `make_fx`, `torch.jit.trace`, `torch.func` and in dispatch modes.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if torch.compiler.is_dynamo_compiling():  # the compiler knows the answer and reads no further
        return True
    inside = torch._C
    return inside._len_torch_dispatch_stack() > 0 or inside._are_functorch_transforms_active() or inside._is_tracing()


def compiling() -> bool:
    """Whether torch.compile reads this call."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.compiler.is_dynamo_compiling())


def recorded(x: Any) -> bool:
    """Whether torch writes what is called with a tensor down in a graph, where the result of NumPy would be a constant.

    So it is under `torch.compile`, `torch.export`, `make_fx` and `torch.jit.trace`.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(x, torch.Tensor):
        return False
    if torch.compiler.is_dynamo_compiling():
        return True
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return bool(torch._C._is_tracing()) or (proxies is not None and proxies.get_proxy_mode() is not None)


def dispatched(x: Any, *operands: Any) -> bool:
    """Whether a call is for torch's dispatcher: it is transformed, or `x` or another tensor stands for something else.

    The dispatcher makes zeros of zero tensors, asks the class of a tensor that has its own `__torch_dispatch__`, and
    looks into wrappers.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(x, torch.Tensor):
        return False
    if transformed() or _stands_for_another(x, torch):
        return True
    if x.is_nested:  # it has no shape to be read
        check_tensor(x)
    for operand in operands:
        if operand is not None and isinstance(operand, torch.Tensor) and _stands_for_another(operand, torch):
            return True
    return False


def _has_memory(x: Any) -> bool:
    try:
        return bool(x.data_ptr() >= LOWEST)
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return False


def _has_own_dispatch(x: Any, torch: Any) -> bool:
    return type(x) is not torch.Tensor and type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def _stands_for_another(x: Any, torch: Any) -> bool:
    if type(x) is torch.Tensor and _has_memory(x):
        return False
    if x.is_nested:
        return False
    if _has_own_dispatch(x, torch) or x._is_zerotensor() or torch._is_functional_tensor(x):
        return True
    return bool(torch._C._functorch.is_gradtrackingtensor(x))


def _lack(x: Any, torch: Any) -> tuple[str, str] | None:
    """Return what a tensor is, and what to do, if its elements do not lie in memory by their strides; else None."""
    if x.is_nested:
        return "nested", "convert the tensors of `x.unbind()`"
    if x.is_quantized:
        return "quantized", "take its values, `x.dequantize()`, or its codes, `x.int_repr()`"
    if x.is_meta:
        return f"{x.layout} on meta", "give it data first (`torch.ops.lowprec` has the shape and dtype of the result)"
    if x.layout is not torch.strided:
        return f"{x.layout} on {x.device}", "make it dense, `x.to_dense()`"
    if _has_own_dispatch(x, torch):
        return f"a {type(x).__name__}, which has no memory of its own", "take the plain tensor that it stands for"
    if torch._C._functorch.is_functorch_wrapped_tensor(x):
        return "a wrapper of torch.func", "use it inside the transform that made it, by functions that return tensors"
    if x._is_zerotensor() or torch._is_functional_tensor(x):
        return "without memory of its own", "materialise it, `x.clone()`, outside of any transform"
    if x.is_cpu and x.numel() and not _has_memory(x):
        return "without memory, for its storage was freed", "give it data first"
    return None


def check_tensor(x: Any, parameter: str = "x") -> None:
    """Raise TypeError unless the elements of a torch tensor lie in memory by their strides."""
    torch = sys.modules["torch"]
    if type(x) is torch.Tensor and _has_memory(x) and not (x.is_nested or x.is_quantized):  # all others have no address
        return
    lack = _lack(x, torch)
    if lack is not None:
        kind, advice = lack
        raise TypeError(f"`{parameter}` must be a dense torch tensor with data; got one that is {kind}: {advice}")


def advice(dtype: Any) -> str:
    """Return what to do with a tensor of a dtype that is no format, to follow the message; nothing for most dtypes."""
    name = str(dtype)
    if name.startswith(("torch.qint", "torch.quint")):
        return ": take the values, `x.dequantize()`, or the codes, `x.int_repr()`"
    if name.endswith("_x2") and name.startswith("torch."):
        return ": `x.view(torch.uint8)` holds its codes, packed"
    return ""


def mark_written(x: Any) -> None:
    """Tell torch's autograd that the memory of a tensor was written to."""
    sys.modules["torch"].autograd.graph.increment_version(x)
