"""What is timed: conversions, roundings and blocks, with their arrays and the targets that they are to reach."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import peers
from peers import MX_BLOCK, NVFP4_BLOCK, PEERS, Peer
from timing import aligned

import lowprec as lp
from lowprec.backends.ggml_blocks import decode_blocks, encode_blocks
from lowprec.checkpoints.containers.gguf_file import TYPES
from lowprec.spec.rounding_modes import ROUNDINGS
from lowprec.spec.scale_rules import NVFP4_RULES, SCALE_RULES

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

    def has_bits(self, codes: np.ndarray) -> bool:
        """Whether codes of a peer, packed or not, are those that lowprec returned."""
        if codes.size != self.expected.size:
            return np.array_equal(codes.view(np.uint8).reshape(-1), self.expected_packed.view(np.uint8).reshape(-1))
        codes = codes.reshape(-1).view(self.expected.dtype)
        if self.target.bits < 8:  # the upper bits of a storage dtype have no meaning
            codes = codes & np.array(self.target.code_mask, codes.dtype)
        return np.array_equal(codes, self.expected.reshape(-1))

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


@dataclass
class Row:
    """What is measured: our call reads `x` and writes `out`; a copy of `x` to `out` is the unit."""

    name: str
    x: np.ndarray
    out: np.ndarray
    """Bytes of the codes alone: those of scales are few."""
    ours: Callable[[], Any]
    elements: int
    same: Callable[[np.ndarray], bool]
    """Whether what a peer returned has our bits."""
    peers: Callable[[], Iterable[Peer]] = tuple
    bars: tuple[float, float] | None = None
    """What the loops of AVX-512 and of AVX2 may take out of the cache; conversions have targets instead."""


def conversion_row(conversion: Conversion, n: int, threads: int = 1) -> Row:
    """Return the row of a conversion of n elements."""
    made = Arrays(conversion, n)
    found = partial(peers.of_conversion, made, threads)
    return Row(conversion.name, made.x, made.out, made.lowprec(), n, made.has_bits, found)


def conversion_rows(n: int, threads: int = 1, only: str = "") -> Iterator[Row]:
    """Yield every conversion whose name contains a text."""
    return (conversion_row(one, n, threads) for one in CONVERSIONS if only in one.name)


ROUNDING_TARGETS = ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "binary8p3se")
DETERMINISTIC = tuple(mode for mode in ROUNDINGS if not mode.startswith("stochastic"))
RANDOM_BITS = (8, 16, 32)
ROUNDING_BARS, STOCHASTIC_BARS = (1.3, 1.9), (2.2, 3.8)
"""For the stochastic rounding: of 16 random bits an element."""


def _has_codes(out: np.ndarray, codes: np.ndarray) -> bool:
    """Whether codes are the first ones of our output; the row has been called before."""
    codes = codes.view(np.uint8).reshape(-1)
    return np.array_equal(codes, out.view(np.uint8).reshape(-1)[: codes.size])


def _rounding(x: np.ndarray, target: str, mode: str, random_bits: int = 0) -> Row:
    fmt = lp.as_format(target)
    packed = fmt.bits == 4
    out = aligned(x.size * (4 if packed else 8) // 8).view(np.uint8 if packed else fmt.code_dtype)
    options: dict[str, Any] = {"rounding": mode, "packed": packed, "out": out}
    options |= {"seed": 0, "random_bits": random_bits} if random_bits else {}
    name = f"{target}{' packed' * packed}, {mode}{f', {random_bits} bits' if random_bits else ''}"
    bars = ROUNDING_BARS if not random_bits else STOCHASTIC_BARS if random_bits == 16 else None
    found = partial(peers.of_rounding, x, fmt, mode, random_bits, packed)
    ours = partial(lp.encode, x, fmt, **options)
    return Row(name, x, out, ours, x.size, partial(_has_codes, out), found, bars)


def rounding_rows(n: int, threads: int = 1, only: str = "") -> Iterator[Row]:
    """Yield every rounding of float32 numbers to every target; overflow saturates."""
    x = random_input(lp.formats["float32"], n)
    for target in ROUNDING_TARGETS:
        yield from (_rounding(x, target, mode) for mode in DETERMINISTIC)
        yield from (_rounding(x, target, "stochastic", random_bits) for random_bits in RANDOM_BITS)


COLUMNS = 4096
MX_BARS = {8: (1.5, 3.5), 4: (1.8, 3.5)}
"""By the bits of an element."""
GIVEN_BARS, FOUND_BARS = (2.6, 4.5), (3.4, 5.5)
"""NVFP4 with the scale of the tensor given, and found."""
GLOBAL_SCALE = 0.02
ELEMENTS = ("float8_e4m3fn", "float8_e5m2", "float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn")
GGUF_BLOCK = 32
TYPE_SIZES = {one.name: one.nbytes for one in TYPES.values() if one.name in ("Q8_0", "Q4_0", "MXFP4")}
"""The bytes of a block of GGUF."""
STOCHASTIC: dict[str, Any] = {"rounding": "stochastic", "seed": 0}


def _elements(shape: tuple[int, ...], fmt: lp.Format) -> np.ndarray:
    """Return memory for elements: packed bytes where two share one."""
    if fmt.bits == 4:
        return aligned(int(np.prod(shape)) // 2)
    return aligned(int(np.prod(shape))).view(fmt.dtype).reshape(shape)


def _scales(shape: tuple[int, ...], block: int, name: str) -> np.ndarray:
    return aligned(int(np.prod(shape)) // block).view(lp.formats[name].dtype).reshape(*shape[:-1], -1)


def _mx(x: np.ndarray, element: str, rule: str, **options: Any) -> Row:
    fmt = lp.formats[element]
    out = _elements(x.shape, fmt), _scales(x.shape, MX_BLOCK, "float8_e8m0fnu")
    call = partial(lp.mx_quantize, x, element, scale_rule=rule, packed=fmt.bits == 4, out=out, **options)
    name = f"MX {element}{' packed' * (fmt.bits == 4)}, {options.get('rounding', rule)}"
    found = tuple if options else partial(peers.of_mx_blocks, x, element, rule)
    bars = None if options else MX_BARS.get(fmt.bits)
    return Row(name, x, out[0], call, x.size, partial(_has_codes, out[0]), found, bars)


def _nvfp4(x: np.ndarray, global_scale: float | None, rule: str | None, **options: Any) -> Row:
    fmt = lp.formats["float4_e2m1fn"]
    out = _elements(x.shape, fmt), _scales(x.shape, NVFP4_BLOCK, "float8_e4m3fn"), np.zeros((), np.float32)
    call = partial(
        lp.nvfp4_quantize, x, global_scale=global_scale, scale_rule=rule, packed=True, out=out, **options
    )  # fmt: skip
    name = f"NVFP4 packed, scale {'found' if global_scale is None else 'given'}"
    name += f", {options.get('rounding', rule)}" if options or rule else ""
    found = tuple if options else partial(peers.of_nvfp4_blocks, x, global_scale)
    bars = None if options else FOUND_BARS if global_scale is None else GIVEN_BARS
    return Row(name, x, out[0], call, x.size, partial(_has_codes, out[0]), found, bars)


def _gguf(x: np.ndarray, kind: str) -> Iterator[Row]:
    """Yield the blocks of GGUF from values, and back."""
    nbytes = TYPE_SIZES[kind]
    blocks, values = aligned(x.size // GGUF_BLOCK * nbytes), aligned(x.nbytes).view(np.float32)
    flat, codes = x.reshape(-1), blocks[: x.size // (1 if kind == "Q8_0" else 2)]  # as many bytes as codes have
    encode = partial(encode_blocks, kind, flat.view(np.uint32), lp.formats["float32"], blocks)
    encode()
    for name, source, target, ours in (
        (f"GGUF {kind}", flat, codes, encode),
        (f"values of GGUF {kind}", codes, values, partial(decode_blocks, kind, blocks, values)),
    ):
        decodes = target is values
        out = np.empty_like(values if decodes else blocks)
        function = f"{'de' if decodes else ''}quantize_row_{kind.lower()}"
        call = peers.ggml_block_call(function, blocks if decodes else flat, out, x.size)
        found = [Peer("ggml", call, partial(np.copy, out[: target.size]))] if call else []
        n = max(source.size, target.size)  # blocks are bytes
        yield Row(name, source, target, ours, n, partial(_has_codes, target), partial(tuple, found))


def block_rows(n: int, threads: int = 1, only: str = "") -> Iterator[Row]:
    """Yield MX and NVFP4 blocks by every rule along rows of 4096, stochastic ones of 4 bits, and blocks of GGUF."""
    x = random_input(lp.formats["float32"], n).reshape(-1, COLUMNS)
    for element in ELEMENTS:
        for rule in SCALE_RULES:
            yield _mx(x, element, rule)
    yield _mx(x, ELEMENTS[-1], "floor", **STOCHASTIC)
    for global_scale in (GLOBAL_SCALE, None):
        for nvfp4_rule in (None, *NVFP4_RULES):
            yield _nvfp4(x, global_scale, nvfp4_rule)
    yield _nvfp4(x, GLOBAL_SCALE, None, **STOCHASTIC)
    for kind in TYPE_SIZES:
        yield from _gguf(x, kind)


OUT_OF_CACHE_LIMITS = {"v4": (1.10, 1.20), "v3": (1.30, 1.35)}
"""By the loops: out of the cache, and there with scales along the last axis."""
TWO_THREADS = 1.05
"""Of the roofline on two threads."""
ZERO_POINTS_LIMIT = 1.15
"""Of the time of the same row without zero points."""


@dataclass(frozen=True)
class Target:
    """What a row is to reach: a multiple of the roofline and the time of peers; either may be missing."""

    limit: float | None = None
    peers: tuple[str, ...] = ()

    def __str__(self) -> str:
        peers = ["every peer"] if len(self.peers) > 2 else list(self.peers)
        return ", ".join(([] if self.limit is None else [f"{self.limit:.2f}"]) + peers)


def _in_cache(row: Conversion) -> float | None:
    source, target = lp.formats[row.source], lp.formats[row.target]
    if row.operation == "cast":
        if target.is_float and target.bits == 8 and row.source in ("float32", "bfloat16", "float16"):
            return 2.2
        return 2.0 if source.is_float and source.bits == 8 and row.target == "float32" else None
    limits = {"int8": (2.3, 1.6), "float8_e4m3fn": (3.2, 2.4), "int4": (2.8, 1.5)}
    if row.operation == "quantize":
        return limits[row.target][0] if row.source == "float32" else None
    return limits[row.source][1] if row.target == "float32" else None


def out_of_cache(row: Conversion, loops: str) -> float | None:
    """Return the multiple that loops of an instruction set are to reach; None for the baseline."""
    limits = OUT_OF_CACHE_LIMITS.get(loops.removesuffix("_vbmi"))
    return limits and limits["last axis" in row.granularity]


def target(row: Conversion, elements: int, ratios: dict[str, dict[str, float]], loops: str) -> Target:
    """Return the target of a row by its loops; `ratios` has the multiples of every measured row, for zero points."""
    limit, peers = None, set()
    if elements <= 1 << 18:
        limit = _in_cache(row) if loops.startswith("v4") else None
        sixteen = {"float16", "bfloat16"} & {row.source, row.target}
        if row.operation == "cast" and sixteen and {row.source, row.target} <= {"float16", "bfloat16", "float32"}:
            peers = {"torch"}
        if row.granularity == "tensor" and "int8" in (row.source, row.target):
            peers = {"torch", "ONNX Runtime"}
    elif elements >= 1 << 24:
        limit, peers = out_of_cache(row, loops), set(PEERS)
    if row.zero_points:
        without = Conversion(row.source, row.target, row.granularity).name
        base = ratios.get(without, {}).get("lowprec")
        limit = ZERO_POINTS_LIMIT * base if base is not None else None
    timed = ratios.get(row.name, {})
    return Target(limit, tuple(peer for peer in PEERS if peer in peers and peer in timed))


def target_of(row: dict[str, Any], elements: int, ratios: dict[str, dict[str, float]], loops: str) -> Target:
    """Return the target of a stored row: its bar by the loops, or that of its conversion, where it is still timed."""
    if bars := row.get("bars"):
        return Target({"v4": bars[0], "v3": bars[1]}.get(loops.removesuffix("_vbmi")))
    conversion = BY_NAME.get(row["case"])
    return target(conversion, elements, ratios, loops) if conversion else Target()


def missed(goal: Target, ratios: dict[str, float]) -> list[str]:
    """Return what lowprec is slower than, to two decimals: `target`, or the names of peers."""
    ours = round(ratios["lowprec"], 2)
    slower = ["target"] * (goal.limit is not None and ours > round(goal.limit, 2))
    return slower + [peer for peer in goal.peers if ours > round(ratios[peer], 2)]


def multiples(row: dict[str, Any], statistic: str = "minimum") -> dict[str, float]:
    """Return a stored row's times as multiples of the roofline, two threads of their own."""
    times = row[statistic]
    ratios = {name: time / times["roofline"] for name, time in times.items() if name != "roofline"}
    if "2 threads" in times:
        ratios["2 threads"] = times["2 threads"] / times["roofline, 2 threads"]
    return ratios
