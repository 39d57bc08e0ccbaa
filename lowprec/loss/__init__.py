"""What a conversion loses: error statistics, for arrays, checkpoints and the explorer."""

from .measurement import CHUNK, Loss, measure

__all__ = ["CHUNK", "Loss", "measure"]
