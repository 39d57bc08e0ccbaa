"""The rules of a rounding and its random numbers, with seeds that JAX holds."""

from __future__ import annotations

from ..arrays.jax_seeds import seed_argument
from ..spec import rounding_modes
from ..spec.rounding_modes import RoundingOptions, Stream

__all__ = ["check_stream", "rounding_arguments"]


def check_stream(rounding: object, seed: object, random_bits: object, offset: object) -> Stream | None:
    """Return what the function of this name of `rounding_modes` returns."""
    return rounding_modes.check_stream(rounding, seed_argument(seed), random_bits, offset)


def rounding_arguments(
    rounding: object, overflow: object, nan: object, seed: object, random_bits: object, offset: object
) -> tuple[RoundingOptions | None, Stream | None]:
    """Return what the function of this name of `rounding_modes` returns."""
    return rounding_modes.rounding_arguments(rounding, overflow, nan, seed_argument(seed), random_bits, offset)
