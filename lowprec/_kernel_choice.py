"""Makes `lowprec._kernels` name the serial kernels where the library that the others need, OpenMP's, is missing."""

import importlib
import sys

OPENMP_LIBRARIES = ("libgomp", "libomp", "libiomp", "vcomp", "DLL load failed")  # Windows does not name the library

serial_reason: str | None = None
"""Why conversions run on one thread; None where they need not."""

try:
    from . import _kernels
except ImportError as error:
    if not any(library in str(error) for library in OPENMP_LIBRARIES):
        raise
    serial = importlib.import_module("lowprec._kernels_serial")
    sys.modules["lowprec._kernels"] = serial  # for `from .._kernels import isa`
    sys.modules["lowprec"]._kernels = serial  # type: ignore[attr-defined]  # for `from .. import _kernels`
    serial_reason = str(error)
else:
    if not _kernels.openmp():
        serial_reason = "built without OpenMP"
