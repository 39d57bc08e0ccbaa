"""llama.cpp's tensors: weights in blocks, which hold their scales, and a factor; which of them it quantizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..._notebook_display import count_text
from ...spec.formats import FLOAT32, UINT8
from ..containers.container import Container, StoredTensor
from ..containers.gguf_file import UNKNOWN, GgufFile
from ..files.errors import FileError
from ..schemes.ggml_blocks import BLOCK_TYPES
from ..schemes.scale_grid import Grid
from ..schemes.scheme import BlockType, Packing, Scheme
from ..weights.engine_interface import CODES, Output
from ..weights.quantized_weight import Source, Weight, fail, grid_of, split, take
from ..weights.tensor_selection import FORMATS

__all__ = [
    "METHODS", "NAME", "check_types", "describe", "find", "outputs", "scheme_of", "types_text",
    "types_without_values", "why_kept", "why_unfit",
]  # fmt: skip

NAME = "GGUF"
METHODS = ()

FACTOR = "scale"
"""What stands for ``weight`` in the name of a tensor of factors: one, or one to each expert."""

UNUSED = ("input_scale",)

SMALL = (
    "_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel", "per_layer_model_proj",
    "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight", "indexer.q_proj.weight", "time_mix_first.weight",
    "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight", "time_mix_v1.weight",
    "time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight",
    "time_mix_g2.weight", "time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight",
    "attn_rel_b.weight", ".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd",
    ".patch_merger", "a.rvq.codebook", "mm.a.code_embd",
)  # fmt: skip
"""Parts of the names of tensors that llama.cpp does not quantize: norms, routers, small and positional tensors."""

NAMES = ("position_embd.weight", "token_types.weight")
"""Names of such tensors."""


def scheme_of(kind: BlockType, grid: Grid | None = None) -> Scheme:
    """Return the scheme of a type of blocks; the grid is that of a factor besides."""
    return Scheme(UINT8, Packing.NONE, FLOAT32, grid or Grid(1, kind.size), blocks=kind)


def find(source: Source) -> Iterator[Weight]:
    """Yield the tensors of blocks whose values are known."""
    for codes in list(source.tensors.values()):
        kind = BLOCK_TYPES.get(codes.type_name) if codes.fmt is None else None
        if kind is None:
            continue
        module, last = split(codes.name)
        factor = next(take(source, module, FACTOR), None) if last == "weight" else None
        if factor is not None and factor.fmt != FLOAT32:
            raise fail(factor, f"must hold F32, to be factors; got {factor.type_name}")
        grid = None if factor is None else grid_of(codes.shape, factor)
        unused = tuple(take(source, module, *UNUSED)) if last == "weight" else ()
        yield Weight(codes.name, NAME, codes.shape, scheme_of(kind, grid), codes, factor, unused=unused)


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensor of blocks that a weight becomes, under its own name."""
    kind = scheme.blocks
    yield Output(CODES, name, scheme.codes, shape, blocks=kind)


def describe(scheme: Scheme, ignore: Sequence[str]) -> Mapping[str, Any]:
    """Return nothing: the file itself names the type of every tensor."""
    return {}


def types_without_values(container: Container) -> dict[str, list[StoredTensor]]:
    """Return the tensors of a .gguf file whose values are not known, by the names of their types."""
    found: dict[str, list[StoredTensor]] = {}
    if isinstance(container, GgufFile):
        for one in container.tensors:
            if one.fmt is None and one.type_name not in BLOCK_TYPES:
                found.setdefault(one.type_name, []).append(one)
    return found


def types_text(found: Mapping[str, Sequence[StoredTensor]]) -> str:
    """Return types and how many tensors have them: ``IQ3_S (20 tensors) and unknown type 42 (1 tensor)``."""
    return " and ".join(f"{name} ({count_text(len(tensors), 'tensor')})" for name, tensors in found.items())


def check_types(container: Container, *, copied: bool) -> None:
    """Raise FileError for tensors whose values are not known; if `copied`, for those that cannot be copied either."""
    found = types_without_values(container)
    unknown = {name: tensors for name, tensors in found.items() if name.startswith(UNKNOWN)}
    if not (unknown if copied else found):
        return
    (first, *_), *_ = (unknown or found).values()
    if unknown:
        text = "can neither read nor copy; a llama-quantize that knows them makes BF16 of them with --allow-requantize"
    else:
        text = "can copy but not read; llama-quantize --allow-requantize makes BF16 of them, recipes for GGUF copy them"
    types = f"{types_text(unknown or found)}, such as {ascii(first.name)[:80]}"
    raise FileError(f"{container.path}: has {types}, which lowprec {text}")


def why_unfit(kind: BlockType, tensor: StoredTensor) -> str:
    """Return why a tensor cannot be stored in a type for what it is, or nothing."""
    if tensor.type_name == kind.name:
        return f"{kind.name} already"
    if tensor.fmt is None and tensor.type_name not in BLOCK_TYPES:
        return "its blocks are only copied"
    if tensor.fmt not in (*FORMATS, None):
        return "no floats of 16 or 32 bits"
    if not tensor.name.endswith("weight") or all(length <= 1 for length in tensor.shape[:-1]):
        return "no weight of two axes"
    return ""


def why_kept(tensor: StoredTensor) -> str:
    """Return why llama.cpp would keep a tensor for its name, or nothing."""
    return "llama.cpp keeps it" if tensor.name in NAMES or any(part in tensor.name for part in SMALL) else ""
