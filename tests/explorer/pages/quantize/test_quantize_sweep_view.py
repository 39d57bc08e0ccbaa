"""The sweep of Quantize: its numbers against the library's, its answer, the picture, and the section in the page."""

from __future__ import annotations

import html
import json
import math
import re

import ml_dtypes
import numpy as np
import pytest
from support.explorer_pages import asked, charts, healthy, page, texts

from lowprec.explorer.pages.quantize.sweep_view import Answer, format_label, part_of, sweep
from lowprec.explorer.shared import html as templates
from lowprec.loss import BlockLoss, block_loss

X = np.random.default_rng(3).standard_t(3, (3, 40)).astype(np.float32)
RULES = ("floor", "ceil", "rceil", "even", "nearest")


def sqnr(name: str, rule: str | None, size: int) -> float:
    """Return what the library, which has it from the oracle's codes, says of a block format."""
    return block_loss(X, name, block_size=size, scale_rule=rule).sqnr_db


def test_every_number_is_the_library_s() -> None:
    found = sweep(X, ("mxfp4", "mxfp8_e5m2", "nvfp4"), ("rceil", "even", "modelopt"))
    assert found.block_sizes == (8, 16, 32, 64)  # 40 elements: 64 is one block
    assert (found.elements, found.length, found.is_flat) == (120, 40, False)
    rules = {"rceil": "rceil", "even": "even", "NVFP4's own": None, "modelopt": "modelopt"}
    assert [(row.format, row.rule) for row in found.rows] == [
        ("mxfp4", "rceil"), ("mxfp4", "even"), ("mxfp8_e5m2", "rceil"), ("mxfp8_e5m2", "even"),
        ("nvfp4", "NVFP4's own"), ("nvfp4", "modelopt"),
    ]  # fmt: skip
    for row in found.rows:
        for size, loss in zip(found.block_sizes, row.losses, strict=True):
            assert loss.sqnr_db == pytest.approx(sqnr(row.format, rules[row.rule], size), rel=1e-12)


def test_the_best_rule_of_each_size_is_marked() -> None:
    found = sweep(X, ("mxfp4",), RULES)
    for place, size in enumerate(found.block_sizes):
        values = {rule: sqnr("mxfp4", rule, size) for rule in RULES}
        best = [row.rule for row in found.rows if row.best[place]]
        assert best == [rule for rule in RULES if values[rule] == max(values.values())]


def test_the_answer_is_the_library_s() -> None:
    answer = sweep(X, ("mxfp8_e5m2",), ("ceil",)).answer
    nvfp4, mxfp4 = sqnr("nvfp4", None, 16), sqnr("mxfp4", "floor", 32)
    sizes = (8, 16, 32, 64)
    by_rule = {(rule, size): sqnr("mxfp4", rule, size) for rule in RULES for size in sizes}
    at_16 = max(RULES, key=lambda rule: by_rule[rule, 16])
    assert answer.gain == pytest.approx(nvfp4 - mxfp4, rel=1e-9)
    assert (answer.same_size.scale_rule, answer.same_size.block_size) == (at_16, 16)
    assert answer.same_size_gain == pytest.approx(nvfp4 - by_rule[at_16, 16], rel=1e-9)
    best = max(by_rule, key=by_rule.__getitem__)
    assert (answer.best_mxfp4.scale_rule, answer.best_mxfp4.block_size) == best
    assert answer.best_nvfp4.block_size == max(sizes, key=lambda size: sqnr("nvfp4", None, size))
    assert (answer.nvfp4.bits_per_value, answer.mxfp4.bits_per_value) == pytest.approx((4 + 104 / 120, 4 + 48 / 120))


def answer_text(nvfp4: float, mxfp4: float, same: float) -> str:
    """Return what the page says of three SQNRs."""

    def loss(sqnr: float, size: int, bits: float, rule: str | None) -> BlockLoss:
        return BlockLoss("", "", size, rule, sqnr, bits)

    best = loss(20, 8, 5, "even")
    answer = Answer(loss(nvfp4, 16, 4.5, None), loss(mxfp4, 32, 4.25, "floor"), loss(same, 16, 4.5, "even"), best, best)
    text = re.sub("<[^>]*>", "", templates.render("pages/quantize/block_sweep_answer", answer=answer))
    return " ".join(html.unescape(text).split())


