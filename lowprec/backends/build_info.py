"""What this build is and which of its loops are in use."""

from __future__ import annotations

from typing import Any

from .. import _instruction_set_choice, _kernels
from .threads import get_num_threads

__all__ = ["build_info"]


def build_info() -> dict[str, Any]:
    """Return what is in use.

    Returns
    -------
    dict
        ``version``; ``openmp``: the value of the macro _OPENMP, 0 where the kernels in use are the serial ones;
        ``serial_reason``: why they are, in one line, else None; ``isa``: ``"base"``, ``"v3"`` (AVX2), ``"v4"``
        (AVX-512) or ``"v4_vbmi"`` (with VBMI), the best this machine has unless the environment variable
        ``LOWPREC_ISA`` names one; ``isas``: those it could use; ``threads``: how many a large conversion takes;
        ``prefetch``: whether the last loop that measured it is faster where it requests memory before its use, None
        before the first conversion of 32 MiB.

    Notes
    -----
    A ``LOWPREC_ISA`` that this machine or build does not have is reported in one line at import, by the logger
    ``lowprec``, and not used. The command ``lowprec`` ends with status 1 then.

    Examples
    --------
    >>> import lowprec as lp
    >>> sorted(lp.build_info())
    ['isa', 'isas', 'openmp', 'prefetch', 'serial_reason', 'threads', 'version']
    """
    from importlib.metadata import version  # which takes longer to import than all else here

    return {
        "version": version("lowprec"),
        "openmp": _kernels.openmp(),
        "serial_reason": _instruction_set_choice.serial_reason,
        "isa": _kernels.isa(),
        "isas": _kernels.available_isas(),
        "threads": get_num_threads(),
        "prefetch": _kernels.prefetch(),
    }
