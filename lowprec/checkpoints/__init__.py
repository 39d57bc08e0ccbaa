"""Checkpoints of any size: tensors converted, read, inspected and checked chunk by chunk.

```
containers/ ─▶ layouts/, recipes/ ─▶ planning/ ─▶ operations/ ─▶ execution/ (steps, threads or Dask, worker)
(one module to each of these, and a registry)         └─▶ schemes/, arithmetic/    └─▶ files/ (written aside, renamed)
```
"""

from .checking.check import check
from .checking.finding import Finding, Findings
from .containers.array_files import read_array, write_array
from .conversion import convert
from .inspection import Entries, Entry, inspect
from .opening import Checkpoint, open
from .report import Report, TensorReport
from .saving import save
from .tensor_info import TensorInfo

__all__ = [
    "Checkpoint", "Entries", "Entry", "Finding", "Findings", "Report", "TensorInfo", "TensorReport", "check", "convert",
    "inspect", "open", "read_array", "save", "write_array",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Return the module that was `lowprec.checkpoints.npy`, with a warning; its functions keep their names."""
    if name != "npy":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import warnings

    from .containers import array_files

    text = "lowprec.checkpoints.npy is read_array and write_array of lowprec.checkpoints now"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return array_files
