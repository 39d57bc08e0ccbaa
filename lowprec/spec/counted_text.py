"""A number of things in words."""

from __future__ import annotations

__all__ = ["and_so_text", "count_text"]


def count_text(n: int, noun: str) -> str:
    """Return a number of things in words: ``1 tensor``, ``2 tensors``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def and_so_text(n: int, one: str, many: str) -> str:
    """Return that the same is true of n other tensors, with the verb for one of them and for many, or nothing."""
    return f", and so {one if n == 1 else many} {count_text(n, 'other tensor')}" if n else ""
