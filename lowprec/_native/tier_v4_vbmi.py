"""The loops of tier_v4, some by tables in place of others: for x86-64-v4 with VBMI, as Ice Lake and Zen 4 have it."""

from __future__ import annotations

import importlib
from typing import Any

_tier: Any = importlib.import_module("lowprec._native.tier_v4")

LOOPS = _tier.LOOPS | _tier.LOOPS_BY_TABLES
FUSED_LOOPS = _tier.FUSED_LOOPS | _tier.FUSED_LOOPS_BY_TABLES
FUSED_SCALE_LOOPS = {
    chain: (_tier.FUSED_SCALE_LOOPS_BY_TABLES.get(chain, uniform), *others)
    for chain, (uniform, *others) in _tier.FUSED_SCALE_LOOPS.items()
}


def __getattr__(name: str) -> Any:
    return getattr(_tier, name)
