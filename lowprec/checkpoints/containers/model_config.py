"""config.json and its like: the quantization that it describes, read, edited and written; adapters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files.errors import FileError, reason
from .container import Container
from .folder import Folder
from .safetensors_file import SafetensorsFile

__all__ = [
    "ADAPTER", "EXPERTS", "HF_QUANT_CONFIG", "Description", "add_descriptions", "check_model", "description_changes",
    "find_descriptions", "hidden_size", "is_adapter", "layer_descriptions", "model_config", "model_type",
    "quantization_of", "read_description", "remove_descriptions", "set_dtype", "without_descriptions",
]  # fmt: skip

KEY = "quantization_config"

EXPERTS = "expert_dtype"
"""DeepSeek V4's entry for the type of its experts: "fp4", which vLLM takes for granted, or "fp8"."""

EXPERT_TYPES = ("fp4", "fp8")

KEYS = {KEY, "compression_config"}
"""Entries of a configuration, and of the configurations inside it, that describe a quantization."""

TOP_KEY = "quantization"
"""The same at the top, as MLX (config.json) and Mistral (params.json) write it."""

CONFIGS = ("config.json", "params.json")
HF_QUANT_CONFIG = "hf_quant_config.json"
FILES = (HF_QUANT_CONFIG, "quantize_config.json", "quant_config.json", "quantization_config.json")
"""Files that are such a description as a whole: of ModelOpt, AutoGPTQ, AWQ, AutoRound."""

DTYPES = ("torch_dtype", "dtype")
"""Entries of a configuration that name the type of a model's weights."""

TEXT_MODEL = "text_config"

TEXT_MODELS = (TEXT_MODEL, "llm_config", "language_config")
"""Where configurations of models of several kinds of data describe the one of text."""

METADATA = "_quantization_metadata"
"""ComfyUI's entry in the metadata of a safetensors file."""

IN_METADATA = (METADATA, KEY)
"""Entries of the metadata of a safetensors file; ours, for a file without config.json, is the one named as there."""

LARGEST, DEEPEST = 16 << 20, 8

_SPACE = re.compile(r"[ \t\r\n]*")

DEEP = "{...}"
"""What stands for lists and dictionaries."""

ADAPTER = (
    "is an adapter (LoRA), not a whole model; merge it into its base model first: "
    "merge_and_unload() of peft, then save_pretrained()"
)

ADAPTER_CONFIG, ADAPTER_FILES, ADAPTER_MARK = "adapter_config.json", "adapter_model", "lora_"


@dataclass(frozen=True, slots=True)
class Description:
    """A file that describes a quantization, and which of its entries do; none where all of the file does."""

    path: Path
    entries: tuple[str, ...] = ()

    def text(self) -> str:
        """Return its place."""
        return f"{self.path.name}: {ascii(', '.join(self.entries))[1:-1][:80]}" if self.entries else self.path.name


def _after(text: str, at: int) -> int:
    """Return where the next token starts."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def entries(text: str, at: int = 0, path: tuple[str, ...] = ()) -> Iterator[tuple[str, int, int]]:
    """Yield the entries that describe a quantization: path, start and end of the text to cut out, with its comma.

    `text` is valid JSON, with an object at `at`.
    """
    at = _after(text, at)
    before, start = at + 1, _after(text, at + 1)
    decoder, first = json.JSONDecoder(), True
    while text[start] == '"':
        key, at = decoder.raw_decode(text, start)
        at = _after(text, _after(text, at) + 1)
        value, end = decoder.raw_decode(text, at)
        after = _after(text, end)
        more = text[after] == ","
        following = _after(text, after + 1) if more else after
        top = not path and key == TOP_KEY and isinstance(value, dict)
        if top or (key in KEYS and value is not None) or (key == EXPERTS and value in EXPERT_TYPES):
            yield ".".join((*path, key)), (start if first and more else before), (following if first else end)
        elif isinstance(value, dict) and len(path) < DEEPEST:
            yield from entries(text, at, (*path, key))
        before, start, first = end, following, False


def without_descriptions(text: str) -> str:
    """Return a configuration without the entries that describe a quantization; all else is as it was."""
    while entry := next(entries(text), None):
        text = text[: entry[1]] + text[entry[2] :]
    return text


def _read(path: Path) -> str:
    """Return the text of a configuration; raise FileError unless it is a JSON object.

    What cannot be read may describe a quantization that the result would not have, so it is not copied either.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise FileError(f"{path}: has more than {LARGEST} bytes")
        text = path.read_bytes().decode("utf-8")
        value = json.loads(text)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is not UTF-8"
    except RecursionError:
        why = "it is too deep"
    except ValueError as error:
        why = str(error)[:120]
    else:
        if isinstance(value, dict):
            return text
        why = f"got {json.dumps(value)[:40]}"
    raise FileError(f"{path}: must be a JSON object in UTF-8; {why}")


def _files(container: Container) -> Sequence[SafetensorsFile]:
    if isinstance(container, Folder):
        return container.files
    return [container] if isinstance(container, SafetensorsFile) else []


