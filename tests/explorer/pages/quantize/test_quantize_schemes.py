"""The page Quantize for each scheme without a browser: controls, sentences, and what is copied."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from support.explorer_pages import asked, charts, healthy, page, texts
from support.optional import optional

import lowprec as lp
from lowprec.explorer.pages.quantize import snippets
from lowprec.explorer.pages.quantize.settings import MX_FORMATS, Settings, mx_settings, nvfp4_settings, scale_sentences
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor import Tensor, sampled, typed
from lowprec.explorer.pages.quantize.view import quantize
from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT8_E5M2, FLOAT8_E8M0FNU, INT4, INT8, UINT4
from lowprec.spec.rounding_modes import ROUNDINGS
from lowprec.spec.scale_rules import SCALE_RULES

onnx: Any = optional("onnx")

SMALL = {"rows": "6", "columns": "40"}
E4M3 = "e4m3,bias=8,inf=0,nan=negative-zero"


def labels(test: Any) -> set[str]:
    """Return the labels of the controls of the section, without those of the menus above the picture."""
    kinds = (test.selectbox, test.slider, test.toggle, test.number_input, test.button_group)
    return {one.label for kind in kinds for one in kind if "quantize.setting " not in (one.key or "")}


def metrics(test: Any) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


@pytest.mark.parametrize("index", range(len(MX_FORMATS)), ids=lambda index: MX_FORMATS[index].name)
def test_mx_in_every_format(index: int) -> None:
    fmt, rule = MX_FORMATS[index], SCALE_RULES[index % len(SCALE_RULES)]
    test = healthy(
        page(
            "quantize", show="result", origin="sampled", scheme="mx", fmt=fmt.name, scale_rule=rule, block="8", **SMALL
        )
    )
    found = quantize(sampled("normal", 6, 40, 0).values, mx_settings(fmt, 8, scale_rule=rule))
    assert metrics(test)["SQNR"] == f"≈{found.sqnr_db:.2f} dB"
    assert metrics(test)["bits per value"] == f"{fmt.bits + 1}"
    assert len(charts(test)) == 2
    assert any(f"by the rule {rule}" in caption.value for caption in test.caption)
    shown = labels(test)
    assert {"Scale rule", "Rounding", "Block size", "axis", "Format"} <= shown
    assert not shown & {"opset", "saturate", "zero point", "Format of the scales", "One scale for each", "round_mode"}
    assert f"<td>0x{found.scale_codes[0, 0]:02X}</td>" in texts(test)


def test_round_mode_is_asked_of_scales_that_are_rounded_to_powers() -> None:
    """Scales with zero points become powers of two by Cast's round_mode; others by the scale rule."""
    for scale, zero_point, is_asked in (
        ("float8_e8m0fnu", "1", True), ("float32", "1", False), ("float8_e8m0fnu", "0", False),
    ):  # fmt: skip
        test = healthy(
            page("quantize", show="result", origin="sampled", fmt="int8", scale=scale, zero_point=zero_point, **SMALL)
        )
        assert ("round_mode" in labels(test)) == is_asked, scale
        assert ("Scale rule" in labels(test)) == (scale == "float8_e8m0fnu" and not is_asked)


def test_scales_of_mx_are_shown_as_powers() -> None:
    """By OCP MX the scale of a block whose largest element is 12 is 2^(3 - 2) in FP4."""
    test = healthy(
        page("quantize", show="result", scheme="mx", fmt="float4_e2m1fn", block="4", origin="typed", x="12 -6 3 0")
    )
    assert "<td>2^1</td>" in texts(test)
    assert "<td>0x80</td>" in texts(test)


def test_nvfp4_shows_its_global_scale() -> None:
    test = healthy(page("quantize", show="result", scheme="nvfp4", origin="typed", x="2688 6 3 1.5"))
    assert metrics(test)["global scale"] == "1"
    assert metrics(test)["bits per value"] == "14"  # 4 + (8 + 32) / 4
    assert "× global scale" in texts(test)
    assert "<td>448</td>" in texts(test)
    assert labels(test) & {"Format", "Block size", "Scale rule", "opset"} == set()
    assert "None: QuantizeLinear takes no scales in float8_e4m3fn" in test.text[0].value


