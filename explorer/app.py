"""The app: a menu and the pages, each at its own path; the bare address leads to the first."""

from pathlib import Path

import streamlit as st

from lowprec.explorer import components, page_layout
from lowprec.explorer.controls import end_of_run
from lowprec.explorer.menu import follow, menu
from lowprec.explorer.page_states import PAGES

st.set_page_config(page_title="lowprec explorer", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")
page_layout.apply_styles()
pages = {
    path: st.Page(f"app_pages/{path}.py", title=title, icon=f":material/{icon}:", url_path=path)
    for path, title, icon in PAGES
}


def home() -> None:
    """Show nothing until the script has gone to the first page: Streamlit's default page could not have a path."""


bare = st.Page(home, title="lowprec", default=True, visibility="hidden")
page = st.navigation([bare, *pages.values()], position="hidden")
components.page_script(leads_to=None if page.url_path in pages else PAGES[0][0])
if page.url_path in pages:
    states = follow(page.url_path)
    if not st.context.is_embedded:
        menu(pages, page.url_path, states)
page.run()
end_of_run()
