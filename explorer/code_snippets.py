"""The code snippets of all pages: Python and ONNX code that computes what a page shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lowprec import Format, as_format
from lowprec.spec.formats import NUMERIC
from lowprec.spec.opsets import NEWEST

from .page_states import Quantize
from .views.anatomy import Anatomy
from .views.conversion import BitCasting, CastOptions, Conversion
from .views.quantize import Settings
from .views.tensor import Tensor

__all__ = [
    "of_code",
    "of_comparison",
    "of_conversion",
    "of_number",
    "of_opset",
    "of_quantization",
    "onnx_node",
    "python_explain",
]

Keywords = dict[str, int | Format]

_WIDEST = as_format(11)  # DOUBLE of ONNX: holds every value of every float format


def _takes_saturate(fmt: Format) -> bool:
    return fmt.is_float and fmt.saturates == "asked"


def _takes_round_mode(fmt: Format, options: CastOptions) -> bool:
    return fmt.is_float and not fmt.has_zero and options["round_mode"] is not None


def onnx_node(operator: str, /, **attributes: object) -> str:
    """Return the code of an ONNX node with one input; a `Format` among the attributes becomes its enum member."""
    named = "".join(
        f", {name}={f'onnx.TensorProto.{value.onnx_name}' if isinstance(value, Format) else repr(value)}"
        for name, value in attributes.items()
    )
    return f"import onnx\n\nnode = onnx.helper.make_node({operator!r}, ['x'], ['y']{named})"


def python_explain(x: str, fmt: Format, **options: object) -> str:
    """Return the Python that explains how a number is rounded."""
    named = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"import lowprec as lp\n\nprint(lp.explain({x!r}, {fmt.name!r}{named}))"


def of_code(anatomy: Anatomy) -> tuple[str, str]:
    """Return the Python and ONNX code that decodes a code, or that casts the number that was typed."""
    fmt = anatomy.format
    if anatomy.typed is not None:
        attributes = {"saturate": 1} if _takes_saturate(fmt) else {}
        return python_explain(str(anatomy.typed), fmt), onnx_node("Cast", to=fmt, **attributes)
    to = _WIDEST if fmt.is_float else fmt
    python = (
        f"import numpy as np\nimport lowprec as lp\n\ncode = np.array({anatomy.code:#x}, np.{fmt.code_dtype})\n"
        f"print(lp.decode(code, {fmt.name!r}, to={to.name!r}))"
    )
    data = anatomy.code.to_bytes(fmt.storage_bits // 8, "little").hex()
    tensor = f"'x', onnx.TensorProto.{fmt.onnx_name}, [1], bytes.fromhex({data!r}), raw=True"
    return python, f"{onnx_node('Cast', to=to)}\nx = onnx.helper.make_tensor({tensor})"


def of_number(x: str, fmt: Format, saturate: bool, opset: int) -> tuple[str, str]:
    """Return the Python and ONNX code that casts a number."""
    options: dict[str, object] = {} if saturate else {"saturate": False}
    if opset != NEWEST:
        options["opset"] = opset
    attributes = {"saturate": int(saturate)} if _takes_saturate(fmt) else {}
    return python_explain(x, fmt, **options), onnx_node("Cast", to=fmt, **attributes)


def of_opset(opset: int) -> tuple[str, str]:
    """Return the Python and ONNX code of the table of float8 formats."""
    names = [fmt.name for fmt in NUMERIC if _takes_saturate(fmt) and fmt.has_zero]
    python = (
        "import numpy as np\nimport lowprec as lp\n\n"
        "x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e6, -1e6])\n"
        f"for name in {names!r}:\n    for saturate in (True, False):\n"
        f"        print(name, saturate, lp.encode(x, name, saturate=saturate, opset={opset}))"
    )
    return python, onnx_node("Cast", to=as_format(names[0]), saturate=1)


def _keywords(fmt: Format, options: CastOptions) -> str:
    """Return the options that concern a target, as arguments of `lowprec.cast`."""
    saturate = f", saturate={options['saturate']}" if _takes_saturate(fmt) else ""
    mode = f", round_mode={options['round_mode']!r}" if _takes_round_mode(fmt, options) else ""
    return f"{saturate}{mode}, opset={options['opset']}"


def _attributes(fmt: Format, options: CastOptions) -> str:
    """Return the attributes that concern a target, as arguments of `onnx.helper.make_node`."""
    saturate = f", saturate={int(options['saturate'])}" if _takes_saturate(fmt) else ""
    mode = f", round_mode={options['round_mode']!r}" if _takes_round_mode(fmt, options) else ""
    return f"to=onnx.TensorProto.{fmt.onnx_name}{saturate}{mode}"


def of_comparison(text: str, formats: Sequence[Format], options: CastOptions) -> tuple[str, str]:
    """Return the Python that explains the rounding of a number to each format, and a Cast node for each."""
    lines = "\n".join(f"print(lp.explain(x, {fmt.name!r}{_keywords(fmt, options)}))" for fmt in formats)
    nodes = "\n".join(
        f"    onnx.helper.make_node('Cast', ['x'], ['y{index}'], {_attributes(fmt, options)}),"
        for index, fmt in enumerate(formats)
    )
    return f"import lowprec as lp\n\nx = {text!r}\n{lines}", f"import onnx\n\nnodes = [\n{nodes}\n]"


def of_conversion(conversion: Conversion, options: CastOptions, bitcast: BitCasting) -> tuple[str, str]:
    """Return the Python and the nodes that cast one code, and that bitcast it if ONNX can."""
    source, target = conversion.source, conversion.target
    python = (
        "import numpy as np\nimport lowprec as lp\n\n"
        f"code = np.array([{conversion.code:#x}], np.{source.code_dtype})\n"
        f"result = lp.encode(code, {target.name!r}, source={source.name!r}{_keywords(target, options)})\n"
        "print([hex(code) for code in result.tolist()])"
    )
    node = f"node = onnx.helper.make_node('Cast', ['x'], ['y'], {_attributes(target, options)})"
    if bitcast.value is not None:
        python += f"\nprint(lp.bitcast(code, {target.name!r}, source={source.name!r}))"
    if bitcast.value is not None and not bitcast.note:
        node += f"\nbits = onnx.helper.make_node('BitCast', ['x'], ['y'], to=onnx.TensorProto.{target.onnx_name})"
    return python, f"import onnx\n\n{node}"


_SAMPLES = {
    "normal": "rng.standard_normal(shape)",
    "uniform": "rng.uniform(-1, 1, shape)",
    "laplace": "rng.laplace(size=shape)",
    "student-t": "rng.standard_t(3, shape)",
    "outliers": "rng.standard_normal(shape) * np.where(rng.random(shape) < 0.01, 20, 1)",
}


def _tensor(state: Quantize, tensor: Tensor) -> str:
    """Return the lines that compute `x`."""
    input_format = tensor.format.name
    if state.origin == "sampled":
        shape = f"rng, shape = np.random.default_rng({state.seed}), ({state.rows}, {state.columns})"
        return f"{shape}\nx = lp.cast({_SAMPLES[state.distribution]} * {state.spread!r}, {input_format!r})"
    if state.origin == "typed":
        return f"inf, nan = np.inf, np.nan\nx = np.array({tensor.values.tolist()!r}, np.{input_format})"
    if tensor.name and tensor.stored:
        fmt = tensor.stored
        read = f"codes = np.frombuffer(entry['data'], np.{fmt.code_dtype})"
        shaped = "codes.reshape(entry['shape'])"
        if fmt.bits < 8:
            shaped = f"lp.unpack(codes, {fmt.name!r}, entry['shape'])"
        return "\n".join(
            [
                "from safetensors import deserialize",
                "",
                "with open('file.safetensors', 'rb') as file:",
                f"    entry = dict(deserialize(file.read()))[{tensor.name!r}]",
                read,
                f"x = np.atleast_1d(lp.decode({shaped}, {fmt.name!r}, to={input_format!r}))",
            ]
        )
    return f"x = np.atleast_1d(lp.cast(np.load('file.npy'), {input_format!r}))"


def _reduced(settings: Settings, rank: int, function: str) -> str:
    """Return the call that reduces `finite` to one number a scale."""
    if settings.granularity == "tensor":
        return f"finite.{function}(initial=0)"
    axis = settings.axis % rank
    if settings.granularity == "axis":
        others = tuple(other for other in range(rank) if other != axis)
        return f"finite.{function}(axis={others}, initial=0)"
    ufunc = {"min": "minimum", "max": "maximum"}[function]
    starts = f"range(0, x.shape[{axis}], {settings.block})"
    return f"np.{ufunc}(np.{ufunc}.reduceat(finite, {starts}, {axis}), 0)"


def _scales(settings: Settings, rank: int) -> str:
    """Return the lines that compute `scale`, and `zero_point` where there is one."""
    fmt, scale_format = settings.fmt, settings.scale_format
    low, high = (_reduced(settings, rank, function) for function in ("min", "max"))
    ideal = (
        f"(high - low) / {fmt.max - fmt.min}" if settings.has_zero_point else f"np.maximum(high, -low) / {fmt.max!r}"
    )
    mode = "" if scale_format.has_zero else f", round_mode={settings.round_mode!r}"
    if not settings.has_zero_point and not scale_format.has_zero:  # the rule of OCP MX
        return "\n".join(
            [
                "finite = np.where(np.isfinite(x.astype(float)), x.astype(float), 0)",
                f"low, high = {low}, {high}",
                "largest = np.maximum(high, -low)",
                f"power = np.frexp(largest)[1] - {math.frexp(fmt.max)[1]}",
                f"power = np.clip(power, {scale_format.emin}, {scale_format.emax})",
                f"scale = lp.cast(np.where(largest == 0, 1.0, np.ldexp(1.0, power)), {scale_format.name!r})",
            ]
        )
    lines = [
        "finite = np.where(np.isfinite(x.astype(float)), x.astype(float), 0)",
        f"low, high = {low}, {high}",
        f"limits = lp.finfo({scale_format.name!r})",
        f"ideal = np.clip({ideal}, limits.smallest_subnormal, limits.max)",
        f"scale = lp.cast(np.where((low == 0) & (high == 0), 1.0, ideal), {scale_format.name!r}{mode})",
    ]
    if settings.has_zero_point:
        zero = f"np.clip(np.rint({fmt.min} - low / lp.cast(scale, 'float64')), {fmt.min}, {fmt.max})"
        lines.append(f"zero_point = lp.cast({zero}, {fmt.name!r})")
    return "\n".join(lines)


def of_quantization(state: Quantize, tensor: Tensor, settings: Settings) -> tuple[str, str]:
    """Return the Python that quantizes and dequantizes the tensor, and the two ONNX nodes."""
    fmt, rank = settings.fmt, tensor.values.ndim
    inputs = ["x", "scale", *(["zero_point"] if settings.has_zero_point else [])]
    axis: Keywords = {} if settings.granularity == "tensor" else {"axis": settings.axis}
    shared: Keywords = axis | ({"block_size": settings.block} if settings.block else {})
    forward: Keywords = {} if settings.has_zero_point else {"output_dtype": fmt}
    if _takes_saturate(fmt):
        forward["saturate"] = settings.saturate
    backward: Keywords = {} if settings.scale_format.has_zero else {"output_dtype": tensor.format}

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
    python = "\n".join(
        [
            "import numpy as np",
            "import lowprec as lp",
            "",
            _tensor(state, tensor),
            _scales(settings, rank),
            f"y = lp.quantize_linear({call('x', shared | forward | opset)})",
            f"back = lp.dequantize_linear({call('y', shared | backward | opset)})",
            "error = back.astype(float) - x.astype(float)",
            "print(np.abs(error[np.isfinite(error)]).max(initial=0))",
        ]
    )
    nodes = [
        node("QuantizeLinear", "x", "y", shared | forward),
        node("DequantizeLinear", "y", "back", shared | backward),
    ]
    return python, "import onnx\n\nnodes = [\n" + "\n".join(nodes) + "\n]"
