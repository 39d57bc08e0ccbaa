"""The table of recipes; a family of new ones is one line here and one module of this folder."""

from __future__ import annotations

from ...spec.arguments import shown
from . import comfy_ui, compressed_tensors, deepseek, gguf, gpt_oss, modelopt
from .fnuz import CHANGES, CodeChange
from .recipe import Recipe

__all__ = ["CHANGES", "RECIPES", "choose_scale_rule", "find_change", "find_recipe"]

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
    names = ", ".join(one.name for one in (*RECIPES, *CHANGES))
    raise ValueError(f"`{parameter}` must be one of {names}; got {shown(name)}")


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
