"""Every documented error of Cast: its type, the parameter it names, what that must be and what came."""

from __future__ import annotations

import re
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.optional import Missing, optional

import lowprec as lp
from lowprec.spec.operator_versions import VERSIONS

torch: Any = optional("torch")

X = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(("x", "came"), [
    ([1.0], "list"), (1.0, "float"), (1, "int"), (True, "bool"), (1j, "complex"), (None, "NoneType"), ("1", "str"),
    (b"1", "bytes"), (memoryview(b"1"), "memoryview"), (np.ma.array([1.0]), "MaskedArray"), (np, "module"),
    (np.float32, "type"),
])  # fmt: skip
def test_not_an_array(x: Any, came: str) -> None:
    for call in (
        lambda: lp.cast(x, "float16"), lambda: lp.encode(x, "float16"), lambda: lp.decode(x, "float16"),
        lambda: lp.pack(x, "int4"), lambda: lp.unpack(x, "int4", (1,)),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf"`(x|codes|packed)` must be an array .*; got .*{came}"):
            call()


@pytest.mark.parametrize("x", [
    np.array(["a"]), np.array([1j]), np.array([None]), np.zeros(2, "m8[s]"), np.zeros(2, "f4,i4"),
    np.zeros(2, "V1"), np.array([b"a"]), strict.asarray([1j]), np.zeros(2, np.longdouble),
    *([] if isinstance(torch, Missing) else [torch.zeros(1, dtype=torch.complex128)]),
])  # fmt: skip
def test_not_a_number_format(x: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"got dtype {x.dtype}")):
        lp.encode(x, "float16")
    if not (isinstance(x, np.ndarray) and x.dtype.kind in "UO"):  # which Cast takes for text
        with pytest.raises(TypeError, match=re.escape(f"got dtype {x.dtype}")):
            lp.cast(x, "float16")
    with pytest.raises(TypeError, match="`codes` must hold"):
        lp.decode(x, "float16")


@pytest.mark.parametrize(("options", "message"), [
    ({"to": "string", "opset": 8}, "`to` .*Cast-6 has; got string, which Cast has since opset 9"),
    ({"to": "complex64"}, "`to` must be one of .*; got complex64"), ({"to": True}, "`to` must be a format; got True"),
    ({"to": 99}, "`to` must be a format; got 99"), ({"to": 1.0}, "`to` must be a format; got 1.0"),
    ({"to": None}, "`to` must be a format; got None"),
    ({"to": ["float16"]}, r"`to` must be a format; got \['float16'\]\. It may be one of float64, "),
    ({"to": float}, "`to` must be a format; got <class 'float'>"),
    ({"source": "nope"}, "`source` must be a format; got 'nope'"),
    ({"source": "float16"}, "`x` must hold codes of `source` float16 in float16 or uint16; got dtype float32"),
    ({"source": "int4"}, "`x` must hold codes of `(source|fmt)` int4 in int4 or int8 or uint8; got"),
    ({"x": X.astype(np.int8), "source": "uint8"}, "`x` must hold codes of `source` uint8 in uint8; got dtype int8"),
    ({"x": X.astype(np.int16), "source": "uint16"}, "`x` must hold codes of `source` uint16 in uint16; got dtype"),
    ({"saturate": "no"}, "`saturate` must be True or False; got 'no'"),
    ({"saturate": None}, "`saturate` must be True or False; got None"),
    ({"saturate": []}, r"`saturate` must be True or False; got \[\]"),
    ({"round_mode": "even"}, "`round_mode` must be one of up, down, nearest or None; got 'even'"),
    ({"round_mode": ["up"]}, "`round_mode` must be one of up, down, nearest or None; got"),
    ({"opset": 0}, "`opset` must be from 1 to 28 for Cast; got 0"),
    ({"opset": 29}, "`opset` must be from 1 to 28 for Cast; got 29"),
    ({"opset": 24.0}, "`opset` must be an integer from 1 to 28; got 24.0"),
    ({"opset": "24"}, "`opset` must be an integer from 1 to 28; got '24'"),
    ({"opset": True}, "`opset` must be an integer from 1 to 28; got True"),
    ({"saturate": False, "opset": 18}, "`saturate` must be True before opset 19; got opset 18"),
    ({"round_mode": "up", "opset": 23}, "`round_mode` must be None before opset 24; got opset 23"),
    ({"out": np.zeros((3, 2), np.float16)}, r"`out` must have shape \(2, 3\) and .*; got \(3, 2\), float16"),
    ({"out": np.zeros((2, 3), np.int16)}, "`out` must have shape .* and dtype float16; got .*, int16"),
    ({"out": np.broadcast_to(np.float16(0), (2, 3))}, "`out` must be writable"),
])  # fmt: skip
def test_values(options: dict[str, Any], message: str) -> None:
    options = {"x": X, "to": "float16", **options}
    x, to = options.pop("x"), options.pop("to")
    for _ in range(2):  # the second call finds whatever the first one left in a cache
        with pytest.raises(ValueError, match=message):
            lp.cast(x, to, **options)
    lp.cast(X, 1)  # enum 1 is float32, and equal to True
    lp.cast(X, "float16", opset=1)


