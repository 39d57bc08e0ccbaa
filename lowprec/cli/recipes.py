"""The command `lowprec recipes`: what `lowprec convert --recipe` offers, and what one recipe writes."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from typing import Any

from ..checkpoints.checking.readers import limits
from ..checkpoints.containers.container import InMemory, StoredTensor
from ..checkpoints.progress import size_text
from ..checkpoints.recipes import CHANGES, RECIPES, CodeChange, Recipe, find_recipe
from ..checkpoints.schemes.scheme import scheme_text
from ..spec.formats import BFLOAT16

__all__ = ["add_command", "change_text", "recipe_text", "table_text"]

EXAMPLES = (
    ("model.layers.0.mlp.up_proj.weight", (14336, 4096)),
    ("model.layers.0.mlp.experts.gate_up_proj", (32, 2880, 5760)),
    ("blk.0.ffn_up.weight", (14336, 4096)),
    ("double_blocks.0.img_mlp.0.weight", (12288, 3072)),
)
"""Weights of a language model, a mixture of experts, a GGUF file and a diffusion model: one that a recipe takes."""

IGNORED = "lm_head"


def example_of(recipe: Recipe) -> StoredTensor | None:
    """Return a bfloat16 weight that a recipe quantizes."""
    for name, shape in EXAMPLES:
        tensor = StoredTensor(name, shape, BFLOAT16, BFLOAT16.name, InMemory(b""))
        if not (recipe.why_unfit(tensor) or recipe.why_kept(tensor) or recipe.problem(tensor)):
            return tensor
    return None


def table_text() -> str:
    """Return the recipes, a line each."""
    rows = [
        ("recipe", "layout", "what is written"),
        *((one.name, one.layout, one.summary) for one in (*RECIPES, *CHANGES)),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{name:{widths[0]}}  {layout:{widths[1]}}  {text}" for name, layout, text in rows)


def _outputs(recipe: Recipe, tensor: StoredTensor) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield role, name, type, shape and bytes of the tensors that a weight becomes."""
    for one in recipe.outputs(tensor.name, recipe.shape_of(tensor), recipe.scheme_of(BFLOAT16)):
        kind = one.fmt.name if one.blocks is None else one.blocks.name
        yield one.role, one.name, kind, "x".join(map(str, one.shape)) or "scalar", size_text(one.nbytes)


def change_text(change: CodeChange) -> str:
    """Return what a change of the formats of codes writes."""
    lines = [
        f"{change.name}: {change.summary}",
        f"layout      {change.layout}",
        f"read by     {change.readers}",
        *(f"codes       {before.name} becomes {after.name}" for before, after in change.formats.items()),
        f"scales      {'times 2, those of inputs too' if change.doubles else 'divided by 2; those of inputs stay'}",
    ]
    return "\n".join(lines)


def _limits_text(recipe: Recipe) -> Iterator[str]:
    """Yield which versions of engines do not read what a recipe writes: nothing of it, or experts alone."""
    scheme = recipe.scheme_of(BFLOAT16)
    general = list(limits(recipe.layout, scheme, experts=False))
    of_experts = [one for one in limits(recipe.layout, scheme, experts=True) if one not in general]
    yield from (f"limits      {one}" for one in general)
    yield from (f"limits      mixtures of experts: {one}" for one in of_experts)


def recipe_text(recipe: Recipe) -> str:
    """Return what a recipe writes, from the objects that write it."""
    scheme = recipe.scheme_of(BFLOAT16)
    own = ", the type of the weight" if recipe.source_scales else ""
    lines = [
        f"{recipe.name}: {recipe.summary}",
        f"layout      {recipe.layout}",
        f"read by     {recipe.readers}",
        *_limits_text(recipe),
        *([f"compared    {recipe.checked}"] if recipe.checked else []),
        f"arithmetic  {recipe.tool.name}",
        f"scheme      {scheme_text(scheme)}{own}",
        *([f"remark      {recipe.remark}"] if recipe.remark else []),
    ]
    rule = recipe.tool.rule
    if rule is not None:
        lines += [f"{'formula' * (not number):11} {text}" for number, text in enumerate(rule(recipe.scheme))]
    tensor = example_of(recipe)
    if tensor is not None:
        shape = "x".join(map(str, tensor.shape))
        nbytes = size_text(math.prod(tensor.shape) * BFLOAT16.bits // 8)
        lines += ["", f"{tensor.name} ({BFLOAT16.name}, {shape}, {nbytes}) becomes"]
        rows = list(_outputs(recipe, tensor))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        for row in rows:
            lines.append("  " + "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    for name, content in recipe.describe(scheme, [IGNORED]).items():
        file = name if name.endswith(".json") else f"config.json: {name}"
        lines += ["", f"{file}, where {IGNORED} is kept", json.dumps(content, indent=2)]
    return "\n".join(lines)


def _run(options: argparse.Namespace) -> None:
    change = next((one for one in CHANGES if one.name == options.name), None)
    if options.name is None:
        print(table_text())
    else:
        print(change_text(change) if change is not None else recipe_text(find_recipe(options.name, "NAME")))


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    one = commands.add_parser(
        "recipes", help="the recipes of convert; what one of them writes",
        description="Print the recipes of `lowprec convert --recipe`; with NAME, what it writes: the tensors of an "
        "example, the formulas of scales and codes, the entry of config.json, and the engines that read it.",
    )  # fmt: skip
    one.add_argument("name", nargs="?", metavar="NAME", help="a recipe")
    one.set_defaults(run=_run)
