"""Every recipe of `lowprec convert --recipe`, a row each: a scheme, a tool, and the names of an engine."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..spec.formats import (
    BFLOAT16,
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT32,
    INT4,
    INT8,
    ROW_NAMES,
    UINT8,
    Format,
)
from ..spec.scalar_arguments import shown
from .containers.container import StoredTensor
from .containers.folder import Folder
from .containers.gguf_file import GgufFile
from .containers.safetensors_file import SafetensorsFile
from .inference_engines import comfy_ui, compressed_tensors, deepseek_fp8, gguf, gpt_oss, modelopt
from .schemes.ggml_blocks import BLOCK_TYPES, WHOLE_TYPES
from .schemes.ggml_blocks import TOOL as GGML
from .schemes.lossless import FN, FNUZ
from .schemes.scale_grid import Grid
from .schemes.scheme import BlockType, GlobalScale, Packing, Scheme, Tool
from .weights.engine_interface import Output
from .weights.expert_weights import Experts
from .weights.tensor_selection import (
    experts_module,
    fused_group,
    linear_module,
    why_no_experts,
    why_no_matrix,
    why_not_linear,
)

__all__ = [
    "CHANGES", "RECIPES", "CodeChange", "Recipe", "choose_scale_rule", "find_alike", "find_change", "find_recipe",
    "recipes_like",
]  # fmt: skip

TRANSFORMERS = "transformers 5.23.0 on the CPU: dequantized to the same weights and logits"
"""What tests/checkpoints/check_transformers.py compares."""

LAYOUT = "as it was"

LONGEST = 40
"""Characters of a name that may be a recipe's, misspelled."""

_NICKNAMES = {INT4.name: ("w4a16", "w4a16-g32", "q4_0"), "w8a8": ("int8",)}
"""What recipes are called elsewhere, where no part of their names is."""

_OTHER_GGUF = re.compile(r"(q\d_k|iq\d|tq\d)(_\w+)?")
"""Names of types of GGUF with tables or blocks of blocks, in small letters."""

_TOKEN: dict[str, Any] = {"dynamic": True, "strategy": "token"}
_GROUP: dict[str, Any] = {"dynamic": True, "group_size": 128, "strategy": "group"}


