"""The recipe for Zarr of docs/interchange.md, run as it stands there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

zarr = pytest.importorskip("zarr")

pytestmark = pytest.mark.usefixtures("working_folder")


def test_codes_and_scales_in_a_group() -> None:
    page = (ROOT / "docs" / "interchange.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^## Zarr$.*?^```python$(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    w = names["w"].reshape(64, 2, 32)
    scale = np.abs(w).max(2, keepdims=True) / np.float32(7)
    assert np.array_equal(names["back"], (np.rint(w / scale) * scale).reshape(64, 64))
    stored = zarr.open_group("w.zarr", mode="r")["codes"]
    assert stored.dtype == np.uint8
    assert stored[0, :3].tolist() == (np.rint(w / scale).reshape(64, 64)[0, :3].astype(np.int64) & 15).tolist()
