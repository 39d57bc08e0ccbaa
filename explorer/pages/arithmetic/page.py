"""The page Arithmetic: a sum or dot product accumulated in a format, step by step; one operation in a format."""

from __future__ import annotations

import functools
from typing import Any

import streamlit as st

from lowprec.spec.rounding_modes import DEFAULT_RANDOM_BITS, STOCHASTIC
from lowprec.teaching.accumulation import METHODS

from ...shared import layout
from ...shared.browser.picture import picture
from ...shared.cast_controls import overflow_box
from ...shared.controls import Controls
from ...shared.format_names import format_named
from ...shared.numbers import Place, number, place
from ...shared.page import FLOATS
from ...shared.snippet_text import Snippets
from . import operation_view, sum_view
from . import picture as drawings
from . import snippets as code_snippets
from .state import ARITHMETIC_SHOWS, Arithmetic

__all__ = ["expression", "show"]

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
_TESTS = {"sum": ("tests/teaching/test_accumulation.py",), "operation": ("tests/teaching/test_arithmetic.py",)}
_NUMBER_HELP = "0.1, 17/23, 0x1.2p-2; it is rounded to the format of the terms."
_LIST_HELP = (
    "Up to 256 numbers, split by blanks or commas: 0.3 17/23 1e6. Factors are repeated, unless the terms are a list."
)


DEFAULT = Arithmetic()


def show(page: Controls[Arithmetic]) -> None:
    """Show the page."""
    layout.heading(
        "Arithmetic", "A sum, or one operation, in a format: what does every rounding lose?", "How Cast rounds"
    )
    is_sum = page.state.show == "sum"
    with layout.controls():
        st.segmented_control(
            "Show", ARITHMETIC_SHOWS, required=True, **page.bind("show"), label_visibility="collapsed",
            format_func={"sum": "Sum", "operation": "One operation"}.__getitem__,
        )  # fmt: skip
        (_term_controls if is_sum else _operand_controls)(page)
        with st.container(width=190):
            page.format_box(st, "Accumulator" if is_sum else "Format", "fmt", FLOATS)
    above = st.container()
    snippets = (_show_sum if is_sum else _show_operation)(page, above)
    layout.oracle_section("lowprec.reference calculates every number of this page", _TESTS[page.state.show])
    layout.copy_section(page, "arithmetic", *snippets)


# ---- a sum


def _term_controls(page: Controls[Arithmetic]) -> None:
    state = page.state
    st.selectbox(
        "Terms", sum_view.TERMS, **page.bind("terms"), format_func=_TERM_TEXTS.__getitem__, width=180,
        help="Floats only: integers add and multiply exactly until they wrap around.",
    )  # fmt: skip
    _number_or_list(page, state.terms, ("value", "typed"))
    if state.terms != "typed":
        st.number_input("n", 1, sum_view.MOST_TERMS, step=1, **page.bind("n"), width=130)


def _number_or_list(page: Controls[Arithmetic], kind: str, fields: tuple[str, str]) -> None:
    value, numbers = fields
    if kind == "typed":
        st.text_input("Numbers", **page.bind(numbers), max_chars=3000, help=_LIST_HELP, width=220)
    elif kind in ("value", "big and small"):
        st.text_input("Value", **page.bind(value), max_chars=1000, help=_NUMBER_HELP, width=110)


