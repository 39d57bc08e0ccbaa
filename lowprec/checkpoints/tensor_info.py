"""What is known of a tensor of a checkpoint before it is read: its shape and format, its layout, codes and scales."""

from __future__ import annotations

from dataclasses import dataclass

from .._notebook_display import facts_html
from ..spec.formats import BFLOAT16
from .containers.tensors import StoredTensor
from .inspection import Entry, entry_of
from .layouts.weight import Weight
from .schemes.scheme_text import scheme_text

__all__ = ["TensorInfo", "info_of"]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What is known of a tensor of a checkpoint before it is read.

    Attributes
    ----------
    name : str
        The name of its values.
    shape, format : tuple of int, str
        Those of the array that `Checkpoint.read` returns by default.
    nbytes : int
        How many bytes it takes in the file, scales included.
    layout, scheme : str
        For a quantized weight: who names and describes it so; its codes and what shares a scale. Else empty.
    codes, scales : Entry or None
        For a quantized weight: the tensors that hold its codes and scales.
    others : tuple of Entry
        For a quantized weight: all its other tensors, such as a second scale, zero points, its shape.
    """

    name: str
    shape: tuple[int, ...]
    format: str
    nbytes: int
    layout: str = ""
    scheme: str = ""
    codes: Entry | None = None
    scales: Entry | None = None
    others: tuple[Entry, ...] = ()

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        facts = {"shape": self.shape, "format": self.format, "bytes": self.nbytes}
        stored = {"codes": self.codes and self.codes.name, "scales": self.scales and self.scales.name}
        others = ", ".join(one.name for one in self.others)
        return facts_html(
            self.name, {**facts, "layout": self.layout, "scheme": self.scheme, **stored, "others": others}
        )


def info_of(tensor: StoredTensor | Weight) -> TensorInfo:
    """Return what is known of a tensor, or of a quantized weight."""
    if isinstance(tensor, StoredTensor):
        found = entry_of(tensor)
        return TensorInfo(tensor.name, tensor.shape, found.format, found.nbytes)
    entries = {part.name: entry_of(part) for part in tensor.tensors}
    nbytes = sum(one.nbytes for one in entries.values())
    codes = entries.pop(tensor.codes.name)
    scales = None if tensor.scales is None else entries.pop(tensor.scales.name)
    return TensorInfo(
        tensor.name, tensor.plain_shape, BFLOAT16.name, nbytes, tensor.layout, scheme_text(tensor.scheme), codes,
        scales, tuple(entries.values()),
    )  # fmt: skip
