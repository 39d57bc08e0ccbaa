"""What lowprec knows of array libraries: which one an array belongs to, what holds a format there, its bytes."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import array_api_compat as compat
import numpy as np

from .formats import FORMATS, NUMBERS, Format, Kind, as_format

__all__ = [
    "carrier", "check_beside", "check_out", "extends", "format_of", "from_codes", "handed_over", "is_torch",
    "namespace", "native", "on_host", "reinterpret", "to_codes",
]  # fmt: skip


_known: dict[type, Any] = {np.ndarray: np}
"""The namespace of the array types met before, where it is one for all arrays of the type."""


def namespace(x: Any, parameter: str = "x") -> Any:
    """Return the array-API namespace of `x`; NumPy scalars count as 0-d arrays."""
    found = _known.get(type(x))
    if found is not None:
        return found
    refused = (type, bool, int, float, complex, type(None), np.ma.MaskedArray)  # whose mask would be lost silently
    if isinstance(x, (np.ndarray, np.generic)) and not isinstance(x, np.ma.MaskedArray):
        _known[type(x)] = np
        return np
    if not isinstance(x, refused) and compat.is_array_api_obj(x):
        found = compat.array_namespace(x)
        if is_torch(x):
            _known[type(x)] = found
        return found
    kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
    raise TypeError(f"`{parameter}` must be an array (NumPy, torch, or any array-API library); got {kind}")


def is_torch(x: Any) -> bool:
    """Whether `x` is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def on_host(x: Any) -> bool:
    """Whether the kernels can reach the memory of `x`: NumPy arrays, and dense torch tensors on the CPU."""
    if isinstance(x, (np.ndarray, np.generic)):
        return True
    if not is_torch(x):
        return False
    if x.is_quantized or x.is_meta or x.layout is not sys.modules["torch"].strided:
        kind = "quantized" if x.is_quantized else f"{x.layout} on {x.device}"
        raise TypeError(f"`x` must be a dense torch tensor with data; got one that is {kind}")
    return bool(x.device.type == "cpu")


@cache
def native(fmt: Format, xp: Any) -> Any | None:
    """Return the dtype that library `xp` itself has for the format, or None."""
    if compat.is_numpy_namespace(xp):
        return fmt.dtype
    name = fmt.torch_name if compat.is_torch_namespace(xp) else fmt.name
    found = getattr(xp, name, None) if name else None
    return None if found is None or isinstance(found, type(sys)) else found


def extends(fmt: Format, xp: Any) -> bool:
    """Whether the library holds the format's integers sign-extended in a wider type."""
    return fmt.is_integer and native(fmt, xp) is None


def carrier(fmt: object, xp: Any, /) -> Any:
    """Return the dtype in which library `xp` holds a format.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        Any alias of a format.
    xp : module
        An array library or array-API namespace: ``numpy``, ``torch``, ``array_api_strict``, …

    Returns
    -------
    dtype
        The library's own dtype for the format. Where it has none: an unsigned integer that holds the codes, or, for
        integers narrower than a byte, int8 or uint8 that holds the values.

    Raises
    ------
    ValueError
        If `fmt` is no format.
    TypeError
        If `fmt` is string and the library is not NumPy, which holds text as `str` objects.

    Notes
    -----
    Source: lowprec's own table, README "Carriers".

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.carrier("float8_e5m2", np)
    dtype(float8_e5m2)
    """
    row = as_format(fmt)
    if row.kind is Kind.STRING and not compat.is_numpy_namespace(xp):
        raise TypeError(f"text is held in NumPy arrays of str objects; {xp.__name__} has none")
    found = native(row, xp)
    if found is not None:
        return found
    prefix = "int" if row.is_integer and row.signed else "uint"
    return getattr(xp, f"{prefix}{row.storage_bits}")


def _held(dtype: Any) -> Format | None:
    if isinstance(dtype, np.dtype) and dtype.kind in "UTO":
        return next(row for row in FORMATS.values() if row.kind is Kind.STRING)
    try:
        return as_format(dtype)
    except ValueError:
        return None


def format_of(
    dtype: Any,
    source: object = None,
    names: tuple[str, str] = ("x", "source"),
    kinds: frozenset[Kind] = NUMBERS,
) -> Format:
    """Return the format an array holds: what its dtype says, or `source` where the dtype is only a carrier.

    `names` are the caller's parameters for the array and for `source`, `kinds` what the caller takes.
    """
    array, parameter = names
    held = _held(dtype)
    if held is None or held.kind not in kinds:
        more = {Kind.STRING: ", text", Kind.COMPLEX: ", complex numbers"}
        also = "".join(text for kind, text in more.items() if kind in kinds)
        raise TypeError(f"`{array}` must hold bools, integers, real floats{also}; got dtype {dtype}")
    if source is None:
        return held
    fmt = as_format(source, parameter=parameter)
    codes = held.is_integer and held.bits == fmt.storage_bits and (not held.signed or (fmt.is_integer and fmt.bits < 8))
    if held is not fmt and not codes:
        held_in = dict.fromkeys([fmt.name, *(["int8"] if fmt.is_integer and fmt.bits < 8 else []), fmt.code_dtype.name])
        wanted = " or ".join(held_in)
        raise ValueError(f"`{array}` must hold codes of `{parameter}` {fmt.name} in {wanted}; got dtype {dtype}")
    return fmt


