"""Names that have become others: the old ones work, with a DeprecationWarning."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

__all__ = ["find_moved", "renamed"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def renamed(**names: str) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a function take keywords by their old names too: those of the decorator, each with the new one.

    Examples
    --------
    >>> import warnings
    >>> @renamed(fmt="source")
    ... def name_of(source):
    ...     return source
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     name_of(fmt="int8"), str(caught[0].message)
    ('int8', '`fmt` of `name_of` is called `source` now')
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def call(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
            for old, new in names.items():
                if old in keywords:
                    text = f"`{old}` of `{function.__name__}` is called `{new}` now"
                    if new in keywords:
                        raise TypeError(f"`{new}` must be given once; got `{old}`, its old name, as well")
                    warnings.warn(text, DeprecationWarning, stacklevel=2)
                    keywords[new] = keywords.pop(old)
            return function(*arguments, **keywords)

        call.__dict__["renamed_parameters"] = names
        return call

    return decorate


def find_moved(module: str, name: str, homes: Mapping[str, str], text: str | None = None) -> Any:
    """Return what a module had by a name, from its home of today, and warn; AttributeError for all other names.

    For a module's `__getattr__`; `homes` has the dotted path of the object, or of the module, for each of the old
    names. `text` says what it is called now, where the path does not.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = find_moved("maths", "root", {"root": "math.sqrt"})
    ...     found(4), str(caught[0].message)
    (2.0, 'maths.root is math.sqrt now')
    """
    home = homes.get(name)
    if home is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(f"{module}.{name} is {text or home} now", DeprecationWarning, stacklevel=3)
    owner, _, attribute = home.rpartition(".")
    found = getattr(importlib.import_module(owner), attribute, None)
    return importlib.import_module(home) if found is None else found
