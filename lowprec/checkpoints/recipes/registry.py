"""The table of recipes; a family of new ones is one line here and one module of this folder."""

from __future__ import annotations

from ...spec.arguments import shown
from . import comfy_ui, compressed_tensors, deepseek, gpt_oss, modelopt
from .recipe import Recipe

__all__ = ["RECIPES", "find_recipe"]

RECIPES = (*compressed_tensors.RECIPES, *deepseek.RECIPES, *gpt_oss.RECIPES, *comfy_ui.RECIPES, *modelopt.RECIPES)


def find_recipe(name: object, parameter: str = "recipe") -> Recipe:
    """Return the recipe of a name; raise ValueError if there is none."""
    for recipe in RECIPES:
        if isinstance(name, str) and recipe.name == name:
            return recipe
    raise ValueError(f"`{parameter}` must be one of {', '.join(one.name for one in RECIPES)}; got {shown(name)}")
