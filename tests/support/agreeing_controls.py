"""Whether the controls of a page of the explorer show what the page computes, by the link that it offers."""

from __future__ import annotations

import time
from typing import Any

import lowprec as lp
from lowprec.explorer.pages.errors.state import Errors
from lowprec.explorer.pages.errors.view import chosen_preset, presets
from lowprec.explorer.pages.quantize.settings import parse_settings
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.link import read
from lowprec.spec.rounding_modes import ROUNDINGS

from .browser import Visit
from .shown_controls import Control, controls_of, fields_in, link_of

__all__ = ["TENSORS", "agrees", "wrong_in"]

STARTED = ("float4_e2m1fn", "float6_e2m3fn", "float8_e4m3fn", "float8_e5m2")
CAST = {"onnx": "ONNX (Cast)"}
BETWEEN = {name: name.replace("_", " ") for name in ROUNDINGS} | {"same": "the last cast's", "onnx": "by ONNX's Cast"}
LABELS = {
    "start-fmt": {name: name.partition("_")[2].removesuffix("fn") for name in STARTED},
    "rounding-rounding": CAST,
    "compare-rounding": CAST,
    "conversion-rounding": CAST,
    "conversion-via_rounding": BETWEEN,
    "conversion-then_rounding": BETWEEN,
    "arithmetic-show": {"sum": "Sum", "operation": "One operation"},
    "arithmetic-terms": {"ones": "n ones", "value": "n times a value"},
    "arithmetic-factor": {"none": "none: a sum", "value": "a value"},
    "arithmetic-product": {"exact": "not at all", "terms": "to the format of the terms"},
    "arithmetic-op": {
        "add": "add: a + b", "subtract": "subtract: a − b", "fused_multiply_add": "fused multiply add: a × b + c",
    },
    "quantize-origin": {"folder": "checkpoint"},
    "quantize-drawn": {"values": "picture", "errors": "error"},
    "quantize-scheme": {"linear": "ONNX QuantizeLinear", "mx": "OCP MX", "nvfp4": "NVFP4"},
    "quantize-axis": {"-1": "-1 (the last)"},
    "quantize-sweep_formats": {"mxfp4": "MXFP4", "nvfp4": "NVFP4"},
}  # fmt: skip
"""What stands for a value in a control, where that is not the text of a link."""

TENSORS = {"first": (2, 32), "second": (4, 64)}
"""The tensors of a checkpoint that a test makes, and their shapes."""


def of_description(key: str, name: str) -> Any:
    """Return what a control of a part of a described format must show."""
    fmt = format_named(name)
    parts = {
        "exponent_bits": str(fmt.exponent_bits), "mantissa_bits": str(fmt.mantissa_bits), "bias": str(fmt.bias),
        "signed": fmt.signed, "inf": fmt.has_inf, "nan": fmt.nan.value, "zero": fmt.has_zero,
    }  # fmt: skip
    _, kind, part = key.split("-")
    if kind == "parts":
        return parts[part]
    width, precision, signed, extended = fmt.bits, fmt.mantissa_bits + 1, fmt.signed, fmt.has_inf
    try:
        lp.as_format(f"binary{width}p{precision}{'su'[not signed]}{'ef'[not extended]}")
    except ValueError:
        width, precision, signed, extended = 8, 3, True, True  # IEEE P3109 has no such format
    return {
        "width": str(width), "precision": str(precision), "signed": "signed" if signed else "unsigned",
        "extended": "extended: with Inf" if extended else "finite",
    }[part]  # fmt: skip


def of_setting(field: str, compared: list[str]) -> str:
    """Return what a control in the menu of a setting of Quantize must show."""
    _, place, name, *_ = field.split("-")
    settings = parse_settings(compared[int(place)])
    return {"text": compared[int(place)], "block": str(settings.block_size), "rule": settings.scale_rule}[name]


def expected(control: Control, link: dict[str, str]) -> Any:
    """Return what a control must show by the link that the page offers."""
    page, _, field = control.key.partition("-")
    if field.startswith("setting-"):
        return of_setting(field, link["compared"].split(";"))
    if "-" in field:
        return of_description(control.key, link["fmt"])
    if (page, field) == ("errors", "range"):
        chosen = chosen_preset(presets([format_named(name) for name in read(Errors, link)[0].fmts]), link)
        return chosen.label if chosen else f"{link['low'][:12]} to {link['high'][:12]}"
    value, labels = link[field], LABELS.get(control.key, {})
    if control.kind == "stCheckbox":
        return value == "1"
    if control.kind == "stMultiSelect":
        return [labels.get(part, part) for part in value.split(";" if field == "compared" else ",") if part]
    if control.kind == "stNumberInput":
        return f"{float(value):g}"
    if control.kind == "stRadio":
        return None if value == "none" else value
    if (page, field) == ("quantize", "tensor"):
        name = value or "first"
        rows, columns = TENSORS[name]
        return f"{name}  ({rows} × {columns}, float32)"
    return labels.get(value, value)


def wrong_in(visit: Visit) -> list[str]:
    """Return what a page shows that is not what it computes."""
    found: list[str] = []
    for _ in range(50):
        link, found = link_of(visit), []
        if link is None and visit.page.locator("[data-testid=stCode]").count():
            found.append("the page offers code and no link")
        for control in controls_of(visit) if link else []:
            if control.kind == "stButton":
                continue
            value = expected(control, link or {})
            if control.key.endswith("-overflow") and value == "default":
                is_right = str(control.shown).startswith("default: ")
            else:
                is_right = control.shown == value
            if not is_right:
                found.append(f"{control.key} shows {control.shown!r}, the page computes {value!r}")
        if link and not visit.page.locator("[data-testid=stAlertContentError]").count():
            asked = fields_in(visit.page.url)
            asked.pop("example", None)  # which one was opened; no control has it
            found += [f"the address has {name}={asked[name]}" for name in asked if asked[name] != link.get(name)]
        if not found:
            break
        time.sleep(0.1)
    return found


def agrees(visit: Visit, address: str = "") -> None:
    """Check that every control shows what the page computes; after every action, whose field the address then has."""
    if address:
        visit.address_has(address)
    found = wrong_in(visit)
    assert not found, found
