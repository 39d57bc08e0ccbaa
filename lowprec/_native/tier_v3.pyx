"""The loops compiled for x86-64-v3 (AVX2)."""
include "tier.pxi"
