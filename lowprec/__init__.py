r"""lowprec: ONNX's low-precision conversions, bit-exact, on the array the caller holds.

A format is a row, a conversion is a plan, a kernel knows neither:

    ops -> plans -> backends -> _kernels   (host memory: NumPy, torch and JAX on the CPU)
                           \-> CUDA, Dask, text, array-API calls (any other library)
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _kernel_choice as _kernel_choice  # the first import: it decides what `_kernels` is
from .arrays.libraries import storage_dtype
from .backends.build_info import build_info
from .backends.thread_count import get_num_threads, set_num_threads
from .ops.blocks import mx_dequantize, mx_quantize
from .ops.cast import bitcast, cast, cast_like
from .ops.codes import decode, encode, pack, unpack
from .ops.interchange import to_numpy, to_torch
from .ops.nvfp4 import nvfp4_dequantize, nvfp4_quantize
from .ops.quantize import dequantize_linear, dynamic_quantize_linear, quantize_linear
from .ops.random_numbers import stochastic_bits
from .ops.scales import absmax_scale, minmax_scale
from .reference.explanation import explain
from .spec.described_formats import float_format, register
from .spec.finfo import finfo, iinfo
from .spec.formats import FORMATS as formats  # noqa: N811  the public name, a mapping like a module's
from .spec.formats import Format, as_format
from .spec.old_names import find_moved as _find_moved

if _TYPE_CHECKING:
    from . import checkpoints as checkpoints
    from .checkpoints import convert

__version__ = _version("lowprec")
__all__ = [
    "Format",
    "absmax_scale",
    "as_format",
    "bitcast",
    "build_info",
    "cast",
    "cast_like",
    "convert",
    "decode",
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
    "quantize_linear",
    "register",
    "set_num_threads",
    "stochastic_bits",
    "storage_dtype",
    "to_numpy",
    "to_torch",
    "unpack",
]


_OLD = {
    "carrier": "lowprec.storage_dtype",
    "npy": "lowprec.checkpoints.containers.array_files",
}
_OF_NPY = "read_array and write_array of lowprec.checkpoints"


def __getattr__(name: str) -> object:
    """Return `convert` or `checkpoints` at its first use: importing them takes a third of the time that lowprec takes.

    Old names still work and warn.
    """
    if name not in ("checkpoints", "convert"):
        return _find_moved(__name__, name, _OLD, _OF_NPY if name == "npy" else None)
    import importlib

    checkpoints = importlib.import_module(".checkpoints", __name__)  # `from . import` would come here again
    return checkpoints if name == "checkpoints" else checkpoints.convert
