"""Chains of casts in a browser: what rounding to odd prevents, from the bare address by clicks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow


def test_what_to_odd_prevents_in_three_actions(visit: Visit) -> None:
    page = visit.page
    page.goto(visit.address)
    page.get_by_role("link", name="Cast & BitCast").first.click()
    page.get_by_role("button", name="examples").click()
    page.get_by_role("button", name="What to-odd prevents").click()
    visit.address_has("via_rounding=to_odd")
    agrees(visit)
    nearest = page.get_by_role("button", name="through float32, by ONNX's Cast: 1", exact=True)
    odd = page.get_by_role("button", name="through float32, to odd: 1.0078125", exact=True)
    nearest.wait_for()
    assert "differs" in (nearest.text_content() or "")
    assert "the same" in (odd.text_content() or "")
    for label, text in {"From": "float64", "Through": "float32", "To": "bfloat16"}.items():
        assert page.get_by_role("combobox", name=label, exact=True).input_value() == text
    assert page.get_by_role("textbox", name="Code or number").input_value() == "1.0039063"
    nearest.click()
    verdict = page.get_by_role("paragraph")
    verdict.filter(has_text="Through float32 the result is 1 (0x3F80), directly 1.0078125 (0x3F81)").wait_for()
    visit.address_has("via_rounding=same")
    agrees(visit)
    odd.click()
    verdict.filter(has_text="Through float32 the result is 1.0078125 (0x3F81), directly the same.").wait_for()
    with page.expect_download() as caught:
        page.get_by_role("button", name=re.compile("SVG")).first.click()
    svg = Path(caught.value.path()).read_text()
    assert "var(" not in svg  # colours of the moment
    assert "through float32" in svg
    assert not visit.complaints
