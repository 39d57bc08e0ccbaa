"""What decides the bytes that a conversion writes, so that another call knows whether it can resume it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from ..spec.formats import as_format, is_in_table
from .arguments import as_patterns
from .containers.container import Container
from .containers.tensors import InMemory
from .files.manifest import Job

__all__ = ["describe_job"]

FORMATS, PATTERNS = ("to", "source", "scale_format"), ("keep", "also", "include", "exclude")
"""Parameters of `convert` that can be said in several ways."""

UNDECISIVE = ("src", "dst", "threads", "max_memory", "dry_run", "overwrite", "verify", "progress", "dask", "resume")
"""Parameters of `convert` that do not decide what is written; the source is compared by its files."""


def describe_job(arguments: Mapping[str, object], container: Container) -> Job:
    """Return the version, the arguments of `convert` and the files that decide what is written."""
    options = {name: _text(name, value) for name, value in arguments.items() if name not in UNDECISIVE}
    places = [one.location for one in container.tensors]
    files = {one.path for one in places if not isinstance(one, InMemory)}
    return Job(version("lowprec"), options, files if container.path.is_dir() else {*files, container.path})


def _text(name: str, value: object) -> str:
    if name in FORMATS and value is not None:
        fmt = as_format(value, parameter=name)
        return repr(fmt.name if is_in_table(fmt) else fmt)  # two described formats may have one name
    return repr(list(as_patterns(value, name).patterns) if name in PATTERNS else value)
