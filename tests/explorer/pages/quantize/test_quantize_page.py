"""The page Quantize without a browser: what each scheme asks and says, files, what is copied, and the evidence."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.explorer_pages import asked, charts, healthy, page, texts
from support.explorer_states import quantize as states
from support.optional import optional
from support.snippets import model_of, run

import lowprec as lp
from lowprec import reference
from lowprec.conformance.report import kept_results
from lowprec.explorer.pages.quantize import evidence as view
from lowprec.explorer.pages.quantize import snippets
from lowprec.explorer.pages.quantize.settings import (
    GRANULARITIES,
    MX_FORMATS,
    SCALE_FORMATS,
    TARGETS,
    Settings,
    mx_settings,
    nvfp4_settings,
    scale_sentences,
)
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor import DISTRIBUTIONS, Tensor, sampled, typed
from lowprec.explorer.pages.quantize.tensor_files import from_file
from lowprec.explorer.pages.quantize.view import Quantized, quantize
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT8_E5M2, FLOAT8_E8M0FNU, FLOAT32, INT4, INT8, UINT4, UINT8, Format
from lowprec.spec.rounding_modes import ROUNDINGS
from lowprec.spec.scale_rules import SCALE_RULES

onnx: Any = optional("onnx")

SMALL = {"rows": "6", "columns": "40"}
E4M3 = "e4m3,bias=8,inf=0,nan=negative-zero"
NPY = "application/octet-stream"
BY_NAME = {"ids": lambda fmt: fmt.name}
Capture = pytest.CaptureFixture[str]


def result(**query: str) -> Any:
    """Return the section One setting, of a sampled tensor unless the link says otherwise."""
    return page("quantize", show="result", **{"origin": "typed" if "x" in query else "sampled", **query})


def labels(test: Any) -> set[str]:
    """Return the labels of the controls of the section, without those of the menus above the picture."""
    kinds = (test.selectbox, test.slider, test.toggle, test.number_input, test.button_group)
    return {one.label for kind in kinds for one in kind if "quantize.setting " not in (one.key or "")}


def by_label(elements: Any, label: str) -> Any:
    return next(element for element in elements if element.label == label)


def metrics(test: Any) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


def captions(test: Any) -> str:
    return "\n".join(caption.value for caption in test.caption)


def test_mx_asks_for_a_rule_and_shows_its_scales() -> None:
    test = healthy(result(scheme="mx", fmt="float6_e2m3fn", scale_rule="rceil", block="8", **SMALL))
    found = quantize(
        sampled("normal", 6, 40, 0).values, mx_settings(lp.formats["float6_e2m3fn"], 8, scale_rule="rceil")
    )
    assert metrics(test)["SQNR"] == f"≈{found.sqnr_db:.2f} dB"
    assert metrics(test)["bits per value"] == "7"
    assert len(charts(test)) == 2
    assert "by the rule rceil" in captions(test)
    assert {"Scale rule", "Rounding", "Block size", "axis", "Format"} <= labels(test)
    others = {"opset", "saturate", "zero point", "Format of the scales", "One scale for each", "round_mode"}
    assert not labels(test) & others
    assert f"<td>0x{found.scale_codes[0, 0]:02X}</td>" in texts(test)
    test = healthy(result(scheme="mx", fmt="float4_e2m1fn", block="4", x="12 -6 3 0"))
    assert {"<td>2^1</td>", "<td>0x80</td>"} <= set(re.findall("<td>[^<]*</td>", texts(test)))  # 2^(3 - 2) in FP4


@pytest.mark.parametrize(
    ("scale", "zero_point", "is_asked"),
    [("float8_e8m0fnu", "1", True), ("float32", "1", False), ("float8_e8m0fnu", "0", False)],
)
def test_round_mode_is_asked_of_scales_that_are_rounded_to_powers(scale: str, zero_point: str, is_asked: bool) -> None:
    """Scales with zero points become powers of two by Cast's round_mode; others by the scale rule."""
    test = healthy(result(fmt="int8", scale=scale, zero_point=zero_point, **SMALL))
    assert ("round_mode" in labels(test)) == is_asked
    assert ("Scale rule" in labels(test)) == (scale == "float8_e8m0fnu" and not is_asked)


