"""The parameters of rounding beyond ONNX: what is refused, by which words, and that the defaults change no bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp

X = np.array([0.3, -1000.0, np.nan], np.float32)
LIKE = np.zeros(1, ml_dtypes.float8_e5m2)
CALLS: dict[str, Callable[..., Any]] = {
    "cast": lambda **how: lp.cast(X, "float8_e5m2", **how),
    "cast_like": lambda **how: lp.cast_like(X, LIKE, **how),
    "encode": lambda **how: lp.encode(X, "float8_e5m2", **how),
    "quantize_linear": lambda **how: lp.quantize_linear(X, 0.5, output_dtype="float8_e5m2", **how),
}


@pytest.fixture(params=CALLS.values(), ids=CALLS)
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Give each function that takes the keywords."""
    return request.param


def test_integers_of_every_kind_are_seeds(call: Callable[..., Any]) -> None:
    wanted = call(rounding="stochastic", seed=3, offset=5, random_bits=8).tobytes()
    for kind in (np.uint64, np.int8, np.array):
        how = {"seed": kind(3), "offset": kind(5), "random_bits": kind(8)}
        assert call(rounding="stochastic", **how).tobytes() == wanted
    assert call(rounding="stochastic_b", seed=2**64 - 1, offset=2**63 - 1, random_bits=32).shape == X.shape


def test_none_and_the_defaults_are_the_operator_of_onnx(call: Callable[..., Any]) -> None:
    wanted = call().tobytes()
    assert call(rounding=None, overflow=None, nan=None, seed=None, random_bits=16, offset=0).tobytes() == wanted


@pytest.mark.parametrize("rounding", [None, "nearest_even", "to_odd"])
@pytest.mark.parametrize(("name", "number"), [("random_bits", 3), ("offset", 7), ("offset", np.uint64(2**63 - 1))])
def test_random_numbers_without_use_are_refused(
    call: Callable[..., Any], rounding: str | None, name: str, number: int
) -> None:
    message = rf"`{name}` must be left out unless `rounding` is stochastic; got {number}"
    with pytest.raises(ValueError, match=message):
        call(rounding=rounding, **{name: number})
    if rounding is not None:
        assert call(rounding=rounding, random_bits=np.int8(16), offset=0).tobytes() == call(rounding=rounding).tobytes()


def test_one_rule_alone_leaves_the_others_at_their_defaults() -> None:
    x = np.array([np.inf, 1e9, np.nan, -0.3], np.float32)
    assert lp.encode(x, "float8_e5m2", overflow="ovf_inf").tolist() == [0x7C, 0x7C, 0x7E, 0xB5]
    assert lp.encode(x, "float8_e5m2", nan="largest").tolist() == [0x7B, 0x7B, 0x7B, 0xB5]
    assert lp.encode(x, "float16", nan="zero").tolist() == [0x7C00, 0x7C00, 0, 0xB4CD]
    assert lp.encode(x, "float16", overflow="sat_finite").tolist() == [0x7BFF, 0x7BFF, 0x7E00, 0xB4CD]


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_overflow_that_means_the_same_as_an_attribute(name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert (lp.encode(x, name, overflow="ovf_inf") == lp.encode(x, name, saturate=False)).all()


@pytest.mark.parametrize(
    ("mode", "rounding"), [("up", "away_from_zero"), ("down", "toward_zero"), ("nearest", "nearest_away")]
)
def test_rounding_that_means_the_same_as_an_attribute(mode: str, rounding: str) -> None:
    x = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    expected = lp.encode(x, "float8_e8m0fnu", round_mode=mode)
    assert (lp.encode(x, "float8_e8m0fnu", rounding=rounding) == expected).all()
    with pytest.raises(ValueError, match=f"got '{mode}': `rounding` '{rounding}' means the same$"):
        lp.cast(x, "float8_e8m0fnu", round_mode=mode, rounding="to_odd")
