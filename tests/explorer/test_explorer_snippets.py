"""What a visitor copies runs as it is: Python that prints what the page shows, ONNX nodes that onnx checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.explorer_states.described import OF_EVERY_KIND
from support.optional import optional
from support.snippets import run

from lowprec import as_format, reference
from lowprec.explorer.pages.anatomy import snippets as anatomy_snippets
from lowprec.explorer.pages.rounding import snippets as rounding_snippets
from lowprec.explorer.pages.saturation import snippets as saturation_snippets
from lowprec.explorer.shared.cast_options import cast_options
from lowprec.explorer.shared.codes import anatomy
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC, Format

onnx: Any = optional("onnx")

BY_NAME = {"ids": lambda fmt: fmt.name}
OTHERS = [*(fmt for fmt in NUMERIC if fmt not in ONNX_NUMERIC), *map(format_named, OF_EVERY_KIND)]


def check_node(names: dict[str, Any], source: int, to: Format, opset: int = 28) -> None:
    """Put the node into a model of that opset and let onnx check it, types inferred."""
    node = names["node"]
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    assert (node.op_type, attributes["to"]) == ("Cast", to.onnx_enum)
    graph = onnx.helper.make_graph(
        [node], "g", [onnx.helper.make_tensor_value_info("x", source, [1])],
        [onnx.helper.make_tensor_value_info("y", to.onnx_enum, [1])],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    onnx.checker.check_model(model, full_check=True)
    offered = names["model"]
    onnx.checker.check_model(offered, full_check=True)
    assert [(entry.domain, entry.version) for entry in offered.opset_import] == [("", opset)]
    assert list(offered.graph.node) == [node]


def cast_line(out: str, value: reference.Value) -> None:
    """Check the line that `lp.cast` printed: an array of the value, in so many digits as NumPy prints."""
    printed = out.splitlines()[-1].strip("[] ")
    if value.special == "nan":
        assert "nan" in printed
    else:
        assert float({"True": "1", "False": "0"}.get(printed, printed)) == pytest.approx(float(value), rel=1e-4)


@pytest.mark.parametrize("fmt", ONNX_NUMERIC, **BY_NAME)
def test_of_a_code(fmt: Format, capsys: pytest.CaptureFixture[str]) -> None:
    for code in (0, 1, fmt.max_code, fmt.sign_mask | 1):
        python, node = anatomy_snippets.of_code(anatomy(f"{code:#x}", fmt))
        out = run(python, capsys)[1]
        value = reference.decode(code, fmt)
        if fmt.is_float:  # float64 holds it, and prints the fewest digits that name it
            assert float(out) == float(value)
        else:
            assert int({"True": "1", "False": "0"}.get(out.strip(), out)) == value.number
        names = run(node, capsys)[0]
        check_node(names, fmt.onnx_enum, fmt if not fmt.is_float else NUMERIC[0])
        assert names["x"].data_type == fmt.onnx_enum
        raw = np.frombuffer(names["x"].raw_data, f"<u{fmt.storage_bits // 8}")
        assert raw.tolist() == [code]


@pytest.mark.parametrize("fmt", ONNX_NUMERIC, **BY_NAME)
@pytest.mark.parametrize(("saturate", "opset"), [(True, 28), (False, 28), (True, 25)])
def test_of_a_number(fmt: Format, saturate: bool, opset: int, capsys: pytest.CaptureFixture[str]) -> None:
    if fmt.since > opset:
        pytest.skip("the opset lacks the format")
    for x in ("17/23", "1e6", "-inf", "nan", "-0"):
        python, node = rounding_snippets.of_number(x, fmt, cast_options(saturate, "up", opset))
        out = run(python, capsys)[1]
        code = reference.encode(x, fmt, saturate=saturate, opset=opset)
        result = next(line for line in out.splitlines() if line.startswith("result")).split()
        assert result[1] == f"0x{code:0{-(-fmt.bits // 4)}x}"
        cast_line(out, reference.decode(code, fmt))
        names = run(node, capsys)[0]
        check_node(names, onnx.TensorProto.FLOAT, fmt, opset)
        given = {item.name: item.i for item in names["node"].attribute}
        assert given.get("saturate", int(saturate)) == int(saturate) or not fmt.is_float


@pytest.mark.parametrize("fmt", OTHERS, **BY_NAME)
def test_of_a_format_that_onnx_lacks(fmt: Format, capsys: pytest.CaptureFixture[str]) -> None:
    python, node = anatomy_snippets.of_code(anatomy(f"{fmt.max_code:#x}", fmt))
    if fmt in NUMERIC:
        assert repr(fmt.name) in python  # by its name: no call makes it
        assert "float_format" not in python
    assert float(run(python, capsys)[1]) == fmt.max
    assert node == f"None: ONNX has no number for {fmt.name}."
    for ways in ({}, {"rounding": "to_odd", "overflow": "ovf_inf"}):
        python, node = rounding_snippets.of_number("0.3", fmt, cast_options(True, "up", 25, **ways))
        out = run(python.partition("\nprint(lp.cast")[0], capsys)[1]
        result = next(line for line in out.splitlines() if line.startswith("result")).split()
        assert result[1] == f"{reference.encode('0.3', fmt, **ways):#0{2 + -(-fmt.bits // 4)}x}"
        assert node == f"None: ONNX has no number for {fmt.name}."


@pytest.mark.parametrize("fmt", [fmt for fmt in ONNX_NUMERIC if fmt.bits >= 8], **BY_NAME)
def test_the_model_gives_what_the_page_shows(fmt: Format) -> None:
    """Run by onnx's own evaluator, as far as it has the types; a 3 leaves no rule open."""
    evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
    names: dict[str, Any] = {}
    exec(rounding_snippets.of_number("3", fmt, cast_options(True, "up", 28))[1], names)
    found = np.asarray(evaluator(names["model"]).run(None, {"x": np.array([3.0])})[0])
    assert found.view(fmt.code_dtype).tolist() == [reference.encode(3, fmt)]


def test_a_number_that_float64_lacks_is_said_to_be_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    fmt, options = as_format("bfloat16"), cast_options(True, "up", 28)
    for x, is_said in (("0.3", True), ("0.25", False), ("inf", False), ("-0", False), ("1/3", True)):
        assert ("# the float64 nearest to x" in rounding_snippets.of_number(x, fmt, options)[0]) == is_said
    python = rounding_snippets.of_number("1e400", fmt, options)[0]
    assert "lp.cast" not in python  # it has no float64
    run(python, capsys)


def test_of_a_typed_number(capsys: pytest.CaptureFixture[str]) -> None:
    python, node = anatomy_snippets.of_code(anatomy("0.3", "float8_e4m3fn"))
    assert "nearer to the upper neighbour" in run(python, capsys)[1]
    check_node(run(node, capsys)[0], onnx.TensorProto.FLOAT, as_format("float8_e4m3fn"))


@pytest.mark.parametrize("opset", [19, 23, 24, 28])
def test_of_an_opset(opset: int, capsys: pytest.CaptureFixture[str]) -> None:
    python, node = saturation_snippets.of_opset(opset)
    lines = run(python, capsys)[1].splitlines()
    assert len(lines) == 8
    fnuz = next(line for line in lines if line.startswith("float8_e4m3fnuz True"))
    infinite = "128 128" if opset < 24 else "127 255"
    assert fnuz.endswith(f"[  0   0 128 128 {infinite} 127 255]")
    check_node(run(node, capsys)[0], onnx.TensorProto.FLOAT, as_format("float8_e4m3fn"), opset)
