"""Formats that ONNX lacks, for the pages of the explorer: those shown, those converted, and those of views."""

DESCRIBED = (
    "binary3p1uf", "binary5p2sf", "binary7p3se", "binary9p4se", "binary12p6se", "binary16p16ue", "e4m0,nan=none",
    "e4m3,bias=8,inf=0,nan=negative-zero", "tf32", "e4m3,bias=1000",
)  # fmt: skip

CONVERTED = (
    "binary5p2sf", "binary6p3ue", "e4m0,nan=none", "binary8p3se", "binary12p6se", "e4m3,bias=8,inf=0,nan=negative-zero",
)  # fmt: skip

OF_EVERY_KIND = (
    "binary3p1se", "binary4p2uf", "binary5p2sf", "binary6p1ue", "binary7p3se", "binary8p3se", "binary8p8ue",
    "binary9p4se", "binary12p7uf", "binary15p10sf", "binary16p16ue", "e1m1", "e1m2,signed=0", "e2m0,nan=none",
    "e3m2,nan=all-ones", "e4m3,signed=0,nan=none", "e5m2,bias=30,inf=0", "e7m0,inf=0,nan=negative-zero",
    "e4m0,signed=0,inf=0,nan=none,zero=0", "e4m3,bias=8,inf=0,nan=negative-zero",
)  # fmt: skip
"""Formats that lack a sign, Inf, NaN, a zero or a mantissa, and others."""
