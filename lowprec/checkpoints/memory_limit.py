"""`max_memory`: what headers may take, how many threads work on chunks of what size; sizes written as 256M."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .chunks import Cut
from .files.errors import FileError

__all__ = ["BASE", "DEFAULT", "PER_TENSOR", "Limits", "check_least", "choose_chunks", "parse_size"]

BASE = 48 << 20
"""Bytes for the interpreter, its modules and the least that one worker needs."""

PER_TENSOR = 2 << 10
"""Bytes that a tensor takes from its entry in a header to its line in the report, measured with 100,000 of them."""

RESERVED = 96 << 20
"""Bytes of `max_memory` for the interpreter, its modules, headers and graphs, unless tensors are many."""

LARGEST_CHUNK, SMALLEST_CHUNK = 16 << 20, 512 << 10
"""Bytes of a tensor that are read at once: at each chunk, threads wait for each other's turn in the interpreter."""

BUFFERS = 4
"""How much memory a worker takes, as multiples of a chunk: read, converted, compared, and parts of it."""

HELD = 8
"""What part of the memory the scales of whole tensors may take: an eighth."""

EXCESS = 2
"""How many times as large as planned a chunk may be."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be read into so many bytes of memory.

    Attributes
    ----------
    memory : int
        Bytes for everything.
    """

    memory: int

    @property
    def size(self) -> str:
        """The memory, as an error says it."""
        return f"{self.memory >> 20}M"

    @property
    def tensors(self) -> int:
        """How many tensors there may be."""
        return max(0, self.memory - BASE) // PER_TENSOR

    def check_bytes(self, nbytes: int, what: str, share: int = 16) -> None:
        """Raise ValueError where something has more bytes than a share of the memory, which is what it becomes.

        A text takes up to four times its bytes, and twice that while it is decoded.
        """
        if nbytes > self.memory // share:
            raise ValueError(f"{what} has {nbytes} bytes: `max_memory` must be at least {-(-nbytes * share >> 20)}M")

    def check_tensors(self, n: int, what: str = "tensors") -> None:
        """Raise ValueError where there are more tensors, or other names, than there is room for."""
        if n > self.tensors:
            raise ValueError(f"it holds more than {self.tensors} {what}: `max_memory` must be more than {self.size}")


def parse_size(text: int | str) -> int:
    """Return a number of bytes, which may be written as 256M or 2GiB."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)(i?B)?", str(text))
    if not match:
        raise ValueError(f"`max_memory` must be a number of bytes such as 256M; got {text!r}")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[match[2]]


DEFAULT = Limits(256 << 20)


def check_least(max_memory: int, reserved: int = RESERVED) -> int:
    """Return how many bytes are left for chunks; raise ValueError if those are too few for one thread."""
    reserved = max(RESERVED, reserved)
    least = BUFFERS * SMALLEST_CHUNK
    if max_memory - reserved < least:
        raise ValueError(f"`max_memory` must be at least {-(-(reserved + least) >> 20)}M; got {max_memory} bytes")
    return max_memory - reserved


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """Its name."""


class Demand(Protocol):
    """What the conversion of one tensor needs."""

    @property
    def tensor(self) -> Named:
        """The tensor."""

    @property
    def cut(self) -> Cut:
        """How the tensor is cut into chunks."""

    @property
    def held(self) -> int:
        """How many bytes stay in memory for the whole conversion."""


def choose_chunks(
    operations: Sequence[Demand], max_memory: int, threads: int, reserved: int = RESERVED
) -> tuple[int, int]:
    """Return how many threads, and how many bytes a chunk.

    There are fewer threads than asked for where the tensors cannot be cut into chunks that are small enough.

    Raises FileError if one thread is too many for the chunks of a tensor, or the scales that are held for whole tensors
    take too much.
    """
    left = check_least(max_memory, reserved)
    largest = max((one.cut.smallest for one in operations), default=0)
    needed = max(RESERVED, reserved) + BUFFERS * -(-largest // EXCESS)
    if needed > max_memory:
        raise _too_little(next(one for one in operations if one.cut.smallest == largest), needed, "is read in parts")
    held = HELD * sum(one.held for one in operations)
    if held > max_memory:
        raise _too_little(max(operations, key=lambda one: one.held), held, "has scales")
    threads = max(1, min(threads, left // (BUFFERS * max(SMALLEST_CHUNK, -(-largest // EXCESS)))))
    return threads, min(LARGEST_CHUNK, left // threads // BUFFERS)


def _too_little(operation: Demand, needed: int, what: str) -> FileError:
    """Return an error that says how much memory would be enough."""
    name, size = ascii(operation.tensor.name)[:80], f"{-(-needed >> 20)}M"
    return FileError(f"{name}: cannot be converted within `max_memory`: it {what} that need {size}")
