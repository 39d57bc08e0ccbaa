"""Random calls of casts, from text too, of `bitcast`, and of codes that are packed, with the oracle's answers."""

from __future__ import annotations

import functools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import reference
from lowprec.reference import Value, exact_decimal, finite_count, magnitude_of
from lowprec.reference.whole_arrays import decoded, expected_from_float64, expected_from_integers, expected_rounded
from lowprec.spec.formats import Format
from lowprec.spec.operator_versions import first_opset
from lowprec.spec.rounding_modes import NAN_RULES, OVERFLOWS, ROUNDINGS, STOCHASTIC, Rounding
from support.bits import packed_bytes
from support.random_calls.calls import Call, Expected, with_out
from support.random_calls.memory import Array, Placed, place
from support.random_calls.values import DESCRIBED, FORMATS, draw_codes, draw_format, draw_shape

Rng = np.random.Generator
_FEW = 3
"""Elements for which the exact oracle is asked as well as the one for arrays."""

_PACKABLE = tuple(fmt for fmt in FORMATS if fmt.bits in (2, 4, 6))


# ---- the oracle
@functools.lru_cache(maxsize=1 << 18)
def _exact(code: int, source: Format, target: Format, options: tuple[tuple[str, Any], ...]) -> int:
    return reference.cast(code, source, target, **dict(options))


def _each(codes: Array, source: Format, target: Format, options: dict[str, Any]) -> Array:
    found, key = np.empty(codes.size, target.code_dtype), tuple(sorted(options.items()))
    distinct, places = np.unique(codes.reshape(-1), return_inverse=True)
    answers = [_exact(int(code), source, target, key) for code in distinct]
    if answers:
        found[:] = np.array(answers, np.uint64).astype(target.code_dtype)[places.reshape(-1)]
    return found.reshape(codes.shape)


def _numbers(codes: Array, fmt: Format) -> Array:
    """Return what integer codes stand for, as int64, or as uint64 where only that holds them."""
    if not fmt.is_integer:
        return (codes != 0).astype(np.int64)
    wide = codes.astype(np.uint64)
    if fmt.signed:
        wide = np.where(wide & np.uint64(fmt.sign_mask), wide | np.uint64((1 << 64) - (1 << fmt.bits)), wide)
        return wide.view(np.int64)
    return wide


def rounding_of(options: dict[str, Any], target: Format) -> Rounding:
    """Return the rules that options of a call mean for a target."""
    mode = options.get("rounding") or "nearest_even"
    overflow = options.get("overflow") or ("sat_finite" if target.bits <= 8 else "ovf_inf")
    bits = options.get("random_bits", 16) if mode in STOCHASTIC else 0
    return Rounding("stochastic_b" if mode == "stochastic" else mode, overflow, options.get("nan") or "signed", bits)


def _rounded(codes: Array, source: Format, target: Format, options: dict[str, Any]) -> Array:
    rule = rounding_of(options, target)
    return expected_rounded(codes, source, target, rule, options.get("seed"), options.get("offset", 0))


def expected_cast(codes: Array, source: Format, target: Format, options: dict[str, Any]) -> Array:
    """Return the codes that `cast` gives codes of the source, by the oracle for arrays or the exact one."""
    if any(options.get(name) is not None for name in ("rounding", "overflow", "nan")):
        return np.asarray(_rounded(codes, source, target, options))
    options = {name: options[name] for name in ("saturate", "round_mode", "opset") if name in options}
    by_value = target.is_float and target.bits <= 8 and options.get("saturate", True)
    if source is target and not by_value:
        return np.asarray(codes & codes.dtype.type(source.code_mask)) if source.bits < 8 else codes
    if (target.is_float and not target.signed and target.has_zero) or (target in DESCRIBED or source is target):
        return _each(codes, source, target, options)
    if source.is_float:
        found = expected_from_float64(decoded(codes.reshape(-1), source), target, **options)
    else:
        found = expected_from_integers(_numbers(codes.reshape(-1), source), target, **options)
    if codes.size <= _FEW:
        assert found.tolist() == _each(codes.reshape(-1), source, target, options).tolist(), "the oracles differ"
    return np.asarray(found).reshape(codes.shape)


# ---- arguments
def draw_rules(rng: Rng, target: Format, *, beyond: float = 0.35) -> dict[str, Any]:
    """Draw the options of a conversion: those of ONNX, or those of the rules beyond it, or none."""
    found: dict[str, Any] = {}
    if target.is_float and rng.random() < beyond:
        found["rounding"] = str(rng.choice(ROUNDINGS))
        if rng.random() < 0.5:
            found["overflow"] = str(rng.choice(OVERFLOWS))
        if rng.random() < 0.4:
            found["nan"] = str(rng.choice(NAN_RULES))
        if found["rounding"] in STOCHASTIC:
            found["seed"] = int(rng.integers(1 << 64, dtype=np.uint64))
            if rng.random() < 0.6:
                found["random_bits"] = int(rng.integers(1, 33))
        if rng.random() < 0.4 and "seed" in found:
            found["offset"] = int(rng.choice([1, 3, 7, 16, 12345, 2**32 - 5, 2**62 + 9]))
        if rng.random() < 0.1 and "seed" not in found:
            del found["rounding"]
        return found
    if rng.random() < 0.4:
        found["saturate"] = bool(rng.random() < 0.5)
    if rng.random() < (0.7 if not target.has_zero else 0.1):
        found["round_mode"] = str(rng.choice(["up", "down", "nearest"]))
    return found


