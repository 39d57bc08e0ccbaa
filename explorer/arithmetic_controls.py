"""The controls of Arithmetic: terms and factors of a sum, the rounding of a result, the operands of an operation."""

from __future__ import annotations

from typing import Any

import streamlit as st

from lowprec import Format
from lowprec.spec.rounding_modes import STOCHASTIC
from lowprec.teaching.accumulation import METHODS

from .controls import Controls
from .page_states import FLOATS, Arithmetic
from .rounding_controls import overflow_box
from .views import accumulation, arithmetic

__all__ = ["expression", "operand_controls", "result_controls", "run_controls", "term_controls"]

_TERM_TEXTS = {
    "ones": "n ones",
    "value": "n times a value",
    "count": "1, 2, 3, … n",
    "normal": "n normal samples",
    "big and small": "v, 1, −v, 1, …",
    "typed": "a list",
}
_FACTOR_TEXTS = {
    "none": "none: a sum",
    "value": "a value",
    "terms": "the terms: a sum of squares",
    "normal": "normal samples",
    "typed": "a list",
}
_PRODUCT_TEXTS = {"exact": "not at all", "terms": "to the format of the terms", "accumulator": "to the accumulator's"}
_NUMBER_HELP = "0.1, 17/23, 0x1.2p-2; it is rounded to the format of the terms."
_LIST_HELP = (
    "Up to 256 numbers, split by blanks or commas: 0.3 17/23 1e6. Factors are repeated, unless the terms are a list."
)


def term_controls(page: Controls[Arithmetic]) -> None:
    """Show what is added: terms, their format, and factors."""
    state = page.state
    one, two, three, four = st.columns([3, 3, 2, 3], vertical_alignment="bottom")
    one.selectbox("Terms", accumulation.TERMS, **page.bind("terms"), format_func=_TERM_TEXTS.__getitem__)
    _number_or_list(page, two, state.terms, ("value", "typed"))
    if state.terms != "typed":
        three.number_input("n", 1, accumulation.MOST_TERMS, step=1, **page.bind("n"))
    page.format_box(four, "Format of the terms", "source", FLOATS)
    one, two, three, four = st.columns([3, 3, 2, 3], vertical_alignment="bottom")
    one.selectbox("Multiplied by", accumulation.FACTORS, **page.bind("factor"), format_func=_FACTOR_TEXTS.__getitem__)
    if state.factor != "none":
        _number_or_list(page, two, state.factor, ("by", "factors"))
        four.selectbox(
            "Products are rounded",
            accumulation.PRODUCTS,
            **page.bind("product"),
            format_func=_PRODUCT_TEXTS.__getitem__,
            help="Not at all: the sum alone is rounded, as in a fused multiply-add. Else to the nearest, ties to even.",
        )
    if "normal" in (state.terms, state.factor):
        three.number_input("Sample", 0, 9999, step=1, **page.bind("sample"), help="The seed of the normal samples.")


def _number_or_list(page: Controls[Arithmetic], place: Any, kind: str, fields: tuple[str, str]) -> None:
    number, numbers = fields
    if kind == "typed":
        place.text_input("Numbers", **page.bind(numbers), max_chars=3000, help=_LIST_HELP)
    elif kind in ("value", "big and small"):
        place.text_input("Value", **page.bind(number), max_chars=1000, help=_NUMBER_HELP)


def result_controls(page: Controls[Arithmetic], fmt: Format, label: str) -> None:
    """Show the format of the result, how it is rounded, and the seed of a stochastic rounding."""
    one, two, three, four, five = st.columns([3, 3, 3, 3, 2], vertical_alignment="bottom")
    page.format_box(one, label, "fmt", FLOATS)
    two.selectbox("Rounding", arithmetic.ROUNDED, **page.bind("rounding"))
    with three:
        overflow_box(page, [fmt])
    if page.state.show == "sum":
        four.selectbox(
            "Order",
            METHODS,
            **page.bind("method"),
            help="ascending, descending: by magnitude. compensated: Kahan's algorithm.",
        )
    if page.state.rounding in STOCHASTIC or page.state.show == "sum":
        five.number_input("Seed", 0, 9999, step=1, **page.bind("seed"), help="Of stochastic roundings.")


def run_controls(page: Controls[Arithmetic], length: int) -> None:
    """Show the step to look at."""
    st.number_input(
        "Step to look at",
        0,
        accumulation.MOST_TERMS,
        step=1,
        width=240,
        **page.bind("step"),
        help=f"1 to {length}. 0: where the sum stops changing, or the last.",
    )


def operand_controls(page: Controls[Arithmetic]) -> None:
    """Show the operation, its operands, and examples."""
    one, *places = st.columns([3, 3, 3, 3], vertical_alignment="bottom")
    one.selectbox(
        "Operation",
        tuple(arithmetic.SYMBOLS),
        **page.bind("op"),
        format_func=lambda name: f"{name.replace('_', ' ')}: {expression(name)}",
    )
    count = arithmetic.operand_count(page.state.op)
    for place, name in zip(places, "abc"[:count], strict=False):
        place.text_input(
            name, **page.bind(name), max_chars=1000, help="A number: 0.1, 17/23, -inf. A code: 0x3F80, 0b0101."
        )
    with st.container(horizontal=True, gap="xsmall"):
        for label, changes in arithmetic.EXAMPLES:
            st.button(label, key=f"example {label}", on_click=page.set, kwargs=changes)


def expression(name: str) -> str:
    """Return an operation as a formula."""
    return "a × b + c" if name == "fused_multiply_add" else f"a {arithmetic.SYMBOLS[name]} b"
