"""Conversions by the rules beyond ONNX: every tensor has the bytes of `lp.encode`; arguments, reports.

That stands for any chunks, threads, workers, orders of axes and packings, and for scales as `lp.quantize_linear` takes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.bits import bits_of
from support.checkpoint_files import Array, bytes_in, save, stored_bytes, values
from support.command_line import fail, run
from support.typed_tensors import converted, nibbles, random_codes, random_scales, read_tensors, write_tensors

import lowprec as lp
from lowprec import reference
from lowprec.checkpoints import convert
from lowprec.spec.formats import FLOAT8_E4M3FN, Format
from lowprec.spec.rounding_modes import ROUNDINGS, Rounding

SEED = 0x0123_4567_89AB_CDEF
RULES: dict[str, dict[str, Any]] = {
    "stochastic": {"rounding": "stochastic", "seed": SEED},
    "stochastic_a": {"rounding": "stochastic_a", "seed": 1, "random_bits": 5, "nan": "largest"},
    "stochastic_c": {"rounding": "stochastic_c", "seed": 2**64 - 1, "random_bits": 24, "overflow": "sat_propagate"},
    "to_odd": {"rounding": "to_odd", "overflow": "ovf_inf", "nan": "plain"},
    "toward_positive": {"rounding": "toward_positive"},
    "nearest_even": {"rounding": "nearest_even"},
    "nan": {"nan": "zero"},
    "overflow": {"overflow": "ovf_inf"},
}
X: dict[str, Array] = {
    "w": values((70, 48), 1), "h": values((5, 6, 33), 2, np.float16), "b": values((9, 41), 3, ml_dtypes.bfloat16),
    "d": values((7, 80), 4, np.float64), "f8": values((6, 32), 5, ml_dtypes.float8_e5m2), "line": values((1037,), 6),
    "one": values((), 7), "none": np.zeros((0, 5), np.float32),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("to", ["bfloat16", "float8_e4m3fn", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn"])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_casts(rules: dict[str, Any], to: str, cut: int) -> None:
    source = save(Path("x.safetensors"), X)
    report = convert(source, "y.safetensors", to=to, threads=cut, verify=True, **rules)
    assert report.verified
    for name, x in X.items():
        assert stored_bytes(Path("y.safetensors"), name) == bytes_in(lp.encode(x, to, **rules), lp.as_format(to))


SCALES = [
    ("float8_e4m3fn", "tensor", "float32"),
    ("float8_e5m2", "axis:0", "float16"),
    ("float8_e4m3fn", "axis:1", "float32"),
    ("float4_e2m1fn", "block:32", "float8_e8m0fnu"),
    ("float6_e3m2fn", "block:5", "bfloat16"),
]


def quantized(x: Array, to: str, scale: str, kept: Array, rules: dict[str, Any]) -> Array:
    kind, _, number = scale.partition(":")
    axis, block = {"tensor": (0, 0), "axis": (int(number or 0), 0), "block": (x.ndim - 1, int(number or 0))}[kind]
    x = np.asarray(lp.cast(x, "float32")) if x.itemsize in (1, 8) else x
    return np.asarray(
        lp.quantize_linear(x, kept, axis=axis, block_size=block, output_dtype=to, precision="float32", **rules)
    )


@pytest.mark.one_in(7)
@pytest.mark.parametrize(("to", "scale", "fmt"), SCALES)
@pytest.mark.parametrize("rules", [RULES[name] for name in ("stochastic", "stochastic_a", "to_odd", "toward_positive")])
def test_scaled(rules: dict[str, Any], to: str, scale: str, fmt: str, cut: int) -> None:
    tensors = {name: x for name, x in X.items() if x.ndim > 1}
    source, target = save(Path("x.safetensors"), tensors), Path("y.safetensors")
    convert(source, target, to=to, scale=scale, scale_format=fmt, threads=cut, verify=True, **rules)
    kept = lp.as_format(fmt)
    for name, x in tensors.items():
        scales = np.frombuffer(stored_bytes(target, f"{name}_scale"), kept.code_dtype).view(kept.dtype)
        kind, _, number = scale.partition(":")
        shape = {"tensor": (), "axis": x.shape[int(number or 0) :][:1]}.get(kind)
        scales = scales.reshape((*x.shape[:-1], -1) if shape is None else shape) if x.size else scales
        if x.size:
            expected = bits_of(quantized(x, to, scale, scales, rules))
            assert stored_bytes(target, name) == bytes_in(expected, lp.as_format(to)), name


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", [(70, 48), (3, 40, 17), (128, 5), (1, 9), (9, 1)])
@pytest.mark.parametrize("scale", ["none", "tensor", "axis:0", "axis:1", "axis:-1"])
def test_fortran_order(scale: str, shape: tuple[int, ...], cut: int) -> None:
    """Elements count in C order, wherever they lie."""
    x = np.asfortranarray(values(shape, 9))
    np.save("x.npy", x.astype(">f4" if scale == "axis:1" else "<f4"))
    rules = RULES["stochastic"]
    convert("x.npy", "y.npz", to="float8_e5m2", scale=scale, threads=cut, verify=True, **rules)
    with np.load("y.npz") as file:
        c = np.ascontiguousarray(x)
        expected = lp.encode(c, "float8_e5m2", **rules)
        if scale != "none":
            expected = quantized(c, "float8_e5m2", scale, file["x_scale"], rules)
        assert file["x"].flags.f_contiguous
        assert file["x"].tobytes() == bits_of(expected).tobytes()


def test_the_oracle(cut: int) -> None:
    """Each element takes the random number of its place, in fractions; the scales are powers of two."""
    x = values((24, 16), 14)
    np.save("x.npy", np.asfortranarray(x))
    rules: dict[str, Any] = {"rounding": "stochastic_c", "seed": SEED, "random_bits": 11}
    for number, scale in enumerate(({}, {"scale": "axis:1", "scale_format": "float8_e8m0fnu"})):
        target = Path(f"{number}.npz")
        convert("x.npy", target, to="float8_e4m3fn", threads=cut, **scale, **rules)
        with np.load(target) as file:
            found, scales = file["x"], file["x_scale"] if scale else np.full(16, 127)
        rounding = Rounding("stochastic_c", "sat_finite", "signed", 11)
        expected = [
            reference.encode_rounded(
                float(v) / 2.0 ** (int(scales[index % 16]) - 127), FLOAT8_E4M3FN, rounding,
                reference.random_word(SEED, index, 11),
            )
            for index, v in enumerate(x.ravel())
        ]  # fmt: skip
        assert found.ravel().tolist() == expected


def test_every_weight_that_is_dequantized(monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    """The product of code and scale in float32, rounded by the rule; weights with exchanged axes among them."""
    rng = np.random.default_rng(12)
    fp4, scales = rng.integers(0, 16, (3, 12, 96)), rng.integers(98, 106, (3, 12, 3), np.uint8)  # subnormal
    tensors = {
        "a_blocks": nibbles(fp4).reshape(3, 12, 3, 16), "a_scales": scales,
        "b.weight": random_codes((300, 260)), "b.weight_scale_inv": random_scales((3, 3)),
    }  # fmt: skip
    write_tensors(Path("x.safetensors"), tensors)
    convert("x.safetensors", "wide.safetensors", to="float32")
    if cut > 1:
        monkeypatch.setattr("lowprec.checkpoints.operations.dequantize.PART", 300)
    found = converted("x.safetensors", "y.safetensors", to="float16", threads=cut, verify=True, **RULES["stochastic"])
    assert {name: x.shape for name, x in found.items()} == {"a": (3, 96, 12), "b.weight": (300, 260)}
    for name, x in read_tensors(Path("wide.safetensors")).items():
        assert bits_of(found[name]).tobytes() == lp.encode(x, "float16", **RULES["stochastic"]).tobytes(), name


STOCHASTIC: dict[str, Any] = {"rounding": "stochastic", "seed": SEED}


def test_the_report_says_the_rules() -> None:
    source = save(Path("x.safetensors"), {"w": values((8, 32))})
    how: dict[str, Any] = {"scale": "block:32", "scale_format": "float8_e8m0fnu", "scale_rule": "even"}
    said = {"rounding": "stochastic_b", "overflow": "sat_finite", "nan": "signed", "seed": SEED, "random_bits": 16}
    line = "rules: rounding stochastic_b, overflow sat_finite, nan signed, "
    line += f"seed {SEED}, random bits 16, scale rule even"
    for dry_run in (True, False):
        report = convert(source, "y.safetensors", to="float4_e2m1fn", dry_run=dry_run, **how, **STOCHASTIC)
        assert line in report.as_text().splitlines()
        assert json.loads(report.as_json())["rules"] == {**said, "scale_rule": "even"}
        assert Path("y.safetensors").exists() == (not dry_run)
    plain = convert(source, "z.safetensors", to="float4_e2m1fn", scale="block:32")
    assert (plain.rules, "rules:" in plain.as_text()) == ({}, False)
    wide = convert(source, "w.safetensors", to="bfloat16", rounding="to_odd")
    assert wide.rules == {"rounding": "to_odd", "overflow": "ovf_inf", "nan": "signed"}


def test_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    x = values((24, 32), 13)
    save(Path("x.safetensors"), {"w": x})
    np.save("x.npy", x)
    options = ["--rounding", "stochastic_c", "--seed", "12", "--random-bits", "7"]
    options += ["--overflow", "ovf_inf", "--nan", "plain"]
    rules: dict[str, Any] = {"rounding": "stochastic_c", "seed": 12, "random_bits": 7}
    rules |= {"overflow": "ovf_inf", "nan": "plain"}
    expected = lp.encode(x, "float8_e4m3fn", **rules)
    text = run(
        "convert", "x.safetensors", "y.safetensors", "--to", "float8_e4m3fn", *options, "--progress", "none",
        "--report", "r.json",
    )  # fmt: skip
    assert "rules: rounding stochastic_c, overflow ovf_inf, nan plain, seed 12, random bits 7" in text
    assert json.loads(Path("r.json").read_text())["rules"]["seed"] == 12
    assert stored_bytes(Path("y.safetensors"), "w") == expected.tobytes()
    run("cast", "x.npy", "y.npz", "--to", "float8_e4m3fn", *options)
    with np.load("y.npz") as file:
        assert file["x" if "x" in file.files else file.files[0]].tobytes() == expected.tobytes()
    run("cast", "x.npy", "y.npy", "--to", "float16", *options)
    assert np.load("y.npy").tobytes() == lp.cast(x, "float16", **rules).tobytes()
    scaled = ["--to", "float4_e2m1fn", "--scale", "block:32", "--scale-format", "float8_e8m0fnu", "--progress", "none"]
    text = run("convert", "x.safetensors", "mx.safetensors", *scaled, "--scale-rule", "rceil")
    assert "rules: scale rule rceil" in text
    for command in (["cast", "x.npy", "no.npz"], ["convert", "x.safetensors", "no.safetensors", "--progress", "none"]):
        to = [*command, "--to", "float8_e4m3fn"]
        assert "--seed must be" in fail(*to, "--rounding", "stochastic")
        why = fail(*to, "--rounding", "to_odd", "--no-saturate")
        assert "`saturate` must be True, its default, where --rounding is given" in why
        why = fail(*to, "--nan", "zero", "--opset", "25")
        assert "--opset must be 28, its default, where --nan is given" in why


ENDS = {"float8_e4m3fn": (448.0, 32.0), "float4_e2m1fn": (6.0, 2.0), "float8_e5m2": (57344.0, 8192.0)}
"""The largest value, and the distance to what would come next."""


def count_beyond(x: Array, to: Format, mode: str) -> int:
    """Return how many numbers round beyond the range, by the oracle: to a format of a binade more, or to NaN."""
    bits = 4 if mode.startswith("stochastic") else 0
    rules, more = Rounding(mode, "sat_finite", "signed", bits), to
    if to.has_zero:
        sizes = {"exponent_bits": to.exponent_bits + 1, "mantissa_bits": to.mantissa_bits}
        more = lp.float_format(f"wider_{to.name}", bias=to.bias, **sizes)
    else:
        rules = Rounding(mode, "ovf_inf", "signed", bits)
    random = [reference.random_word(8, n, bits) if bits else None for n in range(x.size)]
    codes = (reference.encode_rounded(float(v), more, rules, r) for v, r in zip(x.ravel(), random, strict=True))
    return sum(code == 0xFF if more is to else abs(reference.decode(code, more).number) > to.max for code in codes)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("scale", ["none", "block:22"])
@pytest.mark.parametrize("to", [*ENDS, "float8_e8m0fnu"])
@pytest.mark.parametrize("mode", [one for one in ROUNDINGS if one != "stochastic"])
def test_saturated_counts(mode: str, to: str, scale: str, cut: int) -> None:
    """What rounds beyond the range depends on the rounding; with the rule floor scales here are 1 or 2."""
    if to in ENDS:
        parts = np.array([-0.25, 0, 1e-3, 0.5 - 1e-3, 0.5, 0.5 + 1e-3, 1 - 1e-3, 1, 1.5, 4])
        x = np.concatenate([*(sign * (ENDS[to][0] + parts * ENDS[to][1]) for sign in (1, -1)), [ENDS[to][0], 0]])
    else:
        parts, powers = np.array([1, 1.25, 1.5, 1.75, 1.999]), {1: (-129, -128, -127, 0, 126, 127), -1: (-129, 0, 127)}
        x = np.concatenate([sign * parts * 2.0**power for sign, some in powers.items() for power in some])
    x = np.tile(x.astype(np.float32), (20, 1))
    rules: dict[str, Any] = {"rounding": mode, **({"seed": 8, "random_bits": 4} if "stochastic" in mode else {})}
    how = {"scale": scale, "scale_format": "float8_e8m0fnu"} if scale != "none" and to in ENDS else {}
    file, target = save(Path("x.safetensors"), {"x": x}), Path("y.safetensors")
    report = convert(file, target, to=to, threads=cut, **how, **rules)
    scales = np.frombuffer(stored_bytes(target, "x_scale"), np.uint8).reshape(20, 1) - 127.0 if how else 0
    rows = 20 if "stochastic" in mode else 1  # others round equal rows alike
    expected = count_beyond((x / np.exp2(scales))[:rows], lp.as_format(to), mode) * (20 // rows)
    assert report.total.saturated == expected
    assert how or 0 < expected < x.size
