"""A conversion by the workers of a Dask cluster writes the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import convert_fails, everything, save, values
from support.command_line import run
from support.containers import checkpoint
from support.golden import GOLDEN
from support.resumed_conversions import fail, three_shards
from support.tiny_models import experts, experts_config, write_folder

from lowprec.checkpoints import convert

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    "options",
    [{"to": "float8_e4m3fn"}, {"to": "int4", "scale": "axis:0"}, {"to": "int8", "scale": "tensor", "verify": True},
     {"to": "float4_e2m1fn", "scale": "block:32", "scale_format": "float8_e8m0fnu"},
     {"to": "float8_e5m2", "rounding": "stochastic", "seed": 7, "scale": "axis:0", "scale_format": "float8_e8m0fnu",
      "scale_rule": "ceil"}],
    ids=str,
)  # fmt: skip
def test_the_same_bytes(options: Any, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.memory_limit.LARGEST_CHUNK", 1 << 12)
    monkeypatch.setattr("lowprec.checkpoints.execution.runners.Cluster.chunks", 3)
    source = checkpoint(Path("in"))
    alone = convert(source, "alone", **options)
    report = convert(source, "together", dask=address, **options)
    assert everything(Path("together")) == everything(Path("alone"))
    assert (report.total.nan, report.total.flushed) == (alone.total.nan, alone.total.flushed)
    np.savez_compressed("x.npz", w=values((70, 64)), v=values((3, 3)))
    convert("x.npz", "y.npz", **options)
    convert("x.npz", "z.npz", dask=address, **options)
    assert Path("y.npz").read_bytes() == Path("z.npz").read_bytes()


@pytest.mark.parametrize(
    ("source", "options"),
    [("W4A16", {"recipe": "nvfp4a16"}), ("W4A16", {"recipe": "w4a16"}), ("W4A16", {"to": "bfloat16"}),
     ("NVFP4A16", {"layout": "modelopt"}),
     ("FP8_BLOCK", {"recipe": "fnuz"}), ("fnuz", {"recipe": "fn"}), ("experts", {"recipe": "nvfp4a16"})],
    ids=str,
)  # fmt: skip
def test_the_same_bytes_of_recipes(source: str, options: Any, address: str) -> None:
    """Measured first, copied, dequantized, with other codes, of stacked experts."""
    folder = GOLDEN / source
    if source == "experts":
        folder = write_folder(Path("in"), experts(), experts_config())
    elif source == "fnuz":
        convert(GOLDEN / "FP8_BLOCK", folder := Path("in"), recipe="fnuz")
    convert(folder, "alone", **options)
    convert(folder, "together", dask=address, **options)
    assert everything(Path("together")) == everything(Path("alone"))


def test_what_another_run_began_is_resumed(address: str) -> None:
    source, target = three_shards(Path("in")), Path("out")
    fail(source, target, to="float16")
    report = convert(source, target, to="float16", resume=True, dask=address)
    assert report.remarks == ["the conversion is resumed: 2 of 3 files were finished"]
    convert(source, "whole", to="float16")
    assert everything(target) == everything(Path("whole"))


def test_an_error_on_a_worker(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez("x.npz", x=values((300, 300)))
    content = bytearray(Path("x.npz").read_bytes())
    content[200_000] ^= 1
    Path("x.npz").write_bytes(content)
    convert_fails("Bad CRC-32", "x.npz", "y.npz", to="float16", dask=address)


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.execution.runners.PATIENCE", 0.5)
    source = save(Path("x.safetensors"))
    for wrong in ("tcp://127.0.0.1:1", "nonsense"):
        convert_fails(f"`dask` {wrong}: no scheduler answers there", source, "y.safetensors", to="float16", dask=wrong)


def test_local_processes() -> None:
    source = save(Path("x.safetensors"))
    out = run(
        "convert", str(source), "y.safetensors", "--to", "float16", "--dask", "local", "--threads", "1",
        "--progress", "none",
    )  # fmt: skip
    assert "converted to float16" in out
    convert(source, "z.safetensors", to="float16")
    assert Path("y.safetensors").read_bytes() == Path("z.safetensors").read_bytes()
    convert(GOLDEN / "W4A16", "a", recipe="nvfp4a16", dask="local", threads=2)
    convert(GOLDEN / "W4A16", "b", recipe="nvfp4a16")
    assert everything(Path("a")) == everything(Path("b"))
