"""ONNX Runtime: the operator as a session on bound buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime as ort
from conversions import Arrays
from onnx import helper
from peers import Peer
from roofline import aligned

import lowprec as lp

OPSET = 24


def peers(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Return the peer where ONNX Runtime has the types."""
    row, target, single = arrays.row, arrays.target, lp.formats["float32"]
    if row.operation == "cast" and (target.bits < 8 or arrays.source.bits < 8):
        return
    codes = aligned(arrays.expected_packed.nbytes).view(arrays.expected_packed.dtype)
    x = arrays.x.view(arrays.source.code_dtype) if not row.packed else arrays.x.view(np.uint8)
    inputs = [(x, arrays.source, arrays.shape)]
    attributes: dict[str, Any] = {"to": target.onnx_enum}
    if row.granularity:
        zero = lp.pack(arrays.zero, arrays.narrow) if row.packed else arrays.zero.view(np.uint8)
        inputs += [(arrays.scale, single, arrays.scale.shape), (zero, arrays.narrow, arrays.scale.shape)]
        attributes = dict(arrays.options)
        if row.operation == "dequantize":
            inputs = inputs if row.zero_points else inputs[:2]
            attributes |= {} if row.target == "float32" else {"output_dtype": target.onnx_enum}
    operator = {"cast": "Cast", "quantize": "QuantizeLinear", "dequantize": "DequantizeLinear"}[row.operation]
    names = [f"i{index}" for index in range(len(inputs))]
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], **attributes)],
        "g",
        [
            helper.make_tensor_value_info(name, fmt.onnx_enum, dims)
            for name, (_, fmt, dims) in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info("y", target.onnx_enum, arrays.shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, (values, fmt, dims) in zip(names, inputs, strict=True):
            binding.bind_input(name, "cpu", 0, fmt.onnx_enum, dims, values.ctypes.data)
        binding.bind_output("y", "cpu", 0, target.onnx_enum, arrays.shape, codes.ctypes.data)
        session.run_with_iobinding(binding)
    except Exception:  # whatever it raises where it has no kernel for the types
        return
    keep = (inputs, codes)  # their memory is bound by address
    yield Peer("ONNX Runtime", lambda: (session.run_with_iobinding(binding), keep)[0], lambda: codes)
