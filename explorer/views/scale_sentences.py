"""One sentence or two on how the scales of settings are chosen."""

from __future__ import annotations

from .scales import LINEAR, MX, MX_FORMATS, NVFP4, Settings

__all__ = ["scale_sentences"]

_OF_OCP = 6
"""The first of `MX_FORMATS` are those of OCP MX 1.0."""

_BLOCK_OF_OCP = 32

_FORMULAS = {
    "floor": "⌊log₂ a⌋ − emax",
    "ceil": "⌈log₂ a⌉ − emax",
    "rceil": "⌈log₂(a / M)⌉",
    "even": "⌊log₂ a′⌋ − emax",
    "nearest": "⌊log₂ a + ½⌋ − emax",
}
_WITHOUT_OVERFLOW = ("ceil", "rceil")
_LETTERS = {
    "a": "a is the largest |x| that shares the scale",
    "′": "a′ is a rounded to the significant bits of the format, ties away from zero",
    "emax": "2^emax is the largest power of two of the format",
    "M": "M is the largest value of the format",
}


def _power(rule: str) -> str:
    formula = _FORMULAS[rule]
    letters = ", ".join(meaning for letter, meaning in _LETTERS.items() if letter in formula)
    sentence = f"Each scale is 2^E by the rule {rule}: E = {formula}, where {letters}."
    return f"{sentence} While E is at most 127, nothing saturates." if rule in _WITHOUT_OVERFLOW else sentence


def scale_sentences(settings: Settings) -> str:
    """Return how the scales are chosen, and the zero points where there are some."""
    if settings.scheme == NVFP4:
        return (
            "Each scale is (a / 6) / g in float8_e4m3fn, where a is the largest |x| of the block and "
            "g, the global scale, the largest |x| of the tensor over 6 · 448, in float32."
        )
    if settings.scheme == MX:
        sentences = [_power(settings.scale_rule)]
        if settings.fmt not in MX_FORMATS[:_OF_OCP]:
            sentences.append(f"OCP MX 1.0 has no elements in {settings.fmt.name}.")
        if settings.block_size != _BLOCK_OF_OCP:
            sentences.append(f"OCP MX 1.0 has blocks of {_BLOCK_OF_OCP}.")
        return " ".join(sentences)
    assert settings.scheme == LINEAR
    if settings.has_zero_point:
        ends = "Each scale and zero point map the smallest and the largest x to the ends of the format."
        if settings.scale_format.has_zero:
            return ends
        return f"{ends} The scale is then rounded to a power of two by the round_mode {settings.round_mode}."
    if not settings.scale_format.has_zero:
        return _power(settings.scale_rule if settings.has_scale_rule else "floor")
    return "Each scale maps the largest |x| to the largest value of the format."
