"""The rows that ml_dtypes has and ONNX lacks: facts, what they mean, one object by every name."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.spec.custom_formats import description_of, format_described_by
from lowprec.spec.formats import NUMERIC, ONNX_NUMERIC, REGISTERED, Format, names_near

DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "float8_e4m3": {"exponent_bits": 4, "mantissa_bits": 3},
    "float8_e3m4": {"exponent_bits": 3, "mantissa_bits": 4},
    "float8_e4m3b11fnuz": {"exponent_bits": 4, "mantissa_bits": 3, "bias": 11, "inf": False, "nan": "negative-zero"},
}
ROWS = [lp.formats[name] for name in DESCRIPTIONS]
BY_NAME: dict[str, Any] = {"ids": lambda one: one.name if isinstance(one, Format) else None}


def _same(got: np.ndarray, expected: np.ndarray) -> None:
    assert got.dtype == expected.dtype
    assert np.array_equal(got.view(np.uint8), expected.view(np.uint8))


# ---- facts
def test_facts() -> None:
    assert [fmt for fmt in NUMERIC if fmt not in ONNX_NUMERIC] == ROWS
    assert list(lp.formats)[8:11] == list(DESCRIPTIONS)
    for fmt in ROWS:
        assert (fmt.onnx_name, fmt.onnx_enum, fmt.since, fmt.torch_name) == (None,) * 4
        assert "ml_dtypes" in fmt.reference
        assert fmt.dtype == getattr(ml_dtypes, fmt.name)


@pytest.mark.parametrize("fmt", ROWS, **BY_NAME)
def test_opset_must_be_the_default(fmt: Format) -> None:
    with pytest.raises(
        ValueError, match=f"^`opset` must be 28, the default, for {fmt.name}, which ONNX lacks; got 24$"
    ):
        lp.cast(np.float32([1.0]), fmt, opset=24)
    with pytest.raises(ValueError, match=r"^`output_dtype` must be a type that .*-28 has there: (?!.*e3m4)"):
        lp.quantize_linear(np.float32([1.0]), 1.0, output_dtype="float64")


# ---- what lowprec returns it reads
@pytest.mark.parametrize("fmt", ROWS, **BY_NAME)
def test_results_are_read_without_a_source(fmt: Format) -> None:
    x = np.float32([0.3, -1.5, 0.0, 7.0])
    described = lp.register(lp.float_format(fmt.name, **DESCRIPTIONS[fmt.name]))
    y = lp.cast(x, described)
    values = y.astype(np.float32)
    assert y.dtype == fmt.dtype
    assert lp.as_format(y.dtype) is lp.as_format(y.dtype.type) is fmt
    assert lp.as_format(y.dtype.newbyteorder(">")) is fmt
    assert np.array_equal(lp.cast(y, "float32"), values)
    assert np.array_equal(lp.cast(y, "float32", source=described), values)
    assert np.array_equal(lp.dequantize_linear(y, np.float32(2.0)), 2 * values)
    _same(lp.to_numpy(y), y)
    _same(lp.cast_like(x, y), y)
    _same(lp.cast(y, fmt, saturate=False), y)
    _same(lp.bitcast(lp.bitcast(y, "uint8"), fmt), y)
    _same(lp.quantize_linear(x, np.float32(1.0), np.zeros((), y.dtype)), y)


# ---- one object
@pytest.mark.parametrize("fmt", ROWS, **BY_NAME)
def test_a_description_of_the_row_is_the_row(fmt: Format) -> None:
    facts = DESCRIPTIONS[fmt.name]
    assert lp.float_format(fmt.name, **facts) is fmt
    assert lp.float_format(fmt.name, **facts, reference="another page") is fmt
    assert lp.register(lp.float_format(fmt.name, **facts)) is lp.as_format(fmt.name) is fmt
    assert fmt.name not in REGISTERED
    for said in (description_of(fmt), {**description_of(fmt), "source": ""}):
        assert format_described_by(json.loads(json.dumps(said))) is fmt
    assert pickle.loads(pickle.dumps(fmt)) is copy.deepcopy(fmt) is fmt
    assert repr(fmt).startswith(f"<Format {fmt.name}: 8 bits ")


OTHERS = list(itertools.product(ROWS, [{"bias": 5}, {"nan": "all-ones", "inf": False}]))


@pytest.mark.parametrize(("fmt", "changes"), OTHERS)
def test_other_facts_are_a_format_of_their_own(fmt: Format, changes: dict[str, Any]) -> None:
    own = lp.float_format(fmt.name, **{**DESCRIPTIONS[fmt.name], **changes})
    assert own is not fmt
    assert (own.name, own.dtype, lp.storage_dtype(own, np)) == (fmt.name, np.uint8, np.uint8)
    assert format_described_by(json.loads(json.dumps(description_of(own)))) is own
    assert pickle.loads(pickle.dumps(own)) is own
    y = lp.cast(np.float32([1.0, 0.3]), own)
    assert y.dtype == np.uint8
    assert y.tolist() == [reference.encode(1, own), reference.encode(float(np.float32(0.3)), own)]
    with pytest.raises(
        ValueError, match=rf"^`fmt` must have a name that no row .* has; got .*{fmt.name}.*, the row is"
    ):
        lp.register(own)
    assert lp.as_format(fmt.name) is fmt


def test_another_object_of_the_same_facts() -> None:
    """As a pickle of an earlier version makes it, which did not know the row."""
    for fmt in ROWS:
        facts = {name: getattr(fmt, name) for name in Format.__match_args__}
        other = Format(**{**facts, "reference": ""})
        assert other is not fmt
        y = lp.cast(np.float32([1.0, 0.3]), other)
        assert y.dtype == fmt.dtype
        assert np.array_equal(lp.cast(y, "float32", source=other), y.astype(np.float32))


# ---- `source` was the name of `reference`
def test_source_is_the_old_name_of_reference() -> None:
    with pytest.warns(DeprecationWarning, match="`source` of float_format is `reference` now") as warned:
        fmt = lp.float_format("referred", exponent_bits=4, mantissa_bits=3, source="a page")
    assert warned[0].filename == __file__
    assert fmt is lp.float_format("referred", exponent_bits=4, mantissa_bits=3, reference="a page")
    with pytest.warns(DeprecationWarning, match=r"Format\.source is Format\.reference now") as warned:
        assert fmt.source == fmt.reference == "a page"
    assert warned[0].filename == __file__
    assert description_of(fmt)["source"] == "a page"  # in files it stays


# ---- names that no format has

MEANT = {
    "e4m3": ["float8_e4m3fn", "float8_e4m3"], "E4M3": ["float8_e4m3fn", "float8_e4m3"],
    "fp8_e4m3": ["float8_e4m3fn", "float8_e4m3"], "F8_E4M3": ["float8_e4m3fn", "float8_e4m3"],
    "e5m2": ["float8_e5m2"], "e3m4": ["float8_e3m4"], "e2m1": ["float4_e2m1fn"], "e8m0": ["float8_e8m0fnu"],
    "ue8m0": ["float8_e8m0fnu"], "fp8": ["float8_e4m3fn", "float8_e5m2"], "float8": ["float8_e4m3fn", "float8_e5m2"],
    "mxfp8": ["float8_e4m3fn", "float8_e5m2"], "mxfp6": ["float6_e2m3fn", "float6_e3m2fn"], "fp4": ["float4_e2m1fn"],
    "mxfp4": ["float4_e2m1fn"], "MXFP4": ["float4_e2m1fn"], "nvfp4": ["float4_e2m1fn"], "mxint8": ["int8"],
    "half": ["float16"], "single": ["float32"], "double": ["float64"], "float": ["float32", "float64"],
    "Float16": ["float16"], "FLOAT8_E5M2": ["float8_e5m2"], "Int8": ["int8"], "torch.float16": ["float16"],
    "fp16": ["float16"], "FP32": ["float32"], "f64": ["float64"], "bf16": ["bfloat16"], "BFLOAT": ["bfloat16"],
    "i8": ["int8"], "u4": ["uint4"], "ui16": ["uint16"], "int": ["int8", "int32", "int64"],
    "int3": ["int2", "int4"], "uint6": ["uint4", "uint8"], "int1": ["int2"], "int128": ["int64"],
    "FLOAT8E4M3FN": ["float8_e4m3fn"], "flaot16": ["float16", "bfloat16", "float64"],
    "": [], "?": [], "nosuch": [], "x" * 10_000: [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "names"), MEANT.items(), ids=lambda one: str(one)[:20])
def test_what_may_be_meant(text: str, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(REGISTERED):  # by other tests of the process
        monkeypatch.delitem(REGISTERED, name)
    assert names_near(text) == names
    if text == "FLOAT8E4M3FN":  # one of ONNX, but not the name of a row
        assert lp.as_format(text).name == names[0]
        return
    with pytest.raises(ValueError, match=r"^`to` must be a format; got ") as caught:
        lp.cast(np.float32([1.0]), text)
    before, _, after = str(caught.value).partition(". It may be one of float64, float32, ")
    blocks = f" `lowprec.quantize` takes {text}" if text in ("mxfp4", "mxint8", "nvfp4") else ""
    hint = f" (did you mean {' or '.join(names)}?{blocks})" if names else ""
    assert before.endswith(("'" if len(text) < 60 else "...") + hint)
    assert after.endswith(
        "complex128, an ONNX name or enum value, tf32, a name of IEEE P3109 or a registered one, or a dtype"
    )


HINTS = {
    "half": " (did you mean float16?)", "FLOAT": " (did you mean float32?)", 17: " (did you mean float8_e4m3fn?)",
    "TF32": " (did you mean tf32?)", "Binary8p3se": " (did you mean binary8p3se?)",
}  # fmt: skip


@pytest.mark.parametrize("name", ["nope", *HINTS, None])
def test_a_table_names_what_is_near(name: Any) -> None:
    with pytest.raises(KeyError) as caught:
        lp.formats[name]
    (text,) = caught.value.args
    hint = HINTS.get(name, "")
    assert text.startswith(f"`name` must be that of a format; got {name!r}{hint}. It may be one of float64, float32, ")
    assert text.endswith(
        ", tf32, a name of IEEE P3109 or a registered one; lp.as_format takes ONNX names and dtypes too"
    )
    assert lp.formats.get(name) is None
    assert name not in lp.formats
