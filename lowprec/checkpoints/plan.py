"""Which tensors are converted and how, what is kept and why: decided before anything is read or written."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..loss.error_stats import ErrorStats
from ..ops.codes import encode
from ..spec.formats import Format
from ..spec.packing import packed_bytes
from .arithmetic import Arithmetic, bytes_of
from .boxes import Box
from .companions import concern, find_companions
from .descriptions import Description, find_descriptions
from .layout import Container, Output
from .npy_header import FileError
from .recipe import Recipe, Scaling
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
    """All jobs, in the order of the tensors, and all outputs.

    Attributes
    ----------
    jobs, outputs : list
        What becomes of each tensor, and what is written.
    misfits : list of Description
        The descriptions of a quantization that must not be written, since they no longer fit.
    notes : list of str
        What a raw conversion does that would be an error.
    """

    jobs: list[Job]
    outputs: list[Output]
    misfits: list[Description] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _why_left_out(stored: Stored, include: Sequence[str], exclude: Sequence[str]) -> str:
    """Return why the patterns do not choose a tensor, or nothing."""
    if include and not any(fnmatch.fnmatchcase(stored.name, pattern) for pattern in include):
        return "not included"
    return "excluded" if any(fnmatch.fnmatchcase(stored.name, pattern) for pattern in exclude) else ""


def _why_kept(stored: Stored) -> str:
    """Return why a tensor cannot be converted, or nothing."""
    if stored.fixed or stored.fmt is None:
        return stored.fixed or "it holds no real numbers"
    return "" if stored.fmt.is_float else "no floats"


def _check_patterns(container: Container, patterns: Sequence[str], option: str) -> None:
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(one.name, pattern) for one in container.tensors):
            raise FileError(f"{container.path}: has no tensor that {option} {pattern!r} names")


def _check_rules(fmt: Format, recipe: Recipe) -> None:
    """Let the operators say, on a single element, what is wrong with what is asked for."""
    arithmetic, element = Arithmetic(), np.zeros(1, fmt.code_dtype).view(np.uint8)
    result = np.empty(bytes_of(1, recipe.to, recipe.packs), np.uint8)
    if recipe.scaling is None:
        arithmetic.cast(element, 1, fmt, False, recipe, result, ErrorStats())
        return
    if not recipe.to.signed or not recipe.to.has_zero:
        raise ValueError(f"`to` must be a signed format to be scaled, since scales are symmetric; got {recipe.to.name}")
    scales = np.asarray(encode(np.ones(1, np.float32), recipe.scaling.fmt))
    box = Box(0, (1, 1, 1), 0)
    arithmetic.quantize(
        element, box, fmt, False, recipe, None if recipe.scaling.block_size else scales, result, ErrorStats()
    )


def _check_axis(container: Container, scaling: Scaling, wanted: Sequence[Stored]) -> None:
    """Raise FileError if none of the tensors that are to be converted has the axis of the scales."""
    if wanted and not any(scaling.has_axis(one.shape) for one in wanted):
        ranks = ", ".join(map(str, sorted({len(one.shape) for one in wanted})))
        raise FileError(
            f"{container.path}: has no tensor to be converted with an axis {scaling.axis}; their ranks are {ranks}"
        )


def _check_integers(recipe: Recipe) -> None:
    if recipe.to.is_integer and recipe.scaling is None:
        raise ValueError(
            "`scale` must be tensor, axis:N or block:B for an integer format, or nearly every weight becomes 0; "
            f"got none, to {recipe.to.name} (`raw` converts all the same)"
        )


_RAW = "(--exclude keeps tensors as they are, --raw converts all the same)"


def _check_companions(container: Container, converted: Sequence[Stored], chosen: set[str], raw: bool) -> list[str]:
    """Return what is converted without what gives it its meaning, or raise FileError for it.

    It is an error too where the patterns choose codes and a known companion, though both be integers that are kept: who
    converts gpt-oss to bfloat16 expects no MXFP4 in the result. Where tensors are renamed, a node gives the old name
    the old type back: what reads codes and scales stays right.
    """
    if container.renamed or not chosen:
        return []
    names = {one.name for one in converted}
    found = []
    for one in find_companions(container.tensors):
        pair = {one.codes.name, one.stored.name}
        if not names.isdisjoint(pair) or (one.row is not None and pair <= chosen):
            found.append(one)
    if not found:
        return []
    first = found[0].text()
    if not raw:
        raise FileError(f"{container.path}: {first}; it would not be applied {_RAW}")
    n = len({one.stored.name for one in found})
    return [f"{first}, not applied" + (f", and so are {n - 1} other tensors" if n > 1 else "")]


def _check_descriptions(
    container: Container, jobs: Sequence[Job], converted: Sequence[Stored], raw: bool
) -> tuple[list[Description], list[str]]:
    """Return the descriptions of a quantization that no longer fit, with notes, or raise FileError for them.

    They fit while wide floats that they do not concern become other wide floats.
    """
    found = find_descriptions(container) if converted else []
    if not found:
        return [], []
    narrow = next((job for job in jobs if job.recipe is not None and not _stays_wide(job.recipe)), None)
    why = f"{ascii(narrow.stored.name)[:80]} becomes {narrow.recipe.to.name}" if narrow and narrow.recipe else ""
    why = why or concern(container.tensors, converted)
    if not why:
        return [], []
    if not raw:
        raise FileError(f"{container.path}: {found[0].text()} would no longer fit, since {why} {_RAW}")
    return found, [f"{one.text()} left out" for one in found]


def _stays_wide(recipe: Recipe) -> bool:
    return recipe.to.is_float and recipe.to.bits >= 16 and recipe.scaling is None


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


def make_plan(
    container: Container, recipe: Recipe, include: Sequence[str] = (), exclude: Sequence[str] = (), raw: bool = False
) -> Plan:
    """Settle what becomes of every tensor of a container.

    Raises FileError where a pattern names nothing, no tensor has the axis of the scales, two tensors would have one
    name, or, unless `raw`, codes would part with their scales; ValueError, unless `raw`, for integers without scales;
    and what `lowprec.encode` and `lowprec.quantize_linear` raise for what they cannot do.
    """
    _check_patterns(container, include, "--include")
    _check_patterns(container, exclude, "--exclude")
    recipe = replace(recipe, packs=container.packs and recipe.to.bits < 8)
    jobs: list[Job] = []
    outputs: list[Output] = []
    checked: set[Any] = set()
    chosen: set[str] = set()
    wanted: list[Stored] = []
    for stored in container.tensors:
        why = _why_left_out(stored, include, exclude)
        if not why:
            chosen.add(stored.name)
            why = _why_kept(stored)
        if not why:
            wanted.append(stored)
            why = recipe.scaling.problem(stored.shape, stored.fortran) if recipe.scaling else ""
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
    if recipe.scaling is not None:
        _check_axis(container, recipe.scaling, wanted)
    converted = [job.stored for job in jobs if job.recipe is not None]
    if converted and not raw:
        _check_integers(recipe)
    passed_over = _check_companions(container, converted, chosen, raw)
    misfits, left_out = _check_descriptions(container, jobs, converted, raw)
    _check_names(container, outputs)
    return Plan(jobs, outputs, misfits, passed_over + left_out)
