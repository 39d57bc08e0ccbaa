"""The peers of the timed rows: each carries out a row on the same arrays, and is checked for equal bits before.

A package that is not installed, or has no such types, is left out. Where a library has no rounding to a narrow format,
it is written with the array operations of torch or JAX, as its users do (`encode_by_arithmetic`). CPFloat has no Python
package: the environment variable `CPFLOAT` names the folder `src` of north-numerical-computing/cpfloat, and `PCG` that
of imneme/pcg-c, built, whose random numbers CPFloat recommends; without it they are those of C's `rand`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import timing
from timing import Contender, aligned, calls

import lowprec as lp
from lowprec.spec.formats import NaNRule

if TYPE_CHECKING:
    from rows import Arrays, Row

PEERS = ("torch", "torch.compile", "ONNX Runtime", "JAX", "NumPy", "NumKong", "ggml")
"""The columns of conversions; NumPy casts to the dtypes of ml_dtypes."""
ROUNDING_PEERS = ("torch", "torch.compile", "JAX", "gfloat", "CPFloat", "pychop", "APyTypes")
BLOCK_PEERS = ("torchao", "torchao compiled", "JAX", "gfloat", "ggml")
SLOW, FEW = 1 << 20, 1 << 12
"""Elements that gfloat and pychop round, for more would take gigabytes of float64; that gfloat has in blocks."""
MX_BLOCK, NVFP4_BLOCK = 32, 16


@dataclass
class Peer:
    """A library that carries out a row. One that raises an error is left out."""

    name: str
    call: Callable[[], Any]
    codes: Callable[[], np.ndarray]
    """What the last call returned, as codes, packed or not."""
    elements: int = 0
    """How many it converts, from the first on; 0 for all."""
    compiled: bool = False
    """Whether the first call compiles, and the next one tells the time."""
    stochastic: bool = False
    """Whether it draws random numbers of its own, so that its codes are others."""


def has(package: str) -> bool:
    """Whether a package is installed."""
    return importlib.util.find_spec(package) is not None


def checked(row: Row, threads: int, verbose: bool) -> tuple[dict[str, Contender], dict[str, int], list[str]]:
    """Return the peers that run, how many elements each converts, and the names of those with other bits than ours."""
    row.ours()
    found, elements, other_bits = {}, {}, []
    for peer in row.peers():
        try:
            if peer.compiled:
                peer.call()
            start = timing.clock()
            peer.call()
            seconds = timing.clock() - start
            same = peer.stochastic or row.same(peer.codes())
        except Exception as error:  # what a peer raises for what it lacks is its own affair
            if verbose:
                print(f"{row.name}: {peer.name}: {type(error).__name__}: {str(error)[:200]}")
            continue
        if not same:
            other_bits.append(peer.name)
        found[peer.name] = calls(peer.call, limited=True, threads=threads, known=seconds, keep=peer)
        elements[peer.name] = peer.elements or row.elements
    return found, elements, other_bits


def of_conversion(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Yield every peer that is installed and has a conversion."""
    libraries = {
        "torch": _torch, "onnxruntime": _onnx_runtime, "jax": _jax, "numpy": _numpy, "numkong": _numkong,
        "pywhispercpp": _ggml,
    }  # fmt: skip
    for package, found in libraries.items():
        if has(package):
            yield from found(arrays, threads)


def _torch_tensor(x: np.ndarray, fmt: lp.Format) -> Any:
    import torch

    return torch.from_numpy(x.view(f"i{x.itemsize}")).view(getattr(torch, fmt.torch_name or ""))


