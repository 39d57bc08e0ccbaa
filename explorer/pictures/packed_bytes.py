"""The picture of packing: codes, and the bytes that they share, every bit in the colour of its code."""

from __future__ import annotations

from ..views.conversion import PackedByte, Packing
from .drawing import MARGIN, draw, text_width

__all__ = ["packed_bytes"]

_BIT = 24
_ACROSS = 4  # bytes in a row
_BYTE, _BETWEEN = 8 * _BIT, 22
_LINE = 104
_CHIP_LINE, _FIRST_CHIPS = 30, 58
_COLOURS = ("exponent", "mantissa", "sign", "subnormal")  # neighbouring codes differ: 6 bits need four

_Run = tuple[str, str, float, float, list[tuple[str, float]]]


def _colour(index: int | None) -> str:
    return "zero" if index is None else _COLOURS[index % len(_COLOURS)]


def _runs(byte: PackedByte, x: float) -> list[_Run]:
    """Return owner, colour, left edge, width and bits of the parts of a byte."""
    runs: list[_Run] = []
    for run in byte.runs:
        bits = [(bit, x + place * _BIT) for place, bit in enumerate(run.bits)]
        owner = "–" if run.code_index is None else str(run.code_index)
        runs.append((owner, _colour(run.code_index), x, len(bits) * _BIT, bits))
        x += len(bits) * _BIT
    return runs


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def packed_bytes(packing: Packing, dark: bool = False) -> str:
    """Return the picture of packed codes."""
    bits = packing.format.bits
    chip = text_width(bits + 4, 14) + 14
    chips_across = int((_ACROSS * (_BYTE + _BETWEEN) - _BETWEEN) // chip)
    chips = []
    for index, code in enumerate(packing.codes):
        line, place = divmod(index, chips_across)
        at = MARGIN + place * chip, _FIRST_CHIPS + line * _CHIP_LINE
        chips.append((index, f"{code:0{bits}b}", _colour(index), *at))
    top = chips[-1][-1] + 62
    packed = []
    for index, byte in enumerate(packing.bytes):
        line, place = divmod(index, _ACROSS)
        left = MARGIN + place * (_BYTE + _BETWEEN)
        packed.append((f"byte {index} = 0x{byte.value:02X}", left + _BYTE / 2, top + line * _LINE, _runs(byte, left)))
    codes, parts = len(chips), len(packed)
    title = f"{_counted(codes, 'code')} of {packing.format.name} in {_counted(parts, 'byte')}"
    widths = (min(parts, _ACROSS) * (_BYTE + _BETWEEN) - _BETWEEN, min(codes, chips_across) * chip)
    width = max(*widths, text_width(len(title), 17)) + 2 * MARGIN
    height = packed[-1][2] + 78
    return draw("packed_bytes", width, height, dark, title=title, chips=chips, packed=packed, bit=_BIT, chip=chip)
