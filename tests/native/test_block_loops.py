"""The compiled loops of GGUF's blocks: each instruction set, any memory, any floating-point mode; what saturates."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("gguf")

import gguf
import numpy as np

from lowprec import _kernels
from lowprec.backends.ggml_blocks import decode_blocks, encode_blocks
from lowprec.loss.error_stats import PART, ErrorStats, add_blocks
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32

Array = np.ndarray[Any, Any]
NBYTES = {name: gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1] for name in ("Q8_0", "Q4_0", "MXFP4")}
READ = {name: gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1] for name in ("Q4_1", "Q5_0", "Q5_1")} | NBYTES
RANDOM = np.random.RandomState(1)


def theirs(x: Array, name: str) -> Array:
    with np.errstate(all="ignore"):
        return gguf.quants.quantize(x, gguf.GGMLQuantizationType[name]).view(np.uint8).reshape(-1, NBYTES[name])


def ours(x: Array, name: str) -> Array:
    out = np.empty(x.size // 32 * NBYTES[name], np.uint8)
    encode_blocks(name, x.view(np.uint32), FLOAT32, out)
    return out.reshape(-1, NBYTES[name])


def values(blocks: Array, name: str) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name]), np.float32)


def decoded(blocks: Array, name: str) -> Array:
    out = np.empty((len(blocks), 32), np.float32)
    decode_blocks(name, blocks, out)
    return out


def numbers() -> Array:
    """Return rows of many magnitudes: ties, the largest magnitude with both signs, powers of two and below."""
    ties = RANDOM.randint(-64, 65, (1000, 32)) * np.exp2(RANDOM.randint(-90, 90, (1000, 1)))
    normal = RANDOM.standard_normal((1000, 32)) * np.exp2(RANDOM.randint(-90, 120, (1000, 1)))
    tops = np.arange(-90, 128)[:, np.newaxis] + 127 << 23
    largest = (tops - np.arange(64)).astype(np.uint32).view(np.float32).reshape(-1, 1)
    below = largest * RANDOM.uniform(-1, 1, (len(largest), 32)).astype(np.float32)
    below[np.arange(len(below)), RANDOM.randint(0, 32, len(below))] = largest[:, 0]
    x = np.concatenate([ties.astype(np.float32), normal.astype(np.float32), below])
    return np.where(np.isfinite(x), x, np.float32(0))


X = numbers()
BLOCKS = {name: theirs(X, name) for name in NBYTES}
BYTES = {name: RANDOM.randint(0, 256, (2000, nbytes)).astype(np.uint8) for name, nbytes in READ.items()}
VALUES = {name: values(BYTES[name], name) for name in READ}


def test_the_logarithm_is_that_of_gguf_py() -> None:
    """The exponents differ where a largest number is next below a power of two: there it is rounded up."""
    bits = X.view(np.uint32) & 0x7FFFFFFF
    truncated = (bits.max(axis=1) >> 23).astype(np.int32) - 2
    found = BLOCKS["MXFP4"][:, 0].astype(np.int32)
    assert 400 < np.count_nonzero((truncated != found) & (truncated > 0)) < 8000


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", NBYTES)
def test_blocks_in_each_instruction_set(name: str) -> None:
    assert np.array_equal(ours(X, name), BLOCKS[name])


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", READ)
def test_values_in_each_instruction_set(name: str) -> None:
    """A NaN is quiet and without a payload; its sign is that of the scale."""
    found = decoded(BYTES[name], name)
    numbers = ~np.isnan(VALUES[name])
    assert np.array_equal(found.view(np.uint32)[numbers], VALUES[name].view(np.uint32)[numbers])
    assert np.all(found.view(np.uint32)[~numbers] & 0x7FFFFFFF == 0x7FC00000)
    for code in (0x7E01, 0xFE01):
        block = np.full((1, READ[name]), 0x31, np.uint8)
        block[0, :2] = code & 255, code >> 8
        if name != "MXFP4":
            assert set(decoded(block, name).view(np.uint32).reshape(-1)) == {0x7FC00000 | (code & 0x8000) << 16}


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", READ)
def test_some_blocks(name: str) -> None:
    """As many as vectors take at a time, and a rest; NaN and Inf among the scales, and among those of the rest."""
    some = np.concatenate([BYTES[name][:35], np.full((2, READ[name]), 0xFF, np.uint8)])
    wanted = values(some, name)
    for count in range(len(some)):
        for start in {0, len(some) - count}:
            found, correct = decoded(some[start : start + count], name), wanted[start : start + count]
            assert np.array_equal(found, correct, equal_nan=True)
            if name in NBYTES:
                x = X[start * 400 : (start + count) * 400 : 400]
                assert np.array_equal(ours(x.copy(), name), BLOCKS[name][start * 400 : (start + count) * 400 : 400])


def quotients(x: Array, blocks: Array, name: str) -> Array:
    with np.errstate(all="ignore"):
        if name == "MXFP4":
            return np.asarray(x.astype(np.float64) / np.exp2(blocks[:, :1].astype(np.float64) - 127))
        scales = np.ascontiguousarray(blocks[:, :2]).view(np.float16).astype(np.float32)
        return np.asarray(x / np.where(scales == 0, np.float32(1), scales))


def beyond(x: Array, blocks: Array, name: str) -> int:
    """Count what rounds beyond -8 to 7, and beyond 6, to which 7 would not."""
    ratio = quotients(x, blocks, name)
    if name == "MXFP4":
        return int(np.count_nonzero(np.abs(ratio) >= 7))
    finite = np.isfinite(ratio)
    whole = np.rint(ratio[finite])
    return int(np.count_nonzero((whole < -8) | (whole > 7)))


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", ["Q4_0", "MXFP4"])
def test_saturated_elements_next_to_the_ends(name: str) -> None:
    """The 16 numbers around each end, of every scale."""
    blocks = np.zeros((1 << 16, NBYTES[name]), np.uint8)
    blocks[:, 0], blocks[:, 1] = np.arange(1 << 16) & 255, np.arange(1 << 16) >> 8
    if name == "MXFP4":
        blocks = blocks[:253]
        ends = np.exp2(blocks[:, :1].astype(np.float64) - 127) * [7, -7]
    else:
        scales = np.ascontiguousarray(blocks[:, :2]).view(np.float16).astype(np.float64)
        ends = np.where(np.isfinite(scales), np.where(scales == 0, 1, scales), 1) * [7.5, -8.5]
    bits = np.repeat(ends.astype(np.float32), 16, axis=1).view(np.int32) + np.tile(np.arange(-8, 8, dtype=np.int32), 2)
    x = bits.astype(np.int32).view(np.float32)
    assert np.isfinite(x).all()
    stats = ErrorStats()
    with np.errstate(all="ignore"):
        add_blocks(stats, name, x.view(np.uint32), FLOAT32, blocks)
    assert stats.saturated == beyond(x, blocks, name)
    assert stats.saturated > 15 * len(blocks) - 32 * 2048 * (name == "Q4_0")


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("fmt", [FLOAT32, BFLOAT16, FLOAT16])
@pytest.mark.parametrize("name", NBYTES)
def test_statistics_of_many_elements(name: str, fmt: Any) -> None:
    """More than one call and no whole tile; of what was not the source of the blocks either."""
    x = np.random.default_rng(3).standard_normal(PART + 32 * 33).astype(np.float32).astype(fmt.dtype)
    wide = x.astype(np.float32)
    blocks = theirs(wide[::-1], name)[::-1]
    stats, wanted = ErrorStats(), ErrorStats()
    assert add_blocks(stats, name, x.view(fmt.code_dtype), fmt, blocks)
    wanted.add(wide, values(blocks, name).reshape(-1))
    for field in ("elements", "flushed", "low", "high", "max_abs_error", "max_rel_error"):
        assert getattr(stats, field) == getattr(wanted, field)
    assert stats.sqnr_db == pytest.approx(wanted.sqnr_db, rel=1e-12)
    assert stats.saturated == (0 if name == "Q8_0" else beyond(wide.reshape(-1, 32), blocks, name))


def test_an_infinite_value_is_told() -> None:
    x = np.full((2, 32), 1e9, np.float32)
    assert not add_blocks(ErrorStats(), "Q8_0", x.view(np.uint32), FLOAT32, ours(x, "Q8_0"))


@pytest.mark.parametrize("name", NBYTES)
@pytest.mark.usefixtures("odd_mode")
def test_in_any_floating_point_mode(name: str) -> None:
    """Some scales, and some values, are subnormal."""
    assert np.array_equal(ours(X, name), BLOCKS[name])
    found, numbers = decoded(BYTES[name], name).view(np.uint32), VALUES[name].view(np.uint32)
    assert np.array_equal(found[numbers & 0x7FFFFFFF <= 0x7F800000], numbers[numbers & 0x7FFFFFFF <= 0x7F800000])


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", NBYTES)
def test_memory_that_starts_anywhere(name: str) -> None:
    memory = np.zeros(X.nbytes + 1, np.uint8)
    memory[1:] = X.view(np.uint8).reshape(-1)
    shifted = memory[1:].view(np.uint32)
    out = np.zeros(BLOCKS[name].size + 1, np.uint8)
    encode_blocks(name, shifted, FLOAT32, out[1:])
    assert np.array_equal(out[1:].reshape(BLOCKS[name].shape), BLOCKS[name])
    add_blocks(stats := ErrorStats(), name, shifted, FLOAT32, out[1:])
    assert stats.elements == X.size
    back = np.zeros(X.nbytes + 1, np.uint8)
    decode_blocks(name, out[1:], back[1:].view(np.float32))
    assert np.array_equal(back[1:].view(np.uint32), decoded(BLOCKS[name], name).view(np.uint32).reshape(-1))


def test_what_does_not_fit_is_refused() -> None:
    x, blocks = np.zeros(256, np.uint8), np.zeros(68, np.uint8)
    for call, why in (
        (lambda: _kernels.encode_blocks("Q9", None, x, blocks, 64), "`kind` must be one of Q4_0, Q4_1, .*; got 'Q9'"),
        (lambda: _kernels.encode_blocks("Q8_0", None, x, blocks[1:], 64), "hold 64 elements, whole .*; got 67 bytes"),
        (lambda: _kernels.encode_blocks("Q8_0", None, x, blocks[:33], 31), "`blocks` must hold 31 elements"),
        (lambda: _kernels.encode_blocks("Q8_0", None, x[1:], blocks, 64), "`src` must hold 64 elements.*; got 255"),
        (lambda: _kernels.encode_blocks("Q4_1", None, x[:128], blocks[:20], 32), "a type that is written; got 'Q4_1'"),
        (lambda: _kernels.decode_blocks("Q8_0", blocks, x[1:], 64), "`out` must hold 64 elements; got 255 bytes"),
        (lambda: _kernels.compare_blocks("Q8_0", None, x[:0], blocks[:0], 0), r"`n` must be from 1 to 2\*\*31 - 1"),
        (lambda: decode_blocks("Q8_0", blocks, np.zeros((64, 2), np.float32)[:, 0]), "`out` must be dense"),
    ):
        with pytest.raises(ValueError, match=why):
            call()
    _kernels.encode_blocks("Q8_0", None, x[:0], blocks[:0], 0)
    _kernels.decode_blocks("Q8_0", blocks[:0], x[:0], 0)
