"""Checkpoints of any size, converted and looked at piece by piece.

```
containers (safetensors, folders, .npy, .npz, .onnx) ─▶ plan ─▶ layout ─▶ steps ─▶ runners (threads, Dask) ─▶ work
                                                                              └─▶ staging: written aside, renamed
```
"""

from .conversion import convert
from .inspection import Entry, inspect
from .report import Report, TensorReport

__all__ = ["Entry", "Report", "TensorReport", "convert", "inspect"]
