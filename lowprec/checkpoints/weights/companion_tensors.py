"""Tensors that codes need (scales, zero points, shapes), by their names; tools that are recognised and not read.

A name is a module and a last part: ``model.layers.0.q_proj.`` and ``weight_scale``. One table has the last parts that
known layouts use for companions, and those of the codes that they belong to. A tensor next to codes whose name is
neither in this table nor in the list of ordinary parameters counts as a companion of an unknown kind.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...spec.formats import UINT32, Format
from ..containers.container import Container, StoredTensor
from ..containers.folder import Folder
from ..containers.model_config import quantization_of
from ..files.errors import FileError
from .quantized_weight import split

__all__ = [
    "TABLE", "Companion", "affects_quantization", "check_part", "find_companions", "find_tool", "is_codes",
    "is_weight",
]  # fmt: skip

MODULE, EVERYTHING, WRAPPED = "..", "**", "_data**"
"""In a row: the tensor that has the module's own name; all narrow floats in the module and below it; the data of one
tensor that a class holds as several, however deep: ``weight._data._data``."""

Group = tuple[Format | None, bool]
"""What decides whether two tensors of one module are next to each other: formats and what the names say."""

_SCALES, _ZEROS, _INPUT = "their scales", "their zero points", "the scale of the layer's input"

ORDINARY = (
    "bias", "*_bias", "bias_*",  # of linear and convolutional layers, attention, LSTMs, routers
    "weight", "*_weight", "weight_ih_*", "weight_hh_*",  # of another layer of the module
    "weight_g", "weight_u", "weight_v", "weight_orig",  # the parts of a normed weight are values
    "running_mean", "running_var", "num_batches_tracked", "logit_scale",
    "mask", "*_mask", "position_ids", "token_type_ids", "inv_freq", "lora_*",
)  # fmt: skip
"""Last parts of the names of parameters and buffers that do not change what the codes next to them mean.

A name that says "scale" or the like is not ordinary, ``out_scale_weight`` for one; ``logit_scale`` is.
"""

_NAMES_A_SCALE = re.compile("scal|scl|amax|absmax|zero|quant|exponent", re.IGNORECASE)

_PARTS = re.compile(r"(?<=[./])_(?:data|scale|shift)(?:[./]|$).*", re.DOTALL)

_NAMES_CODES = re.compile("weight|blocks$|_packed$|W_q$|_q?data$")


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of companion of one layout or of several.

    Attributes
    ----------
    companion : str
        The last part of its name. The first ``*`` is the stem, a second one anything.
    codes : tuple of str
        The last parts of the names that the codes can have in the same module, with the stem for ``*``; or `MODULE`,
        `EVERYTHING` or `WRAPPED`.
    role : str
        What it is to the codes.
    layout : str
        Who uses the name.
    """

    companion: str
    codes: tuple[str, ...]
    role: str
    layout: str


