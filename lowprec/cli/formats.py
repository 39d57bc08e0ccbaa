"""`lowprec formats`, and the tables of formats in the documentation."""

from __future__ import annotations

import argparse
from typing import Any

from .._notebook_display import markdown_table
from ..arrays.storage_dtypes import LIBRARY_FORMATS
from ..spec.format_text import HEADER, cells_of, facts_of
from ..spec.formats import FORMATS, NUMBERS, Format, Kind, own_dtype
from .shared_arguments import FORMAT_HELP, any_format

__all__ = ["add_command", "code_table", "facts", "markdown_formats", "storage_table"]


def markdown_formats() -> str:
    """Return the table of formats as Markdown."""
    return markdown_table([HEADER, *(cells_of(fmt, "–") for fmt in FORMATS.values())])


_LIBRARIES = {"numpy": "NumPy", "torch": "torch", "cupy": "CuPy", "jax": "JAX", "dask": "Dask", "": "any other"}


def _storage_in(fmt: Format, library: str) -> str:
    """Return in one or two words what carries a format in a library of `LIBRARY_FORMATS`; '' is an unknown one."""
    own = own_dtype(fmt)
    if fmt.kind is Kind.STRING:
        return "`str` objects" if library == "numpy" else "none"
    integer = f"{'int' if fmt.is_integer and fmt.signed else 'uint'}{fmt.storage_bits}"
    other = f"{integer} {'values' if fmt.is_integer else 'codes'}"
    if not library:  # the array API has floats of 32 and 64 bits, and integers from 8 bits up
        standard = fmt.bits >= (32 if fmt.is_float else 8)
        return "its own" if standard else f"its own, else {other}"
    if not LIBRARY_FORMATS[library](fmt):
        return other
    return "its own" if library == "torch" or own is None or own.isbuiltin == 1 else "ml_dtypes"


def storage_table() -> str:
    """Return as Markdown what carries each format in each library; formats that are carried alike share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for fmt in FORMATS.values():
        rows.setdefault(tuple(_storage_in(fmt, library) for library in _LIBRARIES), []).append(fmt.name)
    body = [(", ".join(names), *cells) for cells, names in rows.items()]
    return markdown_table([("format", *_LIBRARIES.values()), *body])


def facts(fmt: Format) -> str:
    """Return one format's facts, a line each; those that are counted come last."""
    pairs = [*facts_of(fmt), *(_counts(fmt) if fmt.kind in NUMBERS else ())]
    return "\n".join(f"{name:16} {text}" for name, text in pairs)


def _counts(fmt: Format) -> list[tuple[str, str]]:
    """Return why the values of a format end where they do, and how many there are."""
    from .. import teaching

    found = teaching.format_facts(fmt)
    pairs = [("why max", found.why_it_ends), ("numbers", str(found.numbers))]
    if fmt.is_float:
        pairs += [
            ("subnormal codes", str(found.subnormal_codes)),
            ("1 <= value < 2", str(found.values_from_one_to_two)),
            ("in last binade", str(found.values_in_last_binade)),
        ]
    return pairs


def code_table(fmt: Format) -> str:
    """Return the value of every code of a format of up to 8 bits, in lines of at most 120 characters.

    Floats are printed with the fewest digits that name them among float64, which holds each of them exactly.
    """
    from .. import reference

    values = [reference.decode(code, fmt) for code in range(1 << fmt.bits)]
    cells = [repr(float(value)) if fmt.is_float else str(value) for value in values]
    width = max(map(len, cells)) + 1
    digits = (fmt.bits + 3) // 4
    columns = 16
    while digits + 1 + columns * width > 120 or columns > len(cells):
        columns //= 2
    lines = [" " * (digits + 1) + "".join(f"{column:>{width}X}" for column in range(columns))]
    for start in range(0, len(cells), columns):
        lines.append(f"{start:0{digits}X}:" + "".join(f"{cell:>{width}}" for cell in cells[start : start + columns]))
    return "\n".join(lines)


def _run(options: argparse.Namespace) -> None:
    if (options.markdown or options.storage_dtypes) and options.format is not None:
        options.parser.error("--markdown and --storage-dtypes are for whole tables; leave FORMAT out")
    if options.storage_dtypes:
        print(storage_table())
        return
    if options.format is None:
        print(markdown_formats() if options.markdown else FORMATS)
        return
    fmt = any_format(options.format, "FORMAT")
    print(facts(fmt))
    if 0 < fmt.bits <= 8 and fmt.kind is not Kind.BOOL:
        print(f"\n{code_table(fmt)}")


def add_command(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    one = commands.add_parser("formats", help="the table of formats; one format's facts and codes")
    one.add_argument("format", nargs="?", metavar="FORMAT", help=FORMAT_HELP)
    one.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    one.add_argument("--storage-dtypes", action="store_true", help="print, as Markdown, what holds them in a library")
    one.add_argument("--carriers", dest="storage_dtypes", action="store_true", help=argparse.SUPPRESS)  # the old name
    one.set_defaults(run=_run, parser=one)
