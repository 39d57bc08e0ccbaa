"""Which tensors are quantized: patterns of names, what engines quantize and keep; the head of a model."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32
from ...spec.scalar_arguments import shown
from ..containers.container import StoredTensor
from ..files.errors import FileError
from .expert_weights import experts_module_of

__all__ = [
    "FORMATS", "NamePatterns", "experts_module", "fused_group", "head_of", "is_untied", "kept_head",
    "linear_module", "module_of", "tied_head", "unstored_head", "why_no_experts", "why_no_matrix", "why_not_linear",
]  # fmt: skip

FORMATS = (BFLOAT16, FLOAT16, FLOAT32)

KEPT = re.compile(
    r"(^|[._])(lm_head|head|output|embed\w*|wte|wpe|norm\w*|\w*norm|router|vision\w*|visual|audio\w*|gate)($|\.)"
)
"""Parts of the names of modules that engines do not quantize: heads, embeddings, norms, routers, towers."""

FUSED = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("w1", "w3"), ("q_a_proj", "kv_a_proj_with_mqa"),
         ("wq_a", "wkv_a_with_mqa"))  # fmt: skip
"""Modules that engines fuse, so that their weights have one second scale."""

EXPRESSION = "re:"
WEIGHT = ".weight"

USUAL = "lm_head"
"""What nearly all models call it."""

HEADS = {
    "cls.predictions.decoder": "bert big_bird deberta deberta-v2 ernie fnet layoutlm megatron-bert mobilebert mra "
    "nomic_bert nystromformer rembert roc_bert roformer squeezebert tapas yoso",
    "decoder": "modernbert modernbert-decoder",
    "decoder.cls.predictions.decoder": "encoder-decoder speech-encoder-decoder vision-encoder-decoder",
    "decoder.lm_head": "pix2struct",
    "embed_out": "gpt_neox_japanese",
    "generator_lm_head": "convbert electra",
    "head": "rwkv",
    "head.decoder": "ultrabert",
    "language_model.lm_head": "blip-2 instructblip instructblipvideo llama4",
    "lm_head.decoder": "bert-generation camembert data2vec-text esmc gte ibert jina_embeddings_v3 longformer luke "
    "mpnet reformer roberta roberta-prelayernorm xlm-roberta xlm-roberta-xl xmod",
    "lm_head.out_proj": "t5gemma t5gemma2",
    "lm_loss": "xlnet",
    "model.decoder.output_projection": "fsmt",
    "output": "git",
    "output_projection": "biogpt trocr",
    "pred_layer.proj": "flaubert xlm",
    "predictions.decoder": "albert",
    "proj_out": "canary cohere_asr moonshine moonshine_streaming whisper",
    "text_decoder.cls.predictions.decoder": "blip",
    "text_decoder_postnet.lm_head": "speecht5",
    "text_model.lm_head": "kosmos-2 kosmos-2.5",
    "vocab_projector": "distilbert",
}
"""What transformers 5.23.0 calls it otherwise, by model_type; tests/checkpoints/check_transformers.py compares."""

_NAMES = {model: head for head, models in HEADS.items() for model in models.split()}

EMBEDDING = re.compile(
    r"(^|\.)(embed_tokens|word_embeddings?|shared|wte|tok_embeddings|embed_in|tokens_embed|input_embedding|embeddings)"
    r"\.weight$"
)
"""The ends of the names of the weights that turn tokens into vectors."""

WEIGHTS = ("weight", "qweight")
"""How the last parts of the names of a weight begin, if it is quantized too."""

TIED, TEXT_MODEL = "tie_word_embeddings", "text_config"


def module_of(name: str) -> str:
    """Return the module of a weight."""
    return name.removesuffix(".weight")


def why_no_matrix(tensor: StoredTensor) -> str:
    """Return why a tensor is not the weight of a module, with two axes and of a type that is quantized, or nothing."""
    if not tensor.name.endswith(".weight") or len(tensor.shape) != 2 or tensor.fmt not in FORMATS:
        return f"no .weight of two axes in {', '.join(fmt.name for fmt in FORMATS)}"
    return ""


def why_no_experts(tensor: StoredTensor) -> str:
    """Return why a tensor is not the weights of all experts of a layer, of a type that is quantized, or nothing."""
    if not experts_module_of(tensor) or tensor.fmt not in FORMATS:
        return f"no weights of experts, of three axes, in {', '.join(fmt.name for fmt in FORMATS)}"
    return ""


def why_not_linear(tensor: StoredTensor) -> str:
    """Return why a name is not that of a linear layer in a numbered block which engines quantize, or nothing."""
    if not re.search(r"\.\d+\.", tensor.name):
        return "not in a numbered block"
    return "engines keep it" if KEPT.search(module_of(tensor.name)) else ""


def linear_module(tensor: StoredTensor) -> str:
    """Return the linear layer whose weight a tensor is, or nothing.

    Modules whose name ends with "norm" are no linear layers.
    """
    module = module_of(tensor.name)
    return module if module != tensor.name and len(tensor.shape) == 2 and not module.endswith("norm") else ""


def experts_module(tensor: StoredTensor) -> str:
    """Return the module of experts, or the linear layer, whose weight a tensor is, or nothing."""
    return experts_module_of(tensor) or linear_module(tensor)


def fused_group(name: str) -> str:
    """Return what the names of weights have in common that share a second scale."""
    before, _, last = module_of(name).rpartition(".")
    fused = next((names for names in FUSED if last in names), (last,))
    return f"{before}.{'+'.join(fused)}"


@dataclass(frozen=True, slots=True)
class NamePatterns:
    """The patterns of one option.

    A pattern with wildcards must fit the whole name of a tensor or of its module, which is the name without ".weight";
    a regular expression must fit from the start, as in the configurations of compressed-tensors.

    Attributes
    ----------
    parameter : str
        The parameter's name, for errors.
    patterns : tuple of str
        The patterns.
    """

    parameter: str
    patterns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for what is no regular expression."""
        for pattern in self.patterns:
            if pattern.startswith(EXPRESSION):
                try:
                    re.compile(pattern.removeprefix(EXPRESSION))
                except (re.error, RecursionError, OverflowError) as error:
                    raise ValueError(
                        f"`{self.parameter}` must be a regular expression after re:; got {shown(pattern)} ({error})"
                    ) from None

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.patterns)

    def fit(self, name: str) -> bool:
        """Whether a pattern fits the name of a tensor, or of its module."""
        return any(_fits(pattern, name) for pattern in self.patterns)

    def check(self, path: Path, names: Iterable[str]) -> None:
        """Raise FileError where a pattern fits no name of a checkpoint."""
        everything = list(names)
        for pattern in self.patterns:
            if not any(_fits(pattern, name) for name in everything):
                raise FileError(f"{path}: has no tensor or module that `{self.parameter}` {shown(pattern)} names")