def _more_of_sum(page: Controls[Arithmetic]) -> None:
    """Show the controls that are seldom changed: what is multiplied, how it is rounded and in which order."""
    state = page.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=190):
            page.format_box(st, "Format of the terms", "source", FLOATS)
        st.selectbox(
            "Multiplied by", sum_view.FACTORS, **page.bind("factor"), format_func=_FACTOR_TEXTS.__getitem__, width=210
        )
        if state.factor != "none":
            _number_or_list(page, state.factor, ("by", "factors"))
            st.selectbox(
                "Products are rounded",
                sum_view.PRODUCTS,
                **page.bind("product"),
                format_func=_PRODUCT_TEXTS.__getitem__,
                help="Not at all: the sum alone is rounded, as in a fused multiply-add. Else to the nearest, ties to "
                "even.",
                width=230,
            )
        if "normal" in (state.terms, state.factor):
            st.number_input(
                "Sample", 0, 9999, step=1, **page.bind("sample"), help="The seed of the normal samples.", width=130
            )
        st.selectbox(
            "Order", METHODS, **page.bind("method"), width=160,
            help="ascending, descending: by magnitude. compensated: Kahan's algorithm.",
        )  # fmt: skip
        _rounding_controls(page, has_seed=True)
        st.slider("Runs", 0, sum_view.MOST_RUNS, **page.bind("runs"), width=240, help="Each has a seed of its own.")


def _rounding_controls(page: Controls[Arithmetic], *, has_seed: bool) -> None:
    st.selectbox("Rounding", operation_view.ROUNDED, **page.bind("rounding"), width=180)
    overflow_box(page, [format_named(page.state.fmt)])
    if has_seed:
        st.number_input("Seed", 0, 9999, step=1, **page.bind("seed"), help="Of stochastic roundings.", width=130)


def _settings(state: Arithmetic) -> sum_view.Settings:
    """Return the settings of a sum."""
    return sum_view.Settings(
        format_named(state.source), format_named(state.fmt), state.terms, state.n, state.value, state.typed,
        state.sample, state.factor, state.by, state.factors, state.product, state.method, state.rounding,
        state.overflow, state.seed, state.runs,
    )  # fmt: skip


def _check_terms(page: Controls[Arithmetic]) -> None:
    """Show what is wrong with a text, and go on with the default."""
    state = page.state
    wrong = "typed" if state.terms == "typed" else "value"
    terms = page.compute_or_reset(
        lambda state: sum_view.raw_terms(_settings(state)), **{wrong: getattr(DEFAULT, wrong)}
    )
    if state.factor in ("value", "typed"):
        wrong = {"value": "by", "typed": "factors"}[state.factor]
        page.compute_or_reset(
            lambda state: sum_view.raw_numbers(state.factor, 1, state.by, state.factors, 0, ("by", "factors")),
            **{wrong: getattr(DEFAULT, wrong)},
        )
        page.compute_or_reset(
            lambda state: sum_view.raw_factors(_settings(state), len(terms)), factors=" ".join(["1"] * len(terms))
        )


def _show_sum(page: Controls[Arithmetic], above: Any) -> Snippets:
    """Show a sum and return the code that repeats it."""
    with layout.more("Products, order and rounding", "format of the terms, factors, overflow, seed, stochastic runs"):
        _more_of_sum(page)
    _check_terms(page)
    settings = _settings(page.state)
    result = sum_view.summed(settings)
    found, state = result.found, page.state
    at = sum_view.chosen_step(result, state.step)
    with above:
        step, steps = sum_view.shown_step(found, at), sum_view.shown_steps(settings)
        picture(
            drawings.running_sum(result, step, steps, wide=True),
            drawings.running_sum(result, step, steps, wide=False),
            name="running sum", detail=f"{state.fmt} {state.terms}", on_set=page.take, drag=drawings.drag(steps, step),
        )  # fmt: skip
        layout.show("pages/arithmetic/lost", result=result)
        st.caption("  \n".join(_notes(page, result)))
        layout.open_in(state)
    with layout.more("Sums and steps as tables", "orders, stochastic runs, the steps around the one in the picture"):
        st.number_input(
            "Step to look at", 0, sum_view.MOST_TERMS, step=1, width=240, **page.bind("step"),
            help=f"1 to {found.length}. 0: where the sum stops changing, or the last.",
        )  # fmt: skip
        layout.show("pages/arithmetic/sum_tables", result=result, steps=sum_view.rows_to_show(found, at), at=at)
        st.caption(f"Step {at} of {found.length}: {found.explanation(at).rule}.")
        if result.spread:
            st.caption(
                f"The exact sum is {number(found.exact)}. Each rounding goes up or down by chance, the likelier to a "
                f"neighbour the nearer it is: {DEFAULT_RANDOM_BITS} random bits, seeds {state.seed} to "
                f"{state.seed + result.spread.count - 1}. While no sum leaves the range, the expected result is the "
                "exact sum, as far as that many bits allow."
            )
    return code_snippets.of_sum(settings, len(found.terms), has_runs=result.spread is not None)


