"""The documentation: the shell commands of its guides, run page by page, in order."""

from __future__ import annotations

import contextlib
import doctest
import io
import itertools
import os
import re
import runpy
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from support.paths import ROOT

from lowprec.cli import main

DOCS = ROOT / "docs"
FOLDERS = ("tutorials", "how_to", "checkpoints")
PAGES = [DOCS / "start.md", *(page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md")))]
OPTIONAL = {"dask", "gguf", "jax", "onnx", "torch"}  # a script that needs one of them may be skipped
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$(\n*)", re.MULTILINE | re.DOTALL)
_SCRIPT = re.compile(r"# (\w+\.py)\n")
_STATUS = re.compile(r"# exit status (\d+)$")


class Block(NamedTuple):
    """A fenced block of a page; whether nothing but blank lines is between it and the next one."""

    language: str
    text: str
    followed: bool


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [Block(one[1], one[2], text.startswith("```", one.end())) for one in _FENCE.finditer(text)]


def status_of(words: list[str]) -> int:
    """Run a command in the current folder and return its exit status."""
    match words:
        case ["lowprec", *arguments]:
            try:
                return main(arguments)
            except SystemExit as end:  # argparse, of wrong usage
                return int(end.code or 0)
        case ["python", script]:
            try:
                runpy.run_path(script, run_name="__main__")
            except ModuleNotFoundError as error:
                if error.name in OPTIONAL:
                    pytest.skip(f"{script} needs {error.name}")
                raise
        case ["cd", folder]:
            os.chdir(folder)
        case ["ls"]:
            print(*sorted(os.listdir()), sep="\n")
        case ["ls", folder]:
            print(*sorted(os.listdir(folder)), sep="\n")
        case _:
            pytest.fail(f"a ```sh block has lowprec, cd, ls and python alone: {shlex.join(words)}")
    return 0


def run(commands: str) -> str:
    """Run the lines of a block; return what they print, on both streams, as a terminal shows it."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
        for line in commands.replace("\\\n", " ").splitlines():
            expected = _STATUS.search(line)
            words = shlex.split(line, comments=True)
            if words:
                status = status_of(words)
                assert status == int(expected[1] if expected else 0), f"{line}\n{printed.getvalue()}"
    return "".join(line.rstrip() + "\n" for line in printed.getvalue().splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_commands_run_and_print_what_the_page_shows(page: Path, working_folder: Path) -> None:
    found = blocks(page)
    with contextlib.chdir(working_folder):
        if page.parent == DOCS / "checkpoints":
            runpy.run_path(str(page.parent / "tiny_models.py"), run_name="__main__")
        for block, after in itertools.zip_longest(found, found[1:]):
            script = _SCRIPT.match(block.text)
            if block.language == "python" and script:
                Path(script[1]).write_text(block.text, encoding="utf-8")
            if block.language == "sh":
                printed = run(block.text)
                if block.followed and after and after.language == "text":
                    matches = doctest.OutputChecker().check_output(after.text, printed, doctest.ELLIPSIS)
                    assert matches, f"{block.text}prints\n{printed}and not\n{after.text}"
