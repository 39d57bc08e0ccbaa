"""The command line: results, messages, exit codes and the files it leaves, for usual and hostile arguments."""

from __future__ import annotations

import json
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.command_line import X, fail, run, usage_error
from support.paths import table

import lowprec as lp
from lowprec import reference
from lowprec.spec.format_text import nan_codes
from lowprec.spec.formats import NUMERIC, Format

pytestmark = pytest.mark.usefixtures("folder_with_array")
BY_NAME = {"ids": lambda fmt: fmt.name}


def bits_of(value: float) -> tuple[bool, float | None]:
    """Tell -0 from 0, and let NaN equal NaN."""
    return (False, None) if math.isnan(value) else (math.copysign(1, value) < 0, value)


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits <= 8 and fmt.name != "bool"], **BY_NAME)
def test_the_codes_of_a_format(fmt: Format) -> None:
    facts, _, table = run("formats", str(fmt.onnx_enum or fmt.name)).partition("\n\n")
    assert dict(line.split(maxsplit=1) for line in facts.splitlines())["format"] == fmt.name
    header, *lines = table.splitlines()
    columns = len(header.split())
    assert max(map(len, [header, *lines])) <= 120
    assert [int(line.partition(":")[0], 16) for line in lines] == list(range(0, 1 << fmt.bits, columns))
    cells = [cell for line in lines for cell in line.partition(":")[2].split()]
    by_ml_dtypes = np.arange(1 << fmt.bits, dtype=fmt.code_dtype).view(fmt.dtype).astype(np.float64).tolist()
    assert list(map(bits_of, map(float, cells))) == list(map(bits_of, by_ml_dtypes))
    if not fmt.is_float:
        assert all("." not in cell for cell in cells)
    decoded = [reference.decode(code, fmt) for code in range(1 << fmt.bits)]
    assert [float(value) for value in decoded if not value.special] == [
        float(cell) for cell in cells if "n" not in cell
    ]


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits <= 16], **BY_NAME)
def test_nan_codes_are_those_that_are_nan(fmt: Format) -> None:
    found: set[int] = set()
    for part in nan_codes(fmt).replace("none", "").split(", "):
        if part:
            ends = [int(end, 16) for end in part.split("-")]
            found |= set(range(ends[0], ends[-1] + 1))
    codes = np.arange(1 << fmt.bits).astype(fmt.code_dtype)
    assert found == set(np.flatnonzero(np.isnan(codes.view(fmt.dtype).astype(np.float32))))


def test_the_table_of_formats() -> None:
    out = run("formats")
    assert out.isascii()
    header, *lines = out.splitlines()
    assert [line.split()[0] for line in lines] == list(lp.formats)
    assert header.split()[:4] == ["format", "ONNX", "enum", "bits"]
    assert "float8_e4m3fn       FLOAT8E4M3FN    17    8     1/4/3    7     448" in out
    rows = run("formats", "--markdown").splitlines()
    assert [row.split(" | ")[0] for row in rows[2:]] == [f"| {name}" for name in lp.formats]


def facts_of(name: str) -> list[str]:
    return run("formats", name).partition("\n\n")[0].splitlines()


def test_why_the_largest_value_is_the_largest_and_counts() -> None:
    assert facts_of("float8_e4m3fn")[-5:] == [
        "why max          480 would be 0x7F, which is NaN.", "numbers          253", "subnormal codes  14",
        "1 <= value < 2   8", "in last binade   7",
    ]  # fmt: skip
    sentence, numbers = facts_of("int8")[-2:]
    assert sentence.startswith("why max          127 = 2^7 - 1: all 7 bits after the sign are 1")
    assert numbers == "numbers          256"
    assert facts_of("string")[-1].startswith("defined by")


@pytest.mark.parametrize(
    ("x", "code"),
    [("0.3", "0x2a"), ("-0.3", "0xaa"), ("-.3", "0xaa"), ("-1/3", "0xab"), ("-0x1p-3", "0xa0"), ("-1e5", "0xfe"),
     ("-inf", "0xfe"), ("-Infinity", "0xfe"), ("-nan", "0xff"), ("-NaN", "0xff"), ("-0", "0x80"), ("-0.0", "0x80")],
)  # fmt: skip
def test_explain_takes_negative_numbers(x: str, code: str) -> None:
    for arguments in ([x, "float8_e4m3fn"], ["--opset", "19", x, "17"], ["--", x, "FLOAT8E4M3FN"]):
        last = run("explain", *arguments).splitlines()[-1]
        assert last.split()[:2] == ["result", code]