def _notes(page: Controls[Arithmetic], result: sum_view.Sum) -> list[str]:
    """Return what the picture needs in words."""
    found, notes = result.found, []
    if result.changed:
        notes.append(
            f"Cast to {result.settings.source.name} changed {result.changed} of the terms and factors; exact is the "
            "sum after that."
        )
    if result.curve is None:
        notes.append("A sum by pairs has no running sum: its steps add neighbours, then the sums of these.")
    else:
        band = "; the band holds 90 % of the runs" if result.curve.band else ""
        notes.append(f"Order: {found.method}{band}.")
    return [*notes, result.why_no_runs] if result.why_no_runs else notes


# ---- one operation


def _operand_controls(page: Controls[Arithmetic]) -> None:
    """Show the operation, its operands, and examples."""
    st.selectbox(
        "Operation", tuple(operation_view.SYMBOLS), **page.bind("op"), width=200,
        format_func=lambda name: f"{name.replace('_', ' ')}: {expression(name)}",
    )  # fmt: skip
    for name in "abc"[: operation_view.operand_count(page.state.op)]:
        st.text_input(
            name,
            **page.bind(name),
            max_chars=1000,
            width=110,
            help="A number: 0.1, 17/23, -inf. A code: 0x3F80, 0b0101.",
        )
    with st.popover("examples", width="content"):
        for label, changes in operation_view.EXAMPLES:
            st.button(label, key=f"example {label}", on_click=page.set, kwargs=changes)


def expression(name: str) -> str:
    """Return an operation as a formula."""
    return "a × b + c" if name == "fused_multiply_add" else f"a {operation_view.SYMBOLS[name]} b"


def _show_operation(page: Controls[Arithmetic], above: Any) -> Snippets:
    """Show one operation and return the code that repeats it."""
    fmt = format_named(page.state.fmt)

    def named_operand(name: str, state: Arithmetic) -> Place:
        return place(getattr(state, name), fmt, name)

    for name in "abc"[: operation_view.operand_count(page.state.op)]:
        page.compute_or_reset(functools.partial(named_operand, name), **{name: getattr(DEFAULT, name)})
    state: Any = page.state  # its names are checked, and so of the literal types
    rules = {"overflow": state.overflow, "seed": state.seed}
    result = operation_view.calculate(state.op, (state.a, state.b, state.c), fmt, mode=state.rounding, **rules)
    with above:
        picture(
            drawings.operation(result, state.op, wide=True), drawings.operation(result, state.op, wide=False),
            name="operation", detail=f"{state.op} {state.fmt}", on_set=page.take,
        )  # fmt: skip
        changed = operation_view.changed_text(result.operands, fmt)
        layout.show("pages/arithmetic/operation_rule", result=result, changed=changed)
        layout.open_in(state)
    with layout.more("Rounding, and all values and codes as tables", "overflow rule, seed, bits, chances"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _rounding_controls(page, has_seed=state.rounding in STOCHASTIC)
        layout.show("pages/arithmetic/operation_tables", result=result, expression=expression(state.op))
        if result.chances:
            layout.show("rounding_chances", fmt=fmt, chances=result.chances)
            st.caption(
                f"Stochastic roundings with {DEFAULT_RANDOM_BITS} random bits: the probability of the upper neighbour."
            )
    return code_snippets.of_operation(state.op, result.operands, fmt, rounding=state.rounding, **rules)
