"""Whether what config.json says of a quantization, and its list of modules, is true of the tensors."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..._notebook_display import count_text
from ..containers.gguf_file import UNKNOWN
from ..containers.model_config import HF_QUANT_CONFIG, find_descriptions, model_config, read_description
from ..inference_engines import ENGINES
from ..inference_engines.awq_gptq import is_plain
from ..inference_engines.compressed_tensors import describe
from ..inference_engines.gguf import types_text, types_without_values
from ..inspection import grouped_scheme, kind_text
from ..schemes.lossless import FN
from ..schemes.scale_grid import Grid
from ..schemes.scheme import codes_text, scheme_name
from ..weights import lowprec_names
from ..weights.companion_tensors import find_tool
from ..weights.engine_interface import block_of, described_grid
from ..weights.quantized_weight import Weight
from ..weights.tensor_selection import FORMATS, head_of, is_untied, tied_head, unstored_head
from .finding import Finding, name_text
from .subject import CONFIG, Subject, module_of

__all__ = ["check_configuration", "check_head", "check_hf_quant_config", "check_ignored", "check_layout", "listed"]

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

NAME = "quantization_config"

_ALGORITHMS = (
    ("FP8", "FP8 per tensor"), ("FP8_PER_CHANNEL_PER_TOKEN", "FP8 per row"), ("FP8_PB_WO", "block FP8"),
    ("NVFP4", "NVFP4"), ("W4A16_NVFP4", "NVFP4"), ("NVFP4_AWQ", "NVFP4"), ("MXFP8", "MXFP8"),
)  # fmt: skip
"""Values of ``quant_algo``, and how the name of the scheme starts that they stand for."""

_STATIC = ("FP8", "NVFP4")
"""Those with which inputs of layers have a scale in the file."""


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
    if is_plain(description, module):
        return True
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


def check_layout(subject: Subject) -> Iterator[Finding]:
    """Say which layouts there are, and whether the configuration names them."""
    if subject.container.codes_suffix:
        yield Finding("layout", False, "", "its scales are arguments of nodes, which are not checked")
        return
    kinds: dict[str, int] = {}
    for weight in subject.weights:
        kinds[kind_text(weight)] = kinds.get(kind_text(weight), 0) + 1
    for kind, n in kinds.items():
        yield Finding("layout", False, "", f"{kind}: {count_text(n, 'weight')}")
    if any(weight.scheme.codes in FN for weight in subject.weights):
        yield Finding("layout", False, "", "has FP8 of MI300; vLLM and SGLang expect F8_E4M3 there too")
    undescribed = subject.is_model and not subject.description and not find_descriptions(subject.container)
    tool = find_tool(subject.container) if any(one.row is not None for one in subject.companions) else None
    if tool is not None:
        yield Finding("layout", undescribed, "", tool.text() + (f"; {CONFIG} does not say so" if undescribed else ""))
    seen: set[str] = set()
    for one in subject.companions if tool is None else ():
        if one.row is not None and one.codes.name not in seen:
            seen.add(one.codes.name)
            text = f"belongs with {name_text(one.tensor.name)}, {one.row.role}, in a layout that lowprec does not read"
            said = f" ({one.row.layout}); {CONFIG} does not say so" if undescribed else f" ({one.row.layout})"
            yield Finding("layout", undescribed, one.codes.name, text + said)
    unread = types_without_values(subject.container)
    for name, tensors in unread.items():
        unknown = name.startswith(UNKNOWN)
        why = "engines that do not know it refuse the file" if unknown else "lowprec has no values for this type"
        text = f"{types_text({name: tensors})}, {name_text(tensors[0].name)} first: not checked, {why}"
        yield Finding("unchecked", unknown, "", text)
    if not subject.is_quantized and not subject.description and not unread:
        yield Finding("layout", False, "", "nothing is quantized")


def check_configuration(subject: Subject) -> Iterator[Finding]:
    """Hold the configuration against the weights."""
    if not subject.description:
        if subject.weights and subject.is_model and not find_descriptions(subject.container):
            text = f"{_kind(subject.weights)}, and {CONFIG} has no {NAME}: transformers takes the codes for values"
            yield Finding("configuration", True, subject.weights[0].name, text)
        return
    known = {method for engine in ENGINES for method in engine.methods}
    misplaced = [one for one in subject.unexpected if subject.method in known or one.layout != lowprec_names.NAME]
    if misplaced:
        text = f"{_kind(misplaced)}; {CONFIG} says that the method is {subject.method[:40] or 'none'!r}"
        yield Finding("configuration", True, misplaced[0].name, text)
    elif not subject.is_quantized and not subject.codes:
        text = f"{CONFIG} says that the model is quantized ({subject.method[:40]}); no tensor is"
        yield Finding("configuration", True, "", text)
    elif subject.method not in known:
        text = f"{CONFIG} says that the method is {subject.method[:40]!r}, which lowprec does not check"
        yield Finding("configuration", False, "", text)
    rule = _METHODS.get("modelopt" if subject.method.startswith("modelopt") else subject.method)
    for weight in subject.weights if rule else ():
        for text in rule(weight, subject.description) if rule else ():
            yield Finding("configuration", True, weight.name, text)


def _has_input_scale(weight: Weight) -> bool:
    """Whether a scale of the layer's input comes with a weight."""
    return any("input" in one.name.rpartition(".")[2] or "act" in one.name.rpartition(".")[2] for one in weight.unused)


