"""Wrong calls made of right ones: one argument is replaced, and the message must name it."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

import lowprec as lp
from support.random_calls.calls import Call, Out
from support.random_calls.memory import Memory, draw_geometry, view

Rng = np.random.Generator

WRONG: dict[str, tuple[object, ...]] = {
    "saturate": ("yes", None, 2, 1.0), "round_mode": ("sideways", 1, True, ()), "opset": (0, 29, -1, "28", 2.5, None),
    "rounding": ("nearest", 3, ["to_odd"], ""), "overflow": ("wrap", 1, ()), "nan": ("quiet", 0, b"zero"),
    "random_bits": (0, 33, "16", None, 1.5), "offset": (-1, 2**63, "0", None, 0.5),
    "source": ("float33", 999, object(), 1.5), "axis": (7, -9, "0", 0.5, (0, 0), (0, 1, 2)),
    "block_size": (-1, "32", 1.5, (1, 2, 3)), "precision": ("int8", 99), "output_dtype": ("float33", 99, 1.5),
    "packed": (2, "yes", None), "scale_rule": ("ceiling", 1, ()), "specials": ("keep", None, 1),
    "swizzled": (2, "no", None), "scale_format": ("float33", 99),
}  # fmt: skip
"""Values that a parameter never takes, whatever the others are."""

_ARRAYS = (None, [1.0, 2.0], "1.0", object(), {"x": 1})


def _wrong_out(rng: Rng, call: Call) -> bool:
    """Give the call an `out` of another shape or dtype, or one that cannot be written; return whether it has one."""
    if len(call.expected) != 1 or "out" not in inspect.signature(call.function).parameters:
        return False
    expected = call.expected[0]
    shape, dtype = expected.codes.shape, np.dtype(expected.dtype)
    kind = int(rng.integers(4))
    if kind == 0:
        shape = (*shape, 1) if rng.random() < 0.5 else (*shape[:-1], shape[-1] + 1) if shape else (2,)
    elif kind == 1:
        dtype = np.dtype(np.complex64 if rng.random() < 0.5 else f"V{dtype.itemsize}")
    elif kind == 3 and math.prod(shape) < 2:
        return False
    geometry = draw_geometry(rng, shape, dtype.itemsize, "C")
    if kind == 3:  # elements that share their memory
        geometry = geometry._replace(strides=(0,) * len(shape))
    memory = Memory(rng, geometry.extent)
    array = view(memory, geometry, dtype)
    if kind == 2:
        array.flags.writeable = False
    call.kwargs["out"], call.outs, call.refused = array, [Out(array, memory, geometry)], "out"
    return True


def make_wrong(rng: Rng, call: Call) -> None:
    """Replace one argument by a wrong one."""
    parameters = inspect.signature(call.function).parameters
    choice = rng.random()
    if choice < 0.25 and _wrong_out(rng, call):
        return
    if choice < 0.4 and call.placed and isinstance(call.args[0], np.ndarray):
        first = next(iter(parameters))
        call.args = (_ARRAYS[int(rng.integers(len(_ARRAYS)))], *call.args[1:])
        call.refused = first
        return
    keyword = inspect.Parameter.KEYWORD_ONLY
    names = [name for name in WRONG if name in parameters and parameters[name].kind is keyword]
    if call.function is lp.quantize_linear and len(call.args) < 3 and "output_dtype" not in call.kwargs:
        names.remove("opset")  # under a wrong one the missing type is wrong too
    if not names:
        return
    name = names[int(rng.integers(len(names)))]
    value: Any = WRONG[name][int(rng.integers(len(WRONG[name])))]
    call.kwargs[name], call.refused = value, name
