"""The controls of a page of the explorer in a browser: what each shows, must show and does, and which is next."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import lowprec as lp
from lowprec.explorer.pages.errors.state import Errors
from lowprec.explorer.pages.errors.view import chosen_preset, presets
from lowprec.explorer.pages.quantize.settings import parse_settings
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.link import read
from lowprec.spec.rounding_modes import ROUNDINGS

from .browser import Visit, script
from .optional import optional
from .paths import table

playwright: Any = optional("playwright.sync_api")

__all__ = ["TENSORS", "Control", "agrees", "controls_of", "fields_in", "link_of", "operate", "untried", "wrong_in"]


@dataclass(frozen=True, slots=True)
class Control:
    """A widget with a key: its kind by Streamlit's name, what it shows, and what can be chosen with one click."""

    key: str
    kind: str
    shown: Any
    options: tuple[str, ...]
    is_off: bool

    @property
    def group(self) -> str:
        """The key; of a button the word that buttons of one row have in common."""
        return self.key.partition("-")[0] if self.kind == "stButton" else self.key


def controls_of(visit: Visit) -> list[Control]:
    """Return the controls that a page shows, from top to bottom; those of a popover if it is open."""
    found = visit.page.evaluate(script("controls"))
    return [Control(one["key"], one["kind"], one["shown"], tuple(one["options"]), one["isOff"]) for one in found]


def link_of(visit: Visit) -> dict[str, str] | None:
    """Return the fields in the link that a page offers; None where it offers none."""
    link = visit.page.evaluate(script("link"))
    return None if link is None else fields_in(link)


def fields_in(link: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))


def untried(
    controls: list[Control], tried: set[tuple[str, str]], every_option: Collection[str] = ()
) -> tuple[Control, str] | None:
    """Return the next control to operate, with the option to choose, from bottom to top: what is above shows and hides.

    A control is operated once, those of the keys `every_option` until each option was chosen, one button of a row.
    """
    for control in (one for one in reversed(controls) if not one.is_off):
        options = [option for option in control.options if option != control.shown]
        for option in options if control.key in every_option else options[:1] or [""]:
            name = (control.group, option if control.key in every_option else "")
            if name not in tried:
                tried.add(name)
                return control, option
    return None


def operate(visit: Visit, control: Control, option: str, texts: Mapping[str, str]) -> None:
    """Change a control as a person does: to an option, to the text of its key, else to the next value.

    One in a closed disclosure is opened first.
    """
    place = visit.page.locator(f".st-key-{control.key.replace('+', chr(92) + '+')}")
    closed = place.locator("xpath=ancestor::details[not(@open)]/summary")
    while closed.count():
        closed.first.click()
        visit.settle()  # a disclosure that grows scrolls the page, which closes a list
    if control.kind == "stButtonGroup":
        place.get_by_role("radio", name=option, exact=True).click()
    elif control.kind == "stRadio":
        place.locator("label[data-testid=stRadioOption]").nth(int(option)).click()
    elif control.kind == "stButton":
        place.get_by_role("button").first.click()
    elif control.kind == "stCheckbox":
        place.locator("label").first.click()
    elif control.kind == "stSlider":
        thumb = place.locator("input")
        thumb.focus()
        thumb.press("ArrowRight")
    elif control.kind == "stNumberInput":
        box, value = place.locator("input"), float(control.shown)
        _type(box, f"{value - 1 if float(box.get_attribute('max')) == value else value + 1:g}")
    elif control.kind in ("stTextInput", "stTextArea"):
        _type(place.locator("input, textarea"), texts[control.key])
    elif control.kind == "stSelectbox":
        _choose(visit, place.get_by_role("combobox"), but=(control.shown,))
    elif control.kind == "stMultiSelect":
        if len(control.shown) > 1:
            place.get_by_role("button", name=f"Remove {control.shown[0]}", exact=True).click()
        else:
            _choose(visit, place.get_by_role("combobox"), but=control.shown)
            visit.page.keyboard.press("Escape")
    else:
        raise AssertionError(control.kind)


def _type(box: Any, text: str) -> None:
    box.fill(text)
    box.press("Control+Enter")


def _choose(visit: Visit, box: Any, but: Any) -> None:
    box.evaluate("box => box.scrollIntoView({ block: 'center', behavior: 'instant' })")  # a scroll closes a list
    others = [text.split() for text in (*but, "Select all")]
    options = visit.page.get_by_role("option")
    for _ in range(5):  # a click may only close the list of another box; what moves on the page closes this one's
        if box.get_attribute("aria-expanded") != "true":
            box.click()
        with contextlib.suppress(playwright.TimeoutError):
            visit.page.wait_for_function(script("listed"), arg=box.element_handle(), timeout=1000)
            place = next(place for place, text in enumerate(options.all_inner_texts()) if text.split() not in others)
            options.nth(place).click(timeout=1000)
            return
    raise AssertionError("the list does not stay open")


