"""The list of compiled loops: the elements they read and write, and the chains that are fused into one loop.

`setup.py` renders `loops.pxi.in` with it. A loop has the name of its function of one element without `lp_`, and a fused
loop the names of its chain, joined by `__`, after `fused_`.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from typing import Any, NamedTuple

U8, U16, U32, U64 = "uint8_t", "uint16_t", "uint32_t", "uint64_t"
WIDTHS = {8: U8, 16: U16, 32: U32, 64: U64}

GROUP = 64
"""Elements of packed codes, or of runs of scales, that a loop converts together."""

RUN = 16
"""The least number of elements of a run: those that share a scale."""

ELEMENTS = {
    "decode8": (U8, U32),
    "decode16": (U16, U32),
    "decode_ieee8": (U8, U32),
    "decode_ieee16": (U16, U32),
    "decode8_to16": (U8, U16),
    "decode_ieee8_to16": (U8, U16),
    "decode_half16": (U16, U32),
    "decode_upper16": (U16, U32),
    "decode_power8": (U8, U32),
    "decode_lifted8": (U8, U32),
    "decode_lifted16": (U16, U32),
    "integer8_to_float32": (U8, U32),
    "integer16_to_float32": (U16, U32),
    "int32_to_float32": (U32, U32),
    "uint32_to_float32": (U32, U32),
    "int32_to_float64": (U32, U64),
    "uint32_to_float64": (U32, U64),
    "int64_to_float64": (U64, U64),
    "uint64_to_float64": (U64, U64),
    "int64_to_float64_odd": (U64, U64),
    "uint64_to_float64_odd": (U64, U64),
    "float64_to_float32_odd": (U64, U32),
    "float64_to_float32_sticky": (U64, U32),
    "float64_to_float32": (U64, U32),
    "float32_to_float64": (U32, U64),
    "encode8": (U32, U8),
    "encode8_from16": (U16, U8),
    "encode8_from64": (U64, U8),
    "encode16": (U32, U16),
    "encode_half16": (U32, U16),
    "encode_upper16": (U32, U16),
    "encode_power8": (U32, U8),
    "round_to_precision": (U32, U32),
    "round_to_upper16": (U32, U32),
    **{f"round64_to{width}": (U64, word) for width, word in WIDTHS.items()},
    **{f"nonzero{width}": (word, U8) for width, word in WIDTHS.items()},
    **{f"wrap{s}_to{d}": (WIDTHS[s], WIDTHS[d]) for s in WIDTHS for d in WIDTHS},
}
"""Loops that the template writes: the words of an element of the source and of the output."""

WRITTEN_OUT = {
    **{f"truncate32_to{width}": (U32, word) for width, word in WIDTHS.items()},
    **{f"truncate64_to{width}": (U64, word) for width, word in WIDTHS.items()},
    "int64_to_float32": (U64, U32),
    "uint64_to_float32": (U64, U32),
}
"""Loops that are more than their function of one element: the machine's own conversions take what is in their reach."""

MOVING = [
    *(f"pack{bits}" for bits in (2, 4, 6)),
    *(f"unpack{bits}" for bits in (2, 4, 6)),
    *(f"byteswap{bits}" for bits in (16, 32, 64)),
]
"""Loops that move codes."""

ADDRESS_OF = {
    **{f"truncate32_to{width}": f"truncate[{WIDTHS[width]}]" for width in (16, 32)},
    **{f"truncate64_to{width}": f"truncate64[{word}]" for width, word in WIDTHS.items()},
}
"""Loops that the table has under other names: fused types."""

ROUNDED = {f"round32_to{width}": (U32, WIDTHS[width]) for width in (8, 16)}
"""Loops that convert a group by another function first, `quickly_`, which says whether some may have other codes."""

RANDOM = {
    **{f"stochastic{kind}32_to{width}": (U32, WIDTHS[width]) for kind in ("", "_fine") for width in (8, 16)},
    **{f"stochastic64_to{width}": (U64, WIDTHS[width]) for width in (8, 16, 32)},
    "exact_float64_to32": (U64, U32),
    **{f"exact_{kind}64_to{width}": (U64, WIDTHS[width]) for kind in ("int", "uint") for width in (32, 64)},
}
"""Loops with random numbers: the words of an element at both ends."""

