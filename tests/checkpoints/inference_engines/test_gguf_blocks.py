"""The blocks of GGUF: values, and blocks from values, are those of gguf-py bit for bit."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

pytest.importorskip("gguf")

import gguf
import ml_dtypes
import numpy as np

from lowprec.checkpoints.containers.gguf_file import TYPES
from lowprec.checkpoints.inference_engines.gguf import scheme_of
from lowprec.checkpoints.schemes.ggml_blocks import BLOCK_TYPES, TOOL, WHOLE_TYPES
from lowprec.checkpoints.schemes.scheme import BlockType
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32

Array = np.ndarray[Any, Any]
Type: Any = gguf.GGMLQuantizationType
WRITTEN = {name: kind for name, kind in (BLOCK_TYPES | WHOLE_TYPES).items() if kind.is_written}


def decoded(blocks: Array, kind: BlockType) -> Array:
    out = np.empty((len(blocks), kind.size), np.float32)
    kind.decode(blocks, out)
    return out


def same(x: Array, y: Array) -> bool:
    """Whether numbers have the same bits; a NaN has no sign and no payload."""
    numbers = ~(np.isnan(x) & np.isnan(y))
    return np.array_equal(x.view(np.uint32)[numbers], y.view(np.uint32)[numbers])


def test_the_table_of_types() -> None:
    theirs = {int(one): (one.name, *sizes) for one, sizes in gguf.GGML_QUANT_SIZES.items()}
    assert {number: (one.name, one.size, one.nbytes) for number, one in TYPES.items()} == theirs
    for kind in (BLOCK_TYPES | WHOLE_TYPES).values():
        assert (kind.size, kind.nbytes) == gguf.GGML_QUANT_SIZES[Type[kind.name]]
    assert all(one.fmt is None or one.nbytes * 8 == one.fmt.bits for one in TYPES.values())


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_values_of_every_byte_at_every_place(name: str) -> None:
    """Scales that are NaN, Inf, -0 and subnormal, exponents 0 and 255, and all codes are among them."""
    kind = BLOCK_TYPES[name]
    random = np.random.RandomState(2).randint(0, 256, (kind.nbytes * 256, kind.nbytes)).astype(np.uint8)
    places, values = np.divmod(np.arange(len(random)), 256)
    blocks = np.where(random[:, :1] & 1, random, np.uint8(0))  # every other block is 0 elsewhere
    blocks[np.arange(len(blocks)), places] = values
    with np.errstate(all="ignore"):
        expected = np.asarray(gguf.quants.dequantize(blocks.reshape(16, -1), Type[name]))
    assert same(decoded(blocks, kind), expected.reshape(len(blocks), -1))


def rows(kind: str, n: int = 2048) -> Array:
    """Return rows of 32 numbers of a kind that is hard to quantize."""
    random = np.random.RandomState(4)
    if kind == "normal":
        return random.standard_normal((n, 32)).astype(np.float32)
    if kind == "bfloat16":
        return random.standard_t(3, (n, 32)).astype(ml_dtypes.bfloat16).astype(np.float32)
    if kind == "float16":
        return (random.standard_normal((n, 32)) / 64).astype(np.float16).astype(np.float32)
    if kind == "halves":  # ties of Q8_0 and Q4_0, and both signs of the largest magnitude
        return (random.randint(-254, 255, (n, 32)) / 2).astype(np.float32)
    if kind == "quarters":
        return (random.randint(-16, 17, (n, 32)) / 4).astype(np.float32)
    if kind == "bits":
        bits = random.randint(0, 2**32, (n, 32), np.uint64).astype(np.uint32)
        x: Array = bits.view(np.float32)
        return np.where(np.isfinite(x), x, np.float32(0))
    ties = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6, 8, 1, 0, 4], np.float32)
    x = random.choice(ties, (n, 32)) * np.exp2(random.randint(-30, 30, (n, 1))).astype(np.float32)
    x = (x.view(np.uint32) + np.where(x == 0, 0, random.randint(-1, 2, x.shape)).astype(np.uint32)).view(np.float32)
    x *= random.choice(np.array([1, -1], np.float32), x.shape)
    x[::16] = 0
    x[1::16] *= np.float32(-0.0)
    return np.asarray(x)


@pytest.mark.parametrize("kind", ["normal", "bfloat16", "float16", "halves", "quarters", "bits", "near ties"])
@pytest.mark.parametrize("name", WRITTEN)
def test_blocks_of_gguf_py(name: str, kind: str) -> None:
    """Of what is hard to round: ties, and what lies next to them; zeros of both signs; rows of zeros."""
    x = rows(kind)
    with np.errstate(all="ignore"):
        theirs = gguf.quants.quantize(x.reshape(16, -1), Type[name]).view(np.uint8).reshape(len(x), -1)
    scales, ours = TOOL.quantize(x.view(np.uint32), FLOAT32, scheme_of(WRITTEN[name]), None)
    assert scales.shape == (len(x), 0)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", WRITTEN)
def test_narrow_sources_give_the_same_blocks(name: str) -> None:
    for fmt in (BFLOAT16, FLOAT16):
        x = rows("normal").astype(fmt.dtype)
        scheme = scheme_of(WRITTEN[name])
        _, narrow = TOOL.quantize(x.view(np.uint16), fmt, scheme, None)
        _, wide = TOOL.quantize(x.astype(np.float32).view(np.uint32), FLOAT32, scheme, None)
        assert np.array_equal(narrow, wide)


@pytest.mark.parametrize("kind", (BLOCK_TYPES | WHOLE_TYPES).values(), ids=lambda kind: kind.name)
def test_schemes_travel_to_other_processes(kind: BlockType) -> None:
    assert pickle.loads(pickle.dumps(scheme_of(kind))) == scheme_of(kind)


@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "MXFP4"])
def test_tiny_numbers(name: str) -> None:
    """Where gguf-py divides by zero or wraps around, the values are 0, or what the least scale gives."""
    kind = WRITTEN[name]
    x = np.ldexp(rows("normal"), np.random.RandomState(5).randint(-149, -125, (2048, 1))).astype(np.float32)
    back = decoded(kind.encode(x.view(np.uint32), FLOAT32).reshape(-1, kind.nbytes), kind)
    least = 2.0**-129 if name == "MXFP4" else 0.0
    assert np.abs(back).max() <= 12 * 2.0**-128
    if least:
        assert np.array_equal(back[np.abs(x) <= least], np.zeros(int((np.abs(x) <= least).sum()), np.float32))
        inside = (np.abs(x).max(axis=1) < 2.0**-126) & (np.abs(x).max(axis=1) > 0)
        assert np.abs(back - x)[inside].max() <= 2.0**-128
    else:
        assert not back.any()
