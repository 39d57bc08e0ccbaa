"""What NaN, Inf, overflow and zero become: ONNX's rule as limits."""

from __future__ import annotations

import pytest

import lowprec as lp
from lowprec.spec.formats import NUMERIC
from lowprec.spec.special_values import onnx_limits


@pytest.mark.parametrize("inf_is_nan", [False, True])
@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.is_float], ids=lambda fmt: fmt.name)
def test_codes_of_both_signs_differ_by_the_sign_alone(fmt: lp.Format, saturate: bool, inf_is_nan: bool) -> None:
    """Kernels of ONNX's rule take a magnitude and add the sign."""
    limits = onnx_limits(fmt, saturate, inf_is_nan)
    for positive, negative in (limits.overflow, limits.infinity):
        assert negative == positive | fmt.sign_mask


def test_inf_becomes_nan_in_fnuz_formats_where_the_opset_says_so() -> None:
    fnuz, e4m3fn = lp.formats["float8_e4m3fnuz"], lp.formats["float8_e4m3fn"]
    assert onnx_limits(fnuz, True, True).infinity == (0x80, 0x80)
    assert onnx_limits(fnuz, True, False).infinity == (0x7F, 0xFF)
    assert onnx_limits(e4m3fn, True, True).infinity == (0x7E, 0xFE)
    assert onnx_limits(e4m3fn, False, True).overflow == (0x7F, 0xFF)
