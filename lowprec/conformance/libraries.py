"""The installed libraries, each behind one method that runs a call of an ONNX operator or declines it."""

from __future__ import annotations

import ctypes
import importlib
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import metadata
from types import MappingProxyType
from typing import Any

import numpy as np

from .._kernels import available_isas, isa, use_isa
from ..ops import cast
from ..ops.encode_pack import encode
from ..ops.mx import mx_quantize
from ..ops.quantize_linear import onnx_dequantize_linear, onnx_quantize_linear
from ..reference.philox import random_words
from ..reference.whole_arrays import Codes
from ..spec.formats import (
    BFLOAT16,
    FLOAT6_E2M3FN,
    FLOAT6_E3M2FN,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    ONNX_NUMERIC,
    Format,
    Kind,
    NaNRule,
    as_format,
)
from ..spec.operator_versions import NEWEST
from .cast_cases import ENCODE, SCALE, Call, Tensor, mx_elements

__all__ = ["Library", "installed"]


class Declined(Exception):  # noqa: N818  nothing is wrong: the library does not offer the call
    """The library has no such operator, type or attribute."""


class Library(ABC):
    """One column of the report."""

    title = ""
    package = ""
    """The distribution that holds it and knows its version."""
    remark = ""
    """A note on its column."""

    newest: int | None = None
    """The newest opset it knows, where it knows opsets; calls of a newer one are made at that one."""
    offers_all = False
    """Whether an error counts as a wrong result."""

    @property
    def version(self) -> str:
        """The installed version."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:  # brought by a distribution of another name
            return str(getattr(importlib.import_module(self.package), "__version__", "?"))

    @abstractmethod
    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the codes of the result, once for each way the library has to compute it; raise Declined."""


def check_opset(call: Call) -> None:
    """Decline the rules of an older opset, for a library that knows none."""
    if call.opset != NEWEST:
        raise Declined("rules of an older opset")


_BLOCK = 32
_SEED = 0


def _numbers(call: Call, operator: str = ENCODE) -> Codes:
    """Return the float32 input of a call, or decline another operator."""
    if call.operator != operator or call.inputs[0] is None:
        raise Declined(call.operator)
    return call.inputs[0].array


def _blocks(call: Call) -> Codes:
    """Return blocks whose largest magnitudes are the inputs; the other elements are 0."""
    largest = _numbers(call, SCALE)
    return np.concatenate([largest[:, None], np.zeros((largest.size, _BLOCK - 1), np.float32)], axis=1)


def lowprec_codes(call: Call) -> Any:
    """Return what lowprec gives; where a random number is wanted, x is put where a stream has it."""
    options = dict(call.attributes)
    if call.operator == SCALE:
        _, scales = mx_quantize(_blocks(call), options.pop("element"), block_size=_BLOCK, **options)
        return scales[:, 0]
    x = _numbers(call)
    random = options.pop("random", None)
    if random is None:
        return encode(x, call.target, **options).view(call.target.dtype)
    bits = options["random_bits"]
    drawn = random_words(_SEED, 0, (8 + 2 * x.size) << bits, bits)
    places = np.flatnonzero(drawn == random)[: x.size]
    spread = np.zeros(drawn.shape, x.dtype)
    spread[places] = x
    return encode(spread, call.target, seed=_SEED, **options)[places].view(call.target.dtype)


