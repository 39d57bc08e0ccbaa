"""The comparison of architectures finds what differs, and names what it cannot run."""

from __future__ import annotations

import importlib
import shutil
from typing import Any

import numpy as np
import pytest
from support.proof_architectures import programs, targets

from lowprec import _kernels

check_architectures = importlib.import_module("check_architectures")
PROGRAM = ("encode8",), 32, 8, False, bytes(range(sum(programs.WIDTHS) % 256))


class Answers:
    """A driver that prints what it is given."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        self.target = targets.TARGETS["s390x"]

    def __call__(self, job: str, count: int, text: str) -> list[str]:
        assert (job, count) == ("codes", 0)
        assert text.endswith(" encode8\n2 3f800000 0\n")
        return list(self.lines)

    def text_of(self, params: bytes, widths: list[int]) -> str:
        return ""


def test_a_code_that_the_oracle_does_not_give_is_found() -> None:
    cases: Any = [("float32 -> x", PROGRAM, np.array([0x3F800000, 0], np.uint32), np.array([0x38, 0], np.uint8))]
    assert check_architectures.against_oracle(Answers("38 0 "), cases) == (2, [])
    wrong = "float32 -> x: 0x0 becomes 0x1, expected 0x0"
    assert check_architectures.against_oracle(Answers("38 1 "), cases) == (2, [wrong])
    assert check_architectures.against_oracle(Answers(), cases)[1] == ["0 lines of 1"]


def test_a_result_that_another_architecture_does_not_give_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    base = {"programs": ["1 a", "2 b"], "others": ["3"]}
    assert check_architectures.report("s390x", base, base) == 0
    assert check_architectures.report("s390x", {**base, "programs": ["1 a", "9 b"]}, base) == 1
    assert "s390x: 2 programs, 1 with other results than x86-64\n  9 b\n" in capsys.readouterr().out


def test_parameters_are_in_the_order_of_bytes_of_the_target() -> None:
    driver = targets.Driver.__new__(targets.Driver)
    driver.target = targets.TARGETS["s390x"]
    assert driver.text_of(bytes(range(12)), [4, 8]) == "03020100" + "0b0a090807060504"
    driver.target = targets.TARGETS["i386"]
    assert driver.text_of(bytes(range(12)), [4, 8]) == bytes(range(12)).hex()
    assert sum(programs.WIDTHS) == len(_kernels.Program(("encode8",), 32, 8, {}).params)


def test_what_is_missing_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert check_architectures.main(["--quick"]) == 0
    assert check_architectures.main(["--quick", "--target", "i386"]) == 2
    printed = capsys.readouterr().out
    assert "i386: skipped, no i686-linux-gnu-gcc: apt install gcc-i686-linux-gnu libc6-dev-i386-cross\n" in printed
    assert "s390x: skipped, no s390x-linux-gnu-gcc and no qemu-s390x: apt install gcc-s390x-linux-gnu" in printed


def test_a_header_that_is_missing_is_named() -> None:
    missing = targets.Target(("gcc",), (), "<", "a-package", header="no/such/header.h").missing()
    assert missing == "no no/such/header.h: apt install a-package"
    assert targets.Target(("gcc",), (), "<", "gcc", header="stdint.h").missing() is None
