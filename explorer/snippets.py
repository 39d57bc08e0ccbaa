"""What a visitor takes along as text: Python and ONNX that do what the page shows."""

from __future__ import annotations

from lowprec import Format, as_format
from lowprec.spec.formats import FLOAT64, NUMERIC
from lowprec.spec.opsets import NEWEST

from .views.anatomy import Anatomy

__all__ = ["of_code", "of_number", "of_opset", "onnx_node", "python_explain"]

_WIDEST = FLOAT64  # holds every value of every float format


def onnx_node(operator: str, /, **attributes: object) -> str:
    """Return lines that make an ONNX node of one input; a `Format` among the attributes becomes its enum member."""
    named = "".join(
        f", {name}={f'onnx.TensorProto.{value.onnx_name}' if isinstance(value, Format) else repr(value)}"
        for name, value in attributes.items()
    )
    return f"import onnx\n\nnode = onnx.helper.make_node({operator!r}, ['x'], ['y']{named})"


def python_explain(x: str, fmt: Format, **options: object) -> str:
    """Return the call that prints why a number becomes that code."""
    named = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"import lowprec as lp\n\nprint(lp.explain({x!r}, {fmt.name!r}{named}))"


def of_code(found: Anatomy) -> tuple[str, str]:
    """Return the Python and the ONNX that decode a code, or that convert the number that was typed."""
    fmt = found.format
    if found.typed is not None:
        return python_explain(str(found.typed), fmt), onnx_node("Cast", to=fmt, **_options(fmt))
    to = _WIDEST if fmt.is_float else fmt
    python = (
        f"import numpy as np\nimport lowprec as lp\n\ncode = np.array({found.code:#x}, np.{fmt.code_dtype})\n"
        f"print(lp.decode(code, {fmt.name!r}, to={to.name!r}))"
    )
    bytes_ = found.code.to_bytes(fmt.storage_bits // 8, "little").hex()
    tensor = f"'x', onnx.TensorProto.{fmt.onnx_name}, [1], bytes.fromhex({bytes_!r}), raw=True"
    return python, f"{onnx_node('Cast', to=to)}\nx = onnx.helper.make_tensor({tensor})"


def of_number(x: str, fmt: Format, saturate: bool, opset: int) -> tuple[str, str]:
    """Return the Python and the ONNX that convert a number as the page does."""
    options: dict[str, object] = {} if saturate else {"saturate": False}
    if opset != NEWEST:
        options["opset"] = opset
    asked = {"saturate": int(saturate)} if "saturate" in _options(fmt) else {}
    return python_explain(x, fmt, **options), onnx_node("Cast", to=fmt, **asked)


def of_opset(opset: int) -> tuple[str, str]:
    """Return the Python and the ONNX of the table of float8 formats."""
    names = [fmt.name for fmt in NUMERIC if "saturate" in _options(fmt) and fmt.has_zero]
    python = (
        "import numpy as np\nimport lowprec as lp\n\n"
        "x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e6, -1e6])\n"
        f"for name in {names!r}:\n    for saturate in (True, False):\n"
        f"        print(name, saturate, lp.encode(x, name, saturate=saturate, opset={opset}))"
    )
    return python, onnx_node("Cast", to=as_format(names[0]), saturate=1)


def _options(fmt: Format) -> dict[str, object]:
    return {"saturate": 1} if fmt.is_float and fmt.saturates == "asked" else {}
