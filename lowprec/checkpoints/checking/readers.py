"""Engines that do not read a checkpoint although it is what its layout says."""

from __future__ import annotations

from collections.abc import Iterator

from ..layouts.engine_limits import Limit, is_of_expert, limits
from .finding import READERS, Finding
from .subject import Subject, module_of

__all__ = ["check_readers"]


def check_readers(subject: Subject) -> Iterator[Finding]:
    """Look for what known versions of engines do not load, or load with other values: a finding to each."""
    if not subject.is_model:
        return
    found: dict[Limit, list[str]] = {}
    for weight in subject.weights:
        experts, zero_points = is_of_expert(weight.name), weight.zero_points is not None
        for one in limits(subject.method, weight.scheme, experts=experts, zero_points=zero_points):
            found.setdefault(one, []).append(module_of(weight.name))
    for one, modules in found.items():
        yield Finding(READERS, False, modules[0], str(one), len(modules))
