"""The controls of a page: widgets bound to the fields of its state, which is read from the link alone."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from lowprec.spec.scalar_arguments import shown

from .format_names import HELP
from .link import checked, read, write
from .page import at_an_opset

__all__ = ["Controls", "end_of_run", "stop"]

_REFUSED = "refused"
_SHOWN = "controls that are shown"
"""The key in the session of what the browser is known to show."""

_ABSENT = object()

S = TypeVar("S")
T = TypeVar("T")


@dataclasses.dataclass(slots=True)
class _Shown:
    """What the browser is known to show of a page: by the key of a widget, the text that stands for the value.

    `given` has the values that were given to it and that it has not sent back yet, `ever` the keys of this visit to
    the page, `bound` those of this run.
    """

    page: type[Any]
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    given: dict[str, tuple[Any, bool]] = dataclasses.field(default_factory=dict)
    ever: set[str] = dataclasses.field(default_factory=set)
    bound: set[str] = dataclasses.field(default_factory=set)


def end_of_run() -> None:
    """Note that a run drew all that the page has: the browser now forgets the widgets that were not among it.

    A run that another one breaks off does not come here: the browser then keeps what was not drawn again.
    """
    shown: _Shown | None = st.session_state.get(_SHOWN)
    if shown is not None:
        shown.texts = {key: text for key, text in shown.texts.items() if key in shown.bound}
        shown.given = {key: given for key, given in shown.given.items() if key in shown.bound}


def stop() -> NoReturn:
    """End the page here."""
    end_of_run()
    st.stop()


class Controls(Generic[S]):
    """A page's state, and widgets bound to its fields.

    ``page = Controls(Rounding)`` reads the query string and shows a warning for each part of it that is wrong;
    ``st.selectbox("Format", FORMAT_NAMES, **page.bind("fmt"))`` is a control of the field `fmt`.
    """

    def __init__(self, cls: type[S]) -> None:
        self.cls = cls
        last: _Shown | None = st.session_state.get(_SHOWN)
        self._shown = st.session_state[_SHOWN] = last if last and last.page is cls else _Shown(cls)
        self._shown.bound = set()
        self._sent = _sent_keys()
        self.state, problems = read(cls, st.query_params)
        for problem in problems:
            st.warning(_plain(problem), icon=":material/link_off:")
        if refused := st.session_state.pop(self.key(_REFUSED), None):
            st.error(_plain(refused), icon=":material/error:")

    def key(self, name: str) -> str:
        """Return the key in the session of the field's widget."""
        return f"{self.cls.__name__}.{name}".lower()

    def bind(
        self, name: str, then: Callable[[S, S], S] | None = None, *, nothing: object = _ABSENT, text: str = ""
    ) -> dict[str, Any]:
        """Return the arguments that bind a widget to a field; after a change `then` may correct (old, new) states.

        In a widget of which nothing need be chosen, `nothing` is the field's value for that; `text` as in `give`.
        """
        value = getattr(self.state, name)
        shown_value = None if value == nothing else list(value) if isinstance(value, tuple) else value
        self.give(self.key(name), shown_value, text)
        return {"key": self.key(name), "on_change": self._changed, "args": (name, then)}

    def give(self, key: str, value: Any, text: str = "") -> None:
        """Give the widget of a key a value, unless the browser is known to show it: that undoes a click in the run.

        The browser forgets a widget that a run did not show, and then shows a default of the widget; Streamlit's
        session remembers its value where the run was stopped, so that it cannot say what the browser shows. `text`
        is what stands for the value in a list, if that changes with other fields: the browser knows texts alone.

        A widget of which the browser sent nothing with this run does not stand there yet, whatever was given to it:
        the message may have been dropped, or the code of the widget is still being loaded. A value that comes after
        another one was given may be older, sent by the browser before it took that: it is given back, so that it is
        shown in either case. Not where the widget is new to the browser, which can have sent none.
        """
        shown = self._shown
        is_there = key in self._sent and shown.texts.get(key) == text
        has = st.session_state.get(key, _ABSENT) if is_there else _ABSENT
        given, is_new = shown.given.pop(key, (_ABSENT, False))
        is_unsure = given is not _ABSENT and not is_new and given != value
        if has != value or is_unsure:
            shown.given[key] = value, key not in shown.ever
            st.session_state[key] = value
        shown.texts[key] = text
        shown.ever.add(key)
        shown.bound.add(key)

    def format_box(
        self, place: Any, label: str, name: str, rows: Sequence[str], then: Callable[[S, S], S] | None = None
    ) -> None:
        """Show a list of formats, bound to a field, in which the name of another format can be typed.

        ONNX's opsets do not have such a format: the newest is chosen with it.
        """

        def changed(old: S, new: S) -> S:
            return at_an_opset(then(old, new) if then else new)

        chosen = getattr(self.state, name)
        options = rows if chosen in rows else [*rows, chosen]
        place.selectbox(label, options, **self.bind(name, changed), accept_new_options=True, help=HELP)

    def set(self, **changes: Any) -> None:
        """Change fields, from a callback; the next run reads them from the link."""
        if _goes_through_history():
            return
        state, _ = read(self.cls, st.query_params)
        _write_link(dataclasses.replace(state, **changes))  # type: ignore[type-var]

    def take(self, name: str, text: str) -> None:
        """Set a field from a text as in a link, from a callback; a text that is not for it changes nothing."""
        state, _ = read(self.cls, st.query_params)
        changed, problems = read(self.cls, {**write(state), name: text})
        if not problems and not _goes_through_history():
            _write_link(changed)

    def refuse(self, why: str) -> None:
        """Show, in the next run, why a callback changed nothing."""
        st.session_state[self.key(_REFUSED)] = f"{why}. Nothing was changed."

    def compute_or_reset(self, compute: Callable[[S], T], **defaults: Any) -> T:
        """Return what a view computes from the state; on a ValueError show it, set fields to `defaults`, compute again.

        The page, its link and its code snippets then agree. All other fields keep their values. Another error ends
        the page.
        """
        try:
            return compute(self.state)
        except ValueError as error:
            self.state = dataclasses.replace(self.state, **defaults)  # type: ignore[type-var]
            query = write(self.state)
            used = ", ".join(f"{name} = {query[name]}" for name in defaults)
            st.error(_plain(f"{error}. The page goes on with {used}."), icon=":material/error:")
            return self.compute_or_stop(compute)

    def compute_or_stop(self, compute: Callable[[S], T]) -> T:
        """Return what a view computes from the state; on a ValueError show it and end the page there."""
        try:
            return compute(self.state)
        except ValueError as error:
            st.error(_plain(str(error)), icon=":material/error:")
            stop()

    def query(self) -> dict[str, str]:
        """Return the parts of a query string that restore this page."""
        return write(self.state)

    def _changed(self, name: str, then: Callable[[S, S], S] | None) -> None:
        value = st.session_state[self.key(name)]
        if value is None or _goes_through_history():  # a control was emptied: the value stays
            return
        old, _ = read(self.cls, st.query_params)
        try:
            value = checked(self.cls, name, value)
        except ValueError as error:  # a text that was typed in a list, or none is left of it: the value stays
            if value != []:
                self.refuse(f"{name} {error}; got {shown(value)}")
            return
        new = dataclasses.replace(old, **{name: value})  # type: ignore[type-var]
        _write_link(then(old, new) if then else new)


def _sent_keys() -> set[str]:
    """Return the keys of the widgets whose values came with this run from the browser: those that stand there."""
    context = get_script_run_ctx()
    states = context.session_state.get_widget_states() if context is not None else []
    return {state.id.split("-", 2)[-1] for state in states}  # $$ID-hash-key


def _plain(text: str) -> str:
    """Return a text with everything escaped that Markdown would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+\-.!|$:~])", r"\\\1", text)


def _goes_through_history() -> bool:
    """Whether Back or Forward asked for this run: its link holds, not what the widgets still showed at that moment."""
    context = get_script_run_ctx()
    return context is not None and getattr(context, "is_history_navigation", False)


def _write_link(state: Any) -> None:
    parts: dict[str, Any] = dict(write(state))
    st.query_params.from_dict(parts)