def test_nvfp4_shows_its_global_scale() -> None:
    test = healthy(result(scheme="nvfp4", x="2688 6 3 1.5"))
    assert (metrics(test)["global scale"], metrics(test)["bits per value"]) == ("1", "14")  # 4 + (8 + 32) / 4
    assert "× global scale" in texts(test)
    assert "<td>448</td>" in texts(test)
    assert labels(test) & {"Format", "Block size", "Scale rule", "opset"} == set()
    assert "None: QuantizeLinear takes no scales in float8_e4m3fn" in test.text[0].value


def test_controls_change_the_scheme() -> None:
    test = healthy(result(fmt="uint4", **SMALL))
    healthy(by_label(test.button_group, "Scheme").set_value("mx").run())
    assert (asked(test, "scheme"), asked(test, "fmt")) == ("mx", "float4_e2m1fn")  # MX has no uint4
    healthy(by_label(test.selectbox, "Rounding").set_value("stochastic").run())
    assert "Seed of the rounding" in labels(test)
    assert "rounding='stochastic', seed=0" in test.code[1].value
    test = healthy(result(fmt="float8_e5m2", saturate="0", opset="24", **SMALL))
    healthy(by_label(test.selectbox, "Rounding").set_value("toward_zero").run())
    assert (asked(test, "opset"), asked(test, "saturate")) == ("28", "1")
    assert not labels(test) & {"opset", "saturate"}


@pytest.mark.parametrize("scheme", ["linear", "mx"])
def test_what_can_be_chosen(scheme: str) -> None:
    """What a link may say: test_explorer_limits.py."""
    test = healthy(result(scheme=scheme, fmt="float8_e5m2", per="block", block="256", **SMALL))
    slider = by_label(test.slider, "Block size")
    assert (slider.min, slider.max, slider.value) == (1, 256, 256)
    assert by_label(test.selectbox, "axis").options == ["-1 (the last)", "0", "1"]
    ends = {box.label: (box.min, box.max) for box in test.number_input}
    assert ends == {"Rows": (1, 256), "Columns": (1, 256), "Scale factor": (1e-30, 1e30), "Seed": (0, 9999)}
    assert by_label(healthy(result(x="1")).text_area, "Numbers").proto.max_chars == 3000


@pytest.mark.parametrize(("scheme", "count", "said"), [("linear", "1", False), ("mx", "4", True)])
def test_what_nan_does_to_its_block(scheme: str, count: str, said: bool) -> None:
    test = healthy(result(scheme=scheme, x="nan 1 2 3", fmt="float4_e2m1fn", block="4"))
    metric = by_label(test.metric, "NaN or Inf")
    assert metric.value == count
    assert ("NaN or Inf in a block makes the whole block NaN." in metric.help) == said


def test_typed_numbers() -> None:
    test = healthy(result(x="7 -3.4; nan inf", fmt="int4", per="tensor"))
    assert metrics(test)["NaN or Inf"] == "2"
    assert "0xD" in texts(test)  # -3
    healthy(test.text_area[0].set_value("7 0.6").run())
    assert "NaN or Inf" not in metrics(test)
    assert metrics(test)["largest |error|"].startswith("≈0.4")
    assert metrics(healthy(result(x="0 0", fmt="int4", per="tensor")))["SQNR"] == "–"
    line = healthy(result(x="1 2 3 4", fmt="int8", block="2"))  # one dimension has blocks too
    assert metrics(line)["bits per value"] == "24"  # 8 + 2 * 32 / 4
    assert "block_size=2" in line.code[1].value


def test_the_first_rows() -> None:
    """64 scales, one to 32 of 32 x 64 elements: of both tables the first 24 rows."""
    test = healthy(result(fmt="float8_e4m3fn"))
    assert {"24 of 64", "24 of 2048"} <= {caption.value for caption in test.caption}
    (bars,) = re.findall(r'"labelExpr": ?"(.*?)\[datum', charts(test)[0])
    assert "≈0.00195" in json.loads(json.loads(f'"{bars}"'))  # 2^-9 in three digits
    colours = set(re.findall("#[0-9a-f]{6}", "".join(charts(test))))
    assert colours & {"#6d28d9", "#b79cff"} == {"#6d28d9"}  # the light scheme's accent


def test_no_error_is_one_colour() -> None:
    def colour(test: Any) -> dict[str, Any]:
        return dict(json.loads(charts(test)[1])["layer"][0]["encoding"]["color"]["scale"])

    test, other = healthy(result(x="1 2; 4 -1", fmt="int8", per="tensor", scale="float8_e8m0fnu")), healthy(result())
    assert (metrics(test)["SQNR"], metrics(other)["SQNR"][:1]) == ("no error", "≈")
    assert (colour(test)["domainMin"], colour(test)["domainMax"]) == (0, 1)  # else 0 lies in the middle of 0 to 0
    assert "domainMax" not in colour(other)
    assert ["No element has an error." in captions(one) for one in (test, other)] == [True, False]


