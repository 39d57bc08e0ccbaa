"""Controls say what the page computes: from the bare address by clicks alone, every control read after every change."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from support.browser import Visit
from support.checkpoint_files import save
from support.explorer_controls import TENSORS, Control, controls_of, link_of, operate, untried, wrong_in

from lowprec.explorer.pages import PAGES

playwright = pytest.importorskip("playwright.sync_api")

TITLES = {page.path: page.title for page in PAGES}
EVERY_OPTION = ("arithmetic-show", "quantize-origin", "quantize-drawn", "quantize-scheme", "quantize-per")
"""The switches that show other controls."""

TEXTS = {
    "anatomy-at": "0.7", "rounding-x": "0.7", "errors-low": "0.25", "errors-high": "1.5", "errors-x": "0.7",
    "compare-x": "0.7", "saturation-x": "465", "conversion-at": "0.7", "conversion-codes": "0x1 0x3",
    "arithmetic-value": "0.2",
    "arithmetic-by": "0.25", "arithmetic-a": "0.7", "arithmetic-b": "0.7", "arithmetic-c": "0.7",
    "describe-at": "0.7", "quantize-x": "1 2; 3 4",
}  # fmt: skip
"""What is typed in the boxes for texts."""

FEWEST = {"start": 1, "anatomy": 3, "exercises": 3}
"""How many controls a page has, where it has fewer than four."""

CLICK = "name => [...document.querySelectorAll('[role=radio]')].find(one => one.innerText === name)?.click()"


def upload(visit: Visit, seed: int) -> None:
    stream = io.BytesIO()
    np.save(stream, np.random.default_rng(seed).standard_normal((4 + seed, 64), np.float32))
    file = {"name": f"{seed}.npy", "mimeType": "application/octet-stream", "buffer": stream.getvalue()}
    visit.page.locator("input[type=file]").set_input_files(file)
    visit.page.get_by_text(f"x: float32 of shape ({4 + seed}, 64)").wait_for()
    visit.settle()


def test_files_change_no_control(visit: Visit) -> None:
    page = visit.enter("Quantize")
    visit.open("One setting")
    before = {control.key: control.shown for control in controls_of(visit)}
    assert (before["quantize-fmt"], before["quantize-block"]) == ("float4_e2m1fn", "32")
    with visit.answer():
        page.get_by_role("radio", name="file", exact=True).click()
    page.get_by_text("Choose a file to go on").wait_for()
    for seed in (0, 1, 2):
        upload(visit, seed)
        assert wrong_in(visit) == []
        shown = {control.key: control.shown for control in controls_of(visit)}
        kept = set(shown) & set(before) - {"quantize-origin"}
        assert len(kept) == 9
        assert {key: shown[key] for key in kept} == {key: before[key] for key in kept}
        python = page.locator("[data-testid=stCode]").nth(1).text_content()
        assert "float4_e2m1fn" in python
        assert "32" in python


def test_the_text_of_a_default_follows_the_format(visit: Visit) -> None:
    page = visit.enter("Rounding")
    visit.open("All values and codes as a table")
    for key in ("fmt", "saturate"):
        (control,) = (one for one in controls_of(visit) if one.key == f"rounding-{key}")
        with visit.answer():
            operate(visit, control, "", {})
        assert page.locator("[data-testid=stAlertContentError]").count() == 0
        assert page.get_by_role("combobox", name="Overflow").input_value() == "default: ovf_inf"
    assert wrong_in(visit) == []


def test_quick_clicks_leave_no_control_behind(visit: Visit) -> None:
    """Runs are broken off, and what they send crosses what the browser sends: the controls and the page still agree."""
    page = visit.enter("Quantize")
    visit.open("One setting")
    for pause in (0, 60, 240):
        names = "NVFP4|ONNX QuantizeLinear|error|OCP MX|typed|picture|sampled|checkpoint|typed"
        for name in names.split("|"):
            page.evaluate(CLICK, name)  # if there is such a button now
            page.wait_for_timeout(pause)
        visit.settle()
        assert wrong_in(visit) == []


def next_step(visit: Visit, tried: set[tuple[str, str]], opened: set[str]) -> tuple[Control, str] | None:
    """Return the next control to operate; where none is left, open the next menu that was not opened yet.

    Those of the settings of Quantize are left out: no field of the link has the number of a setting.
    """
    while (step := untried(controls_of(visit), tried, EVERY_OPTION)) is None and "/quantize" not in visit.page.url:
        menus = visit.page.locator("[data-testid=stPopover]").filter(visible=True)
        menu = next((one for one in menus.all() if one.inner_text() not in opened), None)
        if menu is None:
            break
        opened.add(menu.inner_text())
        visit.page.keyboard.press("Escape")  # one that is open
        menu.get_by_role("button").click()
        visit.page.locator("[data-testid=stPopoverBody]").wait_for()
        visit.settle()
    return step


@pytest.mark.parametrize("path", TITLES)
def test_controls_say_what_the_page_computes(visit: Visit, path: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tensors = {name: rng.standard_normal(shape, np.float32) for name, shape in TENSORS.items()}
    texts = {**TEXTS, "quantize-folder": str(save(tmp_path / "model.safetensors", tensors))}
    page = visit.enter(TITLES[path])
    visit.menu_shows(TITLES[path])
    visit.open_all(path)
    if path == "quantize":
        visit.open("One setting")
    assert wrong_in(visit) == []
    tried = {(control.key, control.shown) for control in controls_of(visit) if control.key in EVERY_OPTION}
    wrong, count = [], 0
    opened: set[str] = set()
    while (step := next_step(visit, tried, opened)) is not None and count < 100:
        control, option = step
        count += 1
        with visit.answer():
            operate(visit, control, option, texts)
        if link_of(visit) is None and page.locator("input[type=file]").count():
            upload(visit, 0)
        wrong += [f"after {control.key} {option}: {text}" for text in wrong_in(visit)]
    assert wrong == []
    assert len(tried) >= FEWEST.get(path, 4)
    page.keyboard.press("Escape")
    link = link_of(visit)
    for other in ("start" if path != "start" else "anatomy", path):  # leave, and come back
        visit.choose_page(TITLES[other])
        visit.menu_shows(TITLES[other])
    assert link_of(visit) == link
    assert wrong_in(visit) == []
