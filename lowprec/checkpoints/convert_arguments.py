"""What parameters of `convert`, `open`, `inspect` may be; what `convert` is asked for; what decides its bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from inspect import Parameter
from pathlib import Path
from typing import Any

from ..backends.threads import get_num_threads
from ..spec.formats import NUMBERS, Format, as_format, is_in_table, names_near, one_of
from ..spec.operator_versions import NEWEST, check_alone
from ..spec.rounding_modes import FIRST, ROUND_MODES, check_rounding, rounding_arguments
from ..spec.scalar_arguments import as_flag, as_integer, as_path, shown
from ..spec.scale_rules import SCALE_RULES
from .containers.container import Container, InMemory
from .files.resume import Job
from .memory_limit import check_least, parse_size
from .planning.plan_for_fnuz import ToFnuz
from .planning.plan_for_format import ToFormat
from .planning.plan_for_layout import LAYOUTS, ToLayout
from .planning.plan_for_recipe import ToRecipe
from .progress import Callback, as_progress
from .recipes import CodeChange, choose_scale_rule, find_change, find_recipe, recipes_like
from .schemes.cast import ElementRules
from .schemes.scale_grid import SCALE_FORMATS, parse_scale_request
from .weights.tensor_selection import NamePatterns

__all__ = ["Request", "as_number_format", "check_no_recipe", "describe_job", "request_of"]

ROUNDING = ("rounding", "overflow", "nan", "seed", "random_bits")
"""The parameters of `convert` that are rules beyond ONNX."""

ELEMENTS = (
    "saturate", "round_mode", "opset", *ROUNDING, "scale", "scale_format", "scale_rule", "raw", "source", "include",
    "exclude",
)  # fmt: skip
"""The parameters of `convert` that only `to` leaves free."""

FLAGS = ("raw", "dry_run", "overwrite", "verify", "follow_links", "resume", "part")

MOST_THREADS = 1024

FORMATS, PATTERNS = ("to", "source", "scale_format"), ("keep", "also", "include", "exclude")
"""Parameters of `convert` that can be said in several ways."""

UNDECISIVE = ("src", "dst", "threads", "max_memory", "dry_run", "overwrite", "verify", "progress", "dask", "resume")
"""Parameters of `convert` that do not decide what is written; the source is compared by its files."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a call of `convert` asks for, every parameter checked.

    Attributes
    ----------
    conversion : ToFormat, ToRecipe, ToLayout or ToFnuz
        What tensors become: its `plan` decides for each.
    src, dst, source, progress, max_memory, threads, dask, dry_run, overwrite, verify, follow_links, resume, part
        As in `convert`, without other ways to say the same.
    """

    conversion: ToFormat | ToRecipe | ToLayout | ToFnuz
    src: Path
    dst: Path
    source: Format | None
    progress: str | Callback
    max_memory: int
    threads: int
    dask: str | None
    dry_run: bool
    overwrite: bool
    verify: bool
    follow_links: bool
    resume: bool
    part: bool


def request_of(arguments: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> Request:
    """Return what the arguments of `convert` ask for; raise TypeError or ValueError for those that cannot be.

    What depends on the tensors of the source is checked when they are planned.
    """
    to, recipe, layout, scale_rule = (arguments[name] for name in ("to", "recipe", "layout", "scale_rule"))
    chosen = None if recipe is None else find_change(recipe) or find_recipe(recipe)
    target = None
    if layout is not None:
        _check_defaults("layout", ("to", "recipe", *ELEMENTS), arguments, parameters)
    elif chosen is not None:
        _check_defaults("recipe", ("to", *(name for name in ELEMENTS if name != "scale_rule")), arguments, parameters)
    elif to is None:
        raise ValueError("`to` must be a format unless there is a `recipe` or a `layout`; got None")
    else:
        check_no_recipe(to)
        target = as_number_format(to, "to")
    rules: dict[str, str | int] = {}
    if chosen is not None and scale_rule is not None:
        rules["scale_rule"] = rule = _as_scale_rule(scale_rule)
        chosen = choose_scale_rule(chosen, rule)
    if layout is not None and not (isinstance(layout, str) and layout in LAYOUTS):
        raise ValueError(f"`layout` must be one of {', '.join(LAYOUTS)}; got {shown(layout)}")
    keep, also = _as_patterns(arguments, "keep"), _as_patterns(arguments, "also")
    for patterns in (keep, also):
        if patterns and chosen is None:
            got = shown(arguments[patterns.parameter])
            hint = "; `exclude` leaves tensors out" if patterns is keep else ""
            raise ValueError(f"`{patterns.parameter}` must be empty unless there is a `recipe`; got {got}{hint}")
    flags = {name: as_flag(arguments[name], name) for name in FLAGS}
    raw = flags.pop("raw")
    progress = as_progress(arguments["progress"])
    memory, threads = parse_size(arguments["max_memory"]), _as_thread_count(arguments["threads"])
    check_least(memory)
    src, dst = as_path(arguments["src"], "src"), as_path(arguments["dst"], "dst")
    source = None if arguments["source"] is None else as_number_format(arguments["source"], "source")
    conversion: ToFormat | ToRecipe | ToLayout | ToFnuz
    if target is not None:
        elements = _element_rules(target, arguments)
        conversion = ToFormat(elements, _as_patterns(arguments, "include"), _as_patterns(arguments, "exclude"), raw)
    elif isinstance(chosen, CodeChange):
        if also:
            raise ValueError(f"`{also.parameter}` must be empty for {chosen.name}, which changes all weights")
        conversion = ToFnuz(chosen, keep)
    elif chosen is not None:
        conversion = ToRecipe(chosen, keep, also, rules)
    else:
        conversion = ToLayout(arguments["layout"])
    return Request(conversion, src, dst, source, progress, memory, threads, arguments["dask"], **flags)


def _as_thread_count(threads: object) -> int:
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


def check_no_recipe(to: object) -> None:
    """Raise ValueError for a text that names no format, and looks like the name of a recipe."""
    if not isinstance(to, str) or not (recipes := recipes_like(to)):
        return
    try:
        as_format(to)
    except ValueError:
        formats = names_near(to)
        if to.lower().startswith(("mx", "nv")):  # blocks: a format alone has no scales
            formats = [f"{one} with a `scale`" for one in formats]
        meant = one_of([f"`recipe` {recipes[0]}", *recipes[1:], *formats])
        raise ValueError(f"`to` must be a format; got {shown(to)}; {meant}") from None


def _as_patterns(arguments: Mapping[str, object], parameter: str) -> NamePatterns:
    """Return one pattern of names, or a sequence of them."""
    patterns = arguments[parameter]
    chosen = (patterns,) if isinstance(patterns, str) else patterns
    if not isinstance(chosen, Sequence) or not all(isinstance(one, str) for one in chosen):
        raise ValueError(f"`{parameter}` must be patterns of names; got {shown(patterns)}")
    return NamePatterns(parameter, tuple(chosen))


def _element_rules(to: Format, given: Mapping[str, Any]) -> ElementRules:
    """Return the rules by which elements are cast or scaled; the operators themselves look at the opset."""
    fmt = as_format(given["scale_format"], parameter="scale_format")
    if fmt not in SCALE_FORMATS:
        raise ValueError(
            f"`scale_format` must be one of {', '.join(one.name for one in SCALE_FORMATS)}; got {fmt.name}"
        )
    saturate, round_mode, opset = as_flag(given["saturate"], "saturate"), given["round_mode"], given["opset"]
    if round_mode is not None and not (isinstance(round_mode, str) and round_mode in ROUND_MODES):
        raise ValueError(f"`round_mode` must be one of {', '.join(ROUND_MODES)}; got {shown(round_mode)}")
    scaling = parse_scale_request(given["scale"], fmt)
    if given["scale_rule"] is not None:
        rule = _as_scale_rule(given["scale_rule"])
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


def _as_scale_rule(rule: object) -> str:
    """Return the name of a scale rule."""
    if isinstance(rule, str) and rule in SCALE_RULES:
        return rule
    raise ValueError(f"`scale_rule` must be one of {', '.join(SCALE_RULES)}; got {shown(rule)}")


def _check_defaults(
    other: str, names: Sequence[str], arguments: Mapping[str, object], parameters: Mapping[str, Parameter]
) -> None:
    """Raise ValueError for a parameter that is not at its default next to another one that leaves no choice."""
    for name in names:
        value, default = arguments[name], parameters[name].default
        is_empty = isinstance(value, (str, list, tuple)) and not value
        if value is not default and not is_empty and not (type(value) is type(default) and value == default):
            wanted = "empty" if default == () else repr(default)
            hint = "; `keep` leaves weights out" if (name, other) == ("exclude", "recipe") else ""
            raise ValueError(f"`{name}` must be {wanted} where there is a `{other}`; got {shown(value)}{hint}")


def describe_job(arguments: Mapping[str, object], container: Container) -> Job:
    """Return the version, the arguments of `convert` and the files that decide what is written."""
    options = {name: _text(arguments, name) for name in arguments if name not in UNDECISIVE}
    places = [one.location for one in container.tensors]
    files = {one.path for one in places if not isinstance(one, InMemory)}
    return Job(version("lowprec"), options, files if container.path.is_dir() else {*files, container.path})


def _text(arguments: Mapping[str, object], name: str) -> str:
    value = arguments[name]
    if name in FORMATS and value is not None:
        fmt = as_format(value, parameter=name)
        return repr(fmt.name if is_in_table(fmt) else fmt)  # two described formats may have one name
    return repr(list(_as_patterns(arguments, name).patterns) if name in PATTERNS else value)
