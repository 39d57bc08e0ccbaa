"""Sentences of lessons, each typed in sentences.txt with the call that says it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lowprec as lp
from lowprec import teaching
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.formats import NUMERIC

TEXT = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
SENTENCES = re.findall(r"^([^ #\n].*)\n((?:    .+\n)+)", TEXT, re.MULTILINE)


def lost(x: str, name: str, **options: object) -> str:
    """Return the kinds of what a conversion loses, and the sentence about it."""
    explanation = lp.explain(x, name, **options)
    kinds = ", ".join(loss.kind for loss in teaching.losses(explanation))
    return f"{kinds}: {teaching.lost(explanation)}"


NAMES = {"format_facts": teaching.format_facts, "format_named": format_named, "lost": lost}


@pytest.mark.parametrize(("call", "sentence"), SENTENCES, ids=[call for call, _ in SENTENCES])
def test_sentences(call: str, sentence: str) -> None:
    assert eval(call, NAMES) == " ".join(sentence.split())


def test_every_format_has_its_sentence() -> None:
    assert {fmt.name for fmt in NUMERIC} < set(re.findall(r'^format_facts\("(\w+)"\)', TEXT, re.MULTILINE))
