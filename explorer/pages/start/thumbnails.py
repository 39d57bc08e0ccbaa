"""The small drawings on the cards of the examples; their numbers are typed here, and tests compute them."""

from __future__ import annotations

from collections.abc import Callable

from ...shared.svg import Drawing, text_width

__all__ = ["BLOCK", "MINUS_ZERO", "THUMBNAILS", "TOPS", "thumbnail"]

WIDTH, HEIGHT = 196, 104

BLOCK = (
    0, .3, .28, .89, .45, .99, .06, 1.34, .49, .62, .49, .36, .11, .93, .03, .7,
    1.35, .46, 1.9, 1.29, 1.84, .24, 1.27, .27, .16, .19, 2.52, .54, .05, .11, 1.53, .48,
)  # fmt: skip
"""Magnitudes of a block of MXFP4, or of two blocks of NVFP4."""

TOPS = (3, 1.35, 2.52)
"""What the codes reach with the scale of that MXFP4 block, and of each NVFP4 block, to two decimals."""

MINUS_ZERO = (
    ("float8_e4m3fn", "−0", "0x80"), ("float8_e4m3fnuz", "0", "0x00"), ("float4_e2m1fn", "−0", "0x8"),
    ("int8", "0", "0x00"),
)  # fmt: skip
"""What -0 becomes in some formats: the number and its code."""


def _largest(d: Drawing) -> None:
    d.line(4, 46, 192, 46, "text", width=2)
    xs = [16 + index * 160 / 7 for index in range(8)]
    for x in xs[:6]:
        d.line(x, 30, x, 46, "mantissa-text", width=2)
    d.line(xs[6], 20, xs[6], 46, "mantissa-text", width=3)
    d.line(xs[7], 22, xs[7], 46, "nan-text", width=2, dashed=True)
    d.text(190, 16, "480", anchor="end", fill="nan-text", mono=True, struck=True)
    d.text(xs[0], 64, "256", size=13, anchor="middle", fill="quiet", mono=True)
    d.text(xs[6], 64, "448", anchor="middle", bold=True, mono=True)
    d.code(16, 95, [("sign", "0"), ("exponent", "1111"), ("mantissa", "111")])
    d.text(130, 95, "=", size=15, anchor="middle", fill="quiet", mono=True)
    d.badge(171, 95, "NaN", "nan", size=15)


def _beyond(d: Drawing) -> None:
    d.line(20, 64, 176, 64, "line", width=5)
    d.line(20, 52, 20, 76, "text", width=3)
    d.line(98, 55, 98, 73, "quiet", width=2, dashed=True)
    d.line(176, 52, 176, 76, "nan-text", width=3)
    d.arc(176, 47, 22, 48, 16, "quiet", width=2)
    d.arc(103, 60, 174, 50, 14, "accent", width=2.5)
    d.circle(103, 64, 6.5, "accent")
    d.text(106, 93, "465", size=15, anchor="middle", fill="accent", bold=True, mono=True)
    d.text(8, 93, "448", bold=True, mono=True)
    d.badge(174, 93, "NaN", "nan", size=13)
    d.text(100, 16, "saturate", size=13, anchor="middle", fill="quiet")


def _alike(d: Drawing) -> None:
    d.code(98, 25, [("sign", "0"), ("exponent", "1000"), ("mantissa", "000")], size=17, anchor="middle")
    for end, value, name in ((-1, "2", "e4m3fn"), (1, "1", "e4m3fnuz")):
        x = 98 + 50 * end
        d.arrow(f"M{98 + 20 * end} 39L", (98 + 46 * end, 60), (0.78 * end, 0.63), "quiet", width=2)
        d.text(x, 81, value, size=20, anchor="middle", bold=True, mono=True)
        d.text(x, 99, name, size=13, anchor="middle", fill="quiet", mono=True)


