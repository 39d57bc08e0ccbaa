"""Arguments of traced calls that are no tensors, as torch's operators take them.

Under `torch.compile` an integer that changes from call to call is a symbol. Seeds, offsets and random bits stay symbols
and need no other code; for another format, axis or block size torch compiles anew.
"""

from __future__ import annotations

import operator
from enum import Enum
from importlib import import_module
from typing import Any

from ..arrays.torch_tensors import EAGER
from ..spec.formats import Format, as_format, is_named
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    MOST_RANDOM_BITS,
    PARAMETERS,
    STOCHASTIC,
    rounding_arguments,
)
from ..spec.scalar_arguments import shown
from . import quantized_arguments
from .torch_shapes import SEEDS

__all__ = [
    "SYMBOLS", "check_values_format", "constant", "fixed", "name_of", "named", "optional_name", "plan_quantize",
    "stand_ins", "to_torch_integers", "to_torch_rules",
]  # fmt: skip

torch: Any = import_module("torch")

constant = torch.compiler.assume_constant_result
"""What torch.compile calls once while it compiles: checks of what is no tensor."""


def fixed(value: Any) -> Any:
    """Return an argument, an integer itself where torch might have a symbol for it: a graph is for this one alone."""
    if isinstance(value, (tuple, list)):
        return tuple([fixed(one) for one in value])
    if torch.compiler.is_dynamo_compiling():
        return operator.index(value) if isinstance(value, int) and not isinstance(value, (bool, Enum)) else value
    return int(value) if isinstance(value, torch.SymInt) else value


@constant  # type: ignore[untyped-decorator]
def _constant_name(fmt: object, parameter: str) -> str:
    return named(as_format(fmt, parameter=parameter), parameter)


def name_of(fmt: object, parameter: str) -> Any:
    """Return the name of a format that a caller may name in any way."""
    return _constant_name(fixed(fmt), parameter)


def named(row: Format, parameter: str) -> str:
    """Return the name by which an operator finds a format again, or raise ValueError."""
    if not is_named(row):
        wanted = "a row of lowprec.formats, a format of IEEE P3109 or a registered one"
        raise ValueError(f"`{parameter}` must be {wanted} where torch traces; got {shown(row)}")
    return row.name


def optional_name(fmt: object, parameter: str) -> Any:
    """Return the name of a format, None where none is named."""
    is_integer = isinstance(fmt, int) and not isinstance(fmt, (bool, Enum))
    undefined = parameter in ("output_dtype", "precision") and is_integer and fmt == 0  # ONNX's "not given"
    return None if fmt is None or undefined else name_of(fmt, parameter)


SYMBOLS: dict[str, tuple[int, int, str, int]] = {
    "seed": (0, SEEDS, "2**64 - 1", 0),
    "random_bits": (1, MOST_RANDOM_BITS + 1, str(MOST_RANDOM_BITS), DEFAULT_RANDOM_BITS),
    "offset": (0, 1 << 63, "2**63 - 1", FIRST),
}
"""Options that may be symbols while torch compiles: their range, and what stands for them in checks of the others."""


def stand_ins(options: dict[str, Any]) -> dict[str, Any]:
    """Return what is checked for the random numbers of a call: they themselves where they are no symbols.

    Without a stochastic rounding they are an error unless they are the defaults, and need no code that is general.
    """
    if not torch.compiler.is_dynamo_compiling():
        return {name: options[name] for name in SYMBOLS}
    found = {}
    for name, (first, end, last, other) in SYMBOLS.items():
        value = options[name]
        if type(value) is int:
            if not first <= value < end:
                raise ValueError(f"`{name}` must be an integer from {first} to {last}; got {fixed(value)}")
            value = other if name == "seed" or options["rounding"] in STOCHASTIC else fixed(value)
        found[name] = value
    return found


def to_torch_integers(options: dict[str, Any]) -> None:
    """Put the upper half of the seeds where the integers of torch are negative."""
    seed = options["seed"]
    if not torch.compiler.is_dynamo_compiling():
        seed = None if seed is None else int(seed)
        options |= {"offset": int(options["offset"]), "random_bits": int(options["random_bits"])}
    if seed is not None:
        options["seed"] = seed - SEEDS if seed >= SEEDS // 2 else seed


@constant  # type: ignore[untyped-decorator]
def _check_rules(*rules: Any) -> Any:
    return rounding_arguments(*rules)[0]


def to_torch_rules(options: dict[str, Any]) -> None:
    """Check the rules beyond ONNX, where there are some, and make their numbers those of torch."""
    if "rounding" not in options:
        return
    checked = options | stand_ins(options)
    _check_rules(*[checked[name] for name in PARAMETERS])
    to_torch_integers(options)


@constant  # type: ignore[untyped-decorator]
def _plan_quantize(*arguments: Any) -> tuple[Any, ...]:
    EAGER["register_pytrees"]()  # where torch.compile reads no code
    to, *others = quantized_arguments.plan_quantize(*arguments)
    return to if isinstance(to, str) else named(to, "to"), *others


def plan_quantize(dtype: Any, rank: int, *arguments: Any) -> Any:
    """Return what the arguments of `lowprec.quantize` fix."""
    return _plan_quantize(dtype, rank, *fixed(arguments))


@constant  # type: ignore[untyped-decorator]
def _values_format(to: object) -> str:
    return quantized_arguments.check_values_format(to)


def check_values_format(to: object) -> Any:
    """Return the name of the format of dequantized values."""
    return _values_format(fixed(to))
