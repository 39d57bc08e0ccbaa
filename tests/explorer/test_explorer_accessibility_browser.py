"""Every page and every part of it in light, and in dark on a phone: no violation, nothing wider than the screen.

Both colours and both widths are looked at, each link twice: no colour depends on the width.
"""

from __future__ import annotations

import itertools
from urllib.parse import parse_qsl

import pytest
from support.browser import Visit

from lowprec.explorer.pages import STATES
from lowprec.explorer.shared.link import query_text, read, write

E4M3 = "e4m3,bias=8,inf=0,nan=negative-zero"
LINKS = {
    "start": [""],
    "anatomy": ["", "fmt=float64&at=1e400"],
    "rounding": ["x=300&fmt=int8", f"x=-0.3&fmt={E4M3}&rounding=to_odd&overflow=ovf_inf", ""],
    "errors": ["", "fmts=float8_e4m3fn,float16&roundings=onnx,stochastic_b&low=0.5&high=4"],
    "saturation": ["", f"fmts=tf32,{E4M3}"],
    "compare": [
        "fmts=float8_e4m3fn,float8_e4m3fnuz&x=300", f"fmts=float16,{E4M3},binary8p3se&rounding=toward_zero", "",
    ],
    "conversion": ["", "source=float64&at=1.0039063&target=bfloat16&via=float32"],
    "arithmetic": ["n=300", "show=operation&rounding=stochastic", ""],
    "quantize": ["", "show=result&scheme=mx&fmt=int8", "drawn=errors&origin=sampled"],
    "quantize sections": [
        "show=side-by-side", "show=sweep&origin=sampled&distribution=student-t",
        "show=block&origin=sampled&scheme=mx&without_largest=1&distribution=outliers",
    ],
    "describe": ["", "fmt=tf32&at=0.3"],
    "exercises": ["", "seed=3&number=5"],
}  # fmt: skip
WIDE = """() => Math.max(...['html', '[data-testid=stMain]'].map(name => document.querySelector(name).scrollWidth),
    ...[...document.querySelectorAll('.lp-card, .lp-loss, .lp-fact-table, .lp-zoom')]
        .map(part => Math.floor(part.getBoundingClientRect().right)))"""
VIEWS = {"light": {}, "dark-phone": {"dark": True, "phone": True}}


def test_every_page_is_looked_at() -> None:
    assert {name.split()[0] for name in LINKS} == set(STATES)


CASES = [pytest.param(name, view, id=f"{name}-{look}") for name in LINKS for look, view in VIEWS.items()]


@pytest.mark.parametrize(("name", "turning"), CASES, indirect=["turning"])
def test_every_page_fits_and_is_accessible(turning: Visit, name: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    path, visit, page = name.split()[0], turning, turning.page
    width = page.viewport_size["width"]
    page.set_viewport_size({"width": width, "height": 8000})  # axe sees no colours out of view
    for query in LINKS[name]:
        state, problems = read(STATES[path], dict(parse_qsl(query)))
        assert problems == ()
        visit.turn_to(f"{path}?{query_text(write(state))}")
        visit.settle()
        assert page.evaluate(WIDE) <= width, query
        assert page.locator("[data-testid=stException]").count() == 0
        levels = page.locator("h1, h2, h3, h4").evaluate_all("found => found.map(one => Number(one.tagName[1]))")
        assert levels[0] == 1
        assert max((after - before for before, after in itertools.pairwise(levels)), default=0) <= 1
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        wrong = [(rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in found]
        assert (query, wrong) == (query, [])
