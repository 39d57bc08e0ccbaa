"""The conversions that are timed: their list, their arrays, and what lowprec returns for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from roofline import aligned

import lowprec as lp

BLOCK = 32
SHORT = 8
"""Elements of the last axis where it is short."""


@dataclass(frozen=True)
class Conversion:
    """One row of the tables: a cast where `granularity` is empty, else a quantization or a dequantization."""

    source: str
    target: str
    granularity: str = ""
    zero_points: bool = False

    @property
    def operation(self) -> str:
        """Return cast, quantize or dequantize; a dequantization has a source of at most 8 bits."""
        if not self.granularity:
            return "cast"
        return "dequantize" if lp.formats[self.source].bits <= 8 else "quantize"

    @property
    def packed(self) -> bool:
        """Whether two codes share a byte: 4-bit codes do, but for those that a cast reads."""
        narrow = self.target if self.operation != "dequantize" else self.source
        return lp.formats[narrow].bits == 4

    @property
    def name(self) -> str:
        """Return the name of the row."""
        reads, writes = self.source, self.target
        if self.packed:
            reads, writes = (
                (f"{reads} packed", writes) if self.operation == "dequantize" else (reads, f"{writes} packed")
            )
        if not self.granularity:
            return f"{reads} → {writes}"
        zero_points = ", zero points" if self.zero_points else ""
        return f"{self.operation} {reads} → {writes}, {self.granularity}{zero_points}"


def _listed() -> list[Conversion]:
    casts = """
        float32 float8_e4m3fn, float32 float8_e5m2, float32 float8_e4m3fnuz, float32 float8_e8m0fnu,
        float32 float6_e2m3fn, float32 float4_e2m1fn, float32 bfloat16, float32 float16, float64 float8_e4m3fn,
        float64 float32, float16 float8_e4m3fn, bfloat16 float8_e4m3fn, float16 bfloat16, bfloat16 float16,
        float8_e4m3fn float32, float8_e5m2 float32, float8_e4m3fnuz float32, float8_e8m0fnu float32,
        bfloat16 float32, float16 float32, float8_e4m3fn float16, float8_e4m3fn bfloat16, float8_e4m3fn float64,
        float32 int4, int4 float32, float32 int2, float32 int8, int8 float32, int64 float32, float32 int64, int64 int8,
        float32 bool"""
    rows = [Conversion(*pair.split()) for pair in casts.split(",")]
    every = ("tensor", "axis 0", "last axis", "short last axis", "block 32")
    some = ("tensor", "last axis", "block 32")
    low = ("int8", "float8_e4m3fn", "int4")
    for wide, narrow, granularities in (
        *(("float32", narrow, every) for narrow in low),
        *((wide, "int8", some) for wide in ("bfloat16", "float16")),
        *(("bfloat16", narrow, ("tensor", "block 32")) for narrow in low[1:]),
    ):
        for granularity, back in itertools.product(granularities, (False, True)):
            pair = (narrow, wide) if back else (wide, narrow)
            rows.append(Conversion(*pair, granularity))
            if wide == "float32" and (narrow, granularity) in ZERO_POINTS:
                rows.append(Conversion(*pair, granularity, zero_points=True))
    order = {"cast": 0, "quantize": 1, "dequantize": 2}
    return sorted(rows, key=lambda row: order[row.operation])


ZERO_POINTS = {("int8", "tensor"), ("int8", "last axis"), ("int8", "block 32"), ("int4", "last axis")}
CONVERSIONS = _listed()
BY_NAME = {row.name: row for row in CONVERSIONS}


@lru_cache(maxsize=1)
def _normal(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(n, np.float32) * np.float32(10)


def random_input(fmt: lp.Format, n: int) -> np.ndarray:
    """Return values of a format, the same every time, on a 64-byte border."""
    if fmt.is_float:
        values = lp.cast(_normal(n), fmt)
    else:
        codes = np.random.default_rng(0).integers(0, 1 << min(fmt.bits, 7), n, np.uint8)
        values = codes.astype(fmt.code_dtype).view(fmt.dtype)
    out = aligned(values.nbytes)
    out[:] = values.view(np.uint8)
    return out.view(fmt.dtype)


@dataclass
class Arrays:
    """A conversion with its arrays: inputs, lowprec's output and the codes that a peer must return."""

    row: Conversion
    n: int
    source: lp.Format = field(init=False)
    target: lp.Format = field(init=False)
    shape: tuple[int, ...] = field(init=False)
    values: np.ndarray = field(init=False)
    """The input, never packed."""
    x: np.ndarray = field(init=False)
    """The input as lowprec reads it."""
    out: np.ndarray = field(init=False)
    scale: np.ndarray = field(init=False)
    zero: np.ndarray = field(init=False)
    """The zero points: all 0 where the row has none, and then not passed to lowprec."""
    options: dict[str, int] = field(init=False)
    """`axis` and `block_size`."""
    expected: np.ndarray = field(init=False)
    """Codes, not packed."""
    expected_packed: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        row, n = self.row, self.n
        self.source, self.target = lp.formats[row.source], lp.formats[row.target]
        columns = SHORT if row.granularity == "short last axis" else min(4096, n // 8)
        self.shape = (n // columns, columns) if row.granularity else (n,)
        self.scale, self.zero, self.options = np.ones((), np.float32), np.zeros((), np.int8), {}
        if row.operation == "dequantize":
            self.values = lp.cast(random_input(lp.formats[row.target], n), self.source).reshape(self.shape)
        else:
            self.values = random_input(self.source, n).reshape(self.shape)
        if row.granularity:
            self._make_scales()
        packs = row.packed and row.operation == "dequantize"
        self.x = _on_border(lp.pack(self.values, self.source)) if packs else _on_border(self.values)
        if row.packed and not packs:
            self.out = aligned(n // 2)
        else:
            self.out = aligned(n * self.target.storage_bits // 8).view(self.target.dtype).reshape(self.shape)
        result = self.lowprec()()
        if row.packed and not packs:
            self.expected_packed = result.copy()
            self.expected = lp.unpack(result, self.target, self.shape).view(self.target.code_dtype)
        else:
            self.expected = self.expected_packed = result.view(self.target.code_dtype).copy()

    def _make_scales(self) -> None:
        rows, columns = self.shape
        shapes: dict[str, tuple[int, ...]] = {
            "tensor": (), "axis 0": (rows,), "last axis": (columns,), "short last axis": (columns,),
            "block 32": (rows, columns // BLOCK),
        }  # fmt: skip
        shape, rng = shapes[self.row.granularity], np.random.default_rng(1)
        self.options = {"axis": 0 if self.row.granularity == "axis 0" else 1}
        if self.row.granularity == "block 32":
            self.options["block_size"] = BLOCK
        self.scale = np.asarray(rng.uniform(0.1, 0.2, shape), np.float32)
        narrow = self.narrow
        most = 3 if self.row.zero_points else 0
        self.zero = np.asarray(rng.integers(-most, most + 1, shape) if most else np.zeros(shape), narrow.dtype)
        if most and not shape:
            self.zero = np.asarray(most, narrow.dtype)

    @property
    def narrow(self) -> lp.Format:
        """Return the format of the zero points."""
        return self.target if self.row.operation == "quantize" else self.source

    @property
    def grouped(self) -> tuple[int, ...]:
        """Return the shape in which `broadcastable` scales meet x: blocks are an axis of their own."""
        if self.row.granularity == "block 32":
            return (self.shape[0], self.shape[1] // BLOCK, BLOCK)
        return self.shape

    def another_output(self) -> np.ndarray:
        """Return memory for a peer's output, in the shape `grouped` and the target's dtype, written before."""
        whole = aligned(self.n * self.target.storage_bits // 8)
        return whole.view(self.target.dtype).reshape(self.grouped)

    def broadcastable(self, operand: np.ndarray) -> np.ndarray:
        """Return a scale or zero point with an axis of one element where its elements are shared."""
        return operand[..., None] if self.row.granularity in ("axis 0", "block 32") else operand

    def lowprec(self) -> Callable[[], Any]:
        """Return the call of lowprec, into `out`."""
        row, x, out, scale, options = self.row, self.x, self.out, self.scale, self.options
        zeros = (self.zero,) if row.zero_points else ()
        if row.operation == "quantize":
            more: dict[str, Any] = {"packed": row.packed, "output_dtype": None if zeros else self.target, **options}
            return lambda: lp.quantize_linear(x, scale, *zeros, out=out, **more)
        if row.operation == "dequantize":
            more = {"source": self.source, "packed": True, "shape": self.shape} if row.packed else {}
            more |= options | ({} if row.target == "float32" else {"output_dtype": self.target})
            return lambda: lp.dequantize_linear(x, scale, *zeros, out=out, **more)
        if row.packed:
            return lambda: lp.encode(x, self.target, packed=True, out=out)
        return lambda: lp.cast(x, self.target, out=out)


def _on_border(x: np.ndarray) -> np.ndarray:
    if x.ctypes.data % 64 == 0:
        return x
    out = aligned(x.nbytes)
    out[:] = x.reshape(-1).view(np.uint8)
    return out.view(x.dtype).reshape(x.shape)
