"""The heat map of a checkpoint: what settings lose on each of its tensors, by layer and by kind of tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .columns_view import setting_title
from .settings import parse_settings
from .tensor import Tensor
from .view import quantize

__all__ = ["MOST_TAKEN", "MOST_TENSORS", "Cell", "HeatMap", "heat_map", "layer_and_kind"]

MOST_TENSORS = 256
"""Tensors that are measured."""

MOST_TAKEN = 1 << 14
"""Elements that are taken of each."""

_LAYER = re.compile(r"(?:^|[._/])(\d+)(?=[._/]|$)")


@dataclass(frozen=True, slots=True)
class Cell:
    """What the settings lose on a tensor: SQNR and bits per value of each, in the order of the settings."""

    name: str
    layer: int | None
    kind: str
    sqnr_db: tuple[float, ...]
    bits_per_value: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Cells by layer, None for tensors of none, and kind; `left_out` counts what is no matrix, or could not be read."""

    settings: tuple[str, ...]
    layers: tuple[int | None, ...]
    kinds: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: int

    def cell(self, layer: int | None, kind: str) -> Cell | None:
        """Return the cell of a layer and a kind, the first one where several tensors have the same."""
        return next((one for one in self.cells if (one.layer, one.kind) == (layer, kind)), None)


def layer_and_kind(name: str) -> tuple[int | None, str]:
    """Return the layer of a tensor, the first number in its name, and what is left of the name.

    Examples
    --------
    >>> layer_and_kind("model.layers.12.mlp.up_proj.weight"), layer_and_kind("lm_head.weight")
    ((12, 'mlp.up_proj'), (None, 'lm_head'))
    """
    found = _LAYER.search(name)
    rest = name[found.end() :].lstrip("._/") if found else name
    return (int(found[1]) if found else None), rest.removesuffix(".weight") or name


def heat_map(names: Sequence[str], read: Callable[[str], Tensor], texts: Iterable[str]) -> HeatMap:
    """Measure the first tensors of some names by settings; ValueError where none can be measured."""
    chosen = {text: parse_settings(text) for text in texts}
    cells, left_out = [], 0
    for name in names[:MOST_TENSORS]:
        try:
            values = read(name).values
            if values.ndim < 2:
                raise ValueError("no matrix")
            rows = values.reshape(-1, values.shape[-1])
            part = rows[: max(1, MOST_TAKEN // rows.shape[1]), :MOST_TAKEN]
            found = [quantize(part, settings) for settings in chosen.values()]
        except ValueError:
            left_out += 1
            continue
        losses, bits = tuple(one.sqnr_db for one in found), tuple(one.bits_per_value for one in found)
        cells.append(Cell(name, *layer_and_kind(name), losses, bits))
    if not cells:
        raise ValueError("the checkpoint has no matrix that these settings quantize")
    layers = sorted({cell.layer for cell in cells}, key=lambda layer: (layer is None, layer or 0))
    kinds = tuple(dict.fromkeys(cell.kind for cell in cells))
    titles = tuple(map(setting_title, chosen.values()))
    return HeatMap(titles, tuple(layers), kinds, tuple(cells), left_out + len(names[MOST_TENSORS:]))
