"""`lowprec conformance --exhaustive`: differences are found and named, digests are those of other libraries."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lowprec.backends import array_api
from lowprec.cli import main
from lowprec.conformance import exhaustive
from lowprec.conformance import exhaustive as exhaustive_digests
from lowprec.conformance.exhaustive import (
    SLICE,
    SLICES,
    Codes,
    DifferenceError,
    Variant,
    Way,
    array_api_way,
    check_slice,
    chosen,
    expected_runs,
    read_digests,
    slice_digest,
    tier_ways,
    total,
    variants,
)

FLOAT4 = "float4_e2m1fn-saturate"
ARGUMENTS = ("conformance", "--exhaustive", "--target", FLOAT4, "--slice", "0x40")


def broken(at: int, change: int) -> Way:
    """Return a way that is wrong for one input."""
    (right,) = tier_ways("base")

    def convert(x: Codes, variant: Variant) -> Codes:
        codes: Codes = right.convert(x, variant)
        place = at - int(x.view(np.uint32)[0])
        if 0 <= place < x.size:
            codes[place // 2 if variant.packed else place] ^= change
        return codes

    return Way("broken", convert)


def test_a_difference_is_named() -> None:
    said = r"^float4_e2m1fn-saturate, broken: input 0x40a80000 \(5\.25\) gives 0x06, expected 0x07$"
    with pytest.raises(DifferenceError, match=said):
        check_slice(variants()[FLOAT4], 0x40, [broken(0x40A80000, 1)])
    packed = r"^float4_e2m1fn-saturate-packed, broken: input 0x40a80002 .* packed with its neighbours gives 0x67, "
    with pytest.raises(DifferenceError, match=packed):
        check_slice(variants()[f"{FLOAT4}-packed"], 0x40, [broken(0x40A80003, 0x10)])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda codes: codes.astype(np.uint16), "give uint16 of shape (131072,), expected uint8 of shape (131072,)"),
        (lambda codes: codes[1:], "give uint8 of shape (131071,), expected uint8 of shape (131072,)"),
    ],
)
def test_a_result_of_another_kind_is_named(change: Any, said: str) -> None:
    (right,) = tier_ways("base")
    with pytest.raises(DifferenceError) as caught:
        check_slice(variants()[FLOAT4], 0, [Way("odd", lambda x, variant: change(right.convert(x, variant)))])
    assert str(caught.value) == f"{FLOAT4}, odd: inputs from 0x00000000 {said}"


@pytest.mark.parametrize(
    ("name", "index", "dtype"),
    [pytest.param("float16-saturate", 0x33, np.float16, marks=pytest.mark.slow),
     ("bfloat16-saturate", 0x80, ml_dtypes.bfloat16), ("float8_e4m3fn-no_saturate", 0x3F, ml_dtypes.float8_e4m3fn),
     (FLOAT4, 0x3F, ml_dtypes.float4_e2m1fn)],
)  # fmt: skip
def test_digests_are_those_of_other_libraries(name: str, index: int, dtype: Any) -> None:
    x = np.arange(index << 24, (index + 1) << 24, dtype=np.uint32).view(np.float32)
    wanted = hashlib.sha256(x.astype(dtype).tobytes()).hexdigest()
    variant = variants()[name]
    assert slice_digest(variant, expected_runs(variant, index)) == wanted


def test_slices_of_zeros_that_are_packed_otherwise_have_digests_of_their_own() -> None:
    sizes = {
        "float6_e2m3fn-saturate-packed": SLICE * 6 // 8, "float4_e2m1fn-saturate-packed": SLICE // 2, FLOAT4: SLICE,
    }  # fmt: skip
    for name, size in sizes.items():
        variant = variants()[name]
        assert slice_digest(variant, expected_runs(variant, 0)) == hashlib.sha256(bytes(size)).hexdigest()


def test_variants() -> None:
    """Counted from the formats: saturate or not, FNUZ's Inf in two opsets, three modes, packed, eight roundings."""
    assert len(variants()) == 2 * 2 + 2 * 2 + 2 * 3 + 2 * 3 + 2 * 4 + 4 + 3 * 8 * 3
    assert [one.name for one in chosen(["float8_e5m2fnuz"])] == [
        "float8_e5m2fnuz-saturate", "float8_e5m2fnuz-saturate-opset23", "float8_e5m2fnuz-no_saturate",
    ]  # fmt: skip
    assert variants()["float8_e5m2-to_odd-ovf_inf"].options == {"rounding": "to_odd", "overflow": "ovf_inf"}


@pytest.mark.parametrize("library", exhaustive.LIBRARIES)
@pytest.mark.parametrize("name", ["float8_e8m0fnu-up-saturate", "float8_e5m2-toward_positive-sat_propagate"])
def test_array_api_calls_are_compared(library: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library)
    monkeypatch.setattr(exhaustive, "pieces", lambda *slices, whole=exhaustive.pieces: [next(whole(*slices))])
    check_slice(variants()[name], 0xBF, [array_api_way(library)])
    monkeypatch.setattr(array_api, "run", lambda job: np.zeros(job.x.shape, np.uint8))
    with pytest.raises(DifferenceError, match=f"array API in {library}: input 0xbf000000"):
        check_slice(variants()[name], 0xBF, [array_api_way(library)])


