"""Rounding written with the array operations of torch or JAX: what their users write where no library has the mode."""

from __future__ import annotations

import importlib
from typing import Any

import lowprec as lp

WHICH_GROWS = {
    "nearest_even": lambda nu, odd, negative: (nu > 0.5) | ((nu == 0.5) & odd),
    "nearest_away": lambda nu, odd, negative: nu >= 0.5,
    "nearest_zero": lambda nu, odd, negative: nu > 0.5,
    "toward_zero": lambda nu, odd, negative: nu < 0,
    "away_from_zero": lambda nu, odd, negative: nu > 0,
    "toward_positive": lambda nu, odd, negative: (nu > 0) & ~negative,
    "toward_negative": lambda nu, odd, negative: (nu > 0) & negative,
    "to_odd": lambda nu, odd, negative: (nu > 0) & ~odd,
}
"""Whether a magnitude becomes the next one, from the fraction of the gap above it and the parity of its code."""


class Torch:
    """What the arithmetic needs of torch."""

    def __init__(self) -> None:
        self.xp: Any = importlib.import_module("torch")

    def bits(self, x: Any) -> Any:
        """Return float32 numbers as int32 bits."""
        return x.view(self.xp.int32)

    def numbers(self, bits: Any) -> Any:
        """Return int32 bits as float32 numbers."""
        return bits.view(self.xp.float32)

    def to(self, x: Any, dtype: str) -> Any:
        """Return another dtype."""
        return x.to(getattr(self.xp, dtype))

    def least(self, x: Any, limit: float) -> Any:
        """Return what lies above a limit as the limit."""
        return x.clamp(max=limit)

    def most(self, x: Any, limit: float) -> Any:
        """Return what lies below a limit as the limit."""
        return x.clamp(min=limit)

    def random(self, x: Any, bits: int) -> Any:
        """Return an integer of so many random bits for each element, as float32."""
        return self.xp.randint(0, 1 << bits, x.shape, dtype=self.xp.int64 if bits > 24 else self.xp.int32)


class Jax:
    """What the arithmetic needs of JAX."""

    def __init__(self) -> None:
        self.xp: Any = importlib.import_module("jax.numpy")
        self._jax: Any = importlib.import_module("jax")
        self.key = self._jax.random.key(0)

    def bits(self, x: Any) -> Any:
        """Return float32 numbers as int32 bits."""
        return self._jax.lax.bitcast_convert_type(x, self.xp.int32)

    def numbers(self, bits: Any) -> Any:
        """Return int32 bits as float32 numbers."""
        return self._jax.lax.bitcast_convert_type(bits, self.xp.float32)

    def to(self, x: Any, dtype: str) -> Any:
        """Return another dtype."""
        return x.astype(dtype)

    def least(self, x: Any, limit: float) -> Any:
        """Return what lies above a limit as the limit."""
        return self.xp.minimum(x, limit)

    def most(self, x: Any, limit: float) -> Any:
        """Return what lies below a limit as the limit."""
        return self.xp.maximum(x, limit)

    def random(self, x: Any, bits: int) -> Any:
        """Return an integer of so many random bits for each element, as float32."""
        slot = "uint8" if bits <= 8 else "uint16" if bits <= 16 else "uint32"
        return self._jax.random.bits(self.key, x.shape, slot)


def encode(ops: Any, x: Any, fmt: lp.Format, mode: str, random_bits: int = 0, packed: bool = False) -> Any:
    """Return the codes of float32 numbers, saturated; exponents of the format must be well within float32's.

    A stochastic mode is "stochastic_b" with the library's own random numbers, of 24 bits at most that matter.
    """
    width, least_exponent = fmt.mantissa_bits, 1 - fmt.bias
    magnitudes = ops.least(abs(x), float(fmt.max))
    exponents = ops.most((ops.bits(magnitudes) >> 23) - 127, least_exponent)
    scaled = magnitudes * ops.numbers((127 + width - exponents) << 23)
    lower = ops.xp.floor(scaled)
    fraction = scaled - lower
    codes = ops.to(lower, "int32") + ((exponents - least_exponent) << width)
    negative = ops.xp.signbit(x)
    if random_bits:
        places = min(random_bits, 24)
        grows = fraction + (ops.random(x, places) + 0.5) * 2.0**-places >= 1
    else:
        grows = WHICH_GROWS[mode](fraction, (codes & 1) == 1, negative)
    codes = ops.least(codes + grows, fmt.max_code)
    if fmt.nan_code is not None:
        codes = ops.xp.where(ops.xp.isnan(x), fmt.nan_code, codes)
    codes = ops.to(codes | (ops.to(negative, "int32") << (fmt.bits - 1)), "uint8")
    return codes[..., 0::2] | (codes[..., 1::2] << 4) if packed else codes
