"""The CUDA text compiled for this machine: every cast, and every quantization."""

from __future__ import annotations

import pytest
from support.cuda_on_cpu import CpuBuild, casts, quantizations


@pytest.fixture(scope="session")
def cast_kernels(tmp_path_factory: pytest.TempPathFactory) -> CpuBuild:
    return CpuBuild(tmp_path_factory.mktemp("cuda"), casts())


@pytest.fixture(scope="session")
def quantize_kernels(tmp_path_factory: pytest.TempPathFactory) -> CpuBuild:
    return CpuBuild(tmp_path_factory.mktemp("cuda"), quantizations())
