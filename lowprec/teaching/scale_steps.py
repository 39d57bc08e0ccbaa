"""How the largest magnitude of a block became its scale, step by step: MX by each rule, NVFP4, QuantizeLinear."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..reference.exact_blocks import MXINT8_LARGEST, floor_log2, mx_exponent, nvfp4_scale, rounded_to_bits
from ..reference.exact_cast import encode
from ..reference.exact_quantize import product, quotient, rounded
from ..reference.values import Value, decode, finite_count, magnitude_of
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT32, INT8, Kind, as_format
from ..spec.scale_rules import ScaleRuleName

__all__ = ["ScaleStep", "linear_scale_steps", "mx_scale_steps", "nvfp4_scale_steps"]

_EXPONENTS = -127, 127
"""Of the scales of MX."""


@dataclass(frozen=True, slots=True)
class ScaleStep:
    """One step from the largest magnitude of a block to its scale.

    Attributes
    ----------
    symbol : str
        What later formulas call it.
    formula : str
        How it is computed from what came before, or what it is.
    value : Value
        The number.
    """

    symbol: str
    formula: str
    value: Value

    def __str__(self) -> str:
        return f"{self.symbol} = {self.formula} = {self.value}"


def _first(largest: object) -> ScaleStep:
    value = Value.of(largest, parameter="largest")
    if value.special or value.negative:
        raise ValueError(f"`largest` must be a finite number from 0 up; got {value}")
    return ScaleStep("a", "the largest finite |x|", value)


def mx_scale_steps(
    largest: object, element: object = FLOAT4_E2M1FN, scale_rule: ScaleRuleName = "floor"
) -> tuple[ScaleStep, ...]:
    """Return the steps by which a rule makes the scale of an MX block of its largest finite magnitude.

    Parameters
    ----------
    largest : number or text
        The largest finite magnitude; 0 where the block has zeros alone.
    element : str, int, dtype or Format
        The format of the elements, as in `lowprec.mx_quantize`.
    scale_rule : {"floor", "ceil", "rceil", "even", "nearest"}
        The rule.

    Returns
    -------
    tuple of ScaleStep
        The first is the largest magnitude, the last the scale.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Notes
    -----
    Source: as `lowprec.mx_quantize`.

    Examples
    --------
    >>> for step in mx_scale_steps("7.5", "float4_e2m1fn", "even"):
    ...     print(step)
    a = the largest finite |x| = 7.5
    M = the largest value of the elements = 6
    emax = floor(log2 M) = 2
    a' = a rounded to 1 bit after the point, ties away = 8
    E = floor(log2 a') - emax = 1
    s = 2^E = 2
    """
    fmt, first = as_format(element, parameter="element"), _first(largest)
    end = MXINT8_LARGEST if fmt == INT8 else magnitude_of(finite_count(fmt) - 1, fmt)
    steps = [
        first,
        ScaleStep("M", "the largest value of the elements", Value.of(end)),
        ScaleStep("emax", "floor(log2 M)", Value.of(floor_log2(end))),
    ]
    a = first.value.magnitude
    formula = {
        "floor": "floor(log2 a) - emax",
        "ceil": "ceil(log2 a) - emax",
        "rceil": "ceil(log2(a / M))",
        "even": "floor(log2 a') - emax",
        "nearest": "floor(log2 a + 1/2) - emax",
    }
    exponent = mx_exponent(a or Fraction(1), fmt, scale_rule)  # which checks the rule
    if not a:
        return (*steps, ScaleStep("s", "code 00, since all are zeros,", decode(0, FLOAT8_E8M0FNU)))
    if scale_rule == "even":
        bits = 6 if fmt == INT8 else fmt.mantissa_bits
        text = f"a rounded to {bits} bit{'s' * (bits != 1)} after the point, ties away"
        steps.append(ScaleStep("a'", text, Value.of(rounded_to_bits(a, bits))))
    steps.append(ScaleStep("E", formula[scale_rule], Value.of(exponent)))
    low, high = _EXPONENTS
    if not low <= exponent <= high:
        exponent = max(low, min(high, exponent))
        steps.append(ScaleStep("E", f"that, kept from {low} to {high},", Value.of(exponent)))
    return (*steps, ScaleStep("s", "2^E", Value(Fraction(2) ** exponent)))


def nvfp4_scale_steps(largest: object, global_scale: object) -> tuple[ScaleStep, ...]:
    """Return the steps by which NVFP4 makes the scale of a block of its largest finite magnitude.

    Parameters
    ----------
    largest : number or text
        The largest finite magnitude of the block, a float32.
    global_scale : number or text
        That of the tensor, a float32.

    Returns
    -------
    tuple of ScaleStep
        The first is the largest magnitude, the last what the elements are divided by.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Notes
    -----
    Source: as `lowprec.nvfp4_quantize`, with its own rule.

    Examples
    --------
    >>> for step in nvfp4_scale_steps(3, 0.25):
    ...     print(step)
    a = the largest finite |x| = 3
    M = the largest value of the elements = 6
    g = the global scale of the tensor = 0.25
    q = (a / M) / g, in float32, = 2
    s = q in float8_e4m3fn = 2
    f = g * s, in float32, = 0.5
    """
    first, factor = _first(largest), rounded(Value.of(global_scale, parameter="global_scale"), FLOAT32)
    end = Value(magnitude_of(finite_count(FLOAT4_E2M1FN) - 1, FLOAT4_E2M1FN))
    wanted = rounded(quotient(rounded(quotient(first.value, end), FLOAT32), factor), FLOAT32)
    scale = decode(nvfp4_scale(first.value, factor), FLOAT8_E4M3FN)
    formula = f"q in {FLOAT8_E4M3FN.name}"
    beyond = wanted.special or wanted.magnitude > magnitude_of(finite_count(FLOAT8_E4M3FN) - 1, FLOAT8_E4M3FN)
    if beyond or scale.magnitude != rounded(wanted, FLOAT8_E4M3FN).magnitude:
        formula += ", kept between its ends,"
    return (
        first,
        ScaleStep("M", "the largest value of the elements", end),
        ScaleStep("g", "the global scale of the tensor", factor),
        ScaleStep("q", "(a / M) / g, in float32,", wanted),
        ScaleStep("s", formula, scale),
        ScaleStep("f", "g * s, in float32,", rounded(product(scale, factor), FLOAT32)),
    )


def linear_scale_steps(largest: object, target: object, scale_format: object = FLOAT32) -> tuple[ScaleStep, ...]:
    """Return the steps by which a scale for QuantizeLinear takes the largest magnitude to the largest value.

    Parameters
    ----------
    largest : number or text
        The largest finite magnitude.
    target : str, int, dtype or Format
        The format of the codes.
    scale_format : str, int, dtype or Format
        A float format with a zero; scales in float8_e8m0fnu follow `mx_scale_steps`.

    Returns
    -------
    tuple of ScaleStep
        The first is the largest magnitude, the last the scale.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Notes
    -----
    Source: as `lowprec.absmax_scale`.

    Examples
    --------
    >>> for step in linear_scale_steps(9, "int4", "float16"):
    ...     print(step)
    a = the largest finite |x| = 9
    M = the largest value of int4 = 7
    q = a / M = 9/7
    s = q in float16 = 1.2861328125
    """
    fmt, kept, first = as_format(target, parameter="target"), as_format(scale_format), _first(largest)
    if not kept.has_zero:
        raise ValueError(f"`scale_format` must have a zero; got {kept.name}")
    end = fmt.max if fmt.kind is Kind.INT else magnitude_of(finite_count(fmt) - 1, fmt)
    steps = (first, ScaleStep("M", f"the largest value of {fmt.name}", Value.of(Fraction(end))))
    if not first.value.magnitude:
        return (*steps, ScaleStep("s", "one, since all are zeros,", Value.of(1)))
    wanted = quotient(first.value, steps[1].value)
    scale = decode(encode(wanted, kept), kept)
    formula = f"q in {kept.name}"
    if scale.special or not scale.magnitude:
        scale = Value(magnitude_of(1 if not scale.special else finite_count(kept) - 1, kept))
        formula += ", kept between its ends,"
    return (*steps, ScaleStep("q", "a / M", wanted), ScaleStep("s", formula, scale))
