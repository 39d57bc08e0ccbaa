"""How much of a file's description (header, names, shapes) `max_memory` has room for; sizes written as 256M."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["BASE", "DEFAULT", "PER_TENSOR", "Limits", "parse_size"]

BASE = 48 << 20
"""Bytes for the interpreter, its modules and the least that one worker needs."""

PER_TENSOR = 2 << 10
"""Bytes that a tensor takes from its entry in a header to its line in the report, measured with 100,000 of them."""


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
