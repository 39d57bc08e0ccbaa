"""The sweep and the block of Quantize in a browser: drawn; an upload that stays."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from support.browser import Visit
from support.checkpoint_files import save

pytest.importorskip("playwright.sync_api")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("visit", "state"),
    [({"dark": True}, "show=sweep&origin=sampled&distribution=student-t"),
     ({"phone": True}, "show=block&origin=sampled&scheme=mx&without_largest=1&distribution=outliers")],
    indirect=["visit"], ids=["sweep", "block"],
)  # fmt: skip
def test_a_section_is_drawn(visit: Visit, state: str) -> None:
    page = visit.go(f"quantize?{state}")
    if "without_largest" in state:
        page.locator(".picture svg").nth(2).wait_for()  # the tensor, the block, the block without its largest element
        assert page.get_by_role("button", name="SVG: save").count() == 3
    else:
        page.locator("[data-testid=stVegaLiteChart] .marks").first.wait_for()


def test_an_upload_stays_from_page_to_page(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/quantize?origin=file&show=sweep")
    page.get_by_text("Choose a file to go on").wait_for()
    stream = io.BytesIO()
    np.save(stream, np.arange(96, dtype=np.float32).reshape(3, 32))
    file = {"name": "weights.npy", "mimeType": "application/octet-stream", "buffer": stream.getvalue()}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("x: float32 of shape (3, 32)").wait_for()
    page.get_by_role("link", name="Rounding").or_(page.get_by_role("button", name="Rounding")).first.click()
    page.get_by_role("heading", name="Rounding", exact=True).wait_for()
    page.get_by_role("link", name="Quantize").or_(page.get_by_role("button", name="Quantize")).first.click()
    page.get_by_text("The file is the one that was chosen before: weights.npy").wait_for()
    page.get_by_text("x: float32 of shape (3, 32)").wait_for()


def test_a_tensor_of_a_checkpoint_is_found_by_its_name(visit: Visit, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"layers.{number}.weight" for number in range(12)]
    path = save(tmp_path / "model.safetensors", {name: rng.standard_normal((4, 64), np.float32) for name in names})
    page = visit.page
    page.goto(f"{visit.address}/quantize?origin=folder&show=sweep")
    box = page.get_by_role("textbox", name="Checkpoint")
    box.fill(str(path))
    box.press("Enter")
    page.get_by_role("combobox", name="Tensor").wait_for()
    visit.settle()
    page.get_by_role("combobox", name="Tensor").fill("layers.7.")
    page.get_by_role("option", name="layers.7.weight").click()
    page.get_by_text("Link and code").click()
    page.get_by_text("checkpoint.read('layers.7.weight')").wait_for()
