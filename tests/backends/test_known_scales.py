"""Scales and blocks of small arrays by calls that came before: the bits of the general way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.bits import contents
from support.optional import optional

import lowprec as lp
from lowprec.backends import prepared_calls
from lowprec.backends.prepared_calls import ABSMAX, MINMAX, MX, NVFP4

torch: Any = optional("torch")


def forget() -> None:
    """Forget all calls that came before."""
    for calls in (ABSMAX, MINMAX, MX, NVFP4):
        calls.clear()


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """Forget all calls that came before."""
    forget()


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Give, for each call in order, whether it was carried out as one that came before."""
    seen: list[bool] = []
    original = prepared_calls.run_known

    def run(*args: Any) -> Any:
        result = original(*args)
        seen.append(result is not None)
        return result

    for module in ("scales", "mx", "nvfp4"):
        monkeypatch.setattr(f"lowprec.ops.{module}.run_known", run)
    return seen


def sample(rng: np.random.Generator, fmt: lp.Format, shape: tuple[int, ...] = (5, 3, 14)) -> np.ndarray[Any, Any]:
    """Return codes of all kinds: numbers, zeros of both signs, NaN, Inf."""
    codes = rng.integers(0, 1 << min(fmt.bits, 62), shape, np.int64).astype(fmt.code_dtype)
    codes.reshape(-1)[::5] = 0
    if fmt.is_float:
        codes.reshape(-1)[::7] = fmt.sign_mask if fmt.has_negative_zero else 0
    return codes.view(fmt.dtype)


def general(call: Callable[[Any], Any], arrays: list[Any]) -> list[Any]:
    """Return the results for arrays by the general way."""
    results = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lowprec.backends.cpu.run_block_call", lambda job: None)
        for x in arrays:
            forget()
            results.append(contents(call(x)))
    return results


CALLS: dict[str, Callable[..., Any]] = {
    "absmax int8": partial(lp.absmax_scale, to="int8"),
    "absmax axis": partial(lp.absmax_scale, to="float8_e5m2", axis=-1, scale_format="bfloat16"),
    "absmax blocks": partial(lp.absmax_scale, to="int4", axis=2, block_size=3, scale_format="float16"),
    "absmax powers": partial(lp.absmax_scale, to="float4_e2m1fn", axis=1, block_size=64, scale_format="float8_e8m0fnu"),
    "absmax tiles": partial(lp.absmax_scale, to="int8", axis=(2, 1), block_size=(4, 2)),
    "minmax uint8": partial(lp.minmax_scale, to="uint8"), "minmax int8": partial(lp.minmax_scale, to="int8", axis=1),
    "minmax int4": partial(lp.minmax_scale, to="int4", axis=2, block_size=3),
    "minmax uint2": partial(lp.minmax_scale, to="uint2", axis=0),
    "minmax int16": partial(lp.minmax_scale, to="int16", axis=(0, 1), block_size=(2, 2)), "mx": lp.mx_quantize,
    "mx axis": partial(lp.mx_quantize, to="float8_e4m3fn", axis=0, block_size=2, specials="ignore"),
    "mx packed": partial(lp.mx_quantize, block_size=2, packed=True),
    "mx int8": partial(lp.mx_quantize, to="int8", scale_rule="rceil"), "nvfp4": lp.nvfp4_quantize,
    "nvfp4 number": partial(lp.nvfp4_quantize, axis=1, global_scale=0.1),
    "nvfp4 integer": partial(lp.nvfp4_quantize, global_scale=3, packed=True),
    "nvfp4 tiny": partial(lp.nvfp4_quantize, global_scale=1e-44),
    "nvfp4 ignore": partial(lp.nvfp4_quantize, specials="ignore"),
    "nvfp4 inverse": partial(lp.nvfp4_quantize, scale_rule="transformer_engine"),
    "nvfp4 inverse of a number": partial(lp.nvfp4_quantize, global_scale=0.3, scale_rule="transformer_engine"),
    "nvfp4 inverse of tiny": partial(lp.nvfp4_quantize, global_scale=1e-44, scale_rule="transformer_engine"),
    "mx stochastic": partial(lp.mx_quantize, packed=True, rounding="stochastic", seed=7, offset=3),
    "nvfp4 stochastic": partial(lp.nvfp4_quantize, rounding="stochastic", seed=(1 << 64) - 1, random_bits=8),
}  # fmt: skip


SOURCES = ("float32", "float16", "bfloat16", "float64", "float8_e4m3fnuz")
"""Blocks are known of the first three alone."""
NAMES_AND_SOURCES = [
    (name, source) for name in CALLS for source in SOURCES[: 3 if name.startswith(("mx", "nvfp4")) else 5]
]


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(("name", "source"), NAMES_AND_SOURCES)
def test_known_calls_return_what_the_general_way_returns(
    name: str, source: str, library: str, known: list[bool]
) -> None:
    rng, call = np.random.default_rng(4), CALLS[name]
    if library == "torch":
        pytest.importorskip("torch")
    arrays = [sample(rng, lp.as_format(source)) for _ in range(3)]
    arrays.append(np.zeros_like(arrays[0]))
    arrays.append(np.full_like(arrays[0], np.nan))
    arrays.append((np.arange(210).reshape(5, 3, 14) * 1e-7).astype(arrays[0].dtype))  # subnormal in float16
    given = [lp.to_torch(x, source) if library == "torch" else x for x in arrays]
    expected = general(call, given)
    assert contents(call(given[-1])) == expected[-1]  # which remembers it
    known.clear()
    assert [contents(call(x)) for x in given] == expected
    assert known == [True] * len(given)


