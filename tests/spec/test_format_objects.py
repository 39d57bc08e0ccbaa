"""Formats and plans as objects: which fields make a format, equality, copies, caches that are bounded."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.custom_formats import CUSTOM_FORMATS, E5M2, float_format, p3109
from support.paths import with_support

import lowprec as lp
from lowprec import reference
from lowprec._kernels import Program
from lowprec.backends.kernels_of_plan import make_program
from lowprec.backends.prepared_calls import CASTS
from lowprec.plans import cast_plan
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.plan import Plan, Scaling
from lowprec.plans.quantize_plan import QuantizeOptions, dequantize_plan, quantize_plan
from lowprec.spec.formats import Format, NaNRule
from lowprec.spec.operator_versions import cast_rules


def test_valid_fields() -> None:
    assert Format(**E5M2).max == 57344.0
    for known in lp.formats.values():
        assert Format(*(getattr(known, field) for field in E5M2)) is known


def _row(**changes: Any) -> Format:
    return Format(**{**E5M2, "name": "floatx", **changes})


def test_the_precision_of_a_division_needs_inf_and_nan() -> None:
    x = np.ones(2, np.uint16)
    for fmt in CUSTOM_FORMATS:
        if fmt.bits == 16 and not (fmt.has_inf and fmt.nan_code is not None):
            with pytest.raises(ValueError, match=f"`precision` must be a float that has Inf, .* NaN; got {fmt.name}"):
                lp.quantize_linear(np.ones(2, np.float32), 1.0, precision=fmt, output_dtype="uint8")
            with pytest.raises(ValueError, match=f"`precision` must be .*; got of `scale`, {fmt.name}"):
                lp.quantize_linear(x, x[0], source=fmt, scale_format=fmt, output_dtype="uint8")


def test_the_oracle_takes_unsigned_formats() -> None:
    # below the range: zero where it saturates, else NaN; what rounds to zero is zero: S2 of P3109's saturation modes
    fmt, finite = p3109(8, 4, "ue"), float_format("u", (3, 2, 3), inf=False, nan=NaNRule.NONE, signed=False)
    half = fmt.smallest_subnormal / 2
    for x, saturated, other in ((-1, 0, 255), ("-inf", 0, 255), (-half, 0, 0), ("-0", 0, 0), (1, 128, 128)):
        assert (reference.encode(x, fmt), reference.encode(x, fmt, saturate=False)) == (saturated, other), x
        assert lp.explain(x, fmt).code == saturated
    assert (reference.encode(-1, finite), reference.encode(-1, finite, saturate=False)) == (0, 0)
    said = lp.explain(-1, fmt)
    assert (said.lower, said.upper, said.midpoint) == (None, (0, reference.Value.of(0)), None)


# ---- equality
def _plans() -> list[Any]:
    fmt, single = p3109(8, 3, "se"), lp.formats["float32"]
    return [
        fmt, lp.formats["float8_e5m2"], lp.float_format("tried", exponent_bits=4, mantissa_bits=3),
        make_plan(single, fmt, cast_rules(single, fmt)),
        make_plan(lp.formats["string"], fmt, cast_rules(single, fmt)),
        quantize_plan(single, single, None, QuantizeOptions(output_dtype=fmt)),
        dequantize_plan(fmt, single, None, QuantizeOptions()),
    ]  # fmt: skip


@pytest.mark.parametrize("index", range(7))
def test_a_copy_is_equal(index: int) -> None:
    one = _plans()[index]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(one, protocol)) == one
    again = [copy.copy(one), copy.deepcopy(one), _plans()[index], copy.deepcopy([one])[0]]
    assert {one, *again} == {one}
    assert len({hash(each) for each in again}) == 1
    assert {other for other in _plans() if other == one} == {one}
    with pytest.raises(AttributeError):
        setattr(one, dataclasses.fields(one)[0].name, None)


def test_a_custom_format_with_the_name_of_a_standard_one() -> None:
    known = lp.formats["float8_e5m2"]
    fmt = _row(name="float8_e5m2", bias=16)
    assert fmt != known
    for again in (pickle.loads(pickle.dumps(fmt)), copy.copy(fmt), copy.deepcopy(fmt)):
        assert (again, again.bias) == (fmt, 16)
    assert pickle.loads(pickle.dumps(known)) is known
    assert lp.encode(np.float32(1.0), fmt) == 0x40
    assert lp.encode(np.float32(1.0), known) == 0x3C


def test_a_format_from_another_process_is_equal() -> None:
    code = "import pickle, sys; from test_format_objects import _plans; sys.stdout.write(pickle.dumps(_plans()).hex())"
    environment = with_support(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert pickle.loads(bytes.fromhex(done.stdout)) == _plans()


def test_threads_make_one_format() -> None:
    made: list[list[Format]] = [[] for _ in range(8)]
    start = threading.Barrier(8)

    def make(own: list[Format]) -> None:
        start.wait()
        own.extend(_row(bias=bias) for bias in range(-40, 40))

    threads = [threading.Thread(target=make, args=(own,)) for own in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(own == made[0] for own in made)


# ---- caches
def test_an_equal_format_finds_the_same_plan() -> None:
    fmt, x = _row(name="found_again", bias=14), np.ones(3, np.float32)
    lp.encode(x, fmt, saturate=False)
    before = vars(cast_plan._resolve)["__wrapped__"].cache_info(), make_program.cache_info()
    for equal in (pickle.loads(pickle.dumps(fmt)), Format(**{**E5M2, "name": "found_again", "bias": 14})):
        known = len(CASTS)
        lp.encode(x, equal, saturate=False)
        assert len(CASTS) == known
        CASTS.clear()  # a call that is found there asks for no plan
        lp.encode(x, equal, saturate=False)
    after = vars(cast_plan._resolve)["__wrapped__"].cache_info(), make_program.cache_info()
    assert after[0].hits == before[0].hits + 2
    assert [info.misses for info in after] == [info.misses for info in before]


def _alive() -> dict[type, int]:
    gc.collect()
    kinds = (Format, Plan, Scaling, Program)
    found = dict.fromkeys(kinds, 0)
    for one in gc.get_objects():
        if type(one) in found:
            found[type(one)] += 1
    found[Program] = make_program.cache_info().currsize  # it is no container that the collector knows
    found[Format] = max(found[Format], len(Format._instances))
    return found


@pytest.mark.slow
def test_formats_made_in_a_loop_do_not_stay() -> None:
    x, api = np.ones(2, np.float32), strict.asarray(np.ones(2, np.float32))
    for number in range(10_000):
        fmt = _row(name=f"passing{number}")
        lp.cast(x, fmt)
        if number % 10 == 0:
            lp.decode(np.ones(2, np.uint8), fmt)
            lp.encode(api, fmt)
            lp.quantize_linear(x, 1.0, output_dtype=fmt)
            lp.dequantize_linear(np.ones(2, np.uint8), 1.0, source=fmt)
    alive = _alive()
    assert alive[Format] <= 4096 + 1024
    assert alive[Plan] <= 3 * 4096
    assert alive[Scaling] <= 2 * 4096
    assert alive[Program] <= 1024
