"""The peers of roundings: torch and JAX by hand, gfloat, CPFloat, pychop, APyTypes; those that the machine has."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from typing import Any

import by_hand
import numpy as np
import peer_cpfloat
from bars import Peer

import lowprec as lp
from lowprec.spec.formats import NaNRule

NAMES = ("torch", "torch.compile", "JAX", "gfloat", "CPFloat", "pychop", "APyTypes")
SLOW = 1 << 20
"""Elements that gfloat and pychop convert: more would take minutes, and gigabytes of float64."""


def has(package: str) -> bool:
    """Whether a package is installed."""
    return importlib.util.find_spec(package) is not None


def peers(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Iterator[Peer]:
    """Yield the peers that have a rounding; those by hand have every one."""
    options = {"fmt": fmt, "mode": mode, "random_bits": random_bits, "packed": packed}
    if has("torch"):
        yield from _torch(x, **options)
    if has("jax"):
        yield _jax(x, **options)
    if has("gfloat"):
        yield from _gfloat(x[:SLOW], fmt, mode, random_bits, packed)
    if peer_cpfloat.available() and mode in peer_cpfloat.MODES:
        yield _cpfloat(x, fmt, mode, random_bits, packed)
    if has("apytypes"):
        yield from _apytypes(x, fmt, mode)
    if has("pychop"):
        yield from _pychop(x[:SLOW], fmt, mode, random_bits)


def _torch(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Iterator[Peer]:
    import torch

    torch.set_num_threads(1)
    tensor, ops, last = torch.from_numpy(x), by_hand.Torch(), []

    def arithmetic(tensor: Any) -> Any:
        return by_hand.encode(ops, tensor, fmt, mode, random_bits, packed)

    if mode == "nearest_even" and fmt.torch_name and not packed:
        dtype, most = getattr(torch, fmt.torch_name), float(fmt.max)

        def arithmetic(tensor: Any) -> Any:
            return tensor.clamp(-most, most).to(dtype).view(torch.uint8)

    def codes() -> np.ndarray:
        return np.asarray(last[0].numpy())

    yield Peer(
        "torch", lambda: last.__setitem__(slice(None), [arithmetic(tensor)]), codes, stochastic=bool(random_bits)
    )
    torch._dynamo.reset()
    compiled = torch.compile(arithmetic, fullgraph=True)
    call = functools.partial(lambda: last.__setitem__(slice(None), [compiled(tensor)]))
    yield Peer("torch.compile", call, codes, compiled=True, stochastic=bool(random_bits))


def _jax(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Peer:
    import jax

    ops, last = by_hand.Jax(), []
    array = jax.numpy.asarray(x)
    compiled = jax.jit(lambda array: by_hand.encode(ops, array, fmt, mode, random_bits, packed))

    def call() -> None:
        last[:] = [compiled(array).block_until_ready()]

    return Peer("JAX", call, lambda: np.asarray(last[0]), compiled=True, stochastic=bool(random_bits))


def _gfloat(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Iterator[Peer]:
    from gfloat import RoundMode, encode_ndarray, round_ndarray

    from lowprec.conformance.libraries import Gfloat

    modes = {
        "nearest_even": RoundMode.TiesToEven, "nearest_away": RoundMode.TiesToAway,
        "toward_zero": RoundMode.TowardZero, "toward_positive": RoundMode.TowardPositive,
        "toward_negative": RoundMode.TowardNegative, "stochastic": RoundMode.StochasticFast,
    }  # fmt: skip
    if mode not in modes or packed:
        return
    info = Gfloat().format_info(fmt)
    rng, last = np.random.default_rng(0), []

    def call() -> None:
        bits = {"srbits": rng.integers(0, 1 << random_bits, x.size), "srnumbits": random_bits} if random_bits else {}
        rounded = round_ndarray(info, x.astype(np.float64), modes[mode], sat=True, **bits)
        last[:] = [encode_ndarray(info, rounded)]

    yield Peer("gfloat", call, lambda: last[0].astype(fmt.code_dtype), x.size, True, stochastic=bool(random_bits))


def _cpfloat(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Peer:
    out = np.zeros_like(x)

    def codes() -> np.ndarray:
        return lp.encode(out, fmt, packed=packed)

    return Peer(
        "CPFloat", lambda: peer_cpfloat.rounded(x, out, fmt, mode), codes, 0, True, stochastic=bool(random_bits)
    )


APYTYPES_MODES = {
    "nearest_even": "TIES_EVEN", "nearest_away": "TIES_AWAY", "nearest_zero": "TIES_ZERO", "toward_zero": "TO_ZERO",
    "away_from_zero": "TO_AWAY", "toward_positive": "TO_POS", "toward_negative": "TO_NEG", "to_odd": "JAM_UNBIASED",
    "stochastic": "STOCH_WEIGHTED",
}  # fmt: skip


def _apytypes(x: np.ndarray, fmt: lp.Format, mode: str) -> Iterator[Peer]:
    import apytypes

    if fmt.nan is not NaNRule.IEEE or mode not in APYTYPES_MODES:
        return
    some, last = x[:SLOW], []
    single = apytypes.APyFloatArray.from_bits(some.view(np.uint32), 8, 23)
    quantization = getattr(apytypes.QuantizationMode, APYTYPES_MODES[mode])

    def call() -> None:
        last[:] = [single.cast(fmt.exponent_bits, fmt.mantissa_bits, quantization=quantization)]

    def codes() -> np.ndarray:
        return np.asarray(last[0].to_bits(numpy=True)).astype(fmt.code_dtype)

    yield Peer("APyTypes", call, codes, some.size, stochastic=mode == "stochastic")


def _pychop(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int) -> Iterator[Peer]:
    from pychop import p3109

    mode = "stochastic_b" if random_bits else mode
    if not fmt.name.startswith("binary") or mode in ("nearest_zero", "away_from_zero"):
        return
    peer = p3109.P3109Format(fmt.bits, fmt.mantissa_bits + 1, fmt.signed, "extended" if fmt.has_inf else "finite")
    rng, last = np.random.default_rng(0), []

    def call() -> None:
        bits = rng.integers(0, 1 << random_bits, x.size) if random_bits else None
        last[:] = [p3109.p3109_encode(x, peer, rounding=mode, saturate="finite", srbits=bits, srnumbits=random_bits)]

    yield Peer("pychop", call, lambda: last[0], x.size, True, stochastic=bool(random_bits))