@cache
def _torch_signed(width: int) -> Any:
    """Return torch's signed integer of a width: NumPy and every torch dtype can be viewed as it."""
    return getattr(sys.modules["torch"], f"int{width}")


def to_codes(x: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy view of host memory as unsigned integers of the same width, byte order and strides."""
    if isinstance(x, (np.ndarray, np.generic)):
        array = np.asarray(x)
        return array.view(f"u{array.dtype.itemsize}")
    width = 8 * x.itemsize
    x = x.detach() if x.requires_grad else x
    x = x.resolve_neg() if x.is_neg() else x
    found: np.ndarray[Any, Any] = x.view(_torch_signed(width)).numpy().view(f"u{width // 8}")
    return found


def from_codes(codes: np.ndarray[Any, Any], dtype: Any, like: Any) -> Any:
    """Hand unsigned codes to the library of `like` as its own `dtype`, without a copy."""
    if not is_torch(like):
        return codes.view(dtype)
    return sys.modules["torch"].from_numpy(codes.view(f"i{codes.dtype.itemsize}")).view(dtype)


def reinterpret(x: Any, fmt: Format, xp: Any) -> Any:
    """Return `x` as the library's dtype for a format of the same width, from 8 bits up: a view where one can be had."""
    dtype = carrier(fmt, xp)
    if xp is np:
        array = np.asarray(x)
        if not array.dtype.isnative:
            array = array.byteswap().view(array.dtype.newbyteorder("="))
        return array.view(dtype)
    if is_torch(x):
        return x.detach().view(dtype)
    if hasattr(x, "view"):
        return x.view(dtype)
    try:
        host = np.from_dlpack(x)
    except (AttributeError, TypeError, RuntimeError, BufferError) as error:
        raise TypeError(f"`x` must let its bits be seen; {xp.__name__} has no view and no DLPack ({error})") from None
    return xp.asarray(host.view(fmt.dtype if native(fmt, xp) is not None else fmt.code_dtype))


def check_beside(other: Any, x: Any, parameter: str) -> None:
    """Raise unless `other` is an array of the library and on the device of `x`."""
    xp, wanted = namespace(other, parameter), namespace(x)
    if xp is not wanted:
        raise TypeError(f"`{parameter}` must be an array of {wanted.__name__}, as `x` is; got one of {xp.__name__}")
    if xp is not np and compat.device(other) != compat.device(x):
        raise ValueError(f"`{parameter}` must be on {compat.device(x)}, as `x` is; got {compat.device(other)}")


def handed_over(codes: np.ndarray[Any, Any], fmt: Format, like: Any) -> Any:
    """Return a small NumPy array of unsigned codes in the library of `like`, on its device, in its carrier."""
    xp = namespace(like)
    if xp is np:
        return codes.view(fmt.dtype)
    device = compat.device(like)
    if native(fmt, xp) is None:
        sign = fmt.sign_mask if extends(fmt, xp) else 0
        values = (codes.astype(np.int64) ^ sign) - sign
        return xp.asarray(values.tolist(), dtype=carrier(fmt, xp), device=device)
    if is_torch(like):
        return from_codes(codes, native(fmt, xp), like).to(device)
    return xp.asarray(
        codes.view(fmt.dtype).astype(np.float64 if fmt.is_float else fmt.dtype).tolist(),
        dtype=native(fmt, xp),
        device=device,
    )


def check_out(out: Any, like: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise unless `out` can take a result of that shape and dtype, beside the input `like`."""
    xp, wanted = namespace(out, "out"), namespace(like)
    if xp is not wanted:
        raise TypeError(f"`out` must be an array of {wanted.__name__}, as `x` is; got one of {xp.__name__}")
    same = out.dtype.newbyteorder("=") == dtype if xp is np else out.dtype == dtype
    if tuple(out.shape) != tuple(shape) or not same:
        raise ValueError(f"`out` must have shape {tuple(shape)} and dtype {dtype}; got {tuple(out.shape)}, {out.dtype}")
    if xp is not np and compat.device(out) != compat.device(like):
        raise ValueError(f"`out` must be on {compat.device(like)}, as `x` is; got {compat.device(out)}")
    if isinstance(out, np.generic) or (isinstance(out, np.ndarray) and not out.flags.writeable):
        raise ValueError("`out` must be writable; got a read-only array")
    if is_torch(out) and out.requires_grad:
        raise ValueError("`out` must not require gradients; got requires_grad=True")
