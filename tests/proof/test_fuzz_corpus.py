"""The corpus that fuzzing found, and mutations of it: a result or a clear error for each (see check_fuzz.py)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.fuzz.mutations import mutate
from support.fuzz.reading import DefectError, Examiner
from support.fuzz.seeds import READERS, corpus_of, seeds_of
from support.optional import Missing, optional

MUTATED = 200


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_corpus_and_mutations_of_it(reader: str, tmp_path: Path) -> None:
    if reader == "onnx" and isinstance(optional("onnx"), Missing):
        pytest.skip("the onnx package is missing")
    examiner = Examiner(reader, tmp_path)
    kept = list(corpus_of(reader).values())
    whole = seeds_of(reader)
    for content in [*whole, *kept]:
        examiner.examine(content)
    read = examiner.outcomes["read"]
    assert read >= len(whole) // 2
    rng = random.Random(20)
    for number in range(10 * MUTATED):
        if number >= MUTATED and (examiner.outcomes["converted"] or reader == "index"):
            break
        content = mutate(reader, rng.choice(whole if number % 2 else kept), rng)
        try:
            examiner.examine(content)
        except DefectError as error:
            raise AssertionError(f"{error}; the input is {content!r}") from error
    assert examiner.outcomes["read"] > read
    assert examiner.outcomes["refused"] > 0 or reader == "config"
    assert examiner.outcomes["converted"] > 0 or reader == "index"
