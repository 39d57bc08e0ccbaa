"""Quantize in a browser: the picture, by clicks and keys from the bare address; the better setting; files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from support.browser import Visit
from support.checkpoint_files import save
from support.explorer_controls import agrees


def test_the_picture_is_what_is_first(visit: Visit) -> None:
    """Click an element, go on by the keys, see the error, change a block size, add a setting and take it away."""
    page = visit.enter("Quantize")
    picture = page.get_by_role("button", name="the picture: row 53, column 88; the arrow keys go on", exact=True)
    picture.click(position={"x": 41, "y": 31})
    agrees(visit, "at=15,20")
    page.get_by_role("button", name="NVFP4, blocks of 16: row 15, column 20", exact=False).wait_for()
    page.get_by_role("button", name="the picture: row 15, column 20; the arrow keys go on", exact=True).press(
        "ArrowRight"
    )
    agrees(visit, "at=15,21")
    page.get_by_role("radio", name="error", exact=True).click()
    agrees(visit, "drawn=errors")
    page.get_by_text("Error: orange is too small", exact=False).first.wait_for()
    page.get_by_role("button", name="int4 · 128").click()
    page.get_by_role("combobox", name="Block size").click()
    page.get_by_role("option", name="32", exact=True).click()
    agrees(visit, "compared=int4,block=32;nvfp4")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="int4, blocks of 32: row 15, column 21").wait_for()
    page.get_by_role("button", name="+ setting").click()
    agrees(visit, "int4,block=128")
    page.get_by_role("button", name="int4, blocks of 128: row 15, column 21").wait_for()


def test_which_setting_is_better_takes_one_click(visit: Visit) -> None:
    page = visit.go(
        "quantize?origin=sampled&distribution=student-t&compared=mxfp4;mxfp4,rule=rceil;nvfp4;int4,block=32"
    )
    page.get_by_text("Settings side by side").click()
    page.get_by_text("nvfp4 has the largest SQNR").wait_for()
    box = page.get_by_role("combobox", name="Settings")
    box.press("Backspace")  # takes the last one away
    page.get_by_role("button", name="Add float4_e2m1fn,block=32").click()
    agrees(visit, "nvfp4;float4_e2m1fn,block=32")
    page.get_by_role("rowheader", name="float4_e2m1fn,block=32").wait_for()
    box.press("Backspace")
    page.get_by_role("rowheader", name="float4_e2m1fn,block=32").wait_for(state="detached")
    box.press_sequentially("MXINT8,block=8")
    box.press("Enter")
    agrees(visit, "nvfp4;mxint8,rule=floor,block=8")
    page.get_by_text("mxint8,rule=floor,block=8 has the largest SQNR").wait_for()


def test_an_upload_stays_from_page_to_page(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/quantize?origin=file&show=sweep")
    page.get_by_text("Choose a file to go on").wait_for()
    stream = io.BytesIO()
    np.save(stream, np.arange(96, dtype=np.float32).reshape(3, 32))
    file = {"name": "weights.npy", "mimeType": "application/octet-stream", "buffer": stream.getvalue()}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("x: float32 of shape (3, 32)").wait_for()
    visit.choose_page("Rounding")
    visit.choose_page("Quantize")
    page.get_by_text("The file is the one that was chosen before: weights.npy").wait_for()
    page.get_by_text("x: float32 of shape (3, 32)").wait_for()


def test_a_tensor_of_a_checkpoint_is_found_by_its_name(visit: Visit, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"layers.{number}.weight" for number in range(12)]
    path = save(tmp_path / "model.safetensors", {name: rng.standard_normal((4, 64), np.float32) for name in names})
    page = visit.page
    page.goto(f"{visit.address}/quantize?origin=folder&show=sweep")
    visit.type("Checkpoint", str(path))
    page.get_by_role("combobox", name="Tensor").wait_for()
    visit.settle()
    page.get_by_role("combobox", name="Tensor").fill("layers.7.")
    page.get_by_role("option", name="layers.7.weight").click()
    page.get_by_text("Link and code").click()
    page.get_by_text("checkpoint.read('layers.7.weight')").wait_for()
