"""`quantize` and `dequantize`: the bits of the older functions and of the oracle, and one object."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec.reference import decode, encode
from lowprec.spec.formats import BLOCK_FORMATS, NUMERIC, Format, as_format
from lowprec.spec.operator_versions import takes_codes

TARGETS = [fmt for fmt in NUMERIC if takes_codes(fmt)]
BY_NAME = {"ids": lambda one: getattr(one, "name", one)}
SHARING: list[dict[str, Any]] = [
    {}, {"axis": 0}, {"axis": -1}, {"axis": 1, "block_size": 3}, {"axis": 0, "block_size": 2},
    {"axis": (0, 2), "block_size": (2, 3)},
]  # fmt: skip


def sample(dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Return values of many sizes, with NaN, Inf, zeros and a subnormal number among them."""
    rng = np.random.default_rng(seed)
    x = np.ldexp(rng.normal(0, 1, (3, 5, 7)), rng.integers(-9, 9, (3, 5, 7)))
    x.reshape(-1)[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40]
    return x.astype(dtype)


def bits(array: Any) -> tuple[Any, ...]:
    """Return dtype, shape and bytes."""
    return array.dtype, array.shape, array.tobytes()


def same(found: Any, *expected: Any) -> None:
    """Assert that what a call returned unpacks to arrays with these bits."""
    assert list(map(bits, found)) == list(map(bits, expected))


# ---- against the older functions
@pytest.mark.parametrize("sharing", SHARING, ids=str)
@pytest.mark.parametrize("to", [fmt for fmt in TARGETS if fmt.signed], **BY_NAME)
def test_scales_of_largest_magnitudes(to: Format, sharing: dict[str, Any]) -> None:
    for dtype in ("float32", "float16", "bfloat16"):
        x = sample(as_format(dtype).dtype)
        for how in ({}, {"scale_format": "bfloat16"}, {"scale_format": "float8_e8m0fnu", "scale_rule": "ceil"}):
            scale = lp.absmax_scale(x, to, **sharing, **how)
            codes = lp.quantize_linear(x, scale, **sharing, output_dtype=to)
            found = lp.quantize(x, to, **sharing, **how)
            same(found, codes, scale)
            expected = lp.dequantize_linear(codes, scale, **sharing, output_dtype="float32")
            assert bits(found.dequantize()) == bits(expected)
            assert (found.zero_point, found.global_scale, found.scheme, found.format) == (None, None, "linear", to)
            if to.bits in (2, 4, 6):
                packed = lp.quantize(x, to, **sharing, **how, packed=True)
                same(packed, lp.pack(codes, to), scale)
                assert bits(lp.dequantize(packed)) == bits(expected)
                assert (packed.packed, packed.shape) == (True, x.shape)


@pytest.mark.parametrize("sharing", SHARING, ids=str)
@pytest.mark.parametrize("to", [fmt for fmt in TARGETS if fmt.is_integer], **BY_NAME)
def test_zero_points(to: Format, sharing: dict[str, Any]) -> None:
    x = sample()
    scale, zero = lp.minmax_scale(x, to, **sharing)
    codes = lp.quantize_linear(x, scale, zero, **sharing)
    found = lp.quantize(x, to, **sharing, zero_point=True, scale_format="float32")
    same(found, codes, scale, zero)
    for dtype in ("float32", "float16", "bfloat16"):
        expected = lp.dequantize_linear(codes, scale, zero, **sharing, output_dtype=dtype)
        assert bits(lp.dequantize(found, to=dtype)) == bits(expected)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("size", [None, 2, 100])
