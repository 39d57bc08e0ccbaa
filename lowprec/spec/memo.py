"""Equal formats and plans are one object; functions whose results are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from operator import attrgetter
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

__all__ = ["CACHED", "Interned", "reduced", "remembered"]


CACHED = 1024
"""How many entries a cache keeps whose keys are formats or plans: any number of them can be made."""

_LOCK = threading.RLock()  # two threads must not intern two equal instances
_T = TypeVar("_T")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Interned(type):
    """The metaclass of a frozen dataclass of hashable fields that keeps one instance of every value.

    Formats and plans are keys of caches on every call. A hash over all their fields would cost as much as a small
    conversion; the hash of an object costs nothing. An instance lives as long as somebody holds it.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._instances: WeakValueDictionary[Any, Any] = WeakValueDictionary()

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        """Return the instance of these values: a new one, checked by its class, if nobody holds one."""
        made = super().__call__(*arguments, **named)
        with _LOCK:
            return cls._instances.setdefault(_values_of(made), made)


_READERS: dict[Any, Callable[[Any], tuple[Any, ...]]] = {}
"""What reads the values of the fields, by class."""


def _values_of(instance: Any) -> tuple[Any, ...]:
    """Return the values of the fields of a dataclass instance, in their order."""
    cls = type(instance)
    if cls not in _READERS:
        _READERS[cls] = attrgetter(*cls.__match_args__)
    return _READERS[cls](instance)


def reduced(instance: _T) -> tuple[type[_T], tuple[Any, ...]]:
    """Return what pickle, copy and deepcopy make an instance of again: its class and its values."""
    return type(instance), _values_of(instance)


def remembered(function: _Function) -> _Function:
    """Keep the results of a function that checks what callers give; True is another argument than 1."""
    kept = lru_cache(maxsize=4096, typed=True)(function)

    @wraps(kept)
    def call(*arguments: Any) -> Any:
        try:
            return kept(*arguments)
        except TypeError:  # what cannot be a key cannot be right: let the checks name it
            return function(*arguments)

    return cast(_Function, call)
