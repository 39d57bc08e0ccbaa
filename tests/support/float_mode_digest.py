"""A script: digests of everything that host arithmetic decides, made in the floating-point mode of its argument.

It prints one JSON object: a part of the library, how many results that part has, the hash of them all.
`test_float_mode.py` compares what fresh processes print. Modules are imported and inputs made before the mode is set.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import array_api_strict as strict
import ml_dtypes
import numpy as np

import lowprec as lp
from lowprec import loss, reference
from lowprec.backends.array_api.cast import _magnitudes, quanta_of
from lowprec.backends.scales_for_kernels import scale_argument
from lowprec.loss.error_stats import ErrorStats
from lowprec.ops.scales import scale_codes
from lowprec.reference import exact_quantize
from lowprec.spec.formats import NUMBERS, NUMERIC, Format, Kind, NaNRule
from lowprec.spec.operator_versions import first_opset
from support.array_libraries import codes_of
from support.cast_cases import options_for
from support.float_modes import mode_in_force, set_mode
from support.quantize_cases import PRECISIONS, Types, dequantize_case, generator, quantize_case, type_table

Part = Iterator[object]


def bits(value: object) -> object:
    """Return a float as its bytes, which no mode changes, and anything else as it is."""
    return struct.pack("<d", value).hex() if isinstance(value, float) else value


TINY = Format(
    "float8_tiny", "FLOAT8TINY", 1001, Kind.FLOAT, 5, 2, 126, True, False, NaNRule.NEGATIVE_ZERO, True, None, 19, "here"
)
"""A row whose smallest values, and half of them, are subnormals of float32."""

ROWS = (*NUMERIC, TINY)
CODES = {fmt: codes_of(fmt) for fmt in ROWS}
DRAWN: list[tuple[Any, Types, Any]] = [
    (call, types, draw(generator(types), types, (40, 5), (40,), {"axis": 0}))
    for call, draw in ((lp.quantize_linear, quantize_case), (lp.dequantize_linear, dequantize_case))
    for types in type_table("QuantizeLinear" if draw is quantize_case else "DequantizeLinear", 28)
]
RANGES = [
    np.ldexp(sign * np.random.default_rng(3).uniform(1, 2, 300), exponent).astype(np.float32)
    for exponent in (0, -100, -130, -140, 100)
    for sign in (1, -1, np.resize([1, -1], 300))
]


def casts() -> Part:
    """Yield every cast, by every option that changes it."""
    for source, target in itertools.product(ROWS, ROWS):
        for options in options_for(target):
            if options.get("opset", 28) >= first_opset(source):
                found = lp.encode(CODES[source], target, source=source, **options)
                yield source.name, target.name, options, found.tobytes().hex()


def linear() -> Part:
    """Yield quantization and its inverse for every combination of types and every precision."""
    for call, types, (x, scale, zero, _) in DRAWN:
        quantizes = call is lp.quantize_linear
        for fmt, offset in itertools.product(PRECISIONS if quantizes else PRECISIONS[:3], (None, zero)):
            how: Any = {"precision": fmt, "output_dtype": types.y} if quantizes else {"output_dtype": fmt}
            yield str(types), fmt.name, np.asarray(call(x, scale, offset, axis=0, **how)).tobytes().hex()
    for x in RANGES:
        yield [np.asarray(part).tobytes().hex() for part in lp.dynamic_quantize_linear(x)]


def facts() -> Part:
    """Yield the derived properties of every format, and the tables of the array-API back end."""
    names = [name for name, found in vars(Format).items() if isinstance(found, property)]
    names = [name for name in names if "dtype" not in name and name != "source"]  # an old name, which warns
    for fmt in lp.formats.values():
        yield fmt.name, [(name, bits(getattr(fmt, name))) for name in names if fmt.kind in NUMBERS or name == "bits"]
        if fmt.kind in NUMBERS:
            info = (lp.finfo if fmt.is_float else lp.iinfo)(fmt) if fmt.kind.value != "bool" else None
            yield [bits(getattr(info, name)) for name in getattr(info, "__slots__", ()) if name != "dtype"]
        if fmt.is_float:
            yield [bits(number) for number in quanta_of(fmt)]
            yield [bits(number) for number in _magnitudes(fmt)] if fmt.bits <= 8 else None


TEXTS = [
    "0.1", "0.3", "1e-4", "9.999999999999999e-05", "1e23", "8.5e22", "2.2250738585072011e-308", "5e-324", "2.4e-324",
    "2.5e-324", "1e-310", "1.17549435e-38", "1e-38", "1.4e-45", "7.1e-46", "1e-40", "123456789.123456789", "464",
    "464.00000000000001", "-464", "9007199254740993", "9007199254740992.9999999999", "1.7976931348623158e308",
    "1.7976931348623159e308", "65519.999999999999999", "65520", "0.1e-39", "-1e-45", "inf", "nan", "-0", "248", "1e400",
    "2.9802322387695312e-08", "2.98023223876953125e-08", "18446744073709551615.9", "1.0000000000000000000001", "1e-400",
]  # fmt: skip


def texts() -> Part:
    """Yield text as every format, and every short code, and hard longer ones, as text."""
    for fmt in NUMERIC:
        yield fmt.name, lp.cast(np.array(TEXTS), fmt).tobytes().hex()
        if fmt.bits <= 16:
            codes = np.arange(1 << min(fmt.bits, 16)).astype(fmt.code_dtype)
            yield fmt.name, lp.cast(codes, "string", source=fmt).tolist()
    rng = np.random.default_rng(5)
    for dtype in (np.float32, np.float64):
        word = np.dtype(f"u{np.dtype(dtype).itemsize}")
        edges = np.concatenate([np.arange(200), (1 << 8 * word.itemsize - 9) + np.arange(200)]).astype(word)
        few = rng.integers(0, np.iinfo(word).max, 2000, word, endpoint=True)
        yield lp.cast(np.concatenate([edges, few, few >> word.type(9)]).view(dtype), "string").tolist()


_X = np.array([0.3, -2.5, 1e-40, -1e-45, 1e3, 0.0, -0.0, np.nan, np.inf, 7.5], np.float32)
DIVIDENDS = [_X, _X.astype(np.float16), _X.astype(ml_dtypes.bfloat16), np.arange(-5, 5, dtype=np.int32)]
NUMBERS_AS_SCALES = [
    0.1, 1 / 3, -1 / 3, 1e-40, 1.4e-45, 5e-324, 1e-310, 0.0, -0.0, 3, 2**70, 2**63 - 1, 1e39, 6e-8, 65519.9, 448.1,
]  # fmt: skip


def scales() -> Part:
    """Yield what scales and zero points that are Python numbers become and do."""
    for scale, values in itertools.product(NUMBERS_AS_SCALES, DIVIDENDS):
        for target in ("int8", "float8_e4m3fn", "float4_e2m1fn"):
            yield np.asarray(lp.quantize_linear(values, scale, output_dtype=target)).tobytes().hex()
            if not target.startswith("float8"):
                yield np.asarray(lp.quantize_linear(values, scale, 3, output_dtype=target)).tobytes().hex()
        yield lp.dequantize_linear(np.arange(256).astype(np.uint8), scale, 1).tobytes().hex()
        for name in (None, "float16", "bfloat16", "float32", "float8_e8m0fnu"):
            yield np.asarray(scale_argument(scale, values, None, name)[0]).tobytes().hex()
        if values.dtype in (np.float32, np.int32):  # type: ignore[attr-defined]
            yield np.asarray(scale_argument(scale, strict.asarray(values), None, None)[0]).tobytes().hex()
    for zero in (0.0, -0.0, 0.1, 5e-324, 1e-310, -1e-40, 0.25):
        for target in ("float4_e2m1fn", "float6_e2m3fn", "int4", "float8_e5m2"):
            try:
                yield lp.quantize_linear(_X, 0.1, zero, output_dtype=target).tobytes().hex()
            except ValueError as error:
                yield str(error).partition(";")[0]


ORACLE = [0.1, 1e-40, 5e-324, -5e-324, 1e-310, 464.0, 465.0, -0.0, 2**70, float("inf"), "0.1", "0x1p-1074", "1/3"]

SCALARS = [np.float32(1e-45), np.float16(6e-8), ml_dtypes.bfloat16(1e-40), np.float64(1e-320), np.longdouble(1e-320)]


def oracle() -> Part:
    """Yield what the oracle and `explain` say, and values as floats."""
    for value, fmt in itertools.product(ORACLE, NUMERIC):
        for saturate in (True, False):
            yield str(lp.explain(value, fmt, saturate=saturate)), reference.encode(value, fmt, saturate=saturate)
    for value in SCALARS:
        yield str(reference.Value.of(value)), bits(float(reference.Value.of(value)))
    for value in ORACLE:
        yield bits(float(reference.Value.of(value)))
    for fmt in NUMERIC:
        yield [bits(float(reference.decode(code, fmt))) for code in range(1 << min(fmt.bits, 8))]
    for x, scale in itertools.product(ORACLE[:8], ORACLE[:7]):
        yield exact_quantize.quantize(x, scale, 3, "uint8", precision="float32")
        yield exact_quantize.quantize(x, scale, None, "float8_e4m3fn", precision="float64")
    yield list(map(str, exact_quantize.dynamic_quantize([1e-45, -3e-45, 1e-44])))


def absmax() -> Part:
    """Yield scales from the largest magnitudes, as the converter of checkpoints takes them."""
    rng = np.random.default_rng(11)
    for source, to, fmt in itertools.product(
        [lp.formats[name] for name in ("float64", "float32", "bfloat16", "float16")],
        [lp.formats[name] for name in ("int8", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "uint4")],
        [lp.formats[name] for name in ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e8m0fnu")],
    ):
        largest = rng.integers(0, source.max_code, 400, source.code_dtype, endpoint=True)
        largest = np.concatenate([np.arange(40).astype(source.code_dtype), largest])
        yield scale_codes(np.asarray(lp.decode(largest, source, to="float64")), to, fmt).tobytes().hex()


RECIPES = [("float8_e4m3fn", "none"), ("float8_e4m3fn", "tensor"), ("int8", "axis:0"), ("int4", "block:8")]
RECIPES += [("float16", "none")]
NAMES = ("saturated", "flushed", "max_abs_error", "max_rel_error", "sqnr_db", "nan", "inf")
_NORMAL = np.random.default_rng(13).normal(size=(30, 160))
POWERS = [0.1, 0.7, 1e-9, 3.3, 1e9, 1 / 3] * 5
TENSORS = {
    "single": _NORMAL.astype(np.float32), "double": _NORMAL, "half": _NORMAL.astype(np.float16),
    "tiny": np.ldexp(_NORMAL, -135).astype(np.float32),
    "odd": np.array([[np.nan, np.inf, 1e38, -3e-45, 0.1, 465, 0, -0.0] * 8] * 4, np.float32),
}  # fmt: skip


def losses() -> Part:
    """Yield the statistics of `loss`, and files and statistics of the converter of checkpoints."""
    for x in TENSORS.values():
        for fmt, scaled in itertools.product(("float8_e4m3fn", "int8", "float4_e2m1fn", "bfloat16"), (True, False)):
            found = loss.measure(x, fmt, scaled=scaled)
            yield [(name, bits(getattr(found, name))) for name in found.__slots__]
    total = ErrorStats()
    for power in POWERS:
        part = ErrorStats()
        part.add_counts(1, (0.0, 1.0, 1.0, 1.0, 0, 0, 0, power, power / 4))
        total.merge(part)
    yield bits(total.sqnr_db)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "x.npz"
        np.savez(source, **TENSORS)
        for to, scale in RECIPES:
            target = Path(folder) / f"{to}-{scale.replace(':', '')}.npz"
            report = lp.convert(source, target, to=to, scale=scale, threads=1)
            yield [(part.name, [(name, bits(getattr(part, name))) for name in NAMES]) for part in report.tensors]
            with np.load(target) as result:
                yield [(name, result[name].tobytes().hex()) for name in sorted(result.files)]


PARTS = (casts, linear, facts, texts, scales, oracle, absmax, losses)

TIES = np.array([464, -464, 464.03125, 480, 248, 247.9, 61440, 61439], np.float32)
SMALLEST = np.array([1, 3], np.uint32).view(np.float32)


def main(mode: str) -> None:
    """Print the digests, and what was once wrong in itself."""
    set_mode(mode)
    found: dict[str, object] = {"mode": mode_in_force()}
    for part in PARTS:
        digest, count = hashlib.sha256(), 0
        for item in part():
            digest.update(repr(item).encode())
            count += 1
        found[part.__name__] = [count, digest.hexdigest()]
    names = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    found["ties"] = [lp.encode(TIES, name, saturate=False).tolist() for name in names]
    found["text"] = lp.cast(SMALLEST, "string").tolist()
    found["smallest"] = bits(lp.finfo("float64").smallest_subnormal)
    assert mode_in_force() == found["mode"]  # the caller's mode is put back
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