def test_controls_change_the_scheme() -> None:
    test = healthy(page("quantize", show="result", origin="sampled", fmt="uint4", **SMALL))
    scheme = next(group for group in test.button_group if group.label == "Scheme")
    healthy(scheme.set_value("mx").run())
    assert (asked(test, "scheme"), asked(test, "fmt")) == ("mx", "float4_e2m1fn")  # MX has no uint4
    box = next(box for box in test.selectbox if box.label == "Rounding")
    healthy(box.set_value("stochastic").run())
    assert "Seed of the rounding" in labels(test)
    assert "rounding='stochastic', seed=0" in copied_python(test)
    test = healthy(
        page("quantize", show="result", origin="sampled", fmt="float8_e5m2", saturate="0", opset="24", **SMALL)
    )
    box = next(box for box in test.selectbox if box.label == "Rounding")
    healthy(box.set_value("toward_zero").run())
    assert (asked(test, "opset"), asked(test, "saturate")) == ("28", "1")
    assert not labels(test) & {"opset", "saturate"}


@pytest.mark.parametrize("scheme", ["linear", "mx"])
def test_block_sizes_and_axes_that_can_be_chosen(scheme: str) -> None:
    test = healthy(
        page(
            "quantize",
            show="result",
            origin="sampled",
            scheme=scheme,
            fmt="float8_e5m2",
            per="block",
            block="256",
            **SMALL,
        )
    )
    slider = next(slider for slider in test.slider if slider.label == "Block size")
    assert (slider.min, slider.max, slider.value) == (1, 256, 256)
    box = next(box for box in test.selectbox if box.label == "axis")
    assert box.options == ["-1 (the last)", "0", "1"]


@pytest.mark.parametrize(("scheme", "count", "said"), [("linear", "1", False), ("mx", "4", True)])
def test_what_nan_does_to_its_block(scheme: str, count: str, said: bool) -> None:
    query = {"origin": "typed", "x": "nan 1 2 3", "fmt": "float4_e2m1fn", "block": "4"}
    test = healthy(page("quantize", show="result", scheme=scheme, **query))
    (metric,) = (metric for metric in test.metric if metric.label == "NaN or Inf")
    assert metric.value == count
    assert ("NaN or Inf in a block makes the whole block NaN." in metric.help) == said


def copied_python(test: Any) -> str:
    return str(test.code[1].value)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"scheme": "mx", "fmt": "uint8"}, "must be a float or int8"),
        ({"scheme": "nvfp4", "axis": "7"}, "axis"),
        ({"scheme": "mx", "axis": "-3"}, "axis"),
        ({"fmt": "float8_e5m2", "rounding": "to_odd", "opset": "23"}, "opset"),
    ],
)
def test_what_does_not_fit_gives_a_message_and_the_default(query: dict[str, str], said: str) -> None:
    test = page("quantize", show="result", origin="sampled", **query, **SMALL)
    assert not test.exception
    assert len(test.error) == 1
    assert said in test.error[0].value
    assert metrics(test)["SQNR"].endswith("dB")


def test_every_rule_has_its_sentence() -> None:
    for rule in SCALE_RULES:
        assert f"by the rule {rule}: E = " in scale_sentences(mx_settings(FLOAT4_E2M1FN, scale_rule=rule))
        linear = Settings(INT4, "block", scale_format=FLOAT8_E8M0FNU, scale_rule=rule)
        assert f"by the rule {rule}: " in scale_sentences(linear)
        unsigned = dataclasses.replace(linear, fmt=UINT4)
        assert "by the rule floor: " in scale_sentences(unsigned)
        assert "round_mode up" in scale_sentences(dataclasses.replace(unsigned, asymmetric=True))
    assert "OCP MX 1.0" not in scale_sentences(mx_settings(INT8))
    assert "has blocks of 32" in scale_sentences(mx_settings(INT8, 16))
    assert "no elements in float8_e4m3fnuz" in scale_sentences(mx_settings(lp.formats["float8_e4m3fnuz"]))
    assert "6 · 448" in scale_sentences(nvfp4_settings())
    ends = scale_sentences(Settings(UINT4, asymmetric=True))
    assert ends == "Each scale and zero point map the smallest and the largest x to the ends of the format."


TENSOR = sampled("student-t", 4, 40, 3)
STATE = Quantize(origin="sampled", distribution="student-t", rows=4, columns=40, seed=3)