@pytest.mark.parametrize("to", [name for name in BLOCK_FORMATS if name != "nvfp4"])
def test_mx(to: str, size: int | None, axis: int | None) -> None:
    for x in (sample(), sample(np.float64), sample(np.float16)):
        how = {"axis": -1 if axis is None else axis, "block_size": 32 if size is None else size}
        element = BLOCK_FORMATS[to]
        for rule in (None, "rceil"):
            expected = lp.mx_quantize(x, element, **how, scale_rule=rule or "floor")
            found = lp.quantize(x, to, axis=axis, block_size=size, scale_rule=rule)
            same(found, *expected)
            values = lp.mx_dequantize(*expected, **how, source=element, output_dtype="float16")
            assert bits(found.dequantize("float16")) == bits(values)
    assert (found.scheme, found.format) == ("mx", element)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rule", [None, "torchao"])
def test_nvfp4(rule: str | None, packed: bool) -> None:
    for x in (sample(), sample(np.float64)):
        expected = lp.nvfp4_quantize(x, scale_rule=rule, packed=packed)
        found = lp.quantize(x, "nvfp4", scale_rule=rule, packed=packed)
        same(found, *expected)
        values = lp.nvfp4_dequantize(*expected, packed=packed, shape=x.shape if packed else None)
        assert bits(found.dequantize()) == bits(values)
        assert bits(found.global_scale) == bits(expected[2])


@pytest.mark.parametrize("to", ["float8_e4m3fn", "float6_e2m3fn", "mxfp8_e5m2", "nvfp4"])
def test_roundings(to: str) -> None:
    x, stochastic = sample(), {"rounding": "stochastic", "seed": 2**64 - 1, "random_bits": 9, "offset": 3}
    for rules in ({"rounding": "toward_zero"}, stochastic):
        found = lp.quantize(x, to, block_size=8, **rules)
        if to.startswith("float"):
            scale = lp.absmax_scale(x, to, axis=-1, block_size=8)
            codes = lp.quantize_linear(x, scale, axis=-1, block_size=8, output_dtype=to, **rules)
            same(found, codes, scale)
        elif to == "nvfp4":
            same(found, *lp.nvfp4_quantize(x, block_size=8, **rules))
        else:
            same(found, *lp.mx_quantize(x, "float8_e5m2", block_size=8, **rules))
    plain = lp.quantize(x, "float8_e5m2", overflow="ovf_inf", nan="plain")
    rules = {"overflow": "ovf_inf", "nan": "plain"}
    same(plain, lp.quantize_linear(x, plain.scale, output_dtype="float8_e5m2", **rules), plain.scale)


def test_results_go_where_out_says() -> None:
    x = sample()
    codes = np.zeros(x.shape, np.int8)
    found = lp.quantize(x, "int8", out=codes)
    assert found.codes is codes
    same(found, *lp.quantize(x, "int8"))
    blocks = tuple(map(np.zeros_like, lp.quantize(x, "mxfp4")))
    found = lp.quantize(x, "mxfp4", out=blocks)
    assert found.codes is blocks[0]
    for one in (found, lp.quantize(x, "nvfp4"), lp.quantize(x, "int4", axis=0, packed=True)):
        values = np.zeros(x.shape, np.float16)
        assert lp.dequantize(one, to="float16", out=values) is values
        assert bits(values) == bits(one.dequantize("float16"))
        with pytest.raises(ValueError, match="`out` must have shape"):
            lp.dequantize(one, out=np.zeros(3, np.float32))


# ---- against the oracle: numbers that float32 does not hold
def oracle_code(x: float, scale: float, zero: int, to: Format) -> int:
    """Return the code of a quotient in float64, rounded once."""
    with np.errstate(all="ignore"):
        quotient = float(np.float64(x) / np.float64(scale))
    if to.is_float:
        return encode(quotient, to)
    if np.isnan(quotient):
        return int(to.min)
    return int(to.max if quotient == np.inf else to.min if quotient == -np.inf else
               min(max(round(quotient) + zero, int(to.min)), int(to.max)))  # fmt: skip


