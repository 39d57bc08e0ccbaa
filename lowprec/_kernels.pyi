from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

TILE_ELEMENTS: int

def available_isas() -> tuple[str, ...]: ...
def use_isa(name: str) -> None: ...
def isa() -> str: ...
def openmp() -> int: ...
def prefetch() -> bool | None: ...
def prefetch_from(nbytes: int) -> int: ...
def stream_from(nbytes: int) -> int: ...
def run_compared(
    load: Program | None,
    program: Program,
    back: Program,
    src: Any,
    dst: Any,
    n: int,
) -> tuple[float, float, float, float, int, int, int, float, float]: ...
def compare(x: Any, y: Any) -> tuple[float, float, float, float, int, int, int, float, float]: ...
def compare_scaled(
    load: Program | None,
    back: Program,
    src: Any,
    codes: Any,
    n: int,
    operands: Operands,
    low: float,
    high: float,
) -> tuple[tuple[float, float, float, float, int, int, int, float, float], int]: ...
def encode_blocks(kind: str, load: Program | None, src: Any, blocks: Any, n: int) -> None: ...
def decode_blocks(kind: str, blocks: Any, out: Any, n: int) -> None: ...
def compare_blocks(
    kind: str,
    load: Program | None,
    src: Any,
    blocks: Any,
    n: int,
) -> tuple[tuple[float, float, float, float, int, int, int, float, float], int]: ...
def find_ranges(
    src: Any,
    bits: int,
    outer: int,
    length: int,
    inner: int,
    block: int,
    mask: int,
    last: int,
    low: Any,
    high: Any,
    n_threads: int,
) -> None: ...
def quantize_blocks(
    program: BlockProgram,
    load: Program | None,
    src: Any,
    elements: Any,
    scales: Any,
    outer: int,
    length: int,
    inner: int,
    block: int,
    start: float,
    seed: int,
    offset: int,
    n_threads: int,
) -> None: ...
def in_default_mode(function: Callable[[], Any]) -> Any: ...

@disjoint_base
class Program:
    src_bits: int
    dst_bits: int
    names: tuple[str, ...]
    params: bytes
    takes_random_numbers: bool
    def __init__(
        self,
        names: tuple[str, ...],
        src_bits: int,
        dst_bits: int,
        params: dict[str, int],
        *,
        fused: bool = True,
    ) -> None: ...

@disjoint_base
class BlockProgram:
    def __init__(
        self,
        params: dict[str, float],
        *,
        kind: int,
        ignores: bool,
        is_random: bool,
        by_adding: bool,
        integers: bool,
        negative_zero: int,
        pack: str | None,
        bits: int,
        group: int,
    ) -> None: ...

@disjoint_base
class Operands:
    addresses: tuple[int, int]
    def __init__(
        self,
        scale: Any,
        zero: Any,
        scale_item: int,
        n: int,
        granularity: Any,
    ) -> None: ...
    def keep_memory(self) -> None: ...

@disjoint_base
class ScaleRoute:
    count: int
    def __init__(
        self,
        n: int,
        granularity: Any,
        repeat: int,
        tile: int,
        scale_bits: int,
        scale_steps: tuple[Program, ...],
        zero_bits: int,
        zero_steps: tuple[Program, ...] | None,
        skips_zeros: bool,
        zero_range: tuple[int, int],
    ) -> None: ...
    def operands(self, scale: Any, zero: Any, copies: bool, n_threads: int) -> Operands: ...

@disjoint_base
class HostCall:
    dtype: Any
    shape: tuple[int, ...] | None
    seeded: bool
    needs_out: bool
    def __init__(
        self,
        program: Program,
        dtype: Any,
        shape: tuple[int, ...] | None = None,
        *,
        seeded: bool = False,
        needs_out: bool = False,
        route: ScaleRoute | None = None,
    ) -> None: ...
    def run(self, x: Any, scale: Any, zero_point: Any, seed: Any, offset: Any, out: Any, n_threads: int) -> Any: ...

@disjoint_base
class CallCache:
    most: int
    by_shape: bool
    share: Callable[..., Any]
    def __init__(self, most: int, share: Callable[..., Any], *, by_shape: bool) -> None: ...
    def __len__(self) -> int: ...
    def clear(self) -> None: ...
    def remember(self, x: Any, scale: Any, zero_point: Any, options: tuple[Any, ...], call: Any) -> None: ...
    def find(self, x: Any, scale: Any, zero_point: Any, options: tuple[Any, ...]) -> Any: ...
    def run(
        self, x: Any, scale: Any, zero_point: Any, options: tuple[Any, ...], seed: Any, offset: Any, out: Any
    ) -> Any: ...

@disjoint_base
class KnownCall: ...

@disjoint_base
class ScaleFormula:
    def __init__(
        self,
        kind: str,
        *,
        most: float = 1,
        least: float = 0,
        greatest: float = 0,
        addend: int = 0,
        offset: int = 0,
    ) -> None: ...
    def run(self, low: Any, high: Any, scales: Any, codes: Any) -> None: ...

@disjoint_base
class ArrayCall:
    results: tuple[tuple[tuple[int, ...], Any], ...]
    def __init__(self, results: tuple[tuple[tuple[int, ...], Any], ...]) -> None: ...
    def run(self, x: Any, factor: Any, seed: Any, offset: Any, out: Any, n_threads: int) -> tuple[Any, ...] | None: ...

@disjoint_base
class ScaleCall(ArrayCall):
    def __init__(
        self,
        results: tuple[tuple[tuple[int, ...], Any], ...],
        formula: ScaleFormula,
        load: Program,
        store: Program | None,
        code: tuple[int, int, int],
        both: bool,
        steps: tuple[tuple[int, int, int, int], ...],
        narrow: tuple[int, int],
    ) -> None: ...

@disjoint_base
class BlockCall(ArrayCall):
    def __init__(
        self,
        results: tuple[tuple[tuple[int, ...], Any], ...],
        program: BlockProgram,
        load: Program | None,
        spread: tuple[int, int, int, int],
        formula: ScaleFormula | None,
        code: tuple[int, int, int],
    ) -> None: ...

def run(
    program: Program,
    src: Any,
    dst: Any,
    n: int,
    operands: Operands | None,
    stream: tuple[int, int] | None,
    n_threads: int,
) -> None: ...
def random_numbers(seed: int, offset: int, bits: int, out: Any) -> None: ...
def run_strided(
    program: Program,
    src: Any,
    dst: Any,
    operands: Operands | None,
    stream: tuple[int, int] | None,
    n_threads: int,
) -> int: ...
def set_alone_below(n: int) -> None: ...
def set_tensors(tensor: Any, empty_like: Any, written: Any, functions: Any, below: int) -> None: ...
def is_tensor_in_memory(x: Any) -> bool: ...
