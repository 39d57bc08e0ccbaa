"""Adapters (LoRA): changes of a model's weights that are no model by themselves."""

from __future__ import annotations

from ..containers.container import Container
from ..containers.folder import Folder

__all__ = ["ADAPTER", "is_adapter"]

ADAPTER = (
    "is an adapter (LoRA), not a whole model; merge it into its base model first: "
    "merge_and_unload() of peft, then save_pretrained()"
)

CONFIG, FILES, MARK = "adapter_config.json", "adapter_model", "lora_"


def is_adapter(container: Container) -> bool:
    """Whether a container holds an adapter alone: by the names of a folder's files, or by those of all tensors."""
    if isinstance(container, Folder) and CONFIG in container.others:
        return all(one.path.name.startswith(FILES) for one in container.files)
    return bool(container.tensors) and all(MARK in one.name for one in container.tensors)
