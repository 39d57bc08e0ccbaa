"""ONNX models: initialisers, in the file or in external data, read and written in chunks.

What is no weight goes through the onnx package. Initialisers can be converted, those in the bodies of If, Loop and Scan
too, and Constants of several numbers, also in functions. Other tensors stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ops.encode_pack import pack
from ...spec.formats import FORMATS, NUMERIC, Format, Kind
from ..files.atomic_output import OutputFile, OutputFiles, Slot, file_identity, rename_new, replace_existing
from ..files.errors import FileError, reason
from ..memory_limit import DEFAULT, Limits
from .container import FileRegion, InMemory, Location, OutputTensor, StoredTensor, check_distinct
from .onnx_graph import Revised, find_inner, revise, tensors_in
from .onnx_protobuf import (
    GRAPH,
    INITIALIZER,
    LARGEST,
    RAW,
    data_name,
    find_fields,
    is_external,
    is_ours,
    key,
    nbytes_of,
    region_of,
    split_model,
)

if TYPE_CHECKING:
    import onnx

__all__ = ["OnnxModel"]


ALIGNMENT = 4096
"""External tensors start at whole pages, so that they can be mapped."""

CODES = "_codes"
"""What is added to the name of an initialiser that has become codes: its own name is that of a node's result then."""

_BY_ENUM = {fmt.onnx_enum: fmt for fmt in FORMATS.values() if fmt.onnx_enum is not None}


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise FileError("ONNX models need the onnx package: pip install 'lowprec[onnx]'") from None
    return onnx


_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
"""Where a tensor may have its elements besides `raw_data` and a file of their own."""


def _check_fields(tensor: onnx.TensorProto, name: str, has_raw: bool) -> None:
    """Raise ValueError for a tensor that has its elements more than once: readers differ in which they take."""
    found = [name for name in _FIELDS if len(getattr(tensor, name))]
    found = ["external data"] * is_external(tensor) + ["raw_data"] * has_raw + found
    if len(found) > 1:
        raise ValueError(f"tensor {ascii(name)[:80]} has both {found[0]} and {found[1]}; keep one of them")


def _inline(tensor: onnx.TensorProto, name: str, raw: FileRegion | None, fmt: Format) -> Location:
    """Return where the bytes of a tensor are that lies in the model's file."""
    title = f"tensor {ascii(name)[:80]}"
    if raw is not None:
        if raw.nbytes != nbytes_of(tensor, fmt):
            raise ValueError(f"{title} has {raw.nbytes} bytes, its shape asks for {nbytes_of(tensor, fmt)}")
        return raw
    if tensor.HasField("raw_data"):
        content = tensor.raw_data
    else:  # in one of the typed fields
        try:
            codes = _onnx().numpy_helper.to_array(tensor)
        except MemoryError:
            raise
        except Exception as error:  # the package promises nothing
            raise ValueError(f"{title} cannot be read; {reason(error)}") from None
        content = (pack(codes, fmt) if fmt.bits < 8 else codes).tobytes()
    if len(content) != nbytes_of(tensor, fmt):
        raise ValueError(f"{title} has {len(content)} bytes, its shape asks for {nbytes_of(tensor, fmt)}")
    return InMemory(content)


def _read(path: Path, limits: Limits = DEFAULT) -> tuple[Any, Any, list[Any], list[FileRegion | None]]:
    """Return a model without its graph, the graph without its initialisers, these, and where their bytes lie."""
    onnx, parts = _onnx(), split_model(path, limits)
    model, graph = onnx.ModelProto.FromString(parts.model), onnx.GraphProto.FromString(parts.graph)
    initializers = [onnx.TensorProto.FromString(rest) for rest, _ in parts.tensors]
    return model, graph, initializers, [location for _, location in parts.tensors]


def _locations(path: Path) -> set[str]:
    """Return where a model has its external data, by the names that it uses; nothing where it cannot be read."""
    try:
        model, graph, initializers, _ = _read(path)
    except Exception:  # what protobuf raises has no public name in every version
        return set()
    external = (one for message in (model, graph, *initializers) for _, one in tensors_in(message) if is_external(one))
    return {entry.value for tensor in external for entry in tensor.external_data if entry.key == "location"}


