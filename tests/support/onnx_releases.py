"""The node cases that releases of onnx ship, read from their wheels, run through lowprec and compared bit for bit."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")

import numpy as np
import onnx

from lowprec.onnx import Evaluator, from_array, to_array
from support.onnx_node_cases import codes_of, tensor_of

RELEASES = {
    "1.14.0": (84, 966), "1.14.1": (84, 966), "1.15.0": (86, 976), "1.16.0": (107, 1416), "1.16.1": (107, 1416),
    "1.16.2": (107, 1416), "1.17.0": (107, 1416), "1.18.0": (113, 1493), "1.19.0": (171, 2601), "1.19.1": (171, 2601),
    "1.20.0": (205, 2843), "1.20.1": (205, 2843), "1.21.0": (215, 2876), "1.22.0": (215, 2876), "1.23.0": (215, 2876),
    "1.23.1": (215, 2876), "1.23.2": (215, 2876),
}  # fmt: skip
"""How many cases of our operators each release has, and elements in their outputs."""

_DATA = "onnx/backend/test/data/node/"
_OURS = r"test_(?:cast|castlike|bitcast|quantizelinear|dequantizelinear|dynamicquantizelinear)(?:_[^/]*)?"
_FILE = re.compile(rf"{_DATA}({_OURS})/(?:model\.onnx|test_data_set_(\d+)/(input|output)_(\d+)\.pb)")

_GENERATE = """
import sys, types, warnings
sys.path.insert(0, sys.argv[1])
for name in ("averagepool", "lppool", "maxpool"):  # most of the time, and none of the operators
    name = "onnx.backend.test.case.node." + name
    sys.modules[name] = types.ModuleType(name)
warnings.simplefilter("ignore")
import re, zipfile
import numpy as np, onnx
from onnx.backend.test.loader import load_model_tests
assert onnx.__file__.startswith(sys.argv[1]), onnx.__file__
with zipfile.ZipFile(sys.argv[2], "w") as out:
    for case in load_model_tests(kind="node"):
        if case.model is None or not re.fullmatch(sys.argv[3], case.name):
            continue
        place = f"onnx/backend/test/data/node/{case.name}"
        out.writestr(f"{place}/model.onnx", case.model.SerializeToString())
        for number, pair in enumerate(case.data_sets):
            for what, values in zip(("input", "output"), pair):
                for index, value in enumerate(values):
                    if not isinstance(value, onnx.TensorProto):
                        value = onnx.numpy_helper.from_array(np.asarray(value))
                    out.writestr(f"{place}/test_data_set_{number}/{what}_{index}.pb", value.SerializeToString())
