"""`decode` and `pack` without a format: what the dtype names; dtypes that may hold codes of any format are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.optional import optional

import lowprec as lp
from lowprec.spec.formats import NUMERIC

torch: Any = optional("torch")
X = np.array([0.5, -2.0, 1.5, 1.0], np.float32)


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_decode(fmt: lp.Format) -> None:
    codes = lp.cast(X, fmt)
    expected = lp.decode(codes, fmt, to="float64")
    for _ in range(2):
        if fmt.is_integer and (fmt.name == "int8" or fmt.name in ("uint8", "uint16", "uint32", "uint64")):
            with pytest.raises(ValueError, match=rf"^`source` must be the format of the codes, which {fmt.name} does"):
                lp.decode(codes)
        else:
            assert np.array_equal(lp.decode(codes, to="float64"), expected)
    assert np.array_equal(lp.decode(codes, source=fmt, to="float64"), expected)


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
def test_pack(name: str) -> None:
    codes = lp.cast(X, name)
    expected = lp.encode(X, name, packed=True)
    assert np.array_equal(lp.pack(codes), expected)
    assert np.array_equal(lp.pack(codes, name), expected)
    assert np.array_equal(lp.pack(lp.encode(X, name), source=name), expected)
    for dtype in (np.uint8, np.int8):
        with pytest.raises(ValueError, match=r"^`source` must be the format of the codes, which u?int8 does not name"):
            lp.pack(np.zeros(4, dtype))
    with pytest.raises(ValueError, match=r"^`source` must be a 2-, 4- or 6-bit format to be packed; got float8_e5m2"):
        lp.pack(lp.cast(X, "float8_e5m2"))
    with pytest.raises(ValueError, match=r"^`source` must be the format of packed codes; got None"):
        lp.decode(expected, packed=True, shape=4)
    assert lp.decode(expected, source=name, packed=True, shape=4).tolist() == lp.decode(codes).tolist()


def test_torch() -> None:
    codes = lp.cast(torch.from_numpy(X), "float8_e4m3fn")
    for _ in range(2):
        assert torch.equal(lp.decode(codes), torch.from_numpy(X))
        assert torch.equal(torch.func.functionalize(lp.decode)(codes), torch.from_numpy(X))
        assert torch.equal(torch.vmap(lambda one: lp.decode(one, source="float8_e4m3fn"))(codes), torch.from_numpy(X))
    for call in (lp.decode, lp.pack, torch.func.functionalize(lp.decode)):
        with pytest.raises(ValueError, match=r"`source` must be the format of the codes, which torch\.uint8 does"):
            call(codes.view(torch.uint8))
