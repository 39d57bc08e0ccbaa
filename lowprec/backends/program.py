"""From a plan to the program that the kernels run: loops, their numbers, byte order and packing at both ends."""

from __future__ import annotations

from functools import lru_cache

from .. import _kernels
from .._float_mode import default_mode
from ..plans.plan import Plan
from ..spec.formats import Format
from ..spec.memo import CACHED
from .cast_loops import cast_loops, from_mask
from .quantize_loops import quantize_loops

__all__ = ["make_program"]


@lru_cache(maxsize=CACHED)
@default_mode
def make_program(
    plan: Plan,
    *,
    extend: bool = False,
    swap: bool = False,
    swap_out: bool = False,
    packed: bool = False,
    unpacked: bool = False,
) -> _kernels.Program:
    """Compose the loops of one conversion.

    Parameters
    ----------
    plan : Plan
        The conversion.
    extend : bool
        Write sub-byte integers sign-extended to the byte, instead of as bare codes.
    swap, swap_out : bool
        Whether the source, the output, is in the other byte order.
    packed : bool
        Write the codes in ONNX's packed order, two, four or four thirds to a byte.
    unpacked : bool
        Read codes that are packed so.

    Returns
    -------
    Program
        What `_kernels.run` and `_kernels.run_strided` carry out.
    """
    source, target = plan.source, plan.target
    names, numbers = cast_loops(plan) if plan.scaling is None else quantize_loops(plan, plan.scaling)
    integers = {
        "source_mask": from_mask(plan),
        "source_sign": source.sign_mask if source.is_integer else 0,
        "target_mask": target.code_mask,
        "target_sign": target.sign_mask if target.is_integer and extend else 0,
    }
    before = _swapping(source, swap) + ([f"unpack{source.bits}"] if unpacked else [])
    after = ([f"pack{target.bits}"] if packed else []) + _swapping(target, swap_out)
    return _kernels.Program(
        (*before, *names, *after),
        source.bits if unpacked else source.storage_bits,
        target.bits if packed else target.storage_bits,
        integers | numbers,
    )


def _swapping(fmt: Format, swap: bool) -> list[str]:
    """Return the loop that swaps bytes; single ones have no order, though ml_dtypes' dtypes can be told one."""
    return [f"byteswap{fmt.storage_bits}"] if swap and fmt.storage_bits > 8 else []
