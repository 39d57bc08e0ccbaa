"""The array oracles of Cast, of the rounding rules, of QuantizeLinear and DequantizeLinear against the exact ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.custom_formats import BY_NAME, float_format, p3109
from support.quantize_cases import (
    PRECISIONS,
    Types,
    draw_codes,
    draw_scale,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    generator,
    type_table,
)

from lowprec import reference
from lowprec.conformance import cast_inputs
from lowprec.reference import exact_quantize, whole_arrays
from lowprec.reference.exact_cast import decide_rounded, encode, encode_rounded
from lowprec.reference.values import Value, finite_count, magnitude_of
from lowprec.reference.whole_arrays import (
    broadcast,
    decoded,
    quotient,
    rounded,
    rounded_from_float64,
    rounded_from_integers,
)
from lowprec.spec.formats import FORMATS, NUMERIC, Format, Kind, NaNRule
from lowprec.spec.operator_versions import first_opset
from lowprec.spec.rounding_modes import OVERFLOWS, ROUNDINGS, Rounding

SMALL = [fmt for fmt in NUMERIC if fmt.kind is Kind.FLOAT and fmt.bits <= 16]


def cases():
    """Yield every target with both opsets and all options that it knows there."""
    for fmt in NUMERIC:
        for opset in (23, 28):
            for round_mode in ("up", "down", "nearest", None) if fmt.name == "float8_e8m0fnu" else (None,):
                for saturate in (True, False):
                    if first_opset(fmt) <= opset:
                        options = {"saturate": saturate, "round_mode": round_mode, "opset": opset}
                        yield pytest.param(fmt, options, id=f"{fmt.name}-{opset}-{round_mode}-{saturate}")


def sample(x, count, seed):
    return x[np.random.default_rng(seed).integers(0, len(x), count)]


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("fmt", "options"), list(cases()))
def test_oracle_agrees_with_reference(fmt, options):
    seed = 1 + options["opset"]
    with np.errstate(invalid="ignore"):
        narrow = sample(cast_inputs.sweep_float32(fmt, count=100_000), 1200, seed).astype(np.float64)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1), 2.0**127, -(2.0**-127)])
    near = cast_inputs.landmarks(fmt)
    near = np.concatenate([sample(near, 200, seed), near[-3:], np.nextafter(near[-3:], np.inf)])
    x = np.concatenate([special, near, -near, narrow, sample(cast_inputs.sweep_float64(fmt, count=1000), 1200, seed)])
    found = whole_arrays.expected_from_float64(x, fmt, **options)
    assert found.tolist() == [encode(value, fmt, **options) for value in x.tolist()]
    for sweep in (cast_inputs.sweep_int64, cast_inputs.sweep_uint64):
        n = sample(sweep(fmt, count=1000), 600, seed)
        n = np.concatenate([n, np.array([0, 1, np.iinfo(n.dtype).max, np.iinfo(n.dtype).min], n.dtype)])
        found = whole_arrays.expected_from_integers(n, fmt, **options)
        assert found.tolist() == [encode(value, fmt, **options) for value in n.tolist()]


def holds(x, wanted):
    """Say whether a sorted x has every wanted element (np.isin hashes, and powers of two collide)."""
    wanted = np.asarray(wanted, x.dtype)
    return bool((x[np.minimum(np.searchsorted(x, wanted), len(x) - 1)] == wanted).all())


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_sweeps_hold_what_they_promise(fmt):
    x = cast_inputs.sweep_float32(fmt)
    assert x.dtype == np.float32
    assert len(x) >= 2_000_000
    codes = np.sort(x.view(np.uint32))
    for special in (0x0, 0x1, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x7F7FFFFF, 0x00800000, 0x007FFFFF):
        assert holds(codes, [special, special | 1 << 31])
    y = cast_inputs.sweep_float64(fmt)
    assert y.dtype == np.float64
    assert len(y) >= 300_000
    again = cast_inputs.sweep_float64(fmt)
    assert np.array_equal(again.view(np.uint64), y.view(np.uint64))
    if fmt in SMALL:
        marks = whole_arrays.table(fmt).midpoints.astype(np.float32)
        for neighbour in (marks, np.nextafter(marks, np.float32(np.inf)), -np.nextafter(marks, np.float32(0))):
            assert holds(codes, neighbour.view(np.uint32))
        witnesses = whole_arrays.table(fmt).midpoints * (1 + 2.0**-40)
        assert holds(np.sort(y.view(np.uint64)), witnesses.view(np.uint64))
    n, m = cast_inputs.sweep_int64(fmt), cast_inputs.sweep_uint64(fmt)
    assert (n.dtype, m.dtype) == (np.int64, np.uint64)
    assert holds(np.sort(n), [-(2**63), 2**63 - 1, 2**40 + 2**16 + 1, -(2**24) - 1])
    assert holds(np.sort(m), [2**64 - 1, 2**63 + 2**39 + 1, 0, 2**63])


QUANTIZE = type_table("QuantizeLinear", 28)
DEQUANTIZE = type_table("DequantizeLinear", 28)


def _name(types: Types) -> str:
    return f"{types.x.name}-{types.scale.name}-{types.y.name}"


def _exact(code: int, fmt: Format) -> reference.Value:
    return reference.decode(int(code), fmt)


def _unsigned(array: np.ndarray, fmt: Format) -> list[int]:
    return (array.view(fmt.code_dtype).astype(np.uint64) & np.uint64(fmt.code_mask)).tolist()


@pytest.mark.one_in(7)
@pytest.mark.parametrize("y", sorted({t.y.name for t in QUANTIZE}))
def test_quantized(y: str) -> None:
    for types in QUANTIZE:
        if types.y.name != y:
            continue
        rng = generator("quantize", *types)
        scale = draw_scale(rng, types.scale, (30,), odd=0.3)
        with np.errstate(invalid="ignore"):
            factor = decoded(scale.view(types.scale.code_dtype), types.scale)
        x = draw_x(rng, types.x, factor, types.y)
        zero_point = draw_zero_point(rng, types.y, (30,)) if rng.random() < 0.7 else None
        precision = PRECISIONS[rng.integers(4)] if rng.random() < 0.4 else None
        options = {
            "axis": 0, "precision": precision, "saturate": bool(rng.integers(2)), "opset": int(rng.choice([23, 28])),
        }  # fmt: skip
        if types.y.since > 23:
            options["opset"] = 28
        found = expect_quantized(x, scale, zero_point, types, options)
        offsets = [None] * 30 if zero_point is None else _unsigned(zero_point, types.y)
        for i, (a, s, z) in enumerate(zip(_unsigned(x, types.x), _unsigned(scale, types.scale), offsets, strict=True)):
            wanted = exact_quantize.quantize(
                _exact(a, types.x), _exact(s, types.scale), None if z is None else _exact(z, types.y), types.y,
                precision=precision or exact_quantize.precision_of(types.scale), saturate=options["saturate"],
                opset=options["opset"],
            )  # fmt: skip
            assert found[i] == wanted, (_name(types), options, x[i], scale[i], z)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("x", sorted({t.x.name for t in DEQUANTIZE}))
def test_dequantized(x: str) -> None:
    for types in DEQUANTIZE:
        if types.x.name != x:
            continue
        for output in PRECISIONS[:3]:
            rng = generator("dequantize", *types, output)
            scale = draw_scale(rng, types.scale, (40,), odd=0.3)
            codes = draw_codes(rng, types.x, (40,))
            has_offset = types.x.bits < 32 and rng.random() < 0.7
            zero_point = draw_zero_point(rng, types.x, (40,)) if has_offset else None
            found = expect_dequantized(codes, scale, zero_point, types, {"axis": 0, "output_dtype": output})
            offsets = [None] * 40 if zero_point is None else _unsigned(zero_point, types.x)
            for i, (a, s, z) in enumerate(
                zip(_unsigned(codes, types.x), _unsigned(scale, types.scale), offsets, strict=True)
            ):
                offset = None if z is None else _exact(z, types.x)
                wanted = exact_quantize.dequantize(a, types.x, _exact(s, types.scale), offset, output_dtype=output)
                assert found[i] == wanted, (_name(types), output, codes[i], scale[i], z)


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda fmt: fmt.name)
def test_quotient_is_rounded_once(precision: Format) -> None:
    # dense neighbours of ties: x = (midpoint of two values) * scale, rounded to the format, and the next values
    rng = generator("quotient", precision)
    mask = precision.code_dtype.type(precision.max_code)
    scale = decoded(rng.integers(1, precision.max_code, 3000, np.uint64).astype(precision.code_dtype), precision)
    wanted = rng.integers(1, precision.max_code, 3000, np.uint64).astype(precision.code_dtype)
    wanted[::3] >>= precision.code_dtype.type(precision.mantissa_bits)  # subnormal quotients
    low, high = (
        decoded(wanted, precision),
        decoded(np.minimum(wanted + 1, mask).astype(precision.code_dtype), precision),
    )
    with np.errstate(all="ignore"):
        x = rounded((low / 2 + high / 2) * scale, precision)
    found = quotient(x, scale, precision)
    for i in range(3000):
        if not np.isfinite(x[i]):
            continue
        exact = reference.Value.of(Fraction(float(x[i])) / Fraction(float(scale[i])))
        code = reference.encode(exact, precision)
        assert reference.decode(code, precision) == reference.Value.of(float(found[i])), (x[i], scale[i])


def test_spread() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert broadcast(table, (2, 3), 1, 2).tolist() == [[1, 1, 2], [3, 3, 4]]
    assert broadcast(table, (5, 2), -2, 3).tolist() == [[1, 2], [1, 2], [1, 2], [3, 4], [3, 4]]
    assert broadcast(table[0], (2, 3), 0, 0).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert broadcast(table[0], (2,), 1, 0).tolist() == [1, 2]
    assert broadcast(table[0], (3,), 1, 2).tolist() == [1, 1, 2]
    assert broadcast(np.array(5.0), (), 1, 0).tolist() == 5
    assert broadcast(np.array([5.0]), (2, 1), 1, 0).tolist() == [[5], [5]]


@pytest.mark.parametrize("version", [10, 13, 19, 21, 23, 24, 25, 28])
@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
def test_type_tables_are_those_of_onnx(operator: str, version: int) -> None:
    (schema,) = [
        schema
        for schema in pytest.importorskip("onnx.defs").get_all_schemas_with_history()
        if schema.name == operator and schema.since_version == version and not schema.domain
    ]
    allowed = {one.type_param_str: one.allowed_type_strs for one in schema.type_constraints}
    x, scale = (parameter.type_str for parameter in list(schema.inputs)[:2])
    y, wanted = schema.outputs[0].type_str, []
    for of_x in allowed[x]:
        for of_scale in [of_x] if scale == x else allowed.get(scale, [scale]):
            for of_y in allowed[y] if operator == "QuantizeLinear" else [of_scale]:
                wanted.append(tuple(name.removeprefix("tensor(")[:-1].upper() for name in (of_x, of_scale, of_y)))
    assert [tuple(fmt.onnx_name for fmt in types) for types in type_table(operator, version)] == wanted


POWERS = FORMATS["float8_e8m0fnu"]
TARGETS = [
    *(row for row in NUMERIC if row.is_float), p3109(8, 3, "se"), p3109(8, 3, "uf"), p3109(6, 1, "se"),
    p3109(7, 2, "ue"), float_format("u3m2", (3, 2, 3), inf=False, nan=NaNRule.NONE, signed=False),
    float_format("e5m5b-90", (5, 5, -90), inf=True, nan=NaNRule.IEEE),  # the smallest value is 2**86
    Format("e4", "E4", 1001, POWERS.kind, 4, 0, 7, False, False, NaNRule.NONE, False, None, 28, "this test"),
]  # fmt: skip
MODES = [(mode, bits) for mode in ROUNDINGS[:8] for bits in (0,)]
MODES += [(mode, bits) for mode in ROUNDINGS[9:] for bits in (1, 8, 16, 32)]
INTEGERS = [0, 1, -1, 3, -7, 2**62 + 1, -(2**63), 2**63 - 1, 2**53 + 1, 448, -465, 61440, 2**24 + 3, 2**40 + 2**16 + 1]


def hard_values(fmt: Format, seed: int) -> np.ndarray:
    """Return float64 values on codes, ties and thresholds of random numbers, one step around them, and the specials."""
    rng, count = np.random.default_rng(seed), finite_count(fmt)
    codes = {0, 1, 2, count - 2, count - 1, count, *rng.integers(0, count, 2).tolist()}
    parts = [Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(3, 2**17), Fraction(3, 32), Fraction(1, 2**9)]
    found = []
    for code in sorted(codes):
        low, high = magnitude_of(code, fmt), magnitude_of(code + 1, fmt)
        found += [low + (high - low) * part for part in parts]
    x = np.array([float(value) for value in found if value < 2**1023])
    x = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf)])
    ends = [0.0, np.inf, np.nan, 1e308, 5e-324, 1e-40]
    return np.concatenate([x, -x, ends, np.negative(ends)])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", TARGETS, **BY_NAME)
def test_arrays_are_rounded_as_single_values(fmt: Format) -> None:
    rng = np.random.default_rng(5)
    x, whole = hard_values(fmt, 6), np.array(INTEGERS, np.int64)
    for number, (mode, bits) in enumerate(MODES):
        rounding = Rounding(mode, OVERFLOWS[number % 3], "signed", bits)
        for values, convert in ((x, rounded_from_float64), (whole, rounded_from_integers)):
            random = rng.integers(0, 1 << bits, values.shape, np.uint64) if bits else None
            numbers = [None] * values.size if random is None else random.tolist()
            expected = [
                decide_rounded(Value.of(value), fmt, rounding, r)[0]
                for value, r in zip(values.tolist(), numbers, strict=True)
            ]
            assert convert(values, fmt, rounding, random).tolist() == expected, rounding


@pytest.mark.parametrize("fmt", TARGETS, **BY_NAME)
def test_the_ends_of_every_rule(fmt: Format) -> None:
    x = np.array([0.0, 1e308, 5e-324, np.inf, np.nan])
    x = np.concatenate([x, -x])
    for mode, bits in MODES[:9]:
        for overflow in OVERFLOWS:
            for nan in ("signed", "plain", "zero", "largest"):
                rounding = Rounding(mode, overflow, nan, bits)
                random = np.ones(x.shape, np.uint64) if bits else None
                expected = [encode_rounded(value, fmt, rounding, 1 if bits else None) for value in x.tolist()]
                assert rounded_from_float64(x, fmt, rounding, random).tolist() == expected
