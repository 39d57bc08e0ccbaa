"""Cast, encode, decode, bitcast and pack give the codes of NumPy in every library, for every format."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from support.array_libraries import Library, codes_of

import lowprec as lp
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.operator_versions import first_opset
from lowprec.spec.rounding_modes import ROUND_MODES

BY_NAME = {"ids": lambda fmt: fmt.name}


def groups(formats: Iterable[Format] = NUMERIC) -> list[list[Format]]:
    """Return formats in two parts, for JAX without and with its 64-bit types."""
    return [[fmt for fmt in formats if (fmt.bits == 64) is wide] for wide in (False, True)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("source", NUMERIC, **BY_NAME)
def test_cast(xp: Library, source: Format) -> None:
    codes = codes_of(source)
    for targets in groups():
        with xp.session(source, *targets):
            x = xp.hold(codes, source)
            results = xp.call(
                lambda x, t=targets: [lp.cast(x, target, source=xp.source_for(source)) for target in t], x
            )
            for target, got in zip(targets, results, strict=True):
                assert got.dtype == lp.storage_dtype(target, xp.namespace)
                assert xp.same_place(got, x)
                assert tuple(got.shape) == tuple(x.shape)
                assert np.array_equal(xp.codes(got, target), lp.encode(codes, target, source=source)), target.name


@pytest.mark.one_in(3)
@pytest.mark.parametrize("source", NUMERIC, **BY_NAME)
def test_encode_and_decode(xp: Library, source: Format) -> None:
    codes = codes_of(source)
    for targets in groups():
        with xp.session(source, *targets):
            x, bare = xp.hold(codes, source), xp.wrap(codes)
            encoded = xp.call(
                lambda x, t=targets: [lp.encode(x, target, source=xp.source_for(source)) for target in t], x
            )
            decoded = xp.call(lambda x, t=targets: [lp.decode(x, source, to=target) for target in t], bare)
            for target, found, values in zip(targets, encoded, decoded, strict=True):
                expected = lp.encode(codes, target, source=source)
                assert xp.same_place(found, x)
                assert np.array_equal(xp.unwrap(found), expected), target.name
                assert xp.same_place(values, x)
                assert np.array_equal(xp.codes(values, target), expected), target.name


@pytest.mark.parametrize("target", [fmt for fmt in NUMERIC if fmt.is_float], **BY_NAME)
def test_options(xp: Library, target: Format) -> None:
    row = lp.formats["float32"]
    codes = codes_of(row)
    modes = ROUND_MODES if not target.has_zero else (None,)
    opsets = (23, 28) if first_opset(target) <= 23 else (28,)
    options = [
        {"saturate": saturate, "round_mode": mode, "opset": opset}
        for saturate, mode, opset in itertools.product((True, False), modes, opsets)
    ]
    with xp.session(target):
        results = xp.call(lambda x: [lp.encode(x, target, **how) for how in options], xp.hold(codes, row))
        for how, got in zip(options, results, strict=True):
            assert np.array_equal(xp.unwrap(got), lp.encode(codes, target, source=row, **how)), how


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", NUMERIC, **BY_NAME)
def test_bitcast(xp: Library, source: Format) -> None:
    codes = codes_of(source)
    for target in NUMERIC:
        if target.bits != source.bits or (source.bits == 6 and xp.own(source)):
            continue
        with xp.session(source, target):
            x = xp.hold(codes, source)
            got = xp.call(lambda x, target=target: lp.bitcast(x, target, source=xp.source_for(source)), x)
            assert xp.same_place(got, x)
            wanted = codes if target.name != "bool" else codes != 0
            found = xp.codes(got, target) if target.name != "bool" else xp.unwrap(got)
            assert np.array_equal(found, wanted), target.name


@pytest.mark.one_in(5)
@pytest.mark.parametrize("like", [fmt for fmt in NUMERIC if fmt.bits != 6], **BY_NAME)
def test_cast_like(xp: Library, like: Format) -> None:
    row = lp.formats["float32"]
    expected = lp.encode(codes_of(row), like, source=row)
    with xp.session(like):
        x = xp.hold(codes_of(row), row)
        for other in (np.zeros(1, like.dtype), *([xp.hold(codes_of(like), like)] if xp.own(like) else [])):
            assert np.array_equal(xp.codes(xp.call(lambda x, o=other: lp.cast_like(x, o), x), like), expected)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits in (2, 4, 6)], **BY_NAME)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (3,), (37,), (3, 0, 2), (7, 5), (2, 3, 7)], ids=str)
def test_packing(xp: Library, fmt: Format, shape: tuple[int, ...]) -> None:
    values = np.linspace(-9, 9, int(np.prod(shape))).astype(np.float32).reshape(shape)
    expected = lp.encode(values, fmt, packed=True)
    codes = lp.encode(values, fmt)
    x = xp.wrap(values)
    packed = xp.call(lambda x: lp.encode(x, fmt, packed=True), x)
    assert xp.same_place(packed, x)
    assert xp.unwrap(packed).dtype == np.uint8
    assert np.array_equal(xp.unwrap(packed), expected)
    held = xp.wrap(expected)
    back = xp.call(lambda p: lp.decode(p, fmt, packed=True, shape=shape), held)
    assert np.array_equal(xp.unwrap(back), lp.decode(codes, fmt))
    held_codes = xp.call(lambda p: lp.unpack(p, fmt, shape), held)
    assert tuple(held_codes.shape) == shape
    assert np.array_equal(xp.codes(held_codes, fmt), codes)
    assert np.array_equal(xp.unwrap(xp.call(lambda c: lp.pack(c, fmt), xp.hold(codes, fmt))), expected)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("target", ["bfloat16", "float4_e2m1fn", "int4", "bool", "uint16"])
def test_shapes(xp: Library, target: str, shape: tuple[int, ...]) -> None:
    values = np.arange(-5, int(np.prod(shape)) - 5, dtype=np.float32).reshape(shape)
    got = xp.call(lambda x: lp.encode(x, target), xp.wrap(values))
    assert tuple(got.shape) == shape
    assert np.array_equal(xp.unwrap(got), lp.encode(values, target))


def test_out(xp: Library) -> None:
    x = xp.wrap(np.array([0.3, -7.0], np.float32))
    if xp.xp.__name__ in ("jax", "dask.array"):
        with pytest.raises(
            TypeError, match=r"`out` must be None where arrays cannot be written to; got a (JAX|Dask) array"
        ):
            xp.call(lambda x: lp.cast(x, "int8", out=x), x)
        return
    out = xp.wrap(np.zeros(2, np.uint8))
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        with pytest.raises(ValueError, match="read-only"):
            lp.encode(x, "float8_e5m2", out=out)
        return
    assert lp.encode(x, "float8_e5m2", out=out) is out
    assert np.array_equal(xp.unwrap(out), lp.encode(np.array([0.3, -7.0], np.float32), "float8_e5m2"))


def test_text_is_numpys_alone(xp: Library) -> None:
    x = xp.wrap(np.zeros(2, np.float32))
    if isinstance(x, np.ndarray):
        assert lp.cast(x, "string").tolist() == ["0.0", "0.0"]
        return
    with pytest.raises(TypeError, match=r"`x` must be a NumPy array to become text, held in str objects; got an? "):
        xp.call(lambda x: lp.cast(x, "string"), x)