def test_a_file_is_waited_for_and_read() -> None:
    test = healthy(result(origin="file", per="axis", axis="0"))
    assert "Choose a file" in test.info[0].value
    stream = io.BytesIO()
    np.save(stream, np.arange(12.0).reshape(3, 4))
    test.file_uploader[0].set_value(("w.npy", stream.getvalue(), NPY))
    healthy(test.run())
    assert "(3, 4); float64 became float32" in captions(test)
    test.file_uploader[0].set_value(None)
    assert "Choose a file" in healthy(test.run()).info[0].value
    test.file_uploader[0].set_value(("w.npy", stream.getvalue()[:-1], NPY))
    test.run()
    assert not test.exception
    assert "it has 95" in test.error[0].value
    assert [*test.metric, *test.code, *charts(test)] == []  # nothing is shown or offered for a file that was not read


def test_a_tensor_of_a_file_is_chosen() -> None:
    save = pytest.importorskip("safetensors.numpy").save
    content = save({"a": np.ones((2, 3), np.float32), "b": np.ones((7,), np.float16)})
    test = result(origin="file", per="tensor")
    test.file_uploader[0].set_value(("w.safetensors", content, NPY))
    healthy(test.run())
    assert "(2, 3)" in captions(test)
    healthy(by_label(test.selectbox, "Tensor").set_value("b").run())
    assert asked(test, "tensor") == "b"
    assert "float16 of shape (7,)" in captions(test)
    test.query_params["tensor"] = "z"  # of another file
    test.run()
    assert "one of the file's 2 names" in test.error[0].value.replace("\\", "")
    assert "(2, 3)" in captions(test)
    assert by_label(test.selectbox, "Tensor").value == "a"
    test.query_params["tensor"] = ""
    test.file_uploader[0].set_value(("w.safetensors", save({"a": np.ones((4, 5), np.float32)}), NPY))
    healthy(test.run())
    assert "(4, 5)" in captions(test)
    assert "Tensor" not in {box.label for box in test.selectbox}


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


def check_copied(
    settings: Settings, capsys: Capture, state: Quantize = STATE, tensor: Tensor = TENSOR
) -> tuple[dict[str, Any], str]:
    """Run what is copied, compare it with what is shown, and return its names, and the other text."""
    if state.origin == "typed":
        tensor = typed(state.x)
    python, nodes = snippets.of_quantization(state, tensor, settings)
    found = quantize(tensor.values, settings)
    has_error = bool(np.isfinite(tensor.values).all())
    names, out = run(python if has_error else python.partition("error =")[0], capsys)
    assert not has_error or float(out) == found.max_abs_error
    assert names["x"].tobytes() == tensor.values.tobytes()
    codes = np.asarray(names["y"]).view(settings.fmt.code_dtype) & settings.fmt.code_mask
    assert codes.tolist() == found.codes.tolist()
    assert np.array_equal(names["back"].astype(np.float64), found.dequantized, equal_nan=True)
    assert names["scale"].shape == found.scale.shape
    assert names["scale"].tobytes() == found.scale_codes.tobytes()
    if settings.scheme == "nvfp4":
        assert float(names["global_scale"]) == found.global_scale
    return names, nodes


@pytest.mark.one_in(7)
@pytest.mark.parametrize("fmt", TARGETS, **BY_NAME)
@pytest.mark.parametrize("per", GRANULARITIES)
@pytest.mark.parametrize("scale", SCALE_FORMATS, **BY_NAME)
@pytest.mark.parametrize("asymmetric", [False, True])
def test_what_is_copied(fmt: Format, per: str, scale: Format, asymmetric: bool, capsys: Capture) -> None:
    settings = Settings(fmt, per, -1, 4, scale, asymmetric, "nearest", False)
    names, onnx_text = check_copied(settings, capsys)
    shape = list(names["scale"].shape)
    inputs = {"x": (onnx.TensorProto.FLOAT, [4, 40]), "scale": (scale.onnx_enum, shape)}
    if settings.has_zero_point:
        inputs["zero_point"] = (fmt.onnx_enum, shape)
    names = run(onnx_text, capsys)[0]
    assert names["opset"].version == settings.opset
    found = {one.name: one.type.tensor_type.elem_type for one in model_of(names["nodes"], inputs).graph.output}
    assert found == {"y": fmt.onnx_enum, "back": FLOAT32.onnx_enum if scale is FLOAT8_E8M0FNU else scale.onnx_enum}


