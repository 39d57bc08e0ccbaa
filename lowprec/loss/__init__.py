"""What a conversion loses: error statistics, for arrays, checkpoints and the explorer."""

from .convert_and_measure import Loss, measure
from .error_stats import CHUNK, ErrorStats, error_statistics
from .saturation import saturates

__all__ = ["CHUNK", "ErrorStats", "Loss", "error_statistics", "measure", "saturates"]
