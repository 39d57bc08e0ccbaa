"""Chains of casts against fractions rounded here, NumPy and ml_dtypes; witnesses against all codes of small ones."""

from __future__ import annotations

import random
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.teaching.cast_chain import cast_chain, cast_chain_witness

BF16 = lp.as_format("bfloat16")


def to_digits(x: Fraction, digits: int) -> Fraction:
    """Return x > 0 rounded to a number of significant binary digits, ties to even."""
    exponent = 0
    while x / Fraction(2) ** exponent >= 2:
        exponent += 1
    while x / Fraction(2) ** exponent < 1:
        exponent -= 1
    step = Fraction(2) ** (exponent - digits + 1)
    return round(x / step) * step  # of a Fraction: ties to even


def near_ties() -> list[Fraction]:
    """Return numbers about ties of bfloat16 (8 digits), by offsets about half a step of float32 (24 digits)."""
    found = []
    for numerator in (257, 259, 383, 511):
        tie = Fraction(numerator, 256)
        found += [tie + sign * offset for sign in (1, -1) for offset in OFFSETS]
    return found


OFFSETS = [Fraction(0), *(Fraction(2) ** -power for power in (20, 22, 23, 24, 25, 30, 60)), Fraction(3, 2**24)]


def test_rounding_twice_against_rounding_by_digits() -> None:
    differing = 0
    for x in near_ties():
        chain = cast_chain(x, ["float32", "bfloat16"])
        once, twice = to_digits(x, 8), to_digits(to_digits(x, 24), 8)
        assert (chain.value.number, chain.direct.value.number) == (twice, once)
        assert chain.differs == (once != twice)
        assert (chain.cause == "tie") == (once != twice)
        assert (chain.decisive, bool(chain.reason)) == ((0, True) if chain.differs else (None, False))
        differing += chain.differs
    assert differing > 8


def test_against_numpy_and_ml_dtypes() -> None:
    rng = random.Random(18)
    for _ in range(300):
        x = np.float64(rng.choice((1, -1)) * rng.uniform(0.5, 2) * 2.0 ** rng.randrange(-150, 130))
        with np.errstate(over="ignore"):
            through = np.float32(x).astype(ml_dtypes.bfloat16)
        chain = cast_chain(x, ["float32", "bfloat16"])
        assert chain.code == int(through.view(np.uint16))
        assert chain.direct.code == reference.encode(x, "bfloat16")


@pytest.mark.parametrize(
    ("x", "formats", "code", "direct", "cause", "words"),
    [
        ("nan", ["int8", "float16"], 0, 0x7E00, "special", "int8 has no NaN and makes it 0"),
        ("-nan", ["float8_e8m0fnu", "float16"], 0x7E00, 0xFE00, "sign", "keeps no sign of NaN"),
        ("inf", ["float8_e4m3fn", "float16"], 0x5F00, 0x7C00, "special", "float8_e4m3fn makes 448 of Inf"),
        ("70000", ["float16", "float32"], 0x7F800000, 0x4788B800, "range", "outside the range of float16, which makes"),
        ("1e-9", ["float16", "bfloat16"], 0, 0x3089, "zero", "float16 makes x 0"),
        ("-3", ["uint4", "int8"], 13, 0xFD, "range", "outside the range of uint4, which makes it 13"),
        ("-4", ["float8_e8m0fnu", "int8"], 4, 0xFC, "sign", "float8_e8m0fnu has no sign"),
        ("-0", ["float8_e4m3fnuz", "float16"], 0, 0x8000, "sign", "float8_e4m3fnuz has no -0"),
        ("1.5", ["int8", "float16"], 0x3C00, 0x3E00, "truncated", "int8 makes x the integer 1"),
        ("1.9999999999", ["float32", "int8"], 2, 1, "rounded", "float32 rounds x to 2 before int8"),
        ("1.00390626", ["float64", "float32", "bfloat16"], 0x3F80, 0x3F81, "tie", "float32 rounds 1.00390626"),
    ],
)
def test_reasons(x: str, formats: list[str], code: int, direct: int, cause: str, words: str) -> None:
    chain = cast_chain(x, formats)
    assert (chain.code, chain.direct.code, chain.cause) == (code, direct, cause)
    assert words in chain.reason or formats[0] == "float64"
    assert len(chain.steps) == len(formats)
    assert [step.x for step in chain.steps] == [chain.x, *(step.value for step in chain.steps[:-1])]


def test_the_step_that_decides() -> None:
    late = cast_chain("1e6", ["float32", "float16", "float64"])
    assert (late.decisive, late.cause) == (1, "range")


