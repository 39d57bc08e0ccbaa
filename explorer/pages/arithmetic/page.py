"""The page Arithmetic: a sum or dot product accumulated in a format, step by step; one operation in a format."""

from __future__ import annotations

import functools
from typing import Any

import streamlit as st

from lowprec import Format
from lowprec.spec.rounding_modes import DEFAULT_RANDOM_BITS, STOCHASTIC
from lowprec.teaching.accumulation import METHODS

from ...shared import chart, layout
from ...shared.cast_controls import overflow_box
from ...shared.controls import Controls
from ...shared.format_names import format_named
from ...shared.numbers import Place, number, place
from ...shared.page import FLOATS
from ...shared.snippet_text import Snippets
from . import operation_view, sum_view
from . import snippets as code_snippets
from .chart import has_points, running_sums
from .state import ARITHMETIC_SHOWS, Arithmetic

__all__ = ["expression", "operand_controls", "result_controls", "run_controls", "show", "term_controls"]

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
    one.selectbox("Terms", sum_view.TERMS, **page.bind("terms"), format_func=_TERM_TEXTS.__getitem__)
    _number_or_list(page, two, state.terms, ("value", "typed"))
    if state.terms != "typed":
        three.number_input("n", 1, sum_view.MOST_TERMS, step=1, **page.bind("n"))
    page.format_box(four, "Format of the terms", "source", FLOATS)
    one, two, three, four = st.columns([3, 3, 2, 3], vertical_alignment="bottom")
    one.selectbox("Multiplied by", sum_view.FACTORS, **page.bind("factor"), format_func=_FACTOR_TEXTS.__getitem__)
    if state.factor != "none":
        _number_or_list(page, two, state.factor, ("by", "factors"))
        four.selectbox(
            "Products are rounded",
            sum_view.PRODUCTS,
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
    two.selectbox("Rounding", operation_view.ROUNDED, **page.bind("rounding"))
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
        sum_view.MOST_TERMS,
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
        tuple(operation_view.SYMBOLS),
        **page.bind("op"),
        format_func=lambda name: f"{name.replace('_', ' ')}: {expression(name)}",
    )
    count = operation_view.operand_count(page.state.op)
    for column, name in zip(places, "abc"[:count], strict=False):
        column.text_input(
            name, **page.bind(name), max_chars=1000, help="A number: 0.1, 17/23, -inf. A code: 0x3F80, 0b0101."
        )
    with st.container(horizontal=True, gap="xsmall"):
        for label, changes in operation_view.EXAMPLES:
            st.button(label, key=f"example {label}", on_click=page.set, kwargs=changes)


def expression(name: str) -> str:
    """Return an operation as a formula."""
    return "a × b + c" if name == "fused_multiply_add" else f"a {operation_view.SYMBOLS[name]} b"


DEFAULT = Arithmetic()


