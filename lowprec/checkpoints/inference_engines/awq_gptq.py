"""AWQ, GPTQ and AutoRound: integers with zero points, a row of codes to each input.

Source: auto-round 0.16.1, export/export_to_autoround and inference/convert_model.py; transformers 5.23.0 for what holds
without a ``packing_format``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from ...spec.formats import UINT8
from ..containers.container import StoredTensor
from ..files.errors import FileError
from ..schemes.scale_grid import Grid
from ..schemes.scheme import Packing, Scheme, WordOrder
from ..weights.engine_interface import described_group, wrong_value
from ..weights.quantized_weight import Source, Weight, fail, scale_format

__all__ = [
    "AUTO_ROUND", "AUTO_ROUND_METHODS", "AWQ", "AWQ_METHODS", "GPTQ", "GPTQ_METHODS", "find_auto_round", "find_awq",
    "find_gptq", "is_plain",
]  # fmt: skip

AWQ = "AWQ"
AWQ_METHODS = ("awq",)

AWQ_BITS = 4

GPTQ = "GPTQ"
GPTQ_METHODS = ("gptq",)

GPTQ_BITS = (2, 3, 4, 8)

GPTQ_ZERO_OFFSETS = {"gptq": 1, "gptq_v2": 0}
"""What is added to stored zero points, by the format; the first one stores one less, modulo the number of codes."""

AUTO_ROUND = "AutoRound"
AUTO_ROUND_METHODS = ("auto-round", "intel/auto-round")

GPTQ_PACKINGS = {
    "auto": 1, "auto_round:gptq": 1, "auto_round:auto_gptq": 1, "auto_round": 0, "auto_round:gptqmodel": 0,
}  # fmt: skip
"""Values of ``packing_format`` that mean GPTQ's tensors, and what is added to stored zero points."""

AWQ_PACKINGS = ("auto_round:awq", "auto_round:auto_awq")
"""Those that mean the tensors of AWQ."""

DEFAULT_PACKING = "auto_round:gptq"

AUTO_ROUND_BITS = range(2, 9)
"""AutoRound packs 5, 6 and 7 bits as well, as strings of bits across words."""

CHANGED = {
    "rotation_config": "rotated weights", "spinquant_config": "rotated weights", "super_bits": "scales of scales",
    "super_group_size": "scales of scales",
}  # fmt: skip
"""Settings with which codes times scales are not the weights."""


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


def find_awq(source: Source) -> Iterator[Weight]:
    """Yield each ``qweight`` with its ``qzeros`` and ``scales``, where config.json names the method."""
    if source.description.get("quant_method") not in AWQ_METHODS:
        return
    for codes in list(source.tensors.values()):
        if codes.name.endswith(".qweight"):
            yield _awq_weight(source, codes)


def _awq_weight(source: Source, codes: StoredTensor) -> Weight:
    version = source.description.get("version", "gemm")
    if not isinstance(version, str) or version.lower() != "gemm":
        raise FileError(f"AWQ: config.json must say the version gemm, the only one read; got {ascii(version)[:40]}")
    return _stored_awq(source, codes, source.description.get("bits", AWQ_BITS))


def _stored_awq(source: Source, codes: StoredTensor, bits: object) -> Weight:
    """Return a weight, which must be of 4 bits."""
    if type(bits) is not int or bits != AWQ_BITS:
        raise FileError(f"AWQ: config.json must say 4 bits; got {ascii(bits)[:40]}")
    if codes.type_name != "I32" or len(codes.shape) != 2:
        raise fail(codes, f"must be I32 of two axes; got {codes.type_name} {list(codes.shape)}")
    shape = codes.shape[0], codes.shape[1] * 32 // AWQ_BITS
    return grouped_weight(source, codes, InputRows(AWQ, shape, AWQ_BITS, WordOrder.INTERLEAVED))


def find_gptq(source: Source) -> Iterator[Weight]:
    """Yield each ``qweight`` with its ``qzeros``, ``scales`` and ``g_idx``, where config.json names the method."""
    if source.description.get("quant_method") not in GPTQ_METHODS:
        return
    for codes in list(source.tensors.values()):
        if codes.name.endswith(".qweight"):
            yield _gptq_weight(source, codes)


