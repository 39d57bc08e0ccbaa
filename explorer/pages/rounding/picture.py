"""The pictures of Rounding: a number between two values, where twelve rules send it, and how a circuit decides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

from lowprec import Format
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value

from ...shared.codes import classify, fields
from ...shared.interaction import Drag, Shown
from ...shared.numbers import apart, code_text, short
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, fitted, text_width
from .ruler import PLACES, Digits, End, Rule, Ruler, told

__all__ = ["by_hand", "drag", "interval"]

_NAMES = {
    "nearest_even": ("nearest", "even"), "nearest_away": ("nearest", "away"), "nearest_zero": ("nearest", "zero"),
    "toward_zero": ("toward", "zero"), "away_from_zero": ("away", "from zero"),
    "toward_positive": ("toward", "positive"), "toward_negative": ("toward", "negative"), "to_odd": ("to", "odd"),
    "stochastic": ("stochastic", "16 bits"),
    "stochastic_a": ("stochastic", "a, 2 bits"), "stochastic_b": ("stochastic", "b, 2 bits"),
    "stochastic_c": ("stochastic", "c, 2 bits"),
}  # fmt: skip
_LAST = PLACES - 1
_RULE = 146.0
"""The height of a row of rules."""
_STATES = "normal", "subnormal", "zero", "inf", "nan", "integer"


def drag(ruler: Ruler) -> Drag:
    """Return what a reader drags: x along the places of its interval."""
    parts: dict[str, Sequence[str]] = {
        "x": [text.replace("-", "−") if len(text) < 14 else short(Value.of(text), 12, 6) for text in ruler.texts],
        "below": ruler.below,
        "above": ruler.above,
        **{rule.name: [text for text, _ in rule.results] for rule in ruler.rules if rule.random_bits},
    }
    return Drag("x", ruler.texts, ruler.start, parts)


def interval(
    ruler: Ruler, explanation: Explanation, *, chosen: str, rule_name: str, saturate: bool | None, wide: bool = True
) -> Shown:
    """Return the picture of an interval; `chosen` is the rule that decides, `rule_name` its name in words.

    `saturate` is None where the switch changes nothing.
    """
    width = WIDE if wide else NARROW
    left, right = (112.0, width - 150.0) if wide else (32.0, width - 56.0)
    rows = 0 if not ruler.rules else 1 if wide else 3
    strip = 300.0
    height = strip + 16 + rows * _RULE if rows else 258.0
    fmt, x = explanation.format, told(explanation.x)
    result = told(explanation.value)
    drawing = Drawing(
        width, height, f"{x} lies between {told(ruler.left.value)} and {told(ruler.right.value)}; it becomes {result}"
    )
    at = (
        right + 60 * wide + 20
        if ruler.at is None and explanation.upper is None
        else left - 30
        if ruler.at is None
        else (left + (right - left) * ruler.at)
    )
    drawing.rect(0, 96, width, 160, "page", data_drag_area="")
    _bands(drawing, ruler, chosen, left, right, at, wide)
    has_way_back = _fates(drawing, ruler, explanation, left, right, at, rule_name, saturate)
    top, bottom = 108, 170
    for end, place in ((ruler.left, left), (ruler.right, right)):
        _end(drawing, end, place, fmt, top, bottom, wide)
    if ruler.middle:
        middle = (left + right) / 2
        drawing.line(middle, 112, middle, 166, "text", width=2, dashed=True)
        if wide and abs(at - middle) > 24:
            side = -1 if at > middle else 1
            drawing.text(middle + side * 34, 202, f"midpoint {ruler.middle.replace('-', '−')}", size=13.5, fill="quiet",
                         anchor="end" if side < 0 else "start")  # fmt: skip
    _distances(drawing, ruler, left, right, at)
    moved = drawing.group(follow="x")
    moved.circle(at, 139, 10, "accent")
    moved.circle(at, 139, 4, "page")
    handle = moved.group(data_drag="", role="slider", tabindex="0", aria_label="Number", aria_valuetext=x)
    label = _inside(at, text_width(x, 20, mono=True) / 2, width)
    handle.rect(_inside(at, 40, width) - 40, 116, 80, 90, "page", opacity="0")
    handle.text(label, 206, x, size=20 if wide else 18, fill="accent", anchor="middle", bold=True, mono=True, part="x")
    places: dict[str, Sequence[tuple[float, float]]] = {}
    if ruler.rules:
        places = _strip(drawing, ruler, strip, chosen, wide)
    if not has_way_back:
        drawing.crop(64)
    return Shown(drawing, left, right, left + (right - left) * ruler.start / _LAST if ruler.at is None else at, places)


def _bands(drawing: Drawing, ruler: Ruler, chosen: str, left: float, right: float, at: float, wide: bool) -> None:
    """Draw which numbers go down and which go up by the rule that decides."""
    drawing.rect(0, 120, drawing.width, 38, "panel")
    rule = next((rule for rule in ruler.rules if rule.name == chosen), None)
    shares = rule.shares if rule else (0.0,) * _LAST + (1.0,)
    step = (right - left) / _LAST
    kind = "held" if ruler.right.meaning is None else _kind(ruler.right, ruler.format)
    for is_up, run in groupby(range(PLACES), key=lambda k: shares[k] == 1):
        ks = list(run)
        start, stop = left + step * _edge(ks[0]), left + step * _edge(ks[-1] + 1)
        drawing.rect(start, 120, stop - start, 38, kind if is_up else "mantissa")
        end = ruler.right if is_up else ruler.left
        nearer = "nearer to" if chosen.startswith("nearest") else "goes to"
        if wide and stop - start > 160:
            fill = f"{kind}-text" if is_up and kind != "held" else "mantissa-text"
            middle = (start + stop) / 2
            if abs(at - middle) < 90:  # the number stands there
                middle = (start + at) / 2 if at > middle else (at + stop) / 2
            drawing.text(middle, 145, f"{nearer} {told(end.value)}", size=15, fill=fill, anchor="middle")


def _edge(place: int) -> float:
    """Return where a run of places begins, `place` the first: at an end or the midpoint beside it, or between two."""
    special = {0, _LAST // 2, _LAST} & {place - 1, place}
    return max(special, default=place - 0.5) if place <= _LAST else _LAST


def _inside(x: float, half: float, width: float) -> float:
    """Return the middle of what is drawn about x, moved into a picture of a width."""
    return min(max(x, half), width - half)


def _kind(end: End, fmt: Format) -> str:
    return "held" if end.code is None else classify(end.code, fmt)


def _end(drawing: Drawing, end: End, x: float, fmt: Format, top: float, bottom: float, wide: bool) -> None:
    """Draw a value, its wall, its code; a number that is none struck through, with what its code means."""
    real = end.meaning is None and end.code is not None
    colour = "text" if real else "nan-text"
    drawing.line(x, top, x, bottom, colour, width=4)
    text = apart(end.value, fmt).replace("-", "−")
    size = 20 if wide and len(text) < 14 else 17 if len(text) < 14 else 13
    anchor = "middle"
    if not real:
        more = told(end.meaning) if end.meaning is not None else "no code"
        kind = _kind(end, fmt) if end.meaning is not None else "zero"
        half, beside = text_width(text, size, mono=True) / 2, text_width(more, 16) + 26
        middle = max(min(x - half - 4, drawing.width - beside - half), half)
        drawing.text(
            middle, 204, text, size=size, fill="nan-text", anchor=anchor, mono=True, struck=True, data_end="value"
        )
        drawing.badge(middle + half + text_width(more, 16) / 2 + 16, 203, more, kind, size=16)
    else:
        place = _inside(x, text_width(text, size, mono=True) / 2, drawing.width)
        drawing.text(place, 204, text, size=size, anchor=anchor, bold=True, mono=True, data_end="value")
    if end.code is not None:
        strip = [(field.name, field.bits) for field in fields(end.code, fmt)]
        long = fmt.bits > 16 or (fmt.bits > 10 and not wide)
        if long:
            drawing.text(x, 236, code_text(end.code, fmt), size=14, fill="quiet", anchor=anchor, mono=True)
        else:
            letters = 15.0 if wide else 12.5
            half = sum(text_width(bits, letters, mono=True) + 10 for _, bits in strip) / 2
            place = _inside(x, half, drawing.width)
            drawing.code(place, 236, strip, size=letters, anchor=anchor)


def _distances(drawing: Drawing, ruler: Ruler, left: float, right: float, at: float) -> None:
    """Draw how far x is from both ends; the lines show only where x was drawn."""
    if ruler.at is None:
        return
    is_nearer_below = at - left <= right - at
    for start, stop, text, _part, nearer in (
        (left, at, ruler.below_here, "below", is_nearer_below),
        (at, right, ruler.above_here, "above", not is_nearer_below),
    ):
        colour = "accent" if nearer else "quiet"
        still: dict[str, Any] = {"class_": "ghost here", "first": ruler.start, "last": ruler.start}
        if stop - start > 24:
            drawing.path(f"M{start + 3:.1f} 174v10m0 -5H{stop - 3:.1f}m0 -5v10", stroke=colour, width=1.5, **still)
        if stop - start > 50:
            middle, half = (start + stop) / 2, text_width(text, 15, mono=True) / 2 + 6
            drawing.rect(middle - half, 170, 2 * half, 18, "page", **still)
            drawing.text(middle, 184, text, size=15, fill=colour, anchor="middle", bold=nearer, mono=True, **still)


def _fates(
    drawing: Drawing, ruler: Ruler, explanation: Explanation, left: float, right: float, at: float, rule_name: str,
    saturate: bool | None,
) -> bool:  # fmt: skip
    """Draw what happens to x: it goes to an end, and from beyond the largest value back where saturate says so.

    Return whether there is such a way back.
    """
    still: dict[str, Any] = {"class_": "ghost here", "first": ruler.start, "last": ruler.start}
    is_beyond = ruler.right.meaning is not None or ruler.right.code is None
    rule = next((rule for rule in ruler.rules if rule.name == rule_name.replace(" ", "_")), None)
    goes_up = (
        rule.share_here == 1 if rule else explanation.upper is not None and explanation.code == explanation.upper[0]
    )
    exact = explanation.lower is not None and explanation.lower == explanation.upper
    if not exact and not (rule and 0 < rule.share_here < 1) and ruler.at is not None:
        end = right - 6 if goes_up else left + 6
        drawing.arc(at, 116, end, 108, 26, **still)
        word = "nearest" if rule_name.startswith("nearest") else rule_name
        if abs(end - at) > text_width(word, 15) + 64:
            drawing.text((at + end) / 2, 100, word, size=15, fill="accent", anchor="middle", bold=True, **still)
    has_way_back = is_beyond and saturate is not None and (goes_up or ruler.at is None)
    if has_way_back:
        colour = "text" if saturate else "quiet"
        word = "saturate: back to" if saturate else "with saturate: back to"
        drawing.arc(right, 92, left + 4, 104, 46, colour, width=2.5, dashed=not saturate)
        drawing.text((left + right) / 2, 30, f"{word} {told(ruler.left.value)}", size=15.5, fill=colour,
                     anchor="middle", bold=bool(saturate))  # fmt: skip
    return has_way_back


def _strip(
    drawing: Drawing, ruler: Ruler, top: float, chosen: str, wide: bool
) -> dict[str, Sequence[tuple[float, float]]]:
    """Draw the rules as small pictures of the same interval; return the places of their dots."""
    columns, box, gap = (12, 83.0, 9.5) if wide else (4, 80.0, 12.0)
    first = 52.0 if wide else 2.0
    drawing.text(0, top, "Twelve rules, one interval", size=17, bold=True)
    if wide:
        ends = f"{told(ruler.left.value)} to {told(ruler.right.value)}"
        note = f"blue: where the numbers from {ends} go, up or down; purple: yours"
        drawing.text(222, top, note, size=15, fill="quiet")
    places: dict[str, Sequence[tuple[float, float]]] = {}
    for index, rule in enumerate(ruler.rules):
        x, y = first + index % columns * (box + gap), top + 24 + index // columns * _RULE
        if wide and index == 0:
            for text, place in ((told(ruler.right.value), y + 56), (told(ruler.left.value), y + 102)):
                shown, size = fitted(text, first - 6, 11.5, 10.5)
                drawing.text(x - 6, place, shown, size=size, anchor="end", fill="quiet", mono=True)
        deterministic = not rule.random_bits
        name = _NAMES[rule.name]
        label = f"{' '.join(name)}: {rule.here[0]}"
        cell = drawing.group(label=label, set=f"rounding={rule.name}" if deterministic else None)
        is_chosen = rule.name == chosen
        cell.rect(x, y, box, 136, "soft" if is_chosen else "page", radius=6)
        cell.text(x + box / 2, y + 18, name[0], size=13, anchor="middle", bold=True)
        cell.text(
            x + box / 2,
            y + 34,
            name[1],
            size=13,
            anchor="middle",
            bold=deterministic,
            fill="text" if deterministic else "quiet",
        )
        cell.rect(x, y + 44, box, 68 - 8, "panel", radius=4)
        low, high, margin = y + 98.0, y + 52.0, 5.0
        across = box - 2 * margin
        _steps(cell, rule, x + margin, across, low, high)
        at = ruler.at if ruler.at is not None else ruler.start / _LAST
        here = x + margin + across * at
        line = cell.group(follow=f"line {rule.name}")
        line.line(here, y + 46, here, y + 102, "accent", width=1.5)
        dot = cell.group(follow=f"dot {rule.name}")
        dot.circle(here, low + (high - low) * rule.share_here, 5, "accent")
        xs = [x + margin + across * k / _LAST - here for k in range(PLACES)]
        places[f"line {rule.name}"] = [(dx, 0.0) for dx in xs]
        drawn_y = low + (high - low) * rule.share_here
        places[f"dot {rule.name}"] = [
            (dx, low + (high - low) * share - drawn_y) for dx, share in zip(xs, rule.shares, strict=True)
        ]
        _results(cell, rule, ruler.start, x + box / 2, y + 125)
    return places


def _steps(cell: Shapes, rule: Rule, x: float, width: float, low: float, high: float) -> None:
    """Draw the share that goes up at each place: flat parts, thin where it jumps, with the side of a tie."""
    points = [(x + width * k / _LAST, low + (high - low) * share) for k, share in enumerate(rule.shares[:-1])]
    if len(set(rule.shares)) > 6:
        cell.curve([points[0], (x + width, high)], "mantissa-text", width=2.5)
        return
    for _, run in groupby(points, key=lambda point: point[1]):
        part = list(run)
        cell.line(part[0][0], part[0][1], part[-1][0] + (width / _LAST if part[-1] == points[-1] else 0), part[0][1],
                  "mantissa-text", width=2.5)  # fmt: skip
    for before, after in pairwise(points):
        if before[1] != after[1]:
            cell.line(after[0], before[1], after[0], after[1], "mantissa-text", width=0.6)
    middle = _LAST // 2
    if rule.shares[middle - 1 : middle + 2 : 2] == (0, 1):
        tie = rule.shares[middle]
        cell.circle(
            x + width / 2, low + (high - low) * (1 - tie), 2.5, "panel", stroke="mantissa-text", stroke_width=1.2
        )
        cell.circle(x + width / 2, low + (high - low) * tie, 3, "mantissa-text")


def _results(cell: Shapes, rule: Rule, start: int, x: float, y: float) -> None:
    """Draw what a place becomes: a badge for each run of places with one result, or one whose text changes."""
    if rule.random_bits:
        cell.badge(x, y, rule.here[0], _paint(rule.here[1]), size=12)
        cell.element[-1][1].set("data-part", rule.name)
        return
    runs = [(result, [k for k, _ in run]) for result, run in groupby(enumerate(rule.results), key=lambda pair: pair[1])]
    shown = next((run for run in runs if start in run[1] and run[0] == rule.here), None)
    shown = shown or next((run for run in runs if run[0] == rule.here), None)
    if shown is None:
        cell.badge(x, y, rule.here[0], _paint(rule.here[1]), size=13, class_="ghost here", first=start, last=start)
    for (text, kind), ks in runs:
        is_here = shown is not None and ks == shown[1]
        more: dict[str, Any] = {"class_": "ghost here" if is_here else "ghost", "first": ks[0], "last": ks[-1]}
        cell.badge(x, y, text, _paint(kind), size=13, **more)


def _paint(kind: str) -> str:
    return "zero" if kind in ("normal", "integer") else kind


def by_hand(digits: Digits, explanation: Explanation, at: int, wide: bool = True) -> Drawing:
    """Return the four steps of a circuit that rounds to nearest even; those after step `at` are pale."""
    fmt = explanation.format
    count, tail = len(digits.kept) + len(digits.cut), 76 + text_width(str(digits.exponent), 11.5, mono=True)
    room = WIDE / 4 if wide else NARROW
    pitch = next((pitch for pitch in (23.0, 20.0, 17.0) if tail + pitch * count < room), 17.0)
    columns = 1 if not wide else 4 if tail + pitch * count < room else 2
    step_width = (WIDE if wide else NARROW) / columns
    height = 132.0 * (4 // columns)
    drawing = Drawing(WIDE if wide else NARROW, height, f"By hand, nearest even: {digits.rule}")
    kept = "1 digit" if len(digits.kept) == 1 else f"{len(digits.kept)} digits"
    has_more = digits.guard == "1" and (digits.round == "1" or digits.sticky == "1")
    is_tie = digits.guard == "1" and not has_more
    adds = (digits.lead, digits.kept) != (digits.result_lead, digits.result_kept)
    words = (
        "More than half: add one"
        if has_more
        else (f"A tie: to even, {'add one' if adds else 'leave it'}" if is_tie else "Less than half: leave it")
    )
    titles = ("Write it in binary", f"Keep {kept}, fold the rest", "Where in the step is that?", words)
    for index, title in enumerate(titles):
        x, y = index % columns * step_width, 132.0 * (index // columns)
        one = drawing.group(opacity="1" if index < at else "0.25")
        one.circle(x + 11, y + 14, 11, "text")
        one.text(x + 11, y + 19, str(index + 1), size=14, fill="page", anchor="middle", bold=True)
        one.text(x + 30, y + 19, title, size=15, bold=True)
        if index == 0:
            end = _digits(one, x, y + 46, digits.lead, digits.kept, pitch)
            one.line(end + 1, y + 40, end + 1, y + 92, "text", width=2)
            for k, digit in enumerate(digits.cut):
                one.rect(end + 4 + k * pitch, y + 46, pitch - 3, 40, "panel", radius=3)
                one.text(
                    end + 4 + k * pitch + pitch / 2 - 1,
                    y + 72,
                    digit,
                    size=16,
                    fill="quiet",
                    anchor="middle",
                    mono=True,
                )
            after = end + 10 + len(digits.cut) * pitch
            one.text(after, y + 72, "× 2", size=15, fill="quiet", mono=True)
            one.text(after + 28, y + 63, str(digits.exponent).replace("-", "−"), size=11.5, fill="quiet", mono=True)
            one.text(end - 4, y + 108, "kept", size=13.5, fill="mantissa-text", anchor="end")
            one.text(end + 8, y + 108, "cut", size=13.5, fill="quiet")
        elif index == 1:
            end = _digits(one, x, y + 46, digits.lead, digits.kept, pitch)
            one.line(end + 3, y + 40, end + 3, y + 92, "text", width=2)
            for k, (digit, word) in enumerate(
                zip((digits.guard, digits.round, digits.sticky), ("guard", "round", "sticky"), strict=True)
            ):
                one.rect(end + 12 + 46 * k, y + 46, 40, 40, "soft", radius=3)
                one.text(
                    end + 32 + 46 * k, y + 72, digit, size=17, fill="accent", anchor="middle", bold=True, mono=True
                )
                one.text(end + 32 + 46 * k, y + 106, word, size=13, fill="accent", anchor="middle")
        elif index == 2:
            width = min(33.0, (step_width - 24) / 8)
            here = digits.guard + digits.round + digits.sticky
            for k in range(8):
                text = f"{k:03b}"
                kind = "mantissa" if k < 4 else "zero" if k == 4 else "held"
                is_here = text == here
                one.rect(
                    x + k * width,
                    y + 46,
                    width - 2,
                    40,
                    kind,
                    radius=3,
                    stroke="accent" if is_here else None,
                    stroke_width=3,
                )
                fill = "zero-text" if k == 4 else "mantissa-text"
                one.text(
                    x + k * width + width / 2 - 1,
                    y + 71,
                    text,
                    size=12.5,
                    fill=fill,
                    anchor="middle",
                    bold=is_here,
                    mono=True,
                )
            for word, place in (("down", 2), ("tie", 4.5), ("up", 6.5)):
                one.text(
                    x + place * width,
                    y + 106,
                    word,
                    size=13.5,
                    fill="mantissa-text" if word != "tie" else "text",
                    anchor="middle",
                )
        else:
            end = _digits(one, x, y + 46, digits.result_lead, digits.result_kept, pitch)
            one.text(end + 12, y + 72, "→", size=16, fill="quiet")
            if digits.code is not None:
                value = explanation.x.negative and fmt.signed
                code = digits.code | (fmt.sign_mask if value else 0)
                right = one.code(
                    end + 36,
                    y + 72,
                    [(field.name, field.bits) for field in fields(code, fmt)],
                    size=15 if fmt.bits <= 10 else 12,
                )
                kind = classify(code, fmt)
                if kind in ("nan", "inf"):
                    one.badge(
                        (end + 36 + right) / 2,
                        y + 108,
                        f"{code_text(code, fmt)} = {'NaN' if kind == 'nan' else 'Inf'}",
                        kind,
                    )
            else:
                one.text(end + 36, y + 72, "beyond all codes", size=14, fill="quiet")
    return drawing


def _digits(one: Shapes, x: float, y: float, lead: str, kept: str, pitch: float) -> float:
    """Draw the digit before the point, the point and the digits kept; return where they end."""
    one.rect(x + 1, y, 22, 40, "page", radius=3, stroke="mantissa-text", stroke_width=1.5, stroke_dasharray="3 3")
    one.text(x + 12, y + 26, lead, size=17, fill="mantissa-text", anchor="middle", mono=True)
    one.circle(x + 28, y + 32, 2.5, "text")
    for k, digit in enumerate(kept):
        left = x + 33 + k * pitch
        one.rect(left, y, pitch - 3, 40, "mantissa", radius=3)
        one.text(
            left + pitch / 2 - 1.5, y + 26, digit, size=17, fill="mantissa-text", anchor="middle", bold=True, mono=True
        )
    return x + 33 + len(kept) * pitch
