"""Safetensors: the safetensors package reads our files and we read its; the codes are those of `lp.cast`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import safetensors_writer
from support.bits import bits_of
from support.checkpoint_files import FLOATS, TENSORS, bytes_in, convert_fails, parse, save, stored_bytes, values
from support.optional import optional
from support.paths import table

import lowprec as lp
from lowprec.checkpoints import convert, inspect
from lowprec.checkpoints.containers.safetensors_file import SafetensorsFile, type_of
from lowprec.spec.custom_formats import description_of
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC, Format

torch: Any = optional("torch")
safe_open: Any = optional("safetensors:safe_open")
load_file: Any = optional("safetensors.numpy:load_file")
load_torch: Any = optional("safetensors.torch:load_file")
save_theirs: Any = optional("safetensors.numpy:save_file")
save_torch: Any = optional("safetensors.torch:save_file")

BY_NAME = {"ids": lambda fmt: fmt.name}
TYPES: dict[str, str | None] = {name: kind or None for name, kind in table(__file__)["types"].items()}


def test_type_names() -> None:
    assert {name: type_of(fmt) for name, fmt in lp.formats.items()} == TYPES


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"é": '"\n'}])
def test_what_the_tests_write_is_what_the_package_writes(metadata: dict[str, str] | None) -> None:
    dtypes = [np.dtype(getattr(ml_dtypes, name, name)) for name in reversed(safetensors_writer.NAMES)]
    every = {f"é {dtype}\n": np.arange(3).astype(dtype) for dtype in dtypes}
    for tensors in ({}, TENSORS, every, {"b": np.zeros((2, 0)), "a": np.ones((1, 2))}):
        save(Path("ours"), tensors, metadata)
        save_theirs(tensors, Path("theirs"), metadata)
        assert Path("ours").read_bytes() == Path("theirs").read_bytes()


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_every_format(fmt: Format) -> None:
    source, target = save(Path("x.safetensors"), metadata={"format": "pt"}), Path("y.safetensors")
    report = convert(source, target, to=fmt, raw=True, verify=True)
    assert [one.name for one in report.tensors if one.action == "converted"] == [
        one.name for one in report.tensors if one.name in FLOATS
    ]
    header, content = parse(target)
    notes = json.loads(header["__metadata__"].pop("lowprec", "{}"))
    assert header.pop("__metadata__") == {"format": "pt"}
    assert header.keys() == TENSORS.keys()
    for name, x in TENSORS.items():
        begin, end = header[name]["data_offsets"]
        if name not in FLOATS:
            assert content[begin:end] == x.tobytes()
            continue
        assert content[begin:end] == bytes_in(lp.encode(x, fmt), fmt)
        whole = TYPES[fmt.name] is not None and x.size * fmt.bits % 8 == 0
        assert header[name]["dtype"] == (TYPES[fmt.name] if whole else "U8")
        assert (name in notes) != whole
        if name in notes:
            named = fmt.name if fmt in ONNX_NUMERIC else description_of(fmt)
            assert notes[name] == {"format": named, "shape": list(x.shape)}
        else:
            assert header[name]["shape"] == list(x.shape)
        if fmt.bits >= 16:
            assert begin % (fmt.bits // 8) == 0
    again = {one.name: one for one in SafetensorsFile(target).tensors}
    assert {name: again[name].shape for name in TENSORS} == {name: x.shape for name, x in TENSORS.items()}
    assert all(again[name].fmt is fmt for name in FLOATS)


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits in (8, 16) and fmt.torch_name], **BY_NAME)
def test_torch_reads_it(fmt: Format) -> None:
    target = Path("y.safetensors")
    convert(save(Path("x.safetensors")), target, to=fmt, raw=True)
    found = load_torch(target)
    for name in FLOATS:
        assert found[name].dtype == getattr(torch, str(fmt.torch_name))
        expected = bits_of(lp.cast(TENSORS[name], fmt))
        got = found[name].contiguous().reshape(-1).view(torch.uint8).numpy()
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "bfloat16"])
def test_reads_what_torch_writes(name: str) -> None:
    x = torch.from_numpy(values((16, 8))).to(getattr(torch, name))
    save_torch({"w": x, "i": torch.arange(3)}, Path("x.safetensors"))
    convert("x.safetensors", "y.safetensors", to="float32")
    found = load_file("y.safetensors")
    assert bits_of(found["w"]).tolist() == bits_of(lp.cast(x, "float32").numpy()).tolist()


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits < 8 and fmt.is_float], **BY_NAME)
def test_packed_tensors_come_back(fmt: Format) -> None:
    """And the package reads their type."""
    x = {"even": values((6, 8)), "odd": values((3, 7)), "one": values((1,))}
    convert(save(Path("x.safetensors"), x), Path("y.safetensors"), to=fmt)
    with safe_open("y.safetensors", "np") as opened:
        held = opened.get_slice("even")
        assert (held.get_dtype(), held.get_shape()) == (TYPES[fmt.name], [6, 8])
    convert("y.safetensors", "z.safetensors", to="float32", verify=True)
    found = load_file("z.safetensors")
    for name, one in x.items():
        assert bits_of(found[name]).tolist() == bits_of(lp.cast(lp.cast(one, fmt), "float32")).tolist()


def test_options_reach_the_cast() -> None:
    x = {"w": values((9, 9))}
    source = save(Path("x.safetensors"), x)
    for to, rules in (
        ("float8_e4m3fn", {"saturate": False}), ("float8_e4m3fnuz", {"opset": 19}),
        ("float8_e8m0fnu", {"round_mode": "nearest"}),
    ):  # fmt: skip
        options: dict[str, Any] = rules
        convert(source, "y.safetensors", to=to, overwrite=True, **options)
        assert stored_bytes(Path("y.safetensors"), "w") == lp.encode(x["w"], to, **options).tobytes()


def test_patterns() -> None:
    source = save(Path("x.safetensors"))
    report = convert(source, "y.safetensors", to="float16", include="layer.*", exclude=["*.bias"])
    kept = {one.name: one.why for one in report.tensors if one.action == "kept"}
    assert kept == {
        "layer.0.bias": "excluded", "norm": "not included", "wide": "not included", "empty": "not included",
        "ids": "not included", "mask": "not included",
    }  # fmt: skip
    for name in kept:
        assert stored_bytes(Path("y.safetensors"), name) == TENSORS[name].tobytes()
    for options in ({"include": "nosuch*"}, {"exclude": ["norm", "nosuch*"]}):
        why = r"has no tensor or module that `(in|ex)clude` 'nosuch\*' names"
        convert_fails(why, source, "z.safetensors", to="float16", **options)


def test_inspect() -> None:
    x = {
        "w": np.array([1.5, -2.0, np.nan, np.inf], np.float32),
        "i": np.array([2**63 - 1, -(2**63)]),
        "e": values((0,)),
    }
    source = save(Path("x.safetensors"), x)
    found = {one.name: one for one in inspect(source, stats=True)}
    assert (found["w"].nan, found["w"].inf, found["w"].low, found["w"].high) == (1, 1, -2.0, 1.5)
    assert (found["i"].low, found["i"].high) == (-(2**63), 2**63 - 1)
    assert (found["e"].nan, found["e"].low) == (0, None)
    assert all(one.nan is None for one in inspect(source))
    convert(source, "y.safetensors", to="float4_e2m1fn", include="w")
    four = {one.name: one for one in inspect("y.safetensors", stats=True)}["w"]
    assert (four.format, four.nbytes, four.low, four.high) == ("float4_e2m1fn", 2, -2.0, 6.0)


def test_complex_numbers_are_kept() -> None:
    z = np.array([1 + 2j], np.complex64)
    source = save(Path("x.safetensors"), {"z": z, "w": values((2,))})
    report = convert(source, "y.safetensors", to="float16", verify=True)
    assert {one.name: one.why for one in report.tensors}["z"] == "it holds no real numbers"
    assert stored_bytes(Path("y.safetensors"), "z") == z.tobytes()


def test_an_empty_file() -> None:
    source = save(Path("x.safetensors"), {})
    assert convert(source, "y.safetensors", to="int8").tensors == []
    assert load_file("y.safetensors") == {}