TABLE = (
    Row("*_scale_inv", ("*",), _SCALES, "DeepSeek V3, Qwen3-FP8: weight_scale_inv; transformers 5: fused experts"),
    Row("*_scales_inv", ("*",), _SCALES, "transformers 5: experts.gate_up_proj_scales_inv"),
    Row("scale", ("weight", "W_q"), _SCALES, "DeepSeek V4; HQQ"),
    Row("zero", ("W_q",), _ZEROS, "HQQ"),
    Row("*_scales", ("*_blocks", "*"), _SCALES, "gpt-oss: gate_up_proj_blocks; EETQ"),
    Row("scales", ("blocks", "qweight", "weight"), _SCALES, "gpt-oss as OpenAI has it; AWQ, GPTQ; MLX"),
    Row("qzeros", ("qweight",), _ZEROS, "AWQ, GPTQ"),
    Row("g_idx", ("qweight", "weight"), "the groups of their rows", "GPTQ"),
    Row("biases", ("weight",), _ZEROS, "MLX"),
    Row("*_scale_2", ("*",), _SCALES, "ModelOpt, ComfyUI: weight_scale_2"),
    Row("*_global_scale", ("*_packed", "*"), _SCALES, "compressed-tensors: weight_global_scale"),
    Row("*_zero_point", ("*_packed", "*", "*_qdata"), _ZEROS, "compressed-tensors; torchao"),
    Row("*_shape", ("*_packed",), "their shape", "compressed-tensors: weight_shape"),
    Row("*_g_idx", ("*_packed", "*"), "the groups of their columns", "compressed-tensors: weight_g_idx"),
    Row("scale_weight", ("weight",), _SCALES, "ComfyUI, older"),
    Row("scale_input", ("weight",), _INPUT, "ComfyUI, older"),
    Row("scaled_fp8", (EVERYTHING,), "the mark of a file with scales", "ComfyUI, older"),
    Row("comfy_quant", ("weight",), "their description", "ComfyUI"),
    Row("qscale_weight", ("weight",), _SCALES, "Mistral"),
    Row("qscale_act", ("weight",), _INPUT, "Mistral"),
    Row("input_scale", ("weight", "weight_packed"), _INPUT, "compressed-tensors, ModelOpt, FP8 of transformers"),
    Row("input_global_scale", ("weight", "weight_packed"), _INPUT, "compressed-tensors"),
    Row("input_zero_point", ("weight", "weight_packed"), _INPUT, "compressed-tensors"),
    Row("output_scale", ("weight", "weight_packed"), "the scale of the layer's output", "compressed-tensors"),
    Row("weights_scaling_factor*", ("weight",), _SCALES, "TensorRT-LLM"),
    Row("activation_scaling_factor", ("weight",), _INPUT, "TensorRT-LLM"),
    Row("prequant_scaling_factor", ("weight",), _INPUT, "TensorRT-LLM"),
    Row("SCB", ("weight",), _SCALES, "bitsandbytes, 8 bits"),
    Row("weight_format", ("weight",), "their order", "bitsandbytes, 8 bits"),
    Row("absmax", (MODULE,), _SCALES, "bitsandbytes, 4 bits: weight.absmax"),
    Row("nested_absmax", (MODULE,), _SCALES, "bitsandbytes, 4 bits"),
    Row("quant_map", (MODULE,), "their values", "bitsandbytes, 4 bits"),
    Row("nested_quant_map", (MODULE,), "the values of their scales", "bitsandbytes, 4 bits"),
    Row("_scale", (WRAPPED,), _SCALES, "quanto: weight._data, weight._data._data"),
    Row("_shift", (WRAPPED,), _ZEROS, "quanto"),
    Row("*_scale*", ("*_packed", "*", "*_blocks", "*_qdata"), _SCALES, "compressed-tensors, ModelOpt, lowprec"),
)  # fmt: skip
"""The first row that fits, and whose codes are there, counts."""


@dataclass(frozen=True, slots=True)
class Companion:
    """A tensor that other codes may need; `row` is None where its kind is unknown."""

    tensor: StoredTensor
    codes: StoredTensor
    row: Row | None

    def text(self) -> str:
        """Return what the one is to the other."""
        codes, name = f"{ascii(self.codes.name)[:60]} ({_type(self.codes)})", ascii(self.tensor.name)[:60]
        if self.row is None:
            return f"{codes} may belong with {name}, which is no known kind of tensor"
        return f"{codes} belongs with {name}, {self.row.role}"


def _type(tensor: StoredTensor) -> str:
    return tensor.fmt.name if tensor.fmt else tensor.type_name


def _expression(pattern: str) -> str:
    """Return a pattern as a regular expression: the first star is a group and not empty."""
    first, *rest = (re.escape(part) for part in pattern.split("*"))
    return first + "".join((".*" if number else "(.+)") + part for number, part in enumerate(rest))


_WRAPPED = {row.companion: row for row in TABLE if row.codes == (WRAPPED,)}

_EXPRESSIONS = [(re.compile(_expression(row.companion)), row) for row in TABLE]
_ORDINARY = re.compile("|".join(map(_expression, ORDINARY)))


@functools.lru_cache(4096)
def _rows(last: str) -> tuple[tuple[Row, tuple[str, ...]], ...]:
    """Return the rows that fit the last part of a name, each with the last parts of the names of its codes."""
    matches = []
    for expression, row in _EXPRESSIONS:
        match = expression.fullmatch(last)
        if match is not None:
            stem = match[1] if expression.groups else ""
            matches.append(
                (row, tuple(one if one in (EVERYTHING, WRAPPED) else one.replace("*", stem) for one in row.codes))
            )
    return tuple(matches)


@functools.lru_cache(4096)
def _is_ordinary(last: str) -> bool:
    if last == "logit_scale":
        return True
    return bool(_ORDINARY.fullmatch(last)) and not _NAMES_A_SCALE.search(last)


def _modules(name: str) -> Iterator[str]:
    """Yield the module of a name, the module around it, and so on."""
    module, _ = split(name)
    while module:
        yield module
        module, _ = split(module[:-1])


def is_codes(tensor: StoredTensor) -> bool:
    """Whether elements can be codes: integers, and signed floats of at most 8 bits (unsigned ones are scales)."""
    fmt = tensor.fmt
    return fmt is not None and (fmt.is_integer or (fmt.is_float and fmt.bits <= 8 and fmt.signed))


