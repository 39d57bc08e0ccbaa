"""torch: its own operators or array arithmetic, and the same arithmetic compiled by `torch.compile` (inductor)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from conversions import Arrays
from peers import Peer

import lowprec as lp


def _tensor(x: np.ndarray, fmt: lp.Format) -> Any:
    return torch.from_numpy(x.view(f"i{x.itemsize}")).view(getattr(torch, fmt.torch_name or ""))


def peers(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Return torch and torch.compile where torch has both dtypes; it packs no codes."""
    row, source, target = arrays.row, arrays.source, arrays.target
    if not source.torch_name or not target.torch_name or row.packed or source.bits < 8 or target.bits < 8:
        return
    torch.set_num_threads(threads)
    x = _tensor(arrays.values, source).reshape(arrays.grouped)
    out = _tensor(arrays.another_output(), target)
    codes = out.view(getattr(torch, f"int{8 * out.element_size()}")).numpy() if target.bits > 1 else out.numpy()
    operands: list[Any] = [x, out]
    if row.granularity:
        operands += [torch.from_numpy(arrays.broadcastable(arrays.scale))]
        operands += [torch.from_numpy(arrays.broadcastable(arrays.zero).astype(np.float32))] * row.zero_points
    arithmetic = _arithmetic(arrays)
    operator = _operator(arrays)
    if operator is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that these operators are deprecated
            last: list[Any] = []
            yield Peer("torch", lambda: last.__setitem__(slice(None), [operator()]), lambda: last[0].int_repr().numpy())
    else:
        yield Peer("torch", lambda: arithmetic(*operands), lambda: codes)
    torch._dynamo.reset()  # it would compile one function for so many dtypes only
    compiled = torch.compile(arithmetic, fullgraph=True)
    yield Peer("torch.compile", lambda: compiled(*operands), lambda: codes, compiled=True)


def _operator(arrays: Arrays) -> Callable[[], Any] | None:
    """Return torch's own operator for quantization to int8; its outputs are newly allocated."""
    row, scale, zero = arrays.row, arrays.scale, arrays.zero
    if (row.operation, row.source, row.target) != ("quantize", "float32", "int8") or row.granularity == "block 32":
        return None
    x = torch.from_numpy(arrays.values)
    if not scale.shape:
        return lambda: torch.quantize_per_tensor(x, float(scale), int(zero), torch.qint8)
    scales, zeros = torch.from_numpy(scale), torch.from_numpy(zero.astype(np.int64))
    return lambda: torch.quantize_per_channel(x, scales, zeros, arrays.options["axis"], torch.qint8)


def _arithmetic(arrays: Arrays) -> Callable[..., Any]:
    row, target = arrays.row, arrays.target
    if row.operation == "cast":
        return lambda x, out: out.copy_(x)
    if row.operation == "dequantize":
        if row.zero_points:
            return lambda x, out, scale, zero: out.copy_((x.to(torch.float32) - zero) * scale)
        if row.source == "int8" and row.target == "float32":
            return lambda x, out, scale: out.copy_(x * scale)
        return lambda x, out, scale: out.copy_(x.to(torch.float32) * scale)
    if target.is_float:
        most = float(lp.finfo(target).max)
        return lambda x, out, scale: out.copy_((x.to(torch.float32) / scale).clamp(-most, most))
    low, high = lp.iinfo(target).min, lp.iinfo(target).max
    if row.zero_points:
        return lambda x, out, scale, zero: out.copy_((torch.round(x / scale) + zero).clamp(low, high))
    return lambda x, out, scale: out.copy_(torch.round(x.to(torch.float32) / scale).clamp(low, high))
