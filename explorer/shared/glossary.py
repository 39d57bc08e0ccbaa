"""The glossary: terms in one sentence each, with the page that shows them."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["GLOSSARY", "Term", "term"]


@dataclass(frozen=True, slots=True)
class Term:
    """A term, what it means, and the path and query of the page that shows it."""

    name: str
    meaning: str
    path: str
    query: dict[str, str] = field(default_factory=dict)


GLOSSARY: tuple[Term, ...] = (
    Term("absmax", "The largest finite magnitude of the elements that share a scale.", "quantize"),
    Term("bias", "What is subtracted from the exponent field to give the exponent.", "anatomy"),
    Term("binade", "The numbers from a power of two up to the next one; a format's step is the same in all of it.",
         "errors"),
    Term("bit field", "Bits of a code that are read together: sign, exponent or mantissa.", "anatomy"),
    Term("block scale", "The factor that the elements of a block share, stored once for all of them.", "quantize",
         {"scheme": "mx"}),
    Term("code", "A bit pattern of a format, read as an unsigned integer.", "anatomy"),
    Term("directed rounding", "Rounding to the neighbour on a fixed side: toward zero, +Inf or −Inf.", "rounding",
         {"rounding": "toward_zero"}),
    Term("double rounding", "Two roundings in turn whose result is not that of one.", "conversion",
         {"source": "float64", "via": "float32", "target": "bfloat16", "at": "1.0039063"}),
    Term("E8M0", "An unsigned format of powers of two, without zero, for scales.", "anatomy",
         {"fmt": "float8_e8m0fnu", "at": "1"}),
    Term("FN", "A float with finite values and NaN, but no Inf.", "compare",
         {"fmts": "float8_e4m3fn,float8_e5m2", "x": "inf"}),
    Term("FNUZ", "A float without Inf and without −0, whose code is the only NaN.", "anatomy",
         {"fmt": "float8_e4m3fnuz", "at": "nan"}),
    Term("guard, round, sticky bit", "The first two bits that are cut, and whether any bit after them is 1.",
         "rounding"),
    Term("hidden bit", "The leading 1 of a normal value, which is not stored.", "anatomy"),
    Term("mantissa", "The field that says how far a value lies into its binade.", "anatomy"),
    Term("MX", "Blocks of 32 elements with a scale that is a power of two.", "quantize", {"scheme": "mx"}),
    Term("NaN", "Not a number: the result where there is none.", "saturation"),
    Term("neighbours", "The next smaller and the next larger value of a format.", "anatomy"),
    Term("NVFP4", "Blocks of 16 four-bit floats with a float8 scale, and a float32 scale for the tensor.", "quantize",
         {"scheme": "nvfp4"}),
    Term("opset", "The version of ONNX's operators, which decides some results.", "saturation", {"opset": "23"}),
    Term("overflow", "Rounding to something beyond the largest value.", "saturation"),
    Term("packing", "Codes narrower than a byte share bytes, the first in the low bits.", "conversion",
         {"packed": "int4", "codes": "0x1 0x2"}),
    Term("quantize", "Divide by a scale, round, and add a zero point.", "quantize"),
    Term("round to nearest even", "Rounding to the nearer neighbour; a tie goes to the code whose last bit is 0.",
         "rounding"),
    Term("round to odd", "Truncation that sets the last bit where something was cut.", "rounding",
         {"rounding": "to_odd"}),
    Term("saturate", "To make the largest value of what is beyond it, instead of Inf or NaN.", "saturation"),
    Term("SQNR", "Signal-to-quantization-noise ratio: the power of the values over that of their errors, in decibels.",
         "quantize"),
    Term("stochastic rounding", "Rounding up or down at random, so that the mean is the number.", "rounding"),
    Term("subnormal", "A value whose exponent field is 0: it has no hidden bit, and the step no longer shrinks.",
         "anatomy", {"fmt": "float8_e4m3fn", "at": "0x07"}),
    Term("swamping", "The loss of a term that is too small to change the sum.", "arithmetic"),
    Term("tie", "A number half-way between its two neighbours.", "rounding", {"x": "464", "fmt": "float8_e4m3fn"}),
    Term("ulp", "Unit in the last place: the distance between the two values that enclose a number.", "errors"),
    Term("underflow", "Rounding to a subnormal value or to zero.", "errors"),
    Term("zero point", "The code that stands for 0 where integers are shifted.", "quantize", {"fmt": "uint8"}),
)  # fmt: skip
"""All terms, in the order of the alphabet."""

_BY_NAME = {one.name: one for one in GLOSSARY}


def term(name: str) -> str:
    """Return what a term means, for a help text."""
    return _BY_NAME[name].meaning
