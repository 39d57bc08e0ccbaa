"""What a conversion loses: error statistics, for arrays, checkpoints and the explorer."""

from .error_stats import CHUNK, ErrorStats, error_statistics
from .measurement import Loss, measure

__all__ = ["CHUNK", "ErrorStats", "Loss", "error_statistics", "measure"]