class OnnxModel:
    """An .onnx file with its external data."""

    suffixes: tuple[str, ...] = (".onnx",)
    packs = True
    codes_suffix = CODES
    names_formats = True
    part = ""
    remarks: Sequence[str] = ()

    def __init__(self, path: Path, *, follow_links: bool = False, limits: Limits = DEFAULT) -> None:
        """Read all but the weights; raise FileError if anything does not fit."""
        self.path, self._follow_links = path, follow_links
        try:
            self.model, self.graph, self.initializers, places = _read(path, limits)
            if not self.model.ir_version or not self.model.opset_import:
                raise ValueError("it names no version")
            self._defaults = {one.name for one in self.graph.input} if self.model.ir_version >= 4 else set()
            self.tensors = [self._outer(tensor, raw) for tensor, raw in zip(self.initializers, places, strict=True)]
            check_distinct(self.tensors)
            self._inner_names: list[str | None] = []
            self._add_inner(limits)
            self._inside = set(self._inner_names)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}: must be a readable .onnx model; {error}") from None
        except Exception as error:  # what protobuf raises has no public name in every version
            if "protobuf" not in type(error).__module__:
                raise
            raise FileError(f"{path}: must be a readable .onnx model; {reason(error)}") from None

    def _region(self, tensor: onnx.TensorProto, fmt: Format) -> FileRegion:
        return region_of(tensor, fmt, self.path, follow_links=self._follow_links)

    def _stored(self, tensor: onnx.TensorProto, raw: FileRegion | None, name: str | None = None) -> StoredTensor:
        """Return a tensor as it is stored, under its own name or another."""
        if not isinstance(tensor.name, str):  # protobuf then gives bytes
            raise ValueError(f"the name of tensor {ascii(tensor.name)[:80]} is no UTF-8")
        name, shape, fmt = tensor.name if name is None else name, tuple(tensor.dims), _BY_ENUM.get(tensor.data_type)
        _check_fields(tensor, name, raw is not None or tensor.HasField("raw_data"))
        if fmt is None:
            raise ValueError(f"tensor {ascii(name)[:80]} has the unknown type {tensor.data_type}")
        if fmt.kind is Kind.STRING:
            if min(shape, default=0) < 0:
                raise ValueError(f"tensor {ascii(name)[:80]} has a negative length")
            return StoredTensor(name, shape, None, str(fmt.onnx_name), InMemory(b""), fixed="it holds text")
        location = self._region(tensor, fmt) if is_external(tensor) else _inline(tensor, name, raw, fmt)
        number = fmt if fmt in NUMERIC else None
        return StoredTensor(name, shape, number, str(fmt.onnx_name), location, packed=fmt.bits < 8)

    def _outer(self, tensor: onnx.TensorProto, raw: FileRegion | None) -> StoredTensor:
        """Return an initialiser of the main graph as it is stored."""
        stored = self._stored(tensor, raw)
        fixed = "it is the default of a graph input" if tensor.name in self._defaults else ""
        return replace(stored, fixed=stored.fixed or fixed or ("" if tensor.name else "it has no name"))

    def _add_inner(self, limits: Limits) -> None:
        """Add the tensors inside; a name that another one has gets that of its place before it."""
        taken = {one.name for one in self.tensors}
        for one in find_inner(self.model, self.graph):
            if not isinstance(one.name, str):
                raise ValueError(f"the name of tensor {ascii(one.name)[:80]} is no UTF-8")
            is_weight = one.is_initializer or one.constant is not None
            if one.tensor.data_type not in _BY_ENUM and not is_weight:  # what an operator takes its attribute for
                self._inner_names.append(None)
                continue
            name = one.name if one.place.scope is self.model else f"{one.place.text}{one.name}"
            name = name if name not in taken else f"{one.place.text}{one.name}"
            same = next(n for n in itertools.count(1) if (name if n == 1 else f"{name}#{n}") not in taken)
            name = name if same == 1 else f"{name}#{same}"
            taken.add(name)
            limits.check_tensors(len(taken))
            self._inner_names.append(name)
            stored = self._stored(one.tensor, None, name)
            self.tensors.append(replace(stored, fixed=one.fixed or stored.fixed))

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Say where outputs go: each stays where its origin was, in the model or in one file of external data."""
        revised = revise(self.path, self.model, self.graph, self.initializers, self._inner_names, outputs)
        is_external = [
            isinstance(one.origin.location, FileRegion) and one.origin.location.path != self.path for one in outputs
        ]
        name = data_name(target, overwrite) if any(is_external) else ""
        at, slots = 0, [Slot(0, 0)] * len(outputs)
        for index, proto in enumerate(revised.tensors):
            if is_external[index]:
                at += -at % ALIGNMENT
                _point(proto, name, at, outputs[index].nbytes)
                slots[index] = Slot(1, at)
                at += outputs[index].nbytes
        pieces, size = self._inline(revised, outputs, slots)
        if size > LARGEST:
            raise FileError(
                f"{target}: would have {size} bytes, more than a protobuf message may have; save the model with "
                "external data first (onnx.save_model with save_as_external_data=True)"
            )
        files = [OutputFile(target.name, size, tuple(pieces))]
        return OutputFiles(files + ([OutputFile(name, at)] if name else []), slots)

    def _inline(
        self, revised: Revised, outputs: Sequence[OutputTensor], slots: list[Slot]
    ) -> tuple[list[tuple[int, bytes]], int]:
        """Lay out the model's file, weights left out; fill in the slots of those that lie in it."""
        outer = {one.name for one in self.initializers}
        rest = revised.graph.SerializeToString()
        heads, length = [], len(rest)
        for index, (proto, output) in enumerate(zip(revised.tensors, outputs, strict=True)):
            if output.origin.name not in outer:
                continue
            head = proto.SerializeToString()
            raw = 0
            if slots[index].file == 0 and proto.data_type != _onnx().TensorProto.STRING:
                head, raw = head + key(RAW, output.nbytes), output.nbytes
            head = key(INITIALIZER, len(head) + raw) + head
            heads.append((index, head, raw))
            length += len(head) + raw
        model = revised.model.SerializeToString()
        front = model + key(GRAPH, length)
        for text, start, is_model in ((model, 0, True), (rest, len(front), False)):
            inside = {
                index: (*steps, (RAW, 0))
                for index, (in_model, steps) in revised.steps.items()
                if in_model is is_model and slots[index].file == 0
            }
            for index, offset in find_fields(text, inside).items():
                slots[index] = Slot(0, start + offset)
        front += rest
        pieces, at = [(0, front)], len(front)
        for index, head, raw in heads:
            pieces.append((at, head))
            at += len(head)
            if slots[index].file == 0:
                slots[index] = Slot(0, at)
            at += raw
        return pieces, at

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the main graph; what is inside is renamed where it is."""
        return f"inside {tensor.name}" if tensor.name in self._inside else ""

    def publish(self, staged: Sequence[Path], target: Path, overwrite: bool) -> None:
        """Rename the data to a name that nothing refers to, then the model, which is the moment of change."""
        data = [(path, target.with_name(path.name), file_identity(path)) for path in staged[1:]]
        model, old = file_identity(staged[0]), None
        try:
            for path, new, _ in data:
                rename_new(path, new)
            if overwrite:
                old = replace_existing(staged[0], target)
            else:
                rename_new(staged[0], target)
        except BaseException:
            if file_identity(target) != model:  # else Ctrl-C came after the last rename
                for _, new, numpy_has in data:
                    if file_identity(new) == numpy_has:
                        new.unlink()
            raise
        if old is not None:
            used = {one.location.path for one in self.tensors if isinstance(one.location, FileRegion)}
            for name in _locations(old) - {new.name for _, new, _ in data}:
                path = target.with_name(name)
                if is_ours(name, target) and path not in used:
                    path.unlink(missing_ok=True)


def _point(proto: Any, location: str, offset: int, length: int) -> None:
    proto.ClearField("external_data")
    proto.data_location = _onnx().TensorProto.EXTERNAL
    for name, value in (("location", location), ("offset", offset), ("length", length)):
        proto.external_data.add(key=name, value=str(value))
