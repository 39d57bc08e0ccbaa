"""What pytest leaves out below docs/: Sphinx's configuration, its extensions, and what it builds."""

collect_ignore_glob = ["conf.py", "conftest.py", "_extensions/*", "_build/*", "api/generated/*"]
