"""The array oracle of QuantizeLinear and DequantizeLinear against the exact one, on inputs that reach every rule."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
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
from lowprec.reference import exact_quantize
from lowprec.reference.whole_arrays import broadcast, decoded, quotient, rounded
from lowprec.spec.formats import Format

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
                _exact(a, types.x),
                _exact(s, types.scale),
                None if z is None else _exact(z, types.y),
                types.y,
                precision=precision or exact_quantize.precision_of(types.scale),
                saturate=options["saturate"],
                opset=options["opset"],
            )
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