SCALED = {
    "quantize32_to8": (U32, U8, U32),
    "quantize32_to16": (U32, U16, U32),
    "quantize64_to8": (U64, U8, U64),
    "quantize64_to16": (U64, U16, U64),
    "round_saturate8": (U32, U8, U32),
    "round_saturate16": (U32, U16, U32),
    "divide": (U32, U32, U32),
    "divide64": (U64, U64, U64),
    "divide_encode8": (U32, U8, U32),
    "add_zero_point": (U32, U32, U32),
    "dequantize": (U32, U32, U32),
}
"""Loops with scales and zero points: the words of an element at both ends, and of a scale."""

ZERO_EACH = {"quantize32_to8", "quantize32_to16", "round_saturate8", "round_saturate16"}
"""Those with another function, `_each`, where every element has a zero point of its own."""

BLOCK_KINDS = ("power", "quotient", "product")
"""Scales of MX and NVFP4 blocks: powers of two; quotients that elements are divided by, or multiplied by."""
BLOCK_ROUNDINGS = ("", "_random", "_by_adding")
"""How elements become codes: by any rule without random bits, with them, to nearest even by adding."""

_TO_FLOAT32 = (
    (),
    ("decode_upper16",),
    ("decode_half16",),
    ("decode8",),
    ("decode_ieee8",),
    ("decode_power8",),
    ("integer8_to_float32",),
    ("unpack4", "decode8"),
    ("unpack4", "integer8_to_float32"),
)
_FROM_FLOAT32 = (
    (),
    ("encode8",),
    ("encode8", "pack4"),
    ("encode_power8",),
    ("encode_half16",),
    ("encode_upper16",),
    ("float32_to_float64",),
)
_OTHER_CASTS = (
    ("unpack4", "decode8_to16"),
    ("encode8_from16", "pack4"),
    ("encode8_from64", "pack4"),
    ("truncate32_to8", "pack4"),
    ("float64_to_float32_odd", "encode_upper16"),
    ("float64_to_float32_odd", "encode_power8"),
    ("float64_to_float32_sticky", "encode_half16"),
)
_NEVER_MADE = {  # one loop does it without float32 between, or a copy does
    *(("decode_upper16", *target) for target in (("encode8",), ("encode8", "pack4"), ("encode_upper16",))),
    *((*source, "encode_upper16") for source in (("decode8",), ("decode_ieee8",), ("unpack4", "decode8"))),
    ("decode_half16", "encode_half16"),
    ("decode_power8", "encode_power8"),
}
FUSED_ROUNDED = [
    (*source, *target)
    for source in ((), ("decode_upper16",), ("decode_half16",), ("float64_to_float32_odd",))
    for target in (("round32_to8",), ("round32_to8", "pack4"), ("round32_to16",))
    if source or len(target) > 1
]
"""Chains with a loop of ROUNDED."""

FUSED = [
    chain
    for chain in (*((*a, *b) for a in _TO_FLOAT32 for b in _FROM_FLOAT32), *_OTHER_CASTS)
    if len(chain) > 1 and chain not in _NEVER_MADE
]
"""Chains without scales."""

_QUANTIZED = (
    *(
        (*source, last)
        for source in ((), ("decode_upper16",), ("decode_half16",))
        for last in ("quantize32_to8", "divide_encode8")
    ),
    *(("decode_upper16", "divide", "round_to_upper16", last) for last in ("round_saturate8", "encode8")),
    *(("decode_half16", "divide", "round_to_precision", last) for last in ("round_saturate8", "encode8")),
)
_DEQUANTIZED = (
    *(
        (*source, "dequantize", *target)
        for source in (("integer8_to_float32",), ("decode8",), ("decode_ieee8",))
        for target in ((), ("encode_upper16",), ("encode_half16",))
    ),
)
FUSED_SCALED = [
    *_QUANTIZED,
    *((*chain, "pack4") for chain in _QUANTIZED),
    *_DEQUANTIZED,
    *(("unpack4", *chain) for chain in _DEQUANTIZED if chain[0] != "decode_ieee8"),
]
"""Chains with scales."""


