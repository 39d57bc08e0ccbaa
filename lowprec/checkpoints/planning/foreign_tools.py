"""Tools whose quantized checkpoints are recognised and not read, by names; how to get floats from them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...spec.formats import UINT32
from ..containers.container import Container
from ..containers.folder import Folder
from ..containers.tensors import StoredTensor
from .quantization_config import quantization_of

__all__ = ["ForeignTool", "find_tool"]


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
