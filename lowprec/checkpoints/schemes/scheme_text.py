"""Schemes in words: the short name of one, and what shares a scale."""

from __future__ import annotations

from .scheme import GlobalScale, Grid, Packing, Scheme

__all__ = ["codes_text", "scheme_name", "scheme_text", "sharing_text"]

_MX_GROUP = 32


def codes_text(scheme: Scheme) -> str:
    """Return the kind of the codes: FP8, FP4, int8, int4."""
    if scheme.packing is Packing.WORDS:
        return f"int{scheme.bits}"
    return f"{'FP' if scheme.codes.is_float else 'int'}{scheme.codes.bits}"


def _is_mx(scheme: Scheme) -> bool:
    """Whether groups of 32 share a scale that is a power of two, as in the OCP MX formats."""
    powers = scheme.scale.is_float and not scheme.scale.has_zero
    return powers and (scheme.grid.rows, scheme.grid.columns) == (1, _MX_GROUP)


def sharing_text(grid: Grid) -> str:
    """Return which elements share a scale, without a noun: a tensor, a row, 128 x 128, 32 columns."""
    if not grid.rows and not grid.columns:
        return "a matrix" if grid.period else "a tensor"
    if not grid.columns:
        return "a row" if grid.rows == 1 else f"{grid.rows} rows"
    if not grid.rows:
        return "a column" if grid.columns == 1 else f"{grid.columns} columns of all rows"
    return f"{grid.columns} columns" if grid.rows == 1 else f"{grid.rows} x {grid.columns}"


def scheme_name(scheme: Scheme) -> str:
    """Return the name that people use: MXFP4, NVFP4, block FP8 128x128, int8 per row, int4 in groups of 128."""
    if scheme.blocks is not None:
        return scheme.blocks.name
    codes, grid = codes_text(scheme), scheme.grid
    if scheme.codes.is_float and _is_mx(scheme):
        return f"MX{codes}"
    if scheme.global_scale is not GlobalScale.NONE:
        return f"NV{codes}"
    if grid.rows > 1 and grid.columns > 1:
        return f"block {codes} {grid.rows}x{grid.columns}"
    if grid.rows == 1 and grid.columns:
        return f"{codes} in groups of {grid.columns}"
    return f"{codes} per {sharing_text(grid).removeprefix('a ')}"


def scheme_text(scheme: Scheme) -> str:
    """Return codes and scales in a line: float8_e4m3fn, a float32 scale to 128 x 128."""
    if scheme.blocks is not None:
        return f"{scheme.blocks.name}: {scheme.blocks.nbytes} bytes to {scheme.blocks.size} columns"
    codes = f"{scheme.bits}-bit integers in words" if scheme.packing is Packing.WORDS else scheme.codes.name
    text = f"{codes}, a {scheme.scale.name} scale to {sharing_text(scheme.grid)}"
    second = {GlobalScale.FACTOR: ", times a second one", GlobalScale.INVERSE: ", divided by a second one"}
    return text + second.get(scheme.global_scale, "") + (", in tiles of 128 x 4" if scheme.tiles else "")
