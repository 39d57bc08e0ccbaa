"""Register lowprec's operators, `torch.ops.lowprec`, before a saved program of torch that uses them is loaded."""

from .ops.torch_operators import LIBRARY

__all__ = ["LIBRARY"]
