"""The explorer's links, colours and files: any query string is read, any state comes back, texts stand out."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")

import jinja2
from hypothesis import given
from hypothesis import strategies as st
from support.explorer_states import STATES as SHOWN

from lowprec import explorer
from lowprec.explorer import pages
from lowprec.explorer.pages.compare import state as compare_state
from lowprec.explorer.pages.errors import state as errors_state
from lowprec.explorer.pages.exercises.exercises import COUNT, task
from lowprec.explorer.pages.quantize import state as quantize_state
from lowprec.explorer.pages.rounding import state as rounding_state
from lowprec.explorer.pages.saturation import state as saturation_state
from lowprec.explorer.pages.start.examples import EXAMPLES
from lowprec.explorer.shared import html, link, theme
from lowprec.explorer.shared.glossary import GLOSSARY

FOLDER = Path(explorer.__file__).parent  # type: ignore[attr-defined]
STATES = tuple(pages.STATES.values())
NAMES = sorted({field.name for cls in STATES for field in dataclasses.fields(cls)})
TEXTS = st.text(max_size=30) | st.sampled_from(
    ["", "0x7e", "1", "0", "28", "nan", "inf", "1e400", "-1", "float4_e2m1fn", ","]
)


def test_every_page_has_a_state_and_a_script() -> None:
    paths = [page.path for page in pages.PAGES]
    assert paths[0] == "start"
    assert paths == list(pages.STATES)
    assert [cls.__name__.lower() for cls in STATES] == paths
    assert {path.parent.name for path in (FOLDER / "pages").glob("*/page.py")} == set(paths)


@pytest.mark.parametrize("cls", STATES)
def test_the_default_comes_back(cls: type) -> None:
    assert link.read(cls, {}) == (cls(), ())
    assert link.read(cls, link.write(cls())) == (cls(), ())


@pytest.mark.parametrize("name", SHOWN)
def test_every_state_comes_back(name: str) -> None:
    for state in SHOWN[name]():
        assert link.read(type(state), link.write(state)) == (state, ())


def test_every_page_has_states_to_look_at() -> None:
    assert {name.partition("_")[0] for name in SHOWN} == set(pages.STATES)


@given(query=st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), TEXTS, max_size=6))
def test_any_query_is_read_and_what_it_means_comes_back(query: dict[str, str]) -> None:
    for cls in STATES:
        found, problems = link.read(cls, query)
        assert link.read(cls, link.write(found)) == (found, ())
        kept = {name: text for name, text in link.write(found).items() if query.get(name) == text}
        fields = {field.name: field for field in dataclasses.fields(cls)}
        assert len(problems) <= 5 * len(query)
        unsaid = {*link.OF_THE_APP, *getattr(cls, "former", ())} - fields.keys()
        for name in query.keys() - kept.keys() - unsaid:  # either said, or the same in other words
            said = any(
                problem.startswith((f"{name} must", f"{name} has")) or repr(name) in problem for problem in problems
            )
            assert said or fields[name].metadata["parse"](query[name]) == getattr(found, name)


LINKS = [*EXAMPLES, *GLOSSARY, *(task(1, place) for place in range(1, COUNT + 1))]


@pytest.mark.parametrize("row", LINKS, ids=lambda row: getattr(row, "key", getattr(row, "name", row.path)))
def test_links_of_examples_terms_and_tasks_are_read(row: Any) -> None:
    state, problems = link.read(pages.STATES[row.path], row.query)
    assert problems == ()
    assert {name: text for name, text in link.write(state).items() if name in row.query} == row.query


def test_what_is_wrong_is_said() -> None:
    found, problems = link.read(
        rounding_state.Rounding, {"fmt": "float9", "opset": "18", "saturate": "yes", "x": "7", "y": "1"}
    )
    assert found == dataclasses.replace(rounding_state.Rounding(), x="7")
    assert [problem.split()[0] for problem in problems] == ["fmt", "opset", "saturate", "This"]
    assert "float9" in problems[0]
    assert "from 19 to 28" in problems[1]
    long = link.read(rounding_state.Rounding, {"x": "9" * 10**6})[1]
    assert len(long) == 1
    assert len(long[0]) < 200


@pytest.mark.parametrize(
    ("cls", "field", "text", "kept", "names"),
    [
        (compare_state.Compare, "fmts", "float16,float9,int8,e4m3,bias=8,e99m1,int9",
         ("float16", "int8", "e4m3,bias=8"), ("float9", "e99m1", "int9")),
        (errors_state.Errors, "fmts", "nosuch,bfloat16", ("bfloat16",), ("nosuch",)),
        (saturation_state.Saturation, "fmts", "tf32,<b>", ("tf32",), ("<b>",)),
        (errors_state.Errors, "roundings", "to_odd,upward,toward_zero", ("to_odd", "toward_zero"), ("upward",)),
        (quantize_state.Quantize, "sweep_formats", "mxfp4,mxfp5", ("mxfp4",), ("mxfp5",)),
    ],
)  # fmt: skip
def test_a_wrong_part_of_a_list_is_named_and_the_others_are_kept(
    cls: type, field: str, text: str, kept: tuple[str, ...], names: tuple[str, ...]
) -> None:
    found, problems = link.read(cls, {field: text})
    assert getattr(found, field) == kept
    assert len(problems) == len(names)
    for name, problem in zip(names, problems, strict=True):
        assert problem.startswith(f"{field} has {name!r}, which must be ")
        assert problem.endswith(". It was left out.")
    with pytest.raises(ValueError, match="which must be"):  # a name that is typed is refused, and all others stay
        link.checked(cls, field, tuple(text.split(",")))


def test_a_long_list_of_wrong_names_has_few_messages() -> None:
    found, problems = link.read(compare_state.Compare, {"fmts": ",".join([f"no{i}" for i in range(500)] + ["int8"])})
    assert found.fmts == ("int8",)
    assert len(problems) == 4
    assert problems[3] == "fmts has 497 more parts that mean nothing. They were left out."


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1])
def test_texts_stand_out(scheme: int) -> None:
    name = ("light", "dark")[scheme]
    page = theme.OPTIONS[f"theme.{name}.backgroundColor"]
    for background, text in [pair[scheme] for pair in {**theme.FIELDS, **theme.CLASSES}.values()]:
        assert contrast(background, text) >= 4.5, (background, text)
        assert contrast(page, text) >= 4.5, text  # labels and charts use it on the page itself
    for colour in (theme.ACCENT[scheme], theme.QUIET[scheme]):
        assert contrast(page, colour) >= 4.5
    assert theme.OPTIONS[f"theme.{name}.primaryColor"] == theme.ACCENT[scheme]
    assert contrast(page, theme.OPTIONS[f"theme.{name}.textColor"]) >= 7


def test_fields_look_different() -> None:
    for scheme in (0, 1):
        assert len({pair[scheme] for pair in theme.FIELDS.values()}) == 3


def sources() -> list[Path]:
    found = [path for kind in ("py", "js", "css", "j2", "html") for path in FOLDER.rglob(f"*.{kind}")]
    assert len(found) > 20
    return found


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def test_views_and_states_know_no_streamlit() -> None:
    views = [*(FOLDER / "pages").glob("*/*view.py")]
    assert len(views) >= 10
    with_streamlit = ("app", "cast_controls", "chart", "controls", "layout", "menu")
    pure = [*views, *(path for path in (FOLDER / "shared").glob("*.py") if path.stem not in with_streamlit)]
    pure += [path for kind in ("state", "snippets", "picture") for path in (FOLDER / "pages").glob(f"*/{kind}.py")]
    for path in pure:
        assert not any(name.startswith(("streamlit", "altair", "pandas")) for name in imports(path)), path.name
    above = ("controls", "layout", "menu", "html", "theme", "chart", "drawing", "browser")
    for path in views:  # what is below knows nothing of what is above
        assert not any(name.rpartition(".")[2] in (*above, "page") for name in imports(path)), path.name


def test_nothing_is_fetched_and_no_text_becomes_markup() -> None:
    for path in sources():
        text = path.read_text(encoding="utf-8")
        assert "unsafe_allow" not in text, path.name
        if path.suffix != ".py":
            assert "http" not in text, path.name
            assert "innerHTML" not in text, path.name
            assert not re.search(r"\|\s*safe|autoescape", text), path.name


def test_html_and_css_are_files_of_their_own() -> None:
    markup = re.compile(
        r"</?(?:a|b|br|code|div|dl|i|li|ol|p|small|span|style|sub|sup|table|td|th|tr)\b[^>]*>|\{[^{}]*:[^{}]*;"
    )
    assert markup.search("f'<div class=\"lp\">{x}</div>'")
    assert markup.search(".lp { color: red; }")
    for path in FOLDER.rglob("*.py"):
        assert not markup.search(path.read_text(encoding="utf-8")), path.name


def test_templates_escape_what_a_visitor_typed() -> None:
    hostile = '<script>alert("x")</script>&'
    escaped = "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;&amp;"
    assert escaped in html.render("facts", facts=[("typed", hostile)])
    assert hostile not in html.render("facts", facts=[(hostile, hostile)])
    with pytest.raises(jinja2.UndefinedError):  # a value that a template lacks is an error, not an empty text
        html.render("facts")


def test_the_style_sheets_hold_every_class_of_a_template() -> None:
    styles = html.render_styles()
    used = {
        name
        for path in FOLDER.rglob("*.html.j2")
        for text in re.findall(r'class="([^"]*)"', path.read_text(encoding="utf-8"))
        for name in re.findall(r"(?<!\S)lp-[a-z-]+(?![-{a-z])", text)
    }
    assert len(used) > 20
    assert not {name for name in used if f".{name}" not in styles} - {"lp-left"}
    for colour in (*theme.FIELDS, *theme.CLASSES):
        assert f"--lp-{colour}: light-dark(#" in styles
        assert f".lp-{colour} {{ background: var(--lp-{colour}); color: var(--lp-{colour}-text); }}" in styles
    assert ".lp-steps > li::before" in styles  # nothing of a style sheet is escaped
