"""States of Arithmetic to look at: terms, orders, roundings and formats of sums; operations on special values."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.pages.arithmetic.operation_view import EXAMPLES, ROUNDED
from lowprec.explorer.pages.arithmetic.state import Arithmetic
from lowprec.explorer.pages.arithmetic.sum_view import FACTORS, PRODUCTS, TERMS
from lowprec.explorer.shared.page import FLOATS
from lowprec.teaching.accumulation import METHODS
from lowprec.teaching.arithmetic import OPERATIONS

from .described import CONVERTED


def states() -> Iterator[Arithmetic]:
    yield Arithmetic()
    for index, name in enumerate((*FLOATS, *CONVERTED)):
        terms, method = TERMS[index % len(TERMS)], METHODS[index % len(METHODS)]
        rounding = ROUNDED[index % len(ROUNDED)]
        factor, product = FACTORS[index % 4], PRODUCTS[index % 3]
        yield Arithmetic(
            fmt=name, source=name, terms=terms, n=60, factor=factor, product=product, method=method,
            rounding=rounding, runs=8,
        )  # fmt: skip
        yield Arithmetic(
            "operation", name, ROUNDED[-1 - index % len(ROUNDED)], op=tuple(OPERATIONS)[index % 5], a="0.3"
        )
    yield from (Arithmetic(n=50, method=method, terms="big and small", value="512") for method in METHODS)
    yield from (Arithmetic(terms="typed", typed=text, runs=3) for text in ("1", "inf 1 -inf", "nan", "0 -0"))
    yield from (Arithmetic("operation", **changes) for _, changes in EXAMPLES)
