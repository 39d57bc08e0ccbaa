"""A slice of the 2^32 float32 inputs for each variant, another one each day: every tier, array-API calls, digests."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from lowprec.conformance.exhaustive import (
    SLICES,
    array_api_way,
    check_slice,
    kept_digests,
    read_digests,
    tier_ways,
    total,
    variants,
)

FOLDER = Path(__file__).parents[2] / "docs/proof"
DAY = datetime.date.today().toordinal()
PLACES = {name: (DAY + 37 * number) % SLICES for number, name in enumerate(variants())}
"""The slice of each variant: on any day they are spread over the inputs, and in 256 days each variant has had all."""

TODAY = list(variants())[DAY % 8 :: 8]
"""The variants of the day for array-API calls."""


@pytest.mark.slow
@pytest.mark.parametrize("name", variants())
def test_every_tier_gives_the_published_digest(name: str) -> None:
    variant = variants()[name]
    assert check_slice(variant, PLACES[name], tier_ways()) == read_digests(FOLDER, variant)[PLACES[name]]


@pytest.mark.slow
@pytest.mark.parametrize("name", TODAY)
def test_array_api_calls_give_the_published_digest(name: str) -> None:
    variant, place = variants()[name], (PLACES[name] + 128) % SLICES
    assert check_slice(variant, place, [array_api_way("numpy")]) == read_digests(FOLDER, variant)[place]


def test_kept_digests_are_those_of_the_published_ones() -> None:
    assert dict(kept_digests()) == {name: total(read_digests(FOLDER, one)) for name, one in variants().items()}
