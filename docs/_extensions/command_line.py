"""The directive `command-line`: what argparse knows of each command of `lowprec`, as sections of a page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

__all__ = ["Argument", "Command", "CommandLine", "commands_of"]


@dataclass(frozen=True)
class Argument:
    """An option or a positional argument: how it is written, and what its help says."""

    written: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command: its name, what it does, its usage line, and its arguments by the title of their group."""

    name: str
    text: str
    usage: str
    groups: tuple[tuple[str, tuple[Argument, ...]], ...]


def _written(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    """Return `-n, --number N` for an option, `FILE` for a positional argument."""
    if not action.option_strings:
        return formatter._format_args(action, action.dest)
    value = "" if action.nargs == 0 else " " + formatter._format_args(action, action.dest.upper())
    return ", ".join(action.option_strings) + value


def _arguments(parser: argparse.ArgumentParser, group: Any) -> Iterator[Argument]:
    formatter = parser._get_formatter()
    for action in group._group_actions:
        if action.help == argparse.SUPPRESS or isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
            continue
        yield Argument(_written(action, formatter), formatter._expand_help(action) if action.help else "")


def _command(parser: argparse.ArgumentParser, summary: str) -> Command:
    groups = ((str(group.title), tuple(_arguments(parser, group))) for group in parser._action_groups)
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return Command(parser.prog, parser.description or summary, usage, tuple(one for one in groups if one[1]))


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """Return the commands of a parser, in its order; nested commands follow the one that has them."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {one.dest: one.help or "" for one in action._choices_actions}
            for name, sub in action.choices.items():
                found += [_command(sub, summaries.get(name, "")), *commands_of(sub)]
    return found


class CommandLine(SphinxDirective):
    """A section for each command of `lowprec`: text, usage, and a definition list for each group of arguments."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        from lowprec.cli.command_line import _parser

        return [self._section(command) for command in commands_of(_parser(""))]

    def _section(self, command: Command) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(command.name)])
        section += nodes.title("", command.name)
        section += nodes.paragraph("", _sentence(command.text))
        section += nodes.literal_block(command.usage, command.usage, language="none", classes=["usage"])
        for title, arguments in command.groups:
            section += nodes.rubric("", title.capitalize())
            section += self._list(arguments)
        return section

    def _list(self, arguments: tuple[Argument, ...]) -> nodes.definition_list:
        found = nodes.definition_list(classes=["arguments"])
        for one in arguments:
            term = nodes.term("", "", nodes.literal("", one.written))
            found += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", one.text)))
        return found


def _sentence(text: str) -> str:
    """Return a text that begins with a capital letter and ends with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
