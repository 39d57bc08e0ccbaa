"""What this build is and which of its loops are in use."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from . import _kernels
from .threads import get_num_threads

__all__ = ["build_info"]

_kernels.use_isa(os.environ.get("LOWPREC_ISA") or _kernels.available_isas()[-1])


def build_info() -> dict[str, Any]:
    """Return what is in use.

    Returns
    -------
    dict
        ``version``; ``openmp``: the value of the macro _OPENMP, 0 where built without; ``isa``: ``"base"``, ``"v3"``
        (AVX2) or ``"v4"`` (AVX-512), the best this machine has unless the environment variable ``LOWPREC_ISA`` names
        one; ``isas``: those it could use; ``threads``: how many a large conversion takes.

    Examples
    --------
    >>> import lowprec as lp
    >>> sorted(lp.build_info())
    ['isa', 'isas', 'openmp', 'threads', 'version']
    """
    return {
        "version": version("lowprec"),
        "openmp": _kernels.openmp(),
        "isa": _kernels.isa(),
        "isas": _kernels.available_isas(),
        "threads": get_num_threads(),
    }