def _powers(d: Drawing) -> None:
    d.line(4, 66, 192, 66, "text", width=2)
    xs = {value: 12 + (value - 1) * 172 / 7 for value in (1, 2, 3, 4, 8)}
    for value in (1, 2, 4, 8):
        d.line(xs[value], 50, xs[value], 66, "exponent-text", width=3)
        near = value in (2, 4)
        d.text(xs[value], 86, str(value), anchor="middle", fill="text" if near else "quiet", bold=near, mono=True)
    d.arc(xs[3], 60, xs[2], 47, 13, "quiet", width=2)
    d.arc(xs[3], 60, xs[4], 47, 13, "accent", width=2.5)
    d.circle(xs[3], 66, 6.5, "accent")
    d.text(xs[3], 88, "3", size=15, anchor="middle", fill="accent", bold=True, mono=True)
    d.text(22, 24, "down", size=13, anchor="middle", fill="quiet")
    d.text(92, 24, "up, nearest", size=13, anchor="middle", fill="accent")


def _twice(d: Drawing) -> None:
    d.line(16, 62, 180, 62, "line", width=5)
    for x in (16, 180):
        d.line(x, 50, x, 74, "text", width=3)
    d.line(98, 52, 98, 74, "quiet", width=2, dashed=True)
    d.arc(107, 57, 178, 48, 17, "accent", width=2.5)
    d.path("M106 66L99 70Q60 96 27 79", stroke="nan-text", width=2.5)
    d.path("M18 74l12 0l-6 9z", fill="nan-text")
    d.circle(107, 62, 6, "accent")
    d.text(142, 19, "at once", size=13, anchor="middle", fill="accent")
    d.text(60, 101, "by float32", size=13, anchor="middle", fill="nan-text")
    d.text(10, 42, "1", size=13, mono=True)
    d.text(192, 92, "1.0078125", size=13, anchor="end", mono=True)


def _packing(d: Drawing) -> None:
    for x, text, fill, colour in ((52, "2", "soft", "accent"), (144, "3", "zero", "zero-text")):
        d.rect(x - 17, 1, 34, 26, fill, radius=4)
        d.text(x, 20, text, size=16, anchor="middle", fill=colour, bold=True, mono=True)
    d.arrow("M62 30L", (134, 50), (0.963, 0.268), "accent", width=2)
    d.arrow("M134 30L", (62, 50), (-0.963, 0.268), "quiet", width=2)
    for index, bit in enumerate("00110010"):
        left, is_first = 12 + 21.5 * index + 4 * (index > 3), index > 3
        d.rect(left, 54, 19.5, 25, "soft" if is_first else "zero", radius=3)
        d.text(left + 9.8, 72, bit, size=15, anchor="middle", fill="accent" if is_first else "zero-text", bold=True,
               mono=True)  # fmt: skip
    d.text(98, 99, "byte 0x32", size=13, anchor="middle", fill="quiet", mono=True)


def _blocks(d: Drawing) -> None:
    unit, base = 74 / TOPS[0], 96.0
    for index, magnitude in enumerate(BLOCK):
        d.rect(10 + 5.5 * index, base - unit * magnitude, 4, unit * magnitude, "frame")
    d.line(4, 96.5, 192, 96.5, "text")
    d.line(8, base - unit * TOPS[0], 188, base - unit * TOPS[0], "exponent-text", width=2.5)
    for left, top in zip((9, 97), TOPS[1:], strict=True):
        d.line(left, base - unit * top, left + 86, base - unit * top, "mantissa-text", width=3)
    d.text(8, 14, "MXFP4", size=13, fill="exponent-text", bold=True)
    d.text(188, 14, "NVFP4", size=13, fill="mantissa-text", anchor="end", bold=True)


