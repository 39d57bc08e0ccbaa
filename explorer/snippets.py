"""What a visitor takes along as text: Python and ONNX that do what the page shows."""

from __future__ import annotations

from lowprec import Format

__all__ = ["onnx_node", "python_explain"]


def onnx_node(operator: str, inputs: tuple[str, ...] = ("x",), **attributes: object) -> str:
    """Return a line that makes an ONNX node; a `Format` among the attributes becomes its enum member."""
    named = "".join(
        f", {name}={f'onnx.TensorProto.{value.onnx_name}' if isinstance(value, Format) else repr(value)}"
        for name, value in attributes.items()
    )
    return f"import onnx\n\nnode = onnx.helper.make_node({operator!r}, {list(inputs)!r}, ['y']{named})"


def python_explain(x: str, fmt: Format, **options: object) -> str:
    """Return the call that prints why a number becomes that code."""
    named = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"import lowprec as lp\n\nprint(lp.explain({x!r}, {fmt.name!r}{named}))"
