"""GPTQ, as AutoGPTQ and GPTQModel write it: integers of 2, 3, 4 or 8 bits with zero points, inputs as rows."""

from __future__ import annotations

from collections.abc import Iterator

from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..schemes.scheme import WordOrder
from .described_values import wrong_value
from .input_rows import InputRows, grouped_weight
from .weight import Source, Weight, fail

__all__ = ["METHODS", "NAME", "find", "stored_weight"]

NAME = "GPTQ"
METHODS = ("gptq",)

BITS = (2, 3, 4, 8)

ZERO_OFFSETS = {"gptq": 1, "gptq_v2": 0}
"""What is added to stored zero points, by the format; the first one stores one less, modulo the number of codes."""


def find(source: Source) -> Iterator[Weight]:
    """Yield each ``qweight`` with its ``qzeros``, ``scales`` and ``g_idx``, where config.json names the method."""
    if source.description.get("quant_method") not in METHODS:
        return
    for codes in list(source.tensors.values()):
        if codes.name.endswith(".qweight"):
            yield _weight(source, codes)


def _weight(source: Source, codes: StoredTensor) -> Weight:
    description = source.description
    bits, name = description.get("bits"), description.get("checkpoint_format", "gptq")
    if type(bits) is not int or bits not in BITS:
        raise FileError(f"GPTQ: config.json must say 2, 3, 4 or 8 bits; got {ascii(bits)[:40]}")
    dynamic = description.get("dynamic")
    dynamic = {} if dynamic is None else dynamic
    if not isinstance(dynamic, dict) or any(not one.startswith("-:") for one in dynamic):  # those are not quantized
        raise FileError("GPTQ: config.json has other settings for some modules (dynamic), which are not read")
    if not isinstance(name, str) or name not in ZERO_OFFSETS or description.get("is_marlin_format"):
        got = "marlin" if description.get("is_marlin_format") else ascii(name)[:40]
        raise FileError(f"GPTQ: config.json must say the checkpoint_format gptq or gptq_v2; got {got}")
    return stored_weight(source, codes, bits, ZERO_OFFSETS[name])


def stored_weight(source: Source, codes: StoredTensor, bits: int, zero_offset: int) -> Weight:
    """Return a weight of so many bits, with what is added to its stored zero points."""
    if codes.type_name != "I32" or len(codes.shape) != 2 or codes.shape[0] * 32 % bits:
        raise fail(codes, f"must be I32 [inputs * {bits} / 32, outputs]; got {codes.type_name} {list(codes.shape)}")
    shape = codes.shape[0] * 32 // bits, codes.shape[1]
    if shape[1] * bits % 32:
        raise fail(codes, f"has {shape[1]} outputs, whose zero points of {bits} bits fill no whole words")
    groups = source.tensors.get(codes.name.removesuffix("qweight") + "g_idx")
    is_ordered = source.description.get("desc_act")
    if is_ordered is not None and not isinstance(is_ordered, bool):
        raise wrong_value("desc_act", "true or false", is_ordered)
    if groups is None and is_ordered:
        raise fail(codes, "needs a g_idx: config.json says that groups are not in the order of inputs (desc_act)")
    return grouped_weight(source, codes, InputRows(NAME, shape, bits, WordOrder.COLUMNS, zero_offset), groups)
