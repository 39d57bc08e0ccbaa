"""Formats that ONNX lacks, for the pages of the explorer: those that it shows, and those that it converts."""

DESCRIBED = (
    "binary3p1uf", "binary5p2sf", "binary7p3se", "binary9p4se", "binary12p6se", "binary16p16ue", "e4m0,nan=none",
    "e4m3,bias=8,inf=0,nan=negative-zero", "tf32", "e4m3,bias=1000",
)  # fmt: skip

CONVERTED = (
    "binary5p2sf",
    "binary6p3ue",
    "e4m0,nan=none",
    "binary8p3se",
    "binary12p6se",
    "e4m3,bias=8,inf=0,nan=negative-zero",
)