def show(page: Controls[Arithmetic]) -> None:
    """Show the page."""
    layout.heading(
        "Arithmetic",
        "Add many numbers in a format, or calculate once, to see what every rounding loses.",
        "How Cast rounds",
    )
    names = {"sum": "Sum and dot product", "operation": "One operation"}
    st.segmented_control("Show", ARITHMETIC_SHOWS, required=True, **page.bind("show"), format_func=names.__getitem__)
    st.caption("Floats only: integers, which are not offered, add and multiply exactly until they wrap around.")
    fmt = format_named(page.state.fmt)

    def settings_of(state: Arithmetic) -> sum_view.Settings:
        """Return the settings of a sum."""
        return sum_view.Settings(
            format_named(state.source),
            fmt,
            state.terms,
            state.n,
            state.value,
            state.typed,
            state.sample,
            state.factor,
            state.by,
            state.factors,
            state.product,
            state.method,
            state.rounding,
            state.overflow,
            state.seed,
            state.runs,
        )

    def show_sum() -> Snippets:
        """Show a sum and return the code that repeats it."""
        term_controls(page)
        result_controls(page, fmt, "Accumulator")
        state = page.state
        wrong = "typed" if state.terms == "typed" else "value"
        terms = page.compute_or_reset(
            lambda state: sum_view.raw_terms(settings_of(state)), **{wrong: getattr(DEFAULT, wrong)}
        )
        if state.factor in ("value", "typed"):
            wrong = {"value": "by", "typed": "factors"}[state.factor]
            page.compute_or_reset(
                lambda state: sum_view.raw_numbers(state.factor, 1, state.by, state.factors, 0, ("by", "factors")),
                **{wrong: getattr(DEFAULT, wrong)},
            )
            page.compute_or_reset(
                lambda state: sum_view.raw_factors(settings_of(state), len(terms)),
                factors=" ".join(["1"] * len(terms)),
            )
        result = sum_view.summed(settings_of(page.state))
        found = result.found
        layout.show("pages/arithmetic/arithmetic_sum", result=result)
        layout.show("pages/arithmetic/arithmetic_lost", result=result)
        source = result.settings.source.name
        if result.changed:
            st.caption(
                f"Cast to {source} changed {result.changed} of the terms and factors; exact is the sum after that."
            )
        left, right = st.columns([3, 2], gap="large")
        with left:
            st.header("Running sum", anchor=False)
            if result.curve is None:
                st.caption("A sum by pairs has no running sum: its steps add neighbours, then the sums of these.")
            elif has_points(result.curve):
                chart.show(running_sums(result.curve), "The running sum after each step, by format")
                band = "; the band holds 90 % of the runs" if result.curve.band else ""
                st.caption(f"Order: {found.method}{band}.")
        with right:
            st.header("Orders", anchor=False)
            layout.show("pages/arithmetic/arithmetic_orders", fmt=fmt, orders=result.orders, chosen=found.method)
        st.header("Stochastic rounding", anchor=False)
        st.slider("Runs", 0, sum_view.MOST_RUNS, **page.bind("runs"), width=320, help="Each has a seed of its own.")
        if result.spread:
            layout.show("pages/arithmetic/arithmetic_runs", spread=result.spread)
            spread = result.spread
            st.caption(
                f"The exact sum is {number(found.exact)}. Each rounding goes up or down by chance, the likelier to a "
                f"neighbour the nearer it is: {DEFAULT_RANDOM_BITS} random bits, seeds {page.state.seed} to "
                f"{page.state.seed + spread.count - 1}. While no sum leaves the range, the expected result is the "
                f"exact "
                "sum, as far as that many bits allow."
            )
        elif result.why_no_runs:
            st.caption(result.why_no_runs)
        st.header("Step by step", anchor=False)
        run_controls(page, found.length)
        at = sum_view.chosen_step(result, page.state.step)
        layout.show("pages/arithmetic/arithmetic_steps", fmt=fmt, steps=sum_view.rows_to_show(found, at), at=at)
        st.caption(f"Step {at} of {found.length}: {found.explanation(at).rule}.")
        return code_snippets.of_sum(result.settings, len(found.terms), has_runs=result.spread is not None)

    def named_operand(name: str, state: Arithmetic) -> Place:
        return place(getattr(state, name), fmt, name)

    def show_operation() -> Snippets:
        """Show one operation and return the code that repeats it."""
        result_controls(page, fmt, "Format")
        operand_controls(page)
        for name in "abc"[: operation_view.operand_count(page.state.op)]:
            page.compute_or_reset(functools.partial(named_operand, name), **{name: getattr(DEFAULT, name)})
        state: Any = page.state  # its names are checked, and so of the literal types
        texts = state.a, state.b, state.c
        result = operation_view.calculate(
            state.op, texts, fmt, mode=state.rounding, overflow=state.overflow, seed=state.seed
        )
        operation = result.operation
        layout.show(
            "pages/arithmetic/arithmetic_operation",
            result=result,
            expression=expression(state.op),
            changed=operation_view.changed_text(result.operands, fmt),
        )
        if result.interval is not None:
            layout.show("rounding_interval", explanation=operation.explanation, interval=result.interval)
        st.header("All roundings", anchor=False)
        layout.show("pages/arithmetic/arithmetic_roundings", fmt=fmt, rows=result.rows)
        if result.chances:
            layout.show("rounding_chances", fmt=fmt, chances=result.chances)
            st.caption(
                f"Stochastic roundings with {DEFAULT_RANDOM_BITS} random bits: the probability of the upper neighbour."
            )
        return code_snippets.of_operation(
            state.op, result.operands, fmt, rounding=state.rounding, overflow=state.overflow, seed=state.seed
        )

    layout.open_in(page.state)
    snippets = show_sum() if page.state.show == "sum" else show_operation()
    layout.oracle_section(
        "lowprec.reference calculates every number of this page",
        ("tests/teaching/test_accumulation.py",)
        if page.state.show == "sum"
        else ("tests/teaching/test_arithmetic.py",),
    )
    layout.copy_section(page, "arithmetic", *snippets)
