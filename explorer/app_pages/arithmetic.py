"""The page Arithmetic: a sum or dot product accumulated in a format, step by step; one operation in a format."""

import streamlit as st

from lowprec.explorer import arithmetic_controls as controls
from lowprec.explorer import charts, code_snippets, page_layout
from lowprec.explorer.charts.accumulation import has_points, running_sums
from lowprec.explorer.code_snippets.snippet_text import Snippets
from lowprec.explorer.controls import Controls
from lowprec.explorer.format_names import format_named
from lowprec.explorer.page_states import ARITHMETIC_SHOWS, Arithmetic
from lowprec.explorer.template_filters import number
from lowprec.explorer.views import accumulation, arithmetic
from lowprec.explorer.views.numbers import place
from lowprec.spec.rounding_modes import DEFAULT_RANDOM_BITS

DEFAULT = Arithmetic()
page = Controls(Arithmetic)
page_layout.heading(
    "Arithmetic",
    "Add many numbers in a format, or calculate once, to see what every rounding loses.",
    "How Cast rounds",
)
names = {"sum": "Sum and dot product", "operation": "One operation"}
st.segmented_control("Show", ARITHMETIC_SHOWS, required=True, **page.bind("show"), format_func=names.__getitem__)
st.caption("Floats only: integers, which are not offered, add and multiply exactly until they wrap around.")
fmt = format_named(page.state.fmt)


def settings_of(state: Arithmetic) -> accumulation.Settings:
    """Return the settings of a sum."""
    return accumulation.Settings(
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
    controls.term_controls(page)
    controls.result_controls(page, fmt, "Accumulator")
    state = page.state
    wrong = "typed" if state.terms == "typed" else "value"
    terms = page.compute_or_reset(
        lambda state: accumulation.raw_terms(settings_of(state)), **{wrong: getattr(DEFAULT, wrong)}
    )
    if state.factor in ("value", "typed"):
        wrong = {"value": "by", "typed": "factors"}[state.factor]
        page.compute_or_reset(
            lambda state: accumulation.raw_numbers(state.factor, 1, state.by, state.factors, 0, ("by", "factors")),
            **{wrong: getattr(DEFAULT, wrong)},
        )
        page.compute_or_reset(
            lambda state: accumulation.raw_factors(settings_of(state), len(terms)),
            factors=" ".join(["1"] * len(terms)),
        )
    result = accumulation.summed(settings_of(page.state))
    found = result.found
    page_layout.show("arithmetic_sum", result=result)
    page_layout.show("arithmetic_lost", result=result)
    source = result.settings.source.name
    if result.changed:
        st.caption(f"Cast to {source} changed {result.changed} of the terms and factors; exact is the sum after that.")
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("Running sum", anchor=False)
        if result.curve is None:
            st.caption("A sum by pairs has no running sum: its steps add neighbours, then the sums of these.")
        elif has_points(result.curve):
            charts.show(running_sums(result.curve), "The running sum after each step, by format")
            band = "; the band holds 90 % of the runs" if result.curve.band else ""
            st.caption(f"Order: {found.method}{band}.")
    with right:
        st.header("Orders", anchor=False)
        page_layout.show("arithmetic_orders", fmt=fmt, orders=result.orders, chosen=found.method)
    st.header("Stochastic rounding", anchor=False)
    st.slider("Runs", 0, accumulation.MOST_RUNS, **page.bind("runs"), width=320, help="Each has a seed of its own.")
    if result.spread:
        page_layout.show("arithmetic_runs", spread=result.spread)
        spread = result.spread
        st.caption(
            f"The exact sum is {number(found.exact)}. Each rounding goes up or down by chance, the likelier to a "
            f"neighbour the nearer it is: {DEFAULT_RANDOM_BITS} random bits, seeds {page.state.seed} to "
            f"{page.state.seed + spread.count - 1}. While no sum leaves the range, the expected result is the exact "
            "sum, as far as that many bits allow."
        )
    elif result.why_no_runs:
        st.caption(result.why_no_runs)
    st.header("Step by step", anchor=False)
    controls.run_controls(page, found.length)
    at = accumulation.chosen_step(result, page.state.step)
    page_layout.show("arithmetic_steps", fmt=fmt, steps=accumulation.rows_to_show(found, at), at=at)
    st.caption(f"Step {at} of {found.length}: {found.explanation(at).rule}.")
    return code_snippets.of_sum(result.settings, len(found.terms), has_runs=result.spread is not None)


def show_operation() -> Snippets:
    """Show one operation and return the code that repeats it."""
    controls.result_controls(page, fmt, "Format")
    controls.operand_controls(page)
    for name in "abc"[: arithmetic.operand_count(page.state.op)]:
        page.compute_or_reset(
            lambda state, name=name: place(getattr(state, name), fmt, name), **{name: getattr(DEFAULT, name)}
        )
    state = page.state
    texts = state.a, state.b, state.c
    result = arithmetic.calculate(state.op, texts, fmt, mode=state.rounding, overflow=state.overflow, seed=state.seed)
    operation = result.operation
    page_layout.show(
        "arithmetic_operation",
        result=result,
        expression=controls.expression(state.op),
        changed=arithmetic.changed_text(result.operands, fmt),
    )
    if result.interval is not None:
        page_layout.show("rounding_interval", explanation=operation.explanation, interval=result.interval)
    st.header("All roundings", anchor=False)
    page_layout.show("arithmetic_roundings", fmt=fmt, rows=result.rows)
    if result.chances:
        page_layout.show("rounding_chances", fmt=fmt, chances=result.chances)
        st.caption(
            f"Stochastic roundings with {DEFAULT_RANDOM_BITS} random bits: the probability of the upper neighbour."
        )
    return code_snippets.of_operation(
        state.op, result.operands, fmt, rounding=state.rounding, overflow=state.overflow, seed=state.seed
    )


page_layout.open_in(page.state)
snippets = show_sum() if page.state.show == "sum" else show_operation()
page_layout.oracle_section(
    "lowprec.reference calculates every number of this page",
    ("tests/teaching/test_accumulation.py",) if page.state.show == "sum" else ("tests/teaching/test_arithmetic.py",),
)
page_layout.copy_section(page, "arithmetic", *snippets)
