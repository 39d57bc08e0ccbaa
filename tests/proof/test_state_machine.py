"""Calls in any order on arrays that share memory, against a model whose bytes the exact oracle computes.

`LOWPREC_STATE_MACHINE_EXAMPLES=20000` makes so many sequences at random instead of the fixed ones of the tests.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from support.float_modes import MODES, can_set, in_mode
from support.random_calls.values import packed_bytes

import lowprec as lp
from lowprec import _kernels, reference
from lowprec.spec.formats import Format

EXAMPLES = int(os.environ.get("LOWPREC_STATE_MACHINE_EXAMPLES", "0"))

DESCRIBED = lp.float_format("machine_e3m3", exponent_bits=3, mantissa_bits=3, bias=4, inf=False, nan="all-ones")
FORMATS = [lp.as_format(name) for name in (
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu",
    "float6_e2m3fn", "float4_e2m1fn", "int2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "bool",
    "binary8p3se",
)] + [DESCRIBED]  # fmt: skip
LINEAR_INPUTS = [lp.as_format(name) for name in ("float32", "float16", "bfloat16", "int32")]
LINEAR_CODES = [
    lp.as_format(name)
    for name in ("int8", "uint8", "int16", "uint16", "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn")
]
PACKABLE = [fmt for fmt in FORMATS if fmt.bits in (2, 4, 6) and fmt is not DESCRIBED]
FLOATS = LINEAR_INPUTS[:3]
SCALES = (0.5, 1.0, 0.1, 3.0, -2.0, 2.0**-20, 1e30)
ROUNDINGS = (None, "toward_zero", "to_odd", "nearest_away", "toward_negative")


PLACES = st.tuples(st.integers(1, 5), st.integers(0, 999))
"""How many elements, and where in their memory: see `place_in`."""


class Memory:
    """Bytes that arrays share, and what the model says they are."""

    def __init__(self, raw: np.ndarray[Any, Any]) -> None:
        self.raw = raw
        self.model = bytearray(raw.tobytes())


@dataclasses.dataclass(frozen=True)
class View:
    """A 1-D array of a format in a memory, with the codes that the model has there."""

    memory: Memory
    fmt: Format
    start: int
    step: int
    count: int

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The array that a call gets."""
        if not self.count:
            return np.empty(0, self.fmt.dtype)
        return np.ndarray((self.count,), self.fmt.dtype, self.memory.raw, self.start, (self.step,))

    def _places(self) -> list[slice]:
        size = self.fmt.dtype.itemsize
        return [slice(self.start + i * self.step, self.start + i * self.step + size) for i in range(self.count)]

    @property
    def codes(self) -> list[int]:
        """The codes by the model; bits above a narrow code do not count."""
        found = (int.from_bytes(self.memory.model[place], "little") for place in self._places())
        if self.fmt.name == "bool":
            return [int(code != 0) for code in found]
        return [code & self.fmt.code_mask for code in found]

    def write(self, codes: list[int]) -> None:
        """Write codes to the model."""
        for place, code in zip(self._places(), codes, strict=True):
            self.memory.model[place] = code.to_bytes(self.fmt.dtype.itemsize, "little")


def place_in(memory: Memory, fmt: Format, count: int, seed: int) -> View | None:
    """Return a view of so many elements somewhere in a memory, forward or backward, with gaps or without."""
    size = fmt.dtype.itemsize
    steps = [step for step in (size, 2 * size, -size, size + 1) if abs(step) * (count - 1) + size <= len(memory.model)]
    if not steps:
        return None
    step = steps[seed % len(steps)]
    span = abs(step) * (count - 1) + size
    first = seed // 4 % (len(memory.model) - span + 1)
    return View(memory, fmt, first + (span - size if step < 0 else 0), step, count)


