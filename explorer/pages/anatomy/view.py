"""Anatomy: the fields, the formula, the value and the neighbours of one code; the table of all codes."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterable

from lowprec import Format
from lowprec.explanation import hex_float
from lowprec.reference.exact_cast import decode

from ...shared.codes import Anatomy, classify, window
from ...shared.numbers import apart, code_text, power_form, short

__all__ = [
    "csv_text",
    "facts",
]


def facts(anatomy: Anatomy) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of the facts about a code; an inexact text begins with ≈."""
    value = anatomy.value
    rows = [("code", f"{code_text(anatomy.code, anatomy.format)} = {anatomy.code}")]
    if not value.special:
        rows += [("exact decimal", str(value)), ("hex-float", hex_float(value)), ("power of two", power_form(value))]
    for name, near in (("previous", anatomy.below), ("next", anatomy.above)):
        if near and near.distance is not None:
            rows.append(
                (
                    name,
                    f"{apart(near.value, anatomy.format)}  code {code_text(near.code, anatomy.format)}, "
                    f"{short(near.distance)} away",
                )
            )
    if anatomy.typed is not None and anatomy.error is not None and anatomy.ulps is not None:
        error = "none: exact" if anatomy.is_exact else f"{short(anatomy.error)} = {short(anatomy.ulps)} ulp"
        rows += [("typed", short(anatomy.typed, 40)), ("error of the code", error)]
    elif anatomy.typed is not None:
        rows.append(("typed", short(anatomy.typed, 40)))
    return tuple(rows)


def csv_text(code: int, fmt: Format) -> str:
    """Return the table as CSV: code, bits, class, exact decimal and hex-float of each."""
    return _csv(window(code, fmt), fmt)


@functools.lru_cache(maxsize=16)
def _csv(codes: range, fmt: Format) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("code", "bits", "class", "value", "hex_float"))
    writer.writerows(_csv_rows(codes, fmt))
    return out.getvalue()


def _csv_rows(codes: Iterable[int], fmt: Format) -> Iterable[tuple[str, ...]]:
    for code in codes:
        value = decode(code, fmt)
        yield code_text(code, fmt), f"{code:0{fmt.bits}b}", classify(code, fmt), str(value), hex_float(value)