def find_descriptions(container: Container) -> list[Description]:
    """Return what describes the quantization of a container's tensors and would be in its copy too."""
    said = ((one.path, tuple(name for name in IN_METADATA if name in one.metadata)) for one in _files(container))
    descriptions = [Description(path, names) for path, names in said if names]
    for name in container.others if isinstance(container, Folder) else []:
        path = container.path / name
        if name in FILES:
            descriptions.append(Description(path))
        elif name in CONFIGS:
            names = tuple(entry for entry, _, _ in entries(_read(path)))
            descriptions += [Description(path, names)] if names else []
    return descriptions


def remove_descriptions(container: Container, descriptions: Sequence[Description]) -> None:
    """Leave descriptions out of what the container will be arranged as."""
    paths = {one.path for one in descriptions}
    for file in _files(container):
        if file.path in paths:
            file.metadata = {name: text for name, text in file.metadata.items() if name not in IN_METADATA}
    if isinstance(container, Folder):
        for name in [name for name in container.others if container.path / name in paths]:
            container.replace(
                name, without_descriptions(_read(container.path / name)).encode() if name in CONFIGS else None
            )


def quantization_of(container: Container) -> dict[str, Any]:
    """Return what a container says of the quantization of its tensors; empty where it says nothing.

    It is the entry ``quantization_config`` of config.json, at the top or of the text model, or of a single file's
    metadata; else Mistral's ``quantization``; else what hf_quant_config.json says, under the method ``modelopt``.
    """
    if isinstance(container, SafetensorsFile):
        return _in_metadata(container)
    names = container.others if isinstance(container, Folder) else []
    for name in (one for one in CONFIGS if one in names):
        config = json.loads(_read(container.path / name))
        for fields in (config, config.get(TEXT_MODEL)):
            found = fields.get(KEY) if isinstance(fields, dict) else None
            if found is not None:
                return _checked(found, container.path / name)
        if isinstance(config.get(TOP_KEY), dict):
            return {"quant_method": "fp8", **config[TOP_KEY]} if "qformat_weight" in config[TOP_KEY] else {}
    if HF_QUANT_CONFIG not in names:
        return {}
    found = json.loads(_read(container.path / HF_QUANT_CONFIG)).get(TOP_KEY)
    return {"quant_method": "modelopt", **(found if isinstance(found, dict) else {})}


def _in_metadata(file: SafetensorsFile) -> dict[str, Any]:
    """Return what the metadata of a single file say."""
    try:
        return _checked(json.loads(file.metadata.get(KEY, "{}")), file.path)
    except (ValueError, RecursionError):
        raise FileError(f"{file.path}: {KEY} in its metadata must be a JSON object") from None


def _checked(described: object, path: Path) -> dict[str, Any]:
    """Return the description of a quantization; raise FileError where it is none."""
    if not isinstance(described, dict):
        raise FileError(f"{path}: {KEY} must be an object; got {json.dumps(described)[:40]}")
    method = described.get("quant_method")
    if method is not None and not isinstance(method, str):
        raise FileError(f"{path}: quant_method must be a text; got {json.dumps(method)[:40]}")
    return dict(described)


