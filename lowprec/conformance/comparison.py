"""Every case run with every library: differences counted by rule, with the first input of each kind that differs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..reference.array_cast import Codes
from ..spec.counted_text import count_text
from ..spec.formats import Kind
from .cases import Call, Case, Tensor
from .libraries import Library
from .report_rows import report_html
from .rules import RULES

__all__ = ["Cell", "Difference", "Report", "compare"]


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
        lines = [f"{title}: {remark}." for title, remark in self.remarks.items()]
        return [*lines, *([f"Not installed: {', '.join(self.missing)}."] if self.missing else [])]

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
