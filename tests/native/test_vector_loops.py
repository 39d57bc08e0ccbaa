"""The loops of vectors against those of the base tier: single casts, roundings, packing."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.bits import packed_bytes
from support.custom_formats import CUSTOM_FORMATS

import lowprec as lp
from lowprec import _kernels
from lowprec.reference.exact_cast import encode
from lowprec.spec.formats import FORMATS, Format

NARROW = [fmt for fmt in (*FORMATS.values(), *CUSTOM_FORMATS) if fmt.is_float and fmt.bits <= 8]
WIDE = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
SCALED = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
LENGTHS = [*range(130), 255, 256, 257, 319, 320, 1023, 1024, 1025, 1100]


def lengths_of(fmt: Format) -> list[int]:
    """Return a sixth of the lengths, another one for each of the narrow formats: a loop has several of them."""
    return LENGTHS[NARROW.index(fmt) % 6 :: 6] if fmt in NARROW else LENGTHS


def in_every_tier(convert: Any, *arguments: Any, **options: Any) -> list[np.ndarray]:
    """Return the codes that a conversion has in the base tier, then in each."""
    found = []
    for isa in ("base", *_kernels.available_isas()):
        _kernels.use_isa(isa)
        result = convert(*arguments, **options)
        found.append(result.view(f"u{result.itemsize}"))
    return found


def same(found: list[np.ndarray], what: str) -> None:
    for result in found[1:]:
        np.testing.assert_array_equal(result, found[0], what)


@pytest.mark.parametrize("fmt", NARROW, ids=lambda fmt: fmt.name)
def test_every_code_and_lengths_of_narrow_floats(fmt: Format) -> None:
    rng = np.random.default_rng(fmt.bits)
    codes = np.concatenate([np.arange(256), rng.permutation(256), rng.permutation(1200) % 256]).astype(np.uint8)
    codes &= fmt.code_mask
    for name, dtype in WIDE.items():
        same(in_every_tier(lp.decode, codes, fmt, to=name), name)
        with np.errstate(all="ignore"):
            every = np.arange(1 << 16, dtype=np.uint16)
            wide = every.view(dtype) if np.dtype(dtype).itemsize == 2 else near_codes(fmt)
        same(in_every_tier(lp.encode, wide, fmt), name)
        for n in lengths_of(fmt):
            same(in_every_tier(lp.decode, codes[n % 7 : n % 7 + n], fmt, to=name), f"{name}, {n} codes")
            same(in_every_tier(lp.encode, wide[n % 5 : n % 5 + n], fmt), f"{name}, {n} values")


@pytest.mark.parametrize("fmt", [fmt for fmt in NARROW if fmt.bits == 8], ids=lambda fmt: fmt.name)
def test_enough_elements_for_tables(fmt: Format) -> None:
    """Every code and every bfloat16, more of them than fill groups, by scales of all kinds."""
    codes = np.resize(np.arange(256, dtype=np.uint8), 8192 + 77) & np.uint8(fmt.code_mask)
    every = np.resize(np.arange(1 << 16, dtype=np.uint16), (1 << 16) + 8192 + 77).view(ml_dtypes.bfloat16)
    for other in (fmt for fmt in NARROW if fmt.bits == 8):
        with np.errstate(all="ignore"):
            same(in_every_tier(lp.cast, codes, other, source=fmt), other.name)
    for wide in WIDE:
        same(in_every_tier(lp.decode, codes, fmt, to=wide), wide)
        if fmt.name not in SCALED or wide == "float32":
            continue
        for scale in (1, 0.0137, -2.5, 3e30, 1e-40, np.inf, np.nan, 0):
            options = {"source": fmt, "output_dtype": wide}
            with np.errstate(all="ignore"):
                found = in_every_tier(lp.dequantize_linear, codes, np.float32(scale), **options)
            same(found, f"{wide}, {scale}")
    if fmt.name in SCALED:
        for scale in (1, 0.0137, np.nextafter(np.float32(2), 0), 448, 2.0**-50, 2.0**50, 2.0**-100):
            for precision, saturate in itertools.product(("float32", "bfloat16"), (True, False)):
                options = {"output_dtype": fmt, "precision": precision, "saturate": saturate}
                with np.errstate(all="ignore"):
                    found = in_every_tier(lp.quantize_linear, every, np.float32(scale), **options)
                same(found, f"{precision}, {saturate}, {scale}")


def test_tables_are_those_of_their_call() -> None:
    """A thread keeps a table: another format, scale or zero point needs another one, and so does a call in between."""
    codes = np.resize(np.arange(256, dtype=np.uint8), 1 << 14)
    scales = [np.float32(scale) for scale in (0.5, 3, 0.5, -2)]
    zeros: list[Any] = [None, np.uint8(7), np.uint8(0), np.uint8(255), None]
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (lp.dequantize_linear, (codes, scale, zero), {"output_dtype": wide})
        for scale, zero, wide in itertools.product(scales, zeros, ("bfloat16", "float16"))
    ]
    every = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    calls += [
        (lp.quantize_linear, (every, scale), {"output_dtype": name})
        for name, scale in itertools.product(("float8_e4m3fn", "float8_e5m2"), scales)
    ]
    for name in SCALED:
        calls += [(lp.decode, (codes, name), {"to": "float32"}), (lp.cast, (codes, "float8_e5m2"), {"source": name})]
    with np.errstate(all="ignore"):
        for call, arguments, options in calls + calls[::-1]:
            same(in_every_tier(call, *arguments, **options), f"{arguments[1:]}, {options}")


def near_codes(fmt: Format) -> np.ndarray:
    """Return float32 values at the codes and at the ties of a format, those next to them, and what is far."""
    values = np.array([fmt.magnitude(code) for code in range(fmt.max_code + 3)])
    return with_neighbours(np.concatenate([values, (values[1:] + values[:-1]) / 2]).astype(np.float32))


def with_neighbours(values: np.ndarray) -> np.ndarray:
    """Return values, those next to them in their own precision, and what is far; negative ones too."""
    far = np.array([0, np.inf, np.nan, 1e-45, 1e38, 1e-38, 2.0**30, 2.0**31, 2.0**32 + 256], values.dtype)
    near = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -1), far])
    return np.concatenate([near, -near])


@pytest.mark.parametrize("fmt", [*NARROW, FORMATS["float16"]], ids=lambda fmt: fmt.name)
def test_from_float64(fmt: Format) -> None:
    """What float64 has beyond float32 decides at a tie."""
    codes = np.arange(fmt.max_code + 3) if fmt.bits <= 8 else np.arange(0, fmt.max_code, 17)
    values = np.array([fmt.magnitude(code) for code in codes.tolist()], np.float64)
    x = with_neighbours(np.concatenate([values, (values[1:] + values[:-1]) / 2]))
    same(in_every_tier(lp.encode, x, fmt), "every value")
    for n in lengths_of(fmt):
        same(in_every_tier(lp.encode, x[n % 5 : n % 5 + n], fmt), f"{n} values")


@pytest.mark.parametrize("target", ["int8", "uint8", "int4", "uint4", "int64", "uint64"])
def test_integer_parts_of_float32(target: str) -> None:
    rng = np.random.default_rng(8)
    powers = np.exp2(np.arange(-3, 34, dtype=np.float32))
    whole = np.arange(0, 300, dtype=np.float32)
    x = with_neighbours(np.concatenate([powers, powers * np.float32(1.5) + 129, whole, whole + np.float32(0.5)]))
    x = np.concatenate([x, rng.uniform(-1e10, 1e10, 1000).astype(np.float32)])
    same(in_every_tier(lp.cast, x, target), "every value")
    for n in LENGTHS:
        same(in_every_tier(lp.cast, x[n % 5 : n % 5 + n], target), f"{n} values")


@pytest.mark.parametrize("source", ["int64", "uint64"])
def test_float32_of_64_bits(source: str) -> None:
    """Values of 32 bits, which become floats as such, with some that are wider after every number of them."""
    near = np.arange(-3, 4, dtype=np.int64)
    edges = [(np.int64(1) << power) + near for power in (24, 25, 30, 31, 32, 33, 52, 53, 62)]
    whole = np.concatenate([*edges, near, np.random.default_rng(4).integers(-(1 << 31), 1 << 31, 1200)])
    x = np.concatenate([whole, -whole]).astype(source)
    expected = [encode(number, FORMATS["float32"]) for number in x.tolist()]
    for result in in_every_tier(lp.cast, x, "float32"):
        np.testing.assert_array_equal(result, np.array(expected, np.uint32))
    narrow = (np.arange(1100) * 1951).astype(source)
    for n in LENGTHS:
        some = narrow[:n].copy()
        some[n // 2 :][:1] += np.array(1 << 40, source) * (n % 3)
        same(in_every_tier(lp.cast, some, "float32"), f"{n} values")


@pytest.mark.parametrize("pair", list(itertools.permutations(WIDE, 2)), ids=" to ".join)
def test_between_wide_floats(pair: tuple[str, str]) -> None:
    source = WIDE[pair[0]]
    every = np.arange(1 << 16, dtype=np.uint16)
    if source is np.float32:
        upper = every.astype(np.uint32) << 16
        lower = (0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xF000, 0xFFFF)
        x = np.concatenate([upper | low for low in lower]).view(source)
    else:
        x = every.view(source)
    same(in_every_tier(lp.cast, x, pair[1]), "every code")
    for n in LENGTHS:
        same(in_every_tier(lp.cast, x[n * 7 :][:n], pair[1]), f"{n} elements")


@pytest.mark.parametrize("mode", ["nearest_even", "toward_positive", "to_odd", "stochastic_b", "stochastic_c"])
@pytest.mark.parametrize("target", ["float8_e4m3fnuz", "binary8p7sf", "float4_e2m1fn", "bfloat16", "float16"])
def test_every_length_of_roundings(target: str, mode: str) -> None:
    """Rounded in words, in integers, and again as a whole where a group has what is rare; slots of every width."""
    fmt = lp.as_format(target)
    random_bits = (7, 16, 20, 31, 32) if mode.startswith("stochastic") else (16,)
    usual = np.resize(np.concatenate([near_codes(fmt)[::7] if fmt.bits <= 8 else NEAR_1, NEAR_1]), 1300)
    usual = usual[np.isfinite(usual) & (np.abs(usual) < 6)]
    for name, dtype in WIDE.items():
        x = usual.astype(dtype)
        rare = x.copy()
        rare[:: 5 * 64] = np.array(np.nan, np.float32).astype(dtype)
        for bits in random_bits:
            options = {"rounding": mode, "packed": fmt.bits == 4}
            options |= {"seed": 5, "offset": 3, "random_bits": bits} if mode.startswith("stochastic") else {}
            same(in_every_tier(lp.encode, rare, fmt, **options), f"{name}, {bits} bits, with NaN")
            for n in LENGTHS[:: 1 if bits == 16 else 9]:
                same(in_every_tier(lp.encode, x[n % 7 :][:n], fmt, **options), f"{name}, {bits} bits, {n} values")


NEAR_1 = np.ldexp(np.random.default_rng(1).uniform(1, 2, 600), np.arange(600) % 40 - 38).astype(np.float32)
NEAR_1[::2] *= -1


@pytest.mark.parametrize("target", ["uint2", "uint4", "float6_e3m2fn"])
def test_every_length_of_packed_codes(target: str) -> None:
    fmt = FORMATS[target]
    codes = (np.random.default_rng(2).permutation(1200) % (1 << fmt.bits)).astype(np.uint8)
    for n in LENGTHS:
        some = codes[n % 7 :][:n]
        packed = in_every_tier(lp.pack, some, fmt)
        assert packed[0].tobytes() == packed_bytes(some, fmt.bits).tobytes()
        same(packed, f"{n} codes")
        for found in in_every_tier(lp.unpack, packed[0], fmt, n):
            np.testing.assert_array_equal(found & fmt.code_mask, some, f"{n} codes")
