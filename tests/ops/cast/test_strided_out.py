"""`out` of any strides in small calls that came before: the bits of a dense result, and nothing written beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.bits import bits_of
from support.optional import optional

import lowprec as lp
from lowprec.backends import cpu
from lowprec.backends.prepared_calls import CASTS

torch: Any = optional("torch")

X = np.linspace(-9, 9, 240, dtype=np.float32).reshape(4, 5, 12)
SCALES = np.linspace(0.1, 3, 5, dtype=np.float32)
CALLS: dict[str, tuple[str, Callable[..., Any]]] = {
    "cast": ("float8_e4m3fn", lambda x, s, out: lp.cast(x, "float8_e4m3fn", out=out)),
    "cast float16": ("float16", lambda x, s, out: lp.cast(x, "float16", out=out)),
    "encode": ("uint8", lambda x, s, out: lp.encode(x, "float8_e5m2", out=out)),
    "quantize": ("int8", lambda x, s, out: lp.quantize_linear(x, 0.25, -3, output_dtype="int8", out=out)),
    "quantize axis": ("int8", lambda x, s, out: lp.quantize_linear(x, s, axis=1, output_dtype="int8", out=out)),
    "quantize float": (
        "float8_e4m3fn",
        lambda x, s, out: lp.quantize_linear(x, s, axis=1, output_dtype="float8_e4m3fn", out=out),
    ),
}
PLACES: dict[str, Callable[[Any], Any]] = {
    "last axis": lambda room: room[:4, :5, 0:24:2],
    "rows": lambda room: room[:4, :5, 12:24],
    "one row each": lambda room: room[1:5, 1:6, :12],
    "transposed": lambda room: getattr(room[:12, :4, :5], "permute", room[:12, :4, :5].transpose)(1, 2, 0),
}


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the jobs that the general way carries out."""
    jobs: list[Any] = []
    original = cpu._run_any

    def run(job: Any) -> Any:
        jobs.append(job)
        return original(job)

    monkeypatch.setattr(cpu, "_run_any", run)
    return jobs


@pytest.mark.parametrize("wrap", [np.asarray, lambda x: torch.from_numpy(x)], ids=["numpy", "torch"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", CALLS)
def test_places(name: str, place: str, wrap: Callable[[np.ndarray], Any], general: list[Any]) -> None:
    target, call = CALLS[name]
    is_torch = wrap is not np.asarray
    dtype = getattr(torch, target) if is_torch else lp.as_format(target).dtype
    expected = bits_of(call(X, SCALES, None))
    for x in (X, np.asfortranarray(X), np.repeat(X, 2, axis=2)[..., ::2], *([] if is_torch else [X[::-1][::-1]])):
        held, scales = wrap(x), wrap(SCALES)
        for turn in range(2):
            room = torch.zeros((12, 8, 30), dtype=dtype) if is_torch else np.zeros((12, 8, 30), dtype)
            out, wanted = PLACES[place](room), np.zeros((12, 8, 30), expected.dtype)
            PLACES[place](wanted)[...] = expected
            general.clear()
            version = out._version if is_torch else -1
            assert call(held, scales, out) is out
            assert bits_of(room).tobytes() == wanted.tobytes()
            assert not is_torch or out._version > version
            if turn and x is X and not (place == "transposed" and name.startswith("quantize")):
                assert not general


@pytest.mark.parametrize("name", CALLS)
def test_tensors_that_take_no_result(name: str) -> None:
    _, call = CALLS[name]
    x, scales = torch.from_numpy(X), torch.from_numpy(SCALES)
    for _ in range(2):
        dtype = call(x, scales, None).dtype
        out = torch.zeros((4, 5, 12), dtype=dtype)
        call(x, scales, out)
        with pytest.raises(ValueError, match="overlaps itself"):
            call(x, scales, torch.zeros(4, 5, 1, dtype=dtype).expand(4, 5, 12))
        with pytest.raises(ValueError, match="`out` must have shape"):
            call(x, scales, out[:, :, ::2])
        if dtype.is_floating_point:
            with pytest.raises(ValueError, match="must not require gradients"):
                call(x, scales, torch.zeros(4, 5, 12, dtype=torch.float32).to(dtype).requires_grad_())


def test_a_dtype_names_a_format_as_text_does() -> None:
    for to in ("float16", np.dtype(np.float16), np.float16, lp.formats["float16"]):
        CASTS.clear()
        first = lp.cast(X, to)
        assert len(CASTS) == 1
        assert lp.cast(X, to).tobytes() == first.tobytes() == X.astype(np.float16).tobytes()
    CASTS.clear()
    for _ in range(2):
        assert lp.cast(X, 1).dtype == np.float32  # ONNX's number of it
        for equal in (True, 1.0):
            with pytest.raises((TypeError, ValueError), match="`to` must be"):
                lp.cast(X, equal)
    assert len(CASTS) == 1


def test_a_dtype_of_torch_names_a_format() -> None:
    CASTS.clear()
    x = torch.from_numpy(X)
    for _ in range(2):
        assert torch.equal(lp.cast(x, torch.float16), x.to(torch.float16))
    assert len(CASTS) == 1
