"""TensorProto to array and back: every type, packed as raw_data or in the typed fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ..arrays.storage_dtypes import format_of
from ..ops.encode_pack import pack, unpack
from ..spec.formats import NUMBERS, Format, Kind, as_format
from ..spec.packing import packed_bytes

__all__ = ["KINDS", "from_array", "to_array"]

KINDS = NUMBERS | {Kind.STRING, Kind.COMPLEX}
"""The kinds a TensorProto holds: all there are."""


def to_array(tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
    """Return the array that a TensorProto holds, every code as it is.

    Values are not looked at: NaN payloads, -0 and codes without a value stay as they are.

    Parameters
    ----------
    tensor : TensorProto
        Of any type but UNDEFINED; its elements in `raw_data`, or in the field that ONNX names for the type.

    Returns
    -------
    ndarray
        A new array of the tensor's shape, with the dtype `lowprec.storage_dtype` says for NumPy: ml_dtypes for the
        formats that NumPy lacks, `str` objects for strings.

    Raises
    ------
    TypeError
        If `tensor` is no TensorProto.
    ValueError
        If the tensor has no type, a shape that its elements do not fill, an entry that is no code of its type, text
        that is not UTF-8, or elements in another file or in segments.

    Notes
    -----
    Source: ``onnx.proto``, TensorProto. Load external data with ``onnx.load`` first.

    Examples
    --------
    >>> import lowprec.onnx
    >>> import onnx
    >>> packed = onnx.TensorProto(data_type=onnx.TensorProto.FLOAT4E2M1, dims=[3], raw_data=bytes([0xF1, 0x03]))
    >>> lowprec.onnx.to_array(packed).tolist()
    [0.5, -6.0, 1.5]
    """
    if not isinstance(tensor, onnx.TensorProto):
        raise TypeError(f"`tensor` must be an onnx.TensorProto; got {type(tensor).__name__}")
    if tensor.data_type == onnx.TensorProto.UNDEFINED:
        raise ValueError("`tensor` must have a data type; got UNDEFINED")
    fmt = as_format(tensor.data_type, parameter="tensor.data_type")
    shape = tuple(tensor.dims)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ValueError("`tensor` must hold its elements; got external data (onnx.load reads it into the model)")
    if tensor.HasField("segment") or min(shape, default=0) < 0:
        raise ValueError(f"`tensor` must be whole and of lengths 0 or more; got a segment, or shape {shape}")
    if fmt.kind is Kind.STRING:
        return _strings(tensor, fmt, shape)
    count = math.prod(shape)
    if tensor.HasField("raw_data"):
        _check_length("raw_data", len(tensor.raw_data), packed_bytes(count, fmt), "bytes", fmt, shape)
        return _from_bytes(tensor.raw_data, fmt, shape)
    return _from_field(tensor, fmt, shape, count)


def _check_length(field: str, got: int, wanted: int, unit: str, fmt: Format, shape: tuple[int, ...]) -> None:
    if got != wanted:
        raise ValueError(f"`{field}` must hold {wanted} {unit} for shape {shape} of {fmt.onnx_name}; got {got}")


def _strings(tensor: onnx.TensorProto, fmt: Format, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    _check_length("string_data", len(tensor.string_data), math.prod(shape), "strings", fmt, shape)
    strings = np.empty(len(tensor.string_data), object)
    for index, text in enumerate(tensor.string_data):
        try:
            strings[index] = text.decode()
        except UnicodeDecodeError:
            raise ValueError(f"`string_data` must be UTF-8; got {text[:60]!r} at index {index}") from None
    return strings.reshape(shape)


def _from_bytes(raw: bytes, fmt: Format, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if fmt.bits < 8:
        array: np.ndarray[Any, Any] = unpack(np.frombuffer(raw, np.uint8), fmt, shape)
        return array
    words = fmt.dtype if fmt.kind is Kind.COMPLEX else fmt.code_dtype
    return np.frombuffer(raw, words.newbyteorder("<")).astype(words).view(fmt.dtype).reshape(shape)


def _from_field(tensor: onnx.TensorProto, fmt: Format, shape: tuple[int, ...], count: int) -> np.ndarray[Any, Any]:
    field = helper.tensor_dtype_to_field(fmt.onnx_enum)
    entries = getattr(tensor, field)
    if fmt.kind is Kind.COMPLEX or field in ("float_data", "double_data"):
        parts = 2 if fmt.kind is Kind.COMPLEX else 1
        _check_length(field, len(entries), parts * count, "entries", fmt, shape)
        return np.array(entries, f"f{fmt.bits // 8 // parts}").view(fmt.dtype).reshape(shape)
    packed = fmt.bits in (2, 4)  # an entry is a byte of packed codes; a 6-bit code has an entry of its own
    _check_length(field, len(entries), packed_bytes(count, fmt) if packed else count, "entries", fmt, shape)
    bits = 8 if packed else fmt.bits
    words = np.array(entries, np.uint64 if field == "uint64_data" else np.int64)
    lowest = -(1 << (bits - 1)) if bits % 8 == 0 and words.dtype.kind == "i" else 0  # a sign may be extended
    highest = min((1 << bits) - 1, np.iinfo(words.dtype).max)
    wrong = np.flatnonzero((words < lowest) | (words > highest))
    if wrong.size:
        raise ValueError(
            f"`{field}` must hold numbers from {lowest} to {highest} for {fmt.onnx_name}; "
            f"got {words[wrong[0]]} at index {wrong[0]}"
        )
    codes = words.astype(np.uint8 if packed else fmt.code_dtype)
    array: np.ndarray[Any, Any] = unpack(codes, fmt, shape) if packed else codes.view(fmt.dtype).reshape(shape)
    return array


def from_array(array: Any, name: str | None = None, *, source: object = None) -> onnx.TensorProto:
    """Return the TensorProto of an array, every code as it is.

    Values are not looked at: NaN payloads, -0 and codes without a value stay as they are.

    Parameters
    ----------
    array : ndarray
        A NumPy array of any shape, strides and byte order, of any dtype of NumPy or ml_dtypes that ONNX has; or text,
        as `lowprec.cast` takes it.
    name : str, optional
        The name of the tensor.
    source : str, int, dtype or Format, optional
        The format of `array` where its dtype only carries the codes (uint8, uint16, …); 2-, 4- and 6-bit codes are
        one to an element.

    Returns
    -------
    TensorProto
        The elements in `raw_data`, little-endian, 2-, 4- and 6-bit codes packed; strings in `string_data`.

    Raises
    ------
    TypeError
        If `array` is no NumPy array, or holds what ONNX has no type for.
    ValueError
        If `source` is no format, does not fit the dtype or is no type of ONNX, or a text has no UTF-8.

    Notes
    -----
    Source: ``onnx.proto``, TensorProto.

    Examples
    --------
    >>> import lowprec as lp
    >>> import lowprec.onnx
    >>> import numpy as np
    >>> tensor = lowprec.onnx.from_array(lp.cast(np.array([0.5, -6.0, 1.5]), "float4_e2m1fn"), "w")
    >>> tensor.name, tensor.data_type, tensor.raw_data.hex()
    ('w', 23, 'f103')
    """
    if not isinstance(array, (np.ndarray, np.generic)) or isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"`array` must be a NumPy array; got {type(array).__name__}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"`name` must be a str or None; got {type(name).__name__}")
    array = np.asarray(array)
    fmt = format_of(array.dtype, source, ("array", "source"), KINDS)
    if fmt.onnx_enum is None and source is None:
        raise TypeError(f"`array` must hold what ONNX has a type for; got dtype {array.dtype}")
    if fmt.onnx_enum is None:
        raise ValueError(f"`source` must be a format that ONNX has a type for; got {fmt.name}")
    tensor = onnx.TensorProto(dims=array.shape, data_type=fmt.onnx_enum, name=name)
    if fmt.kind is Kind.STRING:
        tensor.string_data.extend(_encoded(array))
    elif fmt.bits < 8:
        tensor.raw_data = pack(array, fmt).tobytes()
    else:
        tensor.raw_data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return tensor


def _encoded(array: np.ndarray[Any, Any]) -> list[bytes]:
    encoded = []
    for index, text in enumerate(array.ravel().tolist()):
        if not isinstance(text, str):
            raise TypeError(f"`array` must hold str objects; got {type(text).__name__} at index {index}")
        try:
            encoded.append(text.encode())
        except UnicodeEncodeError:
            raise ValueError(f"`array` must hold text that has UTF-8; got {text[:60]!r} at index {index}") from None
    return encoded
