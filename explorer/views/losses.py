"""What a conversion lost, for the sentences next to its result."""

from __future__ import annotations

from lowprec import teaching
from lowprec.explanation import Explanation, LossSentence

__all__ = ["losses_of"]


def losses_of(explanation: Explanation | None) -> tuple[LossSentence, ...]:
    """Return what a conversion lost beyond rounding; nothing where the bits were copied and there is no explanation."""
    return () if explanation is None else teaching.losses(explanation)