def _gptq_weight(source: Source, codes: StoredTensor) -> Weight:
    description = source.description
    bits, name = description.get("bits"), description.get("checkpoint_format", "gptq")
    if type(bits) is not int or bits not in GPTQ_BITS:
        raise FileError(f"GPTQ: config.json must say 2, 3, 4 or 8 bits; got {ascii(bits)[:40]}")
    dynamic = description.get("dynamic")
    dynamic = {} if dynamic is None else dynamic
    if not isinstance(dynamic, dict) or any(not one.startswith("-:") for one in dynamic):  # those are not quantized
        raise FileError("GPTQ: config.json has other settings for some modules (dynamic), which are not read")
    if not isinstance(name, str) or name not in GPTQ_ZERO_OFFSETS or description.get("is_marlin_format"):
        got = "marlin" if description.get("is_marlin_format") else ascii(name)[:40]
        raise FileError(f"GPTQ: config.json must say the checkpoint_format gptq or gptq_v2; got {got}")
    return _stored_gptq(source, codes, bits, GPTQ_ZERO_OFFSETS[name])


def _stored_gptq(source: Source, codes: StoredTensor, bits: int, zero_offset: int) -> Weight:
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
    return grouped_weight(source, codes, InputRows(GPTQ, shape, bits, WordOrder.COLUMNS, zero_offset), groups)


def find_auto_round(source: Source) -> Iterator[Weight]:
    """Yield each ``qweight`` with its ``qzeros``, ``scales`` and ``g_idx``, where config.json names the method."""
    if source.description.get("quant_method") not in AUTO_ROUND_METHODS:
        return
    modules = {name.rpartition(".")[0] for name in source.tensors}
    for codes in list(source.tensors.values()):
        module, _, last = codes.name.rpartition(".")
        if last == "qweight":
            yield _auto_round_weight(source, codes, _settings(source.description, module, modules))
        elif last == "weight_packed" or f"{codes.name}_scale" in source.tensors:
            packing = ascii(source.description.get("packing_format", DEFAULT_PACKING))[:60]
            raise fail(codes, f"is in AutoRound's packing_format {packing}, of which GPTQ's and AWQ's are read")


def _settings(description: Mapping[str, Any], module: str, modules: Set[str]) -> dict[str, Any]:
    """Return what a configuration says of a module: an entry of its name counts, then expressions, then the rest."""
    extra = description.get("extra_config")
    if extra is not None and not (isinstance(extra, dict) and all(isinstance(one, dict) for one in extra.values())):
        raise wrong_value("extra_config", "an object with an object for each module", extra)
    own = (extra or {}).get(module)
    if own is None:
        patterns = (key for key in extra or {} if key not in modules)
        own = next(((extra or {})[key] for key in patterns if _matches(key, module)), {})
    return {**description, **own}


def _matches(pattern: str, module: str) -> bool:
    try:
        return bool(re.search(pattern, module))
    except (re.error, RecursionError, OverflowError):
        raise wrong_value("each name in extra_config", "a module or a regular expression", pattern) from None


def _auto_round_weight(source: Source, codes: StoredTensor, settings: Mapping[str, Any]) -> Weight:
    packing, bits, kind = settings.get("packing_format"), settings.get("bits"), settings.get("data_type")
    if packing is None and "awq" in str(settings.get("backend", "")):
        raise FileError(
            "AutoRound: config.json must say the packing_format; its backend names awq, and may not be that"
        )
    packing, kind = DEFAULT_PACKING if packing is None else packing, "int" if kind is None else kind
    if not isinstance(kind, str) or not kind.startswith("int"):
        raise fail(codes, f"must be of the data_type int in config.json; got {ascii(kind)[:40]}")
    inputs = settings.get("act_bits")
    if inputs is not None and (type(inputs) is not int or inputs <= 8):
        raise fail(codes, f"must have inputs of more than 8 bits in config.json (act_bits); got {ascii(inputs)[:40]}")
    for key, text in CHANGED.items():
        if settings.get(key):
            raise fail(codes, f"has {text} ({key} in config.json), which are not read")
    if type(bits) is not int or bits not in AUTO_ROUND_BITS:
        raise fail(codes, f"must have 2 to 8 bits in config.json; got {ascii(bits)[:40]}")
    own = replace(source, description=settings)
    if packing in AWQ_PACKINGS:
        return _stored_awq(own, codes, bits)
    if not isinstance(packing, str) or packing not in GPTQ_PACKINGS:
        names = ", ".join((*GPTQ_PACKINGS, *AWQ_PACKINGS))
        raise FileError(f"AutoRound: config.json must say the packing_format {names}; got {ascii(packing)[:40]}")
    return _stored_gptq(own, codes, bits, GPTQ_PACKINGS[packing])


def is_plain(description: Mapping[str, Any], module: str) -> bool:
    """Whether a configuration of AutoRound says that a module is not quantized, by 16 bits or more."""
    if description.get("quant_method") not in AUTO_ROUND_METHODS:
        return False
    try:
        bits = _settings(description, module, set()).get("bits")
    except FileError:
        return False
    return type(bits) is int and bits >= 16