def test_explain_obeys_its_options() -> None:
    def result(*arguments: str) -> str:
        return run("explain", *arguments).splitlines()[-1].split()[1]

    assert result("1000", "float8_e4m3fn") == "0x7e"
    assert result("1000", "float8_e4m3fn", "--no-saturate") == "0x7f"
    assert result("inf", "float8_e4m3fnuz", "--opset", "19") == "0x80"
    assert [result("3", "float8_e8m0fnu", "--round-mode", mode) for mode in ("up", "down", "nearest")] == [
        "0x81", "0x80", "0x81",
    ]  # fmt: skip


def test_explain_takes_every_option_of_roundings() -> None:
    # of seed 0 the places 0 to 3 take d5 e8 27 66; of 4 bits d e 2 6.
    # 2.3 lies 3/10 of the way from 2 to 3: 5 of 16 numbers choose 3
    stochastic = "explain 2.3 float4_e2m1fn --rounding stochastic_b --seed 0 --random-bits 4 --offset"
    lines = run(*f"{stochastic} 2".split()).splitlines()
    assert lines[0] == "float4_e2m1fn: the lower neighbour: the random number 2 is below 11, of 2**4"
    assert lines[-1] == "chance    5 of 2**4, the numbers from 11 on, round away from zero"
    assert "the upper neighbour: the random number 14 is at least 11" in run(*f"{stochastic} 1".split())
    assert "result    0x7f" in run("explain", "1e9", "float8_e4m3fn", "--overflow", "ovf_inf")
    assert "result    0x7e" in run("explain", "nan", "float8_e4m3fn", "--nan", "largest")
    assert "result    0x5" in run("explain", "2.3", "float4_e2m1fn", "--rounding", "away_from_zero")


@pytest.mark.parametrize("code", ["42", "0x2a", "0b101010"])
def test_codes_of_another_format(code: str) -> None:
    found = run(*f"explain {code} float4_e2m1fn --from float8_e4m3fn".split())
    lines = found.splitlines()
    assert lines[2] == "x         0x2a  0|0101|010  0x1.4p-2   0.3125"
    assert lines[-1] == "result    0x1   0|00|1      0x1p-1     0.5"


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_cast_there_and_back(fmt: Format) -> None:
    own = hasattr(np, fmt.name)
    y = "y.npy" if own else "y.npz"
    out = run("cast", "x.npy", y, "--to", fmt.name)
    stored = "" if own else f" (codes in {fmt.code_dtype})"
    n_bytes = X.size * max(fmt.bits, 8) // 8
    assert out == f"{y}: {fmt.name} from float32, shape (2, 5), {n_bytes} bytes{stored}\n"
    codes = [reference.encode(value, fmt) for value in X.ravel()]
    loaded = np.load(y) if own else np.load(y)["y"]
    assert loaded.view(fmt.code_dtype).ravel().tolist() == codes
    assert run("cast", y, "z.npy", "--to", "DOUBLE").startswith(f"z.npy: float64 from {fmt.name}, ")
    values = [bits_of(float(reference.decode(code, fmt))) for code in codes]
    assert list(map(bits_of, np.load("z.npy").ravel().tolist())) == values


def test_cast_obeys_its_options() -> None:
    def codes(*arguments: str) -> Any:
        run("cast", "v.npy", "y.npz", "--overwrite", *arguments)
        return np.load("y.npz")["y"].tolist()

    np.save("v.npy", np.array([3.0, 1000.0, np.inf]))
    assert codes("--to", "17") == [0x44, 0x7E, 0x7E]
    assert codes("--to", "17", "--no-saturate") == [0x44, 0x7F, 0x7F]
    assert codes("--to", "float8_e4m3fnuz", "--opset", "19") == [0x4C, 0x7F, 0x80]
    assert codes("--to", "float8_e8m0fnu", "--round-mode", "down") == [0x80, 0x88, 0xFE]
    np.save("v.npy", np.array([0x44, 0x7E], np.uint8))
    assert codes("--to", "float32", "--from", "17") == [3.0, 448.0]
    np.save("v.npy", np.array([3.0, 448.0]).astype(ml_dtypes.float8_e4m3fn))
    assert codes("--to", "float32", "--from", "FLOAT8E4M3FN") == [3.0, 448.0]


