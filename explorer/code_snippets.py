"""The code snippets of all pages: Python and ONNX code that computes what a page shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from lowprec import Format, as_format
from lowprec.spec.formats import FLOAT64, NUMERIC
from lowprec.spec.opset_rules import NEWEST
from lowprec.spec.p3109 import has_p3109_shape

from .page_states import Quantize
from .views.anatomy import Anatomy
from .views.cast_options import CastOptions, options_for
from .views.conversion import BitCasting, Conversion
from .views.numbers import nearest_float64
from .views.quantize import SCALE_FORMATS, Settings
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

Arguments = dict[str, object]
Snippets = tuple[str, str]
"""Python, and ONNX nodes as Python or a sentence why there are none."""

Texts = Mapping[Format, str]

_WIDEST = FLOAT64  # holds every value of every float format

_NUMPY = "import numpy as np\nimport lowprec as lp\n\n"


def _is_called(fmt: Format) -> bool:
    """Whether a call makes the format, which then has no name that `lowprec.as_format` takes."""
    return fmt.onnx_enum is None and not has_p3109_shape(fmt.name)


def _made(**formats: Format) -> tuple[str, Texts]:
    """Return the lines that make described formats, as variables of these names, and each format as an expression."""
    lines: dict[str, str] = {}
    texts: dict[Format, str] = {}
    for variable, fmt in formats.items():
        if fmt not in texts:
            texts[fmt] = variable if _is_called(fmt) else repr(fmt.name)
            if _is_called(fmt):
                lines[variable] = f"{variable} = {fmt!r}\n"
    return "".join(lines.values()), texts


def _python_arguments(arguments: Arguments, texts: Texts = MappingProxyType({})) -> str:
    """Return keyword arguments as text, each after a comma; a `Format` as `texts` has it, else as its name."""
    named = (
        (name, texts.get(value, repr(value.name)) if isinstance(value, Format) else repr(value))
        for name, value in arguments.items()
    )
    return "".join(f", {name}={text}" for name, text in named)


def _why_no_node(*formats: Format, options: CastOptions | None = None) -> str:
    """Return why no ONNX node converts like this, or nothing."""
    lacking = [fmt.name for fmt in dict.fromkeys(formats) if fmt.onnx_enum is None]
    if lacking:
        return f"None: ONNX has no number for {' and '.join(lacking)}."
    return "None: ONNX has no attribute for this rounding." if options and "rounding" in options else ""


def _node(operator: str, inputs: Sequence[str], output: str, attributes: Arguments) -> str:
    """Return the call that makes an ONNX node; a `Format` among the attributes becomes its enum member."""
    named = "".join(
        f", {name}={f'onnx.TensorProto.{value.onnx_name}' if isinstance(value, Format) else repr(value)}"
        for name, value in attributes.items()
    )
    return f"onnx.helper.make_node({operator!r}, {list(inputs)!r}, [{output!r}]{named})"


def _node_list(nodes: Iterable[str]) -> str:
    lines = "\n".join(f"    {node}," for node in nodes)
    return f"import onnx\n\nnodes = [\n{lines}\n]"


def _takes_saturate(fmt: Format) -> bool:
    return fmt.is_float and fmt.saturates == "asked"


def _attributes(fmt: Format, options: CastOptions) -> Arguments:
    """Return the attributes of Cast that concern a target: `saturate`, `round_mode` or neither."""
    relevant: Arguments = {"saturate": options["saturate"]} if _takes_saturate(fmt) else {}
    if fmt.is_float and not fmt.has_zero and options["round_mode"] is not None:
        relevant["round_mode"] = options["round_mode"]
    return relevant


def _cast_arguments(fmt: Format, options: CastOptions, *sources: Format) -> Arguments:
    """Return the keyword arguments of `lowprec.cast` for a target; a described format goes with no opset."""
    options = options_for(fmt, options)
    if "rounding" in options:
        return dict(options)
    opset = {"opset": options["opset"]} if all(one.onnx_enum is not None for one in (fmt, *sources)) else {}
    return _attributes(fmt, options) | opset


def _cast_node(fmt: Format, attributes: Arguments, output: str = "y") -> str:
    named = {name: int(value) if isinstance(value, bool) else value for name, value in attributes.items()}
    return _node("Cast", ["x"], output, {"to": fmt, **named})


def onnx_node(operator: str, /, **attributes: object) -> str:
    """Return the code of an ONNX node with one input; a `Format` among the attributes becomes its enum member."""
    return f"import onnx\n\nnode = {_node(operator, ['x'], 'y', attributes)}"


def python_explain(x: str, fmt: Format, **options: object) -> str:
    """Return the Python that explains how a number is rounded."""
    lines, texts = _made(fmt=fmt)
    return f"import lowprec as lp\n\n{lines}print(lp.explain({x!r}, {texts[fmt]}{_python_arguments(options)}))"


def of_code(anatomy: Anatomy) -> Snippets:
    """Return the Python and ONNX code that decodes a code, or that casts the number that was typed."""
    fmt, why_not = anatomy.format, _why_no_node(anatomy.format)
    if anatomy.typed is not None:
        attributes = {"saturate": 1} if _takes_saturate(fmt) else {}
        return python_explain(str(anatomy.typed), fmt), why_not or onnx_node("Cast", to=fmt, **attributes)
    to = _WIDEST if fmt.is_float else fmt
    lines, texts = _made(fmt=fmt)
    python = (
        f"{_NUMPY}{lines}code = np.array({anatomy.code:#x}, np.{fmt.code_dtype})\n"
        f"print(lp.decode(code, {texts[fmt]}, to={to.name!r}))"
    )
    data = anatomy.code.to_bytes(fmt.storage_bits // 8, "little").hex()
    tensor = f"'x', onnx.TensorProto.{fmt.onnx_name}, [1], bytes.fromhex({data!r}), raw=True"
    return python, why_not or f"{onnx_node('Cast', to=to)}\nx = onnx.helper.make_tensor({tensor})"


def of_number(x: str, fmt: Format, options: CastOptions) -> Snippets:
    """Return the Python that explains the rounding of a number and casts it, and the node that does."""
    options = options_for(fmt, options)
    if "rounding" in options:
        lines, texts = _made(fmt=fmt)
        call = f"{texts[fmt]}{_python_arguments(_cast_arguments(fmt, options))}"
        python = f"{_NUMPY}{lines}print(lp.explain({x!r}, {call}))"
        nearest = nearest_float64(x)
        if nearest is not None:
            python += f"\nprint(lp.cast(np.array([{nearest}]), {call}))"
        return python, _why_no_node(fmt, options=options)
    asked: Arguments = {} if options["saturate"] else {"saturate": False}
    if options["opset"] != NEWEST:
        asked["opset"] = options["opset"]
    attributes = {"saturate": int(options["saturate"])} if _takes_saturate(fmt) else {}
    return python_explain(x, fmt, **asked), _why_no_node(fmt) or onnx_node("Cast", to=fmt, **attributes)


def of_opset(opset: int) -> Snippets:
    """Return the Python and ONNX code of the table of float8 formats."""
    names = [fmt.name for fmt in NUMERIC if _takes_saturate(fmt) and fmt.has_zero]
    python = (
        f"{_NUMPY}x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e6, -1e6])\n"
        f"for name in {names!r}:\n    for saturate in (True, False):\n"
        f"        print(name, saturate, lp.encode(x, name, saturate=saturate, opset={opset}))"
    )
    return python, onnx_node("Cast", to=as_format(names[0]), saturate=1)


def of_comparison(text: str, formats: Sequence[Format], options: CastOptions) -> Snippets:
    """Return the Python that explains the rounding of a number to each format, and a Cast node for each of ONNX's."""
    made, texts = _made(**{f"format_{index}": fmt for index, fmt in enumerate(formats)})
    lines = "\n".join(
        f"print(lp.explain(x, {texts[fmt]}{_python_arguments(_cast_arguments(fmt, options))}))" for fmt in formats
    )
    castable = [fmt for fmt in formats if not _why_no_node(fmt, options=options_for(fmt, options))]
    nodes = _node_list(
        _cast_node(fmt, _attributes(fmt, options_for(fmt, options)), f"y{index}") for index, fmt in enumerate(castable)
    )
    left_out = [fmt.name for fmt in formats if fmt not in castable]
    if left_out:
        nodes += f"\n# left out, as ONNX lacks the format or the rounding: {'; '.join(left_out)}"
    why_not = _why_no_node(*formats, options=options) if formats and not castable else ""
    return f"import lowprec as lp\n\n{made}x = {text!r}\n{lines}", why_not or nodes


