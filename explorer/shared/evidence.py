"""Evidence: what the conformance run found for the rule that decides a number, and a check of Cast on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lowprec import Format
from lowprec.conformance.cast_cases import FAMILIES
from lowprec.conformance.cast_check import CastCheck, check_cast, rule_of_cast
from lowprec.conformance.comparison import DECIDED, DISPUTED, ONNX, RULES
from lowprec.conformance.report import kept_results
from lowprec.spec.custom_formats import why_not_converted
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT64, ONNX_NUMERIC
from lowprec.spec.operator_versions import INF_IS_NAN
from lowprec.spec.rounding_modes import STOCHASTIC

from .cast_options import CastOptions, options_for

__all__ = [
    "Checked",
    "Evidence",
    "Peer",
    "Run",
    "check",
    "check_both_ways",
    "check_overflow",
    "evidence",
    "of_code",
    "of_overflow",
    "of_range",
    "of_rounding",
    "of_rule",
    "run",
]

_OURS = "lowprec"

_SOURCES = (BFLOAT16, FLOAT16)
"""Of the check of a number: all their 131,072 codes reach every edge of the narrow formats."""

_OVERFLOW = (
    "float8 overflow", "float8 Inf", "FNUZ", "float8 NaN", "small overflow", "small NaN",
    "power above", "power Inf", "power NaN", "whole beyond", "whole special",
)  # fmt: skip
"""How the rules begin that Saturation shows."""

_SECTIONS = {ONNX: "docs/semantics.md", DECIDED: "docs/semantics.md", DISPUTED: "docs/semantics.md"}
_OTHER_SECTION = "docs/rounding.md"


@dataclass(frozen=True, slots=True)
class Peer:
    """Another library: its version, and how many of the inputs that it was given come out otherwise."""

    name: str
    version: str
    tried: int
    differ: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """One rule of the conformance table: its words, who says so and where the docs do; what the run found.

    `subject` is what on the page the rule decides.
    """

    subject: str
    group: str
    text: str
    basis: str
    section: str
    tried: int
    differ: int
    peers: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """When, where and with which version of lowprec the kept results were found."""

    date: str
    machine: str
    version: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: a result for each source, or why there is none; what it was made with."""

    target: Format
    checks: tuple[CastCheck, ...]
    problem: str = ""
    remark: str = ""


def run() -> Run:
    """Return the run that the evidence is of."""
    kept = kept_results()
    return Run(kept.date, kept.machine, kept.versions[_OURS])


def evidence(x: object, fmt: Format, options: CastOptions, source: Format = FLOAT64) -> Evidence | None:
    """Return the evidence for what a number becomes in a format; None where no rule of the table decides that."""
    name = rule_of_cast(x, fmt, source, **options_for(fmt, options))
    return None if name is None else of_rule(name, fmt.name)


def of_code(value: object, fmt: Format) -> Evidence | None:
    """Return the evidence for the value of a code: its cast to float64, which has every value of a narrow float."""
    return evidence(value, FLOAT64, {}, fmt)


def of_rounding(fmt: Format, rounding: str, subject: str) -> Evidence | None:
    """Return the evidence for the rounding of numbers in a format's range; None where the kept results have none."""
    family = next((name for name, targets in FAMILIES.items() if fmt in targets), None)
    name = f"round {family} {rounding}"
    return of_rule(name, subject) if name in RULES else None


def of_range(low: object, high: object, x: object, fmt: Format, options: CastOptions) -> tuple[Evidence, ...]:
    """Return the evidence for what the ends of a range and a number of it become in a format, each rule once."""
    rounding = options.get("rounding")
    if rounding in STOCHASTIC:
        found = [of_rounding(fmt, rounding, fmt.name)]
    else:
        found = [evidence(number, fmt, options) for number in (x, low, high)]
    return tuple(dict.fromkeys(row for row in found if row is not None))


def check_both_ways(fmt: Format) -> tuple[Checked, ...]:
    """Check the casts to a float and back, or say why there are none."""
    if reason := why_not_converted(fmt):
        return (Checked(fmt, (), f"no kernel converts it, {reason}: what is shown is computed in fractions"),)
    return check(fmt, {}), check(FLOAT64, {}, [fmt])


def of_overflow(opset: int) -> tuple[Evidence, ...]:
    """Return the evidence for every rule of what is too large, infinite or NaN."""
    names = [
        name
        for name in RULES
        if name.startswith(_OVERFLOW) and not name.startswith("round") and (name != "FNUZ Inf" or opset in INF_IS_NAN)
    ]
    return tuple(of_rule(name, RULES[name].group) for name in names)


def check_overflow(opset: int) -> tuple[Checked, ...]:
    """Check the 8-bit floats with and without `saturate`, from the 16-bit floats."""
    asked = [fmt for fmt in ONNX_NUMERIC if fmt.saturates == "asked" and (fmt.since or opset) <= opset]
    return tuple(
        replace(check(fmt, {"saturate": saturate, "opset": opset}, _SOURCES[:1]), remark=f"saturate = {int(saturate)}")
        for fmt in asked
        for saturate in (True, False)
    )


def of_rule(name: str, subject: str) -> Evidence:
    """Return the evidence of a rule, a key of `lowprec.conformance.comparison.RULES`, for what it decides."""
    rule, kept = RULES[name], kept_results()
    counts = kept.counts[name]
    peers = tuple(
        Peer(title, kept.versions[title], count.tried, count.differ)
        for title, count in counts.items()
        if title != _OURS and count.differ
    )
    section = _SECTIONS.get(rule.basis, _OTHER_SECTION)
    ours = counts[_OURS]
    return Evidence(subject, rule.group, rule.text, rule.basis, section, ours.tried, ours.differ, peers)


def check(fmt: Format, options: CastOptions, sources: Sequence[Format] = _SOURCES) -> Checked:
    """Compare the kernels with exact arithmetic now, from some sources to a format."""
    asked: dict[str, Any] = dict(options_for(fmt, options))
    if asked.get("rounding") in STOCHASTIC:
        return Checked(fmt, (), "a stochastic rounding has no single result to compare with")
    try:
        checks = tuple(check_cast(source, fmt, **asked) for source in sources if len(sources) == 1 or source is not fmt)
    except ValueError as error:
        return Checked(fmt, (), str(error))
    return Checked(fmt, checks)
