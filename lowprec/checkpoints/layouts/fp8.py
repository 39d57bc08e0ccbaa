"""FP8 and the factors that belong to it, as DeepSeek, Qwen, Mistral and older files of ComfyUI name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...spec.formats import FLOAT4_E2M1FN
from ..containers.tensors import StoredTensor
from ..schemes.scheme import Grid, Packing, Scheme
from .described_values import described_block, wrong_value
from .weight import Source, Weight, fail, grid_of, scale_format, shape_of_pairs, split, take

__all__ = ["METHODS", "NAME", "find"]

NAME = "FP8"
METHODS = ("fp8", "fbgemm_fp8")

SCALES = ("*_scale_inv", "*_scales_inv", "*_scale")
"""Names of scales in the module of the codes; ``*`` is the name of the codes."""

SCALES_OF_WEIGHT = ("scale", "scale_weight", "qscale_weight")
"""The same where the codes are named ``weight``."""

UNUSED = ("input_scale", "scale_input", "qscale_act", "activation_scale")

MARK = "scaled_fp8"
"""ComfyUI's mark, in a module around all that has scales."""

MX_GROUP = 32


def _marks(source: Source, module: str) -> Iterator[StoredTensor]:
    """Yield the marks in a module and those around it."""
    yield from take(source, module, MARK)
    while module:
        module, _ = split(module[:-1])
        yield from take(source, module, MARK)


def find(source: Source) -> Iterator[Weight]:
    """Yield codes with a tensor of factors; DeepSeek V4's experts are FP4 in I8.

    Scales are factors, whatever their names say.
    """
    for codes in list(source.tensors.values()):
        module, last = split(codes.name)
        names = (*(one.replace("*", last) for one in SCALES), *(SCALES_OF_WEIGHT if last == "weight" else ()))
        scales = next(take(source, module, *names), None)
        if scales is None or codes.fmt is None or codes.fortran:
            continue
        unused = (*take(source, module, *UNUSED), *_marks(source, module))
        if codes.fmt.is_float and codes.fmt.bits == 8 and codes.fmt.signed and len(codes.shape) > 1:
            if scales.name == codes.name + "_scale" and not source.description:
                continue  # lowprec's own files have this name too, for other axes as well
            grid = grid_of(codes.shape, scales, described_block(source.description, "weight_block_size"))
            powers = _says_powers(source.description)
            scheme = Scheme(codes.fmt, Packing.NONE, scale_format(scales), grid, powers_of_two=powers)
            yield Weight(codes.name, NAME, codes.shape, scheme, codes, scales, unused=unused)
        elif codes.type_name == "I8" and scales.type_name == "F8_E8M0" and len(codes.shape) > 1:
            shape = shape_of_pairs(codes)
            if scales.shape != (*shape[:-1], -(-shape[-1] // MX_GROUP)):
                raise fail(
                    scales, f"must have a scale to {MX_GROUP} FP4 codes of {list(shape)}; got {list(scales.shape)}"
                )
            scheme = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, scale_format(scales), Grid(1, MX_GROUP))
            yield Weight(codes.name, NAME, shape, scheme, codes, scales, unused=unused)


def _says_powers(description: Mapping[str, Any]) -> bool:
    """Whether a configuration says that all scales are powers of two."""
    said = description.get("scale_fmt")
    if said is not None and not isinstance(said, str):
        raise wrong_value("scale_fmt", "a text", said)
    return said == "ue8m0"
