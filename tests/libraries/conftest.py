"""Every array library that is installed; imported before a test starts JAX, which is to have two devices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.array_libraries import LIBRARIES, Library, library


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Give every library that is here."""
    with library(request.param) as found:
        yield found
