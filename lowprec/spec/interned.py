"""Classes whose equal instances are one object: equality and hash by value, at the speed of an identity."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, TypeVar
from weakref import WeakValueDictionary

__all__ = ["CACHED", "Interned", "fields_of", "reduced"]

CACHED = 1024
"""How many entries a cache keeps whose keys are formats or plans: any number of them can be made."""

_LOCK = threading.RLock()  # two threads must not intern two equal instances
_T = TypeVar("_T")


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
            return cls._instances.setdefault(fields_of(made), made)


def fields_of(instance: Any) -> tuple[Any, ...]:
    """Return the values of the fields of a dataclass instance, in their order."""
    return tuple(getattr(instance, field.name) for field in dataclasses.fields(instance))


def reduced(instance: _T) -> tuple[type[_T], tuple[Any, ...]]:
    """Return what pickle, copy and deepcopy make an instance of again: its class and its values."""
    return type(instance), fields_of(instance)