def gfloat_codes(gfloat: Any, info: Any, call: Call) -> Codes:
    """Return what gfloat gives; `info` is its description of the target."""
    if call.operator == SCALE:
        if call.attributes["scale_rule"] != "floor":
            raise Declined("a scale rule")
        emax = int(np.frexp(float(as_format(call.attributes["element"]).max))[1]) - 1
        scales = [gfloat.compute_scale_amax(emax, block) for block in _blocks(call).astype(np.float64)]
        codes: Codes = gfloat.encode_ndarray(info, np.array(scales)).astype(np.uint8)
        return codes
    mode = gfloat.RoundMode
    modes = {
        "nearest_even": mode.TiesToEven, "nearest_away": mode.TiesToAway, "toward_zero": mode.TowardZero,
        "toward_positive": mode.TowardPositive, "toward_negative": mode.TowardNegative,
        "stochastic_a": mode.StochasticFastest, "stochastic_b": mode.StochasticFast, "stochastic_c": mode.Stochastic,
    }  # fmt: skip
    x, options = _numbers(call).astype(np.float64), call.attributes
    overflow = options.get("overflow", "sat_finite")
    if options["rounding"] not in modes or overflow == "sat_propagate":
        raise Declined("a rule")
    random = {}
    if "random" in options:
        random = {"srbits": np.full(x.shape, options["random"]), "srnumbits": options["random_bits"]}
    rounded = gfloat.round_ndarray(info, x, modes[options["rounding"]], sat=overflow == "sat_finite", **random)
    found: Codes = gfloat.encode_ndarray(info, rounded).astype(call.target.code_dtype)
    return found


class Pychop(Library):
    """pychop's formats of IEEE P3109."""

    title = package = "pychop"
    remark = "`p3109_encode`; formats of IEEE P3109 alone, with one NaN"

    def __init__(self) -> None:
        self._p3109: Any = importlib.import_module("pychop.p3109")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the codes of `p3109_encode`."""
        x, options = _numbers(call), call.attributes
        named = re.fullmatch(r"binary(\d+)p(\d+)([su])([ef])", call.target.name)
        if named is None:
            raise Declined(call.target.name)
        width, precision, sign, domain = named.groups()
        fmt = self._p3109.P3109Format(int(width), int(precision), sign == "s", {"e": "extended", "f": "finite"}[domain])
        saturate = {"sat_finite": "finite", "sat_propagate": "propagate", "ovf_inf": "none"}
        random = {"srbits": options["random"], "srnumbits": options["random_bits"]} if "random" in options else {}
        rule = saturate[options.get("overflow", "sat_finite")]
        yield self._p3109.p3109_encode(x, fmt, rounding=options["rounding"], saturate=rule, **random)


class Apytypes(Library):
    """APyTypes' floating-point arrays: formats as IEEE's, whose overflow is Inf."""

    title, package = "APyTypes", "apytypes"
    remark = (
        "`APyFloatArray.cast`; formats with Inf as IEEE's alone, overflow as `ovf_inf`; `to_odd` is its JAM_UNBIASED"
    )

    def __init__(self) -> None:
        self._apytypes: Any = importlib.import_module("apytypes")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the bits of the cast array."""
        x, target = _numbers(call), call.target
        mode = self._apytypes.QuantizationMode
        modes = {
            "nearest_even": mode.TIES_EVEN, "nearest_away": mode.TIES_AWAY, "nearest_zero": mode.TIES_ZERO,
            "toward_zero": mode.TO_ZERO, "away_from_zero": mode.TO_AWAY, "toward_positive": mode.TO_POS,
            "toward_negative": mode.TO_NEG, "to_odd": mode.JAM_UNBIASED,
        }  # fmt: skip
        rounding = call.attributes["rounding"]
        if not _is_ieee(target) or rounding not in modes or call.attributes.get("overflow", "ovf_inf") != "ovf_inf":
            raise Declined("a format or a rule")
        single = self._apytypes.APyFloatArray.from_bits(x.view(np.uint32).astype(np.uint64), 8, 23)
        found = single.cast(target.exponent_bits, target.mantissa_bits, quantization=modes[rounding])
        yield np.asarray(found.to_bits(numpy=True)).astype(target.code_dtype)


def _is_ieee(fmt: Format) -> bool:
    return fmt.signed and fmt.has_inf and fmt.nan is NaNRule.IEEE and fmt.bias == 2 ** (fmt.exponent_bits - 1) - 1


