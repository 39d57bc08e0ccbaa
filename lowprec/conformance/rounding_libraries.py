"""Rounding modes and scale rules of libraries: pychop, APyTypes and torchao, and those of gfloat and lowprec."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..ops.blocks import mx_quantize
from ..ops.codes import encode
from ..reference.array_cast import Codes
from ..reference.philox import random_words
from ..spec.formats import Format, NaNRule, as_format
from .cases import Call
from .library import Declined, Library
from .rounding_cases import ENCODE, SCALE, mx_elements

__all__ = ["Apytypes", "Pychop", "Torchao", "gfloat_codes", "lowprec_codes"]

_BLOCK = 32
_SEED = 0


def _numbers(call: Call, operator: str = ENCODE) -> Codes:
    """Return the float32 input of a call, or decline another operator."""
    if call.operator != operator or call.inputs[0] is None:
        raise Declined(call.operator)
    return call.inputs[0].array


def _blocks(call: Call) -> Codes:
    """Return blocks whose largest magnitudes are the inputs; the other elements are 0."""
    largest = _numbers(call, SCALE)
    return np.concatenate([largest[:, None], np.zeros((largest.size, _BLOCK - 1), np.float32)], axis=1)


def lowprec_codes(call: Call) -> Any:
    """Return what lowprec gives; where a random number is wanted, x is put where a stream has it."""
    options = dict(call.attributes)
    if call.operator == SCALE:
        _, scales = mx_quantize(_blocks(call), options.pop("element"), block_size=_BLOCK, **options)
        return scales[:, 0]
    x = _numbers(call)
    random = options.pop("random", None)
    if random is None:
        return encode(x, call.target, **options).view(call.target.dtype)
    bits = options["random_bits"]
    drawn = random_words(_SEED, 0, (8 + 2 * x.size) << bits, bits)
    places = np.flatnonzero(drawn == random)[: x.size]
    spread = np.zeros(drawn.shape, x.dtype)
    spread[places] = x
    return encode(spread, call.target, seed=_SEED, **options)[places].view(call.target.dtype)


def gfloat_codes(gfloat: Any, info: Any, call: Call) -> Codes:
    """Return what gfloat gives; `info` is its description of the target."""
    if call.operator == SCALE:
        if call.attributes["scale_rule"] != "floor":
            raise Declined("a scale rule")
        emax = int(np.frexp(float(as_format(call.attributes["element"]).max))[1]) - 1
        scales = [gfloat.compute_scale_amax(emax, block) for block in _blocks(call).astype(np.float64)]
        codes: Codes = gfloat.encode_ndarray(info, np.array(scales)).astype(np.uint8)
        return codes
    mode = gfloat.RoundMode
    modes = {
        "nearest_even": mode.TiesToEven, "nearest_away": mode.TiesToAway, "toward_zero": mode.TowardZero,
        "toward_positive": mode.TowardPositive, "toward_negative": mode.TowardNegative,
        "stochastic_a": mode.StochasticFastest, "stochastic_b": mode.StochasticFast, "stochastic_c": mode.Stochastic,
    }  # fmt: skip
    x, options = _numbers(call).astype(np.float64), call.attributes
    overflow = options.get("overflow", "sat_finite")
    if options["rounding"] not in modes or overflow == "sat_propagate":
        raise Declined("a rule")
    random = {}
    if "random" in options:
        random = {"srbits": np.full(x.shape, options["random"]), "srnumbits": options["random_bits"]}
    rounded = gfloat.round_ndarray(info, x, modes[options["rounding"]], sat=overflow == "sat_finite", **random)
    found: Codes = gfloat.encode_ndarray(info, rounded).astype(call.target.code_dtype)
    return found


class Pychop(Library):
    """pychop's formats of IEEE P3109."""

    title = package = "pychop"
    remark = "`p3109_encode`; formats of IEEE P3109 alone, with one NaN"

    def __init__(self) -> None:
        self._p3109: Any = importlib.import_module("pychop.p3109")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the codes of `p3109_encode`."""
        x, options = _numbers(call), call.attributes
        named = re.fullmatch(r"binary(\d+)p(\d+)([su])([ef])", call.target.name)
        if named is None:
            raise Declined(call.target.name)
        width, precision, sign, domain = named.groups()
        fmt = self._p3109.P3109Format(int(width), int(precision), sign == "s", {"e": "extended", "f": "finite"}[domain])
        saturate = {"sat_finite": "finite", "sat_propagate": "propagate", "ovf_inf": "none"}
        random = {"srbits": options["random"], "srnumbits": options["random_bits"]} if "random" in options else {}
        rule = saturate[options.get("overflow", "sat_finite")]
        yield self._p3109.p3109_encode(x, fmt, rounding=options["rounding"], saturate=rule, **random)


class Apytypes(Library):
    """APyTypes' floating-point arrays: formats as IEEE's, whose overflow is Inf."""

    title, package = "APyTypes", "apytypes"
    remark = (
        "`APyFloatArray.cast`; formats with Inf as IEEE's alone, overflow as `ovf_inf`; `to_odd` is its JAM_UNBIASED"
    )

    def __init__(self) -> None:
        self._apytypes: Any = importlib.import_module("apytypes")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the bits of the cast array."""
        x, target = _numbers(call), call.target
        mode = self._apytypes.QuantizationMode
        modes = {
            "nearest_even": mode.TIES_EVEN, "nearest_away": mode.TIES_AWAY, "nearest_zero": mode.TIES_ZERO,
            "toward_zero": mode.TO_ZERO, "away_from_zero": mode.TO_AWAY, "toward_positive": mode.TO_POS,
            "toward_negative": mode.TO_NEG, "to_odd": mode.JAM_UNBIASED,
        }  # fmt: skip
        rounding = call.attributes["rounding"]
        if not _is_ieee(target) or rounding not in modes or call.attributes.get("overflow", "ovf_inf") != "ovf_inf":
            raise Declined("a format or a rule")
        single = self._apytypes.APyFloatArray.from_bits(x.view(np.uint32).astype(np.uint64), 8, 23)
        found = single.cast(target.exponent_bits, target.mantissa_bits, quantization=modes[rounding])
        yield np.asarray(found.to_bits(numpy=True)).astype(target.code_dtype)


