"""Random bits belong to elements: the same bytes for any layout, byte order, chunk, thread or piece."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.compare import each_tier

import lowprec as lp
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.reference.philox import random_words
from lowprec.reference.whole_arrays import expected_rounded
from lowprec.spec.operator_versions import cast_rules
from lowprec.spec.rounding_modes import RoundingName, RoundingOptions, check_rounding

SEED = 0xFEDC_BA98_7654_3210
# Philox4x32-10 of Random123, tests/kat_vectors: the words of counter 0, key 0.
WORDS_OF_SEED_0 = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def encode(x: np.ndarray, target: str, bits: int, **options: Any) -> np.ndarray:
    codes: np.ndarray = lp.encode(x, target, rounding="stochastic", seed=SEED, random_bits=bits, **options)
    return codes


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return (np.random.default_rng(0).standard_normal((37, 53, 7)) * 3).astype(np.float32)


def test_known_answers() -> None:
    for _ in each_tier():
        assert lp.stochastic_bits(0, 4, 32).tolist() == WORDS_OF_SEED_0
        halves = [half for word in WORDS_OF_SEED_0 for half in (word & 0xFFFF, word >> 16)]
        assert lp.stochastic_bits(0, (2, 4)).tolist() == [halves[:4], halves[4:]]
        assert lp.stochastic_bits(0, 8, 11).tolist() == [half >> 5 for half in halves]
        data = b"".join(word.to_bytes(4, "little") for word in WORDS_OF_SEED_0)
        assert lp.stochastic_bits(0, 16, 8).tobytes() == data


def test_stochastic_bits_of_a_piece() -> None:
    for bits in (5, 8, 16, 23):
        whole = lp.stochastic_bits(SEED, 1000, bits)
        assert whole.dtype == (np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32)
        assert int(whole.max()) < 2**bits
        for first in (1, 7, 15, 128, 255, 999):
            np.testing.assert_array_equal(lp.stochastic_bits(SEED, 1000 - first, bits, first), whole[first:])
        np.testing.assert_array_equal(whole, random_words(SEED, 0, 1000, bits))
    assert lp.stochastic_bits(1, (0, 3)).shape == (0, 3)
    assert lp.stochastic_bits(1, ()).shape == ()
    last = lp.stochastic_bits(2**64 - 1, 3, offset=2**63 - 1)
    assert last.shape == (3,)


@pytest.mark.parametrize("bits", [3, 8, 16, 20, 32])
@pytest.mark.parametrize("target", ["float8_e4m3fn", "bfloat16", "float4_e2m1fn", "float32", "float8_e8m0fnu"])
@pytest.mark.parametrize("source", ["float32", "float64", "int64", "float16"])
def test_layouts(x: np.ndarray, source: str, target: str, bits: int) -> None:
    y = (x * 2.0**40).astype(source) if source == "int64" else x.astype(source)
    rounding = check_rounding(RoundingOptions("stochastic", None, None, bits), lp.as_format(target), "to")
    expected = expected_rounded(y.view(f"u{y.itemsize}"), source, target, rounding, SEED)
    for isa in each_tier():
        np.testing.assert_array_equal(encode(y, target, bits), expected, isa)
    unaligned = np.frombuffer(b"\0" + y.tobytes(), np.uint8)[1:].view(y.dtype).reshape(y.shape)
    for name, view in {
        "Fortran order": np.asfortranarray(y), "axes exchanged": y.transpose(2, 0, 1).copy().transpose(1, 2, 0),
        "negative steps": y[::-1, :, ::-1].copy()[::-1, :, ::-1], "steps": np.repeat(y, 2, 2)[..., ::2],
        "byte order": y.astype(y.dtype.newbyteorder()), "unaligned": unaligned,
    }.items():  # fmt: skip
        np.testing.assert_array_equal(encode(view, target, bits), expected, name)
    first = np.broadcast_to(y[:1], y.shape)
    np.testing.assert_array_equal(encode(first, target, bits), encode(first.copy(), target, bits))
    out = np.empty(y.shape, expected.dtype, order="F")
    encode(y, target, bits, out=out)
    np.testing.assert_array_equal(out, expected)
    flat, places = y.reshape(-1), [0, 1, 13, 999, 1024, 5000, y.size]
    pieces = [encode(flat[i:j], target, bits, offset=i) for i, j in itertools.pairwise(places)]
    np.testing.assert_array_equal(np.concatenate(pieces), expected.reshape(-1))
    if target == "float4_e2m1fn":
        for view in (y, np.asfortranarray(y), flat[:-1]):
            packed = encode(view, target, bits, packed=True)
            np.testing.assert_array_equal(packed, lp.pack(encode(view, target, bits), target))


@pytest.mark.parametrize(("source", "target", "mode", "bits", "loops"), [
    ("float32", "float8_e4m3fn", "stochastic", 18, "stochastic32_to8"),
    ("float32", "float8_e4m3fn", "stochastic", 19, "stochastic_fine32_to8"),
    ("float32", "float8_e4m3fn", "stochastic", 32, "stochastic_fine32_to8"),
    ("float32", "float8_e4m3fn", "stochastic_c", 31, "stochastic_fine32_to8"),
    ("float32", "float8_e4m3fn", "stochastic_c", 32, "float32_to_float64.stochastic64_to8"),
    ("bfloat16", "float16", "stochastic", 16, "decode_upper16.stochastic_fine32_to16"),
    ("float32", "bfloat16", "stochastic", 32, "stochastic32_to16"),
    ("float64", "float8_e5m2", "stochastic", 16, "float64_to_float32_odd.stochastic32_to8"),
    ("float64", "float8_e5m2", "stochastic", 20, "stochastic64_to8"),
    ("float64", "bfloat16", "stochastic", 8, "stochastic64_to16"),
])  # fmt: skip
def test_float64_is_for_what_32_bits_cannot_hold(
    source: str, target: str, mode: RoundingName, bits: int, loops: str
) -> None:
    ends = lp.as_format(source), lp.as_format(target)
    plan = make_plan(*ends, cast_rules(*ends, options=RoundingOptions(mode, None, None, bits)))
    assert ".".join(make_program(plan).names) == loops


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_threads_and_chunks(bits: int) -> None:
    x = np.random.default_rng(1).standard_normal(700_001).astype(np.float32)
    for target in ("float8_e4m3fn", "float4_e2m1fn"):
        lp.set_num_threads(1)
        expected = encode(x, target, bits, offset=3)
        for threads in (2, 3, 7):
            lp.set_num_threads(threads)
            np.testing.assert_array_equal(encode(x, target, bits, offset=3), expected)
            np.testing.assert_array_equal(encode(x[::-1].copy()[::-1], target, bits, offset=3), expected)
