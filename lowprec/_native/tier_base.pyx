"""The loops compiled for the instruction set every machine of the architecture has."""
include "tier.pxi"
