"""The head of a language model: the name of its module, and whether it is the embedding and so is not stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["head_of", "is_untied", "kept_head", "tied_head", "unstored_head"]

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
"""What transformers 5.23.0 calls it otherwise, by model_type; tests/checkpoints/check_tied_heads.py compares."""

_NAMES = {model: head for head, models in HEADS.items() for model in models.split()}

EMBEDDING = re.compile(
    r"(^|\.)(embed_tokens|word_embeddings?|shared|wte|tok_embeddings|embed_in|tokens_embed|input_embedding|embeddings)"
    r"\.weight$"
)
"""The ends of the names of the weights that turn tokens into vectors."""

WEIGHTS = ("weight", "qweight")
"""How the last parts of the names of a weight begin, if it is quantized too."""

TIED, TEXT_MODEL = "tie_word_embeddings", "text_config"


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