def of_conversion(conversion: Conversion, options: CastOptions, bitcast: BitCasting) -> Snippets:
    """Return the Python and the nodes that cast one code, and that bitcast it if ONNX can."""
    source, target = conversion.source, conversion.target
    options = options_for(target, options)
    made, texts = _made(source=source, target=target)
    arguments = _python_arguments({"source": source, **_cast_arguments(target, options, source)}, texts)
    python = (
        f"{_NUMPY}{made}code = np.array([{conversion.code:#x}], np.{source.code_dtype})\n"
        f"result = lp.encode(code, {texts[target]}{arguments})\n"
        "print([hex(code) for code in result.tolist()])"
    )
    if bitcast.value is not None:
        python += f"\nprint(lp.bitcast(code, {texts[target]}, source={texts[source]}))"
    if why_not := _why_no_node(source, target, options=options):
        return python, why_not
    onnx = f"import onnx\n\nnode = {_cast_node(target, _attributes(target, options))}"
    if bitcast.value is not None and not bitcast.note:
        onnx += f"\nbits = {_node('BitCast', ['x'], 'y', {'to': target})}"
    return python, onnx


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


def _largest(settings: Settings, rank: int) -> str:
    """Return the call that reduces `finite` to the largest magnitude of the elements that share a scale."""
    if settings.granularity == "tensor":
        return "finite.max(initial=0)"
    axis = settings.axis % rank
    if settings.granularity == "axis":
        return f"finite.max(axis={tuple(other for other in range(rank) if other != axis)}, initial=0)"
    return f"np.maximum.reduceat(finite, range(0, x.shape[{axis}], {settings.block}), {axis})"