@pytest.mark.usefixtures("odd_mode")
@pytest.mark.parametrize("name", CALLS)
def test_the_mode_of_the_caller_changes_nothing(name: str) -> None:
    x = sample(np.random.default_rng(5), lp.as_format("float32"))
    (expected,) = general(CALLS[name], [x])
    assert [contents(CALLS[name](x)) for _ in range(2)] == [expected] * 2


def test_what_a_known_call_does_not_take(known: list[bool]) -> None:
    x = np.linspace(-3, 5, 32, dtype=np.float32).reshape(4, 8)
    scale, (codes, scales, factor) = lp.absmax_scale(x, "int8", axis=1), lp.nvfp4_quantize(x, axis=0)
    for other in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x.astype(">f4")):
        known.clear()
        assert np.array_equal(lp.absmax_scale(other, "int8", axis=1), scale)
        assert contents(lp.nvfp4_quantize(other, axis=0)) == contents((codes, scales, factor))
        assert known == [False, False]
    assert np.array_equal(lp.absmax_scale(x, "int8", axis=np.int64(1)), scale)
    assert lp.absmax_scale(x, "int8", axis=[1]).shape == (8,)
    for number in (0.5, np.float32(0.5), np.float16(0.5), np.float64(0.5), np.asarray(0.5, np.float32)):
        assert contents(lp.nvfp4_quantize(x, global_scale=number)) == contents(lp.nvfp4_quantize(x, global_scale=0.5))


def test_known_blocks_take_any_seed(known: list[bool]) -> None:
    x = np.linspace(-3, 5, 64, dtype=np.float32).reshape(2, 32)
    streams = [(0, 0), (3, 0), (3, 5), ((1 << 64) - 1, (1 << 63) - 1), (np.int64(3), 5), (3, np.int64(5))]
    for call in (lp.mx_quantize, lp.nvfp4_quantize):
        calls = [partial(call, rounding="stochastic", seed=seed, offset=offset) for seed, offset in streams]
        expected = [general(one, [x])[0] for one in calls]
        calls[0](x)
        known.clear()
        assert [contents(one(x)) for one in calls] == expected
        assert known == [True] * 4 + [False] * 2
        assert len({repr(one) for one in expected}) == 4


def test_results_are_the_callers_own() -> None:
    x = np.linspace(-3, 5, 16, dtype=np.float32)
    first = lp.nvfp4_quantize(x)
    second = lp.nvfp4_quantize(x)
    for one, other in zip(first, second, strict=True):
        one[...] = 0
        assert other.astype(np.float32).any()
    assert second[0].dtype == ml_dtypes.float4_e2m1fn
    assert second[2].flags.writeable


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith(("mx", "nvfp4"))])
def test_known_blocks_go_to_out(name: str, library: str, known: list[bool]) -> None:
    call, x = CALLS[name], sample(np.random.default_rng(6), lp.as_format("float32"))
    if library == "torch":
        pytest.importorskip("torch")
    given = lp.to_torch(x, "float32") if library == "torch" else x
    wanted = call(given)
    for turn in range(2):
        out = tuple((torch if library == "torch" else np).zeros_like(one) for one in wanted)
        if turn:
            forget()  # a call with `out` is remembered as well
        results = call(given, out=out)
        assert all(one is other for one, other in zip(results, out, strict=True))
        assert contents(results) == contents(wanted)
    call(given, out=out)
    assert known == [False, True, False, True]
    if library == "torch":
        versions = [one._version for one in out]
        call(given, out=out)
        assert all(one._version > version for one, version in zip(out, versions, strict=True))


def test_out_that_a_known_call_does_not_take(known: list[bool]) -> None:
    x = np.linspace(-3, 5, 64, dtype=np.float32).reshape(2, 32)
    wanted = contents(lp.mx_quantize(x, "float8_e4m3fn", block_size=4))
    assert contents(lp.mx_quantize(x, "float8_e4m3fn", block_size=4)) == wanted
    elements = np.empty((2, 32), ml_dtypes.float8_e4m3fn)
    scales = np.empty((2, 8), ml_dtypes.float8_e8m0fnu)
    known.clear()
    steps = np.empty((2, 64), ml_dtypes.float8_e4m3fn)[:, ::2]
    assert contents(lp.mx_quantize(x, "float8_e4m3fn", block_size=4, out=(steps, scales))) == wanted
    held = x.copy()
    inside = held.view(ml_dtypes.float8_e4m3fn).reshape(-1)[64:128].reshape(2, 32)
    assert contents(lp.mx_quantize(held, "float8_e4m3fn", block_size=4, out=(inside, scales))) == wanted
    wrong: list[Any] = [
        [elements, scales], (elements,), (elements, scales.T), (elements, scales.view(np.uint8)), elements,
    ]  # fmt: skip
    frozen = scales.copy()
    frozen.flags.writeable = False
    for out in (*wrong, (elements, frozen)):
        with pytest.raises(ValueError, match="`out` must"):
            lp.mx_quantize(x, "float8_e4m3fn", block_size=4, out=out)
    assert not any(known)


def test_large_blocks_are_known_on_any_number_of_threads(known: list[bool]) -> None:
    x = np.random.default_rng(7).standard_normal((1025, 1024), np.float32)
    x[1000, 3] = 1e4  # the largest
    expected = contents(lp.nvfp4_quantize(x, packed=True))
    for threads in (None, 1, 2, 3):
        lp.set_num_threads(threads)
        assert contents(lp.nvfp4_quantize(x, packed=True)) == expected
    assert known == [False, *[True] * 4]
