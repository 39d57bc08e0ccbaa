"""The tensor that is a picture: a landscape in gray levels, made by code, on which blocks show as bands."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

__all__ = ["COLUMNS", "HORIZON", "ROWS", "landscape"]

ROWS, COLUMNS = 72, 128

HORIZON = 43
"""The row in which the water begins."""

_SEED = 5
_STEP = 16
"""Steps of a gray level that are kept: what a sine differs by from machine to machine is rounded away."""

_SUN = 25.0, 88.0
"""Row and column of the middle of the sun."""

Array = np.ndarray[Any, Any]


@lru_cache(maxsize=1)
def landscape() -> Array:
    """Return the picture: 72 rows of 128 gray levels from 0 to 255 in float32, the same everywhere."""
    noise = Random(_SEED)
    row, column = np.mgrid[0:ROWS, 0:COLUMNS].astype(float)
    gray = _sky(row, column)
    for base, height, phase, level in ((37, 5.0, 2.1, 118), (40, 2.4, 4.4, 74)):
        ridge = base - height * (np.sin(column / 19 + phase) + 0.5 * np.sin(column / 7.3 + 2 * phase)) / 1.5
        gray = np.where(row >= ridge, level + 0.9 * (row - ridge), gray)
    gray = np.where(row >= HORIZON, _water(row, column, noise), gray)
    gray = _tree(gray, row, column, noise)
    shore = 65 - 8 * np.exp(-(((column - 4) / 17) ** 2)) + np.sin(column / 4.7) + 0.6 * np.sin(column / 1.9)
    grass = np.array([[noise.random() for _ in range(COLUMNS)] for _ in range(ROWS)])
    gray = np.where(row >= shore, 12 + 16 * grass, gray)
    return np.asarray(np.rint(np.clip(gray, 0, 255) * _STEP) / _STEP, np.float32)


def _sky(row: Array, column: Array) -> Array:
    away = np.hypot(row - _SUN[0], column - _SUN[1])
    glow = 150 * np.exp(-away / 17)
    gray = 88 + 1.9 * row + 6 * np.sin(row / 3.1 + column / 37) + glow
    return np.where(away < 6.6, 255, np.minimum(gray, 244))


def _water(row: Array, column: Array, noise: Random) -> Array:
    """Return the water, a level of its own for each row, and in it the light of the sun."""
    waves = np.array([noise.random() for _ in range(ROWS)])[:, np.newaxis]
    level = 140 - 2.1 * (row - HORIZON) + 30 * (waves - 0.5)
    width = 4 + 0.55 * (row - HORIZON)
    middle = _SUN[1] + 5 * (np.array([noise.random() for _ in range(ROWS)])[:, np.newaxis] - 0.5)
    light = (30 + 95 * (waves > 0.45)) * np.exp(-(((column - middle) / width) ** 2))
    return np.asarray(np.where(row < HORIZON + 1, 232, level + light))


def _tree(gray: Array, row: Array, column: Array, noise: Random) -> Array:
    crown = np.zeros(gray.shape, bool)
    for _ in range(46):
        down, across = 16 + 9 * (2 * noise.random() - 1), 17 + 13 * (2 * noise.random() - 1)
        reach = 2.2 + 2.6 * noise.random()
        inside = ((down - 16) / 10) ** 2 + ((across - 17) / 15) ** 2 < 1
        if inside:
            crown |= np.hypot(row - down, (column - across) / 1.25) < reach
    leaves = np.array([[noise.random() for _ in range(COLUMNS)] for _ in range(ROWS)])
    gray = np.where(crown, 28 + 22 * leaves, gray)
    trunk = (np.abs(column - 17 - 0.6 * np.sin(row / 5)) < 1.3 + 0.02 * row) & (row >= 20)
    return np.asarray(np.where(trunk, 20, gray))