def test_the_answer_in_words() -> None:
    text = answer_text(20.1, 18.2, 18.9)
    assert text.startswith(
        "NVFP4 (blocks of 16, 4.5 bits per value): ≈20.10 dB, ≈1.90 dB more than MXFP4 (blocks of 32, rule floor, "
        "4.25 bits per value): ≈18.20 dB. With blocks of 16 for both, NVFP4 has ≈20.10 dB, ≈1.20 dB more than MXFP4 "
        "with its best rule there, even: ≈18.90 dB with 4.5 bits per value."
    )
    assert "≈20.10 dB, ≈2.00 dB less than MXFP4 (blocks" in answer_text(20.1, 22.1, 18)
    assert "≈20.10 dB, as much as MXFP4 (blocks" in answer_text(20.1, 20.1001, 18)
    assert "no error; MXFP4 (blocks of 32, rule floor, 4.25 bits per value): ≈18.00 dB" in answer_text(math.inf, 18, 18)
    assert "nan" not in answer_text(math.nan, math.nan, math.nan)


def test_the_part_of_a_tensor() -> None:
    x = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    assert part_of(x, 1).tolist() == np.moveaxis(x, 1, -1).reshape(8, 3).tolist()
    assert part_of(x, -1, most=9).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert part_of(x.reshape(-1), 0, most=5).tolist() == [[0, 1, 2, 3, 4]]
    assert part_of(x.astype(ml_dtypes.bfloat16), -1).dtype == np.float32
    with pytest.raises(ValueError, match="`axis` must be from -1 to 0"):
        part_of(x.reshape(-1), 1)


@pytest.mark.parametrize(
    ("name", "label"), [("mxfp8_e4m3", "MXFP8 E4M3"), ("mxfp4", "MXFP4"), ("mxint8", "MXINT8"), ("nvfp4", "NVFP4")]
)
def test_names_of_formats(name: str, label: str) -> None:
    assert format_label(name) == label


def test_formats_and_rules_are_chosen_and_stay_in_the_link() -> None:
    test = page("quantize", origin="sampled", show="sweep", sweep_formats="nvfp4", sweep_rules="torchao")
    shown = texts(healthy(test))
    assert "torchao" in shown
    assert "MXFP6" not in shown
    points = json.loads(charts(test)[0])["layer"][1]
    rules = list(dict.fromkeys(one["rule"] for one in points["data"]["values"]))
    assert len(rules) == 2
    assert len(set(points["encoding"]["shape"]["scale"]["range"])) == 2  # a shape for each rule
    assert sorted(points["encoding"]["shape"]["scale"]["domain"]) == sorted(rules)
    healthy(test.multiselect(key="quantize.sweep_formats").select("mxfp6_e2m3").run())
    assert asked(test, "sweep_formats") == "nvfp4,mxfp6_e2m3"
    assert "MXFP6 E2M3" in texts(test)
    healthy(test.multiselect(key="quantize.sweep_rules").set_value([]).run())  # emptied: it stays
    assert "torchao" in texts(test)


@pytest.mark.parametrize(("columns", "said"), [(40, True), (127, True), (128, False)])
def test_blocks_longer_than_the_axis(columns: int, said: bool) -> None:
    test = healthy(
        page("quantize", origin="sampled", show="sweep", rows="1", columns=str(columns), sweep_formats="mxfp4")
    )
    text = f"The axis has {columns} elements; longer blocks would be the same."
    assert (text in [caption.value for caption in test.caption]) == said


def test_bad_links_and_odd_tensors() -> None:
    test = page("quantize", origin="sampled", show="sweep", sweep_formats="mxfp5", sweep_rules="floor,flor", axis="5")
    assert len(test.warning) == 2
    assert "axis" in test.error[0].value
    assert not test.exception
    for text in ("0 0; 0 0", "1", "nan inf", "1 2 4"):
        odd = healthy(page("quantize", show="sweep", origin="typed", x=text))
        assert not charts(odd) or json.loads(charts(odd)[0])
    assert not charts(odd)  # powers of two: nothing is lost
