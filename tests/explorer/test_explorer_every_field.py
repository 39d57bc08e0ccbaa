"""Every field of every page's link reaches what the page shows: another value, another text, picture or chart."""

from __future__ import annotations

import dataclasses
import functools
import re
from urllib.parse import parse_qsl

import pytest
from support.explorer_pages import charts, healthy, page, sent, texts

from lowprec.explorer.pages import STATES

pytestmark = pytest.mark.slow

SMALL = "origin=sampled&rows=6&columns=40"
FIELDS = {
    ("start", ""): "x=1 fmt=float8_e4m3fn",
    ("exercises", ""): "seed=1 number=5",
    ("anatomy codes", ""): "fmt=float8_e5m2 at=0x2b show=exact",
    ("rounding line", "x=465"): "x=300 fmt=float8_e5m2 saturate=0 line=binades rounding=toward_zero hand=2",
    ("rounding", "x=inf&fmt=float8_e4m3fnuz"): "opset=23",
    ("rounding", "x=465&rounding=to_odd"): "overflow=ovf_inf",
    ("errors", "fmts=float8_e4m3fn&low=1&high=1000"):
        "fmts=float8_e5m2 low=2 high=500 measure=relative scale=log roundings=toward_zero saturate=0 x=2",
    ("errors", "fmts=float8_e8m0fnu&low=1&high=20&x=3"): "round_mode=down",
    ("errors", "fmts=float8_e4m3fn&low=1&high=1000&roundings=to_odd"): "overflow=ovf_inf",
    ("compare casts", "fmts=float8_e4m3fn,float8_e5m2,int8&x=465"):
        "fmts=float16,int8 x=0.7 saturate=0 rounding=toward_zero pair=int8,float8_e5m2",
    ("compare", "fmts=float8_e8m0fnu&x=3"): "round_mode=down",
    ("compare casts", "fmts=float8_e4m3fnuz&x=inf"): "opset=23",
    ("compare casts", "fmts=float8_e4m3fn&x=465&rounding=to_odd"): "overflow=ovf_inf",
    ("saturation tables", "x=465&fmts=binary8p3se"):
        "saturate=0 opset=23 x=300 fmts=tf32 rounding=toward_zero overflow=ovf_inf nan=zero",
    ("conversion", "at=465"):
        "source=float16 at=0.3 target=float8_e5m2 saturate=0 rounding=toward_zero packed=int2 codes=1+1 via=float16",
    ("conversion", "target=float8_e8m0fnu&at=3"): "round_mode=down",
    ("conversion", "target=float8_e4m3fnuz&at=inf"): "opset=23",
    ("conversion", "at=465&rounding=to_odd"): "overflow=ovf_inf",
    ("conversion", "source=float64&at=1.0039063&via=float32&target=bfloat16"): "then=float16 via_rounding=to_odd",
    ("conversion", "source=float64&at=1.0039063&via=float32&then=float16&target=bfloat16"): "then_rounding=to_odd",
    ("arithmetic", "n=300"): "show=operation n=200 terms=count factor=terms method=pairwise runs=0 step=3 seed=1",
    ("arithmetic", "terms=value&n=5"): "fmt=float8_e4m3fn source=float16 value=0.2 rounding=toward_zero",
    ("arithmetic", "terms=value&value=240&n=3&fmt=float8_e4m3fn&source=float8_e4m3fn"): "overflow=ovf_inf",
    ("arithmetic", "terms=typed"): "typed=1+2",
    ("arithmetic", "terms=normal&n=9"): "sample=1",
    ("arithmetic", "factor=value&n=9"): "by=0.3",
    ("arithmetic", "terms=typed&typed=1+2&factor=typed&factors=1+2"): "factors=3+4",
    ("arithmetic", "terms=value&value=0.3&n=5&factor=terms"): "product=terms",
    ("arithmetic", "show=operation"): "fmt=float8_e4m3fn op=subtract a=255 b=2 rounding=toward_zero",
    ("arithmetic", "show=operation&op=fused_multiply_add"): "c=2",
    ("arithmetic", "show=operation&rounding=stochastic"): "seed=1",
    ("arithmetic", "show=operation&fmt=float8_e4m3fn&a=240&b=240"): "overflow=ovf_inf",
    ("describe codes", ""): "fmt=e3m2 at=2",
    ("quantize", f"{SMALL}&show=result"):
        "origin=typed distribution=student-t rows=7 columns=41 spread=2 seed=1 fmt=int8 per=axis axis=0 block=16 "
        "scale=float16 scheme=mx rounding=toward_zero show=block",
    ("quantize", f"{SMALL}&show=result&fmt=uint8&scale=float8_e8m0fnu&zero_point=1"): "round_mode=down zero_point=0",
    ("quantize", "origin=typed&x=7.9+1&show=result&fmt=float8_e4m3fn&per=tensor&scale=float8_e8m0fnu"):
        "saturate=0 x=3+1 scale_rule=ceil",
    ("quantize", f"{SMALL}&show=result&scheme=mx&rounding=stochastic"): "rounding_seed=1",
    ("quantize", f"{SMALL}&show=side-by-side"): "compared=nvfp4",
    ("quantize", f"{SMALL}&show=sweep"): "sweep_formats=nvfp4 sweep_rules=even",
    ("quantize", f"{SMALL}&show=block&scheme=mx"): "block_index=1 without_largest=1",
    ("quantize", ""): "at=15,20 drawn=errors",
    ("quantize", "show=bytes"): "layout=NVFP4",
    ("quantize", "show=product"): "inputs=identity inputs_seed=1",
}  # fmt: skip
"""By page, what is opened in it, and link: fields with another value."""

CASES = [(*key, one) for key, changes in FIELDS.items() for one in changes.split()]
ELSEWHERE = {"quantize": {"tensor", "folder", "opset"}}
"""A file's tensors are read in test_quantize_checkpoint.py; an opset of Quantize changes refusals alone."""

OF_LINKS = re.compile(r' (?:href|data-set|data-sort|aria-pressed)="[^"]*"')


@functools.cache
def shown(where: str, query: str) -> str:
    """Return the texts, pictures and charts of a page; not its links, and not what it offers to copy."""
    path, *opened = where.split()
    test = healthy(page(path, *opened, **dict(parse_qsl(query))))
    drawn = [str(one["drawings"]) for one in sent(test, "picture")]
    said = [f"{one.label} {one.value}" for one in test.metric] + [one.value for one in test.caption]
    return OF_LINKS.sub("", "\n".join([texts(test), *drawn, *charts(test), *said]).replace("\\", ""))


@pytest.mark.parametrize(("where", "query", "change"), CASES, ids=[f"{path}-{change}" for path, _, change in CASES])
def test_another_value_shows_something_else(where: str, query: str, change: str) -> None:
    field = change.partition("=")[0]
    rest = "&".join(part for part in query.split("&") if part and not part.startswith(f"{field}="))
    assert shown(where, query) != shown(where, f"{rest}&{change}".lstrip("&"))


def test_every_field_is_tried() -> None:
    tried = {(where.split()[0], change.partition("=")[0]) for where, _, change in CASES}
    fields = {(path, field.name) for path, state in STATES.items() for field in dataclasses.fields(state)}
    assert fields - tried == {(path, name) for path, names in ELSEWHERE.items() for name in names}
