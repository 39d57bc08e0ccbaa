"""The drawing of a checkpoint's heat map: a grid for each setting, a cell for each layer and kind of tensor."""

from __future__ import annotations

import math

from ...shared.svg import NARROW, WIDE, Drawing, text_width
from .heat_map_view import Cell, HeatMap

__all__ = ["drawing"]

_ROW, _LEFT = 26.0, 44.0


def drawing(found: HeatMap, is_narrow: bool = False) -> Drawing:
    """Return the grids, side by side or one below the other; darker is a higher SQNR, which stands in the cell."""
    width = float(NARROW if is_narrow else WIDE)
    count = 1 if is_narrow else len(found.settings)
    part = (width - 24 * (count - 1)) / count
    names = max(text_width(kind, 12) for kind in found.kinds) * 0.72  # they stand slanting
    across = (part - _LEFT - names) / (len(found.kinds) - 0.5)
    top = 56 + names
    tall = top + _ROW * len(found.layers) + 24
    every = [loss for cell in found.cells for loss in cell.sqnr_db if math.isfinite(loss)] or [0.0]
    low, high = min(every), max(every)
    label = f"SQNR in dB of {len(found.cells)} tensors in {'; '.join(found.settings)}"
    picture = Drawing(width, tall * (len(found.settings) if is_narrow else 1), label)
    for place, title in enumerate(found.settings):
        left, up = (0.0, place * tall) if is_narrow else (place * (part + 24), 0.0)
        picture.text(left, up + 17, title, size=16, bold=True)
        bits = sum(cell.bits_per_value[place] for cell in found.cells) / len(found.cells)
        picture.text(left, up + 37, f"SQNR in dB; about {bits:.3g} bits a value", size=13, fill="quiet")
        for column, kind in enumerate(found.kinds):
            x, y = left + _LEFT + (column + 0.5) * across, up + top - 6
            turn = f"rotate(-46 {x:.1f} {y:.1f})"
            picture.text(x, y, kind, size=12, fill="quiet", transform=turn)
        for row, layer in enumerate(found.layers):
            y = up + top + row * _ROW
            name = "none" if layer is None else str(layer)
            picture.text(left + _LEFT - 8, y + 17, name, size=12.5, fill="quiet", anchor="end", mono=True)
            for column, kind in enumerate(found.kinds):
                cell = found.cell(layer, kind)
                if cell is not None:
                    _cell(picture, left + _LEFT + column * across, y, across, cell, place, (low, high))
    return picture


def _cell(
    picture: Drawing, x: float, y: float, across: float, cell: Cell, place: int, ends: tuple[float, float]
) -> None:
    loss, bits = cell.sqnr_db[place], cell.bits_per_value[place]
    text = f"{loss:.1f}".replace("-", "−") if math.isfinite(loss) else "exact" if loss > 0 else "none"
    group = picture.group(label=f"{cell.name}: {text} dB, {bits:.4g} bits a value")
    share = 1.0 if not math.isfinite(loss) else (loss - ends[0]) / ((ends[1] - ends[0]) or 1)
    group.rect(x, y, across - 2, _ROW - 2, "mantissa-text", radius=3, fill_opacity=0.06 + 0.36 * share)
    if across >= text_width(text, 11.5, mono=True) + 4:
        group.text(x + across / 2 - 1, y + 16, text, size=11.5, anchor="middle", mono=True)
