"""What is timed: for every case the same conversion by lowprec, the rooflines and each peer, on the same buffers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import lowprec as lp

CAST = [
    # source, target, packed
    ("float32", "float8_e4m3fn", False), ("float32", "float8_e5m2", False), ("float32", "float8_e4m3fnuz", False),
    ("float32", "float8_e8m0fnu", False), ("float32", "float6_e2m3fn", False), ("float32", "float4_e2m1fn", True),
    ("float32", "bfloat16", False), ("float32", "float16", False), ("float64", "float8_e4m3fn", False),
    ("float64", "float32", False), ("float16", "float8_e4m3fn", False), ("bfloat16", "float8_e4m3fn", False),
    ("float8_e4m3fn", "float32", False), ("float8_e5m2", "float32", False), ("float8_e4m3fnuz", "float32", False),
    ("float8_e8m0fnu", "float32", False), ("bfloat16", "float32", False), ("float16", "float32", False),
    ("float8_e4m3fn", "float16", False), ("float8_e4m3fn", "bfloat16", False), ("float8_e4m3fn", "float64", False),
    ("float32", "int4", True), ("int4", "float32", False), ("float32", "int2", False), ("float32", "int8", False),
    ("int8", "float32", False), ("int64", "float32", False), ("float32", "int64", False), ("int64", "int8", False),
    ("float32", "bool", False),
]  # fmt: skip
QUANTIZE = [
    (target, packed, spread)
    for target, packed in (("int8", False), ("float8_e4m3fn", False), ("int4", True))
    for spread in ("tensor", "axis 0", "last axis", "block 32")
]
DEQUANTIZE = [
    (source, packed, spread)
    for source, packed in (("int8", False), ("float8_e4m3fn", False), ("int4", True))
    for spread in ("tensor", "last axis", "block 32")
]
ORT_OPSET = 24
peers_wanted = True
Call = Callable[[], Any]


@dataclass
class Case:
    """One conversion and who carries it out; `differs` names the peers whose bits are others."""

    name: str
    calls: dict[str, Call] = field(default_factory=dict)
    differs: list[str] = field(default_factory=list)


class Roof:
    """The compiled rooflines."""

    def __init__(self, folder: str) -> None:
        source = Path(__file__).with_name("roof.c")
        flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run([shutil.which("gcc") or "cc", *flags, source, "-o", f"{folder}/roof.so"], check=True)
        self.library = ctypes.CDLL(f"{folder}/roof.so")

    def call(self, kind: str, x: np.ndarray, out: np.ndarray, n: int, threads: int) -> Call:
        """Return a loop that reads all of x and writes all of out."""
        bits = [8 * array.nbytes // n for array in (x, out)]
        loop = getattr(self.library, f"{kind}_{bits[0]}_{bits[1]}")

        def run() -> None:  # the arrays themselves, not their addresses, so that they stay alive
            loop(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_ssize_t(n), threads)

        return run

    def read_call(self, x: np.ndarray, threads: int) -> Call:
        """Return a loop that reads all of x and writes nothing."""
        loop = self.library.read_once
        loop.restype = ctypes.c_uint64

        def run() -> None:
            loop(ctypes.c_void_p(x.ctypes.data), ctypes.c_ssize_t(x.nbytes), threads)

        return run


def aligned(nbytes: int) -> np.ndarray:
    """Return bytes that begin on a 64-byte border."""
    whole = np.zeros(nbytes + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + nbytes]


def random_input(fmt: lp.Format, n: int) -> np.ndarray:
    """Return values of a format, the same every time."""
    rng = np.random.default_rng(0)
    if fmt.is_float:
        return lp.cast(rng.normal(0, 10, n).astype(np.float32), fmt)
    return rng.integers(0, 1 << min(fmt.bits, 7), n).astype(fmt.code_dtype).view(fmt.dtype)


def module(name: str) -> Any:
    """Return an optional package, or None where it is not there or no peers are wanted."""
    if not peers_wanted:
        return None
    try:
        return __import__(name)
    except ImportError:
        return None


def _in_torch(x: np.ndarray, fmt: lp.Format) -> Any:
    torch = module("torch")
    if torch is None or not fmt.torch_name:
        return None
    return torch.from_numpy(x.view(f"i{x.itemsize}")).view(getattr(torch, fmt.torch_name))


def _ort_call(
    operator: str, inputs: list[tuple[np.ndarray, lp.Format, tuple[int, ...]]], attributes: dict[str, Any],
    out: np.ndarray, shape: tuple[int, ...], target: lp.Format, threads: int,
) -> Call | None:  # fmt: skip
    """Return the operator as an ONNX Runtime session on bound buffers; None where it lacks the types."""
    ort, onnx = module("onnxruntime"), module("onnx")
    if ort is None or onnx is None:
        return None
    make = onnx.helper
    names = [f"i{index}" for index in range(len(inputs))]
    graph = make.make_graph(
        [make.make_node(operator, names, ["y"], **attributes)],
        "g",
        [
            make.make_tensor_value_info(name, fmt.onnx_enum, dims)
            for name, (_, fmt, dims) in zip(names, inputs, strict=True)
        ],
        [make.make_tensor_value_info("y", target.onnx_enum, shape)],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", ORT_OPSET)], ir_version=11)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, (x, fmt, dims) in zip(names, inputs, strict=True):
            binding.bind_input(name, "cpu", 0, fmt.onnx_enum, dims, x.ctypes.data)
        binding.bind_output("y", "cpu", 0, target.onnx_enum, shape, out.ctypes.data)
        session.run_with_iobinding(binding)
    except Exception:  # whatever it raises where it has no kernel for the types
        return None
    keep = (inputs, out)
    return lambda: (session.run_with_iobinding(binding), keep)[0]


def _roofs(case: Case, roof: Roof, x: np.ndarray, out: np.ndarray, n: int, threads: int) -> None:
    # Into the memory that lowprec writes to: two arrays may lie in pages of different sizes.
    case.calls["roof"] = roof.call("roof", x, out, n, threads)
    if n >= 1 << 20 and n % 4096 == 0:
        case.calls["stream"] = roof.call("stream", x, out, n, threads)


def _check(case: Case, who: str, call: Call | None, codes: Callable[[], np.ndarray], expected: np.ndarray) -> None:
    """Add a contender, and note whether its bits are ours."""
    if call is None or not peers_wanted:
        return
    case.calls[who] = call
    call()
    if not np.array_equal(codes(), expected):
        case.differs.append(who)


def cast_case(roof: Roof, source_name: str, target_name: str, packed: bool, n: int, threads: int) -> Case:
    """Return a Cast."""
    source, target = lp.formats[source_name], lp.formats[target_name]
    case = Case(f"{source_name} → {target_name}{' packed' if packed else ''}")
    x = random_input(source, n)
    ours = aligned(n * target.bits // 8) if packed else aligned(n * target.storage_bits // 8).view(target.dtype)
    _roofs(case, roof, x, ours, n, threads)
    if packed:
        case.calls["lowprec"] = lambda: lp.encode(x, target, packed=True, out=ours)
    else:
        case.calls["lowprec"] = lambda: lp.cast(x, target, out=ours)
    expected = lp.encode(x, target)
    plain = np.empty(n, target.dtype)

    def by_numpy() -> None:
        with np.errstate(all="ignore"):
            np.copyto(plain, x, casting="unsafe")

    width = f"u{plain.itemsize}"
    _check(case, "NumPy", by_numpy, lambda: plain.view(width) & np.array(target.code_mask, width), expected)
    tensor, out = _in_torch(x, source), _in_torch(np.empty(n, target.dtype), target)
    if tensor is not None and out is not None:
        codes = out.view(getattr(module("torch"), f"int{8 * out.element_size()}")).numpy()
        _check(case, "torch", lambda: out.copy_(tensor), lambda: codes.view(width), expected)
    if target.bits >= 8 and source.bits >= 8:
        theirs = np.empty(n, target.code_dtype)
        call = _ort_call("Cast", [(x, source, (n,))], {"to": target.onnx_enum}, theirs, (n,), target, threads)
        _check(case, "ONNX Runtime", call, lambda: theirs, expected)
    return case


def _scales(spread: str, rows: int, columns: int) -> tuple[np.ndarray, dict[str, int]]:
    shape: dict[str, tuple[int, ...]] = {
        "tensor": (), "axis 0": (rows,), "last axis": (columns,), "block 32": (rows, columns // 32),
    }  # fmt: skip
    options = {"axis 0": {"axis": 0}, "block 32": {"axis": 1, "block_size": 32}}.get(spread, {"axis": 1})
    return np.random.default_rng(1).uniform(0.1, 0.2, shape[spread]).astype(np.float32), options


def _shape(n: int) -> tuple[int, int]:
    columns = min(4096, n // 8)
    return n // columns, columns


def quantize_case(roof: Roof, target_name: str, packed: bool, spread: str, n: int, threads: int) -> Case:
    """Return a QuantizeLinear of float32."""
    target, shape = lp.formats[target_name], _shape(n)
    case = Case(f"quantize float32 → {target_name}{' packed' if packed else ''}, {spread}")
    x = random_input(lp.formats["float32"], n).reshape(shape)
    scale, options = _scales(spread, *shape)
    ours = aligned(n * target.bits // 8) if packed else aligned(n).view(target.dtype).reshape(shape)
    _roofs(case, roof, x, ours, n, threads)
    zero = np.zeros(scale.shape, target.dtype)
    case.calls["lowprec"] = lambda: lp.quantize_linear(x, scale, zero, packed=packed, out=ours, **options)
    expected = lp.quantize_linear(x, scale, zero, packed=packed, **options)
    expected = expected.view(np.uint8)
    theirs = np.empty(n * target.bits // 8, np.uint8)
    codes = lp.pack(zero, target) if packed else zero.view(np.uint8)
    single = lp.formats["float32"]
    inputs = [(x, single, shape), (scale, single, scale.shape), (codes, target, scale.shape)]
    call = _ort_call("QuantizeLinear", inputs, options, theirs, shape, target, threads)
    _check(case, "ONNX Runtime", call, lambda: theirs.reshape(expected.shape), expected)
    if target.is_integer and target.bits == 8:
        factor = scale[:, None] if spread == "axis 0" else np.repeat(scale, 32, 1) if "block" in spread else scale
        plain = np.empty(shape, np.int8)

        def by_numpy() -> None:
            plain[...] = np.clip(np.rint(x / factor), -128, 127)

        _check(case, "NumPy", by_numpy, lambda: plain.view(np.uint8), expected)
    torch = module("torch")
    if torch is not None and target_name == "int8" and "block" not in spread:
        tensor, scales = torch.from_numpy(x), torch.from_numpy(np.atleast_1d(scale))
        zeros = torch.zeros(scales.shape, dtype=torch.int64)

        def by_torch() -> Any:
            if spread == "tensor":
                return torch.quantize_per_tensor(tensor, float(scale), 0, torch.qint8)
            return torch.quantize_per_channel(tensor, scales, zeros, options["axis"], torch.qint8)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that these are deprecated
            _check(case, "torch", by_torch, lambda: by_torch().int_repr().numpy().view(np.uint8), expected)
    return case


def dequantize_case(roof: Roof, source_name: str, packed: bool, spread: str, n: int, threads: int) -> Case:
    """Return a DequantizeLinear to float32."""
    source, shape, single = lp.formats[source_name], _shape(n), lp.formats["float32"]
    case = Case(f"dequantize {source_name}{' packed' if packed else ''} → float32, {spread}")
    values = lp.cast(random_input(single, n), source).reshape(shape)
    x = lp.pack(values, source) if packed else values
    scale, options = _scales(spread, *shape)
    ours = aligned(4 * n).view(np.float32).reshape(shape)
    _roofs(case, roof, x, ours, n, threads)
    more = {"source": source, "packed": True, "shape": shape} if packed else {}
    case.calls["lowprec"] = lambda: lp.dequantize_linear(x, scale, out=ours, **options, **more)
    expected = lp.dequantize_linear(x, scale, **options, **more).view(np.uint32)
    theirs = np.empty(shape, np.float32)
    inputs = [(x.view(np.uint8), source, shape), (scale, single, scale.shape)]
    call = _ort_call("DequantizeLinear", inputs, options, theirs, shape, single, threads)
    _check(case, "ONNX Runtime", call, lambda: theirs.view(np.uint32), expected)
    factor = np.repeat(scale, 32, 1) if "block" in spread else scale
    plain = np.empty(shape, np.float32)
    _check(
        case, "NumPy", lambda: np.multiply(values.astype(np.float32), factor, out=plain),
        lambda: plain.view(np.uint32), expected,
    )  # fmt: skip
    return case
