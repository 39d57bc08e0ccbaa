"""The app: a menu and the pages, each at its own path; the bare address leads to the first, any other to a message."""

import difflib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import streamlit as st

from lowprec.explorer import components, page_layout
from lowprec.explorer.menu import follow, menu
from lowprec.explorer.page_states import PAGES

st.set_page_config(page_title="lowprec explorer", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")
page_layout.apply_styles()
pages = {
    path: st.Page(f"app_pages/{path}.py", title=title, icon=f":material/{icon}:", url_path=path)
    for path, title, icon in PAGES
}
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
    page_layout.show("missing_page", unknown=page.url_path[:100], near=near, pages=PAGES)


bare = st.Page(home, title="lowprec", default=True, visibility="hidden")
others = [st.Page(missing, title="No such page", url_path=path, visibility="hidden") for path in unknown]
page = st.navigation([bare, *pages.values(), *others], position="hidden")
components.page_script(leads_to=PAGES[0][0] if page == bare else None)
if page.url_path in pages:
    states = follow(page.url_path)
    if not st.context.is_embedded:
        menu(pages, page.url_path, states)
page.run()
