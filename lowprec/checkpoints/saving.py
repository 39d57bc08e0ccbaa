"""Saving arrays of any library under their names: `save`, in the files that `convert` writes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.libraries import format_of, namespace
from ..ops.codes import pack
from ..ops.interchange import held_codes
from ..ops.quantized import Quantized
from ..ops.quantized_parts import parts_of
from ..spec.formats import FLOAT32, Format, as_format
from ..spec.packing import is_packable, packed_bytes
from ..spec.scalar_arguments import as_flag, as_path, shown
from .containers.container import OutputTensor
from .containers.npy_file import arrange_npy
from .containers.npz_archive import arrange_archive
from .containers.safetensors_file import METADATA, SUFFIX, arrange_safetensors
from .containers.target import check_new_file
from .containers.tensors import InMemory, StoredTensor
from .element_rules import SCALE_SUFFIX
from .files.atomic_output import Staging, check_space
from .files.output_files import OutputFiles
from .files.renaming import rename_file
from .layouts.scaled import GLOBAL_SUFFIX, ZERO_SUFFIX
from .quantized_tensors import stored_scales

__all__ = ["save"]

Array = np.ndarray[Any, Any]

SUFFIXES = (SUFFIX, ".npz", ".npy")


@dataclass(frozen=True, slots=True)
class _Part:
    """A tensor to be written: its array, of any library, and the parameter that gave it."""

    name: str
    array: Any
    fmt: Format
    parameter: str
    axis: int | None = None
    block: tuple[int, int] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def output(self, packs: bool) -> OutputTensor:
        """Return what containers know of it."""
        n = math.prod(self.shape)
        nbytes = packed_bytes(n, self.fmt) if packs and is_packable(self.fmt) else n * self.fmt.storage_bits // 8
        origin = StoredTensor(self.name, self.shape, self.fmt, self.fmt.name, InMemory(b""))
        return OutputTensor(self.name, self.shape, self.fmt, nbytes, origin, "codes", axis=self.axis, block=self.block)

    def content(self, packs: bool) -> Array:
        """Return its bytes."""
        if isinstance(self.array, Quantized):
            codes = parts_of(self.array, self.parameter).codes
        else:
            codes = held_codes(self.array, self.fmt, self.parameter)
        if packs and is_packable(self.fmt):
            return np.asarray(pack(codes, self.fmt))
        return np.ascontiguousarray(codes).reshape(-1).view(np.uint8)


def save(
    path: str | os.PathLike[str],
    arrays: Any,
    *,
    source: object = None,
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> None:
    """Save arrays under their names to a .safetensors, .npz or .npy file, every bit as it is.

    `open`, `inspect` and `convert` know the formats of the result. The file is written aside, and renamed when it is
    whole and on the disk.

    Parameters
    ----------
    path : path
        The file; the end of its name says which kind. Links are followed. An .npy file takes one array of a dtype that
        NumPy itself has.
    arrays : mapping of str to array or Quantized
        The arrays by name, of any library, shape and strides: bools, integers and floats of any format. Dask arrays are
        computed, one after the other; arrays on other devices are copied to the host. For .npy the array itself, or a
        mapping of one, whose name the file does not keep. What `lowprec.quantize` made becomes codes ``W`` and scales
        ``W_scale``, as ``convert(scale=...)`` names them, with zero points ``W_zero_point`` or a second scale
        ``W_global_scale`` where it has them, and `open` reads its values: one scale for all, one to each index of an
        axis, or blocks along the last axis; in .safetensors, whose metadata tell them, also blocks along the last axis
        but one, and tiles of the last two.
    source : mapping of str to format, optional
        The formats of arrays whose dtype only carries the codes (uint8, uint16, int8), by the names of the arrays; for
        one array without a name its format.
    metadata : mapping of str to str, optional
        .safetensors: texts for the header. transformers reads files with ``{"format": "pt"}``.
    overwrite : bool
        Replace an existing file, which is an error otherwise.

    Raises
    ------
    FileError
        If the file exists, or cannot be written; if the format of an array has no place in an .npy file.
    TypeError
        If `arrays` is no such mapping, or an array holds text, complex numbers, or nothing (JAX's tracers).
    ValueError
        If `path` has another end, a name cannot be written, or `source` does not go with the dtype of an array; if
        `open` could not tell which codes share a scale.

    Notes
    -----
    NaN payloads, -0 and Inf stay as they are; nothing is out of range. A .safetensors file packs codes of 2, 4 and 6
    bits; formats that it has no type for are U8 or U16 tensors, and its metadata name them. An .npz archive holds one
    code a byte, or two, where NumPy has no dtype; the comment of the member names the format. Scales of codes ``W`` are
    known by the name ``W_scale``: `open` then multiplies.

    Source: the safetensors format, and NumPy's.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import lowprec as lp
    >>> w = lp.cast(np.array([[0.3, -2.0], [1.0, 6.0]]), "float4_e2m1fn")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lp.checkpoints.save(f"{folder}/w.safetensors", {"w": w, "bias": np.zeros(2, np.float32)})
    ...     with lp.checkpoints.open(f"{folder}/w.safetensors") as checkpoint:
    ...         checkpoint.read("w"), checkpoint.info("w").nbytes
    (array([[0.5, -2],
           [1, 6]], dtype='float4_e2m1fn'), 2)
    """
    target, replace = _target(path), as_flag(overwrite, "overwrite")
    if metadata is not None and target.suffix != SUFFIX:
        raise ValueError(f"`metadata` must be None unless `path` ends in {SUFFIX}; got {shown(metadata)}")
    texts = _texts(metadata)
    parts = _parts(arrays, source, target)
    packs = target.suffix == SUFFIX
    real = check_new_file(target, replace)
    outputs = [part.output(packs) for part in parts]
    files = _arrange(outputs, target, texts)
    check_space(files, real)
    with Staging(files, real, replace, target) as staging:
        for part, slot in zip(parts, files.slots, strict=True):
            staging.write(slot, part.content(packs))
        staging.seal()
        staging.publish(rename_file)


def _target(path: object) -> Path:
    target = as_path(path, "path")
    if target.suffix not in SUFFIXES:
        raise ValueError(f"`path` must end in {', '.join(SUFFIXES)}; got {shown(str(path))}")
    return target


def _texts(metadata: object) -> dict[str, str]:
    texts = {} if metadata is None else metadata
    if not isinstance(texts, Mapping) or not all(isinstance(one, str) for pair in texts.items() for one in pair):
        raise TypeError(f"`metadata` must be a mapping of texts to texts; got {shown(metadata)}")
    return dict(texts)


def _arrange(outputs: Sequence[OutputTensor], target: Path, metadata: Mapping[str, str]) -> OutputFiles:
    if target.suffix == SUFFIX:
        return arrange_safetensors(outputs, target, metadata)
    return (arrange_archive if target.suffix == ".npz" else arrange_npy)(outputs, target)


def _parts(arrays: object, source: object, target: Path) -> list[_Part]:
    """Return what is to be written; everything is checked but the elements."""
    if not isinstance(arrays, Mapping):
        if target.suffix != ".npy":
            kind = type(arrays).__name__
            raise TypeError(f"`arrays` must be a mapping of names to arrays for {target.suffix} files; got {kind}")
        return [_part(target.stem, arrays, source, "arrays", "source")]
    if target.suffix == ".npy":
        if len(arrays) != 1:
            raise ValueError(f"`arrays` must be one array for an .npy file; got {len(arrays)}")
        if isinstance(next(iter(arrays.values())), Quantized):
            raise TypeError("`arrays` must be an array for an .npy file; got a Quantized: name an .npz file")
    formats = {} if source is None else source
    if not isinstance(formats, Mapping):
        raise TypeError(f"`source` must be a mapping of names to formats where `arrays` is one; got {shown(source)}")
    for name in formats:
        if name not in arrays:
            raise ValueError(f"`source` must have names that `arrays` has; got {shown(name)}")
    return list(_named_parts(arrays, formats, target.suffix == SUFFIX))


def _named_parts(arrays: Mapping[Any, Any], formats: Mapping[Any, object], packs: bool) -> Iterator[_Part]:
    for name, array in arrays.items():
        _check_name(name)
        place = f"[{shown(name)}]"
        if not isinstance(array, Quantized):
            yield _part(name, array, formats.get(name), f"arrays{place}", f"source{place}")
            continue
        if name in formats:
            raise ValueError(f"`source{place}` must be None for a quantized array; got {shown(formats[name])}")
        for suffix, what in ((SCALE_SUFFIX, "scales"), (ZERO_SUFFIX, "zero points"), (GLOBAL_SUFFIX, "global scale")):
            if name + suffix in arrays:
                raise ValueError(f"`arrays` must not have {shown(name + suffix)} too, the {what} of {shown(name)}")
        yield _Part(name, array, array.format, f"arrays{place}")
        found = stored_scales(array, packs, f"arrays{place}")
        yield _Part(name + SCALE_SUFFIX, found.scale, found.format, f"arrays{place}", found.axis, found.block)
        if array.zero_point is not None:
            zeros = held_codes(array.zero_point, array.format, f"arrays{place}").reshape(found.scale.shape)
            yield _Part(name + ZERO_SUFFIX, zeros, array.format, f"arrays{place}")
        if array.global_scale is not None:
            factor = held_codes(array.global_scale, FLOAT32, f"arrays{place}")
            yield _Part(name + GLOBAL_SUFFIX, factor, FLOAT32, f"arrays{place}")


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"`arrays` must have texts for names; got {shown(name)}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`arrays` must have names that UTF-8 can write; got {ascii(name)[:80]}") from None
    if "\0" in name or name == METADATA:
        raise ValueError(f"`arrays` must have names that a file can hold; got {ascii(name)[:80]}")


def _part(name: str, array: Any, source: object, parameter: str, source_parameter: str) -> _Part:
    if isinstance(array, Quantized):
        raise TypeError(f"`{parameter}` must be an array for an .npy file; got a Quantized: name an .npz file")
    namespace(array, parameter)
    named = None if source is None else as_format(source, parameter=source_parameter)
    fmt = format_of(array.dtype, named, (parameter, source_parameter))
    if any(isinstance(length, float) for length in array.shape):
        raise ValueError(f"`{parameter}` must have known lengths; got {array.shape}: call `.compute_chunk_sizes()`")
    return _Part(name, array, fmt, parameter)
