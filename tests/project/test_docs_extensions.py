"""The extensions of the documentation: links to the repository, commands, tables of the code."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of docs/_extensions."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    return importlib.import_module


LINKS = [
    ("[a](formats.md#storage-dtypes)", "[a](formats.md#storage-dtypes)"),
    ("[a](#here) [b](https://onnx.ai/x.html)", "[a](#here) [b](https://onnx.ai/x.html)"),
    ("[the glossary](../CONTRIBUTING.md#glossary)", "[the glossary](contributing.md#glossary)"),
    ("[README](../README.md)", "[README](readme.md)"),
    ("[`speed.py`](../benchmarks/speed.py)", "`speed.py`"),
    ("[`lowprec/x.py`](../lowprec/x.py)", "`lowprec/x.py`"),
    ("[the loop](../benchmarks/roof.c) ends", "the loop (`benchmarks/roof.c`) ends"),
    ("[jobs](checkpoints/)", "[jobs](checkpoints/index.md)"),
    ("![picture](screenshots/start-light.png)", "![picture](screenshots/start-light.png)"),
    ("a [link\nof two lines](../CONTRIBUTING.md)", "a [link\nof two lines](contributing.md)"),
    ("`[a](../setup.py)` and [`b`](../b.py)", "`[a](../setup.py)` and `b` (`b.py`)"),
    (
        "a\n\n    >>> rows[0](setup.py)\n    >>> b[1](c.py)\n\n[x](../x.py)",
        "a\n\n    >>> rows[0](setup.py)\n    >>> b[1](c.py)\n\nx (`x.py`)",
    ),
    ("* a\n    [x](../x.py)", "* a\n    x (`x.py`)"),
    ("[light](screenshots/a.png), [`conf.py`](conf.py)", "[light](screenshots/a.png), `conf.py`"),
    ("```python\n[a](../setup.py)\n```\n[`setup.py`](../setup.py)", "```python\n[a](../setup.py)\n```\n`setup.py`"),
]


@pytest.mark.parametrize(("text", "expected"), LINKS)
def test_links_to_the_repository(extension: Any, text: str, expected: str) -> None:
    links = extension("repository_links")
    page = ROOT / "docs" / "page.md"
    assert links.resolved(text, page.parent, page, ROOT) == expected


def test_links_of_a_page_in_a_folder(extension: Any) -> None:
    links = extension("repository_links")
    page = ROOT / "docs" / "checkpoints" / "page.md"
    text = "[a](../formats.md) [b](../../CHANGELOG.md) [c](gguf.md)"
    assert links.resolved(text, page.parent, page, ROOT) == "[a](../formats.md) [b](../changelog.md) [c](gguf.md)"


def test_pages_that_stand_for_a_file_of_the_repository(extension: Any, tmp_path: Path) -> None:
    links = extension("repository_links")
    (tmp_path / "docs").mkdir()
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changes\n\n[a](docs/formats.md) ![b](docs/x.png) [c](README.md)\n", encoding="utf-8"
    )
    shown = links.page_text(tmp_path / "docs" / "changelog.md", "# A remark\n", tmp_path)
    assert shown == "# Changes\n\n[a](formats.md) ![b](x.png) [c](readme.md)\n"
    assert links.page_text(tmp_path / "docs" / "other.md", "# A remark\n", tmp_path) == "# A remark\n"


def test_commands_are_those_of_the_parser(extension: Any) -> None:
    pytest.importorskip("sphinx")
    parser = argparse.ArgumentParser(prog="tool")
    commands = parser.add_subparsers()
    one = commands.add_parser("make", help="makes one")
    one.add_argument("path", metavar="FILE", help="what is read")
    one.add_argument("-n", "--number", type=int, default=3, help="how many (%(default)s, 100%%)")
    one.add_argument("--hidden", help=argparse.SUPPRESS)
    commands.add_parser("list", description="Lists all.").add_subparsers().add_parser("long")
    found = extension("command_line").commands_of(parser)
    assert [(one.name, one.text) for one in found] == [
        ("tool make", "makes one"), ("tool list", "Lists all."), ("tool list long", ""),
    ]  # fmt: skip
    assert found[0].usage == "tool make [-h] [-n NUMBER] FILE"
    assert [(title, [(a.written, a.text) for a in some]) for title, some in found[0].groups] == [
        ("positional arguments", [("FILE", "what is read")]),
        ("options", [("-n, --number NUMBER", "how many (3, 100%)")]),
    ]


def test_every_recipe_and_narrow_format_has_a_section(extension: Any) -> None:
    pytest.importorskip("sphinx")
    tables = extension("code_tables")
    formats = dict(tables.format_pages())
    assert {"float8_e4m3fn", "float4_e2m1fn", "float8_e8m0fnu", "int2", "uint8"} <= set(formats)
    assert not {"float16", "int16", "bool", "string"} & set(formats)
    assert "0:  0.0  0.5  1.0  1.5  2.0  3.0  4.0  6.0 -0.0 -0.5" in formats["float4_e2m1fn"]
    recipes = dict(tables.recipe_pages())
    assert {"fp8-dynamic", "nvfp4a16", "q8_0"} <= set(recipes)
    assert all("layout " in text for text in recipes.values())


def test_constants_have_the_docstring_of_their_module(extension: Any) -> None:
    pytest.importorskip("sphinx")
    import lowprec.loss

    docstring_of = extension("constants").docstring_of
    lines = docstring_of("lowprec.loss.CHUNK", lowprec.loss.CHUNK)
    assert lines[0].startswith("Elements that are converted and compared together")
    assert docstring_of("lowprec.loss.other", object()) == []
