"""The facts that `lowprec formats NAME` counts."""

from __future__ import annotations

import pytest

from lowprec.cli import main


def facts_of(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["formats", name]) == 0
    return capsys.readouterr().out.partition("\n\n")[0].splitlines()


def test_why_the_largest_value_is_the_largest_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert facts_of("float8_e4m3fn", capsys)[-5:] == [
        "why max          480 would be 0x7F, which is NaN.",
        "numbers          253",
        "subnormal codes  14",
        "1 <= value < 2   8",
        "in last binade   7",
    ]
    sentence, numbers = facts_of("int8", capsys)[-2:]
    assert sentence.startswith("why max          127 = 2^7 - 1: all 7 bits after the sign are 1")
    assert numbers == "numbers          256"
    assert facts_of("string", capsys)[-1].startswith("defined by")