def by_reciprocal(chain: Collection[str]) -> bool:
    """Whether a fused loop multiplies by reciprocals of scales, which must all be in reach (`LP_REACH`)."""
    return not {"quantize32_to8", "divide_encode8", "round_to_upper16"}.isdisjoint(chain)


def words(chain: tuple[str, ...]) -> tuple[str, str]:
    """Return the words of an element at both ends of a chain; U8 where it is packed."""
    table: dict[str, tuple[str, ...]] = {**ELEMENTS, **WRITTEN_OUT, **ROUNDED, **SCALED}
    source = U8 if chain[0] == "unpack4" else table[chain[0]][0]
    target = U8 if chain[-1] == "pack4" else table[chain[-1]][1]
    return source, target


def expression(
    chain: tuple[str, ...], element: str, scaled: tuple[str, str, str, bool] | None = None, *, finite: bool = False
) -> str:
    """Return the C expression that applies a chain to an element, without its packing.

    Parameters
    ----------
    chain : tuple of str
        Names of loops.
    element : str
        The element of the source.
    scaled : tuple of str, optional
        The arguments of functions with scales: the scale, its reciprocal or "", the zero point; and whether every
        element has a zero point of its own.
    finite : bool
        Whether the loop has checked that the scales keep a NaN as it is.
    """
    text = element
    for name in chain:
        if name in ("pack4", "unpack4"):
            continue
        if scaled is None or name not in SCALED:
            text = f"lp_{name}({text}, &p)"
            continue
        scale, reciprocal, zero, each = scaled
        divides = reciprocal and name in ("quantize32_to8", "divide_encode8", "divide")
        function = (
            name
            + ("_reciprocal" if divides else "_finite" if finite and name == "dequantize" else "")
            + ("_each" if each and name in ZERO_EACH else "")
        )
        more = f"{scale}, {reciprocal}, {zero}" if divides else f"{scale}, {zero}"
        text = f"lp_{function}({text}, {more}, &p)"
    return text


def quick(text: str) -> str:
    """Return an expression with the quick function of a loop of ROUNDED, which takes one more argument."""
    for name in ROUNDED:
        before, found, inner = text.partition(f"lp_{name}(")
        if found:
            return f"{before}lp_quickly_{name}({inner.removesuffix(', &p)')}, &rare, &p)"
    return text


READ_OF = {
    (): "float32",
    ("decode_upper16",): "upper16",
    ("decode_half16",): "half16",
    ("float64_to_float32_sticky",): "float64",
    ("integer8_to_float32",): "integer8",
    ("decode8",): "float8",
    ("decode_ieee8",): "ieee8",
    ("unpack4", "integer8_to_float32"): "packed_integer",
    ("unpack4", "decode8"): "packed_float",
}
"""What reads the elements of a source, in vectors: the first names of a chain."""

WRITE_OF = {
    ("quantize32_to8",): ("", "quotients"),
    ("divide_encode8",): ("", "float8_quotients"),
    ("divide", "round_to_upper16", "round_saturate8"): ("divide_upper16", "rounded"),
    ("divide", "round_to_upper16", "encode8"): ("divide_upper16", "float8"),
    ("divide", "round_to_precision", "round_saturate8"): ("divide_half16", "rounded"),
    ("divide", "round_to_precision", "encode8"): ("divide_half16", "float8"),
    ("dequantize",): ("multiply", "float32"),
    ("dequantize", "encode_upper16"): ("multiply", "upper16"),
    ("dequantize", "encode_half16"): ("multiply", "half16"),
    (): ("", "float32"),
    ("round32_to8",): ("", "any_rule8"),
    ("round32_to16",): ("", "any_rule16"),
    ("encode8",): ("", "float8"),
    ("encode_upper16",): ("", "upper16"),
    ("encode_half16",): ("", "half16"),
    ("truncate32_to8",): ("", "truncated8"),
}
"""What computes with scales, and what writes the result, in vectors: the other names of a chain, without packing."""