def test_ties_of_other_roundings() -> None:
    below = Fraction(257, 256) - Fraction(1, 2**40)
    away = cast_chain(below, ["float32", "bfloat16"], rounding="nearest_away")
    assert (away.code, away.direct.code, away.cause) == (0x3F81, 0x3F80, "tie")
    assert "the value farther from zero" in away.reason
    above = Fraction(257, 256) + Fraction(1, 2**40)
    zero = cast_chain(above, ["float32", "bfloat16"], rounding="nearest_zero")
    assert (zero.code, zero.direct.code) == (0x3F80, 0x3F81)
    assert "the value nearer to zero" in zero.reason
    powers = cast_chain(Fraction(3, 1) - Fraction(1, 2**40), ["float32", "float8_e8m0fnu"], round_mode="nearest")
    assert (powers.value.number, powers.direct.value.number, powers.cause) == (4, 2, "tie")
    assert "the greater value" in powers.reason
    assert not cast_chain(above, ["float32", "bfloat16"], rounding="to_odd").differs


def test_integers_have_no_rounding() -> None:
    chain = cast_chain("2.7", ["float16", "int8"], rounding="toward_positive")
    assert (chain.code, chain.direct.code) == (2, 2)
    assert chain.steps[0].rounding is not None
    assert chain.steps[1].rounding is None


SMALL = [lp.as_format(name) for name in (
    "binary8p3se", "binary8p5se", "binary10p4se", "binary11p6se", "binary12p7se", "binary9p4ue", "float8_e4m3fn",
    "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu", "int8", "uint4", "bfloat16",
)]  # fmt: skip
ROUNDINGS = (None, "nearest_away", "toward_zero", "toward_positive", "to_odd")


def any_difference(source: lp.Format, formats: list[lp.Format], **options: str) -> bool:
    """Whether the formats between change the result of any number of a source, by the kernels."""
    codes = np.arange(2**source.bits).astype(source.code_dtype)

    def step(codes: np.ndarray, old: lp.Format, new: lp.Format) -> np.ndarray:
        asked = options if new.is_float else {}
        if old is new and not asked:
            return codes
        return np.asarray(lp.encode(codes, new, source=old, **asked))

    through, place = codes, source
    for fmt in formats:
        through, place = step(through, place, fmt), fmt
    return bool((through != step(codes, source, formats[-1])).any())


@pytest.mark.slow
def test_a_witness_is_found_where_there_is_one() -> None:
    rng, found, none = random.Random(5), 0, 0
    for _ in range(60):
        source, target = rng.choice(SMALL), rng.choice(SMALL)
        between = [fmt for fmt in rng.sample(SMALL, rng.choice((1, 1, 2))) if fmt not in (source, target)]
        rounding = rng.choice(ROUNDINGS)
        options = {} if rounding is None else {"rounding": rounding}
        chain = cast_chain_witness([*between, target], source, **options)
        names = [fmt.name for fmt in (source, *between, target)]
        assert (chain is not None) == any_difference(source, [*between, target], **options), (names, options)
        if chain is None:
            none += 1
            continue
        found += 1
        assert chain.differs
        code = reference.encode(chain.x, source, saturate=False)
        assert reference.decode(code, source) == chain.x
        for fmt in between:  # and the kernels take it there too
            asked = options if fmt.is_float else {}
            code = int(lp.encode(np.array([code], source.code_dtype), fmt, source=source, **asked)[0])
            source = fmt
        asked = options if target.is_float else {}
        assert int(lp.encode(np.array([code], source.code_dtype), target, source=source, **asked)[0]) == chain.code
    assert min(found, none) > 8


@pytest.mark.parametrize(("between", "target"), [("float32", "bfloat16"), ("float16", "float8_e4m3fn")])
def test_a_double_rounding_comes_first(between: str, target: str) -> None:
    chain = cast_chain_witness([between, target], "float64")
    assert chain.cause == "tie"
    assert 1 < chain.x.number < 2
    assert Fraction(float(chain.x)) == chain.x.number
    assert cast_chain_witness([between, target], target) is None


def test_each_cast_has_options_of_its_own() -> None:
    """Float32 rounded to odd keeps 1 + 2^-8 + 2^-26 off the midpoint 1 + 2^-8 of bfloat16."""
    x = Fraction(1) + Fraction(1, 2**8) + Fraction(1, 2**26)
    formats = ["float32", "bfloat16"]
    assert cast_chain(x, formats).differs
    found = cast_chain(x, formats, each=[{"rounding": "to_odd"}, {}])
    assert not found.differs
    assert found.steps[0].value.number == Fraction(257, 256) + Fraction(1, 2**23)
    assert cast_chain_witness(formats, "float64", each=[{"rounding": "to_odd"}, {}]) is None
    with pytest.raises(ValueError, match="`each` must have options for 2 casts; got 1"):
        cast_chain(x, formats, each=[{}])
