"""The guided examples of the start page: a link, what is seen there, and what to try next.

Their numbers are typed here; tests compute each of them with the library and open each link.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True, slots=True)
class Example:
    """A title, the page and the query that show it, two sentences on it, and a task; `key` names it in tests.

    `part` is that of the page which is shown first, by the anchor of its heading.
    """

    key: str
    title: str
    path: str
    text: str
    task: str
    query: dict[str, str] = field(default_factory=dict)
    part: str = ""


EXAMPLES: tuple[Example, ...] = (
    Example(
        "448",
        "Why 448 and not 480",
        "anatomy",
        "The largest value of float8_e4m3fn is 448, code 0x7E. The next code, 0x7F, would be 480, but it is NaN.",
        "click the last bit, then choose float8_e5m2: which codes does Inf take there?",
        {"fmt": "float8_e4m3fn", "at": "448"},
    ),
    Example(
        "465",
        "465 becomes 448, or NaN",
        "rounding",
        "465 is nearer to 480 than to 448, but 480 is no value of float8_e4m3fn: it rounds beyond the range. "
        "With saturate it becomes 448; without, NaN, since the format has no Inf.",
        "switch saturate off; then type 464, the last number that rounds to 448 either way.",
        {"x": "465", "fmt": "float8_e4m3fn"},
    ),
    Example(
        "fnuz",
        "Two float8 that look alike",
        "compare",
        "The same eight bits mean other numbers: float8_e4m3fnuz has the bias 8, float8_e4m3fn the bias 7, so that "
        "1 is 0x40 in the one and 0x38 in the other, and the largest value 240 instead of 448. "
        "float8_e4m3fnuz has no −0: 0x80 is its only NaN.",
        "type 300, and see which of the two saturates.",
        {"fmts": "float8_e4m3fn,float8_e4m3fnuz", "x": "1"},
    ),
    Example(
        "e8m0",
        "A format of powers of two",
        "rounding",
        "float8_e8m0fnu holds the scales of blocks: powers of two, without sign and without zero. "
        "3 lies between 2 and 4: round_mode up gives 4, down gives 2, and nearest gives 4, as a tie goes up.",
        "type 2.9, then 2.1, and compare the three rows.",
        {"x": "3", "fmt": "float8_e8m0fnu"},
    ),
    Example(
        "double rounding",
        "Rounded twice",
        "conversion",
        "1.0039063 is above 1.00390625, the midpoint of two bfloat16 values, so that it rounds up to 1.0078125. "
        "float32 rounds it to the midpoint itself, and the tie then goes to the even code: 1.",
        "remove the format between, or choose float16 as the target.",
        {"source": "float64", "via": "float32", "target": "bfloat16", "at": "1.0039063"},
    ),
    Example(
        "packing",
        "Two int4 in a byte",
        "conversion",
        "Codes narrower than a byte share bytes in ONNX files. The first code takes the low bits: the int4 codes 0x2 "
        "and 0x3 make the byte 0x32.",
        "add a third code; then choose int2, and a format of 6 bits.",
        {"packed": "int4", "codes": "0x2 0x3"},
        "packing",
    ),
    Example(
        "block size",
        "MXFP4 or NVFP4",
        "quantize",
        "MXFP4 shares a power of two among 32 elements, NVFP4 a float8_e4m3fn scale among 16. On this tensor of "
        "normal numbers NVFP4 has a larger signal-to-noise ratio than MXFP4 with any block size and scale rule shown.",
        "choose student-t, a distribution with heavy tails, and see whether that still holds.",
        {"origin": "sampled", "show": "sweep"},
    ),
    Example(
        "minus zero",
        "Where −0 is kept",
        "compare",
        "−0 has a code of its own in float8_e4m3fn, 0x80. float8_e4m3fnuz has none: −0 becomes 0 there, "
        "and in integers.",
        "type nan: which of these formats have no NaN?",
        {"fmts": "float8_e4m3fn,float8_e4m3fnuz,float4_e2m1fn,int8", "x": "-0"},
    ),
    Example(
        "subnormal",
        "Below the smallest normal",
        "anatomy",
        "From 2^-6 down the exponent field of float8_e4m3fn is 0, and the leading 1 is missing: 0x07 is 7/8 · 2^-6. "
        "The step stays 2^-9 down to zero, so that the precision shrinks bit by bit.",
        "click next, and see the exponent field change while the step does not.",
        {"fmt": "float8_e4m3fn", "at": "0x07"},
    ),
    Example(
        "opset",
        "One node, two opsets",
        "saturation",
        "Up to opset 23 the text of Cast makes Inf NaN in FNUZ formats, even with saturate; since opset 24 it becomes "
        "the largest value, 240 in float8_e4m3fnuz. Cells that opset 28 changes have a frame.",
        "choose opset 24, and see the frames vanish.",
        {"opset": "23"},
    ),
)
