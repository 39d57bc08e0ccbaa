"""Who agrees: every trial put to every library, counted by rule, with the first input of each kind that differs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..formats import Kind
from .libraries import Library
from .oracle import Codes
from .rules import RULES
from .trial import Call, Tensor, Trial

__all__ = ["Cell", "Difference", "Report", "compare"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One input that shows a difference: codes in hexadecimal, what the library gives and what the rule asks."""

    rule: str
    library: str
    operator: str
    inputs: list[dict[str, Any]]
    attributes: dict[str, Any]
    opset: int | None
    target: str
    theirs: str
    expected: str


@dataclass(slots=True)
class Cell:
    """How many inputs of a rule a library was given, and how many came out otherwise."""

    tried: int = 0
    differ: int = 0
    differences: dict[Any, Difference] = field(default_factory=dict)


@dataclass(slots=True)
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

    def as_json(self) -> dict[str, Any]:
        """Return the report in the types that JSON has."""
        rows = [
            {"rule": name, **RULES[name]._asdict(),
             "results": {title: {"tried": cell.tried, "differ": cell.differ} for title, cell in row.items()}}
            for name, row in self.cells.items()
        ]  # fmt: skip
        return {
            "versions": self.versions, "missing": self.missing, "rules": rows,
            "differences": [asdict(one) for one in self.differences],
        }  # fmt: skip


def _shown(tensor: Tensor, index: int) -> dict[str, Any]:
    flat = tensor.codes.reshape(-1)
    if tensor.fmt.kind is Kind.STRING:
        return {"format": tensor.fmt.name, "value": str(flat[index])}
    value = tensor.array.reshape(-1)[index : index + 1]
    text = str(value.astype(np.float64)[0] if tensor.fmt.is_float else int(value[0]))
    return {"format": tensor.fmt.name, "code": f"0x{int(flat[index]):0{(tensor.fmt.bits + 3) // 4}X}", "value": text}


def _code(codes: Codes, index: int, call: Call) -> str:
    shown = _shown(Tensor(codes, call.target), index)
    return f"{shown['code']} ({shown['value']})" if "code" in shown else repr(shown["value"])


def _difference(trial: Trial, library: Library, index: int, size: int, theirs: str, expected: str) -> Difference:
    call = trial.call
    inputs = [_shown(one, index if one.codes.size == size else 0) for one in call.inputs if one is not None]
    opset = None if library.newest is None else min(call.opset, library.newest)
    target = call.target.name
    return Difference(
        trial.rule, library.title, call.operator, inputs, call.attributes, opset, target, theirs, expected
    )


def _judge(cell: Cell, trial: Trial, library: Library, opinions: list[Codes]) -> None:
    """Count what differs; keep the first input for each target and set of attributes."""
    call, expected = trial.call, trial.expected
    assert expected is not None
    expected = expected.reshape(-1)
    cell.tried += expected.size
    wrong = np.zeros(expected.shape, bool)
    for got in opinions:
        differs = got.reshape(-1) != expected if got.size == expected.size else ~wrong
        wrong |= differs
        key = call.target.name, tuple(sorted(call.attributes.items()))
        if differs.any() and key not in cell.differences:
            index = int(np.argmax(differs))
            theirs = _code(got, index, call) if got.size == expected.size else f"shape {got.shape}"
            shown = _code(expected, index, call)
            cell.differences[key] = _difference(trial, library, index, expected.size, theirs, shown)
    cell.differ += int(wrong.sum())


def compare(trials: Iterable[Trial], libraries: list[Library], missing: list[str]) -> Report:
    """Put every trial to every library.

    A library that raises an error offers no answer: the trial does not count for it.
    """
    cells: dict[str, dict[str, Cell]] = {name: {} for name in RULES}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # overflow and NaN are what is asked for
        for trial in trials:
            for library in libraries:
                try:
                    opinions = list(library.opinions(trial.call))
                except Exception:  # each library has errors of its own for what it lacks
                    continue
                _judge(cells[trial.rule].setdefault(library.title, Cell()), trial, library, opinions)
    return Report(
        {one.title: one.version for one in libraries}, {one.title: one.remark for one in libraries if one.remark},
        missing, cells,
    )  # fmt: skip
