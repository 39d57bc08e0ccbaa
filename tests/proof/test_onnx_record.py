"""Node cases that onnx 1.18.0 stored and lowprec decides otherwise: those differences, as docs/onnx.md has them.

The cases are a part of the wheel of onnx 1.18.0 (Apache License 2.0), under their names there.
"""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("onnx")

from support.onnx_releases import Difference, cases_in, decision, differences
from support.paths import ROOT

CASES = cases_in(ROOT / "tests/proof/golden/onnx-1.18.0-cases.zip")
FOUND = [one for case in CASES for one in differences(case)]
DIFFERENT = [one for one in FOUND if isinstance(one, Difference)]


def test_every_difference_is_a_decided_one() -> None:
    """In the numbers that the release has outside of expanded functions."""
    assert Counter(decision(one) for one in DIFFERENT) == {
        "bfloat16 cut off": 10, "FNUZ and Inf": 22, "NaN in float8_e5m2": 5, "NaN from FNUZ": 8,
        "int4 and uint4 clamped": 36, "NaN in float4_e2m1fn": 2,
    }  # fmt: skip
    assert sum(one for one in FOUND if isinstance(one, int)) == 418