"""


@dataclass(frozen=True)
class Case:
    """A model with what goes in and what should come out."""

    name: str
    model: onnx.ModelProto
    data_sets: list[tuple[list[onnx.TensorProto], list[onnx.TensorProto]]]


@dataclass(frozen=True)
class Difference:
    """An element for which lowprec has another code than the release: of an output, and of what went in there."""

    case: str
    opset: int
    source: str
    target: str
    given: int
    stored: int
    got: int


def cases_in(archive: Path) -> list[Case]:
    """Return the cases of our operators in a wheel, or in an archive laid out as one."""
    messages: dict[str, dict[Any, bytes]] = {}
    with zipfile.ZipFile(archive) as content:
        for name in content.namelist():
            if match := _FILE.fullmatch(name):
                case, number, what, index = match.groups()
                key = (int(number), what, int(index)) if what else None
                messages.setdefault(case, {})[key] = content.read(name)
    return [_case(name, messages[name]) for name in sorted(messages)]


def _case(name: str, messages: dict[Any, bytes]) -> Case:
    model = onnx.ModelProto.FromString(messages.pop(None))
    sets: dict[int, dict[str, list[onnx.TensorProto]]] = {}
    for number, what, index in sorted(messages):
        tensor = onnx.TensorProto.FromString(messages[number, what, index])
        sets.setdefault(number, {"input": [], "output": []})[what].append(tensor)
    declared = [[one.type.tensor_type.elem_type for one in group] for group in (model.graph.input, model.graph.output)]
    for one in sets.values():
        for tensors, types in zip(one.values(), declared, strict=True):
            for tensor, elem_type in zip(tensors, types, strict=True):
                if (tensor.data_type, elem_type) == (onnx.TensorProto.UINT16, onnx.TensorProto.BFLOAT16):
                    tensor.data_type = elem_type  # NumPy had no bfloat16, and it was stored as uint16
                if tensor.data_type != elem_type:
                    raise ValueError(f"{tensor.name}: has the type {tensor.data_type}, the model declares {elem_type}")
    return Case(name, model, [(one["input"], one["output"]) for one in sets.values()])


def cases_of_wheel(wheel: Path) -> list[Case]:
    """Return the cases that a wheel ships; those that its own code generates where it ships none."""
    if found := cases_in(wheel):
        return found
    with tempfile.TemporaryDirectory() as name:
        code, made = Path(name, "onnx-release"), Path(name, "cases.zip")
        with zipfile.ZipFile(wheel) as content:
            content.extractall(code)
        subprocess.run([sys.executable, "-c", _GENERATE, str(code), str(made), _OURS], check=True)
        return cases_in(made)


def differences(case: Case) -> Iterator[Difference | int]:
    """Yield the number of elements of each output, and each element that differs."""
    evaluator = Evaluator(case.model)
    opset = max(one.version for one in case.model.opset_import if one.domain in ("", "ai.onnx"))
    for inputs, outputs in case.data_sets:
        arrays = [to_array(tensor_of(value)) for value in inputs]
        found = evaluator.run(None, dict(zip(evaluator.input_names, arrays, strict=True)))
        for got, value in zip(found, outputs, strict=True):
            made, wanted = from_array(got), tensor_of(value)
            if (made.data_type, made.dims) != (wanted.data_type, wanted.dims):
                raise ValueError(f"{case.name}: another type or shape: {made.data_type} {list(made.dims)}")
            got_codes, stored = codes_of(made).reshape(-1), codes_of(wanted).reshape(-1)
            yield stored.size
            given = codes_of(tensor_of(inputs[0])).reshape(-1)
            before, after = (onnx.TensorProto.DataType.Name(one.data_type) for one in (inputs[0], wanted))
            for place in np.flatnonzero(got_codes != stored).tolist():
                source = int(given[place]) if given.size == stored.size else -1
                yield Difference(case.name, opset, before, after, source, int(stored[place]), int(got_codes[place]))


def _number(code: int, type_name: str) -> float:
    """Return the value of a float16 or float32 code, as NumPy has it."""
    dtype = {"FLOAT16": (np.uint16, np.float16), "FLOAT": (np.uint32, np.float32)}[type_name]
    return float(np.array([code], dtype[0]).view(dtype[1])[0])


def _fnuz_inf(one: Difference) -> bool:
    largest = one.target in ("FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ") and one.stored in (0x7F, 0xFF) and one.opset <= 23
    return largest and np.isinf(_number(one.given, one.source)) and one.got == 0x80


def _e5m2_nan(one: Difference) -> bool:
    codes = (one.stored, one.got)
    return one.target == "FLOAT8E5M2" and np.isnan(_number(one.given, one.source)) and codes == (0x7F, 0x7E)


def _fnuz_nan(one: Difference) -> bool:
    codes = {"FLOAT": (0x7FC00000, 0xFFC00000), "FLOAT16": (0x7E00, 0xFE00)}.get(one.target)
    return one.source.endswith("FNUZ") and one.given == 0x80 and (one.stored, one.got) == codes


def _int4(one: Difference) -> bool:
    least = {"INT4": -8, "UINT4": 0}.get(one.target)
    if least is None:
        return False
    value = _number(one.given, one.source)
    clamped = min(max(value, least), least + 15)
    return clamped != value and (one.stored, one.got) == (int(clamped) % 16, int(value) % 16)


def _float4_nan(one: Difference) -> bool:
    return one.target == "FLOAT4E2M1" and np.isnan(_number(one.given, one.source)) and (one.stored, one.got) == (7, 8)


def _bfloat16(one: Difference) -> bool:
    if (one.source, one.target) != ("FLOAT", "BFLOAT16"):
        return False
    rest = one.given & 0xFFFF
    return rest > 0x8000 and (one.stored, one.got) == (one.given >> 16, (one.given >> 16) + 1)


DECIDED = {
    "bfloat16 cut off": _bfloat16, "FNUZ and Inf": _fnuz_inf, "NaN in float8_e5m2": _e5m2_nan,
    "NaN from FNUZ": _fnuz_nan, "int4 and uint4 clamped": _int4, "NaN in float4_e2m1fn": _float4_nan,
}  # fmt: skip
"""The differences that are right, as docs/onnx.md names and explains them, and what exactly they are."""


def decision(one: Difference) -> str | None:
    """Return the name of the decision that a difference falls under; None for any other."""
    return next((name for name, holds in DECIDED.items() if holds(one)), None)