def _kind(weights: Sequence[Weight]) -> str:
    """Return what the first of some weights is, and how many more there are."""
    more = f" (and {len(weights) - 1} more weights are quantized)" if len(weights) > 1 else ""
    return f"is {kind_text(weights[0])}{more}"


def _fp8(weight: Weight, description: Mapping[str, Any]) -> Iterator[str]:
    """DeepSeek and those who followed: blocks of a size, one format of codes."""
    codes, shared = weight.scheme.codes, weight.scheme.grid.extent(weight.shape)
    if codes.bits != 8:  # the FP4 of DeepSeek V4, of which config.json says nothing
        return
    block = block_of(description.get("weight_block_size"))
    if block and shared != Grid(*block).extent(weight.shape):
        yield f"is {scheme_name(grouped_scheme(weight))}; {CONFIG} says blocks of {block[0]} x {block[1]}"
    elif not block and shared != Grid(0, 0).extent(weight.shape):
        yield f"is {scheme_name(grouped_scheme(weight))}; {CONFIG} has no weight_block_size"
    if block and weight.scales is not None and weight.scales.name.endswith("weight_scale"):
        yield "has blocks of scales named weight_scale; engines look for weight_scale_inv"
    named, fmt = description.get("fmt"), f"e{codes.exponent_bits}m{codes.mantissa_bits}"
    if isinstance(named, str) and named != fmt:
        yield f"has {codes.name} codes; {CONFIG} says fmt {named[:20]!r}"
    if description.get("activation_scheme") == "static" and not _has_input_scale(weight):
        yield f"has no input_scale; {CONFIG} says that the activation_scheme is static"