def _sorted(kept: Set[str], quantized: Set[str]) -> list[str]:
    """Return the names of modules that are kept."""
    return sorted(kept)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the weights of a model are quantized and stored.

    Attributes
    ----------
    name, summary : str
        Its name, and in a line what is written.
    layout, readers : str
        The layout that is written; the engines that read it.
    scheme : Scheme
        How the weights are stored.
    source_scales : bool
        Whether scales have the type of the weight, which the scheme's format of scales then stands for.
    tool : Tool
        The arithmetic.
    outputs : callable
        Takes the name and the shape of a weight, its axes as they are quantized, and its scheme; yields the tensors
        that it becomes.
    describe : callable
        Takes the scheme and the modules that are kept; returns the entry ``quantization_config`` of config.json under
        that name, and whole files under theirs.
    why_unfit, why_kept : callable
        Each takes a tensor; they return why it cannot be quantized for its type and shape, and why it is not for its
        name, or nothing.
    fused : callable
        Takes the name of a weight; returns what the weights have in common that share the scale of a whole tensor, or
        nothing where each has its own.
    ignored : callable
        Takes a tensor that is kept; returns the module that engines must not take for a quantized one, or nothing.
    listed : callable
        Takes these modules, and those that are quantized; returns the list of the first for engines.
    transposed : bool
        Whether the last two axes of a weight are exchanged when it is quantized.
    experts : Experts
        What becomes of experts that are stored as one tensor; those whose axes are in another order are kept.
    models : tuple of str
        What ``model_type`` in config.json may be; empty for anything.
    remark : str
        What the result means that may surprise, for the report; nothing where the summary says all.
    containers : tuple of type
        The kinds of container whose weights it quantizes.
    mixes_types : bool
        Whether each tensor has a type of its own, so that those that are quantized already and kept stay as they are.
    checked : str
        The engines and tools, with their versions, that the output was compared with.
    """

    name: str
    summary: str
    layout: str
    readers: str
    scheme: Scheme
    source_scales: bool
    tool: Tool
    outputs: Callable[[str, tuple[int, ...], Scheme], Iterable[Output]]
    describe: Callable[[Scheme, Sequence[str]], Mapping[str, Any]]
    why_unfit: Callable[[StoredTensor], str] = why_no_matrix
    why_kept: Callable[[StoredTensor], str] = why_not_linear
    fused: Callable[[str], str] = fused_group
    ignored: Callable[[StoredTensor], str] = linear_module
    listed: Callable[[Set[str], Set[str]], list[str]] = _sorted
    transposed: bool = False
    experts: Experts = Experts.AS_STORED
    models: tuple[str, ...] = ()
    remark: str = ""
    containers: tuple[type, ...] = (SafetensorsFile, Folder)
    mixes_types: bool = False
    checked: str = ""

    @property
    def takes_scale_rule(self) -> bool:
        """Whether its scales are powers of two that another rule can choose."""
        return self.tool.takes_scale_rule and not self.scheme.scale.has_zero

    def with_scale_rule(self, scale_rule: str) -> Recipe:
        """Return the recipe with a scale rule of `absmax_scale` in place of the tool's own."""
        return replace(self, tool=replace(self.tool, quantize=partial(self.tool.quantize, scale_rule=scale_rule)))

    def scheme_of(self, fmt: Format) -> Scheme:
        """Return how a weight in `fmt` is stored."""
        return replace(self.scheme, scale=fmt) if self.source_scales else self.scheme

    def shape_of(self, tensor: StoredTensor) -> tuple[int, ...]:
        """Return the shape of a weight, its axes as they are quantized."""
        shape = tensor.shape
        return (*shape[:-2], shape[-1], shape[-2]) if self.transposed else shape

    def problem(self, tensor: StoredTensor) -> str:
        """Return why a weight of such a shape cannot be stored so, or nothing."""
        columns, width = self.shape_of(tensor)[-1], self.scheme.grid.columns
        if self.scheme.grid.rows == 1 and width and columns % width:
            return f"its rows are not divided into groups of {width}"
        return "it is empty" if 0 in tensor.shape else ""


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A change of the formats of codes, in any layout; scales change by the same factor the other way.

    Attributes
    ----------
    name, summary : str
        Its name, and in a line what is written.
    layout, readers : str
        The layout that is written; the engines that read it.
    formats : mapping
        Which format becomes which.
    doubles : bool
        Whether scales are doubled, those of a layer's inputs too: codes reach half as far. Else scales of inputs stay,
        which reach farther then.
    """

    name: str
    summary: str
    layout: str
    readers: str
    formats: Mapping[Format, Format]
    doubles: bool


CHANGES = (
    CodeChange("fnuz", "FP8 of MI300 from that of OCP, scales doubled", LAYOUT, "what computes on MI300", FNUZ, True),
    CodeChange("fn", "FP8 of OCP from that of MI300, scales halved", LAYOUT, "vLLM, SGLang, transformers", FN, False),
)


def _compressed_tensors(
    name: str, preset: str, summary: str, scheme: Scheme, activations: dict[str, Any] | None = None
) -> Recipe:
    """Return the recipe for a preset of llm-compressor; `activations` is what it says of a layer's inputs."""
    return Recipe(
        name,
        summary,
        compressed_tensors.NAME,
        "vLLM, SGLang, transformers",
        scheme,
        scheme.scale == BFLOAT16,
        compressed_tensors.TOOL,
        compressed_tensors.outputs,
        partial(compressed_tensors.describe, preset, activations),
        ignored=compressed_tensors.ignored,
        listed=compressed_tensors.listed,
        experts=Experts.SEPARATE,
        checked=f"llm-compressor 0.14.0.1 with compressed-tensors {compressed_tensors.VERSION}: the same bytes; "
        f"{TRANSFORMERS}",
    )


def _deepseek_fp8(name: str, scale_format: str, summary: str, tool: Tool) -> Recipe:
    """Return the recipe for block FP8, whose scales have the format that config.json names."""
    return Recipe(
        name,
        summary,
        deepseek_fp8.LAYOUT,
        "vLLM, SGLang, transformers",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(128, 128), powers_of_two=bool(scale_format)),
        False,
        tool,
        deepseek_fp8.outputs,
        partial(deepseek_fp8.describe, scale_format),
        deepseek_fp8.why_unfit,
        deepseek_fp8.why_kept,
        ignored=experts_module,
        experts=Experts.WHOLE,
        checked=TRANSFORMERS,
    )


def _comfy_ui(name: str, summary: str, fmt: str, tool: Tool) -> Recipe:
    """Return the recipe for a format of ComfyUI."""
    scheme = comfy_ui.SCHEMES[fmt]
    return Recipe(
        name,
        summary,
        comfy_ui.NAME,
        "ComfyUI",
        scheme,
        False,
        tool,
        comfy_ui.outputs,
        comfy_ui.describe,
        partial(comfy_ui.why_unfit, scheme.grid.columns or 1),
        comfy_ui.why_kept,
        comfy_ui.alone,
        checked=f"{tool.name}: the same codes and scales",
    )


