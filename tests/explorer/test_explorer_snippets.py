"""What a visitor copies runs as it is: Python that prints what the page shows, ONNX nodes that onnx checks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.explorer_states import OF_EVERY_KIND
from support.optional import optional
from support.snippets import model_of, number, offered, run

import lowprec as lp
from lowprec import as_format, reference
from lowprec.explorer.pages.anatomy import snippets as anatomy_snippets
from lowprec.explorer.pages.compare import snippets as compare_snippets
from lowprec.explorer.pages.compare.view import COMPARABLE
from lowprec.explorer.pages.conversion import snippets as conversion_snippets
from lowprec.explorer.pages.conversion.view import CASTABLE, bitcasting, conversion
from lowprec.explorer.pages.rounding import snippets as rounding_snippets
from lowprec.explorer.pages.saturation import snippets as saturation_snippets
from lowprec.explorer.shared.cast_options import cast_options
from lowprec.explorer.shared.codes import anatomy
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC, Format

onnx: Any = optional("onnx")

BY_NAME = {"ids": lambda fmt: fmt.name}
OTHERS = [*(fmt for fmt in NUMERIC if fmt not in ONNX_NUMERIC), *map(format_named, OF_EVERY_KIND)]
E2M1, E8M0, UINT8, INT4, FLOAT = (lp.as_format(enum) for enum in (23, 24, 2, 22, 1))
DOUBLE = 11
"""The type of what is cast, where no page says it: the widest."""

Capture = pytest.CaptureFixture[str]


def check_node(names: dict[str, Any], source: int, to: Format, opset: int = 28) -> None:
    """Let onnx check the Cast that is offered, and its model."""
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in names["node"].attribute}
    assert (names["node"].op_type, attributes["to"]) == ("Cast", to.onnx_enum)
    assert offered(names, [names["node"]], opset) == ([source], [to.onnx_enum])


def result_of(out: str) -> str:
    return next(line for line in out.splitlines() if line.startswith("result")).split()[1]


@pytest.mark.parametrize("fmt", ONNX_NUMERIC, **BY_NAME)
def test_of_a_code(fmt: Format, capsys: Capture) -> None:
    for code in (0, 1, fmt.max_code, fmt.sign_mask | 1):
        python, node = anatomy_snippets.of_code(anatomy(f"{code:#x}", fmt))
        out, value = run(python, capsys)[1], reference.decode(code, fmt)
        if fmt.is_float:  # float64 holds it, and prints the fewest digits that name it
            assert float(out) == float(value)
        else:
            assert int({"True": "1", "False": "0"}.get(out.strip(), out)) == value.number
        names = run(node, capsys)[0]
        check_node(names, fmt.onnx_enum, fmt if not fmt.is_float else NUMERIC[0])
        assert names["x"].data_type == fmt.onnx_enum
        assert np.frombuffer(names["x"].raw_data, f"<u{fmt.storage_bits // 8}").tolist() == [code]


@pytest.mark.parametrize("fmt", ONNX_NUMERIC, **BY_NAME)
@pytest.mark.parametrize(("saturate", "opset"), [(True, 28), (False, 28), (True, 25)])
def test_of_a_number(fmt: Format, saturate: bool, opset: int, capsys: Capture) -> None:
    if fmt.since > opset:
        pytest.skip("the opset lacks the format")
    for x in ("17/23", "1e6", "-inf", "nan", "-0"):
        python, node = rounding_snippets.of_number(x, fmt, cast_options(saturate, "up", opset))
        out, code = run(python, capsys)[1], reference.encode(x, fmt, saturate=saturate, opset=opset)
        assert result_of(out) == f"0x{code:0{-(-fmt.bits // 4)}x}"
        value = float(reference.decode(code, fmt))  # NumPy prints four digits or more
        assert number(out.splitlines()[-1]) == pytest.approx(value, rel=1e-4, nan_ok=True)
        names = run(node, capsys)[0]
        check_node(names, DOUBLE, fmt, opset)
        model_of([names["node"]], {"x": (onnx.TensorProto.FLOAT, [1])}, opset)
        given = {item.name: item.i for item in names["node"].attribute}
        assert given.get("saturate", int(saturate)) == int(saturate) or not fmt.is_float


@pytest.mark.parametrize("fmt", OTHERS, **BY_NAME)
def test_of_a_format_that_onnx_lacks(fmt: Format, capsys: Capture) -> None:
    python, node = anatomy_snippets.of_code(anatomy(f"{fmt.max_code:#x}", fmt))
    if fmt in NUMERIC:
        assert repr(fmt.name) in python  # by its name: no call makes it
        assert "float_format" not in python
    assert float(run(python, capsys)[1]) == fmt.max
    assert node == f"None: ONNX has no number for {fmt.name}."
    for ways in ({}, {"rounding": "to_odd", "overflow": "ovf_inf"}):
        python, node = rounding_snippets.of_number("0.3", fmt, cast_options(True, "up", 25, **ways))
        code = reference.encode("0.3", fmt, **ways)
        explained = python.partition("\nprint(lp.cast")[0]
        assert result_of(run(explained, capsys)[1]) == f"{code:#0{2 + -(-fmt.bits // 4)}x}"
        assert node == f"None: ONNX has no number for {fmt.name}."


@pytest.mark.parametrize("fmt", [fmt for fmt in ONNX_NUMERIC if fmt.bits >= 8], **BY_NAME)
def test_the_model_gives_what_the_page_shows(fmt: Format) -> None:
    """Run by onnx's own evaluator, as far as it has the types; a 3 leaves no rule open."""
    evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
    names: dict[str, Any] = {}
    exec(rounding_snippets.of_number("3", fmt, cast_options(True, "up", 28))[1], names)
    found = np.asarray(evaluator(names["model"]).run(None, {"x": np.array([3.0])})[0])
    assert found.view(fmt.code_dtype).tolist() == [reference.encode(3, fmt)]


