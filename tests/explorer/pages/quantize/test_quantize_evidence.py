"""The evidence on Quantize: the rules of a setting, and a check that can fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.explorer_states import quantize as states

from lowprec import reference
from lowprec.conformance.report import kept_results
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor import sampled, typed
from lowprec.explorer.pages.quantize.view import Quantized, quantize
from lowprec.spec.formats import FLOAT32

pytest.importorskip("streamlit")

from lowprec.explorer.pages.quantize import evidence as view


def quantized(state: Quantize) -> Quantized:
    tensor = typed(state.x) if state.origin == "typed" else sampled(state.distribution, 7, 40, 0, state.spread)
    return quantize(tensor.values, state.settings())


STATES = [state for state in states() if state.show in ("result", "block")]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "state",
    [*STATES[::4], *(one for one in STATES if one.rounding != "nearest_even")],
    ids=lambda state: f"{state.fmt}-{state.scheme}-{state.per}",
)
def test_every_setting_agrees_with_the_oracle(state: Quantize) -> None:
    found = quantized(state)
    checked = view.check_tensor(found, FLOAT32)
    assert [check.differ for one in checked for check in one.checks] == [0] * (1 if state.scheme == "linear" else 2)
    assert checked[0].checks[0].tried == found.x.size
    assert all(row.differ == 0 for row in view.of_setting(found))


@pytest.mark.parametrize("scheme", ["linear", "mx", "nvfp4"])
def test_a_check_sees_wrong_codes(scheme: str) -> None:
    found = quantized(Quantize(scheme=scheme, fmt="float4_e2m1fn"))
    codes = found.codes.copy()
    codes[0, 3] ^= 1
    codes[6, 39] ^= 1
    wrong = replace(found, codes=codes)
    assert view.check_tensor(wrong, FLOAT32)[0].checks[0].differ == 2


@pytest.mark.one_in(5)
@pytest.mark.parametrize("scheme", ["linear", "mx", "nvfp4"])
@pytest.mark.parametrize(("shape", "axis"), [((256, 256), 0), ((65536,), -1), ((3, 5, 1000), 1)])
def test_large_tensors_are_checked_in_part(
    scheme: str, shape: tuple[int, ...], axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact arithmetic, which takes the time of a check, is given no more elements than are compared."""
    given = []

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Any, *others: Any, **options: Any) -> Any:
            given.append(np.size(x))
            return function(x, *others, **options)

        return call

    for name in ("quantize", "mx_blocks", "nvfp4_blocks"):
        monkeypatch.setattr(reference, name, counted(getattr(reference, name)))
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    found = quantize(x, Quantize(scheme=scheme, fmt="float4_e2m1fn", axis=axis).settings())
    checked = view.check_tensor(found, FLOAT32)
    assert [check.differ for one in checked for check in one.checks] == [0] * len(checked)
    assert 4000 < checked[0].checks[0].tried <= 4096
    assert checked[0].checks[0].tried == 4096 or len(shape) > 1  # whole rows of blocks
    assert sum(given) == checked[0].checks[0].tried
    chance = quantize(x, Quantize(scheme=scheme, fmt="float4_e2m1fn", axis=axis, rounding="stochastic_a").settings())
    assert "random numbers" in view.check_tensor(chance, FLOAT32)[0].problem
    assert sum(given) == checked[0].checks[0].tried


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({"fmt": "int8", "per": "tensor"}, {"quantize even", "quantize clamp", "dequantize codes"}),
        ({"fmt": "float8_e4m3fn", "per": "axis"}, {"quantize float8 saturate", "quantize axis"}),
        ({"fmt": "float8_e4m3fn", "saturate": False, "scale": "float16"}, {"quantize float8", "quantize precision"}),
        ({"fmt": "float4_e2m1fn", "scheme": "mx", "scale_rule": "rceil"}, {"scale rceil", "round small nearest_even"}),
    ],
)
def test_the_rules_of_a_setting(query: dict[str, object], rows: set[str]) -> None:
    found = view.of_setting(quantized(replace(Quantize(), **query)))
    kept = kept_results().counts
    counts = {(row.tried, row.differ) for row in found}
    assert {(kept[name]["lowprec"].tried, kept[name]["lowprec"].differ) for name in rows} <= counts