def draw_stored(
    rng: Rng, fmt: Format, shape: tuple[int, ...], target: Format | None = None, *, dirty: bool = False
) -> tuple[Placed, bool]:
    """Draw an array of a format, as its own dtype or as its codes; return whether `source` must name the format.

    `dirty` codes of fewer than 8 bits have any bits above.
    """
    codes = draw_codes(rng, fmt, shape, target)
    bare = fmt not in FORMATS or rng.random() < 0.25
    if dirty and bare and fmt.bits not in (8, 16, 32, 64):
        above = rng.integers(0, 1 << (8 * codes.itemsize), shape, np.uint64) & np.uint64(~fmt.code_mask & 0xFFFF)
        codes = codes | np.asarray(above).astype(codes.dtype)
    return place(rng, codes, fmt.code_dtype if bare else fmt.dtype), bare


def _add_opset(rng: Rng, options: dict[str, Any], *formats: Format, first: int = 1) -> None:
    """Draw an opset where that changes nothing else: one that has the formats and the attributes given."""
    if any(name in options for name in ("rounding", "overflow", "nan")) or rng.random() < 0.6:
        return
    least = max([first, *(first_opset(fmt) for fmt in formats)])
    least = max(least, 19 if "saturate" in options else 1, 24 if "round_mode" in options else 1)
    options["opset"] = int(rng.integers(least, 29))


def spelled(rng: Rng, fmt: Format) -> object:
    """Return one of the ways to name a format."""
    if fmt not in FORMATS:
        return fmt
    return [fmt, fmt.name, fmt.onnx_enum or fmt.name, fmt.dtype][int(rng.integers(4))]


def _conversion(rng: Rng, kind: str) -> Call:
    source, target = draw_format(rng), draw_format(rng)
    if kind == "cast_like":
        while source.bits == 6 or target.bits == 6 or target not in FORMATS or source not in FORMATS:
            source, target = draw_format(rng, described=0), draw_format(rng, described=0)
    options = draw_rules(rng, target)
    x, bare = draw_stored(rng, source, draw_shape(rng), target, dirty=True)
    _add_opset(rng, options, source, target, first=15 if kind == "cast_like" else 1)
    clean = x.codes & x.codes.dtype.type(source.code_mask & (2 ** (8 * x.codes.itemsize) - 1))
    codes = expected_cast(clean, source, target, options)
    kwargs: dict[str, Any] = {**options, **({"source": spelled(rng, source)} if bare else {})}
    second: Any = spelled(rng, target)
    dtype: Any = lp.storage_dtype(target, np)
    if kind == "cast_like":
        second = np.empty(int(rng.integers(3)), target.dtype)
    packs = kind == "encode" and target.bits in (2, 4, 6) and rng.random() < 0.4
    if kind == "encode":
        dtype = target.code_dtype
    if packs:
        kwargs["packed"], codes = True, packed_bytes(codes, target.bits)
    call = Call(getattr(lp, kind), (x.array, second), kwargs, [x], [Expected(codes, dtype)], elements=x.codes.size)
    return with_out(rng, call)


cast, cast_like, encode = (functools.partial(_conversion, kind=kind) for kind in ("cast", "cast_like", "encode"))


def decode(rng: Rng) -> Call:
    """Draw a call of `decode`, of packed codes now and then."""
    source, target = draw_format(rng), draw_format(rng)
    shape = draw_shape(rng)
    kwargs: dict[str, Any] = {}
    if source.bits in (2, 4, 6) and rng.random() < 0.5:
        codes, x = _drawn_packed(rng, source, shape)
        kwargs |= {"packed": True, "shape": shape}
    else:
        x, _ = draw_stored(rng, source, shape, target, dirty=True)
        codes = x.codes & x.codes.dtype.type(source.code_mask)
    if rng.random() < 0.8:
        kwargs["to"] = spelled(rng, target)
    else:
        target = lp.as_format("float32")
    expected = Expected(expected_cast(codes, source, target, {}), lp.storage_dtype(target, np))
    call = Call(lp.decode, (x.array, spelled(rng, source)), kwargs, [x], [expected], elements=codes.size)
    return with_out(rng, call)


def _drawn_packed(rng: Rng, fmt: Format, shape: tuple[int, ...]) -> tuple[Array, Placed]:
    """Draw codes and place them packed, with any bits after the last."""
    codes = draw_codes(rng, fmt, shape)
    data = packed_bytes(codes, fmt.bits)
    unused = 8 * data.size - fmt.bits * math.prod(shape)
    if unused:
        data[-1] |= int(rng.integers(1 << unused)) << (8 - unused)
    layout = str(rng.choice(["C", "C", "strided", "negative", "sub-view"]))
    return codes, place(rng, data, np.uint8, layout=layout)