def test_a_number_that_float64_lacks_is_said_to_be_rounded(capsys: Capture) -> None:
    fmt, options = as_format("bfloat16"), cast_options(True, "up", 28)
    for x, is_said in (("0.3", True), ("0.25", False), ("inf", False), ("-0", False), ("1/3", True)):
        assert ("# the float64 nearest to x" in rounding_snippets.of_number(x, fmt, options)[0]) == is_said
    python = rounding_snippets.of_number("1e400", fmt, options)[0]
    assert "lp.cast" not in python  # it has no float64
    run(python, capsys)


def test_of_a_typed_number(capsys: Capture) -> None:
    python, node = anatomy_snippets.of_code(anatomy("0.3", "float8_e4m3fn"))
    assert "nearer to the upper neighbour" in run(python, capsys)[1]
    names = run(node, capsys)[0]
    check_node(names, DOUBLE, as_format("float8_e4m3fn"))


@pytest.mark.parametrize("opset", [19, 23, 24, 28])
def test_of_an_opset(opset: int, capsys: Capture) -> None:
    python, node = saturation_snippets.of_opset(opset)
    lines = run(python, capsys)[1].splitlines()
    assert len(lines) == 8
    fnuz = next(line for line in lines if line.startswith("float8_e4m3fnuz True"))
    infinite = "128 128" if opset < 24 else "127 255"
    assert fnuz.endswith(f"[  0   0 128 128 {infinite} 127 255]")
    names = run(node, capsys)[0]
    check_node(names, DOUBLE, as_format("float8_e4m3fn"), opset)


@pytest.mark.parametrize(("saturate", "mode", "opset"), [(True, "up", 28), (False, "nearest", 28), (False, "up", 23)])
def test_of_a_comparison(saturate: bool, mode: str, opset: int, capsys: Capture) -> None:
    options = cast_options(saturate, mode, opset)
    formats = [fmt for fmt in COMPARABLE if fmt.since is not None and fmt.since <= opset]
    python, onnx_text = compare_snippets.of_comparison("-17/23", formats, options)
    printed = run(python, capsys)[1].splitlines()
    codes = [int(line.split()[1], 16) for line in printed if line.startswith("result")]
    assert codes == [reference.encode("-17/23", fmt, **options) for fmt in formats]
    values = [float(reference.decode(code, fmt)) for code, fmt in zip(codes, formats, strict=True)]
    assert [number(line) for line in printed if line.startswith("[")] == pytest.approx(values, rel=1e-4)
    names = run(onnx_text, capsys)[0]
    assert offered(names, names["nodes"], opset)[1] == [fmt.onnx_enum for fmt in formats]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", [fmt for fmt in CASTABLE if fmt.onnx_enum is not None], **BY_NAME)
def test_of_a_conversion(target: Format, capsys: Capture) -> None:
    for source in (FLOAT, target, INT4):
        for saturate in (True, False):
            options = cast_options(saturate, "down", 28)
            found, read = conversion(3, source, target, **options), bitcasting(3, source, target)
            python, onnx_text = conversion_snippets.of_conversion(found, options, read)
            first, cast, *second = run(python, capsys)[1].splitlines()
            assert re.findall("0x[0-9a-f]+", first) == [hex(found.result)]
            exact, value = float(reference.decode(found.result, target)), number(cast)
            close = value == pytest.approx(exact, rel=1e-4, nan_ok=True)  # NumPy prints few digits of float64
            assert close or reference.encode(value, target) == found.result  # and of float16 one that names it
            assert len(second) == (source.bits == target.bits)
            names = run(onnx_text, capsys)[0]
            assert offered(names, [names["node"]], 28) == ([source.onnx_enum], [target.onnx_enum])
            assert ("bits" in names) == (source.bits == target.bits != 6)
            if "bits" in names:
                model = model_of([names["bits"]], {"x": (source.onnx_enum, [1])})
                assert model.graph.output[0].type.tensor_type.elem_type == target.onnx_enum
