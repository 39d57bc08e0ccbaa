"""What is copied from Compare, Cast & BitCast and Quantize runs: Python gives the codes, onnx takes the nodes."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from support.optional import optional
from support.snippets import run

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.compare import snippets as compare_snippets
from lowprec.explorer.pages.compare.view import COMPARABLE
from lowprec.explorer.pages.conversion import snippets as conversion_snippets
from lowprec.explorer.pages.conversion.view import CASTABLE, bitcasting, conversion
from lowprec.explorer.pages.quantize import snippets as quantize_snippets
from lowprec.explorer.pages.quantize.settings import GRANULARITIES, SCALE_FORMATS, TARGETS, Settings
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor import DISTRIBUTIONS, Tensor, sampled, typed
from lowprec.explorer.pages.quantize.tensor_files import from_file
from lowprec.explorer.pages.quantize.view import quantize
from lowprec.explorer.shared.cast_options import cast_options

onnx: Any = optional("onnx")

E2M1, E8M0, UINT8, INT4, FLOAT = (lp.as_format(number) for number in (23, 24, 2, 22, 1))


def check(nodes, inputs, opset):
    """Put nodes into a model of an opset and let onnx check it, types and shapes inferred."""
    given = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    wanted = [onnx.helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    graph = onnx.helper.make_graph(nodes, "g", given, wanted)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    onnx.checker.check_model(inferred, full_check=True)
    return {value.name: value.type.tensor_type.elem_type for value in inferred.graph.output}


@pytest.mark.parametrize(("saturate", "mode", "opset"), [(True, "up", 28), (False, "nearest", 28), (False, "up", 23)])
def test_of_a_comparison(saturate, mode, opset, capsys):
    options = cast_options(saturate, mode, opset)
    formats = [fmt for fmt in COMPARABLE if fmt.since is not None and fmt.since <= opset]
    python, onnx_text = compare_snippets.of_comparison("-17/23", formats, options)
    printed = run(python, capsys)[1].splitlines()
    lines = [line for line in printed if line.startswith("result")]
    codes = [int(line.split()[1], 16) for line in lines]
    assert codes == [reference.encode("-17/23", fmt, **options) for fmt in formats]
    casts = [line for line in printed if line.startswith("[")]
    values = [float(reference.decode(code, fmt)) for code, fmt in zip(codes, formats, strict=True)]
    found = [float({"True": "1", "False": "0"}.get(text, text)) for text in (line.strip("[] ") for line in casts)]
    assert found == pytest.approx(values, rel=1e-4)
    names = run(onnx_text, capsys)[0]
    onnx.checker.check_model(names["model"], full_check=True)
    assert names["model"].opset_import[0].version == opset
    nodes = names["nodes"]
    assert list(names["model"].graph.node) == nodes
    found = check(nodes, {"x": (onnx.TensorProto.FLOAT, [3])}, opset)
    assert list(found.values()) == [fmt.onnx_enum for fmt in formats]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", [fmt for fmt in CASTABLE if fmt.onnx_enum is not None], ids=lambda fmt: fmt.name)
def test_of_a_conversion(target, capsys):
    for source in (FLOAT, target, INT4):
        for saturate in (True, False):
            options = cast_options(saturate, "down", 28)
            found = conversion(3, source, target, **options)
            read = bitcasting(3, source, target)
            python, onnx_text = conversion_snippets.of_conversion(found, options, read)
            first, cast, *second = run(python, capsys)[1].splitlines()
            assert re.findall("0x[0-9a-f]+", first) == [hex(found.result)]
            value = {"True": "1", "False": "0"}.get(cast.strip("[] "), cast.strip("[] "))
            exact = float(reference.decode(found.result, target))
            close = float(value) == pytest.approx(exact, rel=1e-4, nan_ok=True)  # NumPy prints few digits of float64
            assert close or reference.encode(value, target) == found.result  # and of float16 one that names it
            assert len(second) == (source.bits == target.bits)
            names = run(onnx_text, capsys)[0]
            onnx.checker.check_model(names["model"], full_check=True)
            assert names["model"].opset_import[0].version == 28
            assert names["model"].graph.input[0].type.tensor_type.elem_type == source.onnx_enum
            assert ("bits" in names) == (source.bits == target.bits != 6)
            for name in names.keys() & {"node", "bits"}:
                assert check([names[name]], {"x": (source.onnx_enum, [1])}, 28) == {"y": target.onnx_enum}


def same(names, tensor, settings):
    """Compare what a recipe made with what the page shows."""
    found = quantize(tensor.values, settings)
    assert names["x"].tobytes() == tensor.values.tobytes()
    assert names["scale"].shape == found.scale.shape
    assert np.array_equal(lp.cast(names["scale"], "float64"), found.scale)
    assert np.asarray(names["y"]).view(settings.fmt.code_dtype).tolist() == found.codes.tolist()
    assert np.array_equal(names["back"].astype(np.float64), found.dequantized, equal_nan=True)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("fmt", TARGETS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("per", GRANULARITIES)
@pytest.mark.parametrize("scale", SCALE_FORMATS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("asymmetric", [False, True])
def test_of_a_quantization(fmt, per, scale, asymmetric, capsys):
    state = dataclasses.replace(Quantize(origin="sampled"), rows=4, columns=10, seed=3)
    tensor = sampled("normal", 4, 10, 3)
    settings = Settings(fmt, per, -1, 4, scale, asymmetric, "nearest", False)
    python, onnx_text = quantize_snippets.of_quantization(state, tensor, settings)
    names, out = run(python, capsys)
    same(names, tensor, settings)
    assert float(out) == quantize(tensor.values, settings).max_abs_error
    shape = list(names["scale"].shape)
    inputs = {"x": (onnx.TensorProto.FLOAT, [4, 10]), "scale": (scale.onnx_enum, shape)}
    if settings.has_zero_point:
        inputs["zero_point"] = (fmt.onnx_enum, shape)
    names = run(onnx_text, capsys)[0]
    assert names["opset"].version == settings.opset
    found = check(names["nodes"], inputs, 28)
    assert found == {"y": fmt.onnx_enum, "back": FLOAT.onnx_enum if scale is E8M0 else scale.onnx_enum}


@pytest.mark.parametrize("fmt", [E2M1, UINT8], ids=lambda fmt: fmt.name)
def test_the_scale_of_a_block_of_zeros(fmt, capsys):
    """OCP MX: the exponent is the smallest one, 2**-127, code 00."""
    text, settings = "0 0 0 0; 1 2 3 4", Settings(fmt, "block", -1, 4, E8M0)
    state = dataclasses.replace(Quantize(), origin="typed", x=text)
    names, _ = run(quantize_snippets.of_quantization(state, typed(text), settings)[0], capsys)
    same(names, typed(text), settings)
    assert lp.cast(names["scale"], "float64")[0, 0] == 2.0**-127


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_of_a_sampled_tensor(distribution, capsys):
    state = dataclasses.replace(
        Quantize(origin="sampled"), distribution=distribution, rows=20, columns=30, seed=5, spread=0.3
    )
    tensor, settings = sampled(distribution, 20, 30, 5, 0.3), Settings(E2M1)
    same(run(quantize_snippets.of_quantization(state, tensor, settings)[0], capsys)[0], tensor, settings)


@pytest.mark.parametrize("text", ["0.1", "1 2; 3 1/3", "nan inf -inf -0 1e-45 3.4e38"])
@pytest.mark.parametrize("settings", [Settings(E2M1), Settings(UINT8, asymmetric=True), Settings(INT4, "axis", 0)])
def test_of_a_typed_tensor(text, settings, capsys):
    state = dataclasses.replace(Quantize(), origin="typed", x=text)
    names, _ = run(quantize_snippets.of_quantization(state, typed(text), settings)[0].partition("error =")[0], capsys)
    same(names, typed(text), settings)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int8])
def test_of_a_file(dtype, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    state = dataclasses.replace(Quantize(), origin="file")
    values = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    np.save("file.npy", values)
    tensor = from_file("file.npy", (tmp_path / "file.npy").read_bytes())
    settings = Settings(INT4, "axis", 1)
    same(run(quantize_snippets.of_quantization(state, tensor, settings)[0], capsys)[0], tensor, settings)
    save = pytest.importorskip("safetensors.numpy").save_file
    save({"it's": values, "b": values}, "file.safetensors")
    tensor = from_file("file.safetensors", (tmp_path / "file.safetensors").read_bytes(), "it's")
    assert tensor.stored is lp.as_format(np.dtype(dtype))
    same(run(quantize_snippets.of_quantization(state, tensor, settings)[0], capsys)[0], tensor, settings)


@pytest.mark.parametrize("fmt", ["float4_e2m1fn", "float6_e3m2fn", "float8_e4m3fn", "bfloat16"])
def test_of_a_file_that_convert_wrote(fmt, tmp_path, monkeypatch, capsys):
    save = pytest.importorskip("safetensors.numpy").save_file
    monkeypatch.chdir(tmp_path)
    save({"w": np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)}, "source.safetensors")
    lp.convert("source.safetensors", "file.safetensors", to=fmt)
    tensor = from_file("file.safetensors", (tmp_path / "file.safetensors").read_bytes())
    state, settings = dataclasses.replace(Quantize(), origin="file"), Settings(INT4, "axis", -1)
    same(run(quantize_snippets.of_quantization(state, tensor, settings)[0], capsys)[0], tensor, settings)


def test_a_tensor_needs_no_name():
    assert Tensor(np.zeros(1, np.float32)).format is FLOAT
