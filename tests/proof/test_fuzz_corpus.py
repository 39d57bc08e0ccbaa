"""The corpus that fuzzing found, and mutations of it: a result or a clear error for each (see check_fuzz.py)."""

from __future__ import annotations

import io
import random
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.fuzz import reading
from support.fuzz.mutations import mutate
from support.fuzz.reading import ONE_IN, DefectError, Examiner
from support.fuzz.seeds import CORPUS, READERS, corpus_of, seeds_of
from support.optional import Missing, optional

from lowprec import checkpoints
from lowprec.checkpoints.files.errors import FileError

MUTATED = 200
LARGEST = 300 << 10


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


def test_the_corpus_is_small() -> None:
    assert {file.name for file in CORPUS.iterdir()} == {f"{reader}.zip" for reader in READERS}
    sizes = [len(content) for reader in READERS for content in corpus_of(reader).values()]
    assert 200 < len(sizes) < 300
    assert sum(sizes) < LARGEST


def _converted_input() -> bytes:
    """Return an array that is among the one in eight that all functions get."""
    for length in range(1, 1000):
        stream = io.BytesIO()
        np.save(stream, np.arange(length, dtype=np.uint8))
        if zlib.crc32(stream.getvalue()) % ONE_IN == 0:
            return stream.getvalue()
    raise AssertionError


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{path}: a\nb", "is not one line"), ("{path}: " + "a" * 700, "has .* characters"),
        ("{path}: broken; ", "does not say why"), ("broken", "does not name the file"),
        ("{path}: broken", "open reads what inspect refuses"),
    ],
)  # fmt: skip
def test_an_error_that_no_user_should_see(text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def inspect(path: Path, **options: object) -> None:
        raise FileError(text.format(path=path))

    examiner, content = Examiner("npy", tmp_path), _converted_input()
    examiner.examine(content)
    assert examiner.outcomes["read"] == 1
    monkeypatch.setattr(checkpoints, "inspect", inspect)
    with pytest.raises(DefectError, match=why):
        examiner.examine(content)


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError("x"), UserWarning("x"), ValueError("x")])
def test_any_other_exception_is_a_defect(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(path: Path, **options: object) -> None:
        raise error

    monkeypatch.setattr(checkpoints, "check", check)
    with pytest.raises(DefectError, match=f"check: {type(error).__name__}: '?x"):
        Examiner("npy", tmp_path).examine(_converted_input())


def test_a_file_left_behind_and_a_long_time_are_defects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examiner, content = Examiner("npy", tmp_path), _converted_input()
    (tmp_path / "in" / "more").touch()
    with pytest.raises(DefectError, match="leaves files behind"):
        examiner.examine(content)
    monkeypatch.setattr(reading, "LONGEST_SECONDS", -1.0)
    with pytest.raises(DefectError, match="it takes"):
        examiner.examine(content)