@pytest.mark.parametrize("make", [lambda shape: torch.empty(shape), lambda _: [0.0], strict.zeros])
def test_out_of_another_library(make: Any) -> None:
    out = make((2, 3))
    with pytest.raises(TypeError, match=r"`out` must be (an array|a NumPy array, as `x` is; got a)"):
        lp.cast(X, "float16", out=out)


@pytest.mark.parametrize(
    "fmt", [fmt for fmt in lp.formats.values() if fmt.since not in (None, 1) and fmt.bits], ids=lambda f: f.name
)
def test_types_by_opset(fmt: lp.Format) -> None:
    if fmt.kind.value == "complex":
        with pytest.raises(ValueError, match="`to` must be one of"):
            lp.cast(X, fmt)
        return
    before = max(version for version in VERSIONS["Cast"] if version < fmt.since)
    codes = np.zeros(3, fmt.code_dtype)
    with pytest.raises(
        ValueError, match=rf"`to` .*Cast-{before} has; got {fmt.name}, which Cast has since opset {fmt.since}"
    ):
        lp.cast(X, fmt, opset=fmt.since - 1)
    with pytest.raises(ValueError, match=rf"`source` .*got {fmt.name}, which Cast has since opset {fmt.since}"):
        lp.cast(codes, "float32", source=fmt, opset=fmt.since - 1)
    assert lp.cast(X, fmt, opset=fmt.since).shape == X.shape
    assert lp.cast(codes, "float32", source=fmt, opset=fmt.since).shape == (3,)


def test_attributes_that_do_not_concern_the_target_are_ignored() -> None:
    assert lp.cast(X, "float16", saturate=False, round_mode="down").dtype == np.float16
    assert lp.cast(X, "int8", saturate=0).dtype == np.int8
    assert lp.cast(X, "int8", saturate=np.False_, opset=np.int64(28)).dtype == np.int8


@pytest.mark.parametrize(("call", "message"), [
    (lambda: lp.encode(X, "float8_e5m2", packed=True), "`to` must be a 2-, 4- or 6-bit format to be packed; got"),
    (lambda: lp.pack(X, "int8"), "`source` must be a 2-, 4- or 6-bit format"),
    (lambda: lp.pack(X, "int4"), "`x` must hold codes of `(source|fmt)` int4 in int4 or int8 or uint8; got"),
    (lambda: lp.unpack(X, "int4", 3), "`packed` must be 1-D uint8 of 2 bytes for shape .3,. in int4; got float32"),
    (lambda: lp.unpack(np.zeros(2, np.uint8), "int4", 5), "1-D uint8 of 3 bytes .*; got uint8 of shape .2,."),
    (lambda: lp.unpack(np.zeros(4, np.uint8), "int4", (5,)), "1-D uint8 of 3 bytes .*; got uint8 of shape .4,."),
    (lambda: lp.unpack(np.zeros(2, np.uint8), "int4", -3), "`shape` must be .*; got -3"),
    (lambda: lp.unpack(np.zeros(2, np.uint8), "int4", "3"), "`shape` must be .*; got '3'"),
    (lambda: lp.unpack(np.zeros(2, np.uint8), "int4", (3.0,)), "`shape` must be .*; got .3.0,."),
    (lambda: lp.decode(np.zeros(2, np.uint8), "int4", packed=True), "`shape` must be .*; got None"),
    (lambda: lp.decode(np.zeros(2, np.uint8), "int4", shape=(2,)), "`shape` must be None unless the"),
    (lambda: lp.decode(np.zeros(2, np.uint8), "int4", to="nope"), "`to` must be a format; got 'nope'"),
    (lambda: lp.decode(np.zeros(2, np.uint8), "nope"), "`source` must be a format; got 'nope'"),
    (lambda: lp.decode(np.zeros(2, np.uint16), "int4"), "`codes` must hold codes of `source` int4"),
    (lambda: lp.encode(X, "string"), "`to` must be one of .*; got string"),
    (lambda: lp.decode(np.zeros(2, np.uint8), "uint8", to="string"), "`to` must be one of .*; got string"),
    (lambda: lp.set_num_threads(0), "`n` must be an integer from 1 to 1024; got 0"),
    (lambda: lp.set_num_threads(1.5), "`n` must be an integer from 1 to 1024; got 1.5"),
    (lambda: lp.set_num_threads("2"), "`n` must be an integer from 1 to 1024; got '2'"),
    (lambda: lp.set_num_threads(True), "`n` must be an integer from 1 to 1024; got True"),
])  # fmt: skip
def test_other_calls(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "text", [np.array(["0.3"]), np.array(["0.3"], object), np.array(["0.3"], np.dtypes.StringDType())]
)
def test_text_has_no_codes(text: np.ndarray) -> None:
    for packed in (False, True):
        with pytest.raises(TypeError, match="`x` must hold bools, integers, real floats; got dtype"):
            lp.encode(text, "float4_e2m1fn", packed=packed)
    assert lp.encode(lp.cast(text, "float16"), "float16").tolist() == [0x34CD]