def _modelopt(
    name: str, readers: str, summary: str, scheme: Scheme, tool: Tool, algorithm: str, remark: str = ""
) -> Recipe:
    """Return the recipe for what ModelOpt writes without data to calibrate with."""
    return Recipe(
        name,
        summary,
        modelopt.LAYOUT,
        readers,
        scheme,
        False,
        tool,
        modelopt.static_outputs if algorithm == modelopt.FP8 else modelopt.outputs,
        partial(modelopt.describe, algorithm),
        ignored=experts_module,
        experts=Experts.SEPARATE,
        checked=f"ModelOpt {modelopt.VERSION}: the same codes and scales",
        remark=remark,
    )


def _gguf(name: str, kind: BlockType, summary: str) -> Recipe:
    """Return the recipe for a type of GGUF."""
    return Recipe(
        name,
        summary,
        gguf.NAME,
        "llama.cpp",
        gguf.scheme_of(kind),
        False,
        GGML,
        gguf.outputs,
        gguf.describe,
        partial(gguf.why_unfit, kind),
        gguf.why_kept,
        ignored=lambda tensor: "",
        containers=(GgufFile,),
        mixes_types=True,
    )


RECIPES = (
    _compressed_tensors(
        "fp8-dynamic", "FP8_DYNAMIC", "FP8, a scale to a row",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, BFLOAT16, Grid(1, 0)), _TOKEN,
    ),
    _compressed_tensors(
        "fp8-block", "FP8_BLOCK", "FP8, a scale to 128 x 128",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, BFLOAT16, Grid(128, 128)), _GROUP,
    ),
    _compressed_tensors(
        "int8", "W8A8", "int8, a scale to a row",
        Scheme(INT8, Packing.NONE, BFLOAT16, Grid(1, 0)), {**_TOKEN, "type": "int"},
    ),
    _compressed_tensors(
        "w4a16", "W4A16", "4-bit integers in 32-bit words, a scale to 128 columns",
        Scheme(UINT8, Packing.WORDS, BFLOAT16, Grid(1, 128), bits=4),
    ),
    _compressed_tensors(
        "w4a16-g32", "W4A16", "4-bit integers in 32-bit words, a scale to 32 columns",
        Scheme(UINT8, Packing.WORDS, BFLOAT16, Grid(1, 32), bits=4),
    ),
    _compressed_tensors(
        "mxfp4a16", "MXFP4A16", "FP4, a power of two to 32 columns",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32)),
    ),
    _compressed_tensors(
        "mxfp8", "MXFP8A16", "FP8, a power of two to 32 columns",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT8_E8M0FNU, Grid(1, 32)),
    ),
    _compressed_tensors(
        "nvfp4a16", "NVFP4A16", "FP4, an FP8 scale to 16 columns, a float32 scale to tensors that are fused",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.INVERSE),
    ),
    _deepseek_fp8("deepseek-fp8", "", "FP8, a float32 scale to 128 x 128", deepseek_fp8.TOOL),
    _deepseek_fp8(
        "deepseek-fp8-ue8m0", "ue8m0", "FP8, a power of two in float32 to 128 x 128", deepseek_fp8.UE8M0_TOOL,
    ),
    Recipe(
        "gptoss-mxfp4", "the experts of gpt-oss in FP4, a power of two to 32 inputs", gpt_oss.NAME,
        "transformers, vLLM, llama.cpp", Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32)), False,
        gpt_oss.TOOL, gpt_oss.outputs, gpt_oss.describe, why_no_experts, ignored=experts_module, transposed=True,
        models=("gpt_oss",), checked=TRANSFORMERS,
    ),
    _comfy_ui(
        "comfy-fp8", "FP8, a float32 scale to a tensor", str(FLOAT8_E4M3FN.torch_name), comfy_ui.FP8_TOOL,
    ),
    _comfy_ui("comfy-mxfp8", "FP8, a power of two to 32 columns", "mxfp8", comfy_ui.MXFP8_TOOL),
    _comfy_ui(
        "comfy-nvfp4", "FP4, an FP8 scale to 16 columns, a float32 scale to a tensor", "nvfp4", comfy_ui.NVFP4_TOOL,
    ),
    _modelopt(
        "modelopt-fp8", "TensorRT-LLM, vLLM, SGLang",
        "FP8, a float32 scale to tensors that are fused; inputs become FP8 as they are, with the scale 1",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(0, 0)), modelopt.FP8_TOOL, modelopt.FP8,
        "input_scale is 1, since nothing was calibrated: inputs of layers beyond 448 saturate in the engine "
        "(modelopt-fp8-dynamic has a scale to each token)",
    ),
    _modelopt(
        "modelopt-fp8-dynamic", "TensorRT-LLM, vLLM",
        "FP8, a float32 scale to a row; inputs become FP8 with a scale to each token",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(1, 0)), modelopt.FP8_ROWS_TOOL, modelopt.FP8_ROWS,
    ),
    _modelopt(
        "modelopt-nvfp4", "TensorRT-LLM, vLLM",
        "FP4, an FP8 scale to 16 columns, a float32 scale to tensors that are fused; inputs stay as they are",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.FACTOR),
        modelopt.NVFP4_TOOL, modelopt.NVFP4_WEIGHTS,
        "inputs of layers are not quantized (W4A16_NVFP4): a scale for them would need data to calibrate with",
    ),
    _gguf("q8_0", BLOCK_TYPES["Q8_0"], "GGUF: 8-bit integers, an F16 scale to 32 columns"),
    _gguf("q4_0", BLOCK_TYPES["Q4_0"], "GGUF: 4-bit integers, an F16 scale to 32 columns"),
    _gguf("mxfp4", BLOCK_TYPES["MXFP4"], "GGUF: FP4, a power of two to 32 columns"),
    _gguf("bf16", WHOLE_TYPES["BF16"], "GGUF: BF16"),
    _gguf("f16", WHOLE_TYPES["F16"], "GGUF: F16"),
)  # fmt: skip


