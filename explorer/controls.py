"""The controls of a page: painted from its query string, which a change rewrites; there is no other state."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import streamlit as st

from .state import read, write

__all__ = ["Controls"]

S = TypeVar("S")
T = TypeVar("T")


class Controls(Generic[S]):
    """A page's state, and widgets bound to its fields.

    ``page = Controls(Rounding)`` reads the query string and shows a warning for each part of it that is wrong;
    ``st.selectbox("Format", FORMAT_NAMES, **page.bind("fmt"))`` is a control of the field `fmt`.
    """

    def __init__(self, cls: type[S]) -> None:
        self.cls = cls
        self.state, problems = read(cls, st.query_params)
        for problem in problems:
            st.warning(_plain(problem), icon=":material/link_off:")

    def key(self, name: str) -> str:
        """Return the key in the session of the field's widget."""
        return f"{self.cls.__name__}.{name}".lower()

    def bind(self, name: str, then: Callable[[S, S], S] | None = None) -> dict[str, Any]:
        """Return the arguments that tie a widget to a field; `then` may mend the state after (old, new) a change."""
        value = getattr(self.state, name)
        shown = list(value) if isinstance(value, tuple) else value
        if st.session_state.get(self.key(name)) != shown:  # else a click under way would be painted over
            st.session_state[self.key(name)] = shown
        return {"key": self.key(name), "on_change": self._changed, "args": (name, then)}

    def set(self, **changes: Any) -> None:
        """Rewrite fields, from a callback: the run that follows reads them."""
        state, _ = read(self.cls, st.query_params)
        _show(dataclasses.replace(state, **changes))  # type: ignore[type-var]

    def settled(self, compute: Callable[[S], T], **instead: Any) -> T:
        """Return what a view computes from the state; where it refuses, show why and put `instead` into the state.

        What is shown, linked and copied after that agrees; all other fields stay as they are.
        """
        try:
            return compute(self.state)
        except ValueError as error:
            self.state = dataclasses.replace(self.state, **instead)  # type: ignore[type-var]
            shown = write(self.state)
            used = ", ".join(f"{name} = {shown[name]}" for name in instead)
            st.error(_plain(f"{error}. The page goes on with {used}."), icon=":material/error:")
            return compute(self.state)

    def required(self, compute: Callable[[S], T]) -> T:
        """Return what a view computes from the state; where it refuses, show why and end the page there."""
        try:
            return compute(self.state)
        except ValueError as error:
            st.error(_plain(str(error)), icon=":material/error:")
            st.stop()

    def query(self) -> dict[str, str]:
        """Return the query string's parts that restore this page."""
        return write(self.state)

    def _changed(self, name: str, then: Callable[[S, S], S] | None) -> None:
        value = st.session_state[self.key(name)]
        if value is None or value == []:  # a control emptied: keep what was
            return
        old, _ = read(self.cls, st.query_params)
        value = tuple(value) if isinstance(value, list) else value
        new = dataclasses.replace(old, **{name: value})  # type: ignore[type-var]
        _show(then(old, new) if then else new)


def _plain(text: str) -> str:
    """Return a text with everything escaped that Markdown would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+\-.!|$:~])", r"\\\1", text)


def _show(state: Any) -> None:
    parts: dict[str, Any] = dict(write(state))
    st.query_params.from_dict(parts)