def _is_weight(tensor: StoredTensor) -> bool:
    """Whether codes are likely those of a weight: narrow floats of two axes or more, and what is named a weight."""
    if not is_codes(tensor) or tensor.fmt is None or not tensor.shape:
        return False
    return "weight" in split(tensor.name)[1] or (tensor.fmt.is_float and len(tensor.shape) > 1)


def is_weight(tensor: StoredTensor) -> bool:
    """Whether a tensor of two axes or more is the codes of a weight: narrow floats, or integers that are named so."""
    if not is_codes(tensor) or tensor.fmt is None or len(tensor.shape) < 2:
        return False
    return tensor.fmt.is_float or (tensor.fmt.bits <= 32 and bool(_NAMES_CODES.search(split(tensor.name)[1])))


def check_part(container: Container, unscaled: Iterable[StoredTensor], otherwise: str = "") -> None:
    """Raise FileError where a part of a model has codes without scales; `otherwise` says what else can be done."""
    if not container.part:
        return
    for tensor in filter(is_weight, unscaled):
        name = ascii(tensor.name)[:80]
        raise FileError(
            f"{name}: has codes ({_type(tensor)}) and no scales in this part; take the whole model{otherwise}"
        )


def _wrapped(tensors: Sequence[StoredTensor], codes: Mapping[str, StoredTensor]) -> Iterator[Companion]:
    """Yield the scales and shifts of tensors that a class holds as several, each with codes, and all codes with one.

    Scales can be held so too: ``weight._scale._data`` is one.
    """
    found: dict[str, tuple[list[StoredTensor], list[tuple[StoredTensor, Row]]]] = {}
    for tensor in tensors:
        match = _PARTS.search(tensor.name)
        if match is None:
            continue
        data, others = found.setdefault(tensor.name[: match.start()], ([], []))
        row = next((_WRAPPED[part] for part in re.split("[./]", match[0]) if part in _WRAPPED), None)
        if row is not None:
            others.append((tensor, row))
        elif tensor.name in codes:
            data.append(tensor)
    for data, others in found.values():
        if data and others:
            yield from (Companion(tensor, data[0], row) for tensor, row in others)
            yield from (Companion(others[0][0], one, others[0][1]) for one in data[1:])


def _recognised(tensors: Sequence[StoredTensor], codes: Mapping[str, StoredTensor]) -> Iterator[Companion]:
    """Yield the companions that the table knows."""
    yield from _wrapped(tensors, codes)
    marks: dict[str, tuple[StoredTensor, Row]] = {}
    for tensor in tensors:
        module, last = split(tensor.name)
        for row, names in _rows(last):
            if names == (WRAPPED,):
                continue
            if names == (EVERYTHING,):
                marks[module] = tensor, row
                continue
            places = (module[:-1] if name == MODULE else module + name for name in names)
            matches = next(
                (codes[location] for location in places if location in codes and location != tensor.name), None
            )
            if matches is not None:
                yield Companion(tensor, matches, row)
                break
    for one in codes.values() if marks else ():
        mark = next((marks[module] for module in (*_modules(one.name), "") if module in marks), None)
        if mark is not None and mark[0] is not one and one.fmt is not None and one.fmt.is_float:
            yield Companion(mark[0], one, mark[1])


def _unrecognised(
    tensors: Sequence[StoredTensor], weights: Mapping[str, StoredTensor], known: set[str]
) -> Iterator[Companion]:
    """Yield what is next to weights and neither ordinary nor in the table.

    It is next to a weight if its name continues the weight's. It is also if both are in one module, and either the last
    part of the weight's name says "weight" or the other name says that it is a scale. A tensor of the weight's own
    format is none: all of that module was cast.
    """
    modules: dict[str, dict[Group, list[StoredTensor]]] = {}
    for one in weights.values():
        module, last = split(one.name)
        if module or last == "weight":
            modules.setdefault(module, {}).setdefault((one.fmt, "weight" in last), []).append(one)
    others: dict[str, dict[Group, list[StoredTensor]]] = {}
    for tensor in tensors:
        module, last = split(tensor.name)
        if tensor.name in known or _is_ordinary(last):
            continue
        starts = [module + last[: cut.start()] for cut in re.finditer("_", last)]
        for name in (*starts, *(one[:-1] for one in _modules(tensor.name))):
            if name in weights and weights[name].fmt is not tensor.fmt:
                yield Companion(tensor, weights[name], None)
        if module in modules:
            group = tensor.fmt, bool(_NAMES_A_SCALE.search(last))
            others.setdefault(module, {}).setdefault(group, []).append(tensor)
    for module, groups in others.items():
        for (fmt, names_a_scale), members in groups.items():
            for (other, named), matches in modules[module].items():
                if fmt is not other and (named or names_a_scale):
                    yield from (Companion(members[0], one, None) for one in matches)
                    yield from (Companion(one, matches[0], None) for one in members)


