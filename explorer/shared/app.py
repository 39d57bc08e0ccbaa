"""The app: a menu and the pages, each at its own path; the bare address leads to the first, any other to a message.

Not in the folder of `pages/`: Streamlit takes a folder of that name beside an app for pages of its own.
"""

import difflib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import streamlit as st

from lowprec.explorer.pages import PAGES
from lowprec.explorer.pages.start import classroom
from lowprec.explorer.pages.start.strip import opened_example
from lowprec.explorer.shared import browser, layout
from lowprec.explorer.shared.controls import Controls, end_of_run, stop
from lowprec.explorer.shared.menu import follow, menu
from lowprec.explorer.shared.page import Page


def address_of(row: Page) -> Any:
    """Return a page for Streamlit, at its path."""

    def run() -> None:
        row.show(Controls(row.state))

    return st.Page(run, title=row.title, icon=f":material/{row.icon}:", url_path=row.path)


st.set_page_config(page_title="lowprec explorer", page_icon=str(Path(__file__).parents[1] / "icon.svg"), layout="wide")
layout.apply_styles()
pages = {row.path: address_of(row) for row in PAGES}
base = str(st.get_option("server.baseUrlPath")).strip("/").rpartition("/")[2]
asked = unquote(urlsplit(st.context.url or "").path).strip().rpartition("/")[2]
unknown = st.session_state.setdefault("unknown pages", {})  # Back may lead to one
if asked not in (base, "", *pages):
    unknown[asked] = None


def home() -> None:
    """Show nothing until the script has gone to the first page: Streamlit's default page could not have a path."""


def missing() -> None:
    """Name the page that does not exist, and those that do."""
    near = difflib.get_close_matches(page.url_path.casefold(), pages, 1)
    layout.show("missing_page", unknown=page.url_path[:100], near=near, pages=PAGES)


bare = st.Page(home, title="lowprec", default=True, visibility="hidden")
others = [st.Page(missing, title="No such page", url_path=path, visibility="hidden") for path in unknown]
page = st.navigation([bare, *pages.values(), *others], position="hidden")
if page.url_path:
    st.set_page_config(page_title=f"{page.title} · lowprec explorer")
browser.page_script(leads_to=PAGES[0].path if page == bare else None)
if classroom.is_asked() and page != bare:
    classroom.show()
    stop()
if page.url_path in pages:
    states = follow(page.url_path)
    if not st.context.is_embedded:
        menu(pages, page.url_path, states)
        opened_example(page.url_path)
page.run()
end_of_run()
