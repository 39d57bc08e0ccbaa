"""The heat map of a checkpoint: layers and kinds of names, losses as block_loss has them, what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.checkpoint_files import save
from support.explorer_pages import healthy, page, sent

from lowprec.explorer.pages.quantize.heat_map_picture import drawing
from lowprec.explorer.pages.quantize.heat_map_view import MOST_TENSORS, heat_map, layer_and_kind
from lowprec.explorer.pages.quantize.tensor import Tensor
from lowprec.loss import block_loss


def tensors(layers: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    found = {
        f"model.layers.{layer}.{kind}.weight": rng.standard_normal((8, 64)).astype(np.float32) * (layer + 1)
        for layer in range(layers)
        for kind in ("self_attn.q_proj", "mlp.up_proj")
    }
    return {**found, "lm_head.weight": np.eye(32, dtype=np.float32), "model.norm.weight": np.ones(64, np.float32)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("model.layers.12.self_attn.q_proj.weight", (12, "self_attn.q_proj")), ("blk.0.ffn_up.weight", (0, "ffn_up")),
     ("model.layers.3.mlp.experts.7.w1.weight", (3, "mlp.experts.7.w1")), ("lm_head.weight", (None, "lm_head")),
     ("fc1.weight", (None, "fc1")), ("h.5", (5, "h.5"))],
)  # fmt: skip
def test_layer_and_kind(name: str, expected: tuple[int | None, str]) -> None:
    assert layer_and_kind(name) == expected


def test_the_losses_are_those_of_the_library() -> None:
    x = tensors()
    found = heat_map(list(x), lambda name: Tensor(x[name]), ("nvfp4", "mxfp4"))
    assert (found.layers, found.kinds) == ((0, 1, None), ("self_attn.q_proj", "mlp.up_proj", "lm_head"))
    assert (len(found.cells), found.left_out) == (5, 1)  # the norm is no matrix
    for cell in found.cells:
        expected = [block_loss(x[cell.name], name) for name in ("nvfp4", "mxfp4")]
        assert cell.sqnr_db == pytest.approx([one.sqnr_db for one in expected], abs=1e-9)
        assert cell.bits_per_value == pytest.approx([one.bits_per_value for one in expected])
    for is_narrow in (False, True):
        text = str(drawing(found, is_narrow))
        assert "model.layers.1.mlp.up_proj.weight: " in text
        assert ">none<" in text


def test_only_some_tensors_are_measured() -> None:
    read = {f"layers.{place}.w": Tensor(np.ones((1, 4), np.float32)) for place in range(MOST_TENSORS + 3)}
    assert heat_map(list(read), read.__getitem__, ("int8,per=tensor",)).left_out == 3
    with pytest.raises(ValueError, match="no matrix"):
        heat_map(["a"], lambda _: Tensor(np.ones(4, np.float32)), ("nvfp4",))


def test_the_page_draws_it(tmp_path: Path) -> None:
    path = save(tmp_path / "model.safetensors", tensors())
    test = healthy(page("quantize", origin="folder", folder=str(path), show="heat-map"))
    names = [one["name"] for one in sent(test, "picture")]
    assert names == ["settings-side-by-side", "heat-map"]
    assert any("too many: 1 tensor." in caption.value for caption in test.caption)
    none = healthy(page("quantize", show="heat-map"))
    assert "Choose a file of several tensors" in none.info[0].value
