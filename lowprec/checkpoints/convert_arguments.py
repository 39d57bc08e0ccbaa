"""What parameters of `convert`, `open`, `inspect` and `check` may be, and which of them decide what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from ..backends.threads import get_num_threads
from ..spec.formats import NUMBERS, Format, as_format, is_in_table
from ..spec.operator_versions import NEWEST, check_alone
from ..spec.rounding_modes import FIRST, ROUND_MODES, check_rounding, rounding_arguments
from ..spec.scalar_arguments import as_flag, as_integer, shown
from ..spec.scale_rules import SCALE_RULES
from .containers.container import Container, InMemory
from .files.resume import Job
from .schemes.cast import ElementRules
from .schemes.scale_grid import SCALE_FORMATS, parse_scale_layout
from .weights.tensor_selection import NamePatterns

__all__ = [
    "ROUNDING", "as_number_format", "as_patterns", "as_scale_rule", "as_thread_count", "check_defaults",
    "describe_job", "make_element_rules",
]  # fmt: skip

ROUNDING = ("rounding", "overflow", "nan", "seed", "random_bits")
"""The parameters of `convert` that are rules beyond ONNX."""

MOST_THREADS = 1024

FORMATS, PATTERNS = ("to", "source", "scale_format"), ("keep", "also", "include", "exclude")
"""Parameters of `convert` that can be said in several ways."""

UNDECISIVE = ("src", "dst", "threads", "max_memory", "dry_run", "overwrite", "verify", "progress", "dask", "resume")
"""Parameters of `convert` that do not decide what is written; the source is compared by its files."""


def as_thread_count(threads: object) -> int:
    """Return a number of threads; None is how many cores there are, or what `set_num_threads` was given."""
    if threads is None:
        return get_num_threads()
    count = as_integer(threads)
    if count is None or not 1 <= count <= MOST_THREADS:
        raise ValueError(f"`threads` must be an integer from 1 to {MOST_THREADS}; got {shown(threads)}")
    return count


def as_number_format(spec: object, parameter: str) -> Format:
    """Return a format of numbers."""
    fmt = as_format(spec, parameter=parameter)
    if fmt.kind not in NUMBERS:
        raise ValueError(f"`{parameter}` must be a format of numbers; got {fmt.name}")
    return fmt


def as_patterns(patterns: object, parameter: str) -> NamePatterns:
    """Return one pattern of names, or a sequence of them."""
    chosen = (patterns,) if isinstance(patterns, str) else patterns
    if not isinstance(chosen, Sequence) or not all(isinstance(one, str) for one in chosen):
        raise ValueError(f"`{parameter}` must be patterns of names; got {shown(patterns)}")
    return NamePatterns(parameter, tuple(chosen))


def make_element_rules(to: Format, given: Mapping[str, Any]) -> ElementRules:
    """Return the rules by which elements are cast or scaled; the operators themselves look at the opset.

    `given` has the parameters of `convert` by name.
    """
    fmt = as_format(given["scale_format"], parameter="scale_format")
    if fmt not in SCALE_FORMATS:
        raise ValueError(
            f"`scale_format` must be one of {', '.join(one.name for one in SCALE_FORMATS)}; got {fmt.name}"
        )
    saturate, round_mode, opset = as_flag(given["saturate"], "saturate"), given["round_mode"], given["opset"]
    if round_mode is not None and not (isinstance(round_mode, str) and round_mode in ROUND_MODES):
        raise ValueError(f"`round_mode` must be one of {', '.join(ROUND_MODES)}; got {shown(round_mode)}")
    scaling = parse_scale_layout(given["scale"], fmt)
    if given["scale_rule"] is not None:
        rule = as_scale_rule(given["scale_rule"])
        if scaling is None or fmt.has_zero:
            why = "there is a `scale`" if scaling is None else "the scales are powers of two"
            came = "" if scaling is None else f" where `scale_format` is {fmt.name}"
            raise ValueError(f"`scale_rule` must be None unless {why}; got {shown(rule)}{came}")
        scaling = replace(scaling, rule=rule)
    options, stream = rounding_arguments(**{name: given[name] for name in ROUNDING}, offset=FIRST)
    if options is not None:
        check_alone(options, {"saturate": (saturate, True), "round_mode": (round_mode, None), "opset": (opset, NEWEST)})
        check_rounding(options, to, "to")
    seed = None if stream is None else stream.seed
    return ElementRules(to, saturate, round_mode, opset, scaling=scaling, options=options, seed=seed)


def as_scale_rule(rule: object) -> str:
    """Return the name of a scale rule."""
    if isinstance(rule, str) and rule in SCALE_RULES:
        return rule
    raise ValueError(f"`scale_rule` must be one of {', '.join(SCALE_RULES)}; got {shown(rule)}")


def check_defaults(other: str, values: Mapping[str, object], defaults: Mapping[str, object]) -> None:
    """Raise ValueError for a parameter that is not at its default next to another one that leaves no choice."""
    for name, value in values.items():
        default = defaults[name]
        is_empty = isinstance(value, (str, list, tuple)) and not value
        if value is not default and not is_empty and not (type(value) is type(default) and value == default):
            raise ValueError(f"`{name}` must be {default!r} where there is a `{other}`; got {shown(value)}")


def describe_job(arguments: Mapping[str, object], container: Container) -> Job:
    """Return the version, the arguments of `convert` and the files that decide what is written."""
    options = {name: _text(name, value) for name, value in arguments.items() if name not in UNDECISIVE}
    places = [one.location for one in container.tensors]
    files = {one.path for one in places if not isinstance(one, InMemory)}
    return Job(version("lowprec"), options, files if container.path.is_dir() else {*files, container.path})


def _text(name: str, value: object) -> str:
    if name in FORMATS and value is not None:
        fmt = as_format(value, parameter=name)
        return repr(fmt.name if is_in_table(fmt) else fmt)  # two described formats may have one name
    return repr(list(as_patterns(value, name).patterns) if name in PATTERNS else value)
