"""The peers of blocks: torchao as it is and compiled, JAX by hand, gfloat; those that the machine has."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from typing import Any

import by_hand
import numpy as np
from bars import Peer
from rounding_peers import has

import lowprec as lp

NAMES = ("torchao", "torchao compiled", "JAX", "gfloat")
FEW = 1 << 12
"""Elements that gfloat converts, one after the other in Python."""
MX_BLOCK, NVFP4_BLOCK = 32, 16
TORCHAO_ELEMENTS = {"float6_e2m3fn": "fp6_e2m3", "float6_e3m2fn": "fp6_e3m2", "float4_e2m1fn": "float4_e2m1fn_x2"}
TORCHAO_RULES = ("floor", "ceil", "even", "rceil")


def mx_peers(x: np.ndarray, element: str, rule: str) -> Iterator[Peer]:
    """Yield the peers that make MX blocks along the last axis by a scale rule, rounded to nearest even."""
    if has("torchao") and rule in TORCHAO_RULES:
        yield from _torchao(x, functools.partial(_to_mx, element, rule))
    if has("jax") and rule == "floor":
        yield _jax(x, element)
    if has("gfloat") and rule == "floor":
        yield _gfloat(x, element)


def nvfp4_peers(x: np.ndarray, global_scale: float | None) -> Iterator[Peer]:
    """Yield the peers that make NVFP4 blocks; codes differ by the rule of the scales."""
    if has("torchao"):
        yield from _torchao(x, functools.partial(_nvfp4, global_scale))


def _to_mx(element: str, rule: str, tensor: Any) -> Any:
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx

    name = TORCHAO_ELEMENTS.get(element, element)
    scales, codes = to_mx(tensor, getattr(torch, name, name), MX_BLOCK, ScaleCalculationMode(rule))
    return scales.view(torch.uint8), codes  # inductor has no e8m0 on the CPU, and can do without it so


def _nvfp4(global_scale: float | None, tensor: Any) -> Any:
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    found = global_scale is None
    scale = per_tensor_amax_to_scale(tensor.abs().max()) if found else torch.tensor(global_scale)
    return nvfp4_quantize(tensor, NVFP4_BLOCK, scale)


def _torchao(x: np.ndarray, convert: Any) -> Iterator[Peer]:
    import torch

    logging.disable()  # pages about what inductor lacks
    torch.set_num_threads(1)
    tensor, last = torch.from_numpy(x), []

    def codes() -> np.ndarray:
        return np.asarray(last[0][1].view(torch.uint8).numpy())

    yield Peer("torchao", lambda: last.__setitem__(slice(None), [convert(tensor)]), codes, compiled=True)
    torch._dynamo.reset()
    compiled = torch.compile(convert)
    yield Peer("torchao compiled", lambda: last.__setitem__(slice(None), [compiled(tensor)]), codes, compiled=True)


def _jax(x: np.ndarray, element: str) -> Peer:
    import jax

    fmt, ops, last = lp.formats[element], by_hand.Jax(), []
    largest_exponent = int(np.frexp(float(fmt.max))[1]) - 1

    def blocks(x: Any) -> Any:
        grouped = x.reshape(x.shape[0], -1, MX_BLOCK)
        absmax = abs(grouped).max(axis=-1, keepdims=True)
        exponents = ops.most((ops.bits(absmax) >> 23) - 127 - largest_exponent, -127)
        scaled = grouped * ops.numbers((127 - exponents) << 23)
        codes = by_hand.encode(ops, scaled.reshape(x.shape), fmt, "nearest_even", packed=fmt.bits == 4)
        return codes, ops.to(exponents + 127, "uint8")

    array, compiled = jax.numpy.asarray(x), jax.jit(blocks)

    def call() -> None:
        last[:] = [jax.block_until_ready(compiled(array))]

    return Peer("JAX", call, lambda: np.asarray(last[0][0]), compiled=True)


def _gfloat(x: np.ndarray, element: str) -> Peer:
    from gfloat import BlockFormatInfo, compute_scale_amax, encode_block
    from gfloat.formats import format_info_ocp_e8m0

    from lowprec.conformance.libraries import Gfloat

    fmt, last = lp.formats[element], []
    info = BlockFormatInfo(element, Gfloat().format_info(fmt), MX_BLOCK, format_info_ocp_e8m0)
    few = x.reshape(-1)[:FEW].astype(np.float64).reshape(-1, MX_BLOCK)

    def call() -> None:
        last.clear()
        for block in few:
            scale = compute_scale_amax(info.etype.emax, block)
            last.extend(list(encode_block(info, scale, block / scale))[1:])

    def codes() -> np.ndarray:
        elements = np.array(last, np.uint8)
        return lp.pack(elements, fmt) if fmt.bits == 4 else elements

    return Peer("gfloat", call, codes, FEW, compiled=True)