@pytest.mark.parametrize("zero_point", [False, True])
@pytest.mark.parametrize("to", TARGETS, **BY_NAME)
@pytest.mark.usefixtures("odd_mode")
def test_float64(to: Format, zero_point: bool) -> None:
    if not (to.is_integer if zero_point else to.signed):
        return
    x = sample(np.float64)
    x[2, 0, :4] = [1 + 2.0**-40, 1e300, -1e300, 2.0**-1060]
    x[2, 1] = np.nextafter(0.5 * x[2, 2], np.inf)
    found = lp.quantize(x, to, axis=1, zero_point=zero_point)
    zeros = np.zeros(5) if found.zero_point is None else found.zero_point.astype(np.int64)
    codes = lp.to_numpy(found.codes).view(to.code_dtype) & to.code_mask
    for place in np.ndindex(*x.shape):
        row = place[1]
        wanted = oracle_code(x[place], float(found.scale[row]), int(zeros[row]), to) & to.code_mask
        assert int(codes[place]) == wanted, (place, x[place])


def test_a_quotient_that_float32_would_round_twice() -> None:
    x = np.array([[127.0, 0.5 + 2.0**-40, 2.5 - 2.0**-40]])
    assert lp.quantize(x, "int8").codes.tolist() == [[127, 1, 2]]
    assert lp.quantize(x.astype(np.float32), "int8").codes.tolist() == [[127, 0, 2]]
    wide = np.array([2**31 - 1, 2**30, 2**24 + 1, -(2**31)], np.int32)
    scale = lp.absmax_scale(wide, "int16")
    expected = [round(int(one) / float(scale)) for one in wide]
    assert lp.quantize(wide, "int16").codes.tolist() == expected
    assert lp.quantize(wide.astype(np.int64), "int16").codes.tolist() == expected
    assert lp.quantize(wide.astype(np.uint32), "int16").codes.shape == (4,)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int4", "float8_e5m2", "float4_e2m1fn"])
def test_narrow_arrays(dtype: str) -> None:
    x = lp.cast(np.arange(-8, 8, dtype=np.float32), dtype)
    for to in ("int8", "float8_e4m3fn"):
        same(lp.quantize(x, to, axis=0), *lp.quantize(lp.cast(x, "float32"), to, axis=0))


# ---- the object
def test_it_shows_itself() -> None:
    found = lp.quantize(sample()[0], "int4", block_size=3, packed=True)
    assert repr(found) == (
        "Quantized(to=int4, shape=(5, 7), axis=1, block_size=3, packed=True, codes=uint8 (18,), scale=float32 (5, 3))"
    )
    page = found._repr_html_()
    assert all(text in page for text in ("int4", "(5, 7)", "block_size", "float32 (5, 3)"))


@pytest.mark.parametrize("how", [{"to": "int8"}, {"to": "uint4", "zero_point": True, "axis": 0}, {"to": "nvfp4"}])
def test_copies(how: dict[str, Any]) -> None:
    found = lp.quantize(sample(), **how)
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        same(copied, *found)
        assert repr(copied) == repr(found)
        assert bits(copied.dequantize()) == bits(found.dequantize())
    first, second, *third = found
    assert first is found.codes
    assert second is found.scale
    assert len(third) == (how != {"to": "int8"})


def test_a_format_of_ones_own() -> None:
    fmt = lp.float_format("e3m4_of_mine", exponent_bits=3, mantissa_bits=4, inf=False, nan="none")
    x = np.linspace(-3, 3, 13, dtype=np.float32)
    found = lp.quantize(x, fmt)
    same(found, lp.quantize_linear(x, lp.absmax_scale(x, fmt), output_dtype=fmt), lp.absmax_scale(x, fmt))
    values = [float(decode(int(code), fmt).number) * float(found.scale) for code in found.codes.view(np.uint8)]
    assert found.dequantize().tolist() == pytest.approx(values, rel=1e-7)
    assert found.format == fmt


def test_every_target_is_one_that_quantize_linear_takes() -> None:
    for fmt in NUMERIC:
        if takes_codes(fmt):
            lp.quantize_linear(np.ones(2, np.float32), 1.0, output_dtype=fmt)
        else:
            with pytest.raises(ValueError, match="`to` must be an integer of 2 to 16 bits"):
                lp.quantize(np.ones(2, np.float32), fmt)
