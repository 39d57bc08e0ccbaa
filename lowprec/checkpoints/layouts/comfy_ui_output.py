"""The names, shapes and descriptions that ComfyUI has for weights that are written."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...spec.formats import FLOAT8_E8M0FNU, FLOAT32, UINT8
from ..schemes.scheme import GlobalScale, Packing, Scheme
from ..schemes.tiles import tiled_shape
from .comfy_ui import DESCRIPTION, NAME, SCHEMES
from .output import CODES, GLOBAL_SCALE, SCALES, Output

__all__ = ["NAME", "describe", "outputs"]


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensors that a weight of two axes becomes; its description is all that ComfyUI needs to know."""
    (rows, columns), module = shape, name.removesuffix("weight")
    packed = scheme.packing is not Packing.NONE
    yield Output(CODES, name, UINT8 if packed else scheme.codes, (rows, scheme.row_bytes(columns)))
    if scheme.tiles:
        fmt = UINT8 if scheme.scale == FLOAT8_E8M0FNU else scheme.scale
        yield Output(SCALES, f"{module}weight_scale", fmt, tiled_shape(*scheme.grid.shape(rows, columns)))
    if not scheme.tiles:
        yield Output(GLOBAL_SCALE, f"{module}weight_scale", FLOAT32, ())
    elif scheme.global_scale is not GlobalScale.NONE:
        yield Output(GLOBAL_SCALE, f"{module}weight_scale_2", FLOAT32, ())
    fields = {"format": next(name for name, one in SCHEMES.items() if one == scheme)}
    content = json.dumps(fields).encode("ascii")
    yield Output("description", module + DESCRIPTION, UINT8, (len(content),), content)


def describe(scheme: Scheme, ignore: object) -> dict[str, object]:
    """Return nothing: there is no description of a whole model."""
    return {}
