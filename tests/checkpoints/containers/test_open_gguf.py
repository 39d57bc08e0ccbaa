"""GGUF files that are opened, inspected and checked: the values are those of gguf-py."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("gguf")

import numpy as np
from gguf import quants
from support.command_line import run
from support.gguf_files import Type, write

import lowprec as lp

pytestmark = pytest.mark.usefixtures("working_folder")

TYPES = (Type.Q8_0, Type.Q4_0, Type.MXFP4)


def model() -> tuple[Path, np.ndarray]:
    x = np.random.default_rng(0).standard_normal((12, 64)).astype(np.float32)
    tensors = {f"blk.{i}.ffn_up.weight": (kind, quants.quantize(x, kind)) for i, kind in enumerate(TYPES)}
    return write(Path("x.gguf"), {**tensors, "output_norm.weight": np.ones(64, np.float32)}), x


@pytest.mark.parametrize("rows", [None, slice(3, 5), slice(11, None)])
@pytest.mark.parametrize("chunk", [64, 1 << 21])
def test_values(chunk: int, rows: slice | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.checkpoint.CHUNK", chunk)
    path, x = model()
    with lp.checkpoints.open(path) as checkpoint:
        assert list(checkpoint) == [*(f"blk.{i}.ffn_up.weight" for i in range(3)), "output_norm.weight"]
        for i, kind in enumerate(TYPES):
            expected = quants.dequantize(quants.quantize(x, kind), kind)
            found = checkpoint.read(f"blk.{i}.ffn_up.weight", to="float32", rows=rows)
            assert found.tobytes() == (expected if rows is None else expected[rows]).tobytes()
        info = checkpoint.info("blk.1.ffn_up.weight")
        assert (info.layout, info.shape, info.scales) == ("GGUF", (12, 64), None)
        assert info.scheme == "Q4_0: 18 bytes to 32 columns"
        assert info.nbytes == 12 * 2 * 18
        assert checkpoint["output_norm.weight"].dtype == np.float32


def test_headline_and_findings(capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = model()
    first = run("inspect", str(path), capsys=capsys).splitlines()[0]
    nbytes = 24 * (34 + 18 + 17) + 256
    assert first == f"x.gguf: GGUF Q8_0 and GGUF Q4_0 and GGUF MXFP4, 3 layers: {nbytes / 1024:.2f} KiB; " + (
        f"to bfloat16 {(3 * 12 * 64 * 2 + 256) / 1024:.2f} KiB"
    )
    assert [str(one) for one in lp.checkpoints.check(path)] == [
        f"note: GGUF {kind.name}: 1 weight" for kind in TYPES
    ]  # fmt: skip
