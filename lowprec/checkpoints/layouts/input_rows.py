"""What AWQ and GPTQ have in common: a row of codes to each input, and scales and zero points of groups of inputs."""

from __future__ import annotations

from dataclasses import dataclass

from ...spec.formats import UINT8
from ..containers.tensors import StoredTensor
from ..schemes.scheme import Grid, Packing, Scheme, WordOrder
from .described_values import described_group
from .weight import Source, Weight, fail, scale_format

__all__ = ["InputRows", "grouped_weight"]


@dataclass(frozen=True, slots=True)
class InputRows:
    """How the codes of a weight are stored: the layout, inputs and outputs, bits, order, offset of zero points."""

    layout: str
    shape: tuple[int, int]
    bits: int
    word_order: WordOrder
    zero_offset: int = 0


def grouped_weight(
    source: Source, codes: StoredTensor, stored: InputRows, groups: StoredTensor | None = None
) -> Weight:
    """Return a weight with the scales and zero points of its module.

    Raises
    ------
    FileError
        If one is missing, or its shape fits neither the codes nor the ``group_size`` of config.json.
    """
    module, (inputs, outputs) = codes.name.removesuffix("qweight"), stored.shape
    others = []
    for name, text in (("scales", "scales"), ("qzeros", "zero points")):
        if module + name not in source.tensors:
            raise fail(codes, f"has no {text}: {ascii(module + name)[:80]} is missing")
        others.append(source.tensors[module + name])
    scales, zeros = others
    group = _group(source, inputs, scales)
    number = -(-inputs // group)
    if scales.shape != (number, outputs):
        raise fail(scales, f"must have the shape {[number, outputs]}; got {list(scales.shape)}")
    words = outputs * stored.bits // 32
    if zeros.type_name != "I32" or zeros.shape != (number, words):
        raise fail(zeros, f"must be I32 {[number, words]}; got {zeros.type_name} {list(zeros.shape)}")
    scheme = Scheme(
        UINT8,
        Packing.WORDS,
        scale_format(scales),
        Grid(group, 1),
        bits=stored.bits,
        word_order=stored.word_order,
        zero_offset=stored.zero_offset,
        signed_scales=True,
    )
    return Weight(
        module + "weight",
        stored.layout,
        stored.shape,
        scheme,
        codes,
        scales,
        zero_points=zeros,
        groups=groups,
        transposed=True,
    )


def _group(source: Source, inputs: int, scales: StoredTensor) -> int:
    """Return how many inputs share a scale: what config.json says, or what the shapes do."""
    key = "group_size" if "group_size" in source.description else "q_group_size"
    size = described_group(source.description, key)
    if size is None:
        number = scales.shape[0] if scales.shape else 0
        if not number or inputs % number:
            raise fail(scales, f"has the shape {list(scales.shape)}, which fits no groups of {inputs} inputs")
        return max(1, inputs // number)
    return max(1, inputs) if size == -1 else size