@pytest.mark.parametrize("fmt", [FLOAT4_E2M1FN, UINT8], **BY_NAME)
def test_the_scale_of_a_block_of_zeros(fmt: Format, capsys: Capture) -> None:
    """OCP MX: the exponent is the smallest one, 2**-127, code 00."""
    settings = Settings(fmt, "block", -1, 4, FLOAT8_E8M0FNU)
    names, _ = check_copied(settings, capsys, Quantize(origin="typed", x="0 0 0 0; 1 2 3 4"))
    assert lp.cast(names["scale"], "float64")[0, 0] == 2.0**-127


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_is_copied_of_a_sampled_tensor(distribution: str, capsys: Capture) -> None:
    state = Quantize(origin="sampled", distribution=distribution, rows=20, columns=30, seed=5, spread=0.3)
    check_copied(Settings(FLOAT4_E2M1FN), capsys, state, sampled(distribution, 20, 30, 5, 0.3))


@pytest.mark.parametrize("text", ["0.1", "1 2; 3 1/3", "nan inf -inf -0 1e-45 3.4e38"])
@pytest.mark.parametrize(
    "settings", [Settings(FLOAT4_E2M1FN), Settings(UINT8, asymmetric=True), Settings(INT4, "axis", 0)]
)
def test_what_is_copied_of_a_typed_tensor(text: str, settings: Settings, capsys: Capture) -> None:
    check_copied(settings, capsys, Quantize(origin="typed", x=text))


@pytest.mark.parametrize(
    "kind", ["npy", "safetensors", *("float4_e2m1fn", "float6_e3m2fn", "float8_e4m3fn", "bfloat16")]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int8])
def test_copied_of_a_file(
    dtype: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """As NumPy, safetensors, or `convert` wrote it."""
    monkeypatch.chdir(tmp_path)
    values, name = np.arange(-6, 6).reshape(3, 4).astype(dtype), "file.npy" if kind == "npy" else "file.safetensors"
    np.save("file.npy", values)
    if kind != "npy":
        pytest.importorskip("safetensors.numpy").save_file({"it's": values, "b": values}, "file.safetensors")
        if kind != "safetensors":
            if dtype is np.int8:
                return  # no floats to convert
            Path("file.safetensors").rename("source.safetensors")
            lp.convert("source.safetensors", "file.safetensors", to=kind)
    tensor = from_file(name, Path(name).read_bytes(), "" if kind == "npy" else "it's")
    assert tensor.stored is lp.as_format(np.dtype(dtype) if kind in ("npy", "safetensors") else kind)
    check_copied(Settings(INT4, "axis", 1), capsys, Quantize(origin="file"), tensor)


@pytest.mark.parametrize("rule", SCALE_RULES)
@pytest.mark.parametrize("name", [*(fmt.name for fmt in MX_FORMATS), "binary6p3se", E4M3])
def test_what_is_copied_of_mx(name: str, rule: str, capsys: Capture) -> None:
    settings = Quantize(scheme="mx", fmt=name, block=7, scale_rule=rule).settings()
    _, nodes = check_copied(settings, capsys)
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
def test_what_is_copied_with_a_rounding(rounding: str, capsys: Capture) -> None:
    options: dict[str, Any] = {"rounding": rounding, "rounding_seed": 5}
    linear = Settings(FLOAT8_E5M2, "block", **options)
    for settings in (mx_settings(INT8, 8, 0, **options), nvfp4_settings(axis=0, **options), linear):
        _, nodes = check_copied(settings, capsys)
        if rounding != "nearest_even":
            assert nodes.startswith("None: ")
    powers = Settings(INT4, "block", scale_format=FLOAT8_E8M0FNU, scale_rule="rceil", **options)
    assert check_copied(powers, capsys)[1].startswith("import onnx")  # integers have no other rounding


def test_a_tensor_with_nan_has_no_nodes_in_mx(capsys: Capture) -> None:
    names, nodes = check_copied(mx_settings(FLOAT4_E2M1FN, 2), capsys, Quantize(origin="typed", x="1 2 nan 4; 1 2 3 5"))
    assert nodes.startswith("None: NaN and Inf make their whole block NaN in MX")
    assert np.isnan(names["back"][0, 2:]).all()


@pytest.mark.parametrize("name", ["binary6p3se", E4M3, "float8_e4m3b11fnuz"])
def test_what_is_copied_of_a_format_that_onnx_lacks(name: str, capsys: Capture) -> None:
    _, nodes = check_copied(Settings(format_named(name), "block", -1, 16), capsys)
    assert nodes == f"None: ONNX has no number for {name}."


# ---- the evidence: the rules of a setting, and a check that can fail


def quantized(state: Quantize) -> Quantized:
    tensor = typed(state.x) if state.origin == "typed" else sampled(state.distribution, 7, 40, 0, state.spread)
    return quantize(tensor.values, state.settings())


STATES = [state for state in states() if state.show in ("result", "block")]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "state",
    [*STATES[::4], *(one for one in STATES if one.rounding != "nearest_even")],
    ids=lambda state: f"{state.fmt}-{state.scheme}-{state.per}",
)
def test_every_setting_agrees_with_the_oracle(state: Quantize) -> None:
    found = quantized(state)
    checked = view.check_tensor(found, FLOAT32)
    assert [check.differ for one in checked for check in one.checks] == [0] * (1 if state.scheme == "linear" else 2)
    assert checked[0].checks[0].tried == found.x.size
    assert all(row.differ == 0 for row in view.of_setting(found))


