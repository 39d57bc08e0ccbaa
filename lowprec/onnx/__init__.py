"""ONNX as a client: models, nodes and tensors on lowprec's kernels. Needs the onnx package.

`ops` are the classes that ``onnx.reference.ReferenceEvaluator(model, new_ops=ops)`` takes, `Evaluator` that evaluator
with them in every function body as well, `Backend` the interface of ``onnx.backend``; `to_array` and `from_array`
convert TensorProtos.
"""

try:
    import onnx.reference  # noqa: F401  imported first, so that the message names what is missing
except ImportError as error:
    raise ImportError("lowprec.onnx needs the onnx package, 1.23 or newer: pip install 'onnx>=1.23'") from error

from .backend import Backend, BackendRep, Evaluator
from .nodes import NODES as ops  # noqa: N811  the public name: what new_ops takes
from .tensor_protos import from_array, to_array

__all__ = ["Backend", "BackendRep", "Evaluator", "from_array", "ops", "to_array"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
