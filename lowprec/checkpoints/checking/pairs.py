"""Codes without scales, and scales without codes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...spec.formats import NUMERIC
from ..containers.container import StoredTensor
from ..weights.companion_tensors import is_codes
from ..weights.quantized_weight import split
from .config_json import listed
from .finding import Finding, name_text
from .subject import Subject, module_of

__all__ = ["check_pairs"]

_SCALES = re.compile(
    r"(?P<codes>weight|\w+_proj)_scales?_inv|(?P<plain>weight)_scale(_2)?|(?P<blocks>\w*(proj|weight))_scales"
    r"|(?P<packed>weight)_(global_scale|zero_point|shape|g_idx)|q?scale_weight|comfy_quant|SCB|qzeros"
)
"""Last parts of names that only scales and their like have."""

_MODULE_CODES = ("weight", "weight_packed", "qweight", "W_q", "blocks")


def check_pairs(subject: Subject) -> Iterator[Finding]:
    """Look for tensors that have lost what they belong with."""
    for fault in subject.faults:
        kind = "scales" if fault.tensor or fault.text.startswith("'") else "configuration"
        yield Finding(kind, True, fault.tensor, fault.text)
    unknown = subject.unknown
    for codes in subject.codes:
        yield from _unscaled(subject, codes, unknown.get(codes.name))
    yield from _orphans(subject)


def _unscaled(subject: Subject, codes: StoredTensor, unknown: str | None) -> Iterator[Finding]:
    """Judge codes without scales, next to an unknown tensor or none; some FP8 is judged by its values alone."""
    kind = codes.fmt.name if codes.fmt else codes.type_name
    if unknown is not None:
        text = f"holds {kind} codes, and {name_text(unknown)} next to it is no known kind of scales"
    elif listed(module_of(codes.name), subject.description):
        text = f"holds {kind} codes, though config.json lists its module as not quantized"
    elif subject.description or subject.weights:
        text = f"holds {kind} codes and has no scales, where others are quantized"
    elif codes.fmt is not None and (codes.fmt.is_integer or codes.fmt.bits < 8):
        text = f"holds {kind} codes and has no scales"
    else:
        return
    yield Finding("scales", True, codes.name, text)


def _orphans(subject: Subject) -> Iterator[Finding]:
    """Yield scales whose codes are missing, or hold values."""
    names = {one.name: one for one in subject.container.tensors}
    used = {one.tensor.name for one in subject.companions if one.row is not None}
    used |= {part.name for weight in subject.unexpected for part in weight.tensors}
    for tensor in subject.others:
        module, last = split(tensor.name)
        match = _SCALES.fullmatch(last)
        if match is None or tensor.name in used or subject.is_faulty(tensor):
            continue
        stems = [stem for stem in match.groupdict().values() if stem] or ["weight"]
        places = [module + one for stem in stems for one in (stem, f"{stem}_packed", f"{stem}_blocks")]
        codes = next((names[one] for one in (*places, *(module + one for one in _MODULE_CODES)) if one in names), None)
        if codes is None:
            yield Finding("scales", True, tensor.name, "are scales, or their like, of a weight that is missing")
        elif not is_codes(codes) and codes.fmt in NUMERIC:
            text = f"belongs with {name_text(codes.name)}, which holds values ({codes.fmt.name}) and no codes"
            yield Finding("scales", True, tensor.name, text)