def _is_ieee(fmt: Format) -> bool:
    return fmt.signed and fmt.has_inf and fmt.nan is NaNRule.IEEE and fmt.bias == 2 ** (fmt.exponent_bits - 1) - 1


class Torchao(Library):
    """torchao's `to_mx`, on the CPU."""

    title = package = "torchao"
    remark = "`to_mx` on the CPU, not compiled"

    def __init__(self) -> None:
        logging.getLogger("torchao").setLevel(logging.ERROR)  # that its libraries for GPUs do not load
        self._mx: Any = importlib.import_module("torchao.prototype.mx_formats.mx_tensor")
        self._rules: Any = importlib.import_module("torchao.prototype.mx_formats.config").ScaleCalculationMode
        self._torch: Any = importlib.import_module("torch")

    def _element(self, fmt: Format) -> Any:
        """Return its name of an element format: a dtype of torch, of packed pairs below 6 bits; a text for 6 bits."""
        if fmt.bits == 6:
            return f"fp6_e{fmt.exponent_bits}m{fmt.mantissa_bits}"
        return getattr(self._torch, fmt.torch_name or f"{fmt.name}_x2")

    def results(self, call: Call) -> Iterator[Codes]:
        """Yield the scales of blocks."""
        blocks = self._torch.from_numpy(_blocks(call))
        rule = self._rules(call.attributes["scale_rule"])
        element = as_format(call.attributes["element"])
        assert element in mx_elements()
        scales, _ = self._mx.to_mx(blocks, self._element(element), _BLOCK, rule)
        yield scales.view(self._torch.uint8).numpy()[:, 0]
