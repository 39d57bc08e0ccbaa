"""AWQ, as AutoAWQ writes it for its matrix product "gemm": 4-bit integers with zero points, inputs as rows."""

from __future__ import annotations

from collections.abc import Iterator

from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..schemes.scheme import WordOrder
from .input_rows import InputRows, grouped_weight
from .weight import Source, Weight, fail

__all__ = ["METHODS", "NAME", "find", "stored_weight"]

NAME = "AWQ"
METHODS = ("awq",)

BITS = 4


def find(source: Source) -> Iterator[Weight]:
    """Yield each ``qweight`` with its ``qzeros`` and ``scales``, where config.json names the method."""
    if source.description.get("quant_method") not in METHODS:
        return
    for codes in list(source.tensors.values()):
        if codes.name.endswith(".qweight"):
            yield _weight(source, codes)


def _weight(source: Source, codes: StoredTensor) -> Weight:
    version = source.description.get("version", "gemm")
    if not isinstance(version, str) or version.lower() != "gemm":
        raise FileError(f"AWQ: config.json must say the version gemm, the only one read; got {ascii(version)[:40]}")
    return stored_weight(source, codes, source.description.get("bits", BITS))


def stored_weight(source: Source, codes: StoredTensor, bits: object) -> Weight:
    """Return a weight, which must be of 4 bits."""
    if type(bits) is not int or bits != BITS:
        raise FileError(f"AWQ: config.json must say 4 bits; got {ascii(bits)[:40]}")
    if codes.type_name != "I32" or len(codes.shape) != 2:
        raise fail(codes, f"must be I32 of two axes; got {codes.type_name} {list(codes.shape)}")
    shape = codes.shape[0], codes.shape[1] * 32 // BITS
    return grouped_weight(source, codes, InputRows(NAME, shape, BITS, WordOrder.INTERLEAVED))
