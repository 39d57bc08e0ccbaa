"""What a visitor takes along from Compare, Cast & BitCast and Quantize: Python and ONNX that do what the page shows."""

from __future__ import annotations

from collections.abc import Sequence

from lowprec import Format

from .state import Quantize
from .views.conversion import BitCasting, CastOptions, Conversion
from .views.quantize import SCALE_FORMATS, Settings
from .views.tensor import Tensor

__all__ = ["of_comparison", "of_conversion", "of_quantization"]


def _keywords(fmt: Format, options: CastOptions) -> str:
    """Return the options that concern a target, as arguments of `lowprec.cast`."""
    saturate = f", saturate={options['saturate']}" if fmt.is_float and fmt.saturates == "asked" else ""
    mode = f", round_mode={options['round_mode']!r}" if _rounds(fmt, options) else ""
    return f"{saturate}{mode}, opset={options['opset']}"


def _rounds(fmt: Format, options: CastOptions) -> bool:
    return fmt.is_float and not fmt.has_zero and options["round_mode"] is not None


def _attributes(fmt: Format, options: CastOptions) -> str:
    """Return the attributes that concern a target, as arguments of `onnx.helper.make_node`."""
    saturate = f", saturate={int(options['saturate'])}" if fmt.is_float and fmt.saturates == "asked" else ""
    mode = f", round_mode={options['round_mode']!r}" if _rounds(fmt, options) else ""
    return f"to=onnx.TensorProto.{fmt.onnx_name}{saturate}{mode}"


def of_comparison(text: str, formats: Sequence[Format], options: CastOptions) -> tuple[str, str]:
    """Return the Python that explains a number in every format, and a Cast node for each."""
    lines = "\n".join(f"print(lp.explain(x, {fmt.name!r}{_keywords(fmt, options)}))" for fmt in formats)
    nodes = "\n".join(
        f"    onnx.helper.make_node('Cast', ['x'], ['y{index}'], {_attributes(fmt, options)}),"
        for index, fmt in enumerate(formats)
    )
    return f"import lowprec as lp\n\nx = {text!r}\n{lines}", f"import onnx\n\nnodes = [\n{nodes}\n]"


def of_conversion(found: Conversion, options: CastOptions, read: BitCasting) -> tuple[str, str]:
    """Return the Python and the nodes that convert one code, and that read its bits where ONNX can."""
    source, target = found.source, found.target
    python = (
        "import numpy as np\nimport lowprec as lp\n\n"
        f"code = np.array([{found.code:#x}], np.{source.code_dtype})\n"
        f"result = lp.encode(code, {target.name!r}, source={source.name!r}{_keywords(target, options)})\n"
        "print([hex(code) for code in result.tolist()])"
    )
    node = f"node = onnx.helper.make_node('Cast', ['x'], ['y'], {_attributes(target, options)})"
    if read.value is not None:
        python += f"\nprint(lp.bitcast(code, {target.name!r}, source={source.name!r}))"
    if read.value is not None and not read.note:
        node += f"\nbits = onnx.helper.make_node('BitCast', ['x'], ['y'], to=onnx.TensorProto.{target.onnx_name})"
    return python, f"import onnx\n\n{node}"


Keywords = dict[str, int | Format]

_DRAWS = {
    "normal": "rng.standard_normal(shape)",
    "uniform": "rng.uniform(-1, 1, shape)",
    "laplace": "rng.laplace(size=shape)",
    "student-t": "rng.standard_t(3, shape)",
    "outliers": "rng.standard_normal(shape) * np.where(rng.random(shape) < 0.01, 20, 1)",
}


def _tensor(state: Quantize, tensor: Tensor) -> str:
    """Return lines that make `x`."""
    single = tensor.format.name
    if state.origin == "sampled":
        shape = f"rng, shape = np.random.default_rng({state.seed}), ({state.rows}, {state.columns})"
        return f"{shape}\nx = lp.cast({_DRAWS[state.distribution]} * {state.spread!r}, {single!r})"
    if state.origin == "typed":
        return f"inf, nan = np.inf, np.nan\nx = np.array({tensor.values.tolist()!r}, np.{single})"
    if tensor.name and tensor.stored:
        fmt = tensor.stored
        read = f"codes = np.frombuffer(entry['data'], np.{fmt.code_dtype})"
        shaped = "codes.reshape(entry['shape'])"
        if fmt.bits < 8:
            shaped = f"lp.unpack(codes, {fmt.name!r}, entry['shape'])"
        return "\n".join([
            "from safetensors import deserialize", "", "with open('file.safetensors', 'rb') as file:",
            f"    entry = dict(deserialize(file.read()))[{tensor.name!r}]", read,
            f"x = np.atleast_1d(lp.decode({shaped}, {fmt.name!r}, to={single!r}))",
        ])  # fmt: skip
    return f"x = np.atleast_1d(lp.cast(np.load('file.npy'), {single!r}))"


