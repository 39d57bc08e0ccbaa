"""Low-precision numbers, bit for bit as ONNX defines them, on arrays of NumPy, torch, JAX, Dask and other libraries.

    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([0.3, -1000.0, np.inf], np.float32)
    >>> y = lp.cast(x, "float8_e4m3fn")  # to a format by its name; lp.formats lists them
    >>> y.tolist()
    [0.3125, -448.0, 448.0]
    >>> lp.encode(x, "float4_e2m1fn").tolist()  # codes, as unsigned integers; decode takes them back
    [1, 15, 7]
    >>> q = lp.quantize(x[:2], "int8")  # codes with the scales that it finds
    >>> q.codes.tolist(), q.dequantize().tolist()
    ([0, -127], [0.0, -1000.0])

`explain` says why a number becomes a code; `finfo` and `iinfo` what a format holds. `lp.checkpoints` reads, converts
and checks files, `lp.loss` counts what a conversion loses, `lp.onnx` runs models (it needs the onnx package),
`lp.reference` has every conversion in exact fractions, and `lp.teaching` calculates with them: sums, chains of casts,
errors.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _instruction_set_choice as _instruction_set_choice  # the first import: it decides what `_kernels` is
from .arrays.storage_dtypes import storage_dtype
from .backends.build_info import build_info
from .backends.threads import get_num_threads, set_num_threads
from .ops.cast import bitcast, cast, cast_like
from .ops.dynamic_quantize_linear import dynamic_quantize_linear
from .ops.encode_pack import decode, encode, pack, unpack
from .ops.mx import mx_dequantize, mx_quantize
from .ops.nvfp4 import nvfp4_dequantize, nvfp4_quantize
from .ops.quantize import Quantized, dequantize, quantize
from .ops.quantize_linear import dequantize_linear, quantize_linear
from .ops.random_numbers import stochastic_bits
from .ops.scales import absmax_scale, minmax_scale
from .ops.to_library import to_jax, to_numpy, to_torch
from .spec.custom_formats import float_format, register
from .spec.finfo import finfo, iinfo
from .spec.formats import FORMATS as formats  # noqa: N811  the public name, a mapping like a module's
from .spec.formats import Format, as_format
from .spec.old_names import find_moved as _find_moved
from .spec.rounding_modes import ROUNDING_TABLE as roundings  # noqa: N811  as `formats`

if _TYPE_CHECKING:
    from . import checkpoints as checkpoints
    from . import loss as loss
    from . import onnx as onnx
    from . import reference as reference
    from . import teaching as teaching
    from .checkpoints import convert
    from .conformance.own_cast import compare
    from .explanation import explain

    __version__: str

__all__ = [
    "Format",
    "Quantized",
    "absmax_scale",
    "as_format",
    "bitcast",
    "build_info",
    "cast",
    "cast_like",
    "compare",
    "convert",
    "decode",
    "dequantize",
    "dequantize_linear",
    "dynamic_quantize_linear",
    "encode",
    "explain",
    "finfo",
    "float_format",
    "formats",
    "get_num_threads",
    "iinfo",
    "minmax_scale",
    "mx_dequantize",
    "mx_quantize",
    "nvfp4_dequantize",
    "nvfp4_quantize",
    "pack",
    "quantize",
    "quantize_linear",
    "register",
    "roundings",
    "set_num_threads",
    "stochastic_bits",
    "storage_dtype",
    "to_jax",
    "to_numpy",
    "to_torch",
    "unpack",
]


_PACKAGES = ("checkpoints", "loss", "onnx", "reference", "teaching")
"""The public packages, imported at their first use: together they take longer than lowprec."""

_HOMES = {"compare": "conformance.own_cast", "convert": "checkpoints", "explain": "explanation"}
"""Where functions are that are imported at their first use."""

_OLD = {
    "carrier": "lowprec.storage_dtype",
    "npy": "lowprec.checkpoints.containers.array_files",
}
_OF_NPY = "read_array and write_array of lowprec.checkpoints"


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, *_PACKAGES, "__version__"])


if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public package, the version, or what `_HOMES` names at its first use; old names work, and warn."""
        if name == "__version__":
            from importlib.metadata import version

            return version("lowprec")
        home = _HOMES.get(name, name)
        if home not in (*_PACKAGES, *_HOMES.values()):
            return _find_moved(__name__, name, _OLD, _OF_NPY if name == "npy" else None)
        import importlib

        try:  # `from . import` would come here again
            found = importlib.import_module(f".{home}", __name__)
        except ImportError as error:  # what lowprec.onnx needs: `help`, `hasattr` and the like go on without it
            raise AttributeError(str(error)) from error
        return getattr(found, name) if name in _HOMES else found
