"""Programs that earlier versions saved, with operators of torch, are loaded and give the bits that they gave then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from support.torch_calls import bits

import lowprec.torch_ops

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.filterwarnings("default")  # torch's own parts
@pytest.mark.parametrize("kind", ["exported", "traced"])
@pytest.mark.parametrize("version", ["0.2.0"])
def test_saved_programs(version: str, kind: str) -> None:
    assert lowprec.torch_ops.LIBRARY.ns == "lowprec"
    wanted = torch.load(GOLDEN / f"{version}_results.pt")
    program: Any
    if kind == "exported":
        program = torch.export.load(GOLDEN / f"{version}.pt2").module()
    else:
        program = torch.jit.load(GOLDEN / f"{version}.pt")
    results = program(wanted["x"])
    assert [y.dtype for y in results] == wanted["dtypes"]
    codes = [y.contiguous().view(code.dtype) for y, code in zip(results, wanted["codes"], strict=True)]
    assert bits(codes) == bits(wanted["codes"])
