"""What Cast refuses: what is no array, holds no numbers, or is of another opset."""

from __future__ import annotations

import re
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.optional import Missing, optional

import lowprec as lp
from lowprec.spec.operator_versions import VERSIONS

torch: Any = optional("torch")

X = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize("x", [
    np.array(["a"]), np.array([1j]), np.array([None]), np.zeros(2, "m8[s]"), np.zeros(2, "f4,i4"),
    np.zeros(2, "V1"), np.array([b"a"]), strict.asarray([1j]), np.zeros(2, np.longdouble),
    *([] if isinstance(torch, Missing) else [torch.zeros(1, dtype=torch.complex128)]),
])  # fmt: skip
def test_not_a_number_format(x: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"got dtype {x.dtype}")):
        lp.encode(x, "float16")
    if not (isinstance(x, np.ndarray) and x.dtype.kind in "UO"):  # which Cast takes for text
        with pytest.raises(TypeError, match=re.escape(f"got dtype {x.dtype}")):
            lp.cast(x, "float16")
    with pytest.raises(TypeError, match="`codes` must hold"):
        lp.decode(x, "float16")


@pytest.mark.parametrize(
    "fmt", [fmt for fmt in lp.formats.values() if fmt.since not in (None, 1) and fmt.bits], ids=lambda f: f.name
)
def test_types_by_opset(fmt: lp.Format) -> None:
    if fmt.kind.value == "complex":
        with pytest.raises(ValueError, match="`to` must be one of"):
            lp.cast(X, fmt)
        return
    before = max(version for version in VERSIONS["Cast"] if version < fmt.since)
    codes = np.zeros(3, fmt.code_dtype)
    with pytest.raises(
        ValueError, match=rf"`to` .*Cast-{before} has; got {fmt.name}, which Cast has since opset {fmt.since}"
    ):
        lp.cast(X, fmt, opset=fmt.since - 1)
    with pytest.raises(ValueError, match=rf"`source` .*got {fmt.name}, which Cast has since opset {fmt.since}"):
        lp.cast(codes, "float32", source=fmt, opset=fmt.since - 1)
    assert lp.cast(X, fmt, opset=fmt.since).shape == X.shape
    assert lp.cast(codes, "float32", source=fmt, opset=fmt.since).shape == (3,)


def test_attributes_that_do_not_concern_the_target_are_ignored() -> None:
    assert lp.cast(X, "float16", saturate=False, round_mode="down").dtype == np.float16
    assert lp.cast(X, "int8", saturate=0).dtype == np.int8
    assert lp.cast(X, "int8", saturate=np.False_, opset=np.int64(28)).dtype == np.int8
