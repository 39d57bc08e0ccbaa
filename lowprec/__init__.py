r"""lowprec: ONNX's low-precision conversions, bit-exact, on the array the caller holds.

A format is a row, a conversion is a plan, a kernel knows neither:

    ops -> plans -> backends -> _kernels   (host memory: NumPy, torch and JAX on the CPU)
                           \-> CUDA, Dask, text, array-API calls (any other library)
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _kernel_choice as _kernel_choice  # the first import: it decides what `_kernels` is
from .arrays.libraries import carrier
from .backends.build_info import build_info
from .backends.thread_count import get_num_threads, set_num_threads
from .ops.blocks import mx_dequantize, mx_quantize
from .ops.cast import bitcast, cast, cast_like
from .ops.codes import decode, encode, pack, unpack
from .ops.interchange import to_jax, to_numpy, to_torch
from .ops.nvfp4 import nvfp4_dequantize, nvfp4_quantize
from .ops.quantize import dequantize_linear, dynamic_quantize_linear, quantize_linear
from .ops.quantized import Quantized, dequantize, quantize
from .ops.random_numbers import stochastic_bits
from .ops.scales import absmax_scale, minmax_scale
from .reference.explanation import explain
from .spec.described_formats import float_format, register
from .spec.finfo import finfo, iinfo
from .spec.formats import FORMATS as formats  # noqa: N811  the public name, a mapping like a module's
from .spec.formats import Format, as_format

if _TYPE_CHECKING:
    from . import checkpoints as checkpoints
    from .checkpoints import convert
    from .conformance.own_cast import compare

__version__ = _version("lowprec")
__all__ = [
    "Format",
    "Quantized",
    "absmax_scale",
    "as_format",
    "bitcast",
    "build_info",
    "carrier",
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
    "set_num_threads",
    "stochastic_bits",
    "to_jax",
    "to_numpy",
    "to_torch",
    "unpack",
]


def __getattr__(name: str) -> object:
    """Return `compare`, `convert` or `checkpoints` at its first use: to import them takes as long as half of lowprec.

    `lowprec.npy`, as the documentation once named it, still works and warns.
    """
    if name == "npy":
        import warnings

        from .checkpoints.containers import array_files

        text = "lowprec.npy is read_array and write_array of lowprec.checkpoints now"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return array_files
    if name not in ("checkpoints", "compare", "convert"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "compare":
        return importlib.import_module(".conformance.own_cast", __name__).compare
    checkpoints = importlib.import_module(".checkpoints", __name__)  # `from . import` would come here again
    return checkpoints if name == "checkpoints" else checkpoints.convert
