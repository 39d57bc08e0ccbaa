"""The types of tensors in GGUF: their numbers and names, and the formats or the sizes of their blocks."""

from __future__ import annotations

from dataclasses import dataclass

from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Format

__all__ = ["TYPES", "UNKNOWN", "GgufType", "type_of", "unknown_type"]

UNKNOWN = "unknown type "
"""How the name of a type starts whose number is not in the table."""


@dataclass(frozen=True, slots=True)
class GgufType:
    """One type.

    Attributes
    ----------
    number : int
        What a file calls it.
    name : str
        What people call it.
    size, nbytes : int
        How many elements a block has, and how many bytes; an element is a block of its own unless it is quantized.
    fmt : Format or None
        The format of its elements; None for blocks.

    Of a type that is not in the table `size` is 1, and `nbytes` 0.
    """

    number: int
    name: str
    size: int
    nbytes: int
    fmt: Format | None = None


_TABLE = (
    GgufType(0, "F32", 1, 4, FLOAT32),
    GgufType(1, "F16", 1, 2, FLOAT16),
    GgufType(2, "Q4_0", 32, 18),
    GgufType(3, "Q4_1", 32, 20),
    GgufType(6, "Q5_0", 32, 22),
    GgufType(7, "Q5_1", 32, 24),
    GgufType(8, "Q8_0", 32, 34),
    GgufType(9, "Q8_1", 32, 40),
    GgufType(10, "Q2_K", 256, 84),
    GgufType(11, "Q3_K", 256, 110),
    GgufType(12, "Q4_K", 256, 144),
    GgufType(13, "Q5_K", 256, 176),
    GgufType(14, "Q6_K", 256, 210),
    GgufType(15, "Q8_K", 256, 292),
    GgufType(16, "IQ2_XXS", 256, 66),
    GgufType(17, "IQ2_XS", 256, 74),
    GgufType(18, "IQ3_XXS", 256, 98),
    GgufType(19, "IQ1_S", 256, 50),
    GgufType(20, "IQ4_NL", 32, 18),
    GgufType(21, "IQ3_S", 256, 110),
    GgufType(22, "IQ2_S", 256, 82),
    GgufType(23, "IQ4_XS", 256, 136),
    GgufType(24, "I8", 1, 1, INT8),
    GgufType(25, "I16", 1, 2, INT16),
    GgufType(26, "I32", 1, 4, INT32),
    GgufType(27, "I64", 1, 8, INT64),
    GgufType(28, "F64", 1, 8, FLOAT64),
    GgufType(29, "IQ1_M", 256, 56),
    GgufType(30, "BF16", 1, 2, BFLOAT16),
    GgufType(34, "TQ1_0", 256, 54),
    GgufType(35, "TQ2_0", 256, 66),
    GgufType(39, "MXFP4", 32, 17),
    GgufType(40, "NVFP4", 64, 36),
    GgufType(41, "Q1_0", 128, 18),
)

TYPES = {one.number: one for one in _TABLE}
"""All types, by their numbers."""


def unknown_type(number: int) -> GgufType:
    """Return what stands for a type that is not in the table."""
    return GgufType(number, f"{UNKNOWN}{number}", 1, 0)


def type_of(fmt: Format | None, name: str = "") -> GgufType | None:
    """Return the type of a name or, without one, that whose elements have a format; None where there is none."""
    return next((one for one in _TABLE if (one.name == name if name else fmt is not None and one.fmt == fmt)), None)
