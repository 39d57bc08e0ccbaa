"""Check that vLLM's loader fills all parameters of models from folders, on a machine without an accelerator.

vLLM builds the model, with the layers that its quantization methods make, and loads the tensors into them. Its compiled
kernels are not needed for that: modules and operators that hold them are replaced, and the platform says that it is a
GPU of compute capability 9.0. No layer is run. Needs vLLM's Python files and the packages that they import, as
check_readers.py has them, which runs this for every recipe; not a part of the test suite. For other folders:

    python tests/checkpoints/check_vllm_loader.py FOLDER…

It prints a line to each folder, and exits with 1 if a parameter is left. Scales of inputs are not asked for.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import logging
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import torch
import transformers  # noqa: F401 - before the replaced packages, which it asks for their versions

os.environ |= {"VLLM_LOGGING_LEVEL": "CRITICAL", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}

COMPILED = ("vllm._C", "vllm._moe_C", "vllm._C_stable_libtorch", "vllm._moe_C_stable_libtorch", "vllm.vllm_flash_attn")
OPERATORS = ("silu_and_mul",)
"""Operators that layers look up when they are made."""

UNFILLED, UNFILLED_SCALAR = 0xA5, -7
"""What parameters hold before they are loaded: bytes, or the number of one without axes."""

CACHE = ("k_scale", "v_scale", "q_scale", "prob_scale", "k_zero_point", "v_zero_point", "q_zero_point")
INPUTS = ("input_scale", "input_global_scale")
"""Parameters that a checkpoint need not have: for the cache, and for inputs of layers where these are not quantized."""


class _Compiled(types.ModuleType):
    """A compiled module that is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        found = any(name == one or name.startswith(f"{one}.") for one in COMPILED)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if found else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Compiled(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class _Operators:
    """Operators that are not there; the GPU supports what it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if "support" in name:
            return lambda *arguments: True
        if name in OPERATORS:
            return None
        raise AttributeError(name)


def _import_vllm() -> None:
    """Import vLLM, for a GPU that is not there."""
    sys.meta_path.insert(0, _Finder())
    vars(torch.ops).update(_C=_Operators(), _moe_C=_Operators())
    vars(torch.cuda).update(Stream=MagicMock(), Event=MagicMock())
    import vllm.model_executor.models.registry
    import vllm.platforms
    from vllm.platforms.cuda import NonNvmlCudaPlatform
    from vllm.platforms.interface import DeviceCapability

    class Gpu(NonNvmlCudaPlatform):
        get_device_capability = classmethod(lambda cls, device_id=0: DeviceCapability(9, 0))
        get_device_name = classmethod(lambda cls, device_id=0: "none")
        get_device_total_memory = classmethod(lambda cls, device_id=0: 80 << 30)
        num_compute_units = classmethod(lambda cls, device_id=0: 132)
        is_fully_connected = classmethod(lambda cls, devices: False)

    vllm.platforms._current_platform = Gpu()
    vllm.model_executor.models.registry._run_in_subprocess = lambda inspect: inspect()
    logging.disable(logging.ERROR)


def unfilled(folder: Path, *, inputs: bool) -> list[str]:
    """Load a folder; return the parameters that nothing, or not everything, was loaded into.

    `inputs` says whether inputs of layers are quantized with scales of the checkpoint. Raises what vLLM raises.
    """
    if "vllm.platforms.cuda" not in sys.modules:
        _import_vllm()
    from vllm.config import DeviceConfig, LoadConfig, ModelConfig, VllmConfig, set_current_vllm_config
    from vllm.distributed import destroy_model_parallel, init_distributed_environment, initialize_model_parallel
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.model_executor.model_loader.weight_utils import safetensors_weights_iterator

    config = VllmConfig(
        model_config=ModelConfig(model=str(folder), dtype="bfloat16", skip_tokenizer_init=True, enforce_eager=True),
        device_config=DeviceConfig(device="cpu"),
        load_config=LoadConfig(),
    )
    with set_current_vllm_config(config):
        if not torch.distributed.is_initialized():
            place = f"file://{tempfile.mkdtemp()}/rendezvous"
            init_distributed_environment(1, 0, place, 0, "gloo")
        destroy_model_parallel()
        initialize_model_parallel(1, 1)  # with a group for experts where the model has some
        dtype = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        try:
            model = initialize_model(vllm_config=config)
        finally:
            torch.set_default_dtype(dtype)
        parameters = dict(model.named_parameters())
        for one in parameters.values():
            if one.dim():
                one.data.view(-1).view(torch.uint8).fill_(UNFILLED)
            else:
                one.data.fill_(UNFILLED_SCALAR)
        files = [str(file) for file in sorted(folder.glob("*.safetensors"))]
        loaded = model.load_weights(safetensors_weights_iterator(files, False))
    optional = CACHE if inputs else (*CACHE, *INPUTS)
    return sorted(
        name
        for name, one in parameters.items()
        if not name.endswith(optional) and (name not in loaded or not _is_filled(one.data))
    )


def _is_filled(values: torch.Tensor) -> bool:
    """Whether something was loaded into each part of a parameter along its first axis: experts, or rows."""
    if not values.dim():
        return values.item() != UNFILLED_SCALAR
    content = values.contiguous().view(values.shape[0], -1).view(torch.uint8)
    return not (content == UNFILLED).all(dim=1).any()


def main() -> int:
    left = 0
    for folder in map(Path, sys.argv[1:]):
        names = unfilled(folder, inputs=False)
        left += bool(names)
        print(f"{folder}: {len(names)} parameters are left {names[:3]}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