class Torchao(Library):
    """torchao's `to_mx`, on the CPU."""

    title = package = "torchao"
    remark = "`to_mx` on the CPU, not compiled"

    def __init__(self) -> None:
        logging.getLogger("torchao").setLevel(logging.ERROR)  # that its libraries for GPUs do not load
        self._mx: Any = importlib.import_module("torchao.prototype.mx_formats.mx_tensor")
        self._rules: Any = importlib.import_module("torchao.prototype.mx_formats.config").ScaleCalculationMode
        self._torch: Any = importlib.import_module("torch")

    def _element(self, fmt: Format) -> Any:
        """Return its name of an element format: a dtype of torch, of packed pairs below 6 bits; a text for 6 bits."""
        if fmt.bits == 6:
            return f"fp6_e{fmt.exponent_bits}m{fmt.mantissa_bits}"
        return getattr(self._torch, fmt.torch_name or f"{fmt.name}_x2")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the scales of blocks."""
        blocks = self._torch.from_numpy(_blocks(call))
        rule = self._rules(call.attributes["scale_rule"])
        element = as_format(call.attributes["element"])
        assert element in mx_elements()
        scales, _ = self._mx.to_mx(blocks, self._element(element), _BLOCK, rule)
        yield scales.view(self._torch.uint8).numpy()[:, 0]


def _codes(result: Any, target: Format) -> Codes:
    """Return the codes of a NumPy result; ml_dtypes leaves what lies above a narrow code as it came."""
    array = np.asarray(result)
    if target.kind is Kind.STRING:
        return array.astype(object)
    if array.dtype != target.dtype:
        raise Declined(f"gives {array.dtype} for {target.name}")
    codes: Codes = np.ascontiguousarray(array).view(target.code_dtype) & np.array(target.code_mask, target.code_dtype)
    return codes


class Lowprec(Library):
    """The package itself, with the loops of every instruction set that the machine has."""

    title = package = "lowprec"
    newest = NEWEST
    offers_all = True

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the codes by every instruction set."""
        active = isa()
        try:
            for name in available_isas():
                use_isa(name)
                yield _codes(self._run(call), call.target)
        finally:
            use_isa(active)

    def _run(self, call: Call) -> Any:
        if call.operator in (ENCODE, SCALE):
            return lowprec_codes(call)
        arrays = [None if one is None else one.array for one in call.inputs]
        attributes = dict(call.attributes)
        if call.operator in ("Cast", "BitCast"):
            convert: Any = {"Cast": cast.cast, "BitCast": cast.bitcast}[call.operator]
            return convert(arrays[0], attributes.pop("to"), opset=call.opset, **attributes)
        linear: Any = {"QuantizeLinear": onnx_quantize_linear, "DequantizeLinear": onnx_dequantize_linear}
        return linear[call.operator](*arrays, opset=call.opset, **attributes)


class Numpy(Library):
    """NumPy's astype, with the dtypes of ml_dtypes."""

    title, package = "ml_dtypes", "ml_dtypes"
    remark = f"`astype` of NumPy {np.__version__}; it has no `saturate` and no `round_mode`"

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the result of `astype`."""
        if call.operator not in ("Cast", "BitCast"):
            raise Declined(call.operator)
        check_opset(call)
        (x,) = call.inputs
        if x is None or (call.operator == "BitCast" and min(call.target.bits, x.fmt.bits) < 8):
            raise Declined("bits of narrow formats")
        array = x.array.astype(str) if x.fmt.kind is Kind.STRING else x.array
        if call.operator == "BitCast":
            yield _codes(array.view(call.target.dtype), call.target)
        else:
            yield _codes(array.astype(str if call.target.kind is Kind.STRING else call.target.dtype), call.target)


class Torch(Library):
    """Tensor.to of torch, on the CPU."""

    title = package = "torch"
    remark = "`Tensor.to` on the CPU; it has no `saturate` and no `round_mode`"

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")

    def _dtype(self, fmt: Format) -> Any:
        dtype = getattr(self._torch, fmt.torch_name or "", None)
        if dtype is None:
            raise Declined(fmt.name)
        return dtype

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the result of `Tensor.to`."""
        if call.operator not in ("Cast", "BitCast"):
            raise Declined(call.operator)
        check_opset(call)
        (x,) = call.inputs
        assert x is not None
        source, target = self._dtype(x.fmt), self._dtype(call.target)
        tensor = self._torch.from_numpy(x.codes.view(f"i{x.codes.itemsize}")).view(source)
        result = tensor.to(target) if call.operator == "Cast" else tensor.view(target)
        signed = getattr(self._torch, f"int{8 * result.element_size()}")
        yield result.view(signed).numpy().view(call.target.code_dtype)


