"""What a conversion loses: error statistics, for arrays, checkpoints and the explorer."""

from ..spec.formats import BLOCK_FORMATS
from .beyond_range import saturates
from .block_sweep import BlockLoss, BlockLosses, block_loss, block_sweep
from .convert_and_measure import Loss, measure
from .error_stats import CHUNK, ErrorStats, error_statistics
from .product_loss import ProductLoss, product_loss
from .scale_curve import ScaleCurve, ScalePoint, scale_curve

__all__ = [
    "BLOCK_FORMATS",
    "BlockLoss",
    "BlockLosses",
    "CHUNK",
    "ErrorStats",
    "Loss",
    "ProductLoss",
    "ScaleCurve",
    "ScalePoint",
    "block_loss",
    "block_sweep",
    "error_statistics",
    "measure",
    "product_loss",
    "saturates",
    "scale_curve",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
