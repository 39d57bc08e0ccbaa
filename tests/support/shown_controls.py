"""The controls of a page of the explorer in a browser: what each shows, the next one to operate, and how."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .browser import Visit

__all__ = ["Control", "controls_of", "fields_in", "link_of", "operate", "untried"]

_READ = """() => {
    const find = (place, query) => [...place.querySelectorAll(query)];
    const text = element => (element?.innerText || element?.textContent)?.trim() ?? null; // closed: no innerText
    const parts = {
        stButtonGroup: group => {
            const all = find(group, '[role=radio]');
            return { shown: text(all.find(one => one.ariaChecked === 'true')), options: all.map(text) };
        },
        stRadio: group => {
            const all = find(group, 'input');
            return { shown: all.find(one => one.checked)?.value ?? null, options: all.map(one => one.value) };
        },
        stSelectbox: box => ({ shown: box.querySelector('input').value }),
        stMultiSelect: box => ({ shown: find(box, '[data-tag]').map(tag => tag.ariaLabel) }),
        stSlider: slider => ({ shown: slider.querySelector('input').value }),
        stNumberInput: box => ({ shown: box.querySelector('input').value }),
        stTextInput: box => ({ shown: box.querySelector('input').value }),
        stTextArea: box => ({ shown: box.querySelector('textarea').value }),
        stCheckbox: box => ({ shown: box.querySelector('input').checked }),
        stButton: box => ({ shown: null, isOff: box.querySelector('button').disabled }),
    };
    const kinds = Object.keys(parts), found = [];
    const places = ['stMain', 'stPopoverBody'].map(name =>
        `[data-testid=${name}] [data-testid=stElementContainer][class*=st-key-]`);
    for (const place of find(document, places.join())) {
        const part = place.querySelector(kinds.map(kind => `[data-testid=${kind}]`).join());
        if (!part) continue;
        const key = [...place.classList].find(name => name.startsWith('st-key-')).slice('st-key-'.length);
        found.push({ key, kind: part.dataset.testid, options: [], isOff: false, ...parts[part.dataset.testid](part) });
    }
    return found;
}"""
_LINK = """() => [...document.querySelectorAll('[data-testid=stCode]')].map(code => code.textContent.trim())
    .find(text => /^https?:\\S+$/.test(text)) ?? null"""


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
    found = visit.page.evaluate(_READ)
    return [Control(one["key"], one["kind"], one["shown"], tuple(one["options"]), one["isOff"]) for one in found]


def link_of(visit: Visit) -> dict[str, str] | None:
    """Return the fields in the link that a page offers; None where it offers none."""
    link = visit.page.evaluate(_LINK)
    return None if link is None else fields_in(link)


def fields_in(link: str) -> dict[str, str]:
    """Return the fields in the query of a link."""
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
    box.click()
    options = visit.page.get_by_role("option")
    options.first.wait_for()
    for option in options.all():
        if option.inner_text().split() not in [text.split() for text in (*but, "Select all")]:
            option.click()
            return
    raise AssertionError("the list has no other option")
