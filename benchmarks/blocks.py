"""Time of MX, NVFP4 and GGUF blocks beside peers, as multiples of a copy: one thread, AVX-512 and AVX2.

    python benchmarks/blocks.py [--sizes 65536,67108864] [--only TEXT] [--seconds 4] [--alone] [--store]

Inputs are float32 normal deviates times 10 in rows of 4096; blocks lie along the last axis; 4-bit elements are packed,
6-bit ones are not. The copy writes the elements alone: scales are 1/32 or 1/16 as many bytes. Outputs of lowprec were
written before, the peers allocate theirs. gfloat converts 4096 elements. A peer whose elements are others is named in
the last column. ✗ marks a bar that is missed; the bars are those out of the cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import block_peers
import numpy as np
import peer_ggml
from bars import Peer, Row, main
from block_peers import MX_BLOCK, NVFP4_BLOCK
from conversions import random_input
from roofline import aligned

import lowprec as lp
from lowprec.backends.ggml_blocks import decode_blocks, encode_blocks
from lowprec.checkpoints.containers.gguf_file import TYPES
from lowprec.spec.scale_rules import NVFP4_RULES, SCALE_RULES

COLUMNS = 4096
MX_BARS = {8: (1.5, 3.5), 4: (1.8, 3.5)}
"""By the bits of an element."""
GIVEN_BARS, FOUND_BARS = (2.6, 4.5), (3.4, 5.5)
"""NVFP4 with the scale of the tensor given, and found."""
GLOBAL_SCALE = 0.02
ELEMENTS = ("float8_e4m3fn", "float8_e5m2", "float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn")
GGUF_BLOCK = 32
TYPE_SIZES = {one.name: one.nbytes for one in TYPES.values() if one.name in ("Q8_0", "Q4_0", "MXFP4")}
"""The bytes of a block of GGUF."""
STOCHASTIC: dict[str, Any] = {"rounding": "stochastic", "seed": 0}


def _elements(shape: tuple[int, ...], fmt: lp.Format) -> np.ndarray:
    """Return memory for elements: packed bytes where two share one."""
    if fmt.bits == 4:
        return aligned(int(np.prod(shape)) // 2)
    return aligned(int(np.prod(shape))).view(fmt.dtype).reshape(shape)


def _scales(shape: tuple[int, ...], block: int, name: str) -> np.ndarray:
    return aligned(int(np.prod(shape)) // block).view(lp.formats[name].dtype).reshape(*shape[:-1], -1)


def _mx(x: np.ndarray, element: str, rule: str, **options: Any) -> Row:
    fmt = lp.formats[element]
    out = _elements(x.shape, fmt), _scales(x.shape, MX_BLOCK, "float8_e8m0fnu")
    call = partial(lp.mx_quantize, x, element, scale_rule=rule, packed=fmt.bits == 4, out=out, **options)
    name = f"MX {element}{' packed' * (fmt.bits == 4)}, {options.get('rounding', rule)}"
    peers = () if options else block_peers.mx_peers(x, element, rule)
    return Row(name, None if options else MX_BARS.get(fmt.bits), x, out[0], call, peers)


def _nvfp4(x: np.ndarray, global_scale: float | None, rule: str | None, **options: Any) -> Row:
    fmt = lp.formats["float4_e2m1fn"]
    out = _elements(x.shape, fmt), _scales(x.shape, NVFP4_BLOCK, "float8_e4m3fn"), np.zeros((), np.float32)
    call = partial(
        lp.nvfp4_quantize, x, global_scale=global_scale, scale_rule=rule, packed=True, out=out, **options
    )  # fmt: skip
    found = global_scale is None
    name = f"NVFP4 packed, scale {'found' if found else 'given'}"
    name += f", {options.get('rounding', rule)}" if options or rule else ""
    peers: Iterator[Peer] | tuple[()] = () if options else block_peers.nvfp4_peers(x, global_scale)
    return Row(name, None if options else FOUND_BARS if found else GIVEN_BARS, x, out[0], call, peers)


def _gguf(x: np.ndarray, kind: str) -> Iterator[Row]:
    """Yield the blocks of GGUF from values, and back."""
    nbytes = TYPE_SIZES[kind]
    blocks, values = aligned(x.size // GGUF_BLOCK * nbytes), aligned(x.nbytes).view(np.float32)
    flat, codes = x.reshape(-1), blocks[: x.size // (1 if kind == "Q8_0" else 2)]  # as many bytes as codes have
    encode = partial(encode_blocks, kind, flat.view(np.uint32), lp.formats["float32"], blocks)
    encode()
    for name, source, target, ours in (
        (f"GGUF {kind}", flat, codes, encode),
        (f"values of GGUF {kind}", codes, values, partial(decode_blocks, kind, blocks, values)),
    ):
        decodes = target is values
        out = np.empty_like(values if decodes else blocks)
        function = f"{'de' if decodes else ''}quantize_row_{kind.lower()}"
        call = peer_ggml.block_call(function, blocks if decodes else flat, out, x.size)
        peers = [Peer("ggml", call, partial(np.copy, out[: target.size]))] if call else ()
        yield Row(name, None, source, target, ours, peers)


def rows(n: int, options: argparse.Namespace) -> Iterator[Row]:
    """Yield every element format and rule, stochastic rounding to 4 bits, and blocks of GGUF."""
    x = random_input(lp.formats["float32"], n).reshape(-1, COLUMNS)
    for element in ELEMENTS:
        for rule in SCALE_RULES:
            yield _mx(x, element, rule)
    yield _mx(x, ELEMENTS[-1], "floor", **STOCHASTIC)
    for global_scale in (GLOBAL_SCALE, None):
        for nvfp4_rule in (None, *NVFP4_RULES):
            yield _nvfp4(x, global_scale, nvfp4_rule)
    yield _nvfp4(x, GLOBAL_SCALE, None, **STOCHASTIC)
    for kind in TYPE_SIZES:
        yield from _gguf(x, kind)


if __name__ == "__main__":
    main(__doc__ or "", rows, (*block_peers.NAMES, "ggml"), "blocks")
