"""The formats as tables of text, for the command line and docs/formats.md."""

from __future__ import annotations

from ..arrays.carriers import LIBRARY_FORMATS
from ..spec.format import own_dtype
from ..spec.formats import FORMATS, Format, Kind, NaNRule

__all__ = ["carrier_table", "code_table", "facts", "format_table", "markdown_table", "nan_codes"]

_HEADER = ("format", "ONNX", "enum", "bits", "s/e/m", "bias", "max", "smallest", "Inf", "NaN codes", "-0", "Cast since")


def nan_codes(fmt: Format, to: str = "-") -> str:
    """Return the NaN codes in hexadecimal, ranges as first-last; `to` stands between (a terminal may lack the –)."""
    width = fmt.storage_bits // 4
    if not fmt.is_float or fmt.nan is NaNRule.NONE:
        return "none"
    if fmt.nan is NaNRule.IEEE:
        if fmt.bits > 16:
            return "IEEE"
        first, last = fmt.exponent_mask + 1, fmt.magnitude_mask
        ends = [(first | sign, last | sign) for sign in sorted({0, fmt.sign_mask})]
        span = f"{to}{{1:0{width}X}}" if first < last else ""
        return ", ".join(f"{{0:0{width}X}}{span}".format(*pair) for pair in ends)
    assert fmt.nan_code is not None  # the other rules have one
    codes = [fmt.nan_code] + ([fmt.nan_code | fmt.sign_mask] if fmt.nan is NaNRule.ALL_ONES and fmt.signed else [])
    return ", ".join(f"{code:0{width}X}" for code in codes)


def _number(value: float | int) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1 << 17):
        return str(int(value))
    return f"{value:.6g}"


def _power(exponent: int) -> str:
    return f"2^{exponent}"


def _cells(fmt: Format, to: str = "-") -> tuple[str, ...]:
    layout = f"{int(fmt.signed)}/{fmt.exponent_bits}/{fmt.mantissa_bits}" if fmt.is_float else ""
    if fmt.kind is Kind.STRING:
        return (fmt.name, fmt.onnx_name, str(fmt.onnx_enum), "", "", "", "", "", "", "", "", str(fmt.since))
    if fmt.kind is Kind.COMPLEX:
        return (fmt.name, fmt.onnx_name, str(fmt.onnx_enum), str(fmt.bits), "", "", "", "", "", "", "", "never")
    smallest = _power(fmt.emin - fmt.mantissa_bits) if fmt.is_float else _number(fmt.min)
    inf = "yes" if fmt.has_inf else "none"
    return (
        fmt.name, fmt.onnx_name, str(fmt.onnx_enum), str(fmt.bits), layout, str(fmt.bias) if fmt.is_float else "",
        _number(fmt.max), smallest, inf if fmt.is_float else "", nan_codes(fmt, to) if fmt.is_float else "",
        ("yes" if fmt.has_negative_zero else "no") if fmt.is_float else "", str(fmt.since),
    )  # fmt: skip


def format_table() -> str:
    """Return every format as one aligned line; `smallest` is the smallest positive float, the least integer."""
    rows = [_HEADER, *map(_cells, FORMATS.values())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def markdown_table() -> str:
    """Return the table as Markdown."""
    rows = [_HEADER, ("---",) * len(_HEADER), *(_cells(fmt, "–") for fmt in FORMATS.values())]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


_LIBRARIES = {"numpy": "NumPy", "torch": "torch", "cupy": "CuPy", "jax": "JAX", "dask": "Dask", "": "any other"}


def _held_in(fmt: Format, library: str) -> str:
    """Return in one or two words what holds a format in a library of `LIBRARY_FORMATS`; '' is an unknown one."""
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


def carrier_table() -> str:
    """Return as Markdown what holds each format in each library; formats that are held alike share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for fmt in FORMATS.values():
        rows.setdefault(tuple(_held_in(fmt, library) for library in _LIBRARIES), []).append(fmt.name)
    lines = [("format", *_LIBRARIES.values()), ("---",) * (1 + len(_LIBRARIES))]
    lines += [(", ".join(names), *cells) for cells, names in rows.items()]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def facts(fmt: Format) -> str:
    """Return one format's facts, a line each."""
    pairs = list(zip(_HEADER, _cells(fmt), strict=True))
    if fmt.is_float:
        pairs += [
            ("max code", f"{fmt.max_code:0{fmt.storage_bits // 4}X}"),
            ("smallest normal", f"{_power(fmt.emin)} = {fmt.smallest_normal!r}"),
            ("eps", repr(fmt.eps)),
            ("overflow", {"never": "to Inf", "always": "to max", "asked": "by saturate"}[fmt.saturates]),
        ]
    pairs.append(("defined by", fmt.source))
    return "\n".join(f"{name:16} {text}" for name, text in pairs if text)


def code_table(fmt: Format) -> str:
    """Return the value of every code of a format of up to 8 bits, in lines of at most 120 characters.

    Floats are printed with the fewest digits that name them among float64, which holds each of them exactly.
    """
    from .. import reference  # the oracle, not the kernels: a table is not the place to be fast

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