@pytest.mark.parametrize("scheme", ["linear", "mx", "nvfp4"])
def test_a_check_sees_wrong_codes(scheme: str) -> None:
    found = quantized(Quantize(scheme=scheme, fmt="float4_e2m1fn"))
    codes = found.codes.copy()
    codes[0, 3] ^= 1
    codes[6, 39] ^= 1
    wrong = replace(found, codes=codes)
    assert view.check_tensor(wrong, FLOAT32)[0].checks[0].differ == 2


@pytest.mark.one_in(5)
@pytest.mark.parametrize("scheme", ["linear", "mx", "nvfp4"])
@pytest.mark.parametrize(("shape", "axis"), [((256, 256), 0), ((65536,), -1), ((3, 5, 1000), 1)])
def test_large_tensors_are_checked_in_part(
    scheme: str, shape: tuple[int, ...], axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact arithmetic, which takes the time of a check, is given no more elements than are compared."""
    given = []

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Any, *others: Any, **options: Any) -> Any:
            given.append(np.size(x))
            return function(x, *others, **options)

        return call

    for name in ("quantize", "mx_blocks", "nvfp4_blocks"):
        monkeypatch.setattr(reference, name, counted(getattr(reference, name)))
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    found = quantize(x, Quantize(scheme=scheme, fmt="float4_e2m1fn", axis=axis).settings())
    checked = view.check_tensor(found, FLOAT32)
    assert [check.differ for one in checked for check in one.checks] == [0] * len(checked)
    assert 4000 < checked[0].checks[0].tried <= 4096
    assert checked[0].checks[0].tried == 4096 or len(shape) > 1  # whole rows of blocks
    assert sum(given) == checked[0].checks[0].tried
    chance = quantize(x, Quantize(scheme=scheme, fmt="float4_e2m1fn", axis=axis, rounding="stochastic_a").settings())
    assert "random numbers" in view.check_tensor(chance, FLOAT32)[0].problem
    assert sum(given) == checked[0].checks[0].tried


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({"fmt": "int8", "per": "tensor"}, {"quantize even", "quantize clamp", "dequantize codes"}),
        ({"fmt": "float8_e4m3fn", "per": "axis"}, {"quantize float8 saturate", "quantize axis"}),
        ({"fmt": "float8_e4m3fn", "saturate": False, "scale": "float16"}, {"quantize float8", "quantize precision"}),
        ({"fmt": "float4_e2m1fn", "scheme": "mx", "scale_rule": "rceil"}, {"scale rceil", "round small nearest_even"}),
    ],
)
def test_the_rules_of_a_setting(query: dict[str, object], rows: set[str]) -> None:
    found = view.of_setting(quantized(replace(Quantize(), **query)))
    kept = kept_results().counts
    counts = {(row.tried, row.differ) for row in found}
    assert {(kept[name]["lowprec"].tried, kept[name]["lowprec"].differ) for name in rows} <= counts
