"""The table of recipes; a family of new ones is one line here and one module of this folder."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from ...spec.scalar_arguments import shown
from . import comfy_ui, compressed_tensors, deepseek, gguf, gpt_oss, modelopt
from .fnuz import CHANGES, CodeChange
from .recipe import Recipe

__all__ = ["CHANGES", "RECIPES", "choose_scale_rule", "find_change", "find_recipe"]

LONGEST = 40
"""Characters of a name that may be a recipe's, misspelled."""

_OTHER_GGUF = re.compile(r"(q\d_k|iq\d|tq\d)(_\w+)?")
"""Names of types of GGUF with tables or blocks of blocks, in small letters."""

RECIPES = (
    *compressed_tensors.RECIPES,
    *deepseek.RECIPES,
    *gpt_oss.RECIPES,
    *comfy_ui.RECIPES,
    *modelopt.RECIPES,
    *gguf.RECIPES,
)


def find_recipe(name: object, parameter: str = "recipe") -> Recipe:
    """Return the recipe of a name; raise ValueError if there is none."""
    for recipe in RECIPES:
        if isinstance(name, str) and recipe.name == name:
            return recipe
    names = [one.name for one in (*RECIPES, *CHANGES)]
    hint = _hint(name, names)
    wanted = "a recipe" if hint else f"one of {', '.join(names)}"
    raise ValueError(f"`{parameter}` must be {wanted}; got {shown(name)}{hint}")


def _hint(name: object, names: Sequence[str]) -> str:
    """Return which recipe may be meant, or that none writes a type of GGUF."""
    if not isinstance(name, str) or len(name) > LONGEST:
        return ""
    spelled = name.lower()
    if _OTHER_GGUF.fullmatch(spelled):
        written = ", ".join(one.name for one in gguf.RECIPES)
        return f"; K-quants and I-quants are not written, of the types of GGUF {written} are"
    dashed = spelled.replace("_", "-")
    close = [one for one in names if spelled == one or dashed == one]
    close = close or [one for one in names if len(dashed) > 2 and dashed in one]
    close = close or difflib.get_close_matches(dashed, names, 3, 0.7) or difflib.get_close_matches(spelled, names, 3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def find_change(name: object) -> CodeChange | None:
    """Return the change of formats of a name, or None where a recipe must have it."""
    return next((one for one in CHANGES if isinstance(name, str) and one.name == name), None)


def choose_scale_rule(recipe: Recipe | CodeChange, scale_rule: str) -> Recipe:
    """Return a recipe with another scale rule; raise ValueError for one whose scales are not chosen so."""
    if isinstance(recipe, Recipe) and recipe.takes_scale_rule:
        return recipe.with_scale_rule(scale_rule)
    names = ", ".join(one.name for one in RECIPES if one.takes_scale_rule)
    raise ValueError(
        f"`scale_rule` must be None unless `recipe` is one of {names}; got {scale_rule!r} with {recipe.name}"
    )
