"""A picture of numbers: each a pixel, gray from black to white, or black where there is no error; as a PNG of text."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import Any

import numpy as np

from ...shared import theme

__all__ = ["GRAYS", "SIGNED", "Palette", "levels", "png"]

Array = np.ndarray[Any, Any]
Palette = bytes

_NONE = 255
"""The level of what is not finite; the others are from 0 to 254."""


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _palette(colours: list[tuple[int, int, int]]) -> Palette:
    """Return 255 colours that go evenly through some, and that of what is not finite."""
    at = np.linspace(0, len(colours) - 1, _NONE)
    parts = [np.interp(at, np.arange(len(colours)), channel) for channel in np.transpose(colours)]
    return np.vstack([np.transpose(parts).round(), _rgb(theme.CLASSES["nan"][1][1])]).astype(np.uint8).tobytes()


GRAYS = _palette([(0, 0, 0), (255, 255, 255)])
"""From black to white."""

SIGNED = _palette([_rgb(theme.FIELDS["sign"][1][1]), (0, 0, 0), _rgb(theme.FIELDS["mantissa"][1][1])])
"""Orange where a number became smaller, black where it is as before, blue where it became larger."""


def levels(values: Array, low: float, high: float) -> Array:
    """Return where numbers lie from a lowest to a highest one, as levels of a palette."""
    span = high - low
    with np.errstate(all="ignore"):
        share = (values - low) / span if span > 0 else np.full(values.shape, 0.5)
        found = np.rint(np.clip(share, 0, 1) * (_NONE - 1))
    return np.where(np.isfinite(values), found, _NONE).astype(np.uint8)


def png(pixels: Array, palette: Palette) -> str:
    """Return levels, rows of uint8, as the address of a PNG that holds it."""
    rows, columns = pixels.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels], axis=1).tobytes()  # no filter
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode("ascii")
