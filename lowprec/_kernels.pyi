from collections.abc import Callable
from typing import Any

def available_isas() -> tuple[str, ...]: ...
def use_isa(name: str) -> None: ...
def isa() -> str: ...
def openmp() -> int: ...
def in_default_mode(function: Callable[[], Any]) -> Any: ...

class Program:
    src_bits: int
    dst_bits: int
    names: tuple[str, ...]
    numbers: bytes
    def __init__(self, names: tuple[str, ...], src_bits: int, dst_bits: int, numbers: dict[str, int]) -> None: ...

class Operands:
    def __init__(
        self,
        scale: Any,
        zero: Any,
        scale_item: int,
        n: int,
        inner: int,
        length: int,
        block: int,
        outer_step: int,
        width: int,
    ) -> None: ...

def run(program: Program, src: Any, dst: Any, n: int, n_threads: int, operands: Operands | None = None) -> None: ...
def run_strided(program: Program, src: Any, dst: Any, n_threads: int, operands: Operands | None = None) -> None: ...
