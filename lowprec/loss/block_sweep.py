"""What MX and NVFP4 blocks lose on one array: SQNR and size for block formats, block sizes and scale rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._notebook_display import aligned_table, html_block, html_table
from ..arrays.libraries import namespace
from ..arrays.storage_dtypes import format_of
from ..ops.cast import cast
from ..ops.mx import mx_dequantize, mx_quantize
from ..ops.nvfp4 import nvfp4_dequantize, nvfp4_quantize
from ..plans.block_plan import element_format
from ..spec.formats import (
    BLOCK_FORMATS,
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT32,
    FLOAT64,
    NVFP4,
    Format,
    element_of,
)
from ..spec.rounding_modes import RoundingName
from ..spec.scalar_arguments import shown
from ..spec.scale_rules import NVFP4_RULES, SCALE_RULES, BlockRuleName
from .convert_and_measure import on_host
from .error_stats import error_statistics

__all__ = ["BlockLoss", "BlockLosses", "block_loss", "block_sweep"]

Array = np.ndarray[Any, Any]

_BLOCK_SIZES = (8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class BlockLoss:
    """What blocks lose on one array, and the bits that they take.

    Attributes
    ----------
    format, element : str
        A name of `BLOCK_FORMATS`, or the format of MX elements; the format of the elements.
    block_size : int
        Elements that share a scale.
    scale_rule : str or None
        How a largest magnitude became a scale; None is NVFP4's own rule.
    sqnr_db : float
        10 log10 of the array's power over the error's, of finite elements; Inf where nothing was lost, NaN where no
        finite element but zeros is there.
    bits_per_value : float
        Bits of the elements, scales and the global scale, over the number of elements.
    """

    format: str
    element: str
    block_size: int
    scale_rule: str | None
    sqnr_db: float
    bits_per_value: float

    def gain_over(self, other: BlockLoss) -> float:
        """Return by how many dB the SQNR is higher than that of another one."""
        return self.sqnr_db - other.sqnr_db

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        return BlockLosses([self])._repr_html_()


class BlockLosses(tuple[BlockLoss, ...]):
    """What `block_sweep` returns: a tuple that `print` and notebooks show as a table, a column for each block size."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = self._rows()
        return aligned_table(rows, right=range(2, len(rows[0])))

    def _repr_html_(self) -> str:
        rows = self._rows()
        return html_block(
            html_table(rows, "SQNR in dB by block size, and bits per value", right=range(2, len(rows[0])))
        )

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the header, and the cells of each format and scale rule."""
        sizes = list(dict.fromkeys(one.block_size for one in self))
        lines: dict[tuple[str, str], dict[int, str]] = {}
        for one in self:
            rule = one.scale_rule or "its own"
            lines.setdefault((one.format, rule), {})[one.block_size] = f"{one.sqnr_db:.2f}"
        for one in self:
            lines.setdefault((one.format, "bits per value"), {})[one.block_size] = f"{one.bits_per_value:.6g}"
        rows = [(*names, *(cells.get(size, "") for size in sizes)) for names, cells in lines.items()]
        return [("blocks", "scale rule", *map(str, sizes)), *rows]


def block_loss(
    x: Any,
    fmt: object = "mxfp4",
    /,
    *,
    axis: int = -1,
    block_size: int | None = None,
    scale_rule: BlockRuleName | None = None,
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
) -> BlockLoss:
    """Quantize an array to blocks and back, and say what was lost.

    NaN and Inf are left out: they count neither for the scales nor for the errors.

    Parameters
    ----------
    x : array
        Any library; float32, float16, bfloat16 or float64, at least one element. Dask arrays are computed, arrays on
        other devices copied to the host.
    fmt : str, int, dtype or Format
        A name of `BLOCK_FORMATS`, or the format of MX elements.
    axis : int
        The axis along which blocks lie.
    block_size : int, optional
        None is 16 for NVFP4 and 32 for MX.
    scale_rule : str, optional
        As in `lowprec.mx_quantize` or `lowprec.nvfp4_quantize`; None is floor for MX and NVFP4's own rule.
    rounding, seed
        As in `lowprec.cast`.

    Returns
    -------
    BlockLoss
        SQNR and bits per value.

    Raises
    ------
    TypeError
        If `x` is no array of numbers.
    ValueError
        If `x` is empty, or a parameter is out of its range.

    Notes
    -----
    Source: as `lowprec.mx_quantize` and `lowprec.nvfp4_quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.float32([[0.5, 1, 2, 3, 100, 200, 300, 400]])
    >>> found = block_loss(x, block_size=4, scale_rule="rceil")
    >>> round(found.sqnr_db, 2), found.bits_per_value
    (19.94, 6.0)
    """
    x = _numpy(x)
    if not x.size:
        raise ValueError("`x` must have at least one element; got none")
    is_nvfp4 = _is_nvfp4(fmt)
    size = (16 if is_nvfp4 else 32) if block_size is None else block_size
    options: dict[str, Any] = {"axis": axis, "block_size": size}
    given: dict[str, Any] = {**options, "rounding": rounding, "seed": seed, "specials": "ignore"}
    if is_nvfp4:
        element, scale, shared = FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32.bits
        given["scale_rule"] = scale_rule
        elements, scales, factor = nvfp4_quantize(x, **given)
        back = nvfp4_dequantize(elements, scales, factor, **options)
    else:
        element = _element(fmt, "fmt")
        scale, shared, scale_rule = FLOAT8_E8M0FNU, 0, SCALE_RULES[0] if scale_rule is None else scale_rule
        given["scale_rule"] = scale_rule
        elements, scales = mx_quantize(x, element, **given)
        back = mx_dequantize(elements, scales, source=element, **options)
    wide = FLOAT64 if format_of(x.dtype) == FLOAT64 else FLOAT32
    stats = error_statistics(np.asarray(cast(x, wide)), np.asarray(cast(back, wide)))
    bits = x.size * element.bits + scales.size * scale.bits + shared
    name = fmt if isinstance(fmt, str) and fmt in BLOCK_FORMATS else element.name
    return BlockLoss(name, element.name, size, scale_rule, stats.sqnr_db, bits / x.size)


def block_sweep(
    x: Any,
    /,
    *,
    formats: Sequence[object] = ("mxfp4", NVFP4),
    block_sizes: Sequence[int] = _BLOCK_SIZES,
    scale_rules: Sequence[BlockRuleName | None] = (*SCALE_RULES, None),
    axis: int = -1,
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
) -> BlockLosses:
    """Quantize an array to every combination of block format, scale rule and block size, and say what each one loses.

    Parameters
    ----------
    x : array
        As in `block_loss`.
    formats : sequence
        Names of `BLOCK_FORMATS`, or formats of MX elements.
    block_sizes : sequence of int
        Elements that share a scale.
    scale_rules : sequence of str or None
        Each format is combined with the rules that are its own: those of `lowprec.mx_quantize`, or those of
        `lowprec.nvfp4_quantize` with None. A format of which none is named has its default rule.
    axis, rounding, seed
        As in `block_loss`.

    Returns
    -------
    BlockLosses
        A tuple of `BlockLoss`, in the order of the formats, then of the rules, then of the block sizes.

    Raises
    ------
    TypeError, ValueError
        As `block_loss`; ValueError if a rule is one of no format.

    Notes
    -----
    Source: as `lowprec.mx_quantize` and `lowprec.nvfp4_quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.float32([[0.5, 1, 2, 3, 100, 200, 300, 400]])
    >>> for one in block_sweep(x, block_sizes=(4, 8), scale_rules=("floor", "rceil")):
    ...     print(one.format, one.scale_rule, one.block_size, f"{one.sqnr_db:.2f} dB, {one.bits_per_value} bits")
    mxfp4 floor 4 21.21 dB, 6.0 bits
    mxfp4 floor 8 21.18 dB, 5.0 bits
    mxfp4 rceil 4 19.94 dB, 6.0 bits
    mxfp4 rceil 8 19.92 dB, 5.0 bits
    nvfp4 None 4 24.31 dB, 10.0 bits
    nvfp4 None 8 24.26 dB, 9.0 bits
    """
    known, x = (*SCALE_RULES, *NVFP4_RULES, None), _numpy(x)
    for rule in scale_rules:
        if rule not in known:
            names = ", ".join(name for name in known if name)
            raise ValueError(f"`scale_rules` must be None or of {names}; got {shown(rule)}")
    for fmt in formats:
        if not _is_nvfp4(fmt):
            _element(fmt, "formats")
    return BlockLosses(
        block_loss(x, fmt, axis=axis, block_size=size, scale_rule=rule, rounding=rounding, seed=seed)
        for fmt in formats
        for rule in _rules_of(fmt, scale_rules)
        for size in block_sizes
    )


def _numpy(x: Any) -> Array:
    """Return an array of any library in NumPy."""
    namespace(x)
    return on_host(x, format_of(x.dtype))


def _is_nvfp4(fmt: object) -> bool:
    return isinstance(fmt, str) and fmt == NVFP4


def _element(fmt: object, parameter: str) -> Format:
    """Return the format of the elements of MX blocks, or raise ValueError."""
    element = element_of(fmt, parameter)
    element_format(element, parameter)
    return element


def _rules_of(fmt: object, scale_rules: Sequence[BlockRuleName | None]) -> list[BlockRuleName | None]:
    """Return the rules that are a format's own, in order and each once; its default where there is none."""
    own: tuple[str | None, ...] = (None, *NVFP4_RULES) if _is_nvfp4(fmt) else SCALE_RULES
    return [rule for rule in dict.fromkeys(scale_rules) if rule in own] or [None]
