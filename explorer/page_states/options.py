"""Options that several pages have: the names of formats, the opsets."""

from __future__ import annotations

from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32, NUMERIC
from lowprec.spec.operator_versions import NEWEST

__all__ = ["FIRST", "FLOAT", "FLOATS", "FORMAT_NAMES", "NARROW", "OPSETS"]

FORMAT_NAMES = tuple(fmt.name for fmt in NUMERIC)
FLOATS = tuple(fmt.name for fmt in NUMERIC if fmt.is_float)

OPSETS = tuple(range(19, NEWEST + 1))
"""The opsets whose Cast has the float8 formats and `saturate`."""

FIRST, NARROW, FLOAT = FLOAT8_E4M3FN.name, FLOAT4_E2M1FN.name, FLOAT32.name
"""The formats that pages begin with."""
