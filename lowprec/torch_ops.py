"""Register lowprec's operators, `torch.ops.lowprec`, before a saved program of torch that uses them is loaded."""

from .ops.quantized import register_pytrees
from .ops.torch_operators import LIBRARY

__all__ = ["LIBRARY"]

register_pytrees()  # for programs that return what `quantize` does
