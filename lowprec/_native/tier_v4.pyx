"""The loops compiled for x86-64-v4 (AVX-512)."""
include "tier.pxi"
include "group_rounding_loops.pxi"
