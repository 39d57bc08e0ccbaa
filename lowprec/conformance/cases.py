"""One call of an operator, the rule it is held to, and the codes that must come out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..reference.array_cast import Codes
from ..reference.exact_cast import decode
from ..spec.format import own_dtype
from ..spec.formats import Format, Kind
from ..spec.opset_rules import NEWEST

__all__ = ["Call", "Case", "Tensor"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Codes of a format, in unsigned integers of its storage width; text as `str` objects."""

    codes: Codes
    fmt: Format

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The same in the dtype that NumPy or ml_dtypes has for the format."""
        return self.codes if self.fmt.kind is Kind.STRING else self.codes.view(self.fmt.dtype)

    def values(self, index: int) -> np.ndarray[Any, Any]:
        """Return the value of one code, in an array of one element."""
        one = self.codes.reshape(-1)[index : index + 1]
        if own_dtype(self.fmt) is None:
            return np.array([float(decode(int(one[0]), self.fmt))])
        return one.view(self.fmt.dtype)

    def __getitem__(self, which: Any) -> Tensor:
        """Return some of the codes."""
        return Tensor(self.codes[which], self.fmt)

    def repeated(self, index: int, copies: int) -> Tensor:
        """Return one of the codes a number of times."""
        return Tensor(np.repeat(self.codes.reshape(-1)[index : index + 1], copies), self.fmt)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator of ONNX with its inputs; `target` is the format of the output."""

    operator: str
    inputs: tuple[Tensor | None, ...]
    target: Format
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = NEWEST

    @property
    def is_elementwise(self) -> bool:
        """Whether every input but the first has one element: each element of the output comes of one element."""
        return all(one is None or one.codes.size == 1 for one in self.inputs[1:])


@dataclass(frozen=True, slots=True)
class Case:
    """A call, its rule and the expected codes: None where it must be refused; `control` is a valid call like it."""

    rule: str
    call: Call
    expected: Codes | None
    control: Call | None = None