def test_the_command_compares(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--isa", "base"]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == f"{FLOAT4}: 16777216 inputs by base: 0 differences"
    assert second.startswith("1 variant, 16777216 results compared, 0 differences, 0:")
    assert third.startswith("lowprec ")


def test_the_command_ends_at_the_first_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exhaustive, "tier_ways", lambda name: [broken(0x40A80000, 1)])
    assert main(ARGUMENTS) == 1
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[-1]) == (
        "", f"lowprec: {FLOAT4}, broken: input 0x40a80000 (5.25) gives 0x06, expected 0x07",
    )  # fmt: skip


def digest(variant: Variant, runs: int) -> str:
    """Return a digest of its own for every ten slices of a variant."""
    return hashlib.sha256(f"{variant.name}{runs // 10}".encode()).hexdigest()


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Give a folder to which the command wrote what `digest` returns; it printed the digests of variants."""
    monkeypatch.setattr(exhaustive_digests, "expected_runs", lambda variant, index: index)
    monkeypatch.setattr(exhaustive_digests, "slice_digest", digest)
    assert main(["conformance", "--exhaustive", "--write-digests", str(tmp_path), "--target", FLOAT4, "bfloat16"]) == 0
    every = chosen(["bfloat16", "float4_e2m1fn"])
    wanted = [f"{total(digest(one, index) for index in range(SLICES))}  {one.name}" for one in every]
    assert capsys.readouterr().out.splitlines() == wanted
    return tmp_path


def test_files_hold_every_slice(written: Path) -> None:
    assert {path.name for path in written.iterdir()} == {"bfloat16.txt", "float4_e2m1fn.txt"}
    both = chosen(["bfloat16", "float4_e2m1fn"])
    wanted = {one.name: [digest(one, index) for index in range(SLICES)] for one in both}
    assert {one.name: read_digests(written, one) for one in both} == wanted
    line = (written / "bfloat16.txt").read_text(encoding="utf-8").splitlines()[4]
    assert line == f"{digest(variants()['bfloat16-saturate'], 0)}  bfloat16-saturate/0x00-0x09"


def test_published_and_kept_digests_are_compared(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exhaustive, "check_slice", lambda variant, index, *others: digest(variant, index))
    assert main([*ARGUMENTS, "--digests", str(written)]) == 0
    assert "0 differences, the published digests\n" in capsys.readouterr().out
    assert main(["conformance", "--exhaustive", "--target", FLOAT4]) == 1
    assert f"{FLOAT4}: the digest of all slices is " in capsys.readouterr().err
    monkeypatch.setattr(exhaustive, "check_slice", lambda *others: "0")
    assert main([*ARGUMENTS, "--digests", str(written)]) == 1
    published = digest(variants()[FLOAT4], 0x40)
    assert f"{FLOAT4}, slice 0x40: the digest is 0, the published one {published}" in capsys.readouterr().err


def test_damaged_files_of_digests(written: Path) -> None:
    path, variant = written / "float4_e2m1fn.txt", variants()[FLOAT4]
    text = path.read_text(encoding="utf-8")
    for old, new in [("0x0a-0x13", "0x0b-0x13"), ("0x00-0x09", "0x00-0x1ff"), ("0x00-0x09", "?"), (text[-90:-80], "")]:
        path.write_text(text.replace(f"{FLOAT4}/{old}", f"{FLOAT4}/{new}"), encoding="utf-8")
        if new:
            with pytest.raises(ValueError, match="must have a digest and the next slices; got"):
                read_digests(written, variant)
    path.write_text(text.replace(f"{FLOAT4}/0xfa-0xff", "other/0xfa-0xff"), encoding="utf-8")
    with pytest.raises(ValueError, match=f"must have 256 slices of {FLOAT4}; got 250"):
        read_digests(written, variant)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slice", "3"], "`--slice` must be given with `--exhaustive`"),
        (
            ["--exhaustive", "--slice", "3-2"],
            "`--slice` must be a number from 0 to 255, or a range such as 0x38-0x47; ",
        ),
        (["--exhaustive", "--slice", "256"], "`--slice` must be a number from 0 to 255"),
        (["--exhaustive", "--slice", "x"], "`--slice` must be a number from 0 to 255"),
        (["--exhaustive", "--target", "float64"], "`--target` must be one of float16, bfloat16, "),
        (["--exhaustive", "--isa", "v9"], "`--isa` must be one of base, "),
        (["--exhaustive", "--isa", "v3", "--array-api"], "`--isa` must be absent where `--array-api` is given"),
        (["--exhaustive", "--digests", "missing"], "missing/float16.txt: No such file"),
        (["--exhaustive", "--write-digests", "x", "--slice", "1"], "`--slice` must be absent where"),
    ],
)
def test_bad_options(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["conformance", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"lowprec: {said}")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_library_that_is_missing() -> None:
    with pytest.raises(ValueError, match="`--array-api` must be an installed library; got no_such_library"):
        array_api_way("no_such_library")


def test_slices_cover_the_inputs() -> None:
    assert SLICE * SLICES == 1 << 32
