"""What code snippets consist of: formats, arguments and ONNX nodes as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from lowprec import Format
from lowprec.reference.exact_cast import Value
from lowprec.spec.custom_formats import why_not_converted
from lowprec.spec.formats import FLOAT64, is_in_table
from lowprec.spec.p3109 import has_p3109_shape

from .cast_options import CastOptions, options_for

__all__ = [
    "NUMPY",
    "WIDEST",
    "Arguments",
    "Snippets",
    "Texts",
    "cast_arguments",
    "cast_attributes",
    "cast_node",
    "made_formats",
    "model_lines",
    "node_call",
    "node_list",
    "onnx_node",
    "python_arguments",
    "python_array",
    "python_explain",
    "python_explained_cast",
    "takes_saturate",
    "why_no_node",
]

Arguments = dict[str, object]


Snippets = tuple[str, str]
"""Python, and ONNX nodes as Python or a sentence why there are none."""


Texts = Mapping[Format, str]


WIDEST = FLOAT64  # holds every value of every float format


NUMPY = "import numpy as np\nimport lowprec as lp\n\n"


def _is_called(fmt: Format) -> bool:
    """Whether a call makes the format, which then has no name that `lowprec.as_format` takes."""
    return not is_in_table(fmt) and not has_p3109_shape(fmt.name)


def made_formats(**formats: Format) -> tuple[str, Texts]:
    """Return the lines that make described formats, as variables of these names, and each format as an expression."""
    lines: dict[str, str] = {}
    texts: dict[Format, str] = {}
    for variable, fmt in formats.items():
        if fmt not in texts:
            texts[fmt] = variable if _is_called(fmt) else repr(fmt.name)
            if _is_called(fmt):
                lines[variable] = f"{variable} = {fmt!r}\n"
    return "".join(lines.values()), texts


def python_arguments(arguments: Arguments, texts: Texts = MappingProxyType({})) -> str:
    """Return keyword arguments as text, each after a comma; a `Format` as `texts` has it, else as its name."""
    named = (
        (name, texts.get(value, repr(value.name)) if isinstance(value, Format) else repr(value))
        for name, value in arguments.items()
    )
    return "".join(f", {name}={text}" for name, text in named)


def why_no_node(*formats: Format, options: CastOptions | None = None) -> str:
    """Return why no ONNX node converts like this, or nothing."""
    lacking = [fmt.name for fmt in dict.fromkeys(formats) if fmt.onnx_enum is None]
    if lacking:
        return f"None: ONNX has no number for {' and '.join(lacking)}."
    return "None: ONNX has no attribute for this rounding." if options and "rounding" in options else ""


def node_call(operator: str, inputs: Sequence[str], output: str, attributes: Arguments) -> str:
    """Return the call that makes an ONNX node; a `Format` among the attributes becomes its enum member."""
    named = "".join(
        f", {name}={f'onnx.TensorProto.{value.onnx_name}' if isinstance(value, Format) else repr(value)}"
        for name, value in attributes.items()
    )
    return f"onnx.helper.make_node({operator!r}, {list(inputs)!r}, [{output!r}]{named})"


def node_list(nodes: Iterable[str], opset: int | None = None) -> str:
    """Return the Python that makes a list of nodes, and the opset whose rules they follow."""
    lines = "\n".join(f"    {node}," for node in nodes)
    named = "" if opset is None else f"\nopset = onnx.helper.make_opsetid('', {opset})"
    return f"import onnx\n\nnodes = [\n{lines}\n]{named}"


def model_lines(inputs: Mapping[str, Format], outputs: Mapping[str, Format], opset: int, nodes: str = "nodes") -> str:
    """Return the lines after those of some nodes that make a model of an opset: it says which rules the nodes follow.

    `nodes` is the Python of a list of nodes; each input and output has n elements of a format.
    """
    infos = "".join(
        f"\n{name} = onnx.helper.make_tensor_value_info({name!r}, onnx.TensorProto.{fmt.onnx_name}, ['n'])"
        for name, fmt in (*inputs.items(), *outputs.items())
    )
    ends = f"[{', '.join(inputs)}], [{', '.join(outputs)}]"
    return (
        f"{infos}\ngraph = onnx.helper.make_graph({nodes}, 'graph', {ends})\n"
        f"model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', {opset})])"
    )


def takes_saturate(fmt: Format) -> bool:
    """Whether `saturate` of Cast concerns a target."""
    return fmt.is_float and fmt.saturates == "asked"


def cast_attributes(fmt: Format, options: CastOptions) -> Arguments:
    """Return the attributes of Cast that concern a target: `saturate`, `round_mode` or neither."""
    relevant: Arguments = {"saturate": options["saturate"]} if takes_saturate(fmt) else {}
    if fmt.is_float and not fmt.has_zero and options["round_mode"] is not None:
        relevant["round_mode"] = options["round_mode"]
    return relevant


def cast_arguments(fmt: Format, options: CastOptions, *sources: Format) -> Arguments:
    """Return the keyword arguments of `lowprec.cast` for a target; a described format goes with no opset."""
    options = options_for(fmt, options)
    if "rounding" in options:
        return dict(options)
    opset = {"opset": options["opset"]} if all(one.onnx_enum is not None for one in (fmt, *sources)) else {}
    return cast_attributes(fmt, options) | opset


def cast_node(fmt: Format, attributes: Arguments, output: str = "y") -> str:
    """Return the call that makes a Cast node, with flags as integers."""
    named = {name: int(value) if isinstance(value, bool) else value for name, value in attributes.items()}
    return node_call("Cast", ["x"], output, {"to": fmt, **named})


def onnx_node(operator: str, /, *, opset: int | None = None, source: Format = WIDEST, **attributes: object) -> str:
    """Return the code of an ONNX node with one input; a `Format` among the attributes becomes its enum member.

    With an opset the model of that opset follows, whose input has the source format and its output the one of `to`.
    """
    node = f"import onnx\n\nnode = {node_call(operator, ['x'], 'y', attributes)}"
    target = attributes.get("to")
    if opset is None or not isinstance(target, Format):
        return node
    return node + model_lines({"x": source}, {"y": target}, opset, "[node]")


def python_explain(x: str, fmt: Format, **options: object) -> str:
    """Return the Python that explains how a number is rounded, and that casts it."""
    lines, texts = made_formats(fmt=fmt)
    return f"{NUMPY}{lines}{python_explained_cast(x, fmt, f'{texts[fmt]}{python_arguments(options)}')}"


def python_explained_cast(x: str, fmt: Format, call: str) -> str:
    """Return the lines that explain the rounding of a number and cast it, with the arguments of `call`.

    Nothing is cast where float64 does not come near the number, or lowprec only explains the format.
    """
    explained = f"print(lp.explain({x!r}, {call}))"
    array, remark = python_array(x)
    return (
        f"{explained}\nprint(lp.cast({array}, {call})){remark}" if array and not why_not_converted(fmt) else explained
    )


def python_array(x: str) -> tuple[str, str]:
    """Return the array of one number, and a remark where float64 holds that rounded; nothing of one beyond float64."""
    number = Value.of(x)
    try:
        nearest = float(number)
    except OverflowError:
        return "", ""
    if number.special:
        return f"np.array([float({str(number)!r})])", ""
    is_exact = Value.of(nearest).number == number.number
    return f"np.array([{nearest!r}])", "" if is_exact else "  # the float64 nearest to x"
