"""The code snippets of Arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from lowprec import Format
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from lowprec.spec.rounding_modes import STOCHASTIC

from ...shared.cast_options import BY_WIDTH
from ...shared.numbers import code_text
from ...shared.snippet_text import Arguments, Snippets, made_formats, node_call, node_list, python_arguments
from .operation_view import Operand
from .sum_view import Settings

__all__ = ["of_operation", "of_sum"]

_OPERATORS = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div"}
_TYPES = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
"""The float types of ONNX's Add, Sub, Mul and Div."""

_STORED = """def stored(numbers):  # as {name} holds them
    return [reference.decode(reference.encode(x, {text}), {text}) for x in numbers]


"""


def _rules(rounding: str, overflow: str, seed: int) -> Arguments:
    named: Arguments = {} if rounding == "nearest_even" else {"rounding": rounding}
    if overflow != BY_WIDTH:
        named["overflow"] = overflow
    return {**named, "seed": seed} if rounding in STOCHASTIC else named


def _numbers(kind: str, n: int, value: str, typed: str, sample: int) -> str:
    """Return the expression of terms before they are rounded to their format."""
    if kind == "typed":
        return f"{typed!r}.replace(',', ' ').replace(';', ' ').split()"
    if kind == "big and small":
        minus = value.strip()[1:] if value.strip().startswith("-") else f"-{value.strip().lstrip('+')}"
        return f"([{value!r}, 1, {minus!r}, 1] * {n})[:{n}]"
    return {
        "ones": f"[1] * {n}",
        "value": f"[{value!r}] * {n}",
        "count": f"range(1, {n} + 1)",
        "normal": f"np.random.default_rng({sample}).standard_normal({n})",
    }[kind]


def of_sum(settings: Settings, count: int, *, has_runs: bool) -> Snippets:
    """Return the Python that repeats a sum of so many terms, and why no ONNX node does."""
    product = settings.product_format
    lines, texts = made_formats(source=settings.source, fmt=settings.fmt)
    source, fmt = texts[settings.source], texts[settings.fmt]
    terms = _numbers(settings.terms, settings.n, settings.value, settings.typed, settings.sample)
    body = f"terms = stored({terms})\n"
    given: Arguments = {}
    factors = ""
    if settings.factor == "terms":
        factors = ", factors=terms"
    elif settings.factor != "none":
        other = _numbers(settings.factor, count, settings.by, settings.factors, settings.sample + 1)
        if settings.factor == "typed" and settings.terms != "typed":
            other = f"({other} * {count})[:{count}]"  # the list is repeated
        body += f"factors = stored({other})\n"
        factors = ", factors=factors"
    if product is not None:
        given["product"] = product
    if settings.method != "sequential":
        given["method"] = settings.method
    shared = f"{factors}{python_arguments(given, texts)}"
    rules = python_arguments(_rules(settings.rounding, settings.overflow, settings.seed))
    body += f"total = teaching.accumulate(terms, {fmt}{shared}{rules})\n"
    body += "print(total.sum, total.exact, total.stalls_at)"
    if has_runs:
        asked: Arguments = {"rounding": settings.rounding} if settings.is_stochastic else {}
        asked |= {} if settings.overflow == BY_WIDTH else {"overflow": settings.overflow}
        seeds = f"range({settings.seed}, {settings.seed + settings.runs})"
        body += f"\nruns = teaching.accumulate_runs(terms, {fmt}, {seeds}{shared}{python_arguments(asked)})\n"
        body += "print(runs.mean, runs.deviation)"
    numpy = "import numpy as np\n" if "np." in body else ""
    imports = f"{numpy}import lowprec as lp\nfrom lowprec import reference, teaching\n\n"
    imports = imports if lines else imports.replace("import lowprec as lp\n", "")
    stored = _STORED.format(name=settings.source.name, text=source)
    return f"{imports}{lines}\n{stored}{body}", (
        "None: Add, ReduceSum and MatMul calculate in the type of their inputs; no attribute names the format of an "
        "accumulator or an order."
    )


def of_operation(
    name: str, operands: Sequence[Operand], fmt: Format, *, rounding: str, overflow: str, seed: int
) -> Snippets:
    """Return the Python that repeats an operation, and the ONNX nodes that do, or why there are none."""
    lines, texts = made_formats(fmt=fmt)
    codes = ", ".join(code_text(operand.code, fmt) for operand in operands)
    rules = python_arguments(_rules(rounding, overflow, seed))
    imports = ("import lowprec as lp\n" if lines else "") + "from lowprec import reference, teaching\n"
    python = (
        f"{imports}\n{lines}operands = [reference.decode(code, {texts[fmt]}) for code in ({codes})]\n"
        f"result = teaching.operate({name!r}, operands, {texts[fmt]}{rules})\n"
        "print(result.value, result.exact, result.note)\nprint(result.explanation)"
    )
    return python, _why_no_nodes(name, fmt, rounding, overflow) or _nodes(_OPERATORS[name], fmt)


def _why_no_nodes(name: str, fmt: Format, rounding: str, overflow: str) -> str:
    if fmt.onnx_enum is None:
        return f"None: ONNX has no number for {fmt.name}."
    if name not in _OPERATORS:
        return "None: ONNX has no fused multiply-add."
    if rounding != "nearest_even" or overflow != BY_WIDTH:
        return "None: ONNX's arithmetic rounds to the nearest, ties to even, and has no attribute for another rule."
    if not fmt.has_zero:
        return f"None: Cast rounds powers of two by `round_mode`, and {fmt.name} has no {_OPERATORS[name]}."
    return ""


def _nodes(operator: str, fmt: Format) -> str:
    """Return the nodes: one for the types of the operator, through float32 for others, where that is harmless."""
    if fmt in _TYPES:
        return node_list([node_call(operator, ["a", "b"], "y", {})])
    return node_list(
        [
            node_call("Cast", ["a"], "a32", {"to": FLOAT32}),
            node_call("Cast", ["b"], "b32", {"to": FLOAT32}),
            node_call(operator, ["a32", "b32"], "y32", {}),
            node_call("Cast", ["y32"], "y", {"to": fmt}),
        ]
    )