def _groups(weight: Weight, description: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the groups of a configuration that a weight may be in: those that name it, else those for all layers."""
    groups = description.get("config_groups")
    found = [one for one in groups.values() if isinstance(one, dict)] if isinstance(groups, dict) else []
    named: list[Mapping[str, Any]] = []
    general: list[Mapping[str, Any]] = []
    for group in found:
        listed = group.get("targets")
        targets = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        if any(names_module(module_of(weight.name), one) for one in targets):
            named.append(group)
        elif any(not one.startswith("re:") and "." not in one for one in targets):
            general.append(group)
    return named or general


def _compressed(weight: Weight, description: Mapping[str, Any]) -> Iterator[str]:
    """compressed-tensors: one of the groups must be what the weight is."""
    groups = _groups(weight, description)
    if not groups:
        yield f"is {scheme_name(grouped_scheme(weight))}, and no group of {CONFIG} is for it"
        return
    reasons = sorted((tuple(_differences(weight, group, description)) for group in groups), key=len)
    if reasons[0]:
        yield f"is {scheme_name(grouped_scheme(weight))}; {CONFIG} says {', '.join(reasons[0])}"
    scales = weight.scales
    if scales is not None and len(scales.shape) == 1 and scales.size > 1:
        yield f"has scales of the shape {list(scales.shape)}; engines expect {[*scales.shape, 1]}"


def _differences(weight: Weight, group: Mapping[str, Any], description: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a group says that is not true of a weight; the true values are those that we would write."""
    scheme = weight.scheme
    said = group.get("weights")
    if not isinstance(said, dict):
        yield "that its weights are not quantized"
        return
    ours = describe("", None, scheme, ())[NAME]["config_groups"][""]
    fmt = group.get("format") or description.get("format")
    loose = ("mixed-precision", "naive-quantized", None)
    if fmt not in loose and fmt != ours["format"]:
        yield f"format {str(fmt)[:40]!r}"
    for key in ("num_bits", "type"):
        if key in said and said[key] != ours["weights"][key]:
            yield f"{key} {str(said[key])[:20]!r}"
    if said.get("symmetric") is False and weight.zero_points is None:
        yield "symmetric False, and there are no zero points"
    inputs = group.get("input_activations")
    if isinstance(inputs, dict) and inputs.get("dynamic") in (False, "local") and not _has_input_scale(weight):
        yield "that inputs have a scale of their own, and there is none"
    expected = described_grid(said)
    shape = weight.shape
    if weight.groups is None and expected is not None and scheme.grid.extent(shape) != expected.extent(shape):
        size = said.get("block_structure") or said.get("group_size")
        yield f"strategy {str(said.get('strategy'))[:20]!r}" + (f" of {str(size)[:20]}" if size else "")


def _modelopt(weight: Weight, description: Mapping[str, Any]) -> Iterator[str]:
    """ModelOpt: one algorithm, and the size of groups."""
    algorithm, scheme = str(description.get("quant_algo") or "").upper(), weight.scheme
    name = scheme_name(grouped_scheme(weight))
    if not algorithm:
        yield f"is {name}; there is no quant_algo"
    if algorithm in _STATIC and not _has_input_scale(weight):
        yield f"has no input_scale, which engines need with quant_algo {algorithm}"
    expected = next((one for one in _ALGORITHMS if one[0] == algorithm), None)
    if expected is not None and not name.startswith(expected[1]):
        yield f"is {name}; quant_algo is {algorithm!r}"
    size = description.get("group_size")
    shared = scheme.grid.extent(weight.shape)[1]
    if type(size) is int and size > 0 and codes_text(scheme) == "FP4" and shared != min(size, weight.columns):
        yield f"has groups of {shared}; group_size is {size}"


_METHODS: dict[str, Callable[[Weight, Mapping[str, Any]], Iterator[str]]] = {
    "fp8": _fp8, "deepseek_v4_fp8": _fp8, "compressed-tensors": _compressed, "modelopt": _modelopt,
}  # fmt: skip


def check_hf_quant_config(subject: Subject) -> Iterator[Finding]:
    """Hold ModelOpt's file against config.json: engines read one of the two."""
    theirs = read_description(subject.container, HF_QUANT_CONFIG)
    if not theirs:
        return
    said = theirs.get("quantization")
    if not isinstance(said, dict):
        yield Finding("configuration", True, "", f"{HF_QUANT_CONFIG} has no entry 'quantization'")
        return
    ours = subject.description
    if not subject.method.startswith("modelopt"):
        text = f"{HF_QUANT_CONFIG} is there, and the method of {CONFIG} is {subject.method[:40]!r}"
        yield Finding("configuration", True, "", text)
        return
    for key in ("quant_algo", "group_size", "kv_cache_quant_algo"):
        if key in said and key in ours and said[key] != ours[key]:
            text = f"{HF_QUANT_CONFIG} says {key} {str(said[key])[:40]!r}, {CONFIG} {str(ours[key])[:40]!r}"
            yield Finding("configuration", True, "", text)
    lists = [some.get(key) for some, key in ((said, "exclude_modules"), (ours, "ignore"))]
    excluded, ignored = (sorted(map(str, one)) if isinstance(one, list) else None for one in lists)
    if excluded is not None and ignored is not None and excluded != ignored:
        first = sorted(set(excluded) ^ set(ignored))[:1]
        text = f"{HF_QUANT_CONFIG} excludes other modules than {CONFIG} ignores: {str(first)[1:-1][:80]}"
        yield Finding("configuration", True, "", text)
