"""ONNX models: initialisers, in the file or in external data, read and written in chunks.

What is no weight goes through the onnx package. Initialisers of the main graph are tensors that can be converted; those
inside nodes and subgraphs stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ops.codes import pack
from ...spec.formats import FORMATS, NUMERIC, Format, Kind
from ..files.errors import FileError, reason
from ..files.limits import DEFAULT, Limits
from ..files.output_files import OutputFile, OutputFiles, Slot
from ..files.renaming import file_identity, rename_new, replace_existing
from .container import OutputTensor
from .onnx_external_data import data_name, is_external, is_ours, nbytes_of, region_of
from .onnx_graph import revise
from .onnx_protobuf import GRAPH, INITIALIZER, LARGEST, RAW, key, split_model
from .tensors import FileRegion, InMemory, Location, StoredTensor

if TYPE_CHECKING:
    import onnx

__all__ = ["OnnxModel"]

ALIGNMENT = 4096
"""External tensors start at whole pages, so that they can be mapped."""

CODES = "_codes"
"""What is added to the name of an initialiser that has become codes: its own name is that of a node's result then."""

_INSIDE = "it is inside a node"

_BY_ENUM = {fmt.onnx_enum: fmt for fmt in FORMATS.values() if fmt.onnx_enum is not None}


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise FileError("ONNX models need the onnx package: pip install 'lowprec[onnx]'") from None
    return onnx


def _tensors(message: Any) -> Iterator[onnx.TensorProto]:
    """Yield every tensor inside a message, however deep, always in the same order."""
    if message.DESCRIPTOR.full_name == "onnx.TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _tensors(one)


def _inline(tensor: onnx.TensorProto, raw: FileRegion | None, fmt: Format) -> Location:
    """Return where the bytes of a tensor are that lies in the model's file."""
    title = f"tensor {ascii(tensor.name)[:80]}"
    if raw is not None:
        if raw.nbytes != nbytes_of(tensor, fmt):
            raise ValueError(f"{title} has {raw.nbytes} bytes, its shape asks for {nbytes_of(tensor, fmt)}")
        return raw
    try:  # in one of the typed fields
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


def _external_in(*messages: Any) -> list[onnx.TensorProto]:
    return [one for message in messages for one in _tensors(message) if is_external(one)]


def _locations(path: Path) -> set[str]:
    """Return where a model has its external data, by the names that it uses; nothing where it cannot be read."""
    try:
        model, graph, initializers, _ = _read(path)
    except Exception:  # what protobuf raises has no public name in every version
        return set()
    external = _external_in(model, graph, *initializers)
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
            self.tensors = [self._stored(tensor, raw) for tensor, raw in zip(self.initializers, places, strict=True)]
            twice = next((name for name, n in Counter(one.name for one in self.tensors).items() if n > 1), None)
            if twice is not None:
                raise ValueError(f"it names twice {ascii(twice)[:80]}")
            self.tensors += [self._inner(tensor) for tensor in _external_in(self.graph, self.model)]
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

    def _stored(self, tensor: onnx.TensorProto, raw: FileRegion | None) -> StoredTensor:
        if not isinstance(tensor.name, str):  # protobuf then gives bytes
            raise ValueError(f"the name of tensor {ascii(tensor.name)[:80]} is no UTF-8")
        fmt = _BY_ENUM.get(tensor.data_type)
        if fmt is None:
            raise ValueError(f"tensor {ascii(tensor.name)[:80]} has the unknown type {tensor.data_type}")
        shape = tuple(tensor.dims)
        if fmt.kind is Kind.STRING:
            if min(shape, default=0) < 0:
                raise ValueError(f"tensor {ascii(tensor.name)[:80]} has a negative length")
            return StoredTensor(tensor.name, shape, None, str(fmt.onnx_name), InMemory(b""), fixed="it holds text")
        location = self._region(tensor, fmt) if is_external(tensor) else _inline(tensor, raw, fmt)
        fixed = ""
        if tensor.name in self._defaults:
            fixed = "it is the default of a graph input"
        elif not tensor.name:
            fixed = "it has no name"
        number = fmt if fmt in NUMERIC else None
        return StoredTensor(tensor.name, shape, number, str(fmt.onnx_name), location, packed=fmt.bits < 8, fixed=fixed)

    def _inner(self, tensor: onnx.TensorProto) -> StoredTensor:
        fmt = _BY_ENUM.get(tensor.data_type)
        if fmt is None or fmt.kind is Kind.STRING:
            raise ValueError(f"tensor {ascii(tensor.name)[:80]} has external data of the type {tensor.data_type}")
        location = self._region(tensor, fmt)
        number = fmt if fmt in NUMERIC else None
        shape, fixed = tuple(tensor.dims), _INSIDE
        return StoredTensor(tensor.name, shape, number, str(fmt.onnx_name), location, packed=fmt.bits < 8, fixed=fixed)

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Say where outputs go: each stays where its origin was, in the model or in one file of external data."""
        n_outer = len(outputs) - (len(self.tensors) - len(self.initializers))
        model, graph, protos = revise(self.path, self.model, self.graph, self.initializers, outputs[:n_outer])
        inside = _external_in(graph, model)
        is_external = [
            isinstance(one.origin.location, FileRegion) and one.origin.location.path != self.path for one in outputs
        ]
        name = data_name(target, overwrite) if any(is_external) else ""
        at, slots = 0, [Slot(0, 0)] * len(outputs)
        for index, proto in enumerate([*protos, *inside]):
            if is_external[index]:
                at += -at % ALIGNMENT
                _point(proto, name, at, outputs[index].nbytes)
                slots[index] = Slot(1, at)
                at += outputs[index].nbytes
        pieces, size = self._inline(model, graph, protos, outputs[:n_outer], slots)
        if size > LARGEST:
            raise FileError(
                f"{target}: would have {size} bytes, more than a protobuf message may have; save the model with "
                "external data first (onnx.save_model with save_as_external_data=True)"
            )
        files = [OutputFile(target.name, size, tuple(pieces))]
        return OutputFiles(files + ([OutputFile(name, at)] if name else []), slots)

    @staticmethod
    def _inline(
        model: Any, graph: Any, protos: Sequence[Any], outputs: Sequence[OutputTensor], slots: list[Slot]
    ) -> tuple[list[tuple[int, bytes]], int]:
        """Lay out the model's file, weights left out; fill in the slots of those that lie in it."""
        rest = graph.SerializeToString()
        heads, length = [], len(rest)
        for index, (proto, output) in enumerate(zip(protos, outputs, strict=True)):
            head = proto.SerializeToString()
            raw = 0
            if slots[index].file == 0 and proto.data_type != _onnx().TensorProto.STRING:
                head, raw = head + key(RAW, output.nbytes), output.nbytes
            head = key(INITIALIZER, len(head) + raw) + head
            heads.append((head, raw))
            length += len(head) + raw
        front = model.SerializeToString() + key(GRAPH, length) + rest
        pieces, at = [(0, front)], len(front)
        for index, (head, raw) in enumerate(heads):
            pieces.append((at, head))
            at += len(head)
            if slots[index].file == 0:
                slots[index] = Slot(0, at)
            at += raw
        return pieces, at

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the main graph; what is inside a node has none that matters."""
        return str(id(tensor)) if tensor.fixed == _INSIDE else ""

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
