"""What a conversion lost, for the sentences next to its result."""

from __future__ import annotations

from lowprec import reference
from lowprec.reference.explanation import Explanation
from lowprec.reference.losses import Loss

__all__ = ["losses_of"]


def losses_of(explanation: Explanation | None) -> tuple[Loss, ...]:
    """Return what a conversion lost beyond rounding; nothing where the bits were copied and there is no explanation."""
    return () if explanation is None else reference.losses(explanation)
