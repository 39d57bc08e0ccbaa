"""The synthetic checkpoint of `lowprec demo`: names and shapes of a Llama, sizes, quantiles, outlier channels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lowprec as lp
from lowprec.cli import demo

LINEAR = [
    f"{part}.{name}_proj.weight"
    for part, names in (("self_attn", "qkvo"), ("mlp", ("gate", "up", "down")))
    for name in names
]
"""The linear layers of a layer of Llama."""


def test_the_synthetic_checkpoint_is_a_llama(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        demo.write_model(tmp_path / name, 256)
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    entries = {entry.name: entry for entry in lp.checkpoints.inspect(tmp_path / "one")}
    assert {entry.format for entry in entries.values()} == {"bfloat16"}
    assert sum(entry.nbytes for entry in entries.values()) == demo.nbytes_of(256)
    norms = [f"model.layers.{i}.{name}_layernorm.weight" for i in range(2) for name in ("input", "post_attention")]
    ends = ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"]
    linear = [f"model.layers.{i}.{name}" for i in range(2) for name in LINEAR]
    assert entries.keys() == {*linear, *norms, *ends}
    config = json.loads((tmp_path / "one" / "config.json").read_text())
    width, inner = config["hidden_size"], config["intermediate_size"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    assert config["num_attention_heads"] * config["head_dim"] == width
    shapes = [(width, width), (keys, width), (keys, width), (width, width), (inner, width), (inner, width)]
    assert [entries[name].shape for name in linear] == [*shapes, (width, inner)] * 2
    assert [demo.width_of(size << 20) for size in (1, 4, 64, 1024)] == [128, 256, 1024, 4096]
    assert entries["lm_head.weight"].shape == entries[ends[0]].shape == (config["vocab_size"], width)


def test_weights_have_heavy_tails_and_outlier_channels(tmp_path: Path) -> None:
    """Quantiles of Student's t with 4 degrees of freedom, as tables print them; its deviation is the root of 2."""
    table = demo._quantiles()
    for p, t in ((0.5, 0.0), (0.9, 1.533), (0.975, 2.776), (0.995, 4.604), (0.9995, 8.610)):
        assert float(table[int(p * 65536)]) * 2**0.5 == pytest.approx(t, rel=0.003, abs=1e-4)
    demo.write_model(tmp_path, 512)
    for name, axis in (("self_attn.q_proj", 0), ("mlp.down_proj", 1)):
        with lp.checkpoints.open(tmp_path) as checkpoint:
            x = checkpoint[f"model.layers.1.{name}.weight"].astype(np.float64)
        spread = np.abs(x).mean(axis)  # rows differ by up to 4 anyway; columns do not
        outliers = spread[[32, 288]]
        if axis == 0:
            assert np.flatnonzero(spread > 2.5 * np.median(spread)).tolist() == [32, 288]
        assert outliers.min() > 1.9 * np.median(spread)
        assert np.abs(x).max() > 15 * x.std()