def _scale_lines(settings: Settings, rank: int, granularity: Arguments, texts: Texts) -> list[str]:
    """Return the lines that compute `scale`, and `zero_point` if there is one."""
    fmt, scale_format = settings.fmt, settings.scale_format
    is_single = scale_format == SCALE_FORMATS[0]
    limits = f"limits = lp.finfo({scale_format.name!r})"
    rounded = f"scale = lp.cast(np.clip(scale, limits.smallest_subnormal, limits.max), {scale_format.name!r}"
    if settings.has_zero_point:
        mode = "" if scale_format.has_zero else f", round_mode={settings.round_mode!r}"
        lines = [f"scale, zero_point = lp.minmax_scale(x, {fmt.name!r}{_python_arguments(granularity)})"]
        return lines if is_single else [*lines, limits, f"{rounded}{mode})"]
    if fmt.signed:
        arguments = granularity if is_single else {**granularity, "scale_format": scale_format}
        return [f"scale = lp.absmax_scale(x, {texts[fmt]}{_python_arguments(arguments)})"]
    scale = f"np.where(largest == 0, 1.0, largest / {fmt.max})"
    if not scale_format.has_zero:  # the rule of OCP MX
        exponent = f"np.frexp(largest)[1] - {math.frexp(fmt.max)[1]}"
        scale = f"np.ldexp(1.0, np.where(largest == 0, {scale_format.emin}, {exponent}))"
    return [
        "finite = np.where(np.isfinite(x.astype(float)), np.abs(x.astype(float)), 0)",
        f"largest = {_largest(settings, rank)}",
        limits,
        f"scale = {scale}",
        f"{rounded})",
    ]


def of_quantization(state: Quantize, tensor: Tensor, settings: Settings) -> Snippets:
    """Return the Python that quantizes and dequantizes the tensor, and the two ONNX nodes."""
    fmt = settings.fmt
    operands = ["scale", "zero_point"] if settings.has_zero_point else ["scale"]
    granularity: Arguments = {} if settings.granularity == "tensor" else {"axis": settings.axis}
    if settings.block:
        granularity["block_size"] = settings.block
    forward: Arguments = {} if settings.has_zero_point else {"output_dtype": fmt}
    if _takes_saturate(fmt):
        forward["saturate"] = settings.saturate
    backward: Arguments = {} if settings.scale_format.has_zero else {"output_dtype": tensor.format}
    made, texts = _made(target=fmt)
    why_not = _why_no_node(fmt)
    opset: Arguments = {} if why_not else {"opset": settings.opset}
    to_codes = _python_arguments({**granularity, **forward, **opset}, texts)
    source: Arguments = {"source": fmt} if why_not else {}
    to_values = _python_arguments({**granularity, **source, **backward, **opset}, texts)
    python = "\n".join(
        [
            f"{_NUMPY}{made}{_tensor(state, tensor)}",
            *_scale_lines(settings, tensor.values.ndim, granularity, texts),
            f"y = lp.quantize_linear({', '.join(['x', *operands])}{to_codes})",
            f"back = lp.dequantize_linear({', '.join(['y', *operands])}{to_values})",
            "error = back.astype(float) - x.astype(float)",
            "print(np.abs(error[np.isfinite(error)]).max(initial=0))",
        ]
    )
    if why_not:
        return python, why_not
    if "saturate" in forward:
        forward["saturate"] = int(settings.saturate)
    nodes = (
        _node("QuantizeLinear", ["x", *operands], "y", granularity | forward),
        _node("DequantizeLinear", ["y", *operands], "back", granularity | backward),
    )
    return python, _node_list(nodes)
