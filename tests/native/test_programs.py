"""Programs: the parameters that loops share have one layout, and equal programs are equal."""

from __future__ import annotations

import importlib

import pytest
from support.cuda_on_cpu import casts, quantizations, roundings
from support.custom_formats import float_format

from lowprec import _kernels
from lowprec._kernels import Program
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.spec.formats import FORMATS, NUMERIC, Format, NaNRule
from lowprec.spec.operator_versions import cast_rules


def _made_again(source: Format, target: Format) -> Program:
    return make_program.__wrapped__(make_plan(source, target, cast_rules(source, target)))


@pytest.mark.parametrize("target", NUMERIC, ids=lambda fmt: fmt.name)
def test_equal_programs_are_equal(target: Format) -> None:
    others = set()
    for source in NUMERIC:
        first, second = _made_again(source, target), _made_again(source, target)
        assert first is not second
        assert first.params == second.params
        assert first == second
        assert hash(first) == hash(second)
        others.add((first.names, first.src_bits, first.params))
    assert len(others) > 10  # there is something to tell apart


def test_programs_that_differ() -> None:
    known = Program(("encode8",), 32, 8, {"clamp": 5, "target_mask": 2**64 - 1})
    assert known == Program(("encode8",), 32, 8, {"target_mask": 2**64 - 1, "clamp": 5})
    for other in (
        Program(("decode8",), 32, 8, {"clamp": 5, "target_mask": 2**64 - 1}),
        Program(("encode8",), 16, 8, {"clamp": 5, "target_mask": 2**64 - 1}),
        Program(("encode8",), 32, 6, {"clamp": 5, "target_mask": 2**64 - 1}),
        Program(("encode8",), 32, 8, {"clamp": 6, "target_mask": 2**64 - 1}),
        ("encode8",),
    ):
        assert known != other


def test_parameters_are_fields_of_the_struct() -> None:
    """A name that no loop reads would be a zero in the field that was meant."""
    with pytest.raises(ValueError, match=r"^`params` must be fields of params_t; got \['clmap'\]$"):
        Program(("encode8",), 32, 8, {"clmap": 5})


def test_a_program_names_loops_of_the_table() -> None:
    with pytest.raises(KeyError, match="encode9"):
        Program(("encode9",), 32, 8, {})
    with pytest.raises(ValueError, match="`names` must be 1 to 10 loops; got 11"):
        Program(("byteswap16",) * 11, 16, 16, {})


def test_every_loop_belongs_to_a_program() -> None:
    """No loop of the tables is compiled for nothing, and programs name no other."""
    tier = importlib.import_module(f"lowprec._native.tier_{_kernels.isa()}")
    used = {loop for conversion in (*casts(), *quantizations(), *roundings()) for loop in conversion.loops}
    for nan, inf in ((NaNRule.IEEE, True), (NaNRule.ALL_ONES, False)):  # of 16 bits, and no format of ONNX
        fmt = float_format("e6m9", (6, 9, 31), nan=nan, inf=inf)
        used |= {*_made_again(fmt, FORMATS["float32"]).names, *_made_again(FORMATS["float32"], fmt).names}
    ends = {f"{name}{bits}" for name in ("pack", "unpack") for bits in (2, 4, 6)}
    ends |= {f"byteswap{bits}" for bits in (16, 32, 64)}
    assert used | ends == {*tier.LOOPS, *tier.SCALE_LOOPS, *tier.RANDOM_LOOPS}
