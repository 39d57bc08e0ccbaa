"""The rules, every case with every library, and the rows of the report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._notebook_display import count_text, html_block, html_lines, html_table
from ..reference.whole_arrays import Codes
from ..spec.formats import ONNX_NUMERIC, Format, Kind
from ..spec.rounding_modes import OVERFLOWS
from ..spec.scale_rules import SCALE_RULES
from .cast_cases import FAMILIES, MODES, Call, Case, Tensor
from .libraries import Library

__all__ = [
    "Cell",
    "Counts",
    "DECIDED",
    "DISPUTED",
    "Difference",
    "LEGEND",
    "ONNX",
    "RULES",
    "Report",
    "agrees",
    "compare",
    "remark_lines",
    "report_html",
    "row_groups",
]


ONNX = "ONNX"
DECIDED = "decided"
DISPUTED = "disputed"
P3109 = "P3109"


class Rule(NamedTuple):
    """One row: what is converted and what must come out."""

    group: str
    text: str
    basis: str = ONNX
    """Who says so: the operator's page; docs/semantics.md where the page is silent; the page, but not ONNX's data."""


def _names(chosen: Callable[[Format], bool]) -> str:
    return ", ".join(fmt.name for fmt in ONNX_NUMERIC if chosen(fmt))


_WIDE = f"to {_names(lambda fmt: fmt.is_float and fmt.bits >= 16)}"
_FLOAT8 = f"to {_names(lambda fmt: fmt.is_float and fmt.bits == 8 and fmt.has_zero)}"
_SMALL = f"to {_names(lambda fmt: fmt.is_float and fmt.bits < 8)}"
_POWER = f"to {_names(lambda fmt: fmt.is_float and not fmt.has_zero)}"
_INTEGERS = "to integers and bool"
_TEXT = "the same format, text, bits"
_ONCE = "64-bit floats, 32- and 64-bit integers where two roundings differ from one"
_NARROW = _names(lambda fmt: fmt.is_integer and fmt.bits < 8)
_WITH_INF = _names(lambda fmt: fmt.is_float and fmt.bits == 8 and fmt.has_inf)

_HALVES = " or ".join(fmt.name for fmt in ONNX_NUMERIC if fmt.is_float and fmt.bits == 16)
_QUANTIZE = "QuantizeLinear"
_DEQUANTIZE = "DequantizeLinear"

RULES: dict[str, Rule] = {
    "wide exact": Rule(_WIDE, "every code of a narrower format: its exact value"),
    "wide nearest": Rule(_WIDE, "to nearest, ties to even, subnormals, signed zeros"),
    "wide once": Rule(_WIDE, _ONCE, DECIDED),
    "wide overflow": Rule(_WIDE, "overflow and Inf: Inf"),
    "wide NaN": Rule(_WIDE, "NaN: quiet, with the sign", DECIDED),
    "wide payload": Rule(_WIDE, "NaN with a payload: the canonical NaN", DECIDED),
    "float8 nearest": Rule(_FLOAT8, "to nearest, ties to even, subnormals, signed zeros"),
    "float8 once": Rule(_FLOAT8, _ONCE, DECIDED),
    "float8 overflow saturate": Rule(_FLOAT8, "overflow, saturate=1: the largest value"),
    "float8 overflow": Rule(_FLOAT8, "overflow, saturate=0: Inf or NaN"),
    "float8 Inf saturate": Rule(_FLOAT8, "Inf, saturate=1: the largest value"),
    "float8 Inf": Rule(_FLOAT8, "Inf, saturate=0: Inf or NaN"),
    "FNUZ Inf": Rule(
        _FLOAT8, "Inf, saturate=1, FNUZ at opset 19 to 23: NaN by the text, the largest value in ONNX's data", DISPUTED
    ),
    "float8 NaN": Rule(_FLOAT8, "NaN: the canonical NaN, with the sign if there is one", DECIDED),
    "small nearest": Rule(_SMALL, "to nearest, ties to even, subnormals, signed zeros"),
    "small once": Rule(_SMALL, _ONCE, DECIDED),
    "small overflow": Rule(_SMALL, "overflow and Inf: the largest value", DECIDED),
    "small NaN": Rule(_SMALL, "NaN: zero of the opposite sign, as in ONNX's node data", DECIDED),
    "power up": Rule(_POWER, "2^-127 to 2^127, round_mode up"),
    "power down": Rule(_POWER, "2^-127 to 2^127, round_mode down"),
    "power nearest": Rule(_POWER, "2^-127 to 2^127, round_mode nearest (ties up)"),
    "power once": Rule(_POWER, _ONCE, DECIDED),
    "power below saturate": Rule(_POWER, "below 2^-127, zero, saturate=1: 00"),
    "power below": Rule(_POWER, "below 2^-127, zero, saturate=0: NaN"),
    "power above saturate": Rule(_POWER, "above 2^127, saturate=1: FE"),
    "power above": Rule(_POWER, "above 2^127, saturate=0: NaN"),
    "power Inf saturate": Rule(_POWER, "Inf, saturate=1: FE"),
    "power Inf": Rule(_POWER, "Inf, saturate=0: NaN"),
    "power NaN": Rule(_POWER, "NaN: FF"),
    "power negative": Rule(_POWER, "negative numbers: the sign is ignored", DECIDED),
    "whole low bits": Rule(_INTEGERS, "integer to integer of 8 bits and more: the low bits"),
    "narrow low bits": Rule(_INTEGERS, f"integer to {_NARROW}: the low bits"),
    "whole truncate": Rule(_INTEGERS, "float to integer of 8 bits and more, in range: toward zero"),
    "narrow truncate": Rule(_INTEGERS, f"float to {_NARROW}, in range: toward zero"),
    "whole beyond": Rule(_INTEGERS, "float to integer, out of range: modulo 2^n", DECIDED),
    "whole special": Rule(_INTEGERS, "NaN, Inf to integer: 0", DECIDED),
    "bool": Rule(_INTEGERS, "to bool: not zero"),
    "same": Rule(_TEXT, "a format to itself: the bits are copied", DECIDED),
    "same saturate": Rule(_TEXT, f"{_WITH_INF} to itself, saturate=1: Inf and NaN by the table", DECIDED),
    "text to float": Rule(_TEXT, "decimal text to float: rounded once", DECIDED),
    "text to integer": Rule(_TEXT, "decimal text to 64-bit integer: exact"),
    "text from float": Rule(_TEXT, "float to text: the fewest digits that give it back", DECIDED),
    "bit cast": Rule(_TEXT, "BitCast between formats of 8 bits and more"),
    "bit cast narrow": Rule(_TEXT, "BitCast between formats of 2 and 4 bits"),
    "quantize even": Rule(_QUANTIZE, "to integers: half to even, plus the zero point"),
    "quantize clamp": Rule(_QUANTIZE, "to integers, beyond the range (300, 3e9, 1e30): clamped"),
    "quantize special": Rule(_QUANTIZE, "to integers: Inf gives the ends, NaN the lower end", DECIDED),
    "quantize precision": Rule(_QUANTIZE, f"{_HALVES} operands: the quotient is rounded to that, where it matters"),
    "quantize attribute": Rule(_QUANTIZE, f"precision={_HALVES}: the quotient is rounded to that, where it matters"),
    "quantize int32": Rule(_QUANTIZE, "int32 with a float32 scale: converted to float32", DECIDED),
    "quantize power": Rule(_QUANTIZE, "scales that are powers of two: float32 arithmetic", DECIDED),
    "quantize float8 saturate": Rule(_QUANTIZE, "to float8, saturate=1"),
    "quantize float8": Rule(_QUANTIZE, "to float8, saturate=0"),
    "quantize small": Rule(_QUANTIZE, "to float6, float4; their zero point is added", DECIDED),
    "quantize axis": Rule(_QUANTIZE, "a scale for each index of an axis"),
    "quantize block": Rule(_QUANTIZE, "blocks"),
    "quantize short": Rule(_QUANTIZE, "blocks, the last one short"),
    "quantize refuses": Rule(_QUANTIZE, "shapes and attributes that do not fit: an error"),
    "dequantize codes": Rule(_DEQUANTIZE, "every code of up to 8 bits, float32 scale, zero points"),
    "dequantize narrow scale": Rule(_DEQUANTIZE, f"{_HALVES} scale: the product in float32, rounded to that", DECIDED),
    "dequantize output": Rule(_DEQUANTIZE, f"output_dtype={_HALVES}"),
    "dequantize power": Rule(_DEQUANTIZE, "scales that are powers of two"),
    "dequantize zero point": Rule(_DEQUANTIZE, "from float6, float4: the zero point is taken away"),
    "dequantize axis": Rule(_DEQUANTIZE, "a scale for each index of an axis"),
    "dequantize block": Rule(_DEQUANTIZE, "blocks"),
    "dequantize short": Rule(_DEQUANTIZE, "blocks, the last one short"),
    "dequantize refuses": Rule(_DEQUANTIZE, "shapes that do not fit: an error"),
}

_MODE_TEXTS = {
    "nearest_even": "to nearest, ties to the even code",
    "nearest_away": "to nearest, ties away from zero",
    "nearest_zero": "to nearest, ties toward zero",
    "toward_zero": "the neighbour nearer to zero",
    "away_from_zero": "the neighbour farther from zero",
    "toward_positive": "the greater neighbour",
    "toward_negative": "the lesser neighbour",
    "to_odd": "the neighbour with the odd code",
    "stochastic_a": "floor(v * 2^N) + R >= 2^N",
    "stochastic_b": "floor(v * 2^(N+1)) + 2R + 1 >= 2^(N+1)",
    "stochastic_c": "round(v * 2^N) + R >= 2^N",
}
_NOT_IN_P3109 = ("nearest_zero", "away_from_zero")
_SCALE_TEXTS = {
    "floor": ("floor(log2 a) - emax", "OCP MX"),
    "ceil": ("ceil(log2 a) - emax", "torchao"),
    "rceil": ("the least exponent with a <= M * 2^E", "cuBLAS"),
    "even": ("floor(log2 a') - emax, a' rounded to the mantissa of the elements", "torchao"),
    "nearest": ("floor(log2 a + 1/2) - emax", "FBGEMM"),
}


def _rounding_rules() -> dict[str, Rule]:
    """Return the rows of the rounding modes, of overflow and of scale rules."""
    rules = {}
    for family, targets in FAMILIES.items():
        names = ", ".join(fmt.name for fmt in targets)
        group = f"rounding= to {'8-bit formats of IEEE P3109' if family == P3109 else names}"
        for mode in MODES:
            basis = DECIDED if mode in _NOT_IN_P3109 else P3109
            rules[f"round {family} {mode}"] = Rule(group, f"{mode}: {_MODE_TEXTS[mode]}", basis)
        for overflow in OVERFLOWS:
            rules[f"round {family} over {overflow}"] = Rule(group, f"beyond the largest value, Inf: {overflow}", P3109)
        for overflow in OVERFLOWS if any(not fmt.signed for fmt in targets) else ():
            rules[f"round {family} below {overflow}"] = Rule(group, f"below the range: {overflow}", P3109)
    for name in SCALE_RULES:
        text, basis = _SCALE_TEXTS[name]
        rules[f"scale {name}"] = Rule("scales of MX blocks", f"{name}: {text}", basis)
    return rules


RULES |= _rounding_rules()


_LEGENDS = {
    ONNX: "differ / tried: how many inputs come out otherwise than the rule says, of how many. -: not offered.",
    DECIDED: f"{DECIDED}: ONNX is silent, docs/semantics.md decides.",
    DISPUTED: f"{DISPUTED}: ONNX's text and its own data disagree.",
    P3109: f"{P3109}: IEEE P3109, interim report 4.0. v: the part of the way to the neighbour farther from zero; R: a "
    "random number of N bits.",
    "": "a: the largest magnitude of a block; M: that of its elements, emax its exponent.",
}
"""What is said of the table, by who says the rules; the first sentence always, the last one of scale rules."""

LEGEND = " ".join(_LEGENDS.values())

Group = tuple[str, list[list[str]]]
"""The title of a group, and the cells of each of its rows: the rule, who says so, and one for each library."""


class Counts(Protocol):
    """What is counted of a rule and a library."""

    @property
    def tried(self) -> int:
        """How many inputs the library was given."""

    @property
    def differ(self) -> int:
        """How many came out otherwise."""


def _number(count: int) -> str:
    """Return a count in at most four characters: 1234567 as 1.2M."""
    if count < 10_000:
        return str(count)
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if count >= unit:
            scaled = count / unit
            return f"{scaled:.0f}{name}" if scaled >= 10 else f"{scaled:.1f}{name}"
    raise AssertionError


def _cell(counts: Counts | None) -> str:
    return "-" if counts is None else f"{_number(counts.differ)} / {_number(counts.tried)}"


def row_groups(libraries: Iterable[str], counts: Mapping[str, Mapping[str, Counts]]) -> list[Group]:
    """Return the groups of the table, in the order of the rules; those that nothing was compared with are left out."""
    columns, groups = list(libraries), []
    for title, names in groupby((name for name in RULES if counts.get(name)), key=lambda name: RULES[name].group):
        lines = [
            [RULES[name].text, RULES[name].basis, *(_cell(counts[name].get(one)) for one in columns)] for name in names
        ]
        groups.append((title, lines))
    return groups


def agrees(cells: Iterable[str]) -> bool:
    """Whether no library of these differs."""
    return all(cell.startswith(("0 /", "-")) for cell in cells)


def report_html(
    versions: Mapping[str, str], counts: Mapping[str, Mapping[str, Counts]], caption: str, remarks: Iterable[str] = ()
) -> str:
    """Return for notebooks a table of the rules that a library differs from, and one, folded, of all others.

    Parameters
    ----------
    versions : mapping of str to str
        The libraries, and the version of each.
    counts : mapping
        By rule and library.
    caption : str
        What was compared, and when.
    remarks : iterable of str
        Lines below the tables.

    Returns
    -------
    str
        One element.
    """
    header = ["rule", "says", *(f"{title} {version}" for title, version in versions.items())]
    groups = row_groups(versions, counts)
    parts = []
    for differs in (True, False):
        rows: list[list[str]] = []
        for title, lines in groups:
            chosen = [line for line in lines if agrees(line[2:]) is not differs]
            rows += [[title], *chosen] if chosen else []
        n = sum(len(row) > 1 for row in rows)
        what = f"{count_text(n, 'rule')} that {'a' if differs else 'no'} library differs from"
        table = html_table([header, *rows], f"{caption}: {what}", right=range(2, len(header)))
        if n:
            parts.append(table if differs else f"<details><summary>{what}</summary>\n{table}\n</details>")
    bases = {line[1] if line[1] in _LEGENDS else "" for _, lines in groups for line in lines} | {ONNX}
    legend = " ".join(text for basis, text in _LEGENDS.items() if basis in bases)
    return html_block(*parts, html_lines([legend, *remarks]))


@dataclass(frozen=True, slots=True)
class Difference:
    """One input that shows a difference: codes in hexadecimal, the library's result and the expected one.

    Some loops treat long arrays otherwise than short ones: `copies` is how often the input must stand in the array.
    """

    rule: str
    library: str
    operator: str
    inputs: list[dict[str, Any]]
    attributes: dict[str, Any]
    opset: int | None
    target: str
    theirs: str
    expected: str
    copies: int = 1


@dataclass(slots=True)
class Cell:
    """How many inputs of a rule a library was given, and how many came out otherwise."""

    tried: int = 0
    differ: int = 0
    differences: dict[Any, Difference] = field(default_factory=dict)


def remark_lines(remarks: Mapping[str, str]) -> list[str]:
    """Return a sentence for each remark on a library."""
    return [f"{title}: {remark}." for title, remark in remarks.items()]


@dataclass(slots=True, repr=False)
class Report:
    """The table, by rule and library; what was declined has no cell."""

    versions: dict[str, str]
    remarks: dict[str, str]
    missing: list[str]
    cells: dict[str, dict[str, Cell]]

    @property
    def differences(self) -> list[Difference]:
        """One for each rule, library, target and set of attributes, in the order of the rules."""
        return [one for row in self.cells.values() for cell in row.values() for one in cell.differences.values()]

    @property
    def notes(self) -> list[str]:
        """What is to be said of libraries: remarks on them, and which ones are not installed."""
        return [*remark_lines(self.remarks), *([f"Not installed: {', '.join(self.missing)}."] if self.missing else [])]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {count_text(len(self.cells), 'rule')} with {', '.join(self.versions)}>"

    def _repr_html_(self) -> str:
        """Return the table of rules and libraries for notebooks."""
        return report_html(self.versions, self.cells, "conformance", self.notes)

    def as_json(self) -> dict[str, Any]:
        """Return the report in the types that JSON has."""
        rows = [
            {
                "rule": name,
                **RULES[name]._asdict(),
                "results": {title: {"tried": cell.tried, "differ": cell.differ} for title, cell in row.items()},
            }
            for name, row in self.cells.items()
        ]
        return {
            "versions": self.versions,
            "remarks": self.remarks,
            "missing": self.missing,
            "rules": rows,
            "differences": [asdict(one) for one in self.differences],
        }


def _element_as_json(tensor: Tensor, index: int) -> dict[str, Any]:
    flat = tensor.codes.reshape(-1)
    if tensor.fmt.kind is Kind.STRING:
        return {"format": tensor.fmt.name, "value": str(flat[index])}
    value = tensor.values(index)
    text = str(value.astype(np.float64)[0] if tensor.fmt.is_float else int(value[0]))
    return {"format": tensor.fmt.name, "code": f"0x{int(flat[index]):0{(tensor.fmt.bits + 3) // 4}X}", "value": text}


def _tensor_as_json(tensor: Tensor) -> dict[str, Any]:
    return {
        "format": tensor.fmt.name,
        "shape": list(tensor.codes.shape),
        "codes": [f"0x{code:X}" for code in tensor.codes.reshape(-1).tolist()],
    }


def _code(codes: Codes, index: int, call: Call) -> str:
    shown = _element_as_json(Tensor(codes, call.target), index)
    return f"{shown['code']} ({shown['value']})" if "code" in shown else repr(shown["value"])


def _difference(case: Case, library: Library, index: int, theirs: str, expected: str, copies: int = 1) -> Difference:
    call = case.call
    operands = [one for one in call.inputs if one is not None]
    single = call.is_elementwise and case.expected is not None
    inputs = [
        _element_as_json(one, min(index, one.codes.size - 1)) if single else _tensor_as_json(one) for one in operands
    ]
    opset = None if library.newest is None else min(call.opset, library.newest)
    return Difference(
        case.rule,
        library.title,
        call.operator,
        inputs,
        call.attributes,
        opset,
        call.target.name,
        theirs,
        expected,
        copies,
    )


def _first_difference(library: Library, case: Case, index: int, expected: Any, got: Codes) -> tuple[Codes, int]:
    """Return what the library gives for one input without the others, and how many copies of it that took."""
    x, *others = case.call.inputs
    if x is not None and case.call.is_elementwise:
        for copies in (1, 64):
            call = replace(case.call, inputs=(x.repeated(index, copies), *others))
            for result in _results(library, call) or ():
                if result.reshape(-1)[0] != expected:
                    return result.reshape(-1)[:1], copies
    return got.reshape(-1)[index : index + 1], got.size


def _results(library: Library, call: Call) -> list[Codes] | None:
    """Return what a library gives, None if it raises an error: each has its own for what it lacks."""
    try:
        return list(library.results(call))
    except Exception:
        return None


def _count_refusal(cell: Cell, case: Case, library: Library, results: list[Codes] | None) -> None:
    """Count a call that must be refused."""
    cell.tried += 1
    if results is not None:
        cell.differ += 1
        got = f"a result of shape {list(results[0].shape)}"
        cell.differences[len(cell.differences)] = _difference(case, library, 0, got, "an error")


def _count_differences(cell: Cell, case: Case, library: Library, expected: Codes, results: list[Codes] | None) -> None:
    """Count what differs; keep the first input for each target, kind of source and set of attributes."""
    call = case.call
    cell.tried += expected.size
    wrong = np.full(expected.size, results is None)
    kinds = tuple(one and one.fmt.kind for one in call.inputs)
    key = call.target.name, kinds, tuple(sorted(call.attributes.items()))
    if results is None and key not in cell.differences:
        cell.differences[key] = _difference(case, library, 0, "an error", _code(expected, 0, call))
    for got in results or ():
        if got.size != expected.size:
            wrong[:] = True
            shape = f"a result of shape {list(got.shape)}"
            cell.differences.setdefault(key, _difference(case, library, 0, shape, _code(expected, 0, call)))
            continue
        differs = got.reshape(-1) != expected
        wrong |= differs
        if differs.any() and key not in cell.differences:
            index = int(np.argmax(differs))
            theirs, copies = _first_difference(library, case, index, expected[index], got)
            shown = _code(theirs, 0, call), _code(expected, index, call)
            cell.differences[key] = _difference(case, library, index, *shown, copies)
    cell.differ += int(wrong.sum())


def compare(cases: Iterable[Case], libraries: list[Library], missing: list[str]) -> Report:
    """Run every case with every library.

    The case does not count for a library that raises an error, except for lowprec, which must compute it.
    """
    cells: dict[str, dict[str, Cell]] = {name: {} for name in RULES}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # overflow and NaN are the subject
        for case in cases:
            for library in libraries:
                results = _results(library, case.call)
                valid = results if case.control is None else _results(library, case.control)
                if valid is None and not library.offers_all:
                    continue
                cell = cells[case.rule].setdefault(library.title, Cell())
                if case.expected is None:
                    _count_refusal(cell, case, library, results)
                else:
                    _count_differences(cell, case, library, case.expected.reshape(-1), results)
    return Report(
        {one.title: one.version for one in libraries},
        {one.title: one.remark for one in libraries if one.remark},
        missing,
        cells,
    )
