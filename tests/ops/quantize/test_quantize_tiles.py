"""Tiles: two axes with two block sizes, against the exact oracle and against a division in plain NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.optional import optional

import lowprec as lp
from lowprec import reference

dask_array: Any = optional("dask.array")
jax: Any = optional("jax")
torch: Any = optional("torch")

AXES, BLOCKS = (0, 1), (2, 4)
TILES: dict[str, Any] = {"axis": AXES, "block_size": BLOCKS}


def spread(scale: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...], blocks: tuple[int, ...]) -> np.ndarray:
    """Return a scale, or a zero point, for each element."""
    for axis, block in zip(axes, blocks, strict=True):
        scale = np.repeat(scale, block, axis=axis).take(range(shape[axis]), axis=axis)
    return scale


def sample(shape: tuple[int, ...] = (5, 6), seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, scales and zero points of tiles of 2 x 4."""
    rng = np.random.default_rng(seed)
    scale_shape = (-(-shape[0] // 2), -(-shape[1] // 4))
    scale = rng.uniform(0.01, 0.1, scale_shape).astype(np.float32)
    zero = rng.integers(-20, 20, scale_shape).astype(np.int8)
    return rng.standard_normal(shape).astype(np.float32), scale, zero


def quantized(x: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Return int8 codes of scales and zero points for each element."""
    return np.clip(np.rint(x / scale) + zero, -128, 127).astype(np.int8)


X, SCALE, ZERO = sample()
CODES = quantized(X, *(spread(one, X.shape, AXES, BLOCKS) for one in (SCALE, ZERO)))


@pytest.mark.parametrize(("to", "scale_format"), [("float8_e4m3fn", "float8_e8m0fnu"), ("int4", "float32")])
@pytest.mark.parametrize("isa", lp._kernels.available_isas())
def test_the_oracle_agrees(isa: str, to: str, scale_format: str) -> None:
    x, scale, _ = sample((7, 9))
    scale = lp.cast(scale, scale_format)
    fmt, before = lp.as_format(to), lp._kernels.isa()
    lp._kernels.use_isa(isa)
    try:
        codes = lp.quantize_linear(x, scale, output_dtype=to, **TILES)
        values = lp.dequantize_linear(codes, scale, output_dtype="float32", **TILES)
    finally:
        lp._kernels.use_isa(before)
    stored = codes.view(fmt.code_dtype) & fmt.code_mask
    for index in itertools.product(*map(range, x.shape)):
        of_element = float(scale[reference.scale_index(index, scale.shape, **TILES)])
        wanted = reference.quantize(float(x[index]), of_element, None, to, precision="float32")
        assert stored[index] == wanted, index
        back = reference.dequantize(wanted, to, of_element)
        assert values[index].view(np.uint32) == back, index


def test_tiles_of_checkpoints() -> None:
    w = np.random.default_rng(1).standard_normal((300, 200)).astype(np.float32)
    options: dict[str, Any] = {"axis": (0, 1), "block_size": (128, 128)}
    scale = lp.absmax_scale(w, "float8_e4m3fn", **options)
    assert scale.shape == (3, 2)
    codes = lp.quantize_linear(w, scale, output_dtype="float8_e4m3fn", **options)
    of_each = spread(scale, w.shape, (0, 1), (128, 128))
    assert (codes.view(np.uint8) == lp.encode(w / of_each, "float8_e4m3fn")).all()
    assert (lp.dequantize_linear(codes, scale, **options) == codes.astype(np.float32) * of_each).all()
    low, zero = lp.minmax_scale(w, "uint8", **options)
    wanted = np.clip(
        np.rint(w / spread(low, w.shape, (0, 1), (128, 128))) + spread(zero, w.shape, (0, 1), (128, 128)), 0, 255
    )
    assert (lp.quantize_linear(w, low, zero, **options) == wanted).all()


def test_layouts_packed_codes_and_out() -> None:
    for x in (np.asfortranarray(X), X.astype(">f4"), np.repeat(X, 2, axis=1)[:, ::2]):
        assert (lp.quantize_linear(x, SCALE, ZERO, **TILES) == CODES).all()
    out = np.empty_like(CODES)
    assert lp.quantize_linear(X, SCALE, ZERO, out=out, **TILES) is out
    assert (out == CODES).all()
    nibbles = lp.quantize_linear(X, SCALE, output_dtype="int4", **TILES)
    packed = lp.quantize_linear(X, SCALE, output_dtype="int4", packed=True, **TILES)
    assert (packed == lp.pack(nibbles, "int4")).all()
    back = lp.dequantize_linear(packed, SCALE, source="int4", packed=True, shape=X.shape, **TILES)
    assert (back == lp.dequantize_linear(nibbles, SCALE, **TILES)).all()
    single = lp.quantize_linear(
        X, np.full((1, 1), 0.5, np.float32), axis=(0, 1), block_size=(9, 9), output_dtype="int8"
    )
    assert (single == np.rint(X / np.float32(0.5))).all()


PUT = {
    "torch": lambda x: torch.from_numpy(x),
    "array_api_strict": strict.asarray,
    "dask": lambda x: dask_array.from_array(x, chunks=3),
    "dask, other chunks": lambda x: dask_array.from_array(x, chunks=(1, 5)),
    "jax": lambda x: jax.numpy.asarray(x),
}


@pytest.mark.parametrize("library", PUT)
def test_every_library(library: str) -> None:
    put = PUT[library]
    x, scale, zero = put(X), put(SCALE), put(ZERO)
    codes = lp.quantize_linear(x, scale, zero, **TILES)
    assert np.asarray(codes).tolist() == CODES.tolist()
    values = lp.dequantize_linear(codes, scale, zero, **TILES)
    assert np.asarray(values).tolist() == lp.dequantize_linear(CODES, SCALE, ZERO, **TILES).tolist()
    found = lp.absmax_scale(x, "int8", **TILES)
    wanted = lp.quantize_linear(X, lp.absmax_scale(X, "int8", **TILES), output_dtype="int8", **TILES)
    assert np.asarray(lp.quantize_linear(x, found, output_dtype="int8", **TILES)).tolist() == wanted.tolist()


def test_jax_traces_tiles() -> None:
    traced = jax.jit(lambda x, scale, zero: lp.quantize_linear(x, scale, zero, **TILES))
    assert np.asarray(traced(*map(jax.numpy.asarray, (X, SCALE, ZERO)))).tolist() == CODES.tolist()


def test_powers_of_two_as_scales_of_torch() -> None:
    x = torch.from_numpy(X)
    scale = lp.absmax_scale(x, "float8_e4m3fn", scale_format="float8_e8m0fnu", **TILES)
    codes = lp.quantize_linear(x, scale, output_dtype="float8_e4m3fn", **TILES)
    powers = spread(scale.float().numpy(), X.shape, AXES, BLOCKS)
    assert (codes.view(torch.uint8).numpy() == lp.encode(X / powers, "float8_e4m3fn")).all()


# ---- torch's operators


def test_operators_of_torch() -> None:
    arrays = [torch.from_numpy(one) for one in (X, SCALE, ZERO)]
    import lowprec.torch_ops  # noqa: F401

    quantize, dequantize = torch.ops.lowprec.quantize_linear.default, torch.ops.lowprec.dequantize_linear.default
    options = {"axis": [0, 1], "block_size": [2, 4]}
    torch.library.opcheck(quantize, arrays, options)
    torch.library.opcheck(dequantize, [torch.from_numpy(CODES), *arrays[1:]], options)
    assert quantize(*arrays, **options).tolist() == CODES.tolist()
    on_meta = quantize(*(one.to("meta") for one in arrays), **options)
    assert (on_meta.shape, on_meta.dtype) == (X.shape, torch.int8)
    compiled = torch.compile(lambda *args: lp.quantize_linear(*args, **TILES), backend="eager", fullgraph=True)
    assert compiled(*arrays).tolist() == CODES.tolist()
    with pytest.raises(ValueError, match=r"`scale` must have shape \(3, 2\)"):
        quantize(arrays[0].to("meta"), torch.ones(2, 2, device="meta"), **options, output_dtype="int8")


@pytest.mark.parametrize("in_dims", [(0, 0, 0), (2, 1, 0), (1, None, None)])
@pytest.mark.parametrize("axis", [(0, 1), (-1, -2)])
def test_vmap(in_dims: tuple[int | None, ...], axis: tuple[int, int]) -> None:
    rows = [sample(seed=seed) for seed in range(3)]
    options: dict[str, Any] = {"axis": axis, "block_size": (2, 4) if axis[0] == 0 else (4, 2)}
    stacked, wanted = [], []
    for operands, dim in zip(zip(*rows, strict=True), in_dims, strict=True):
        stacked.append(torch.from_numpy(operands[0] if dim is None else np.stack(operands, dim)))
    for row in rows:
        operands = [rows[0][i] if dim is None else row[i] for i, dim in enumerate(in_dims)]
        wanted.append(quantized(operands[0], *(spread(one, X.shape, AXES, BLOCKS) for one in operands[1:])))
    batched = torch.vmap(lambda *args: lp.quantize_linear(*args, **options), in_dims=in_dims)(*stacked)
    assert batched.tolist() == np.stack(wanted).tolist()
    values = torch.vmap(lambda *args: lp.dequantize_linear(*args, **options), (0, *in_dims[1:]))(batched, *stacked[1:])
    for n, row in enumerate(rows):
        scale, zero = (rows[0][i] if in_dims[i] is None else row[i] for i in (1, 2))
        assert values[n].tolist() == lp.dequantize_linear(wanted[n], scale, zero, **TILES).tolist()


# ---- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**TILES, "opset": 25}, "`opset` must be 28, the default, for tiles, which no version of .*; got 25"),
        ({"axis": (0, 1), "block_size": 4}, "`block_size` must be two integers where `axis` is two; got 4"),
        ({"axis": 1, "block_size": (2, 4)}, "`axis` must be two integers where `block_size` is two; got 1"),
        ({"axis": (0, True), "block_size": (2, 4)}, r"`axis` must be two integers .*; got \(0, True\)"),
        ({"axis": (0, 1, 2), "block_size": (2, 4)}, r"`axis` must be two integers .*; got \(0, 1, 2\)"),
        ({"axis": (0, 2), "block_size": (2, 4)}, r"`axis` must be two different axes from -2 to 1 .*; got \(0, 2\)"),
        ({"axis": (1, -1), "block_size": (2, 4)}, r"`axis` must be two different axes .*; got \(1, -1\)"),
        ({"axis": (0, 1), "block_size": (0, 4)}, r"`block_size` must be positive along both axes; got \(0, 4\)"),
        ({"axis": (0, 1), "block_size": (2, 2.0)}, r"`block_size` must be two integers .*; got \(2, 2.0\)"),
        ({"axis": (1, 0), "block_size": (2, 4)}, r"`scale` must have shape \(2, 3\) .*; got \(3, 2\)"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    lp.quantize_linear(X, SCALE, ZERO, **TILES)  # must not be found for what equals its options
    with pytest.raises(ValueError, match=message):
        lp.quantize_linear(X, SCALE, ZERO, **options)
    with pytest.raises(ValueError, match=message):
        lp.dequantize_linear(CODES, SCALE, ZERO, **options)


def test_zero_points_have_the_shape_of_scales() -> None:
    with pytest.raises(ValueError, match=r"`zero_point` must have the shape of `scale`, \(3, 2\); got \(1,\)"):
        lp.quantize_linear(X, SCALE, np.zeros(1, np.int8), **TILES)
    wanted = quantized(X, spread(SCALE, X.shape, AXES, BLOCKS), np.int8(3))
    assert (lp.quantize_linear(X, SCALE, 3, output_dtype="int8", **TILES) == wanted).all()
