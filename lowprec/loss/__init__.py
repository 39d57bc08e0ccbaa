"""What a conversion loses: error statistics, for arrays, checkpoints and the explorer."""

from ..spec.block_formats import BLOCK_FORMATS
from .block_sweep import BlockLoss, BlockLosses, block_loss, block_sweep
from .convert_and_measure import Loss, measure
from .error_stats import CHUNK, ErrorStats, error_statistics
from .saturation import saturates

__all__ = [
    "BLOCK_FORMATS",
    "BlockLoss",
    "BlockLosses",
    "CHUNK",
    "ErrorStats",
    "Loss",
    "block_loss",
    "block_sweep",
    "error_statistics",
    "measure",
    "saturates",
]
