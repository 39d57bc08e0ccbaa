"""Error statistics of conversions by the rules beyond ONNX: what saturates depends on the rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import save, stored_bytes

import lowprec as lp
from lowprec import reference
from lowprec.checkpoints import convert
from lowprec.spec.formats import FLOAT8_E8M0FNU
from lowprec.spec.rounding_modes import Rounding


def reaches(magnitude: float, lower: float, step: float, mode: str, odd: bool, negative: bool) -> bool:
    """Whether a magnitude rounds to lower + step or beyond, from the table of roundings."""
    part = (magnitude - lower) / step
    if mode in ("toward_positive", "toward_negative"):
        mode = "away_from_zero" if negative == (mode == "toward_negative") else "toward_zero"
    return part >= 1 or {
        "nearest_even": part > 0.5 or (part == 0.5 and odd), "nearest_away": part >= 0.5, "nearest_zero": part > 0.5,
        "toward_zero": False, "away_from_zero": part > 0, "to_odd": part > 0 and not odd,
    }[mode]  # fmt: skip


MODES = [
    "nearest_even", "nearest_away", "nearest_zero", "toward_zero", "away_from_zero", "toward_positive",
    "toward_negative", "to_odd",
]  # fmt: skip
ENDS = {
    "float8_e4m3fn": (448.0, 32.0, False),
    "float4_e2m1fn": (6.0, 2.0, True),
    "float8_e5m2": (57344.0, 8192.0, True),
}
"""The largest value, the distance to what would come next, and whether its code is odd: 7E, 7 and 7B."""


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("to", ENDS)
@pytest.mark.parametrize("mode", MODES)
def test_saturated_counts(mode: str, to: str, source: Any, tmp_path: Path) -> None:
    """What rounds beyond the range depends on the rounding, with a scale and without."""
    top, step, odd = ENDS[to]
    parts = np.array([-0.25, 0, 1e-3, 0.5 - 1e-3, 0.5, 0.5 + 1e-3, 1 - 1e-3, 1, 1.5, 4])
    x = np.concatenate([sign * (top + parts * step) for sign in (1, -1)]).astype(source)
    expected = sum(reaches(abs(v), top, step, mode, odd, v < 0) for v in x.tolist())
    file = save(tmp_path / "x.safetensors", {"x": np.append(x, [np.nan, np.inf, 0]).astype(source)})
    report = convert(file, tmp_path / "y.safetensors", to=to, rounding=mode, raw=True)
    assert report.total.saturated == expected
    # With the rule floor the scale of these is 1 or 2: the largest is top + 4 step.
    blocks = np.concatenate([x, [top, 0.0]]).reshape(1, -1)
    file = save(tmp_path / "b.safetensors", {"x": blocks.astype(source)})
    how = {"scale": "block:22", "scale_format": "float8_e8m0fnu"}
    report = convert(file, tmp_path / "z.safetensors", to=to, rounding=mode, **how)
    (scale,) = stored_bytes(tmp_path / "z.safetensors", "x_scale")
    scaled = (blocks.astype(source) / 2.0 ** (scale - 127)).ravel().tolist()
    assert report.total.saturated == sum(reaches(abs(v), top, step, mode, odd, v < 0) for v in scaled)


@pytest.mark.parametrize("mode", ["stochastic_a", "stochastic_b", "stochastic_c"])
def test_saturated_counts_of_random_numbers(mode: str, cut: int, tmp_path: Path) -> None:
    """Half-way beyond 448 about half of the elements are beyond: those that Inf would become NaN."""
    x = np.concatenate([np.full(600, 448 + 16.0), np.full(600, -448 - 8.0), np.full(600, 447.0)]).astype(np.float32)
    rules: dict[str, Any] = {"rounding": mode, "seed": 5, "random_bits": 8}
    expected = int(np.count_nonzero((lp.encode(x, "float8_e4m3fn", overflow="ovf_inf", **rules) & 0x7F) == 0x7F))
    assert 380 < expected < 520
    for array in (x, np.asfortranarray(x.reshape(45, 40))):
        np.save(tmp_path / "x.npy", array)
        target = tmp_path / f"{array.ndim}.npz"
        report = convert(tmp_path / "x.npy", target, to="float8_e4m3fn", threads=cut, **rules)
        here = lp.encode(np.ascontiguousarray(array), "float8_e4m3fn", overflow="ovf_inf", **rules) & 0x7F
        assert report.total.saturated == np.count_nonzero(here == 0x7F)


@pytest.mark.parametrize("mode", [*MODES, "stochastic_a", "stochastic_b", "stochastic_c"])
def test_saturated_counts_without_a_zero(mode: str, tmp_path: Path) -> None:
    """Powers of two: both ends of the range, by the oracle; beyond them it has NaN."""
    parts = np.array([1, 1.25, 1.5, 1.75, 1.999])
    powers = {1: (-129, -128, -127, 0, 126, 127), -1: (-129, 0, 127)}
    x = np.concatenate([sign * parts * 2.0**power for sign, some in powers.items() for power in some])
    x = np.append(x, [0.0, -0.0]).astype(np.float32)
    rounding = Rounding(mode, "ovf_inf", "signed", 4 if mode.startswith("stochastic") else 0)
    random = [reference.random_word(8, n, 4) if rounding.random_bits else None for n in range(x.size)]
    codes = [reference.encode_rounded(float(v), FLOAT8_E8M0FNU, rounding, r) for v, r in zip(x, random, strict=True)]
    rules: dict[str, Any] = {"seed": 8, "random_bits": 4} if rounding.random_bits else {}
    file = save(tmp_path / "x.safetensors", {"x": x})
    report = convert(file, tmp_path / "y.safetensors", to="float8_e8m0fnu", rounding=mode, **rules)
    assert report.total.saturated == codes.count(0xFF)


def test_losses(tmp_path: Path) -> None:
    """Error statistics are those of the codes: SQNR of the two ways to count, and flushed elements."""
    x = np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32)
    file = save(tmp_path / "x.safetensors", {"x": x})
    found = {}
    for name in ("nearest_even", "toward_zero", "stochastic"):
        rules = {"rounding": name, **({"seed": 9} if name == "stochastic" else {})}
        for scale in ("none", "axis:0"):
            target = tmp_path / f"{name}-{scale[:4]}.safetensors"
            report = convert(file, target, to="float8_e4m3fn", scale=scale, **rules)
            codes = np.frombuffer(stored_bytes(target, "x"), np.uint8)
            back = lp.decode(codes.reshape(x.shape), "float8_e4m3fn").astype(np.float64)
            if scale != "none":
                scales = stored_bytes(target, "x_scale")
                back *= np.frombuffer(scales, np.float32).reshape(-1, 1)
            wide = x.astype(np.float64)
            sqnr = 10 * np.log10((wide**2).sum() / ((back - wide) ** 2).sum())
            found[name, scale] = report.total.sqnr_db
            assert report.total.sqnr_db == pytest.approx(sqnr, abs=1e-3)
            assert report.total.max_abs_error == pytest.approx(np.abs(back - wide).max(), rel=1e-6)
            assert report.total.flushed == np.count_nonzero((back == 0) & (wide != 0))
    assert found["nearest_even", "none"] > found["stochastic", "none"] > found["toward_zero", "none"]