class ArraysThatShareMemory(RuleBasedStateMachine):
    """Arrays, the state of the process, and calls."""

    memories = Bundle("memories")
    views = Bundle("views")

    def __init__(self) -> None:
        super().__init__()
        self.known: list[Memory] = []
        self.isa, self.threads, self.mode = _kernels.isa(), 1, "nearest"
        self.isa_before = self.isa
        lp.set_num_threads(1)

    def teardown(self) -> None:
        _kernels.use_isa(self.isa_before)
        lp.set_num_threads(None)

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        with in_mode(self.mode):
            return function(*args, **kwargs)

    def _adopt(self, array: np.ndarray[Any, Any], fmt: Format, codes: list[int]) -> View:
        """Compare an array that a call returned, and take its memory into the pool."""
        assert array.dtype == fmt.dtype
        raw = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        memory = Memory(raw)
        self.known.append(memory)
        view = View(memory, fmt, 0, fmt.dtype.itemsize, len(codes))
        view.write(codes)  # the invariant compares them with the bytes of the result
        return view

    # ---- arrays

    @initialize(target=memories, contents=st.lists(st.binary(min_size=16, max_size=48), min_size=2, max_size=3))
    def first_memories(self, contents: list[bytes]) -> Any:
        return multiple(*map(self.new_memory, contents))

    @rule(target=memories, content=st.binary(min_size=1, max_size=40))
    def another_memory(self, content: bytes) -> Memory:
        return self.new_memory(content)

    def new_memory(self, content: bytes) -> Memory:
        self.known.append(Memory(np.frombuffer(content, np.uint8).copy()))
        return self.known[-1]

    @rule(
        target=views, memory=memories, fmt=st.sampled_from(FORMATS), count=st.integers(0, 5), seed=st.integers(0, 999)
    )
    def view_of(self, memory: Memory, fmt: Format, count: int, seed: int) -> View:
        found = place_in(memory, fmt, max(count, 1), seed)
        return View(memory, fmt, 0, fmt.dtype.itemsize, 0) if found is None or not count else found

    @rule(view=views, index=st.integers(0, 4), code=st.integers(0, 2**32 - 1))
    def write_a_code(self, view: View, index: int, code: int) -> None:
        if index < view.count:
            codes = view.codes
            codes[index] = code & view.fmt.code_mask & (1 if view.fmt.name == "bool" else -1)
            view.write(codes)
            array = np.ndarray((view.count,), view.fmt.code_dtype, view.memory.raw, view.start, (view.step,))
            array[:] = codes

    # ---- conversions

    def _cast_codes(self, view: View, fmt: Format, options: dict[str, Any]) -> list[int]:
        return [reference.cast(code, view.fmt, fmt, **options) for code in view.codes]

    @rule(
        x=views, memory=memories, fmt=st.sampled_from(FORMATS), seed=st.integers(0, 999),
        rounding=st.sampled_from(ROUNDINGS), saturate=st.booleans(),
    )  # fmt: skip
    def cast_into(self, x: View, memory: Memory, fmt: Format, seed: int, rounding: str | None, saturate: bool) -> None:
        out = place_in(memory, fmt, max(x.count, 1), seed) if x.count else None
        if out is None:
            return
        options: dict[str, Any] = {"saturate": saturate}
        if rounding is not None and fmt.is_float:
            options = {"rounding": rounding}
        codes = self._cast_codes(x, fmt, options)
        array = out.array
        assert self._call(lp.cast, x.array, fmt, source=x.fmt, out=array, **options) is array
        out.write(codes)

    @rule(target=views, x=views, fmt=st.sampled_from(FORMATS))
    def cast_anew(self, x: View, fmt: Format) -> View:
        codes = self._cast_codes(x, fmt, {})
        return self._adopt(self._call(lp.cast, x.array, fmt, source=x.fmt), fmt, codes)

    @rule(
        source=memories, held=st.sampled_from(LINEAR_INPUTS), place=PLACES, memory=memories,
        fmt=st.sampled_from(LINEAR_CODES), seed=st.integers(0, 999), scale=st.sampled_from(SCALES),
    )  # fmt: skip
    def quantize_into(
        self, source: Memory, held: Format, place: tuple[int, int], memory: Memory, fmt: Format, seed: int, scale: float
    ) -> None:
        x, out = place_in(source, held, *place), place_in(memory, fmt, place[0], seed)
        if x is None or out is None:
            return
        factor_format = held if held.is_float else lp.as_format("float32")
        factor = reference.decode(reference.encode(scale, factor_format), factor_format)
        working = reference.precision_of(factor_format)
        codes = [
            reference.quantize(reference.decode(code, held), factor, None, fmt, precision=working) for code in x.codes
        ]
        self._call(lp.quantize_linear, x.array, scale, output_dtype=fmt, out=out.array)
        out.write(codes)

    @rule(
        source=memories, held=st.sampled_from(LINEAR_CODES), place=PLACES, memory=memories, fmt=st.sampled_from(FLOATS),
        seed=st.integers(0, 999), scale=st.sampled_from(SCALES),
    )  # fmt: skip
    def dequantize_into(
        self, source: Memory, held: Format, place: tuple[int, int], memory: Memory, fmt: Format, seed: int, scale: float
    ) -> None:
        x, out = place_in(source, held, *place), place_in(memory, fmt, place[0], seed)
        if x is None or out is None:
            return
        codes = [reference.dequantize(code, held, np.float32(scale), output_dtype=fmt) for code in x.codes]
        self._call(lp.dequantize_linear, x.array, scale, output_dtype=fmt, out=out.array)
        out.write(codes)

    @rule(target=views, memory=memories, fmt=st.sampled_from(PACKABLE), place=PLACES)
    def pack_and_unpack(self, memory: Memory, fmt: Format, place: tuple[int, int]) -> View:
        x = place_in(memory, fmt, *place)
        assert x is not None or place[0] > 1
        x = x or View(memory, fmt, 0, 1, 1)
        codes = x.codes
        packed = self._call(lp.pack, x.array, fmt)
        assert packed.tobytes() == packed_bytes(np.array(codes, np.uint8), fmt.bits).tobytes()
        return self._adopt(self._call(lp.unpack, packed, fmt, x.count), fmt, codes)

    @rule(target=views, x=views, number=st.integers(0, 9))
    def bitcast_is_a_view(self, x: View, number: int) -> View:
        if x.fmt.bits < 8 or x.fmt.name == "bool" or not x.count:
            return x
        same = [fmt for fmt in FORMATS if fmt.bits == x.fmt.bits and fmt.name != "bool"]
        fmt = same[number % len(same)]
        got = self._call(lp.bitcast, x.array, fmt, source=x.fmt)
        assert np.shares_memory(got, x.memory.raw)
        assert (got.dtype, got.strides) == (fmt.dtype, (x.step,))
        return dataclasses.replace(x, fmt=fmt)

    @rule(x=views, memory=memories, seed=st.integers(0, 999))
    def a_refused_call_changes_nothing(self, x: View, memory: Memory, seed: int) -> None:
        out = place_in(memory, lp.as_format("int8"), x.count + 1, seed)
        if out is not None:
            with pytest.raises(ValueError, match="`out`"):
                self._call(lp.cast, x.array, "int8", source=x.fmt, out=out.array)

    # ---- global state

    @rule(threads=st.sampled_from((1, 2, 7)))
    def set_threads(self, threads: int) -> None:
        lp.set_num_threads(threads)
        self.threads = threads

    @rule(isa=st.sampled_from(_kernels.available_isas()))
    def use_isa(self, isa: str) -> None:
        _kernels.use_isa(isa)
        self.isa = isa

    @rule(mode=st.sampled_from(MODES if can_set() else MODES[:1]))
    def change_float_mode(self, mode: str) -> None:
        self.mode = mode

    @rule(bias=st.integers(3, 5))
    def register(self, bias: int) -> None:
        fmt = lp.float_format("machine_e3m3", exponent_bits=3, mantissa_bits=3, bias=bias, inf=False, nan="all-ones")
        assert lp.register(DESCRIBED) is DESCRIBED
        if bias == 4:
            assert lp.register(fmt) is DESCRIBED
        else:
            with pytest.raises(ValueError, match="not registered"):
                lp.register(fmt)
        assert lp.as_format("machine_e3m3") is DESCRIBED

    # ---- what always holds

    @invariant()
    def every_byte_is_what_the_model_says(self) -> None:
        for memory in self.known:
            assert memory.raw.tobytes() == bytes(memory.model)

    @invariant()
    def the_global_state_is_what_was_set(self) -> None:
        assert _kernels.isa() == self.isa
        assert lp.get_num_threads() == (self.threads if _kernels.openmp() else 1)


ArraysThatShareMemory.TestCase.settings = settings(
    max_examples=EXAMPLES or 120, stateful_step_count=30, derandomize=not EXAMPLES, database=None, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestArraysThatShareMemory = pytest.mark.slow(ArraysThatShareMemory.TestCase)