def test_cast_to_a_described_format() -> None:
    expected = [reference.encode(value, "binary5p3sf") for value in X.ravel()]
    out = run("cast", "x.npy", "y.npz", "--to", "Binary5p3sf")
    assert out.endswith("(codes in uint8)\n")
    comment = zipfile.ZipFile("y.npz").getinfo("y.npy").comment.decode()
    assert json.loads(comment.removeprefix("format=")) == {
        "name": "binary5p3sf", "exponent_bits": 2, "mantissa_bits": 2, "bias": 2, "signed": True, "inf": False,
        "nan": "negative-zero", "zero": True, "source": "IEEE P3109 interim report 4.0, 3.1 and 3.2",
    }  # fmt: skip
    assert np.load("y.npz")["y"].ravel().tolist() == expected
    assert run("cast", "y.npz", "z.npy", "--to", "float32").startswith("z.npy: float32 from binary5p3sf")
    run("cast", "x.npy", "y.npy", "--to", "binary5p3sf")  # as bare codes
    assert np.load("y.npy").dtype == np.uint8
    assert np.load("y.npy").ravel().tolist() == expected
    run("cast", "y.npy", "v.npy", "--to", "float32", "--from", "binary5p3sf")
    assert np.array_equal(np.load("v.npy"), np.load("z.npy"), equal_nan=True)


def test_described_formats() -> None:
    facts, _, table = run("formats", "binary5p3se").partition("\n\n")
    lines = {line[:17].strip(): line[17:] for line in facts.splitlines()}
    assert {"ONNX", "enum", "Cast since"}.isdisjoint(lines)
    assert [lines[name] for name in ("format", "s/e/m", "max", "NaN codes")] == ["binary5p3se", "1/2/2", "3", "10"]
    second = "10: nan -0.125 -0.25 -0.375 -0.5 -0.625 -0.75 -0.875 -1.0 -1.25 -1.5 -1.75 -2.0 -2.5 -3.0 -inf"
    assert " ".join(table.splitlines()[2].split()) == second  # P3109's value table
    assert fail("formats", "binary8p9se") == (
        "FORMAT must have a precision from 1 to 7 to be a signed 8-bit format of IEEE P3109; got 'binary8p9se'"
    )
    assert "0x39" in run("explain", "0.3", "binary8p3se").splitlines()[-1]
    assert run("loss", "x.npy", "--to", "binary8p3se").splitlines()[-1].startswith("binary8p3se")


def test_cast_keeps_what_it_may_not_replace() -> None:
    run("cast", "x.npy", "y.npy", "--to", "int16")
    assert fail("cast", "x.npy", "y.npy", "--to", "int8") == "y.npy: exists; say --overwrite to replace it"
    run("cast", "x.npy", "y.npy", "--to", "int8", "--overwrite")
    assert np.load("y.npy").dtype == np.int8
    assert fail("cast", "x.npy", "y.npy", "--to", "int4", "--overwrite") == (
        "y.npy: NumPy has no int4; name an .npz file, which holds its codes and its name"
    )
    assert fail("cast", "x.npy", "./x.npy", "--to", "int8", "--overwrite").endswith(": must not be the input itself")


@pytest.mark.parametrize(("command", "text"), table(__file__)["refused"])
def test_errors(command: str, text: str) -> None:
    assert text in fail(*command.split())


def test_odd_names_and_texts_still_take_one_line() -> None:
    assert fail("cast", "a\nb", "y.npy", "--to", "int8") == "a b: No such file or directory"
    assert "null byte" in fail("cast", "a\0b", "y.npy", "--to", "int8")
    assert fail("loss", "n" * 256) == f"{'n' * 256}: File name too long"
    assert "got '0.3\\nx'" in fail("explain", "0.3\nx", "int4")
    assert "got ''" in fail("formats", "")