_BETWEEN_8_AND_16 = {
    ("decode_upper16",): ("upper16", "", "values"),
    ("decode_half16",): ("half16", "", "values"),
    ("decode8_to16",): ("float8_words", "", "words"),
    ("decode_ieee8_to16",): ("ieee8_words", "", "words"),
    ("unpack4", "decode8_to16"): ("packed_float_words", "", "words"),
    ("encode8_from16",): ("halves", "", "float8_of_halves"),
    ("encode8_from16", "pack4"): ("halves", "", "packed_float8_of_halves"),
    ("decode_upper16", "round32_to8"): ("upper_halves", "", "any_rule8_of_halves"),
    ("decode_upper16", "round32_to8", "pack4"): ("upper_halves", "", "packed_any_rule8_of_halves"),
    ("encode8_from64",): ("float64", "", "float8"),
    ("encode8_from64", "pack4"): ("float64", "", "packed_float8"),
}
_VECTOR_SINGLE = (
    "decode8", "decode_ieee8", "encode8", "encode_upper16", "encode_half16", "truncate32_to8", *ROUNDED
)  # fmt: skip


def vector_parts(chain: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Return what reads, what computes with scales, and what writes the elements of a chain in vectors; or None."""
    if chain in _BETWEEN_8_AND_16:
        return _BETWEEN_8_AND_16[chain]
    unpacked = chain[:-1] if chain[-1] == "pack4" else chain
    for length in range(min(len(unpacked), 2), -1, -1):
        read, rest = READ_OF.get(unpacked[:length]), WRITE_OF.get(unpacked[length:])
        if read and rest:
            operation, write = rest
            return read, operation, f"packed_{write}" if unpacked != chain else write
    return None


VECTORS = {
    chain: ends
    for chain in (*((name,) for name in _VECTOR_SINGLE), *_BETWEEN_8_AND_16, *FUSED, *FUSED_ROUNDED, *FUSED_SCALED)
    if (ends := vector_parts(chain)) is not None
}
"""Chains that have a loop of vectors, in every tier that has vectors; the loop that gcc vectorises in the others."""


def of_writer(store: str) -> str:
    """Return whose constants a store takes."""
    if ("quotients" in store and "float8" not in store) or "rounded" in store:
        return "integer8"
    return "float8" if "float8" in store else store.removeprefix("packed_").removesuffix("_of_halves")


def writer_type(name: str) -> str:
    """Return the type of the constants of a function that writes a group."""
    return {"integer8": "lp_code_range"}.get(of_writer(name), "lp_rounding" if "rule" in name else "lp_writer")


def type_of(name: str) -> str:
    """Return the type of the group that a function reads or writes."""
    return "lp_halves_group" if "halves" in name else "lp_word_group" if "words" in name else "lp_float_group"


def function_of(chain: tuple[str, ...], mode: str = "") -> str:
    """Return the name of the function in the table for a chain of loops that have no other address."""
    single = len(chain) == 1 and chain[0] not in SCALED
    is_vector = chain in VECTORS or (single and chain[0] in (*PACKING, *RANDOM_VECTORS))
    return (chain[0] if single else name_of(chain)) + (f"_{mode}" if mode else "") + "_vector" * is_vector


BY_COLUMNS = [
    chain
    for chain, ends in VECTORS.items()
    if chain in FUSED_SCALED
    and {"unpack4", "pack4"}.isdisjoint(chain)
    and ("quotients" in ends[2] or "multiply" in ends)
]
"""Chains with scales whose loops of vectors also go down a few rows at a time, where rows have the same scales."""


def rows_of_band(chain: tuple[str, ...]) -> int:
    """Return how many rows go through a loop by columns at once, where it does not go in the order of memory.

    What quotients need of the scales of a group of columns is prepared once for all of them. Beyond the cache this is
    slower than a division in the order of memory, which is what a loop that prefetches does, as products always do.
    """
    return 4 if words(chain)[0] == U32 else 6


TABLES = [("bytes", U8, U8), ("words", U8, U16), ("floats", U8, U32), ("upper16", U16, U8)]
"""Kinds of tables of VBMI: the words that are looked up, and what is found."""

LOOKED_UP = [
    ("decode8",),
    ("decode_ieee8",),
    ("decode8_to16",),
    ("decode_ieee8_to16",),
    *(
        chain
        for chain in (*FUSED, *FUSED_SCALED)
        if {"unpack4", "pack4"}.isdisjoint(chain)
        and (
            words(chain) in ((U8, U8), (U8, U16))
            or (chain[0] == "decode_upper16" and chain[-1] in ("divide_encode8", "encode8"))
        )
    ),
]
"""Chains with a loop by tables: from 8 bits to 8, 16 or 32, and from bfloat16 by one scale to floats of 8 bits."""


def table_of(chain: tuple[str, ...]) -> str:
    """Return the kind of the table of such a chain."""
    return next(kind for kind, *ends in TABLES if tuple(ends) == words(chain))


PACKING = [name for name in MOVING if "pack" in name]
RANDOM_VECTORS = [name for name, ends in RANDOM.items() if ends[0] == U32]
"""Other loops that have one of vectors: those that pack and unpack, and those with random numbers."""

READERS, OPERATIONS, WRITES = (sorted({ends[part] for ends in VECTORS.values()} - {""}) for part in range(3))
SCALED_WRITES = [name for name in WRITES if "quotients" in name or "rounded" in name]
WRITERS = sorted({of_writer(name) for name in WRITES} - {"integer8"})
"""The functions that the loops of vectors are composed of; those that write by scales; whose constants they take."""


class Case(NamedTuple):
    """One of the texts that a loop chooses from: when, or "" where there is one; the values of all conditions in it."""

    when: str
    values: tuple[bool, ...]


def cases_of(conditions: list[tuple[str, bool]]) -> list[Case]:
    """Return the texts for conditions, of which those that are asked for are True in some; the others are False."""
    cases: list[Case] = []
    for values in product(*((True, False) if asked else (False,) for _, asked in conditions)):
        needed = " and ".join(name for (name, _), value in zip(conditions, values, strict=True) if value)
        when = f"{'elif' if cases else 'if'} {needed}" if needed else "else" if cases else ""
        cases.append(Case(when, values))
    return cases


MODES = ("uniform", "elementwise", "runs")


def name_of(chain: tuple[str, ...]) -> str:
    """Return the name of a fused loop in Cython."""
    return "fused_" + "__".join(chain)


def addresses_of_modes(chain: tuple[str, ...]) -> str:
    """Return the addresses of a fused loop with scales, in the order of MODES."""
    listed = [f"<size_t>&{function_of(chain, mode)}" for mode in MODES]
    if chain in LOOKED_UP and chain[0] in ("decode8", "decode_ieee8") and table_of(chain) == "words":
        listed[0] = f"{listed[0]}_by_tables if HAS_VECTORS and not HAS_TABLES else {listed[0]}"
    if chain in BY_COLUMNS:
        listed.append(f"<size_t>&{function_of(chain, 'columns')} if HAS_VECTORS else 0")
    return ", ".join(listed)


def packs(chain: tuple[str, ...]) -> tuple[bool, bool]:
    """Return whether the codes that a chain reads, and those that it writes, are packed."""
    return chain[0] == "unpack4", chain[-1] == "pack4"


def bits(word: str, packed: bool) -> int:
    """Return the bits of an element."""
    return 4 if packed else int(word[4:-2])


def arguments(mode: str, by: bool, each: bool, index: str) -> tuple[str, str, str, bool]:
    """Return what functions with scales take: scale, reciprocal, zero point; and whether zero points differ."""
    if mode == "uniform":
        return "one_scale", "one_reciprocal" if by else "", "one_zero", False
    if mode == "elementwise":
        scale = f"scale[{index}]"
        return scale, f"lp_reciprocal({scale})" if by else "", f"zero[{index}]" if each else "0", each
    return "run_scale[i]", "lp_reciprocal(run_scale[i])" if by else "", "run_zero[i]", True


def names_of_loops() -> dict[str, Any]:
    """Return what the templates use of this module, by its name there."""
    names = {name: value for name, value in globals().items() if not name.startswith("_")}
    names |= {name.lower(): value for name, value in names.items() if name.isupper()}
    return names | {"by_reciprocal_chains": sorted(".".join(chain) for chain in FUSED_SCALED if by_reciprocal(chain))}
