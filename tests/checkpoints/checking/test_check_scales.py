"""`lowprec check`: codes without scales, scales without codes, and numbers that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checked_models import (
    PROJECTIONS,
    UP,
    Model,
    Q,
    Tensors,
    channel,
    codes,
    compressed,
    deepseek,
    errors,
    gpt_oss,
    modelopt,
    nvfp4,
    only,
    pack,
    plain,
    write,
)
from support.quantized_checkpoints import LAYOUTS, REFUSED, write_folder
from support.typed_tensors import BF16, F8, Array

from lowprec.checkpoints import check
from lowprec.checkpoints.checking import values

pytestmark = pytest.mark.usefixtures("working_folder")

# --- scales ---


def replaced(tensor: str, place: tuple[int, ...] | list[tuple[int, ...]], value: Any) -> Callable[[Tensors], object]:
    """Return what puts a value at one place of a tensor, or at several."""

    def spoil(tensors: Tensors) -> None:
        array = tensors[tensor] = tensors[tensor].copy()
        for one in [place] if isinstance(place, tuple) else place:
            array[one] = value

    return spoil


INTEGERS = np.ones((192, 256), np.int8)
EXPERTS = "model.layers.1.mlp.experts.gate_up_proj_scales"
SPOILT: dict[str, tuple[Model, Callable[[Tensors], object], str, str, str]] = {
    "no scales": (deepseek, lambda t: t.pop(f"{UP}.weight_scale_inv"), "scales", f"{UP}.weight",
                  "holds float8_e4m3fn codes and has no scales"),
    "no codes": (deepseek, lambda t: t.pop(f"{UP}.weight"), "scales", f"{UP}.weight_scale_inv",
                 "of a weight that is missing"),
    "integers without scales": (channel, lambda t: (t.update({f"{UP}.weight": INTEGERS}), t.pop(f"{UP}.weight_scale")),
                                "scales", f"{UP}.weight", "holds int8 codes and has no scales"),
    "an exponent that is NaN": (gpt_oss, replaced(EXPERTS, (0, 3, 1), 255), "values", EXPERTS,
                                "has 1 NaN among 512 scales"),
    **{f"a scale, {value}, {name}": (model, replaced(f"{UP}.{name}", (1, 0), value), "values", f"{UP}.{name}",
                                     f"has 1 {text} among {size} scales")
       for value, text in ((np.nan, "NaN"), (np.inf, "infinite"), (-1.0, "negative"), (-0.0, "negative"))
       for model, name, size in ((deepseek, "weight_scale_inv", 4), (channel, "weight_scale", 192))},
    **{f"a scale of inputs, {value}": (modelopt, replaced(f"{UP}.input_scale", (), value), "values",
                                       f"{UP}.input_scale", "")
       for value in (np.nan, np.inf, -1, 0)},
    **{f"codes, {model.__name__}": (model, replaced(f"{UP}.weight", [(0, 0), (191, 255)], np.nan), "values",
                                    f"{UP}.weight", f"has 2 NaN among {192 * 256} codes")
       for model in (deepseek, channel)},
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILT)
def test_one_tensor_that_is_wrong(case: str) -> None:
    """Where it is a number, headers alone do not show it."""
    model, spoil, kind, tensor, text = SPOILT[case]
    tensors, config = model()
    spoil(tensors)
    only(write(tensors, config), kind, tensor, text)
    assert bool(errors("model", values=False)) == (kind != "values")


def test_the_scales_of_all_weights_are_missing() -> None:
    tensors, config = deepseek()
    tensors = {name: array for name, array in tensors.items() if "scale" not in name}
    found = errors(write(tensors, config))
    assert [(one.tensor, one.count) for one in found] == [
        ("model.layers.0.mlp.up_proj.weight", 2), ("model.layers.0.self_attn.q_proj.weight", 2),
    ]  # fmt: skip
    assert str(found[0]) == (
        "error: 'model.layers.0.mlp.up_proj.weight' and 1 more like it: "
        "holds float8_e4m3fn codes and has no scales, where others are quantized"
    )


@pytest.mark.parametrize("top", [448, 16])
def test_fp8_without_any_scale_is_judged_by_its_values(top: int) -> None:
    """Codes that reach the largest value had scales; weights that were only cast stay small."""
    numbers = np.linspace(-top, top, 192 * 256).astype(F8).reshape(192, 256)
    write({f"{UP}.weight": numbers, **plain()}, None)
    if top == 448:
        only("model", "scales", f"{UP}.weight", "up to 448 of 448 and has no scales: they seem to be lost")
    else:
        assert not errors("model")
        assert any("engines take their values" in one.text for one in check("model"))


def test_scales_beside_values() -> None:
    tensors, config = deepseek()
    tensors[f"{UP}.weight"] = np.ones((192, 256), BF16)
    found = errors(write(tensors, config))
    assert {(one.kind, one.tensor) for one in found} == {
        ("scales", f"{UP}.weight_scale_inv"), ("configuration", UP),
    }  # fmt: skip
    assert "which holds values (bfloat16) and no codes" in found[0].text


def test_bytes_without_a_description() -> None:
    write({f"{UP}.weight": np.ones((192, 128), np.uint8), **plain()}, None)
    only("model", "scales", f"{UP}.weight", "holds uint8 codes and has no scales")


@pytest.mark.parametrize("name", [name for name in REFUSED if name.startswith("unknown")])
def test_scales_of_an_unknown_name(name: str) -> None:
    found = errors(write_folder(Path("in"), LAYOUTS[name]))
    assert [one.kind for one in found] == ["scales"]
    assert "is no known kind of scales" in found[0].text


@pytest.mark.parametrize(
    ("model", "name", "array", "text"),
    [(deepseek, "weight_scale_inv", np.ones((3, 2), np.float32), "fits no weight of shape"),
     (channel, "weight_scale", np.ones((191, 1), BF16), "fits no weight of shape"),
     (nvfp4, "weight_scale", np.ones((192, 15), F8), "fits no weight of shape"),
     (pack, "weight_shape", np.array([192, 240]), "which fits no weight of [4] bits"),
     (nvfp4, "weight_global_scale", np.ones(2, np.float32), "must be one F32"),
     (channel, "weight_scale", np.ones(192, BF16), "engines expect [192, 1]")],
)  # fmt: skip
def test_scales_of_another_shape(model: Model, name: str, array: Array, text: str) -> None:
    """A fault in one weight hides nothing of the others."""
    tensors, config = model()
    tensors[f"{UP}.{name}"] = array
    found = errors(write(tensors, config))
    assert len(found) == 1
    assert found[0].tensor.startswith(UP)
    assert text in found[0].text
    assert any(one.kind == "layout" and one.text.endswith(("3 weights", "4 weights")) for one in check("model"))


@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_scales_that_are_zero(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With codes that are not, values are lost; with codes that are, there were none."""
    monkeypatch.setattr(values, "CHUNK", chunk)
    tensors, config = deepseek()
    tensors[f"{UP}.weight_scale_inv"][1, 1] = 0
    only(
        write(tensors, config), "values", f"{UP}.weight_scale_inv", "has 1 zero among 4 scales, for codes that are not"
    )
    tensors[f"{UP}.weight"] = tensors[f"{UP}.weight"].copy()
    tensors[f"{UP}.weight"][128:, 128:] = -0.0
    write(tensors, config, "right")
    assert not errors("right")
    assert any("for codes that are zero too" in one.text for one in check("right"))