def find_recipe(name: object, parameter: str = "recipe") -> Recipe:
    """Return the recipe of a name; raise ValueError if there is none."""
    for recipe in RECIPES:
        if isinstance(name, str) and recipe.name == name:
            return recipe
    names = [one.name for one in (*RECIPES, *CHANGES)]
    hint = _hint(name, names)
    wanted = "a recipe" if hint else f"one of {', '.join(names)}"
    raise ValueError(f"`{parameter}` must be {wanted}; got {shown(name)}{hint}")


def _hint(name: object, names: Sequence[str]) -> str:
    """Return which recipe may be meant, or that none writes a type of GGUF."""
    if not isinstance(name, str) or len(name) > LONGEST:
        return ""
    spelled = name.lower()
    if _OTHER_GGUF.fullmatch(spelled):
        written = ", ".join(one.name for one in RECIPES if one.layout == gguf.NAME)
        return f"; K-quants and I-quants are not written, of the types of GGUF {written} are"
    dashed = spelled.replace("_", "-")
    close = [one for one in names if spelled == one or dashed == one] or list(_NICKNAMES.get(spelled, ()))
    if not close and spelled in ROW_NAMES:
        return "; `to` takes formats"
    close = close or [one for one in names if len(dashed) > 2 and dashed in one]
    close = close or difflib.get_close_matches(dashed, names, 3, 0.7) or difflib.get_close_matches(spelled, names, 3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def find_alike(recipe: Recipe, container: type) -> list[str]:
    """Return the recipes for a kind of container, of any model, whose names contain that of a recipe or are in it."""
    others = [one.name for one in RECIPES if container in one.containers and not one.models]
    return [name for name in others if name in recipe.name or recipe.name in name]


def recipes_like(text: str) -> list[str]:
    """Return the first recipes, at most three, whose names contain a text; none for one or two letters.

    Examples
    --------
    >>> recipes_like("mxfp4"), recipes_like("NVFP4"), recipes_like("int3"), recipes_like("e8")
    (['mxfp4a16', 'gptoss-mxfp4', 'mxfp4'], ['nvfp4a16', 'comfy-nvfp4', 'modelopt-nvfp4'], [], [])
    """
    spelled = text.lower()
    forms = (spelled, spelled.replace("_", "-")) if len(spelled) > 2 else ()
    return [one.name for one in (*RECIPES, *CHANGES) if any(form in one.name for form in forms)][:3]


def find_change(name: object) -> CodeChange | None:
    """Return the change of formats of a name, or None where a recipe must have it."""
    return next((one for one in CHANGES if isinstance(name, str) and one.name == name), None)


def choose_scale_rule(recipe: Recipe | CodeChange, scale_rule: str) -> Recipe:
    """Return a recipe with another scale rule; raise ValueError for one whose scales are not chosen so."""
    if isinstance(recipe, Recipe) and recipe.takes_scale_rule:
        return recipe.with_scale_rule(scale_rule)
    names = ", ".join(one.name for one in RECIPES if one.takes_scale_rule)
    raise ValueError(
        f"`scale_rule` must be None unless `recipe` is one of {names}; got {scale_rule!r} with {recipe.name}"
    )
