"""Scale rules of conversions and of recipes for OCP MX: exponents by hand."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.bits import bits_of
from support.checkpoint_files import parse, save, stored_bytes, values

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.recipes import find_recipe
from lowprec.spec.formats import BFLOAT16

E8M0 = "float8_e8m0fnu"


@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "even", "nearest"])
@pytest.mark.parametrize(
    ("to", "scale"), [("float4_e2m1fn", "block:32"), ("float8_e4m3fn", "axis:0"), ("int8", "tensor")]
)
def test_scale_rules(to: str, scale: str, rule: str, cut: int, tmp_path: Path) -> None:
    """Exponents by hand, from the table of rules; a is the largest magnitude, M = 2**emax * m the largest value."""
    x = values((40, 64), 12)
    x[np.isnan(x) | np.isinf(x)] = 0
    target = tmp_path / "y.safetensors"
    how = {"to": to, "scale": scale, "scale_format": E8M0, "scale_rule": rule}
    report = convert(save(tmp_path / "x.safetensors", {"w": x}), target, threads=cut, **how)
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
def test_scale_rules_of_recipes(recipe: str, rule: str, tmp_path: Path) -> None:
    """The rule stands for the tool's own, which is another one but for two: llm-compressor's for FP4 is even."""
    name = "blocks.0.proj.weight" if recipe.startswith("comfy") else "model.layers.0.mlp.up_proj.weight"
    x = np.random.default_rng(2).standard_normal((128, 128)).astype(ml_dtypes.bfloat16)
    file = save(tmp_path / "x.safetensors", {name: x})
    report = convert(file, tmp_path / "y.safetensors", recipe=recipe, scale_rule=rule)
    convert(file, tmp_path / "own.safetensors", recipe=recipe)
    element = "float4_e2m1fn" if MX[recipe] == 6 else "float8_e4m3fn"
    expected = lp.absmax_scale(x, element, axis=1, block_size=32, scale_format=E8M0, scale_rule=rule)
    (scales,) = (one for one in report.tensors if one.scale_shape)
    assert report.rules == {"scale_rule": rule}
    stored = stored_scales(tmp_path / "y.safetensors")
    if recipe == "comfy-mxfp8":  # in tiles of 128 x 4: the same bytes in another order
        assert sorted(stored) == sorted(bits_of(expected).tobytes())
    else:
        assert stored == bits_of(expected).tobytes()
    same = stored_scales(tmp_path / "own.safetensors") == stored
    assert same == ((recipe, rule) in {("comfy-mxfp8", "rceil"), ("mxfp4a16", "even")})
    assert scales.sqnr_db is not None


def stored_scales(path: Path) -> bytes:
    """Return the bytes of the only scales in a file."""
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
