"""Whole models on lowprec's kernels: ONNX's evaluator with our operators in it, as an ``onnx.backend`` too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.backend.base
import onnx.checker
import onnx.defs
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ..arrays.storage_dtypes import format_of
from .nodes import NODES
from .tensor_protos import KINDS

__all__ = ["Backend", "BackendRep", "Evaluator"]


class Evaluator(ReferenceEvaluator):
    """ONNX's reference evaluator with lowprec's operators: in the graph, in subgraphs and in functions.

    ``ReferenceEvaluator(model, new_ops=lowprec.onnx.ops)`` does the same, except inside the model's functions, where
    ONNX does not pass `new_ops`. All other operators are ONNX's own.

    Parameters
    ----------
    proto : ModelProto, GraphProto, FunctionProto, NodeProto, str or bytes
        What to run; as in ``onnx.reference.ReferenceEvaluator``.
    new_ops : sequence of type, optional
        Further operators; they come before ours.
    **options
        As in ``onnx.reference.ReferenceEvaluator``.

    Raises
    ------
    ValueError
        If a node has an attribute or a type that its version lacks; the message names the node. While running, what
        `lowprec.cast` and its siblings raise, with the node's name.

    Notes
    -----
    Source: the opset imports of the model, and of each function, choose the version of every node.

    Examples
    --------
    >>> import numpy as np, onnx.parser
    >>> import lowprec.onnx
    >>> text = '''<ir_version: 9, opset_import: ["" : 19]>
    ...     f (float[n] x) => (float8e4m3fnuz[n] y) { y = Cast <to = 18> (x) }'''
    >>> evaluator = lowprec.onnx.Evaluator(onnx.parser.parse_model(text))
    >>> evaluator.run(None, {"x": np.array([0.3, np.inf], np.float32)})[0].tolist()
    [0.3125, nan]
    """

    def __init__(self, proto: Any, *, new_ops: Sequence[type] | None = None, **options: Any) -> None:
        super().__init__(proto, new_ops=[*(new_ops or ()), *NODES], **options)


def _check_device(device: str) -> None:
    if not Backend.supports_device(device):
        raise ValueError(f"`device` must be CPU; got {device!r}")


def _check_input(array: Any, declared: onnx.ValueInfoProto) -> None:
    """Raise ValueError unless an array holds the type the graph declares."""
    wanted = declared.type.tensor_type.elem_type
    if not wanted:  # a sequence, or an optional
        return
    dtype = getattr(array, "dtype", type(array).__name__)
    try:
        actual = format_of(dtype, kinds=KINDS).onnx_enum
    except TypeError:
        actual = None
    if actual != wanted:
        name = onnx.TensorProto.DataType.Name(wanted)
        raise ValueError(f"input {declared.name!r} must be an array of {name}; got {dtype}")


class BackendRep(onnx.backend.base.BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._evaluator = Evaluator(model)
        graph = model.graph
        preset = {one.name for one in graph.initializer} | {one.values.name for one in graph.sparse_initializer}
        self._inputs = {one.name: one for one in graph.input}
        self._needed = [name for name in self._inputs if name not in preset]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the outputs of the graph, in order.

        Parameters
        ----------
        inputs : sequence or mapping
            One array for each input that is no initializer, in order or by name; by name, initializers that the graph
            lists as inputs too.
        **kwargs
            Ignored; part of the interface.

        Returns
        -------
        tuple
            One array for each output.

        Raises
        ------
        ValueError
            If the inputs are not those of the graph, in number, name or type.
        """
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        elif isinstance(inputs, Sequence) and len(inputs) == len(self._needed):
            feeds = dict(zip(self._needed, inputs, strict=True))
        else:
            got = len(inputs) if isinstance(inputs, Sequence) else type(inputs).__name__
            raise ValueError(f"`inputs` must hold {len(self._needed)} arrays, for {', '.join(self._needed)}; got {got}")
        if missing := set(self._needed) - set(feeds):
            raise ValueError(f"`inputs` must hold an array for {min(missing)!r}")
        if unknown := set(feeds) - set(self._inputs):
            raise ValueError(f"`inputs` must be named as the graph's inputs are; got {min(unknown)!r}")
        for name, array in feeds.items():
            _check_input(array, self._inputs[name])
        return tuple(self._evaluator.run(None, feeds))


class Backend(onnx.backend.base.Backend):
    """``onnx.backend`` on the CPU: Cast, CastLike, BitCast and the linear operators by lowprec, the rest by ONNX.

    ``onnx.backend.test.BackendTest(lowprec.onnx.Backend)`` runs ONNX's own tests over it.
    """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device such as ``"CPU"`` or ``"CUDA:0"`` is the CPU."""
        return device.partition(":")[0] == "CPU"

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Check a model and return it ready to run.

        Parameters
        ----------
        model : ModelProto
            The model; ``onnx.checker`` must find it valid.
        device : str
            ``"CPU"``.
        **kwargs
            Ignored; ONNX's test runner passes its tolerances.

        Returns
        -------
        BackendRep
            The model, ready to `run`.

        Raises
        ------
        TypeError
            If `model` is no ModelProto.
        ValueError
            If the device is another, or a node has an attribute that its version lacks.
        onnx.checker.ValidationError
            If the model is not valid.
        """
        _check_device(device)
        if not isinstance(model, onnx.ModelProto):
            raise TypeError(f"`model` must be an onnx.ModelProto; got {type(model).__name__}")
        super().prepare(model, device, **kwargs)
        return BackendRep(model)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node of the default domain.

        Parameters
        ----------
        node : NodeProto
            The node.
        inputs : sequence
            One array for each input that is not left out.
        device : str
            ``"CPU"``.
        outputs_info
            Not needed, as the operators know their outputs.
        **kwargs
            ``opset_version``, the opset whose version of the operator runs: the newest if not given.

        Returns
        -------
        tuple
            One array for each output.

        Raises
        ------
        ValueError
            If the number of inputs is another, or as the operator says.
        onnx.checker.ValidationError
            If the node is not valid.
        """
        _check_device(device)
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        names = [name for name in node.input if name]
        if len(inputs) != len(names):
            raise ValueError(f"`inputs` must hold {len(names)} arrays, for {', '.join(names)}; got {len(inputs)}")
        feeds = dict(zip(names, map(np.asarray, inputs), strict=True))
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in feeds.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, outputs)
        opset = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        return tuple(Evaluator(graph, opsets={"": opset}).run(None, feeds))
