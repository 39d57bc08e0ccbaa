"""What a checkpoint is, in a line: layouts and schemes, layers, bytes, and bytes in bfloat16."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..spec.formats import BFLOAT16
from ..spec.operator_versions import NEWEST
from .containers.container import Container
from .containers.gguf_file import GgufFile
from .containers.gguf_types import UNKNOWN
from .containers.tensors import StoredTensor
from .element_rules import ElementRules
from .files.errors import FileError
from .layouts import fp8, gguf
from .layouts.weight import Weight
from .operations.dequantize import Dequantize
from .planning.adapters import is_adapter
from .planning.companions import find_companions
from .planning.foreign_tools import find_tool
from .planning.name_patterns import NamePatterns
from .planning.plan_casts import plan_conversion
from .planning.quantization_config import quantization_of
from .planning.quantized_weights import quantized_weights
from .schemes.scheme import Scheme
from .schemes.scheme_text import scheme_name

__all__ = ["contents_text", "grouped_scheme", "headline", "kind_text"]

SMALL = 0.02
"""The share of all bytes below which the format of plain tensors is not named."""

_RULES = ElementRules(BFLOAT16, True, None, NEWEST)

_FAMILIES = (
    (re.compile(r"_scales?_inv$"), "DeepSeek"), (re.compile(r"\.scale$"), "DeepSeek V4"),
    (re.compile(r"qscale_weight$"), "Mistral"), (re.compile(r"scale_weight$"), "ComfyUI"),
)  # fmt: skip
"""Whose layout it is, of those that share a module, by the names of scales."""

_LAYER = re.compile(r"^(|.*?[./])([A-Za-z_]\w*)[./](\d+)[./]")
"""The first number in a name, what it numbers, and what is before that."""


def kind_text(weight: Weight) -> str:
    """Return the layout of a weight and its scheme: DeepSeek block FP8 128x128, ModelOpt NVFP4, gpt-oss MXFP4."""
    scheme, layout = scheme_name(grouped_scheme(weight)), weight.layout
    if layout == fp8.NAME and weight.scales is not None:
        layout = next((family for name, family in _FAMILIES if name.search(weight.scales.name)), layout)
    words = [word for word in layout.split() if word not in scheme.split()]
    return " ".join([*words, scheme])


def grouped_scheme(weight: Weight) -> Scheme:
    """Return the scheme of a weight; where a group is as long as the rows of this one, with that length."""
    scheme = weight.scheme
    narrow = scheme.bits in range(1, 8) or scheme.codes.bits < 8 or not scheme.scale.has_zero
    if narrow and (scheme.grid.rows, scheme.grid.columns) == (1, 0):
        return replace(scheme, grid=replace(scheme.grid, columns=weight.columns))
    return scheme


def _kinds(container: Container, weights: Sequence[Weight], method: str) -> str:
    """Return what most of the bytes are: of GGUF, whose tensors have a type each, types without values too."""
    nbytes: Counter[str] = Counter()
    plain = {one.name: one for one in container.tensors}
    total = sum(one.location.nbytes for one in container.tensors)
    for weight in weights:
        for part in weight.tensors:
            nbytes[kind_text(weight)] += part.location.nbytes
            plain.pop(part.name, None)
    for name, found in gguf.types_without_values(container).items():
        for one in found:
            nbytes[f"{gguf.NAME} {name}"] += plain.pop(one.name).location.nbytes
    others: Counter[str] = Counter()
    for one in plain.values():
        others[one.fmt.name if one.fmt else one.type_name] += one.location.nbytes
    if nbytes:
        most = {name: n for name, n in others.items() if 2 * n >= total} if isinstance(container, GgufFile) else {}
        return " and ".join(name for name, _ in (nbytes + Counter(most)).most_common())
    nbytes = others
    formats = " and ".join(name for name, n in nbytes.most_common() if n >= SMALL * total) or "no tensors"
    return f"{method}, in {formats}" if method else formats


def _layers(tensors: Sequence[StoredTensor]) -> str:
    """Return how many layers there are, those of each stack that has a tenth of all bytes."""
    numbers: dict[tuple[str, str], set[str]] = defaultdict(set)
    nbytes: Counter[tuple[str, str]] = Counter()
    for one in tensors:
        match = _LAYER.match(one.name)
        if match:
            numbers[match[1], match[2]].add(match[3])
            nbytes[match[1], match[2]] += one.location.nbytes
    stacks = [stack for stack, n in nbytes.most_common() if 10 * n >= nbytes.total()]
    texts = []
    for stack in stacks:
        n = len(numbers[stack])
        name = "layers" if len(stacks) == 1 else stack[1]
        texts.append(f"{n} {name.removesuffix('s') if n == 1 else name}")
    return "".join(f", {text}" for text in texts)


def _size(nbytes: int) -> str:
    """Return a number of bytes in three digits."""
    size, units = float(nbytes), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1024, units[1:]
    text = f"{size:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {units[0]}"


def contents_text(container: Container, weights: Sequence[Weight], method: str = "") -> str:
    """Return what the tensors of a container are, how many layers they make, and their bytes."""
    nbytes = sum(one.location.nbytes for one in container.tensors)
    files = container.file_count if isinstance(container, GgufFile) else 1
    place = f", {container.part}" if container.part else f", {files} files" if files > 1 else ""
    return f"{_kinds(container, weights, method)}{_layers(container.tensors)}{place}: {_size(nbytes)}"


def headline(container: Container) -> str:
    """Return what a container holds in a line, and, if it is quantized, how many bytes it takes in bfloat16.

    A checkpoint that cannot be dequantized is no error; the line says why.
    """
    method, why = "", ""
    weights: list[Weight] = []
    nbytes = 0
    try:
        described = quantization_of(container)
        method = str(described.get("quant_method", "quantized"))[:40] if described else ""
        method = method or ("an adapter (LoRA)" if is_adapter(container) else "")
        unread = gguf.types_without_values(container)
        if unread:
            weights, why = quantized_weights(container), _why_unread(unread)
        elif not container.codes_suffix:
            plan = plan_conversion(container, _RULES, NamePatterns("include"), NamePatterns("exclude"))
            nbytes = sum(one.nbytes for one in plan.outputs)
            weights = [one.operation.weight for one in plan.tensor_plans if isinstance(one.operation, Dequantize)]
    except (FileError, ValueError) as error:
        why, weights = _why_not(container, str(error))
    text = contents_text(container, weights, method)
    if why:
        return f"{text}; cannot be dequantized: {why}"
    return f"{text}; to {BFLOAT16.name} {_size(nbytes)}" if weights else text


def _why_unread(unread: Mapping[str, Sequence[StoredTensor]]) -> str:
    """Return which types have no values, and what can be done with them."""
    copied = "" if any(name.startswith(UNKNOWN) for name in unread) else "; a recipe copies them"
    return f"no values are known of {gguf.types_text(unread)}{copied}"


def _why_not(container: Container, error: str) -> tuple[str, list[Weight]]:
    """Return why a container cannot be dequantized though it is quantized, or nothing, and its quantized weights."""
    try:
        weights = quantized_weights(container)
        known = quantization_of(container) or any(one.row is not None for one in find_companions(container.tensors))
    except FileError as fault:
        return str(fault), []
    if weights:
        return error, weights
    tool = find_tool(container) if known else None
    return f"it {tool.text()}" if tool else "its layout is not known" if known else "", weights