def _minus_zero(d: Drawing) -> None:
    for row, (name, number, code) in enumerate(MINUS_ZERO):
        kind, y, text = "sign" if number == "−0" else "zero", 19 + 25.5 * row, f"{number} {code}"
        d.text(4, y, name.removeprefix("float8_").removeprefix("float4_"), size=13, fill="quiet", mono=True)
        width = text_width(text, 13, mono=True) + 14
        d.rect(192 - width, y - 15.5, width, 21, kind, radius=4)
        d.text(192 - width / 2, y, text, size=13, anchor="middle", fill=f"{kind}-text", bold=kind == "sign", mono=True)


def _subnormal(d: Drawing) -> None:
    d.line(4, 50, 192, 50, "text", width=2)
    for mark in range(25):  # 0 to 2^-5 in the steps 2^-9 and 2^-8
        x = 10 + 5.5 * (mark if mark < 16 else 2 * mark - 16)
        d.line(x, 34 if mark % 8 else 24, x, 50, "subnormal-text" if mark < 8 else "exponent-text", width=2)
    for left, right, bits, kind in (
        (11, 53, "0000", "subnormal"),
        (55, 97, "0001", "exponent"),
        (99, 185, "0010", "exponent"),
    ):
        d.rect(left, 58, right - left, 21, kind, radius=3)
        d.text((left + right) / 2, 73, bits, size=13, anchor="middle", fill=f"{kind}-text", mono=True)
    d.text(10, 98, "0", size=13, anchor="middle", fill="quiet", mono=True)
    d.text(54, 98, "2^−6", size=13, anchor="middle", bold=True, mono=True)
    d.text(190, 98, "2^−4", size=13, anchor="end", fill="quiet", mono=True)


def _opsets(d: Drawing) -> None:
    d.rect(2, 37, 44, 30, "inf", radius=4)
    d.text(24, 57, "Inf", size=16, anchor="middle", fill="inf-text", bold=True)
    for down, opset, result, kind, code in ((-1, "23", "NaN", "nan", "0x80"), (1, "24", "240", "zero", "0x7F")):
        y = 67 + 26 * down
        d.arrow(f"M46 {52 + 8 * down}L", (84, 52 + 26 * down), (0.9, 0.43 * down), "quiet", width=2)
        d.text(90, y - 22, f"opset {opset}", size=13, fill="quiet")
        d.badge(112, y, result, kind, size=15)
        d.text(146, y, code, size=13, fill="quiet", mono=True)


THUMBNAILS: dict[str, tuple[str, Callable[[Drawing], None]]] = {
    "448": (
        "The last eight codes of float8_e4m3fn: seven values from 256 to 448, and NaN where 480 would be",
        _largest,
    ),
    "465": ("465 lies between 448 and 480, which is NaN: it becomes NaN, or 448 with saturate", _beyond),
    "fnuz": ("The code 0x40 is 2 in float8_e4m3fn and 1 in float8_e4m3fnuz", _alike),
    "e8m0": ("float8_e8m0fnu holds powers of two: 3 goes to 2 or to 4", _powers),
    "double rounding": ("1.0039063 becomes 1.0078125 in bfloat16, but 1 by way of float32", _twice),
    "packing": ("The int4 codes 2 and 3 make the byte 0x32: the first code takes the low bits", _packing),
    "block size": ("32 numbers: one MXFP4 block reaches 3, two NVFP4 blocks reach 1.35 and 2.52", _blocks),
    "minus zero": ("−0 has a code in float8_e4m3fn and float4_e2m1fn, and becomes 0 in the others", _minus_zero),
    "subnormal": ("Near zero the marks of float8_e4m3fn keep their distance: subnormal values", _subnormal),
    "opset": ("Inf becomes NaN in float8_e4m3fnuz up to opset 23, and 240 since opset 24", _opsets),
}
"""By the key of an example, what its drawing shows, and what draws it."""


def thumbnail(key: str) -> Drawing:
    """Return the drawing on the card of an example."""
    label, draw = THUMBNAILS[key]
    drawing = Drawing(WIDTH, HEIGHT, label)
    draw(drawing)
    return drawing
