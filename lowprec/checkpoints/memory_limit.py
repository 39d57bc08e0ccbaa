"""How many threads work on chunks of what size, so that a conversion stays below its limit of memory."""

from __future__ import annotations

from ..files.errors import FileError
from ..operations.operation import Operation
from ..planning.conversion_plan import ConversionPlan

__all__ = ["RESERVED", "check_least", "choose_chunks"]

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


def check_least(max_memory: int, reserved: int = RESERVED) -> int:
    """Return how many bytes are left for chunks; raise ValueError if those are too few for one thread."""
    reserved = max(RESERVED, reserved)
    least = BUFFERS * SMALLEST_CHUNK
    if max_memory - reserved < least:
        raise ValueError(f"`max_memory` must be at least {-(-(reserved + least) >> 20)}M; got {max_memory} bytes")
    return max_memory - reserved


def choose_chunks(plan: ConversionPlan, max_memory: int, threads: int, reserved: int = RESERVED) -> tuple[int, int]:
    """Return how many threads, and how many bytes a chunk.

    There are fewer threads than asked for where the tensors cannot be cut into chunks that are small enough.

    Raises FileError if one thread is too many for the chunks of a tensor, or the scales that are held for whole tensors
    take too much.
    """
    left = check_least(max_memory, reserved)
    operations = [one.operation for one in plan.tensor_plans]
    largest = max((one.smallest for one in operations), default=0)
    needed = max(RESERVED, reserved) + BUFFERS * -(-largest // EXCESS)
    if needed > max_memory:
        raise _too_little(next(one for one in operations if one.smallest == largest), needed, "is read in parts")
    held = HELD * sum(one.held for one in operations)
    if held > max_memory:
        raise _too_little(max(operations, key=lambda one: one.held), held, "has scales")
    threads = max(1, min(threads, left // (BUFFERS * max(SMALLEST_CHUNK, -(-largest // EXCESS)))))
    return threads, min(LARGEST_CHUNK, left // threads // BUFFERS)


def _too_little(operation: Operation, needed: int, what: str) -> FileError:
    """Return an error that says how much memory would be enough."""
    name, size = ascii(operation.tensor.name)[:80], f"{-(-needed >> 20)}M"
    return FileError(f"{name}: cannot be converted within `max_memory`: it {what} that need {size}")
