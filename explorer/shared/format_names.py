"""Names of formats in links and controls: rows of the table, tf32, formats of IEEE P3109, and descriptions."""

from __future__ import annotations

from collections.abc import Callable, Collection

from lowprec import Format, as_format
from lowprec.spec.custom_formats import float_format_spelled, has_spelled_shape, why_not_converted
from lowprec.spec.formats import ROW_NAMES, has_fixed_name

__all__ = ["HELP", "any_format", "checked_name", "format_named", "is_described"]

HELP = (
    "A format of the list; tf32; one of IEEE P3109, such as binary8p3se; or a description, such as "
    "e4m3,bias=8,inf=0,nan=negative-zero. Its parts: bias=; signed=, inf= and zero= (0 or 1); "
    "nan= (ieee, all-ones, negative-zero or none)."
)
"""What can be typed where a format is chosen."""

_LONGEST = 100


def format_named(name: str) -> Format:
    """Return the format of a name that `checked_name` returned, or raise ValueError."""
    if has_spelled_shape(name):
        return float_format_spelled(name)
    return as_format(name)


def is_described(name: str) -> bool:
    """Whether a name is that of a format which ONNX lacks."""
    return format_named(name).onnx_enum is None


def any_format(_: Format) -> str:
    """Return that there is no problem with a format."""
    return ""


def checked_name(
    text: str, rows: Collection[str], problem: Callable[[Format], str] = any_format, *, converted: bool = True
) -> str:
    """Return the name of the format that a text names; ValueError, to follow the name of a field, if there is none.

    It is one of `rows`; or a row that ONNX lacks, tf32, a format of IEEE P3109 or of a description, in any case, with
    which there is no `problem` on the page and, unless `converted` is False, which lowprec converts.
    """
    if text in rows:
        return text
    name = text.strip()
    lacked = name in ROW_NAMES and ROW_NAMES[name].onnx_name is None
    if len(name) > _LONGEST or not (lacked or has_fixed_name(name) or has_spelled_shape(name)):
        raise ValueError(
            "must be one of the names in the list, tf32, a name of IEEE P3109, or a description such as e4m3,bias=8"
        )
    try:
        fmt = format_named(name)
    except ValueError as error:
        raise ValueError(_as_predicate(error)) from error
    if converted and (reason := why_not_converted(fmt)):
        raise ValueError(f"must be a format that lowprec converts, not {fmt.name}, {reason}")
    if reason := problem(fmt):
        raise ValueError(reason)
    return fmt.name


def _as_predicate(error: ValueError) -> str:
    text = str(error).partition("; got")[0]
    return text.removeprefix("`fmt` ") if text.startswith("`fmt` ") else f"must be a description of a format: {text}"
