"""AutoRound: the tensors of GPTQ or AWQ under a description of its own, with other settings for some modules.

Source: auto-round 0.16.1, export/export_to_autoround and inference/convert_model.py; transformers 5.23.0 for what holds
without a ``packing_format``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from . import awq, gptq
from .described_values import wrong_value
from .weight import Source, Weight, fail

__all__ = ["METHODS", "NAME", "find", "is_plain"]

NAME = "AutoRound"
METHODS = ("auto-round", "intel/auto-round")

ZERO_OFFSETS = {
    "auto": 1, "auto_round:gptq": 1, "auto_round:auto_gptq": 1, "auto_round": 0, "auto_round:gptqmodel": 0,
}  # fmt: skip
"""Values of ``packing_format`` that mean GPTQ's tensors, and what is added to stored zero points."""

AWQ = ("auto_round:awq", "auto_round:auto_awq")
"""Those that mean AWQ's."""

DEFAULT = "auto_round:gptq"

BITS = range(2, 9)
"""AutoRound packs 5, 6 and 7 bits as well, as strings of bits across words."""

CHANGED = {
    "rotation_config": "rotated weights", "spinquant_config": "rotated weights", "super_bits": "scales of scales",
    "super_group_size": "scales of scales",
}  # fmt: skip
"""Settings with which codes times scales are not the weights."""


def find(source: Source) -> Iterator[Weight]:
    """Yield each ``qweight`` with its ``qzeros``, ``scales`` and ``g_idx``, where config.json names the method."""
    if source.description.get("quant_method") not in METHODS:
        return
    modules = {name.rpartition(".")[0] for name in source.tensors}
    for codes in list(source.tensors.values()):
        module, _, last = codes.name.rpartition(".")
        if last == "qweight":
            yield _weight(source, codes, _settings(source.description, module, modules))
        elif last == "weight_packed" or f"{codes.name}_scale" in source.tensors:
            packing = ascii(source.description.get("packing_format", DEFAULT))[:60]
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


def _weight(source: Source, codes: StoredTensor, settings: Mapping[str, Any]) -> Weight:
    packing, bits, kind = settings.get("packing_format"), settings.get("bits"), settings.get("data_type")
    if packing is None and "awq" in str(settings.get("backend", "")):
        raise FileError(
            "AutoRound: config.json must say the packing_format; its backend names awq, and may not be that"
        )
    packing, kind = DEFAULT if packing is None else packing, "int" if kind is None else kind
    if not isinstance(kind, str) or not kind.startswith("int"):
        raise fail(codes, f"must be of the data_type int in config.json; got {ascii(kind)[:40]}")
    inputs = settings.get("act_bits")
    if inputs is not None and (type(inputs) is not int or inputs <= 8):
        raise fail(codes, f"must have inputs of more than 8 bits in config.json (act_bits); got {ascii(inputs)[:40]}")
    for key, text in CHANGED.items():
        if settings.get(key):
            raise fail(codes, f"has {text} ({key} in config.json), which are not read")
    if type(bits) is not int or bits not in BITS:
        raise fail(codes, f"must have 2 to 8 bits in config.json; got {ascii(bits)[:40]}")
    own = replace(source, description=settings)
    if packing in AWQ:
        return awq.stored_weight(own, codes, bits)
    if not isinstance(packing, str) or packing not in ZERO_OFFSETS:
        names = ", ".join((*ZERO_OFFSETS, *AWQ))
        raise FileError(f"AutoRound: config.json must say the packing_format {names}; got {ascii(packing)[:40]}")
    return gptq.stored_weight(own, codes, bits, ZERO_OFFSETS[packing])


def is_plain(description: Mapping[str, Any], module: str) -> bool:
    """Whether a configuration of AutoRound says that a module is not quantized, by 16 bits or more."""
    if description.get("quant_method") not in METHODS:
        return False
    try:
        bits = _settings(description, module, set()).get("bits")
    except FileError:
        return False
    return type(bits) is int and bits >= 16