def find_companions(tensors: Iterable[StoredTensor]) -> list[Companion]:
    """Return the companions among tensors, those of known kinds first.

    Each tensor of an unknown kind comes with one of the weights next to it, each weight with one of the tensors next to
    it, and not all with all.
    """
    everything = list(tensors)
    codes = {one.name: one for one in everything if is_codes(one)}
    if not codes:
        return []
    matches = list(_recognised(everything, codes))
    known = {one.tensor.name for one in matches}
    weights = {name: one for name, one in codes.items() if name not in known and _is_weight(one)}
    return matches + list(_unrecognised(everything, weights, known))


def affects_quantization(tensors: Iterable[StoredTensor], converted: Iterable[StoredTensor]) -> str:
    """Return why a conversion concerns what is quantized in a checkpoint that says that it is; nothing if it does not.

    It does not if there are codes, and every converted tensor is no codes, has no name of the table, and is in modules
    without codes or an ordinary parameter, though no weight: a codebook is one as well.
    """
    modules = set()
    for tensor in tensors:
        module, last = split(tensor.name)
        if _is_weight(tensor) or (is_codes(tensor) and tensor.shape and not _is_ordinary(last)):
            modules.add(module)
    if not modules:
        return "no tensor is recognised as quantized"
    for tensor in converted:
        module, last = split(tensor.name)
        name = ascii(tensor.name)[:80]
        if is_codes(tensor) or (tensor.fmt is not None and tensor.fmt.bits <= 8):
            return f"{name} has codes ({_type(tensor)})"
        if _is_ordinary(last) and "weight" not in last:
            continue
        if _rows(last):
            return f"{name} is named as scales and their like are"
        if module in modules or not modules.isdisjoint(_modules(tensor.name)):
            return f"{name} is in a module that has codes"
    return ""


@dataclass(frozen=True, slots=True)
class ForeignTool:
    """A tool that quantizes.

    Attributes
    ----------
    name : str
        As its users know it; config.json may have it, in small letters, as ``quant_method``.
    names : str
        A regular expression that only names of its tensors fit, from anywhere to their ends.
    floats : str
        What gives the same model in floats.
    file : str
        A file that only its folders have.
    """

    name: str
    names: str
    floats: str
    file: str = ""

    def text(self) -> str:
        """Return that a checkpoint is of this tool, and what to do."""
        return f"is quantized by {self.name}, which lowprec does not read; {self.floats}"


MLX = ForeignTool("MLX", r"(?!)", "mlx_lm.convert --dequantize writes floats")

TOOLS = (
    ForeignTool(
        "bitsandbytes", r"\.(nested_)?(absmax|quant_map)|\.quant_state\.bitsandbytes__\w+|\.SCB",
        "model.dequantize() and model.save_pretrained() in transformers write floats",
    ),
    ForeignTool(
        "torchao", r"(^|[._])\w*_qdata",
        "start from the model in floats, or from dequantize() of its weights in torchao",
    ),
    ForeignTool(
        "quanto", r"\._(data|shift)(\._(data|scale|shift))?",
        "start from the model in floats, or from dequantize() of its weights in optimum-quanto",
        "quanto_qmap.json",
    ),
    MLX,
)  # fmt: skip


def find_tool(container: Container) -> ForeignTool | None:
    """Return the tool that has quantized a checkpoint: what its configuration names, else what names of tensors say."""
    method = str(quantization_of(container).get("quant_method", "")).lower()
    for tool in TOOLS:
        if method and method.startswith(tool.name.lower()):
            return tool
    if method:
        return None
    tensors = {one.name: one for one in container.tensors}
    for tool in TOOLS:
        has_file = bool(tool.file) and isinstance(container, Folder) and tool.file in container.others
        if has_file or any(re.search(f"(?:{tool.names})$", name) for name in tensors):
            return tool
    return MLX if any(_is_mlx(one, tensors) for one in container.tensors) else None


def _is_mlx(tensor: StoredTensor, tensors: dict[str, StoredTensor]) -> bool:
    """Whether a tensor is the codes of a weight as MLX packs them, next to its scales."""
    module, _, last = tensor.name.rpartition(".")
    return last == "weight" and tensor.fmt is UINT32 and f"{module}.scales" in tensors
