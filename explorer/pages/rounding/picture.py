"""The picture of Rounding: a number between its two neighbours, the midpoint, and the end that wins."""

from __future__ import annotations

from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value

from ...shared.codes import fields
from ...shared.drawing import MARGIN, draw, text_width
from ...shared.numbers import apart, code_text, digits_of, short
from ...shared.roundings import Interval

__all__ = ["interval"]

_LEAST_BAR = 640.0


def interval(explanation: Explanation, drawn: Interval, dark: bool = False) -> str:
    """Return the picture of a rounding and its interval."""
    fmt = explanation.format

    def end(side: str, found: tuple[int, Value] | None) -> tuple[str, str, str, list[tuple[str, str]], bool]:
        if found is None:
            return side, "no value", "", [], False
        code, value = found
        bits = [(field.name, field.bits) for field in fields(code, fmt)]
        return side, apart(value, fmt), code_text(code, fmt), bits, drawn.winner == side

    x_text = f"x = {apart(explanation.x, fmt)}"
    middle = "" if drawn.middle is None or drawn.winner == "exact" else f"midpoint {apart(drawn.middle, fmt)}"
    ends = [end("left", drawn.left), end("right", drawn.right)]
    result = short(explanation.value, 26, max(12, digits_of(fmt)))
    title = f"{short(explanation.x, 26, 12)} → {result} in {fmt.name}"
    rule = explanation.rule + (" (x lies exactly in the middle)" if explanation.is_tie else "")
    ends_width = text_width(2 * (fmt.bits + 2), 15) + 40  # the bits of both ends
    texts = 2 * max(text_width(len(text) + 8, 15) for _, text, *_ in ends) + text_width(len(middle), 14) + 60
    bar = max(_LEAST_BAR, ends_width, texts, text_width(len(title), 17), text_width(len(rule), 14))
    x = MARGIN + bar * drawn.position
    half = text_width(len(x_text), 15) / 2
    label = min(max(x, MARGIN + half), MARGIN + bar - half)  # inside the picture, whichever end x is near
    values = {"title": title, "rule": rule, "ends": ends, "middle": middle, "x_text": x_text, "x": x, "label": label}
    return draw("pages/rounding/interval", bar + 2 * MARGIN, 218, dark, bar=bar, **values)
