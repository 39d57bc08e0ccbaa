"""Checkpoints of any size: tensors converted, read, inspected and checked chunk by chunk.

```
containers/, schemes/ ─▶ weights/ ─▶ inference_engines/, recipes ─▶ planning/ ─▶ execution/ (threads or Dask)
(where bytes are, what numbers mean)     (how each engine names them)    └─▶ operations/   └─▶ files/ (written aside)
```
"""

from ..spec.old_names import find_moved as _find_moved
from .checking.check import check
from .checking.finding import Finding, Findings
from .checkpoint import Checkpoint
from .checkpoint import (
    open as open,  # public, and not in `__all__`: it would hide the builtin from who imports everything
)
from .containers.array_files import read_array, write_array
from .conversion import convert
from .conversion_report import Report, TensorReport
from .files.errors import FileError
from .inspection import Entries, Entry, TensorInfo, inspect
from .saving import save

__all__ = [
    "Checkpoint", "Entries", "Entry", "FileError", "Finding", "Findings", "Report", "TensorInfo", "TensorReport",
    "check", "convert", "inspect", "read_array", "save", "write_array",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, "open"])


def __getattr__(name: str) -> object:
    """Return the module that was `lowprec.checkpoints.npy`, with a warning; its functions keep their names."""
    homes = {"npy": f"{__name__}.containers.array_files"}
    return _find_moved(__name__, name, homes, "read_array and write_array of lowprec.checkpoints")