def _largest(settings: Settings, rank: int) -> str:
    """Return the call that reduces `finite` to the largest magnitude of what shares a scale."""
    if settings.granularity == "tensor":
        return "finite.max(initial=0)"
    axis = settings.axis % rank
    if settings.granularity == "axis":
        return f"finite.max(axis={tuple(other for other in range(rank) if other != axis)}, initial=0)"
    return f"np.maximum.reduceat(finite, range(0, x.shape[{axis}], {settings.block}), {axis})"


def _scales(settings: Settings, rank: int, shared: Keywords) -> str:
    """Return lines that choose `scale`, and `zero_point` where there is one."""
    fmt, kept = settings.fmt, settings.scale_format
    call = "".join([f"(x, {fmt.name!r}", *(f", {name}={value!r}" for name, value in shared.items())])
    single = kept == SCALE_FORMATS[0]
    clipped = f"scale = lp.cast(np.clip(scale, kept.smallest_subnormal, kept.max), {kept.name!r}"
    if settings.has_zero_point:
        mode = "" if kept.has_zero else f", round_mode={settings.round_mode!r}"
        lines = [f"scale, zero_point = lp.minmax_scale{call})"]
        return "\n".join(lines if single else [*lines, f"kept = lp.finfo({kept.name!r})", f"{clipped}{mode})"])
    if fmt.signed:
        return f"scale = lp.absmax_scale{call}{'' if single else f', scale_format={kept.name!r}'})"
    lines = [
        "finite = np.where(np.isfinite(x.astype(float)), np.abs(x.astype(float)), 0)",
        f"largest = {_largest(settings, rank)}",
        f"kept = lp.finfo({kept.name!r})",
        f"scale = np.where(largest == 0, 1.0, largest / {fmt.max})",
    ]
    if not kept.has_zero:  # the rule of OCP MX
        lines[-1] = f"scale = np.ldexp(1.0, np.where(largest == 0, -127, np.frexp(largest)[1] - {fmt.bits}))"
    return "\n".join([*lines, f"{clipped})"])


def of_quantization(state: Quantize, tensor: Tensor, settings: Settings) -> tuple[str, str]:
    """Return the Python that makes, quantizes and brings back the tensor, and the two ONNX nodes."""
    fmt, rank = settings.fmt, tensor.values.ndim
    inputs = ["x", "scale", *(["zero_point"] if settings.has_zero_point else [])]
    axis: Keywords = {} if settings.granularity == "tensor" else {"axis": settings.axis}
    shared: Keywords = axis | ({"block_size": settings.block} if settings.block else {})
    there: Keywords = {} if settings.has_zero_point else {"output_dtype": fmt}
    if fmt.is_float and fmt.saturates == "asked":
        there["saturate"] = settings.saturate
    back: Keywords = {} if settings.scale_format.has_zero else {"output_dtype": tensor.format}

    def call(first: str, keywords: Keywords) -> str:
        shown = {name: value.name if isinstance(value, Format) else value for name, value in keywords.items()}
        return ", ".join([first, *inputs[1:], *(f"{name}={value!r}" for name, value in shown.items())])

    def node(operator: str, first: str, result: str, attributes: Keywords) -> str:
        shown = {
            name: f"onnx.TensorProto.{value.onnx_name}" if isinstance(value, Format) else repr(int(value))
            for name, value in attributes.items()
        }
        named = "".join(f", {name}={value}" for name, value in shown.items())
        return f"    onnx.helper.make_node({operator!r}, {[first, *inputs[1:]]!r}, [{result!r}]{named}),"

    opset: Keywords = {"opset": settings.opset}
    python = "\n".join([
        "import numpy as np", "import lowprec as lp", "",
        _tensor(state, tensor), _scales(settings, rank, shared),
        f"y = lp.quantize_linear({call('x', shared | there | opset)})",
        f"back = lp.dequantize_linear({call('y', shared | back | opset)})",
        "error = back.astype(float) - x.astype(float)",
        "print(np.abs(error[np.isfinite(error)]).max(initial=0))",
    ])  # fmt: skip
    nodes = [node("QuantizeLinear", "x", "y", shared | there), node("DequantizeLinear", "y", "back", shared | back)]
    return python, "import onnx\n\nnodes = [\n" + "\n".join(nodes) + "\n]"
