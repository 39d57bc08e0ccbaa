"""compressed-tensors, as llm-compressor writes it and vLLM, SGLang and transformers read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ, INT8, UINT8
from ..containers.tensors import StoredTensor
from ..schemes.scheme import GlobalScale, Grid, Packing, Scheme
from .described_values import described_block, described_group, wrong_value
from .weight import Source, Weight, fail, grid_of, scale_format, shape_of_pairs, take

__all__ = ["METHODS", "NAME", "find"]

NAME = "compressed-tensors"
METHODS = ("compressed-tensors",)

ACTIVATIONS = ("input_scale", "input_zero_point", "input_global_scale", "output_scale", "output_zero_point")


def find(source: Source) -> Iterator[Weight]:
    """Yield the weights of every format of compressed-tensors 0.20 that is not sparse."""
    for codes in list(source.tensors.values()):
        if codes.name.endswith("weight_packed"):
            yield _packed(source, codes, codes.name.removesuffix("weight_packed"))
        elif (
            source.description and codes.name.endswith("weight") and codes.type_name in ("I8", "F8_E4M3", "F8_E4M3FNUZ")
        ):
            module = codes.name.removesuffix("weight")
            if module + "weight_scale" in source.tensors:
                yield _plain(source, codes, module)


def _optional(source: Source, module: str) -> dict[str, Any]:
    return {
        "zero_points": source.tensors.get(module + "weight_zero_point"),
        "groups": source.tensors.get(module + "weight_g_idx"),
        "unused": tuple(take(source, module, *ACTIVATIONS)),
    }


def _weights(source: Source) -> Iterator[Mapping[str, Any]]:
    """Yield what the groups of the configuration say of weights; a list of modules stands for a preset."""
    groups = source.description.get("config_groups")
    if groups is not None and not isinstance(groups, dict):
        raise wrong_value("config_groups", "an object of groups", groups)
    for group in (groups or {}).values():
        if not isinstance(group, (dict, list)):
            raise wrong_value("each of config_groups", "an object or a list of modules", group)
        weights = group.get("weights") if isinstance(group, dict) else None
        if weights is not None and not isinstance(weights, dict):
            raise wrong_value("weights in config_groups", "an object", weights)
        if weights is None:
            continue
        bits = weights.get("num_bits", 8)
        if type(bits) is not int or not 2 <= bits <= 8:
            raise wrong_value("num_bits", "an integer from 2 to 8", bits)
        described_block(weights, "block_structure", text=True)
        described_group(weights)
        yield weights


def _grid(source: Source, shape: tuple[int, ...], scales: StoredTensor) -> Grid:
    """Return which elements share a scale: as the groups of the configuration agree, or as the shapes say.

    Rows may end with a shorter group: 4 scales to 100 columns are groups of 25, or of 32 if the configuration says so.
    """
    said = {
        (described_block(weights, "block_structure", text=True), described_group(weights))
        for weights in _weights(source)
    }
    block, size = next(iter(said)) if len(said) == 1 else (None, None)
    if scales.type_name == "U8":
        block = None
    count = scales.shape[-1] if scales.shape else 1
    if block is None and size is not None and count > 1 and -(-shape[-1] // size) == count:
        block = (1, size)
    return grid_of(shape, scales, block)


def _plain(source: Source, codes: StoredTensor, module: str) -> Weight:
    scales = source.tensors[module + "weight_scale"]
    grid = _grid(source, codes.shape, scales)
    fmt = {"I8": INT8, "F8_E4M3": FLOAT8_E4M3FN, "F8_E4M3FNUZ": FLOAT8_E4M3FNUZ}[codes.type_name]
    scale = scale_format(scales, exponents=True)
    scheme = Scheme(fmt, Packing.NONE, scale, grid, signed_scales=fmt.is_integer)
    return Weight(module + "weight", NAME, codes.shape, scheme, codes, scales, **_optional(source, module))


def _packed(source: Source, codes: StoredTensor, module: str) -> Weight:
    scales = source.tensors.get(module + "weight_scale")
    if scales is None:
        raise fail(codes, f"has no scales: {ascii(module + 'weight_scale')[:80]} is missing")
    if codes.type_name != "U8":
        return _words(source, codes, scales, module)
    shape = shape_of_pairs(codes)
    second = source.tensors.get(module + "weight_global_scale")
    if second is None and scales.type_name not in ("U8", "F8_E8M0"):
        raise fail(scales, f"must be U8 exponents where there is no weight_global_scale; got {scales.type_name}")
    if second is not None and scales.type_name != "F8_E4M3":
        raise fail(scales, f"must be F8_E4M3 where there is a weight_global_scale; got {scales.type_name}")
    fmt = scale_format(scales, exponents=True) if second is None else FLOAT8_E4M3FN
    scheme = Scheme(
        FLOAT4_E2M1FN, Packing.LOW_FIRST, fmt, _grid(source, shape, scales),
        GlobalScale.NONE if second is None else GlobalScale.INVERSE,
    )  # fmt: skip
    return Weight(module + "weight", NAME, shape, scheme, codes, scales, second, **_optional(source, module))


def _words(source: Source, codes: StoredTensor, scales: StoredTensor, module: str) -> Weight:
    """Return a weight of integers of 2 to 8 bits in 32-bit words."""
    optional, stored = _optional(source, module), source.tensors.get(module + "weight_shape")
    if codes.type_name != "I32" or len(codes.shape) != 2:
        raise fail(codes, f"must be U8, or I32 of two axes; got {codes.type_name} {list(codes.shape)}")
    if stored is None or stored.type_name not in ("I64", "I32") or stored.size != 2:
        raise fail(codes, "needs a weight_shape of two integers")
    rows, columns = map(int, source.read(stored))
    bits = _bits(source, codes, (rows, columns))
    grid = Grid(1, 1) if optional["groups"] is not None else _grid(source, (rows, columns), scales)
    scheme = Scheme(UINT8, Packing.WORDS, scale_format(scales), grid, bits=bits, signed_scales=True)
    optional["unused"] = (*optional["unused"], stored)
    return Weight(module + "weight", NAME, (rows, columns), scheme, codes, scales, **optional)


def _bits(source: Source, codes: StoredTensor, shape: tuple[int, int]) -> int:
    """Return how many bits a code takes: what the configuration says, if the words fit the shape."""
    rows, columns = shape
    named = {weights["num_bits"] for weights in _weights(source) if "num_bits" in weights}
    fitting = [n for n in range(2, 9) if codes.shape == (rows, -(-columns * n // 32))]
    possible = sorted(named & set(fitting)) if named else fitting
    if len(possible) == 1:
        return possible[0]
    if possible:
        text = f"has the shape {list(codes.shape)}, which fits codes of {possible} bits: config.json must say num_bits"
        raise fail(codes, text)
    said = f" of {sorted(named)} bits" if named else ""
    raise fail(codes, f"has the shape {list(codes.shape)}, which fits no weight{said} of shape {[rows, columns]}")
