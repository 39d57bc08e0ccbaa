"""Scaled conversions: the codes are those of `lp.quantize_linear`, scales and their rules are computed by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.bits import bits_of
from support.checkpoint_files import Array, bytes_in, convert_fails, parse, save, stored_bytes, values
from support.command_line import fail, run
from support.exact_scales import finite, grouped, scale_code

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.chunks import split_chunks
from lowprec.checkpoints.recipes import find_recipe
from lowprec.checkpoints.schemes.scale_grid import SCALE_FORMATS
from lowprec.spec.formats import BFLOAT16, Format

X: dict[str, Array] = {
    "w": values((6, 70), 1), "h": values((2, 3, 33), 2, np.float16), "b": values((4, 40), 3, ml_dtypes.bfloat16),
    "d": values((7, 8), 4, np.float64), "f8": values((6, 32), 5, ml_dtypes.float8_e5m2),
    "zeros": np.zeros((2, 3), np.float32), "lost": np.array([[np.nan, np.inf], [-np.inf, 3.0]], np.float32),
    "tiny": np.array([[1e-45, 0], [3e-39, -1e-38]], np.float32), "none": np.zeros((0, 5), np.float32),
    "line": values((37,), 6),
}  # fmt: skip


def scales_of(x: Array, scale: str, to: Format, fmt: Format) -> Array:
    """Return the codes of the scales of an array, from the largest magnitudes in fractions."""
    kind, _, number = scale.partition(":")
    axis = {"tensor": None, "block": x.ndim - 1}[kind] if kind != "axis" else int(number) % x.ndim
    size = int(number) if kind == "block" else 0
    shape = () if axis is None else (*x.shape[:-1], -(-x.shape[-1] // size)) if size else x.shape[axis : axis + 1]
    largest = [Fraction(0)] * math.prod(shape)
    for value, place in zip(finite(x, lp.as_format(x.dtype)).flat, grouped(x.shape, axis, size).flat, strict=True):
        largest[place] = max(largest[place], abs(value))
    return np.array([scale_code(a, to, fmt, "floor") for a in largest], fmt.code_dtype).reshape(shape)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("fmt", SCALE_FORMATS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("scale", ["tensor", "axis:0", "axis:1", "axis:-1", "block:32", "block:5", "block:1"])
@pytest.mark.parametrize("to", ["int8", "float8_e4m3fn", "int4", "float4_e2m1fn", "float6_e2m3fn", "int2", "int16"])
def test_codes_and_scales(to: str, scale: str, fmt: Format) -> None:
    source = save(Path("x.safetensors"), X)
    report = convert(source, "y.safetensors", to=to, scale=scale, scale_format=fmt, verify=True)
    why = {one.name: one.why for one in report.tensors if one.action == "kept"}
    assert why == (
        {"line": "it has no axis 1" if scale == "axis:1" else "each element would have a scale"}
        if scale.startswith("axis") else {}
    )  # fmt: skip
    row = lp.as_format(to)
    for name, x in X.items():
        if name in why or (scale == "block:1" and x.size > 400):
            continue
        codes = scales_of(x, scale, row, fmt)
        if codes.size == 0:
            continue
        assert stored_bytes(Path("y.safetensors"), f"{name}_scale") == codes.tobytes(), name
        size = int(scale.partition(":")[2]) if scale.startswith("block") else 0
        axis = int(scale.partition(":")[2]) if scale.startswith("axis") else -1
        single = lp.cast(x, "float32") if x.itemsize in (1, 8) else x
        y = lp.quantize_linear(
            single, codes.view(fmt.dtype), axis=axis, block_size=size, output_dtype=to, precision="float32"
        )
        assert stored_bytes(Path("y.safetensors"), name) == bytes_in(lp.encode(y, to), row), name


def test_packed_sources() -> None:
    x = values((6, 32), 5)
    convert(save(Path("x.safetensors"), {"w": x}), "4.safetensors", to="float4_e2m1fn")
    convert("4.safetensors", "z.safetensors", to="int4", scale="axis:0", verify=True)
    scales = np.frombuffer(stored_bytes(Path("z.safetensors"), "w_scale"), np.float32)
    plain = lp.cast(lp.cast(x, "float4_e2m1fn"), "float32")
    y = lp.quantize_linear(plain, scales, axis=0, output_dtype="int4")
    assert stored_bytes(Path("z.safetensors"), "w") == bytes_in(lp.encode(y, "int4"), lp.as_format("int4"))


def test_blocks_of_fortran_order() -> None:
    x = np.asfortranarray(values((6, 21)))
    np.savez("x.npz", w=x, v=x.astype(">f4"))
    report = convert("x.npz", "z.npz", to="int8", scale="block:4")
    assert {one.why for one in report.tensors} == {"its rows are not contiguous"}


def test_what_would_not_fit_in_memory() -> None:
    odd = save(Path("odd.safetensors"), {"w": np.ones((3, 2_000_001), np.float32)})
    why = "'w': cannot be converted within `max_memory`"
    convert_fails(why, odd, Path("z.safetensors"), to="int4", scale="axis:0", max_memory="98M")
    convert(odd, "z.safetensors", to="int8", scale="axis:0")


def test_boxes_cover_every_shape() -> None:
    for shape in itertools.product((1, 2, 3, 8, 11), repeat=3):
        for unit, most, align in itertools.product((1, 4, 5), (8, 24, 64, 1000), (1, 8)):
            if unit > 1 and shape[2] > 1:
                continue
            at = 0
            for box in split_chunks(shape, most, unit, align):
                outer, length, inner = box.shape
                assert (box.start, box.start % align, box.first % unit) == (at, 0, 0)
                assert length % unit == 0 or box.first + length == shape[1]
                assert outer == 1 or (length, inner) == shape[1:]
                assert length == 1 or inner == shape[2]
                assert box.start // shape[2] % shape[1] == box.first
                assert (align > 1 and shape[:2] != (1, 1)) or box.size <= max(most, unit)
                at += box.size
            assert at == math.prod(shape)
    assert list(split_chunks((0, 3, 2), 8)) == []


E8M0 = "float8_e8m0fnu"


@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "even", "nearest"])
@pytest.mark.parametrize(
    ("to", "scale"), [("float4_e2m1fn", "block:32"), ("float8_e4m3fn", "axis:0"), ("int8", "tensor")]
)
def test_scale_rules(to: str, scale: str, rule: str, cut: int) -> None:
    """Exponents by hand, from the table of rules; a is the largest magnitude, M = 2**emax * m the largest value."""
    x = values((40, 64), 12)
    x[np.isnan(x) | np.isinf(x)] = 0
    target = Path("y.safetensors")
    how = {"to": to, "scale": scale, "scale_format": E8M0, "scale_rule": rule}
    report = convert(save(Path("x.safetensors"), {"w": x}), target, threads=cut, **how)
    assert report.rules == {"scale_rule": rule}
    top, emax, mantissa = {"float4_e2m1fn": (6, 2, 1), "float8_e4m3fn": (448, 8, 3), "int8": (127, 6, 6)}[to]
    groups = {"block:32": x.reshape(80, 32), "axis:0": x, "tensor": x.reshape(1, -1)}[scale]
    expected = []
    for a in np.abs(groups).max(axis=1).astype(np.float64).tolist():
        significand, exponent = np.frexp(a)  # 1/2 up to 1
        floor, f = int(exponent) - 1, float(significand) * 2
        expected.append(127 - emax + floor + {
            "floor": 0, "ceil": f > 1, "rceil": f > top / 2**emax, "nearest": f * f >= 2,
            "even": int(f * 2**mantissa + 0.5) >= 2 ** (mantissa + 1),
        }[rule])  # fmt: skip
    assert list(stored_bytes(target, "w_scale")) == expected


MX = {"mxfp4a16": 6, "mxfp8": 448, "comfy-mxfp8": 448}


@pytest.mark.parametrize("rule", ["floor", "rceil", "even"])
@pytest.mark.parametrize("recipe", MX)
def test_scale_rules_of_recipes(recipe: str, rule: str) -> None:
    """The rule stands for the tool's own, which is another one but for two: llm-compressor's for FP4 is even."""
    name = "blocks.0.proj.weight" if recipe.startswith("comfy") else "model.layers.0.mlp.up_proj.weight"
    x = np.random.default_rng(2).standard_normal((128, 128)).astype(ml_dtypes.bfloat16)
    file = save(Path("x.safetensors"), {name: x})
    report = convert(file, "y.safetensors", recipe=recipe, scale_rule=rule)
    convert(file, "own.safetensors", recipe=recipe)
    element = "float4_e2m1fn" if MX[recipe] == 6 else "float8_e4m3fn"
    expected = lp.absmax_scale(x, element, axis=1, block_size=32, scale_format=E8M0, scale_rule=rule)
    (scales,) = (one for one in report.tensors if one.scale_shape)
    assert report.rules == {"scale_rule": rule}
    stored = stored_scales(Path("y.safetensors"))
    if recipe == "comfy-mxfp8":  # in tiles of 128 x 4: the same bytes in another order
        assert sorted(stored) == sorted(bits_of(expected).tobytes())
    else:
        assert stored == bits_of(expected).tobytes()
    same = stored_scales(Path("own.safetensors")) == stored
    assert same == ((recipe, rule) in {("comfy-mxfp8", "rceil"), ("mxfp4a16", "even")})
    assert scales.sqnr_db is not None


def stored_scales(path: Path) -> bytes:
    (name,) = (name for name in parse(path)[0] if name.endswith("scale"))
    return stored_bytes(path, name)


def test_scale_rules_of_experts() -> None:
    """The tool of gpt-oss rounds scales up as rceil does; other rules give other scales, and codes by those."""
    x = np.random.default_rng(4).standard_normal((64, 64)).astype(ml_dtypes.bfloat16)
    recipe = find_recipe("gptoss-mxfp4")
    own = recipe.tool.quantize(bits_of(x), BFLOAT16, recipe.scheme)
    for rule in ("rceil", "floor"):
        scales, codes = recipe.with_scale_rule(rule).tool.quantize(bits_of(x), BFLOAT16, recipe.scheme)
        expected = lp.absmax_scale(x, "float4_e2m1fn", axis=1, block_size=32, scale_format=E8M0, scale_rule=rule)
        assert scales.tobytes() == bits_of(expected).tobytes()
        elements = lp.quantize_linear(x, expected, axis=1, block_size=32, output_dtype="float4_e2m1fn", packed=True)
        assert codes.tobytes() == elements.tobytes()
        assert (scales.tobytes() == own[0].tobytes()) == (rule == "rceil")


QUIET = ("--progress", "none")


@pytest.mark.parametrize("to", ["int8", "uint8", "int4", "int32", "uint2"])
def test_integers_need_a_scale(to: str) -> None:
    save(Path("x.safetensors"), {"w": values((4, 4)), "i": np.arange(3)})
    text = fail("convert", "x.safetensors", "y.safetensors", "--to", to, *QUIET)
    assert text.startswith("--scale must be tensor, axis:N or block:B for an integer format")
    assert text.endswith(f"got none, to {to} (--raw converts all the same)")
    fail("convert", "x.safetensors", "y.safetensors", "--to", to, "--dry-run")
    run("convert", "x.safetensors", "y.safetensors", "--to", to, "--raw", *QUIET)
    report = convert("x.safetensors", "z.safetensors", to=to, exclude="w")
    assert {one.action for one in report.tensors} == {"kept"}


@pytest.mark.parametrize("axis", [99, 3, -4])
def test_an_axis_that_no_tensor_has(axis: int) -> None:
    save(
        Path("x.safetensors"), {"w": values((4, 4)), "b": values((4,)), "c": values((2, 2, 2)), "i": np.zeros((1,) * 5)}
    )
    arguments = ("convert", "x.safetensors", "y.safetensors", "--to", "int8", "--scale", f"axis:{axis}")
    text = fail(*arguments, "--exclude", "i", *QUIET)
    assert text == f"x.safetensors: has no tensor to be converted with an axis {axis}; their ranks are 1, 2, 3"
    fail(*arguments, "--exclude", "i", "--dry-run")


def test_an_axis_that_a_tensor_has_no_use_for() -> None:
    save(Path("b.safetensors"), {"b": values((4,))})
    report = convert("b.safetensors", "c.safetensors", to="int8", scale="axis:0")
    assert [one.why for one in report.tensors] == ["each element would have a scale"]