def layer_descriptions(container: Container) -> dict[str, object]:
    """Return what the metadata of safetensors files say of the quantization of single modules, by their names.

    Raises FileError where the entry is there and says nothing of modules.
    """
    layers: dict[str, object] = {}
    for file in _files(container):
        if METADATA not in file.metadata:
            continue
        try:
            layers.update(json.loads(file.metadata[METADATA])["layers"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FileError(f"{file.path}: the entry {METADATA} of its metadata must be JSON with layers") from None
    return layers


def read_description(container: Container, name: str) -> dict[str, Any]:
    """Return what one of a folder's files of JSON says; empty where it is missing."""
    if not isinstance(container, Folder) or name not in container.others:
        return {}
    return dict(json.loads(_read(container.path / name)))


def model_config(container: Container) -> dict[str, Any]:
    """Return the config.json of a folder; empty where there is none."""
    return read_description(container, CONFIGS[0])


def model_type(container: Container) -> str:
    """Return what config.json of a folder says that the model is; nothing where it does not."""
    found = model_config(container).get("model_type")
    return found if isinstance(found, str) else ""


def hidden_size(container: Container) -> int | None:
    """Return how many numbers a layer of a folder's text model takes and returns; None where it does not say."""
    config = model_config(container)
    for fields in (config, *(config.get(name) for name in TEXT_MODELS)):
        found = fields.get("hidden_size") if isinstance(fields, dict) else None
        if type(found) is int and found > 0:
            return found
    return None


def set_dtype(container: Container, dtype: str) -> None:
    """Have the configuration of a folder say that its weights have a type, wherever it names one."""
    if not isinstance(container, Folder):
        return
    for name in (one for one in CONFIGS if one in container.others or one in container.replaced):
        text = container.replaced[name].decode() if name in container.replaced else _read(container.path / name)
        changed = _with_dtype(text, dtype)
        if changed != text:
            if name in container.others:
                container.replace(name, changed.encode())
            else:
                container.replaced[name] = changed.encode()


def _with_dtype(text: str, dtype: str) -> str:
    """Return a configuration with another type of the weights, at the top and for the text model."""
    for start, end in sorted(_dtypes(text), reverse=True):
        text = f"{text[:start]}{json.dumps(dtype)}{text[end:]}"
    return text


def _dtypes(text: str, at: int = 0, inside: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of the texts that name the type of the weights; `text` has an object at `at`."""
    decoder, at = json.JSONDecoder(), _after(text, _after(text, at) + 1)
    while text[at] == '"':
        key, at = decoder.raw_decode(text, at)
        start = _after(text, _after(text, at) + 1)
        value, end = decoder.raw_decode(text, start)
        if key in DTYPES and isinstance(value, str):
            yield start, end
        elif key == TEXT_MODEL and isinstance(value, dict) and not inside:
            yield from _dtypes(text, start, True)
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at


def add_descriptions(container: Container, descriptions: Mapping[str, Any]) -> None:
    """Have files of a folder say how a model is quantized; all else in config.json stays as it is.

    `descriptions` has entries of config.json, ``quantization_config`` first, and whole files under their names. In a
    single file, which has none of these, the metadata say it, so that it can be read again.

    Raises FileError where a folder has no config.json, or one that is no JSON: engines could not load the weights.
    """
    if isinstance(container, SafetensorsFile) and KEY in descriptions:
        container.metadata = {**container.metadata, KEY: json.dumps(descriptions[KEY])}
    if not isinstance(container, Folder):
        return
    for name, content in descriptions.items():
        if name.endswith(".json"):
            container.add(name, (json.dumps(content, indent=4) + "\n").encode())
            continue
        path = container.path / CONFIGS[0]
        if CONFIGS[0] not in container.others and CONFIGS[0] not in container.replaced:
            raise FileError(
                f"{container.path}: has no {CONFIGS[0]}, which must say how the weights are quantized; "
                "copy the model's there"
            )
        changed = container.replaced.get(CONFIGS[0])
        text = changed.decode() if changed else _read(path) if CONFIGS[0] in container.others else ""
        if not text:
            raise FileError(f"{path}: must be a JSON object, to say how the weights are quantized")
        entry = json.dumps({name: content}, indent=2)[1:-1].strip("\n")
        body = text[: text.rindex("}")].rstrip()
        container.add(CONFIGS[0], f"{body}{'' if body.endswith('{') else ','}\n{entry}\n}}\n".encode())


def description_changes(container: Container, misfits: Sequence[Description]) -> list[str]:
    """Return a line for each description that the result has or had, as the container will be arranged.

    `misfits` were left out of it; those that are entries of the metadata of files are named.
    """
    in_files = [f"{one.text()} left out" for one in misfits if one.path.name not in (*CONFIGS, *FILES)]
    return [*(_folder_changes(container) if isinstance(container, Folder) else ()), *in_files]


def _folder_changes(folder: Folder) -> Iterator[str]:
    for name in dict.fromkeys((*CONFIGS, *FILES, *folder.replaced)):
        path = folder.path / name
        if name in folder.replaced and not path.is_file():
            yield f"{name}: new"
        elif name in folder.replaced:
            changes = list(_changes(_fields(path.read_bytes()), _fields(folder.replaced[name])))
            yield f"{name}: {', '.join(changes) or 'unchanged'}"
        elif name in folder.others and name in CONFIGS:
            yield f"{name}: unchanged"
        elif name not in folder.others and path.is_file():
            yield f"{name}: left out"


def _fields(text: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _changes(old: dict[str, Any], new: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield what became of entries: values are named where they are short."""
    for key in dict.fromkeys((*old, *new)):
        before, after, name = old.get(key), new.get(key), ascii(path + key)[1:-1]
        if before == after and (key in old) == (key in new):
            continue
        if key not in new:
            yield f"{name} removed"
        elif key not in old:
            yield f"{name} added"
        elif key == TEXT_MODEL and isinstance(before, dict) and isinstance(after, dict):
            yield from _changes(before, after, f"{key}.")
        else:
            short = _short(before), _short(after)
            yield f"{name} changed" if short == (DEEP, DEEP) else f"{name} {short[0]} -> {short[1]}"


def _short(value: object) -> str:
    return DEEP if isinstance(value, (dict, list)) else ascii(json.dumps(value))[1:-1][:40]


def is_adapter(container: Container) -> bool:
    """Whether a container holds an adapter alone: by the names of a folder's files, or by those of all tensors."""
    if isinstance(container, Folder) and ADAPTER_CONFIG in container.others:
        return all(one.path.name.startswith(ADAPTER_FILES) for one in container.files)
    return bool(container.tensors) and all(ADAPTER_MARK in one.name for one in container.tensors)


def check_model(container: Container) -> None:
    """Raise FileError for an adapter."""
    if is_adapter(container):
        raise FileError(f"{container.path}: {ADAPTER}")
