"""Which tensors are converted and how, what is kept and why: settled before anything is read or written."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..codes import encode
from ..formats import Format
from ..npy_header import FileError
from ..packing import packed_bytes
from ..tally import Tally
from .arithmetic import Arithmetic, bytes_of
from .boxes import Box
from .layout import Container, Output
from .recipe import Recipe
from .stored import Stored

__all__ = ["SCALE", "Job", "Plan", "make_plan"]

SCALE = "_scale"
"""What is added to a tensor's name for its scales."""


@dataclass(frozen=True, slots=True)
class Job:
    """What becomes of one tensor.

    Attributes
    ----------
    stored : Stored
        The tensor.
    recipe : Recipe or None
        How it is converted; None where it is kept.
    why : str
        Why it is kept.
    codes, scale : int
        The numbers of its outputs; `scale` is None without scales.
    """

    stored: Stored
    recipe: Recipe | None
    why: str
    codes: int
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All jobs, in the order of the tensors, and all outputs."""

    jobs: list[Job]
    outputs: list[Output]


def _why_kept(stored: Stored, recipe: Recipe, include: Sequence[str], exclude: Sequence[str]) -> str:
    """Return why a tensor is not converted, or nothing."""
    if include and not any(fnmatch.fnmatchcase(stored.name, pattern) for pattern in include):
        return "not included"
    if any(fnmatch.fnmatchcase(stored.name, pattern) for pattern in exclude):
        return "excluded"
    if stored.fixed or stored.fmt is None:
        return stored.fixed or "it holds no real numbers"
    if not stored.fmt.is_float:
        return "no floats"
    return recipe.scaling.problem(stored.shape, stored.fortran) if recipe.scaling else ""


def _check_patterns(container: Container, patterns: Sequence[str], option: str) -> None:
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(one.name, pattern) for one in container.tensors):
            raise FileError(f"{container.path}: has no tensor that {option} {pattern!r} names")


def _check_rules(fmt: Format, recipe: Recipe) -> None:
    """Let the operators say, on a single element, what is wrong with what is asked for."""
    arithmetic, element = Arithmetic(), np.zeros(1, fmt.code_dtype).view(np.uint8)
    result = np.empty(bytes_of(1, recipe.to, recipe.packs), np.uint8)
    if recipe.scaling is None:
        arithmetic.cast(element, 1, fmt, False, recipe, result, Tally())
        return
    if not recipe.to.signed or not recipe.to.has_zero:
        raise ValueError(f"`to` must be a signed format to be scaled, since scales are symmetric; got {recipe.to.name}")
    scales = np.asarray(encode(np.ones(1, np.float32), recipe.scaling.fmt))
    box = Box(0, (1, 1, 1), 0)
    arithmetic.quantize(
        element, box, fmt, False, recipe, None if recipe.scaling.block_size else scales, result, Tally()
    )


def _check_names(container: Container, outputs: Sequence[Output]) -> None:
    seen: dict[tuple[str, str], Output] = {}
    for output in outputs:
        place = container.home(output.origin), output.name
        other = seen.setdefault(place, output)
        if other is not output:
            is_scale = "scale" in (output.role, other.role)
            what = "has, or would have, beside a tensor's scales, another tensor named" if is_scale else "names twice"
            raise FileError(f"{container.path}: {what} {ascii(output.name)[:80]}")


def _output(stored: Stored, recipe: Recipe, renamed: str) -> list[Output]:
    name, to = stored.name + renamed, recipe.to
    codes = Output(name, stored.shape, to, bytes_of(stored.size, to, recipe.packs), stored, "codes", recipe)
    if recipe.scaling is None:
        return [codes]
    shape, fmt = recipe.scaling.scale_shape(stored.shape), recipe.scaling.fmt
    nbytes = packed_bytes(int(np.prod(shape, dtype=object)), fmt)
    return [codes, Output(stored.name + SCALE, shape, fmt, nbytes, stored, "scale", recipe)]


def make_plan(container: Container, recipe: Recipe, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Plan:
    """Settle what becomes of every tensor of a container.

    Raises FileError where a pattern names nothing or two tensors would have one name, and what `lowprec.encode` and
    `lowprec.quantize_linear` raise for what they cannot do.
    """
    _check_patterns(container, include, "--include")
    _check_patterns(container, exclude, "--exclude")
    recipe = replace(recipe, packs=container.packs and recipe.to.bits < 8)
    jobs: list[Job] = []
    outputs: list[Output] = []
    checked: set[Any] = set()
    for stored in container.tensors:
        why = _why_kept(stored, recipe, include, exclude)
        if why:
            jobs.append(Job(stored, None, why, len(outputs)))
            outputs.append(Output(stored.name, stored.shape, stored.fmt, stored.place.nbytes, stored, "kept"))
            continue
        if stored.fmt is not None and stored.fmt not in checked:
            _check_rules(stored.fmt, recipe)
            checked.add(stored.fmt)
        made = _output(stored, recipe, container.renamed)
        jobs.append(Job(stored, recipe, "", len(outputs), len(outputs) + 1 if len(made) > 1 else None))
        outputs += made
    _check_names(container, outputs)
    return Plan(jobs, outputs)
