"""The options of `lowprec explain` for the rounding rules beyond ONNX."""

from __future__ import annotations

import pytest

from lowprec.cli import main


def run(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(text.split()) == 0
    return capsys.readouterr().out


def test_every_option_reaches_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    # of seed 0 the places 0 to 3 take d5 e8 27 66; of 4 bits d e 2 6.
    # 2.3 lies 3/10 of the way from 2 to 3: 5 of 16 numbers choose 3
    stochastic = "explain 2.3 float4_e2m1fn --rounding stochastic_b --seed 0 --random-bits 4 --offset"
    lines = run(f"{stochastic} 2", capsys).splitlines()
    assert lines[0] == "float4_e2m1fn: the lower neighbour: the random number 2 is below 11, of 2**4"
    assert lines[-1] == "chance    5 of 2**4, the numbers from 11 on, round away from zero"
    assert "the upper neighbour: the random number 14 is at least 11" in run(f"{stochastic} 1", capsys)
    assert "result    0x7f" in run("explain 1e9 float8_e4m3fn --overflow ovf_inf", capsys)
    assert "result    0x7e" in run("explain nan float8_e4m3fn --nan largest", capsys)
    assert "result    0x5" in run("explain 2.3 float4_e2m1fn --rounding away_from_zero", capsys)


@pytest.mark.parametrize("code", ["42", "0x2a", "0b101010"])
def test_codes_of_another_format(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(f"explain {code} float4_e2m1fn --from float8_e4m3fn", capsys)
    lines = found.splitlines()
    assert lines[2] == "x         0x2a  0|0101|010  0x1.4p-2   0.3125"
    assert lines[-1] == "result    0x1   0|00|1      0x1p-1     0.5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("explain 1 int8 --rounding to_odd", "`fmt` must be a float format where --rounding is given; got int8"),
        ("explain 1 float16 --seed 3", "--seed must be None unless --rounding is stochastic; got 3"),
        (
            "explain 1 float16 --rounding to_odd --opset 24",
            "--opset must be 28, its default, where --rounding is given",
        ),
        ("explain 0.3 int4 --from float16", "X must be a code of float16 where --from is given; got '0.3'"),
        ("explain 0x100 int4 --from float8_e4m3fn", "`x` must be a code of float8_e4m3fn, 0 to 255, where --from is"),
        ("explain 1 int4 --from string", "--from must be a format of numbers; got string"),
    ],
)
def test_what_is_refused(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(text.split()) != 0
    assert message in capsys.readouterr().err
