"""Hypothesis strategies for calls of QuantizeLinear and DequantizeLinear, and the exact oracle's answers."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as npst
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from lowprec import reference
from lowprec.reference import exact_quantize
from lowprec.reference.whole_arrays import broadcast
from lowprec.spec.formats import Format, as_format
from support.quantize_cases import PRECISIONS, VERSIONS, Types, granularities, type_table

MANY = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
FEW_ELEMENTS = 3  # for which the exact oracle is asked too: it takes a millisecond or so each
SHAPES = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
TABLES = {
    operator: {v: type_table(operator, v) for v in VERSIONS} for operator in ("QuantizeLinear", "DequantizeLinear")
}


def _elements(fmt: Format) -> st.SearchStrategy[int]:
    """Draw codes: any, small numbers often, and the ones at the ends."""
    top = (1 << fmt.bits) - 1
    ends = [0, 1, fmt.sign_mask, fmt.max_code, fmt.max_code | fmt.sign_mask, fmt.magnitude_mask, top]
    if fmt.bits <= 8:
        return st.integers(0, top) | st.sampled_from(ends)
    if fmt.is_integer:
        near = st.integers(-300, 300).map(lambda n: n & top)
    else:
        numbers = np.array([0.5, 1, 1.5, 2, 2.5, 3, 100, 127.5, 255.5, 0.1, 1e-3, 1e4, np.inf, np.nan, 3e9])
        with np.errstate(over="ignore"):
            known = numbers.astype(fmt.dtype).view(fmt.code_dtype).tolist()
        near = st.builds(
            lambda code, step, sign: ((code + step) & fmt.magnitude_mask) | sign * fmt.sign_mask,
            st.sampled_from(known), st.integers(-2, 2), st.integers(0, 1),
        )  # fmt: skip
    return near | st.integers(0, top) | st.sampled_from(ends)


def _array(fmt: Format, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    return npst.arrays(fmt.code_dtype, shape, elements=_elements(fmt)).map(lambda found: found.view(fmt.dtype))


def _zero_points(fmt: Format, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    if fmt.is_float and fmt.bits == 8:
        return st.just(np.zeros(shape, fmt.code_dtype).view(fmt.dtype))
    return _array(fmt, shape)


class Call(dict[str, Any]):
    """The arguments of one call: `types`, `x`, `scale`, `zero_point`, `options`; its repr is what a failure shows."""


@st.composite
def _sharing(draw: st.DrawFn, shape: tuple[int, ...], version: int) -> tuple[tuple[int, ...], dict[str, Any]]:
    layouts = list(granularities(shape, version)) if 0 not in shape else [((), {}), ((1,), {})]
    scale_shape, options = draw(st.sampled_from(layouts))
    return scale_shape, dict(options)


@st.composite
def quantize_calls(draw: st.DrawFn) -> Call:
    """Draw a call of QuantizeLinear that its version allows."""
    version = draw(st.sampled_from(VERSIONS))
    types = draw(st.sampled_from(TABLES["QuantizeLinear"][version]))
    shape = draw(SHAPES)
    scale_shape, options = draw(_sharing(shape, version))
    options["opset"] = version
    if version >= 19:
        options["saturate"] = draw(st.booleans())
    if version >= 23:
        options["precision"] = draw(st.none() | st.sampled_from(PRECISIONS))
    zero_point = None
    if draw(st.booleans()) or (version < 21 and types.y is not as_format("uint8")):
        zero_point = draw(_zero_points(types.y, scale_shape))
    if version >= 21 and (zero_point is None or draw(st.booleans())):
        options["output_dtype"] = types.y
    elif zero_point is None:
        types = Types(types.x, types.scale, as_format("uint8"))
    scale = draw(_array(types.scale, scale_shape))
    return Call(types=types, x=draw(_array(types.x, shape)), scale=scale, zero_point=zero_point, options=options)


@st.composite
def dequantize_calls(draw: st.DrawFn) -> Call:
    """Draw a call of DequantizeLinear that its version allows."""
    version = draw(st.sampled_from(VERSIONS))
    types = draw(st.sampled_from(TABLES["DequantizeLinear"][version]))
    shape = draw(SHAPES)
    scale_shape, options = draw(_sharing(shape, version))
    options["opset"] = version
    if version >= 23 and (not types.scale.has_zero or draw(st.booleans())):
        options["output_dtype"] = draw(st.sampled_from(PRECISIONS[:3]))
    zero_point = None
    if types.x.bits < 32 and draw(st.booleans()):
        zero_point = draw(_zero_points(types.x, scale_shape))
    scale = draw(_array(types.scale, scale_shape))
    return Call(types=types, x=draw(_array(types.x, shape)), scale=scale, zero_point=zero_point, options=options)


def _each(array: np.ndarray, fmt: Format, call: Call) -> list[reference.Value]:
    """Return the exact scale or zero point of every element."""
    options = call["options"]
    unsigned = np.asarray(array).view(fmt.code_dtype)
    found = broadcast(unsigned, call["x"].shape, options.get("axis", 1), options.get("block_size", 0))
    return [reference.decode(int(code) & fmt.code_mask, fmt) for code in found.reshape(-1)]


def exactly_quantized(call: Call) -> list[int]:
    """Return the codes of every element by the exact oracle."""
    types, options = call["types"], call["options"]
    x = [reference.decode(int(code), types.x) for code in call["x"].view(types.x.code_dtype).reshape(-1)]
    scales = _each(call["scale"], types.scale, call)
    offsets: list[Any] = [None] * len(x)
    if call["zero_point"] is not None:
        offsets = _each(call["zero_point"], types.y, call)
    rules = {name: options[name] for name in ("saturate", "opset") if name in options}
    rules["precision"] = options.get("precision") or exact_quantize.precision_of(types.scale)
    together = zip(x, scales, offsets, strict=True)
    return [exact_quantize.quantize(a, s, z, types.y, **rules) for a, s, z in together]


def exact_dequantize(call: Call) -> list[int]:
    """Return the codes of every element by the exact oracle."""
    types = call["types"]
    x = call["x"].view(types.x.code_dtype).reshape(-1).tolist()
    scales = _each(call["scale"], types.scale, call)
    offsets: list[Any] = [None] * len(x)
    if call["zero_point"] is not None:
        offsets = _each(call["zero_point"], types.x, call)
    result = call["options"].get("output_dtype") or types.scale
    together = zip(x, scales, offsets, strict=True)
    return [exact_quantize.dequantize(a, types.x, s, z, output_dtype=result) for a, s, z in together]
