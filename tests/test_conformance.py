"""The conformance command finds the differences that are there, each with an input that shows it again."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.cli import main
from lowprec.conformance import command, libraries, render
from lowprec.conformance.libraries import Library, Lowprec, installed
from lowprec.conformance.report import Report, compare
from lowprec.conformance.rules import DISPUTED, RULES
from lowprec.conformance.trial import Call, Tensor, Trial

INF, NAN = "inf", "nan"


@pytest.fixture(scope="module")
def found() -> Report:
    return command.report()


def test_every_rule_is_tried_and_lowprec_keeps_them(found: Report, tally: Counter[str]) -> None:
    assert list(found.cells) == list(RULES)
    assert found.missing == []
    for name, row in found.cells.items():
        ours = row["lowprec"]
        assert ours.tried > 0, name
        tally["Conformance: lowprec beside the rules, every instruction set"] += ours.tried
        tally["Conformance: lowprec beside the rules, every instruction set differ"] += ours.differ
        assert ours.differ == 0, name
    assert sum(row["lowprec"].tried for row in found.cells.values()) > 20_000_000


# What is known of the installed versions: (rule, library, input, target, attributes, theirs, expected).
KNOWN = [
    ("float8 once", "ml_dtypes", "float64", "float8_e4m3fn", {}, None, None),
    ("wide once", "ml_dtypes", "float64", "bfloat16", {}, None, None),
    ("wide once", "ml_dtypes", "int64", "bfloat16", {}, None, None),
    ("wide once", "torch", "float64", "float16", {}, None, None),
    ("wide once", "onnx.reference", "float64", "bfloat16", {}, None, None),
    ("wide once", "ONNX Runtime", "float64", "bfloat16", {}, None, None),
    ("wide once", "ONNX Runtime", "float64", "float16", {}, None, None),
    ("float8 overflow saturate", "ml_dtypes", "float32", "float8_e4m3fn", {"saturate": 1}, "0x7F", "0x7E"),
    ("float8 overflow saturate", "torch", "float32", "float8_e5m2", {"saturate": 1}, "0x7C", "0x7B"),
    ("float8 NaN", "torch", "float32", "float8_e5m2", {"saturate": 1}, "0x7F", "0x7E"),
    ("wide NaN", "torch", "float32", "bfloat16", {}, "0x7FC0", "0xFFC0"),
    ("power Inf saturate", "onnx.reference", "float32", "float8_e8m0fnu", {"round_mode": "up"}, "0xFF", "0xFE"),
    ("power up", "onnx.reference", "float32", "float8_e8m0fnu", {"round_mode": "up"}, "0x01", "0x00"),
    ("power below", "onnx.reference", "float32", "float8_e8m0fnu", {"round_mode": "up"}, "0x00", "0xFF"),
    ("float8 overflow", "ONNX Runtime", "float32", "float8_e4m3fn", {"saturate": 0}, "0x7E", "0x7F"),
    ("float8 overflow", "ONNX Runtime", "float32", "float8_e5m2", {"saturate": 0}, "0x7F", "0x7C"),
    ("narrow truncate", "ONNX Runtime", "float32", "int4", {}, "0x1", "0x0"),
    ("FNUZ Inf", "onnx.reference", "float32", "float8_e4m3fnuz", {"saturate": 1}, "0x7F", "0x80"),
    ("FNUZ Inf", "ONNX Runtime", "float32", "float8_e5m2fnuz", {"saturate": 1}, "0x7F", "0x80"),
]


@pytest.mark.parametrize(("rule", "library", "source", "target", "attributes", "theirs", "expected"), KNOWN)
def test_known_differences_are_found(
    found: Report, rule: str, library: str, source: str, target: str, attributes: dict[str, Any],
    theirs: str | None, expected: str | None,
) -> None:  # fmt: skip
    matching = [
        one
        for one in found.differences
        if (one.rule, one.library, one.target) == (rule, library, target)
        and attributes.items() <= one.attributes.items()
        and (theirs is None or (one.theirs.split()[0], one.expected.split()[0]) == (theirs, expected))
    ]
    assert matching
    assert any(one.inputs[0]["format"] == source for one in matching)
