"""One random call: its arguments, its memory, what the oracle expects; carried out, and compared bit by bit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from support.random_calls.memory import Array, Geometry, Memory, Placed, draw_geometry, view


class DifferenceError(AssertionError):
    """A call did something else than documented."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """An array that a call returns: its codes as unsigned integers, and its dtype."""

    codes: Array
    dtype: Any


@dataclasses.dataclass(frozen=True)
class Out:
    """An `out` argument, and its place in its memory."""

    array: Array
    memory: Memory
    geometry: Geometry


@dataclasses.dataclass
class Call:
    """One call. `refused` names the parameter that the message must name where the call is wrong."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    placed: list[Placed] = dataclasses.field(default_factory=list)
    expected: list[Expected] = dataclasses.field(default_factory=list)
    outs: list[Out] = dataclasses.field(default_factory=list)
    refused: str | None = None
    verify: Callable[[Any], None] | None = None
    elements: int = 0
    note: str = ""

    def __str__(self) -> str:
        named = ", ".join(f"{name}={_short(value)}" for name, value in self.kwargs.items())
        where = "; ".join(str(one) for one in self.placed)
        out = "; out " + ", ".join(f"{o.array.dtype}{o.geometry}" for o in self.outs) if self.outs else ""
        args = ", ".join(map(_short, self.args))
        return f"{self.function.__name__}({args}{', ' if named else ''}{named}) on {where}{out}{self.note}"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype}{value.shape}>"
    text = str(getattr(value, "name", None) or repr(value))
    return text if len(text) < 90 else text[:87] + "..."


def draw_out(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, shared: list[Placed]) -> Out | None:
    """Draw no `out`, one of its own, or one in the memory of an operand, which it overlaps wholly or in part."""
    choice = rng.random()
    if choice < 0.5:
        return None
    dtype = np.dtype(dtype)
    layout = str(rng.choice(["C", "F", "permuted", "strided", "negative", "sub-view", "unaligned", "odd strides"]))
    geometry = draw_geometry(rng, shape, dtype.itemsize, layout)
    memories = [one.memory for one in shared if one.memory.raw.size and one.array.size]
    if choice < 0.8 or not memories or not math.prod(shape):
        memory = Memory(rng, geometry.extent)
        return Out(view(memory, geometry, dtype), memory, geometry)
    where = shared[int(rng.integers(len(shared)))]
    same = where.geometry.shape == shape and where.array.itemsize == dtype.itemsize and 0 not in where.geometry.strides
    if same and rng.random() < 0.5:
        return Out(view(where.memory, where.geometry, dtype), where.memory, where.geometry)
    space = where.memory.raw.size - geometry.extent
    if space < 0:
        geometry = draw_geometry(rng, shape, dtype.itemsize, "C")
        space = where.memory.raw.size - geometry.extent
    if space < 0:
        return None
    shift = int(rng.integers(0, space + 1))
    if rng.random() < 0.7:
        shift -= shift % dtype.itemsize
    geometry = geometry._replace(start=geometry.start + shift, extent=geometry.extent + shift)
    return Out(view(where.memory, geometry, dtype), where.memory, geometry)


def with_out(rng: np.random.Generator, call: Call) -> Call:
    """Give a call `out` where one is drawn."""
    expected = call.expected[0]
    out = draw_out(rng, expected.codes.shape, expected.dtype, call.placed)
    if out is not None:
        call.kwargs["out"], call.outs = out.array, [out]
    return call


def _compare(got: Any, expected: Expected, which: str) -> None:
    if not isinstance(got, np.ndarray):
        raise DifferenceError(f"{which} is a {type(got).__name__}, no array")
    if got.dtype != expected.dtype or got.dtype.isnative is not True:
        raise DifferenceError(f"{which} has the dtype {got.dtype}, expected {expected.dtype}")
    if got.shape != expected.codes.shape:
        raise DifferenceError(f"{which} has the shape {got.shape}, expected {expected.codes.shape}")
    found = got.view(f"u{got.dtype.itemsize}") if got.dtype.itemsize else got
    wrong = np.argwhere(found != expected.codes)
    if len(wrong):
        first = tuple(int(index) for index in wrong[0])
        raise DifferenceError(
            f"{which}: {len(wrong)} of {expected.codes.size} codes differ, the first at {first}: "
            f"got {int(found[first]):#x}, expected {int(expected.codes[first]):#x}"
        )


def _check_memory(call: Call) -> None:
    """Compare every byte that the call could reach with what it held before, or must hold now."""
    memories = {id(memory): memory for memory in (*(x.memory for x in call.placed), *(o.memory for o in call.outs))}
    for memory in memories.values():
        wanted = memory.before.copy()
        for out, expected in zip(call.outs, call.expected, strict=False):
            if out.memory is memory and expected.codes.size:
                copy = np.ndarray(
                    out.geometry.shape, expected.codes.dtype, wanted, out.geometry.start, out.geometry.strides
                )
                copy[...] = expected.codes
        wrong = np.flatnonzero(memory.raw != wanted)
        if wrong.size:
            raise DifferenceError(
                f"{wrong.size} bytes of arguments changed, the first at {int(wrong[0])} of {wanted.size}"
            )


def check(call: Call, result: Any, error: BaseException | None) -> None:
    """Raise DifferenceError unless the call did what is expected, and nothing else."""
    if call.refused is not None:
        if error is None:
            raise DifferenceError(f"was not refused: `{call.refused}` is wrong")
        if not isinstance(error, (TypeError, ValueError)) or f"`{call.refused}`" not in str(error):
            raise DifferenceError(f"was refused by {type(error).__name__}: {error}; expected `{call.refused}` named")
        call.expected = []
        _check_memory(call)
        return
    if error is not None:
        raise DifferenceError(f"raised {type(error).__name__}: {error}") from error
    if call.verify is not None:
        call.verify(result)
    if call.expected:
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(call.expected):
            raise DifferenceError(f"returned {len(results)} arrays, expected {len(call.expected)}")
        for index, (got, expected) in enumerate(zip(results, call.expected, strict=True)):
            _compare(got, expected, "the result" if len(results) == 1 else f"result {index}")
        for out, got in zip(call.outs, results, strict=False):
            if got is not out.array:
                raise DifferenceError("the result is not `out`")
    _check_memory(call)
