"""Sphinx's configuration: `sphinx-build -W --keep-going -b html docs docs/_build/html` builds the site, offline."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

project = "lowprec"
author = "the lowprec contributors"
project_copyright = "the lowprec contributors, MIT licence"
version = release = version_of("lowprec")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "code_tables",
    "command_line",
    "constants",
    "examples",
    "repository_links",
    "speed_figures",
]
# The first one is that of the pages that autosummary writes.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]
templates_path = ["_templates"]
default_role = "py:obj"  # `name` in a docstring: a link where there is such a thing, else code
highlight_language = "default"  # what begins with >>> is Python, other text as it is

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 6
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_ipywidgets_js: dict[str, object] = {}  # it would be fetched from another host

autosummary_generate = True
autodoc_typehints = "none"  # the section Parameters has them
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = f"lowprec {release}"
html_static_path = ["_static"]
html_favicon = "../explorer/icon.svg"
html_css_files = ["lowprec.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["all_pages"]}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": f"lowprec {release}"},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button-field"],
    "show_nav_level": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
