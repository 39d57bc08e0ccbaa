"""The list of modules that a configuration says are not quantized, held against the tensors."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..planning.quantization_config import model_config
from ..recipes.heads import head_of, is_untied, tied_head, unstored_head
from ..recipes.selection import FORMATS
from .finding import Finding
from .subject import Subject, module_of

__all__ = ["check_head", "check_ignored", "listed", "names_module"]

_KEYS = ("ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules")
"""Where a configuration has the list: compressed-tensors and ModelOpt; transformers; vLLM; hf_quant_config.json."""

_NO_LINEAR = re.compile(r"(^|[._])(\w*norm\d*|ln_\w+|\w*embed\w*|wte|wpe|conv\w*)($|\.)")
"""Parts of the names of modules that are no linear layers, whatever the list says."""

_ROUTER = re.compile(r"(^|[._])(router|gate)$")
"""The ends of names of layers that engines themselves keep from being quantized."""

_HEADED = re.compile(r"LM|ForConditionalGeneration|ForPreTraining")
"""Parts of the names of classes of models, in config.json, that have the head of a language model."""

_TIED = "is not stored (tied to the embedding)"

_DIGITS = re.compile(r"\d+")


def names_module(module: str, pattern: str) -> bool:
    """Compare as compressed-tensors does: a module's whole name, or an expression that matches its start."""
    if pattern.startswith("re:"):
        return bool(_expression(pattern[3:]).match(module))
    return module == pattern


def _boundary(module: str, pattern: str) -> bool:
    """Compare as transformers does: the start or the end of a name, or an expression up to the end of a part of it."""
    if module == pattern or module.startswith(f"{pattern}.") or module.endswith(pattern):
        return True
    return bool(_expression(rf"(?:{pattern})(?:(?<=\.)|(?=\.|$))").match(module))


def _wildcard(module: str, pattern: str) -> bool:
    """Compare as vLLM does for ModelOpt: parts of names, and whole names with wildcards."""
    return pattern in module or fnmatch.fnmatchcase(module, pattern) or fnmatch.fnmatchcase(module, f"{pattern}.*")


_MATCHES: dict[str, Callable[[str, str], bool]] = {"compressed-tensors": names_module, "modelopt": _wildcard}


@functools.lru_cache(1024)
def _expression(pattern: str) -> re.Pattern[str]:
    """Return an expression; one that never matches where a configuration has none."""
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return re.compile(r"(?!)")


@functools.lru_cache(1 << 16)
def _is_listed(module: str, patterns: tuple[str, ...], method: str) -> bool:
    matches = _MATCHES.get(method, _boundary)
    return any(matches(module, pattern) for pattern in patterns)


def _patterns(description: Mapping[str, Any]) -> tuple[str, ...]:
    lists = [description.get(key) for key in _KEYS]
    return tuple(one for some in lists if isinstance(some, list) for one in some if isinstance(one, str))


def listed(module: str, description: Mapping[str, Any]) -> bool:
    """Whether a configuration lists a module as one that is not quantized, as the engines of its method read that."""
    method = str(description.get("quant_method", ""))
    return _is_listed(module, _patterns(description), "modelopt" if method.startswith("modelopt") else method)


def check_ignored(subject: Subject) -> Iterator[Finding]:
    """Look for quantized modules that are listed, and plain ones that are not.

    Where modules of one name are quantized in some layers and plain in others, the list must name the plain ones. A
    module that is plain everywhere may be one that engines never quantize, as routers are; compressed-tensors and
    ModelOpt name all others.
    """
    description = subject.description
    if not description or not subject.weights:
        return
    for weight in subject.weights:
        module = module_of(weight.name)
        if listed(module, description):
            text = "is quantized, and config.json lists it as a module that is not"
            yield Finding("configuration", True, module, text)
    alike = {_DIGITS.sub("*", module_of(weight.name)) for weight in subject.weights}
    complete = subject.method == "compressed-tensors" or subject.method.startswith("modelopt")
    for tensor in subject.others:
        module = module_of(tensor.name)
        if not tensor.name.endswith(".weight") or len(tensor.shape) != 2 or tensor.fmt not in FORMATS:
            continue
        if _NO_LINEAR.search(module) or listed(module, description):
            continue
        if _DIGITS.sub("*", module) in alike:
            text = "is not quantized, others of its name are, and config.json does not list it"
            yield Finding("configuration", True, module, text)
        elif complete and not _ROUTER.search(module):
            text = "is not quantized, and config.json does not list it: engines expect codes if it is a linear layer"
            yield Finding("configuration", True, module, text)
        elif re.search(r"\.\d+\.", module):
            text = "is not quantized, and config.json does not list it: right where engines never quantize it"
            yield Finding("configuration", False, module, text)


def check_head(subject: Subject) -> Iterator[Finding]:
    """Look for the head of a language model that is plain, or the embedding and not stored, and that is not listed.

    transformers makes a linear layer of it whatever the layout, vLLM a quantized one for ModelOpt.
    """
    if not subject.is_model or not subject.weights:
        return
    config, description = model_config(subject.container), subject.description
    tied = tied_head(config, (module_of(one.name) for one in subject.weights))
    if tied and subject.method in ("compressed-tensors", "fp8"):
        text = "is quantized, and config.json says that it is the embedding (tie_word_embeddings)"
        yield Finding("configuration", True, tied, text)
    head, what = unstored_head(config, (one.name for one in subject.container.tensors)), _TIED
    if head and (is_untied(config) or not _has_head(config)):
        return
    if not head and subject.method == "fp8":  # what is stored, check_ignored finds in other layouts
        stored = {module_of(one.name) for one in subject.others if one.name.endswith(".weight")}
        head, what = next(iter({head_of(config)} & stored), ""), "is not quantized"
    if head and _expects_codes(head, description) and not listed(head, description):
        text = f"{what}, and config.json does not list it: engines expect codes for it"
        yield Finding("configuration", True, head, text)


def _has_head(config: Mapping[str, Any]) -> bool:
    """Whether the class of a model, if config.json names it, has the head of a language model."""
    classes = config.get("architectures")
    named = [one for one in classes if isinstance(one, str)] if isinstance(classes, list) else []
    return not named or any(map(_HEADED.search, named))


def _expects_codes(head: str, description: Mapping[str, Any]) -> bool:
    """Whether an engine quantizes a head that is not listed."""
    method = str(description.get("quant_method", ""))
    if method == "fp8":  # without a list, transformers keeps the head by itself
        return any(isinstance(description.get(key), list) for key in ("modules_to_not_convert", "ignored_layers"))
    if method != "compressed-tensors":
        return method.startswith("modelopt")
    groups = description.get("config_groups")
    found = [one for one in groups.values() if isinstance(one, dict)] if isinstance(groups, dict) else []
    targets = [one.get("targets") for one in found if isinstance(one.get("weights"), dict)]
    every = [one for some in targets if isinstance(some, list) for one in some if isinstance(one, str)]
    return any(one == "Linear" or names_module(head, one) for one in every)
