"""What a product of weights and inputs loses when the weights are quantized, next to what the weights lose."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._float_mode import default_mode
from .error_stats import ErrorStats, error_statistics

__all__ = ["ProductLoss", "product_loss"]


class ProductLoss(NamedTuple):
    """What weights lose, and what their product loses.

    Attributes
    ----------
    weights, product : ErrorStats
        Of the elements of the weights, and of those of the product.
    """

    weights: ErrorStats
    product: ErrorStats

    @property
    def gain_db(self) -> float:
        """By how many dB the SQNR of the product is higher than that of the weights; 0 where they are equal."""
        same = self.product.sqnr_db == self.weights.sqnr_db
        return 0.0 if same else self.product.sqnr_db - self.weights.sqnr_db


@default_mode
def product_loss(
    weights: np.ndarray[Any, Any], back: np.ndarray[Any, Any], inputs: np.ndarray[Any, Any], /
) -> ProductLoss:
    """Return what ``weights @ inputs`` loses if the weights become `back`, and what the weights themselves lose.

    Errors of weights that inputs multiply alike average out as the weights do: for independent inputs of one spread
    both SQNRs are about the same. Large inputs count more: the product loses more than the weights where theirs are
    the worse ones.

    Parameters
    ----------
    weights : numpy.ndarray
        Of shape (outputs, inputs), float32 or float64.
    back : numpy.ndarray
        The weights after quantization and dequantization: of the same shape and dtype.
    inputs : numpy.ndarray
        Of shape (inputs,) or (inputs, n), a column for each vector of inputs, float32 or float64. The products are
        computed in float64.

    Returns
    -------
    ProductLoss
        The error statistics of both. NaN and Inf, in weights as in inputs, make NaN and Inf of the products that they
        take part in, and are counted there.

    Raises
    ------
    TypeError
        If an argument is no NumPy array.
    ValueError
        If a dtype or a shape does not fit.

    See Also
    --------
    error_statistics : of any two arrays.

    Examples
    --------
    >>> import numpy as np
    >>> weights, back = np.float32([[1, 2], [3, 4]]), np.float32([[1, 2], [3, 5]])
    >>> loss = product_loss(weights, back, np.float32([1, -1]))  # -1 and -1 become -1 and -2
    >>> round(loss.product.sqnr_db, 2), round(loss.weights.sqnr_db, 2)
    (3.01, 14.77)
    """
    for name, array in (("weights", weights), ("back", back), ("inputs", inputs)):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"`{name}` must be a NumPy array; got {type(array).__name__}")
        if array.dtype.newbyteorder("=").name not in ("float32", "float64"):
            raise ValueError(f"`{name}` must be float32 or float64; got {array.dtype.name}")
    if weights.ndim != 2:
        raise ValueError(f"`weights` must have two dimensions; got {weights.shape}")
    if inputs.ndim not in (1, 2) or inputs.shape[0] != weights.shape[1]:
        wanted = f"({weights.shape[1]},) or ({weights.shape[1]}, n)"
        raise ValueError(f"`inputs` must have the shape {wanted}, as `weights` has {weights.shape}; got {inputs.shape}")
    lost = error_statistics(weights, back)
    columns = inputs.astype(np.float64)
    with np.errstate(all="ignore"):  # of Inf and NaN
        products = weights.astype(np.float64) @ columns, back.astype(np.float64) @ columns
    return ProductLoss(lost, error_statistics(*products))
