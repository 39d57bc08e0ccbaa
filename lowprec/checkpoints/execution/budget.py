"""How many threads work on chunks of what size, so that a conversion stays below its limit of memory."""

from __future__ import annotations

from ..files.errors import FileError
from ..planning.conversion_plan import ConversionPlan

__all__ = ["RESERVED", "check_least", "choose_chunks"]

RESERVED = 96 << 20
"""Bytes of `max_memory` for the interpreter, its modules, headers and graphs, unless tensors are many."""

LARGEST_CHUNK, SMALLEST_CHUNK = 16 << 20, 512 << 10
"""Bytes of a tensor that are read at once: at each chunk, threads wait for each other's turn in the interpreter."""

BUFFERS = 4
"""How much memory a worker takes, as multiples of a chunk: read, converted, compared, and parts of it."""

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
    largest, held = 0, 0
    for tensor_plan in plan.tensor_plans:
        operation = tensor_plan.operation
        largest, held = max(largest, operation.smallest), held + operation.held
        if largest > EXCESS * (left // BUFFERS) or held > max_memory // 8:
            what = "its smallest part takes" if largest > EXCESS * (left // BUFFERS) else "the scales take"
            raise FileError(
                f"{ascii(operation.tensor.name)[:80]}: cannot be converted within `max_memory`: {what} too much"
            )
    threads = max(1, min(threads, left // (BUFFERS * max(SMALLEST_CHUNK, -(-largest // EXCESS)))))
    return threads, min(LARGEST_CHUNK, left // threads // BUFFERS)
