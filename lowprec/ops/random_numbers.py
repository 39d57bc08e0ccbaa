"""The random numbers of stochastic rounding, as an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.torch_tensors import compiling, eager
from ..spec.packing import shape_of
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, check_random_bits, make_stream, slot_bits

__all__ = ["stochastic_bits"]


@eager
def stochastic_bits(
    seed: int, shape: int | tuple[int, ...], bits: int = DEFAULT_RANDOM_BITS, offset: int = FIRST
) -> np.ndarray[Any, Any]:
    """Return the random numbers that a stochastic rounding takes for the elements of an array.

    Element n, in C order, has the upper `bits` of slot ``offset + n`` in the stream of the seed. A slot has 8 bits
    where `bits` is up to 8, 16 where it is up to 16, else 32; the stream is the little-endian words of Philox4x32-10
    with the counters 0, 1, 2, … There is no NaN, Inf or -0, and nothing is out of range: the numbers are integers.

    Parameters
    ----------
    seed : int
        0 to 2**64 - 1, the key of the generator.
    shape : int or tuple of int
        Of the array.
    bits : int
        Random bits of an element, 1 to 32.
    offset : int
        The place of the first element in the stream, 0 to 2**63 - 1.

    Returns
    -------
    numpy.ndarray
        Integers from 0 to ``2**bits - 1``: uint8 where slots have 8 bits, uint16, or uint32.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Notes
    -----
    Source: J. K. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011); Random123's Philox4x32-10.

    Examples
    --------
    >>> import lowprec as lp
    >>> [hex(number) for number in lp.stochastic_bits(0, 4)]
    ['0xe8d5', '0x6627', '0xc58d', '0xe169']
    >>> lp.stochastic_bits(0, 2, offset=2).tolist() == lp.stochastic_bits(0, 4)[2:].tolist()
    True
    """
    if compiling():
        from .. import torch_ops

        numbers: np.ndarray[Any, Any] = torch_ops.stochastic_bits(seed, shape, bits, offset)
        return numbers
    lengths, width, stream = shape_of(shape, ""), check_random_bits(bits, "bits"), make_stream(seed, offset)
    numbers = np.empty(math.prod(lengths), f"u{slot_bits(width) // 8}")
    _kernels.random_numbers(stream.seed, stream.offset, width, numbers)
    return numbers.reshape(lengths)