def check_copied(settings: Settings, capsys: pytest.CaptureFixture[str], state: Quantize = STATE) -> str:
    """Run what is copied, compare it with what is shown, and return the other text."""
    tensor = typed(state.x) if state.origin == "typed" else TENSOR
    python, nodes = snippets.of_quantization(state, tensor, settings)
    found, names = quantize(tensor.values, settings), dict[str, Any]()
    capsys.readouterr()
    exec(python, names)
    assert float(capsys.readouterr().out) == found.max_abs_error
    assert names["x"].tobytes() == tensor.values.tobytes()
    assert (
        np.asarray(names["y"]).view(settings.fmt.code_dtype) & settings.fmt.code_mask
    ).tolist() == found.codes.tolist()
    assert np.array_equal(names["back"].astype(np.float64), found.dequantized, equal_nan=True)
    assert names["scale"].tobytes() == found.scale_codes.tobytes()
    if settings.scheme == "nvfp4":
        assert float(names["global_scale"]) == found.global_scale
    return nodes


@pytest.mark.parametrize("rule", SCALE_RULES)
@pytest.mark.parametrize("name", [*(fmt.name for fmt in MX_FORMATS), "binary6p3se", E4M3])
def test_what_is_copied_of_mx(name: str, rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Quantize(scheme="mx", fmt=name, block=7, scale_rule=rule).settings()
    nodes = check_copied(settings, capsys)
    assert nodes.startswith("import onnx") == (name != "int8" and "float" in name)
    if nodes.startswith("import onnx"):
        found, names = quantize(TENSOR.values, settings), dict[str, Any]()
        exec(nodes, names)
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in names["nodes"][0].attribute}
        assert attributes["output_dtype"] == settings.fmt.onnx_enum
        attributes.pop("saturate", None)
        scale = found.scale_codes.view(FLOAT8_E8M0FNU.dtype)
        same = lp.quantize_linear(TENSOR.values, scale, **attributes)  # what the node does with these scales
        assert same.view(settings.fmt.code_dtype).tolist() == found.codes.tolist()
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in names["nodes"][1].attribute}
        assert lp.dequantize_linear(same, scale, **attributes).tolist() == found.dequantized.tolist()


def test_the_nodes_of_mx_give_the_type_that_is_shown() -> None:
    half = Tensor(TENSOR.values.astype(np.float16))
    settings, names = mx_settings(FLOAT4_E2M1FN, 8), dict[str, Any]()
    exec(snippets.of_quantization(STATE, half, settings)[1], names)
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in names["nodes"][1].attribute}
    assert attributes["output_dtype"] == onnx.TensorProto.FLOAT  # what mx_dequantize returns, also for float16


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_what_is_copied_with_a_rounding(rounding: str, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"rounding": rounding, "rounding_seed": 5}
    linear = Settings(FLOAT8_E5M2, "block", **options)
    for settings in (mx_settings(INT8, 8, 0, **options), nvfp4_settings(axis=0, **options), linear):
        nodes = check_copied(settings, capsys)
        if rounding != "nearest_even":
            assert nodes.startswith("None: ")
    powers = Settings(INT4, "block", scale_format=FLOAT8_E8M0FNU, scale_rule="rceil", **options)
    assert check_copied(powers, capsys).startswith("import onnx")  # integers have no other rounding


def test_a_tensor_with_nan_has_no_nodes_in_mx(capsys: pytest.CaptureFixture[str]) -> None:
    state = Quantize(origin="typed", x="1 2 nan 4; 1 2 3 5")
    python, nodes = snippets.of_quantization(state, typed(state.x), mx_settings(FLOAT4_E2M1FN, 2))
    assert nodes.startswith("None: NaN and Inf make their whole block NaN in MX")
    names = dict[str, Any]()
    exec(python, names)
    found = quantize(typed(state.x).values, mx_settings(FLOAT4_E2M1FN, 2))
    assert np.array_equal(names["back"], found.dequantized, equal_nan=True)
    assert np.isnan(names["back"][0, 2:]).all()


def test_the_link_of_each_scheme_comes_back() -> None:
    for scheme in ("mx", "nvfp4"):
        test = healthy(
            page(
                "quantize",
                show="result",
                origin="sampled",
                scheme=scheme,
                rounding="stochastic_a",
                rounding_seed="12",
                **SMALL,
            )
        )
        link = test.code[0].value
        assert f"scheme={scheme}" in link
        assert "rounding_seed=12" in link


def test_the_format_of_a_scheme_is_carried_over() -> None:
    assert Quantize(scheme="nvfp4", fmt="int8").selection().format == "float4_e2m1fn"
    mx = Quantize(scheme="mx", fmt="float6_e3m2fn")
    assert mx.selection().format == "float6_e3m2fn"
    assert mx.with_selection(None, "uint4") == mx  # MX has no such elements
    assert mx.with_selection(None, "float8_e5m2").fmt == "float8_e5m2"