@pytest.mark.parametrize("command", table(__file__)["usage"])
def test_usage_errors(command: str) -> None:
    assert usage_error(*command.split()).startswith("usage: lowprec")


def rows(text: str) -> dict[str, list[float]]:
    lines = [line.split() for line in text.splitlines() if line.split()[0] in lp.formats]
    return {name: list(map(float, cells)) for name, *cells in lines}


def test_loss_prints_what_was_lost() -> None:
    np.save("v.npy", np.array([1.0, 1.1, 1000.0, 0.0009, np.nan, np.inf], np.float32))
    out = run("loss", "v.npy", "--to", "float8_e4m3fn, 22,FLOAT", "--scale", "none")
    assert out.startswith("v.npy: float32 (6,), 24 bytes, 1 NaN, 1 Inf\nformat ")
    found = rows(out)
    assert list(found) == ["float8_e4m3fn", "int4", "float32"]
    # bytes, scale, SQNR, max error, saturated, flushed
    assert found["float8_e4m3fn"] == [6, 1, pytest.approx(20 * math.log10(1000 / 552), abs=0.01), 552, 1, 1]
    assert found["int4"] == [3, 1, pytest.approx(20 * math.log10(1000 / 1008), abs=0.01), 1008, 1, 1]  # 1000 & 15: -8
    assert found["float32"] == [24, 1, math.inf, 0, 0, 0]
    found = rows(run("loss", "v.npy", "--to", "int4"))
    assert found["int4"] == [3, pytest.approx(1000 / 7, rel=1e-5), pytest.approx(56.6, abs=1), 1.1, 0, 3]


def test_loss_of_the_sample() -> None:
    out = run("loss")
    title = re.match(r"numpy/\S+: float32 \((\d+),\), (\d+) bytes, (\d+) NaN, (\d+) Inf\n", out)
    assert title
    assert int(title[2]) == 4 * int(title[1]) > 1000
    found = rows(out)
    assert list(found) == ["float8_e4m3fn", "int4", "float4_e2m1fn"]
    assert [cells[0] for cells in found.values()] == [int(title[1]), *[-(-int(title[1]) // 2)] * 2]


@pytest.mark.parametrize(
    "x",
    [np.zeros((0, 3)), np.full(3, np.nan), np.zeros(3), np.array([2**63 - 1, -(2**63)]), np.array([2**64 - 1], "u8"),
     np.array([1e308, -1e-308]), np.array(7)],
    ids=["empty", "NaN", "zeros", "int64", "uint64", "huge", "0-d"],
)  # fmt: skip
@pytest.mark.parametrize("scale", ["tensor", "none"])
def test_loss_of_extremes(x: Any, scale: str) -> None:
    np.save("v.npy", x)
    names = [fmt.name for fmt in NUMERIC]
    found = rows(run("loss", "v.npy", "--scale", scale, "--to", ",".join(names)))
    assert list(found) == names
    assert all(cells[0] == -(-x.size * lp.formats[name].bits // 8) for name, cells in found.items())


def test_loss_of_an_archive() -> None:
    arrays: dict[str, Any] = {"f": X, "s": np.array(["x"]), "c": X.astype(ml_dtypes.float8_e4m3fn), "\x1b[1m": X[:0]}
    np.savez("v.npz", **arrays)
    Path("v.npz").rename("v.any")  # told by its content
    out = run("loss", "v.any", "--to", "int8", "--from", "17")
    assert [line for line in out.splitlines() if line.startswith("v.any")] == [
        "v.any:f: float32 (2, 5), 40 bytes, 1 NaN, 1 Inf",
        "v.any:s: left out; its elements must be bools, integers or real floats; got '<U1'",
        "v.any:c: float8_e4m3fn (2, 5), 10 bytes, 3 NaN, 0 Inf",  # ml_dtypes overflows to NaN
        r"v.any:'\x1b[1m': float32 (0, 5), 0 bytes, 0 NaN, 0 Inf",
    ]
    assert out.count("\nint8 ") == 3
    zipfile.ZipFile("empty.npz", "w").close()
    assert fail("loss", "empty.npz") == "empty.npz: holds no arrays"
    Path("cut.npz").write_bytes(Path("v.any").read_bytes()[:100])
    assert fail("loss", "cut.npz").startswith("cut.npz: must be a readable .npz archive; ")