def _fits(pattern: str, name: str) -> bool:
    names = {name, name.removesuffix(WEIGHT)}
    if pattern.startswith(EXPRESSION):
        return any(re.match(pattern.removeprefix(EXPRESSION), one) for one in names)
    return any(fnmatch.fnmatchcase(one, pattern) for one in names)


def head_of(config: Mapping[str, Any]) -> str:
    """Return the module of the head, as transformers names it, for the model that a config.json describes."""
    model = config.get("model_type")
    return _NAMES.get(model, USUAL) if isinstance(model, str) else USUAL


def _is_head(module: str, head: str) -> bool:
    """Whether a module is the head, under whatever prefix a checkpoint has it."""
    return module == head or module.endswith(f".{head}")


def _said(config: Mapping[str, Any]) -> list[object]:
    """Return what a config.json says of the embedding, at the top and for the text model."""
    return [fields.get(TIED) for fields in (config, config.get(TEXT_MODEL)) if isinstance(fields, dict)]


def is_untied(config: Mapping[str, Any]) -> bool:
    """Whether a config.json says that the head has a weight of its own."""
    return False in (said := _said(config)) and True not in said


def tied_head(config: Mapping[str, Any], quantized: Iterable[str]) -> str:
    """Return the head if it is among the `quantized` modules and config.json says that it is the embedding; or nothing.

    transformers gives such a head the embedding's weight, which has no scales.
    """
    head = head_of(config)
    return head if True in _said(config) and any(_is_head(module, head) for module in quantized) else ""


def unstored_head(config: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the head of a language model if none of the tensors, whose `names` these are, is its weight; or nothing.

    Where there is an embedding, config.json need not say that it is the head too: that is the default of many models.
    """
    head, has_embedding = head_of(config), False
    for name in names:
        module, _, last = name.rpartition(".")
        if last.startswith(WEIGHTS) and _is_head(module, head):
            return ""
        has_embedding = has_embedding or bool(EMBEDDING.search(name))
    return head if has_embedding or True in _said(config) else ""


def kept_head(config: Mapping[str, Any], names: Sequence[str], quantized: Iterable[str]) -> str:
    """Return the head unless it is one of the `quantized` modules; nothing for what is no language model.

    Engines make a linear layer of a head that is not stored too, and expect codes for it unless it is listed. One that
    is stored under another name (``language_model.lm_head``) is renamed when it is loaded, but in the list it is not.
    """
    head = head_of(config)
    if any(_is_head(module, head) for module in quantized):
        return ""
    stored = any(_is_head(name.rpartition(".")[0], head) for name in names)
    return head if stored else unstored_head(config, names)