class NumKong(Library):
    """NumKong's casts of arrays."""

    title, package = "NumKong", "numkong"
    remark = "`astype`; it has no `saturate` and no `round_mode`"
    _NAMES = MappingProxyType(
        {FLOAT8_E4M3FN: "e4m3", FLOAT8_E5M2: "e5m2", FLOAT6_E2M3FN: "e2m3", FLOAT6_E3M2FN: "e3m2"}
        | {fmt: fmt.name for fmt in (FLOAT64, FLOAT32, FLOAT16, BFLOAT16)}
        | {fmt: fmt.name for fmt in ONNX_NUMERIC if fmt.is_integer and fmt.bits >= 8}
    )

    def __init__(self) -> None:
        self._numkong: Any = importlib.import_module("numkong")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the result of `astype`."""
        if call.operator != "Cast":
            raise Declined(call.operator)
        check_opset(call)
        (x,) = call.inputs
        assert x is not None
        source, target = self._NAMES.get(x.fmt), self._NAMES.get(call.target)
        if source is None or target is None:
            raise Declined(f"{x.fmt.name} to {call.target.name}")
        codes = np.ascontiguousarray(x.codes)
        result = np.empty(codes.shape, call.target.code_dtype)
        read, written = (
            self._numkong.from_pointer(array.ctypes.data, array.shape, name, owner=array)
            for array, name in ((codes, source), (result, target))
        )
        self._numkong.astype(read, target, out=written)
        yield result


class Gfloat(Library):
    """gfloat's rounding and encoding, for formats described by our rows."""

    title = package = "gfloat"
    remark = "`round_ndarray` and `encode_ndarray` of float64, with `sat` and its round modes; its NaN has one code"

    def __init__(self) -> None:
        self._gfloat: Any = importlib.import_module("gfloat")

    def format_info(self, fmt: Format) -> Any:
        """Return gfloat's description of a row."""
        if not fmt.is_float or fmt.bits > 32:
            raise Declined(fmt.name)
        high = {NaNRule.IEEE: fmt.mantissa_mask, NaNRule.ALL_ONES: 1}.get(fmt.nan, 0)
        domain = self._gfloat.types.Domain
        return self._gfloat.types.FormatInfo(
            fmt.name,
            k=fmt.bits,
            precision=fmt.mantissa_bits + 1,
            bias=fmt.bias,
            is_signed=fmt.signed,
            domain=domain.Extended if fmt.has_inf else domain.Finite,
            has_nz=fmt.has_negative_zero,
            num_high_nans=high,
            has_subnormals=fmt.has_zero,
            is_twos_complement=False,
        )

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the codes of the rounded values."""
        if call.operator in (ENCODE, SCALE):
            yield gfloat_codes(self._gfloat, self.format_info(call.target), call)
            return
        (x,) = call.inputs if call.operator == "Cast" else (None,)
        if x is None or x.fmt.kind is Kind.STRING or (x.fmt.is_integer and x.fmt.bits > 32):
            raise Declined(call.operator)
        check_opset(call)
        info = self.format_info(call.target)
        narrow = x.fmt.is_float and x.fmt.bits <= 16
        decode = self._gfloat.decode_ndarray
        values = decode(self.format_info(x.fmt), x.codes) if narrow else x.array.astype(np.float64)
        mode = self._gfloat.types.RoundMode
        modes = {"up": mode.TowardPositive, "down": mode.TowardZero, "nearest": mode.TiesToAway}
        rounding = modes.get(call.attributes.get("round_mode", ""), mode.TiesToEven)
        saturate = {"always": True, "never": False}.get(call.target.saturates, bool(call.attributes.get("saturate")))
        rounded = self._gfloat.round_ndarray(info, values, rounding, sat=saturate)
        yield self._gfloat.encode_ndarray(info, rounded).astype(call.target.code_dtype)


class _OnnxModel(Library):
    """A library that runs ONNX models: every call becomes a model of one node."""

    def __init__(self) -> None:
        self.onnx: Any = importlib.import_module("onnx")
        self.helper: Any = importlib.import_module("onnx.helper")
        self.numpy_helper: Any = importlib.import_module("onnx.numpy_helper")
        self.newest: int = self.onnx.defs.onnx_opset_version()

    def node(self, call: Call) -> tuple[Any, dict[str, Tensor]]:
        """Return the node and its inputs by name."""
        if call.operator in (ENCODE, SCALE):
            raise Declined("what is no operator of ONNX")
        feeds = {f"x{index}": one for index, one in enumerate(call.inputs) if one is not None}
        names = ["" if one is None else f"x{index}" for index, one in enumerate(call.inputs)]
        return self.helper.make_node(call.operator, names, ["y"], **call.attributes), feeds


class Reference(_OnnxModel):
    """ONNX's own reference evaluator."""

    title, package = "onnx.reference", "onnx"
    remark = "`ReferenceEvaluator`"

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the output of the evaluator."""
        node, feeds = self.node(call)
        info = self.helper.make_empty_tensor_value_info
        graph = self.helper.make_graph([node], "one", [info(name) for name in feeds], [info("y")])
        opsets = {"": min(call.opset, self.newest)}
        evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(graph, opsets=opsets)
        yield _codes(evaluator.run(None, {name: one.array for name, one in feeds.items()})[0], call.target)


class OnnxRuntime(_OnnxModel):
    """ONNX Runtime on the CPU."""

    title, package = "ONNX Runtime", "onnxruntime"

    def __init__(self) -> None:
        super().__init__()
        self._ort: Any = importlib.import_module("onnxruntime")
        self._options = self._ort.SessionOptions()
        self._options.log_severity_level = 4
        self._options.graph_optimization_level = self._ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.newest = self._newest_opset()
        self.remark = f"CPU, at opset {self.newest}, the newest it loads"

    def _session(self, graph: Any, opset: int) -> Any:
        imports = [self.helper.make_opsetid("", opset)]
        model = self.helper.make_model(graph, opset_imports=imports, ir_version=10)
        return self._ort.InferenceSession(model.SerializeToString(), self._options, providers=["CPUExecutionProvider"])

    def _newest_opset(self) -> int:
        floats = self.helper.make_tensor_value_info
        node = self.helper.make_node("Identity", ["x"], ["y"])
        graph = self.helper.make_graph([node], "one", [floats("x", 1, [1])], [floats("y", 1, [1])])
        for opset in range(self.newest, 1, -1):
            try:
                self._session(graph, opset)
            except Exception:  # its own class for each reason; what matters is that it does not load
                continue
            return opset
        raise ImportError("onnxruntime loads no opset that onnx knows")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the output of a session; the inputs are initializers, which hold every type."""
        node, feeds = self.node(call)
        tensors = [self.numpy_helper.from_array(one.array, name) for name, one in feeds.items()]
        output = self.helper.make_tensor_value_info("y", call.target.onnx_enum, None)
        graph = self.helper.make_graph([node], "one", [], [output], initializer=tensors)
        session = self._session(graph, min(call.opset, self.newest))
        if call.target.kind is Kind.STRING:
            yield _codes(session.run(None, {})[0], call.target)
            return
        (value,) = session.run_with_ort_values(None, {})
        raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
        tensor = self.onnx.TensorProto(data_type=call.target.onnx_enum, dims=value.shape(), raw_data=raw)
        yield _codes(self.numpy_helper.to_array(tensor), call.target)


_LIBRARIES: tuple[type[Library], ...] = (
    Lowprec,
    Reference,
    OnnxRuntime,
    Numpy,
    Torch,
    NumKong,
    Gfloat,
    Pychop,
    Apytypes,
    Torchao,
)


def installed() -> tuple[list[Library], list[str]]:
    """Return the libraries that can be imported, in a fixed order, and the titles of the others."""
    libraries, missing = [], []
    for kind in _LIBRARIES:
        try:
            libraries.append(kind())
        except ImportError:
            missing.append(kind.title)
    return libraries, missing
