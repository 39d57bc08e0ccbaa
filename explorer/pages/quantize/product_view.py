"""A matrix product with a tensor as its weights: what the product loses, next to what the weights lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowprec.loss import product_loss

from .columns_view import setting_label
from .settings import parse_settings
from .view import quantize

__all__ = ["INPUTS", "VECTORS", "Product", "Row", "inputs_of", "product_of", "verdict"]

INPUTS = ("normal", "outlier channels", "identity")
"""What the weights are multiplied by: samples; samples of which some channels are large; the identity."""

VECTORS = 64
"""Vectors of inputs that are drawn."""

_LARGE, _SHARE = 20.0, 1 / 32
"""How many times larger an outlier channel is, and how many channels are."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A setting: its name, the SQNR of the weights and of the product in dB, or why it has none."""

    text: str
    label: str
    weights_db: float = float("nan")
    product_db: float = float("nan")
    gain_db: float = float("nan")
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Product:
    """The shapes of weights and inputs, what the inputs are, and a row for each setting."""

    weights: tuple[int, int]
    inputs: tuple[int, int]
    kind: str
    rows: tuple[Row, ...]


def inputs_of(kind: str, count: int, seed: int) -> Array:
    """Return inputs for so many channels: float32, a column for each vector, the same for the same seed."""
    if kind == "identity":
        return np.eye(count, dtype=np.float32)
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((count, VECTORS))
    if kind == "outlier channels":
        large = rng.random(count) < _SHARE
        large[rng.integers(count)] = True
        values = values * np.where(large, _LARGE, 1.0)[:, np.newaxis]
    return values.astype(np.float32)


def product_of(x: Array, texts: Sequence[str], kind: str, seed: int) -> Product:
    """Return what a product loses by each setting; the last axis of the tensor is that of the inputs."""
    width = x.shape[-1]
    inputs = inputs_of(kind, width, seed)
    return Product(
        (x.size // width, width), (width, inputs.shape[1]), kind, tuple(_row(x, text, inputs) for text in texts)
    )


def _row(x: Array, text: str, inputs: Array) -> Row:
    settings = parse_settings(text)
    label = setting_label(settings)
    try:
        found = quantize(x, settings)
    except ValueError as error:
        return Row(text, label, problem=str(error))
    if found.not_finite:
        return Row(text, label, problem="NaN or Inf takes part in the product")
    width = x.shape[-1]
    loss = product_loss(found.x.reshape(-1, width), found.dequantized.reshape(-1, width), inputs)
    return Row(text, label, loss.weights.sqnr_db, loss.product.sqnr_db, loss.gain_db)


def verdict(found: Product) -> str:
    """Say what the product loses compared with the weights."""
    if found.kind == "identity":
        return "Times the identity the product is the weights: both lose the same."
    finite = [row for row in found.rows if np.isfinite(row.gain_db)]
    if not finite:
        return ""
    far = max(finite, key=lambda row: abs(row.gain_db))
    if abs(far.gain_db) < 0.5:
        return "The product loses about as much as the weights: the errors average out as the numbers do."
    side = "less" if far.gain_db > 0 else "more"
    return f"In {far.label} the product loses {abs(far.gain_db):.1f} dB {side} than the weights."