def bitcast(rng: Rng) -> Call:
    """Draw a call of `bitcast`."""
    source = draw_format(rng)
    same = [fmt for fmt in (*FORMATS, *DESCRIBED) if fmt.bits == source.bits and fmt.bits not in (3, 5, 10, 6)]
    while not same or (source.bits == 6 and source not in FORMATS):
        source = draw_format(rng, described=0)
        same = [fmt for fmt in FORMATS if fmt.bits == source.bits]
    target = same[int(rng.integers(len(same)))]
    x, bare = draw_stored(rng, source, draw_shape(rng))
    kwargs: dict[str, Any] = {"source": source} if bare or source.bits == 6 else {}
    expected = Expected(x.codes, lp.storage_dtype(target, np))
    return Call(lp.bitcast, (x.array, spelled(rng, target)), kwargs, [x], [expected], elements=x.codes.size)


def pack(rng: Rng) -> Call:
    """Draw a call of `pack`."""
    fmt = _PACKABLE[int(rng.integers(len(_PACKABLE)))]
    x, _ = draw_stored(rng, fmt, draw_shape(rng), dirty=True)
    codes = x.codes & np.uint8(fmt.code_mask)
    expected = Expected(packed_bytes(codes, fmt.bits), np.uint8)
    return Call(lp.pack, (x.array, spelled(rng, fmt)), {}, [x], [expected], elements=codes.size)


def unpack(rng: Rng) -> Call:
    """Draw a call of `unpack`."""
    fmt, shape = _PACKABLE[int(rng.integers(len(_PACKABLE)))], draw_shape(rng)
    codes, x = _drawn_packed(rng, fmt, shape)
    expected = Expected(codes, lp.storage_dtype(fmt, np))
    return Call(lp.unpack, (x.array, spelled(rng, fmt), shape), {}, [x], [expected], elements=codes.size)


# ---- text
_FEW_TEXTS = 60
_FLOATS = tuple(fmt for fmt in FORMATS if fmt.is_float)
_INTEGERS = tuple(fmt for fmt in FORMATS if fmt.is_integer)
_SPECIAL = (("inf", "inf", False), ("-INF", "inf", True), ("nan", "nan", False), ("-NaN", "nan", True))


def _number(rng: Rng, fmt: Format) -> Fraction:
    """Return a magnitude: a value, a midpoint, a step beside them, or any decimal of a few digits."""
    if fmt.is_integer:
        return Fraction(int(rng.integers(0, 1 << min(fmt.bits - fmt.signed, 62))))
    code = int(rng.integers(finite_count(fmt)))
    value, after = magnitude_of(code, fmt), magnitude_of(code + 1, fmt)
    choice = rng.random()
    if choice < 0.3:
        digits = int(rng.integers(10 ** int(rng.integers(1, 18))))
        return digits * Fraction(10) ** int(rng.integers(-20, 12))
    edge = value if choice < 0.5 else (value + after) / 2
    return edge + (after - value) * Fraction(int(rng.integers(-1, 2)), 10**30) if edge else edge


def _text(rng: Rng, fmt: Format) -> tuple[str, Value]:
    if fmt.is_float and rng.random() < 0.1:
        text, special, negative = _SPECIAL[int(rng.integers(len(_SPECIAL)))]
        return text, Value(Fraction(0), negative, special)
    negative = bool(rng.random() < 0.4) and fmt.signed
    number = abs(_number(rng, fmt))
    plain = exact_decimal(number)
    scientific = f"{Decimal(plain):e}" if fmt.is_float and rng.random() < 0.4 else plain
    return ("-" if negative else "") + scientific, Value(number, negative)


def cast_from_text(rng: Rng) -> Call:
    """Draw a call of `cast` that reads text."""
    table = _FLOATS if rng.random() < 0.8 else _INTEGERS
    fmt = table[int(rng.integers(len(table)))]
    shape = draw_shape(rng, most=_FEW_TEXTS)
    options: dict[str, Any] = draw_rules(rng, fmt)
    if options.get("rounding") in STOCHASTIC or fmt.is_integer:
        options = {}
    exact = {name: value for name, value in options.items() if name != "offset"}
    pairs = [_text(rng, fmt) for _ in range(int(np.prod(shape)))]
    codes = [reference.encode(value, fmt, **exact) for _, value in pairs]
    texts: Any = np.array([text for text, _ in pairs], object if rng.random() < 0.5 else str).reshape(shape)
    if shape and rng.random() < 0.3:
        texts = np.asfortranarray(texts)
    expected = [Expected(np.array(codes, np.uint64).astype(fmt.code_dtype).reshape(shape), fmt.dtype)]
    return Call(lp.cast, (texts, fmt), options, [], expected, elements=len(pairs))
