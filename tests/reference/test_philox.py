"""Philox4x32-10 against Random123's known answers, and the statistics of the numbers that elements take from it."""

from __future__ import annotations

import numpy as np
import pytest

from lowprec.reference.philox import philox, random_word, random_words

# Random123, tests/kat_vectors, philox4x32 with 10 rounds: counter, key, words
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
CRITICAL = 377.1  # chi-squared of 255 degrees of freedom is beyond it once in 1e6: scipy.stats.chi2.isf(1e-6, 255)
COUNT = 1 << 20


def words(text: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in text.split())


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter: str, key: str, expected: str) -> None:
    assert philox(words(counter), words(key)) == words(expected)


def test_the_elements_of_seed_0() -> None:
    # the words above as little-endian bytes: d5 e8 27 66 | 8d c5 69 e1 | 4c ac 57 bc | d8 db 00 9b
    sixteen = [0xE8D5, 0x6627, 0xC58D, 0xE169, 0xAC4C, 0xBC57, 0xDBD8, 0x9B00]
    eight = [0xD5, 0xE8, 0x27, 0x66, 0x8D, 0xC5, 0x69, 0xE1, 0x4C, 0xAC, 0x57, 0xBC, 0xD8, 0xDB, 0x00, 0x9B]
    whole = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert [random_word(0, n, 16) for n in range(8)] == sixteen
    assert [random_word(0, n, 8) for n in range(16)] == eight
    assert [random_word(0, n, 32) for n in range(4)] == whole
    assert [random_word(0, n, 9) for n in range(8)] == [word >> 7 for word in sixteen]  # the upper bits of the slot
    assert [random_word(0, n, 1) for n in range(16)] == [word >> 7 for word in eight]
    assert [random_word(0, n, 17) for n in range(4)] == [word >> 15 for word in whole]


def test_the_last_call_and_both_halves_of_seed_and_counter() -> None:
    # element n of 32 bits is word n % 4 of call n // 4: the key and counter are what that says
    seed, call = 0x0123_4567_89AB_CDEF, 0x1FFF_FFFE_8000_0001
    expected = philox((0x8000_0001, 0x1FFF_FFFE, 0, 0), (0x89AB_CDEF, 0x0123_4567))
    assert [random_word(seed, 4 * call + word, 32) for word in range(4)] == list(expected)
    assert random_words(seed, 4 * call, 4, 32).tolist() == list(expected)


@pytest.mark.parametrize("bits", [1, 4, 8, 9, 16, 17, 32])
@pytest.mark.parametrize("first", [0, 5, 2**32 * 4 - 3, 2**63 - 9])
def test_arrays_hold_the_words_of_their_elements(bits: int, first: int) -> None:
    seed = 2**64 - 3
    count = 9 if first > 2**62 else 41
    found = random_words(seed, first, count, bits)
    assert found.dtype == np.uint64
    assert found.tolist() == [random_word(seed, first + n, bits) for n in range(count)]
    assert random_words(seed, first, 0, bits).tolist() == []


def chi_squared(numbers: np.ndarray) -> float:
    counts = np.bincount(numbers.astype(np.int64), minlength=256)
    mean = numbers.size / 256
    return float(((counts - mean) ** 2).sum() / mean)


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("seed", [0, 17])
def test_the_numbers_are_uniform_and_neighbours_independent(bits: int, seed: int) -> None:
    found = random_words(seed, 0, COUNT, bits)
    assert chi_squared(found >> np.uint64(bits - 8)) < CRITICAL
    assert chi_squared(found & np.uint64(255)) < CRITICAL
    nibbles = found >> np.uint64(bits - 4)
    for distance in (1, 8):  # 16 by 16 bins of an element and a later one, each pair apart from the others
        pairs = nibbles.reshape(-1, 2 * distance)
        assert chi_squared((pairs[:, :distance] << np.uint64(4) | pairs[:, distance:]).reshape(-1)) < CRITICAL


@pytest.mark.parametrize("bits", [4, 8, 16])
@pytest.mark.parametrize("seeds", [(7, 8), (7, 7 + 2**32)])
def test_seeds_next_to_each_other_agree_by_chance_only(bits: int, seeds: tuple[int, int]) -> None:
    first, second = (random_words(seed, 0, COUNT, bits) for seed in seeds)
    chance = 2.0**-bits
    sigma = (chance * (1 - chance) / COUNT) ** 0.5
    assert abs((first == second).mean() - chance) < 5 * sigma