def _torch(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Yield its operators or array arithmetic, and this arithmetic compiled; it packs no codes."""
    import torch

    row, source, target = arrays.row, arrays.source, arrays.target
    if not source.torch_name or not target.torch_name or row.packed or source.bits < 8 or target.bits < 8:
        return
    torch.set_num_threads(threads)
    x = _torch_tensor(arrays.values, source).reshape(arrays.grouped)
    out = _torch_tensor(arrays.another_output(), target)
    codes = out.view(getattr(torch, f"int{8 * out.element_size()}")).numpy() if target.bits > 1 else out.numpy()
    operands: list[Any] = [x, out]
    if row.granularity:
        operands += [torch.from_numpy(arrays.broadcastable(arrays.scale))]
        operands += [torch.from_numpy(arrays.broadcastable(arrays.zero).astype(np.float32))] * row.zero_points
    arithmetic = _torch_arithmetic(arrays)
    operator = _torch_operator(arrays)
    if operator is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that these operators are deprecated
            last: list[Any] = []
            yield Peer("torch", lambda: last.__setitem__(slice(None), [operator()]), lambda: last[0].int_repr().numpy())
    else:
        yield Peer("torch", lambda: arithmetic(*operands), lambda: codes)
    torch._dynamo.reset()  # it would compile one function for so many dtypes only
    compiled = torch.compile(arithmetic, fullgraph=True)
    yield Peer("torch.compile", lambda: compiled(*operands), lambda: codes, compiled=True)


def _torch_operator(arrays: Arrays) -> Callable[[], Any] | None:
    """Return torch's own operator for quantization to int8; its outputs are newly allocated."""
    import torch

    row, scale, zero = arrays.row, arrays.scale, arrays.zero
    if (row.operation, row.source, row.target) != ("quantize", "float32", "int8") or row.granularity == "block 32":
        return None
    x = torch.from_numpy(arrays.values)
    if not scale.shape:
        return lambda: torch.quantize_per_tensor(x, float(scale), int(zero), torch.qint8)
    scales, zeros = torch.from_numpy(scale), torch.from_numpy(zero.astype(np.int64))
    return lambda: torch.quantize_per_channel(x, scales, zeros, arrays.options["axis"], torch.qint8)


def _torch_arithmetic(arrays: Arrays) -> Callable[..., Any]:
    import torch

    row, target = arrays.row, arrays.target
    if row.operation == "cast":
        return lambda x, out: out.copy_(x)
    if row.operation == "dequantize":
        if row.zero_points:
            return lambda x, out, scale, zero: out.copy_((x.to(torch.float32) - zero) * scale)
        if row.source == "int8" and row.target == "float32":
            return lambda x, out, scale: out.copy_(x * scale)
        return lambda x, out, scale: out.copy_(x.to(torch.float32) * scale)
    if target.is_float:
        most = float(lp.finfo(target).max)
        return lambda x, out, scale: out.copy_((x.to(torch.float32) / scale).clamp(-most, most))
    low, high = lp.iinfo(target).min, lp.iinfo(target).max
    if row.zero_points:
        return lambda x, out, scale, zero: out.copy_((torch.round(x / scale) + zero).clamp(low, high))
    return lambda x, out, scale: out.copy_(torch.round(x.to(torch.float32) / scale).clamp(low, high))


def _onnx_runtime(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Yield the operator as a session on bound buffers."""
    import onnxruntime as ort
    from onnx import helper

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
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
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


_threads_of_jax: list[int] = []
"""XLA decides when its client is made: JAX takes part with the number of threads that was asked for first."""


def _jax_has(threads: int) -> bool:
    """Whether XLA has so many threads; the first call decides."""
    import jax

    if not _threads_of_jax:
        os.environ["NPROC"] = str(threads)  # XLA reads the size of its pool of threads here
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        _threads_of_jax.append(threads)
    return _threads_of_jax == [threads]


def _jax(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Yield arithmetic under `jax.jit`, whose outputs are newly allocated; it packs no codes."""
    import jax
    import jax.numpy as jnp

    row = arrays.row
    if not _jax_has(threads) or (row.packed and row.operation != "dequantize"):
        return
    try:
        operands = [jnp.asarray(arrays.values.reshape(arrays.grouped))]
        if row.granularity:
            operands.append(jnp.asarray(arrays.broadcastable(arrays.scale)))
            zero = arrays.broadcastable(arrays.zero).astype(np.float32)
            operands += [jnp.asarray(zero)] * row.zero_points
        arithmetic = jax.jit(_jax_arithmetic(arrays))
    except TypeError:  # a dtype that JAX lacks
        return
    last = []

    def call() -> None:
        last[:] = [arithmetic(*operands).block_until_ready()]

    yield Peer("JAX", call, lambda: np.asarray(last.pop()).view(arrays.target.code_dtype), compiled=True)


def _jax_arithmetic(arrays: Arrays) -> Callable[..., Any]:
    import jax.numpy as jnp

    row, dtype, single = arrays.row, arrays.target.dtype, np.float32
    if row.operation == "cast":
        return lambda x: x.astype(dtype)
    if row.operation == "dequantize":
        if row.zero_points:
            return lambda x, scale, zero: ((x.astype(single) - zero) * scale).astype(dtype)
        return lambda x, scale: (x.astype(single) * scale).astype(dtype)
    if arrays.target.is_float:
        most = float(lp.finfo(arrays.target).max)
        return lambda x, scale: jnp.clip(x.astype(single) / scale, -most, most).astype(dtype)
    low, high = lp.iinfo(arrays.target).min, lp.iinfo(arrays.target).max
    if row.zero_points:
        return lambda x, scale, zero: jnp.clip(jnp.round(x / scale) + zero, low, high).astype(dtype)
    return lambda x, scale: jnp.clip(jnp.round(x.astype(single) / scale), low, high).astype(dtype)


def _numpy(arrays: Arrays, _threads: int) -> Iterator[Peer]:
    """Yield casts to the dtypes of ml_dtypes; quantization by arithmetic, where NumPy has the types."""
    row, target = arrays.row, arrays.target
    if row.operation == "cast":
        out = arrays.another_output()

        def call() -> None:
            with np.errstate(all="ignore"):
                np.copyto(out, arrays.values, casting="unsafe")

        yield Peer("NumPy", call, lambda: out)
        return
    if row.source not in ("float32", "int8", "int4", "float8_e4m3fn") or row.target not in ("float32", "int8"):
        return
    out = arrays.another_output()
    scale, x = arrays.broadcastable(arrays.scale), arrays.values.reshape(arrays.grouped)
    zero = arrays.broadcastable(arrays.zero).astype(np.float32)
    if row.operation == "quantize":
        held = lp.iinfo(target)

        def quantize() -> None:
            y = np.rint(x / scale)
            if row.zero_points:
                y += zero
            out[...] = np.clip(y, held.min, held.max)

        yield Peer("NumPy", quantize, lambda: out)
        return

    def dequantize() -> None:
        y = x.astype(np.float32)
        if row.zero_points:
            y -= zero
        np.multiply(y, scale, out=out)

    yield Peer("NumPy", dequantize, lambda: out)


NUMKONG_NAMES = {
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2",
    **{name: name for name in ("float64", "float32", "float16", "bfloat16", "int8", "int64")},
}


def _numkong(arrays: Arrays, _threads: int) -> Iterator[Peer]:
    """Yield its casts of arrays; it has no scales for these."""
    import numkong

    row = arrays.row
    if row.operation != "cast" or row.packed or row.source not in NUMKONG_NAMES or row.target not in NUMKONG_NAMES:
        return
    out = arrays.another_output()

    def tensor(array: np.ndarray, name: str) -> numkong.Tensor:
        return numkong.from_pointer(array.ctypes.data, array.shape, NUMKONG_NAMES[name], owner=array)

    read, written = tensor(arrays.values, row.source), tensor(out, row.target)
    yield Peer("NumKong", lambda: numkong.astype(read, NUMKONG_NAMES[row.target], out=written), lambda: out)


GGML_FUNCTIONS = {
    ("float32", "bfloat16"): "ggml_cpu_fp32_to_bf16",
    ("float32", "float16"): "ggml_cpu_fp32_to_fp16",
    ("bfloat16", "float32"): "ggml_cpu_bf16_to_fp32",
    ("float16", "float32"): "ggml_cpu_fp16_to_fp32",
}


@functools.cache
def _ggml_library(name: str) -> ctypes.CDLL:
    """Return `base` or `cpu` of the libraries that pywhispercpp brings, with the tables that it makes at its start."""
    found = importlib.util.find_spec("pywhispercpp")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parents[1]
    for path in sorted([*folder.glob(f"pywhispercpp.libs/libggml-{name}*"), *folder.glob(f"libggml-{name}.so")]):
        loaded = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        if name == "cpu":
            loaded.ggml_cpu_init()
        return loaded
    raise ImportError(f"there is no libggml-{name} in {folder}")


def ggml_block_call(name: str, source: np.ndarray, target: np.ndarray, n: int) -> Callable[[], Any] | None:
    """Return a call of `quantize_row_…`, by kernels for the processor, or `dequantize_row_…`; None without ggml."""
    if not has("pywhispercpp"):
        return None
    _ggml_library("base")
    function = _ggml_library("base" if name.startswith("dequantize") else "cpu")[name]
    arguments = (ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data), ctypes.c_int64(n))
    return functools.partial(function, *arguments)


def _ggml(arrays: Arrays, _threads: int) -> Iterator[Peer]:
    """Yield its conversion of rows between float32 and 16 bits."""
    row = arrays.row
    name = GGML_FUNCTIONS.get((row.source, row.target)) if row.operation == "cast" else None
    if name is None:
        return
    _ggml_library("base")
    out = arrays.another_output()
    function = _ggml_library("cpu")[name]
    arguments = (ctypes.c_void_p(arrays.values.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(arrays.n))
    yield Peer("ggml", lambda: function(*arguments), lambda: out)


WHICH_GROWS = {
    "nearest_even": lambda nu, odd, negative: (nu > 0.5) | ((nu == 0.5) & odd),
    "nearest_away": lambda nu, odd, negative: nu >= 0.5,
    "nearest_zero": lambda nu, odd, negative: nu > 0.5,
    "toward_zero": lambda nu, odd, negative: nu < 0,
    "away_from_zero": lambda nu, odd, negative: nu > 0,
    "toward_positive": lambda nu, odd, negative: (nu > 0) & ~negative,
    "toward_negative": lambda nu, odd, negative: (nu > 0) & negative,
    "to_odd": lambda nu, odd, negative: (nu > 0) & ~odd,
}
"""Whether a magnitude becomes the next one, from the fraction of the gap above it and the parity of its code."""


class TorchArithmetic:
    """What the arithmetic needs of torch."""

    def __init__(self) -> None:
        self.xp: Any = importlib.import_module("torch")

    def bits(self, x: Any) -> Any:
        """Return float32 numbers as int32 bits."""
        return x.view(self.xp.int32)

    def numbers(self, bits: Any) -> Any:
        """Return int32 bits as float32 numbers."""
        return bits.view(self.xp.float32)

    def to(self, x: Any, dtype: str) -> Any:
        """Return another dtype."""
        return x.to(getattr(self.xp, dtype))

    def least(self, x: Any, limit: float) -> Any:
        """Return what lies above a limit as the limit."""
        return x.clamp(max=limit)

    def most(self, x: Any, limit: float) -> Any:
        """Return what lies below a limit as the limit."""
        return x.clamp(min=limit)

    def random(self, x: Any, bits: int) -> Any:
        """Return an integer of so many random bits for each element, as float32."""
        return self.xp.randint(0, 1 << bits, x.shape, dtype=self.xp.int64 if bits > 24 else self.xp.int32)


class JaxArithmetic:
    """What the arithmetic needs of JAX."""

    def __init__(self) -> None:
        self.xp: Any = importlib.import_module("jax.numpy")
        self._jax: Any = importlib.import_module("jax")
        self.key = self._jax.random.key(0)

    def bits(self, x: Any) -> Any:
        """Return float32 numbers as int32 bits."""
        return self._jax.lax.bitcast_convert_type(x, self.xp.int32)

    def numbers(self, bits: Any) -> Any:
        """Return int32 bits as float32 numbers."""
        return self._jax.lax.bitcast_convert_type(bits, self.xp.float32)

    def to(self, x: Any, dtype: str) -> Any:
        """Return another dtype."""
        return x.astype(dtype)

    def least(self, x: Any, limit: float) -> Any:
        """Return what lies above a limit as the limit."""
        return self.xp.minimum(x, limit)

    def most(self, x: Any, limit: float) -> Any:
        """Return what lies below a limit as the limit."""
        return self.xp.maximum(x, limit)

    def random(self, x: Any, bits: int) -> Any:
        """Return an integer of so many random bits for each element, as float32."""
        slot = "uint8" if bits <= 8 else "uint16" if bits <= 16 else "uint32"
        return self._jax.random.bits(self.key, x.shape, slot)


def encode_by_arithmetic(
    ops: Any, x: Any, fmt: lp.Format, mode: str, random_bits: int = 0, packed: bool = False
) -> Any:
    """Return the codes of float32 numbers, saturated; exponents of the format must be well within float32's.

    A stochastic mode is "stochastic_b" with the library's own random numbers, of 24 bits at most that matter.
    """
    width, least_exponent = fmt.mantissa_bits, 1 - fmt.bias
    magnitudes = ops.least(abs(x), float(fmt.max))
    exponents = ops.most((ops.bits(magnitudes) >> 23) - 127, least_exponent)
    scaled = magnitudes * ops.numbers((127 + width - exponents) << 23)
    lower = ops.xp.floor(scaled)
    fraction = scaled - lower
    codes = ops.to(lower, "int32") + ((exponents - least_exponent) << width)
    negative = ops.xp.signbit(x)
    if random_bits:
        places = min(random_bits, 24)
        grows = fraction + (ops.random(x, places) + 0.5) * 2.0**-places >= 1
    else:
        grows = WHICH_GROWS[mode](fraction, (codes & 1) == 1, negative)
    codes = ops.least(codes + grows, fmt.max_code)
    if fmt.nan_code is not None:
        codes = ops.xp.where(ops.xp.isnan(x), fmt.nan_code, codes)
    codes = ops.to(codes | (ops.to(negative, "int32") << (fmt.bits - 1)), "uint8")
    return codes[..., 0::2] | (codes[..., 1::2] << 4) if packed else codes


def of_rounding(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Iterator[Peer]:
    """Yield the peers that have a rounding; arithmetic has every one."""
    options = {"fmt": fmt, "mode": mode, "random_bits": random_bits, "packed": packed}
    if has("torch"):
        yield from _torch_rounding(x, **options)
    if has("jax"):
        yield _jax_rounding(x, **options)
    if has("gfloat"):
        yield from _gfloat_rounding(x[:SLOW], fmt, mode, random_bits, packed)
    if os.environ.get("CPFLOAT") and mode in CPFLOAT_MODES:
        yield _cpfloat(x, fmt, mode, random_bits, packed)
    if has("apytypes"):
        yield from _apytypes(x, fmt, mode)
    if has("pychop"):
        yield from _pychop(x[:SLOW], fmt, mode, random_bits)


def _torch_rounding(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Iterator[Peer]:
    import torch

    torch.set_num_threads(1)
    tensor, ops, last = torch.from_numpy(x), TorchArithmetic(), []

    def arithmetic(tensor: Any) -> Any:
        return encode_by_arithmetic(ops, tensor, fmt, mode, random_bits, packed)

    if mode == "nearest_even" and fmt.torch_name and not packed:
        dtype, most = getattr(torch, fmt.torch_name), float(fmt.max)

        def arithmetic(tensor: Any) -> Any:
            return tensor.clamp(-most, most).to(dtype).view(torch.uint8)

    def codes() -> np.ndarray:
        return np.asarray(last[0].numpy())

    yield Peer(
        "torch", lambda: last.__setitem__(slice(None), [arithmetic(tensor)]), codes, stochastic=bool(random_bits)
    )
    torch._dynamo.reset()
    compiled = torch.compile(arithmetic, fullgraph=True)
    call = functools.partial(lambda: last.__setitem__(slice(None), [compiled(tensor)]))
    yield Peer("torch.compile", call, codes, compiled=True, stochastic=bool(random_bits))


def _jax_rounding(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Peer:
    import jax

    ops, last = JaxArithmetic(), []
    array = jax.numpy.asarray(x)
    compiled = jax.jit(lambda array: encode_by_arithmetic(ops, array, fmt, mode, random_bits, packed))

    def call() -> None:
        last[:] = [compiled(array).block_until_ready()]

    return Peer("JAX", call, lambda: np.asarray(last[0]), compiled=True, stochastic=bool(random_bits))


def _gfloat_rounding(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Iterator[Peer]:
    from gfloat import RoundMode, encode_ndarray, round_ndarray

    from lowprec.conformance.libraries import Gfloat

    modes = {
        "nearest_even": RoundMode.TiesToEven, "nearest_away": RoundMode.TiesToAway,
        "toward_zero": RoundMode.TowardZero, "toward_positive": RoundMode.TowardPositive,
        "toward_negative": RoundMode.TowardNegative, "stochastic": RoundMode.StochasticFast,
    }  # fmt: skip
    if mode not in modes or packed:
        return
    info = Gfloat().format_info(fmt)
    rng, last = np.random.default_rng(0), []

    def call() -> None:
        bits = {"srbits": rng.integers(0, 1 << random_bits, x.size), "srnumbits": random_bits} if random_bits else {}
        rounded = round_ndarray(info, x.astype(np.float64), modes[mode], sat=True, **bits)
        last[:] = [encode_ndarray(info, rounded)]

    yield Peer("gfloat", call, lambda: last[0].astype(fmt.code_dtype), x.size, True, stochastic=bool(random_bits))


def _cpfloat(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int, packed: bool) -> Peer:
    out = np.zeros_like(x)

    def codes() -> np.ndarray:
        return lp.encode(out, fmt, packed=packed)

    return Peer("CPFloat", lambda: _cpfloat_rounded(x, out, fmt, mode), codes, 0, True, stochastic=bool(random_bits))


APYTYPES_MODES = {
    "nearest_even": "TIES_EVEN", "nearest_away": "TIES_AWAY", "nearest_zero": "TIES_ZERO", "toward_zero": "TO_ZERO",
    "away_from_zero": "TO_AWAY", "toward_positive": "TO_POS", "toward_negative": "TO_NEG", "to_odd": "JAM_UNBIASED",
    "stochastic": "STOCH_WEIGHTED",
}  # fmt: skip


def _apytypes(x: np.ndarray, fmt: lp.Format, mode: str) -> Iterator[Peer]:
    import apytypes

    if fmt.nan is not NaNRule.IEEE or mode not in APYTYPES_MODES:
        return
    some, last = x[:SLOW], []
    single = apytypes.APyFloatArray.from_bits(some.view(np.uint32), 8, 23)
    quantization = getattr(apytypes.QuantizationMode, APYTYPES_MODES[mode])

    def call() -> None:
        last[:] = [single.cast(fmt.exponent_bits, fmt.mantissa_bits, quantization=quantization)]

    def codes() -> np.ndarray:
        return np.asarray(last[0].to_bits(numpy=True)).astype(fmt.code_dtype)

    yield Peer("APyTypes", call, codes, some.size, stochastic=mode == "stochastic")


def _pychop(x: np.ndarray, fmt: lp.Format, mode: str, random_bits: int) -> Iterator[Peer]:
    from pychop import p3109

    mode = "stochastic_b" if random_bits else mode
    if not fmt.name.startswith("binary") or mode in ("nearest_zero", "away_from_zero"):
        return
    peer = p3109.P3109Format(fmt.bits, fmt.mantissa_bits + 1, fmt.signed, "extended" if fmt.has_inf else "finite")
    rng, last = np.random.default_rng(0), []

    def call() -> None:
        bits = rng.integers(0, 1 << random_bits, x.size) if random_bits else None
        last[:] = [p3109.p3109_encode(x, peer, rounding=mode, saturate="finite", srbits=bits, srnumbits=random_bits)]

    yield Peer("pychop", call, lambda: last[0], x.size, True, stochastic=bool(random_bits))


CPFLOAT_MODES = {
    "nearest_away": -1, "nearest_zero": 0, "nearest_even": 1, "toward_positive": 2, "toward_negative": 3,
    "toward_zero": 4, "stochastic": 5, "to_odd": 7,
}  # fmt: skip
"""Its numbers of the roundings; it has no `away_from_zero`."""

CPFLOAT_SOURCE = """
#include <stdlib.h>
#include "cpfloat_binary32.h"
int round_array(float *y, const float *x, size_t n, int precision, int emin, int emax, int mode) {
    static optstruct *options;
    if (!options) options = init_optstruct();
    options->precision = precision, options->emin = emin, options->emax = emax, options->round = mode;
    options->explim = CPFLOAT_EXPRANGE_TARG, options->subnormal = CPFLOAT_SUBN_USE, options->flip = CPFLOAT_SOFTERR_NO;
    options->saturation = CPFLOAT_SAT_USE, options->infinity = CPFLOAT_INF_USE;
    return cpfloatf(y, x, n, options);
}
"""


@functools.cache
def _cpfloat_library() -> ctypes.CDLL:
    pcg = os.environ.get("PCG")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "cpf.c")
        source.write_text(CPFLOAT_SOURCE, encoding="utf-8")
        generator = ["-include", f"{pcg}/include/pcg_variants.h"] if pcg else []
        flags = ["-O3", "-march=native", "-std=gnu99", "-w", f"-I{os.environ['CPFLOAT']}", *generator]
        more = (*([f"{pcg}/src/libpcg_random.a"] if pcg else []), "-lm")
        loaded = timing.compiled(source, Path(folder, "cpf.so"), flags, more)
    loaded.round_array.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 4]
    return loaded


def _cpfloat_rounded(x: np.ndarray, out: np.ndarray, fmt: lp.Format, mode: str) -> None:
    """Round float32 numbers to the values of a format; beyond its range to those of all exponents up to the largest."""
    largest = int(np.frexp(float(fmt.max))[1]) - 1
    shape = fmt.mantissa_bits + 1, 1 - fmt.bias, largest
    if _cpfloat_library().round_array(out.ctypes.data, x.ctypes.data, x.size, *shape, CPFLOAT_MODES[mode]):
        raise ValueError(f"CPFloat refuses {fmt.name}, {mode}")


TORCHAO_ELEMENTS = {"float6_e2m3fn": "fp6_e2m3", "float6_e3m2fn": "fp6_e3m2", "float4_e2m1fn": "float4_e2m1fn_x2"}
TORCHAO_RULES = ("floor", "ceil", "even", "rceil")


def of_mx_blocks(x: np.ndarray, element: str, rule: str) -> Iterator[Peer]:
    """Yield the peers that make MX blocks along the last axis by a scale rule, rounded to nearest even."""
    if has("torchao") and rule in TORCHAO_RULES:
        yield from _torchao(x, functools.partial(_torchao_mx, element, rule))
    if has("jax") and rule == "floor":
        yield _jax_blocks(x, element)
    if has("gfloat") and rule == "floor":
        yield _gfloat_blocks(x, element)


def of_nvfp4_blocks(x: np.ndarray, global_scale: float | None) -> Iterator[Peer]:
    """Yield the peers that make NVFP4 blocks; codes differ by the rule of the scales."""
    if has("torchao"):
        yield from _torchao(x, functools.partial(_torchao_nvfp4, global_scale))


def _torchao_mx(element: str, rule: str, tensor: Any) -> Any:
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx

    name = TORCHAO_ELEMENTS.get(element, element)
    scales, codes = to_mx(tensor, getattr(torch, name, name), MX_BLOCK, ScaleCalculationMode(rule))
    return scales.view(torch.uint8), codes  # inductor has no e8m0 on the CPU, and can do without it so


def _torchao_nvfp4(global_scale: float | None, tensor: Any) -> Any:
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    found = global_scale is None
    scale = per_tensor_amax_to_scale(tensor.abs().max()) if found else torch.tensor(global_scale)
    return nvfp4_quantize(tensor, NVFP4_BLOCK, scale)


def _torchao(x: np.ndarray, convert: Any) -> Iterator[Peer]:
    import torch

    logging.disable()  # pages about what inductor lacks
    torch.set_num_threads(1)
    tensor, last = torch.from_numpy(x), []

    def codes() -> np.ndarray:
        return np.asarray(last[0][1].view(torch.uint8).numpy())

    yield Peer("torchao", lambda: last.__setitem__(slice(None), [convert(tensor)]), codes, compiled=True)
    torch._dynamo.reset()
    compiled = torch.compile(convert)
    yield Peer("torchao compiled", lambda: last.__setitem__(slice(None), [compiled(tensor)]), codes, compiled=True)


def _jax_blocks(x: np.ndarray, element: str) -> Peer:
    import jax

    fmt, ops, last = lp.formats[element], JaxArithmetic(), []
    largest_exponent = int(np.frexp(float(fmt.max))[1]) - 1

    def blocks(x: Any) -> Any:
        grouped = x.reshape(x.shape[0], -1, MX_BLOCK)
        absmax = abs(grouped).max(axis=-1, keepdims=True)
        exponents = ops.most((ops.bits(absmax) >> 23) - 127 - largest_exponent, -127)
        scaled = grouped * ops.numbers((127 - exponents) << 23)
        codes = encode_by_arithmetic(ops, scaled.reshape(x.shape), fmt, "nearest_even", packed=fmt.bits == 4)
        return codes, ops.to(exponents + 127, "uint8")

    array, compiled = jax.numpy.asarray(x), jax.jit(blocks)

    def call() -> None:
        last[:] = [jax.block_until_ready(compiled(array))]

    return Peer("JAX", call, lambda: np.asarray(last[0][0]), compiled=True)


def _gfloat_blocks(x: np.ndarray, element: str) -> Peer:
    from gfloat import BlockFormatInfo, compute_scale_amax, encode_block
    from gfloat.formats import format_info_ocp_e8m0

    from lowprec.conformance.libraries import Gfloat

    fmt, last = lp.formats[element], []
    info = BlockFormatInfo(element, Gfloat().format_info(fmt), MX_BLOCK, format_info_ocp_e8m0)
    few = x.reshape(-1)[:FEW].astype(np.float64).reshape(-1, MX_BLOCK)

    def call() -> None:
        last.clear()
        for block in few:
            scale = compute_scale_amax(info.etype.emax, block)
            last.extend(list(encode_block(info, scale, block / scale))[1:])

    def codes() -> np.ndarray:
        elements = np.array(last, np.uint8)
        return lp.pack(elements, fmt) if fmt.bits == 4 else elements

    return Peer("gfloat", call, codes, FEW, compiled=True)