def test_zero_scales_of_fp4() -> None:
    tensors, config = nvfp4()
    tensors[f"{UP}.weight_scale"][5, 3] = 0
    only(write(tensors, config), "values", f"{UP}.weight_scale", "has 1 zero among 3072 scales, for codes that are not")
    packed = tensors[f"{UP}.weight_packed"].copy()
    packed[5, 24:32] = 0x80
    write({**tensors, f"{UP}.weight_packed": packed}, config, "right")
    assert not errors("right")


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -2.0])
@pytest.mark.parametrize(("model", "name"), [(nvfp4, "weight_global_scale"), (modelopt, "weight_scale_2")])
def test_second_scales_that_are_none(model: Model, name: str, value: float) -> None:
    tensors, config = model()
    tensors[f"{UP}.{name}"] = np.full(tensors[f"{UP}.{name}"].shape, value, np.float32)
    found = errors(write(tensors, config))
    assert (found[0].tensor, found[0].kind) == (f"{UP}.{name}", "scales")
    assert "must be a positive number" in found[0].text


@pytest.mark.parametrize(("model", "name", "value"), [
    (nvfp4, "weight_global_scale", 1 / 5000), (modelopt, "weight_scale_2", 5000), (deepseek, "weight_scale_inv", 1000),
])  # fmt: skip
def test_scales_that_are_inverses(model: Model, name: str, value: float) -> None:
    """A second scale that divides in one layout multiplies in another; weights thousands of times too large."""
    tensors, config = model()
    for module in PROJECTIONS:
        tensors[f"{module}.{name}"][...] = value
    found = errors(write(tensors, config))
    assert {one.count for one in found} == {2}
    assert all("makes values of up to" in one.text for one in found)


def test_fused_weights_with_second_scales_of_their_own() -> None:
    tensors, config = nvfp4()
    for name in ("weight_packed", "weight_scale", "weight_global_scale"):
        tensors[f"model.layers.1.self_attn.k_proj.{name}"] = tensors[f"{Q}.{name}"].copy()
    assert not errors(write(tensors, config, "right"))
    tensors[f"{Q}.weight_global_scale"][0] = 4000
    only(
        write(tensors, config),
        "values",
        f"{Q}.weight",
        "has another second scale than 'model.layers.1.self_attn.k_proj",
    )


def test_zero_scales_of_integers() -> None:
    """-128 has the magnitude bits of 0, and is none."""
    tensors, _ = channel()
    config = compressed("int-quantized", num_bits=8, type="int", strategy="channel")
    numbers = np.zeros((192, 256), np.int8)
    tensors.update({f"{module}.weight": numbers for module in PROJECTIONS})
    tensors[f"{UP}.weight_scale"][7] = 0
    assert not errors(write(tensors, config, "right"))
    tensors[f"{UP}.weight"] = np.where(np.arange(192)[:, None] == 7, np.int8(-128), numbers)
    only(write(tensors, config), "values", f"{UP}.weight_scale", "has 1 zero among 192 scales, for codes that are not")


def test_long_names() -> None:
    """Errors of layouts cut names off; a fault stays one of its own module."""
    tensors, config = deepseek()
    name = "a_part_of_a_name." * 8 + UP
    tensors[f"{name}.weight"] = codes()
    tensors[f"{name}.weight_scale_inv"] = np.ones((3, 2), np.float32)
    found = errors(write(tensors, config))
    assert [one.kind for one in found] == ["scales"]
    assert "fits no weight of shape" in found[0].text