LABELS: dict[str, dict[str, str]] = table(__file__)
LABELS |= {f"conversion-{name}_rounding": {mode: mode.replace("_", " ") for mode in ROUNDINGS} | LABELS["conversion"]
           for name in ("via", "then")}  # fmt: skip
"""What stands for a value in a control, where that is not the text of a link."""

TENSORS = {"first": (2, 32), "second": (4, 64)}
"""The tensors of a checkpoint that a test makes, and their shapes."""


def of_description(key: str, name: str) -> Any:
    """Return what a control of a part of a described format must show."""
    fmt = format_named(name)
    parts = {
        "exponent_bits": str(fmt.exponent_bits), "mantissa_bits": str(fmt.mantissa_bits), "bias": str(fmt.bias),
        "signed": fmt.signed, "inf": fmt.has_inf, "nan": fmt.nan.value, "zero": fmt.has_zero,
    }  # fmt: skip
    _, kind, part = key.split("-")
    if kind == "parts":
        return parts[part]
    width, precision, signed, extended = fmt.bits, fmt.mantissa_bits + 1, fmt.signed, fmt.has_inf
    try:
        lp.as_format(f"binary{width}p{precision}{'su'[not signed]}{'ef'[not extended]}")
    except ValueError:
        width, precision, signed, extended = 8, 3, True, True  # IEEE P3109 has no such format
    return {
        "width": str(width), "precision": str(precision), "signed": "signed" if signed else "unsigned",
        "extended": "extended: with Inf" if extended else "finite",
    }[part]  # fmt: skip


def of_setting(field: str, compared: list[str]) -> str:
    """Return what a control in the menu of a setting of Quantize must show."""
    _, place, name, *_ = field.split("-")
    settings = parse_settings(compared[int(place)])
    return {"text": compared[int(place)], "block": str(settings.block_size), "rule": settings.scale_rule}[name]


def expected(control: Control, link: dict[str, str]) -> Any:
    """Return what a control must show by the link that the page offers."""
    page, _, field = control.key.partition("-")
    if field.startswith("setting-"):
        return of_setting(field, link["compared"].split(";"))
    if "-" in field:
        return of_description(control.key, link["fmt"])
    if (page, field) == ("errors", "range"):
        chosen = chosen_preset(presets([format_named(name) for name in read(Errors, link)[0].fmts]), link)
        return chosen.label if chosen else f"{link['low'][:12]} to {link['high'][:12]}"
    value, labels = link[field], LABELS.get(control.key, {})
    if control.kind == "stCheckbox":
        return value == "1"
    if control.kind == "stMultiSelect":
        return [labels.get(part, part) for part in value.split(";" if field == "compared" else ",") if part]
    if control.kind == "stNumberInput":
        return f"{float(value):g}"
    if control.kind == "stRadio":
        return None if value == "none" else value
    if (page, field) == ("quantize", "tensor"):
        name = value or "first"
        rows, columns = TENSORS[name]
        return f"{name}  ({rows} × {columns}, float32)"
    return labels.get(value, value)


def wrong_in(visit: Visit) -> list[str]:
    """Return what a page shows that is not what it computes."""
    found: list[str] = []
    for _ in range(50):
        link, found = link_of(visit), []
        if link is None and visit.page.locator("[data-testid=stCode]").count():
            found.append("the page offers code and no link")
        for control in controls_of(visit) if link else []:
            if control.kind == "stButton":
                continue
            value = expected(control, link or {})
            if control.key.endswith("-overflow") and value == "default":
                is_right = str(control.shown).startswith("default: ")
            else:
                is_right = control.shown == value
            if not is_right:
                found.append(f"{control.key} shows {control.shown!r}, the page computes {value!r}")
        if link and not visit.page.locator("[data-testid=stAlertContentError]").count():
            asked = fields_in(visit.page.url)
            asked.pop("example", None)  # which one was opened; no control has it
            found += [f"the address has {name}={asked[name]}" for name in asked if asked[name] != link.get(name)]
        if not found:
            break
        time.sleep(0.1)
    return found


def agrees(visit: Visit, address: str = "") -> None:
    """Check that every control shows what the page computes; after every action, whose field the address then has."""
    if address:
        visit.address_has(address)
    found = wrong_in(visit)
    assert not found, found
