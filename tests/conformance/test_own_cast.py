"""`lp.compare`: right casts differ nowhere, and wrong ones where they are wrong, with the reason."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.optional import optional

import lowprec as lp
from lowprec import reference
from lowprec.conformance.cast_inputs import sweep_float32
from lowprec.spec.formats import NUMERIC, Format

torch: Any = optional("torch")

OWN = lp.float_format("e4m4", exponent_bits=4, mantissa_bits=4, nan="all-ones", reference="this test")
DESCRIBED = [*map(lp.as_format, ("binary8p3se", "binary8p3uf", "binary8p1ue", "binary6p3se", "binary12p6se")), OWN]
NARROW = [fmt for fmt in (*NUMERIC, *DESCRIBED) if fmt.bits <= 8]
BY_NAME = {"ids": lambda one: one.name if isinstance(one, Format) else None}


@pytest.mark.parametrize(("source", "to"), [*itertools.product(NARROW, (*NUMERIC, *DESCRIBED))], **BY_NAME)
@pytest.mark.one_in(5)
def test_the_oracle_value_by_value_differs_nowhere(source: Format, to: Format) -> None:
    """The cast under test is the scalar oracle; the comparison uses that of whole arrays."""

    def cast(x: Any) -> Any:
        codes = x.view(source.code_dtype)
        if source is to and not (to.has_inf and to.saturates == "asked"):  # the bits are copied
            return codes
        results = [reference.encode(reference.decode(int(code), source), to) for code in codes]
        return np.array(results, np.uint64).astype(to.code_dtype)

    found = lp.compare(cast, source, to)
    assert (found.differ, found.other_nan, found.first) == (0, 0, None)
    assert found.tried == (2 if source.name == "bool" else 1 << source.bits)


@pytest.mark.parametrize("to", [fmt for fmt in NUMERIC if fmt.bits > 8 or fmt.bits in (4, 6)], **BY_NAME)
@pytest.mark.parametrize("source", ["float32", "float64", "int64", "uint32", "bfloat16", "float16", "int16"])
@pytest.mark.one_in(4)
def test_our_own_cast_differs_nowhere(source: str, to: Format) -> None:
    found = lp.compare(lambda x: lp.cast(x, to), source, to)
    assert (found.differ, found.other_nan) == (0, 0)


@pytest.mark.parametrize(
    "options",
    [{"saturate": False}, {"rounding": "toward_zero"}, {"rounding": "to_odd", "overflow": "ovf_inf"},
     {"opset": 19}, {"nan": "plain", "rounding": "toward_positive"}],
    ids=str,
)  # fmt: skip
def test_rules_are_those_of_cast(options: dict[str, Any]) -> None:
    to = "float8_e5m2"
    assert lp.compare(lambda x: lp.cast(x, to, **options), "float16", to, **options).differ == 0
    if options != {"opset": 19}:
        assert lp.compare(lambda x: lp.cast(x, to), "float16", to, **options).differ > 0


def _to_powers(mode: str) -> Any:
    return lambda x: lp.cast(x, "float8_e8m0fnu", round_mode=mode)


def test_powers_have_their_rounding() -> None:
    to = "float8_e8m0fnu"
    for mode in ("up", "down", "nearest"):
        found = lp.compare(_to_powers(mode), "float16", to, round_mode=mode)
        assert found.differ == 0
    assert lp.compare(lambda x: lp.cast(x, to, round_mode="down"), "float16", to, round_mode="up").differ > 0


def test_double_rounding_is_found() -> None:
    found = lp.compare(lambda x: x.astype(np.float32).astype(ml_dtypes.bfloat16), "float64", "bfloat16")
    value = float(found.first.value)
    assert found.first.expected == reference.encode(value, "bfloat16")
    assert found.first.found == reference.encode(float(np.float32(value)), "bfloat16")
    assert found.first.explanation == lp.explain(value, "bfloat16")


def test_one_wrong_code_is_the_first() -> None:
    def cast(x: Any) -> Any:
        y = lp.encode(x, "float8_e4m3fn")
        y[[700, 701, 40000]] ^= 1
        return y

    found = lp.compare(cast, "float16", "float8_e4m3fn")
    assert found.differ == 3
    value = np.array([700], np.uint16).view(np.float16)[0]
    expected = reference.encode(value, "float8_e4m3fn")
    first = found.first
    assert (first.code, float(first.value), first.expected, first.found) == (700, value, expected, expected ^ 1)
    assert str(found).startswith(
        "3 of 65536 codes of float16 differ from the exact cast to float8_e4m3fn\n"
        f"the first: 0x02bc, about 0.0000417233, must become 0x{expected:02x}, became 0x{expected ^ 1:02x}\n"
        "float8_e4m3fn: "
    )
    assert str(first.explanation) in str(found)


def test_every_code_of_nan_is_nan_and_minus_zero_is_not_zero() -> None:
    def other_nan(x: Any) -> Any:
        return np.where(np.isnan(x), np.uint16(0xFFFF), lp.encode(x, "bfloat16"))

    found = lp.compare(other_nan, "float16", "bfloat16")
    assert (found.differ, found.other_nan) == (0, 2 * 1023)
    assert "NaN with other codes: 2046" in str(found)
    found = lp.compare(lambda x: lp.cast(x, "bfloat16") + ml_dtypes.bfloat16(0), "float16", "bfloat16")
    assert found.differ == 1
    assert (found.first.expected, found.first.found) == (0x8000, 0)
    found = lp.compare(lambda x: np.full(x.shape, 0x7F, np.uint8), "float16", "float8_e4m3fn")
    assert found.differ == 65536 - 2 * 1023


def test_wider_floats_are_values_of_the_target() -> None:
    to = "float8_e4m3fn"
    assert lp.compare(lambda x: lp.cast(lp.cast(x, to), "float32"), "float16", to).differ == 0
    found = lp.compare(lambda x: x.astype(np.float32), "float16", to)
    kept = lp.cast(lp.cast(np.arange(65536, dtype=np.uint16).view(np.float16), to), "float32")
    x = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(invalid="ignore"):
        assert found.differ == int(np.sum((x != kept) & ~(np.isnan(x) & np.isnan(kept))))
    assert found.first.found is None
    assert "became a number that float8_e4m3fn lacks" in str(found)


def test_other_libraries() -> None:
    found = lp.compare(lambda x: lp.to_torch(x).to(torch.bfloat16), "float32", "bfloat16")
    assert found.differ == 0
    assert lp.compare(lambda x: lp.to_torch(x).to(torch.float32), "float16", "float32").differ == 0


def test_inputs_of_wide_sources_and_their_order() -> None:
    seen: list[Any] = []
    found = lp.compare(lambda x: seen.append(x) or lp.cast(x, "float16"), "float32", "float16")
    assert seen[0].dtype == np.float32
    assert seen[0].shape == (found.tried,)
    assert np.array_equal(seen[0].view(np.uint32), sweep_float32("float16", count=1000).view(np.uint32))
    lp.compare(lambda x: seen.append(x) or lp.cast(x, "int8", source=OWN), OWN, "int8")
    assert seen[1].dtype == OWN.code_dtype
    assert seen[1].tolist() == list(range(512))


def test_a_function_may_write_to_its_input() -> None:
    def cast(x: Any) -> Any:
        y = lp.cast(x, "float16")
        x[:] = 0
        return y

    assert lp.compare(cast, "bfloat16", "float16").differ == 0


def test_what_a_function_raises_is_raised() -> None:
    def cast(x: Any) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        lp.compare(cast, "bfloat16", "float16")
