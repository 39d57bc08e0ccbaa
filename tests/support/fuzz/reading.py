"""One input for a reader, given to every public function that reads: what it may lead to, and what is a defect."""

from __future__ import annotations

import os
import re
import shutil
import time
import warnings
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from lowprec import checkpoints
from lowprec.checkpoints.files.errors import FileError
from support.fuzz.seeds import make_surroundings

LONGEST_LINE = 700
"""Characters that an error may have, the name of the file among them."""

LONGEST_SECONDS = 5.0
"""Processor time that an input of at most 64 KiB may take."""

ONE_IN = 8
"""Of so many inputs one is converted too."""

CONVERSIONS: tuple[dict[str, Any], ...] = (
    {"to": "float8_e4m3fn", "raw": True}, {"to": "bfloat16"}, {"to": "float32"}, {"to": "int8", "scale": "axis:0"},
    {"to": "float4_e2m1fn", "scale": "block:16", "scale_format": "float16"}, {"recipe": "fp8-dynamic"},
    {"to": "int4", "scale": "tensor", "raw": True}, {"recipe": "q8_0"}, {"recipe": "q4_0"}, {"layout": "modelopt"},
    {"layout": "compressed-tensors"}, {"recipe": "comfy-fp8"}, {"recipe": "fnuz"}, {"recipe": "w4a16"},
)  # fmt: skip

_TARGETS = {"index": "", "config": "", "npy": ".npz"}


class DefectError(Exception):
    """What no input may lead to."""


class Examiner:
    """A place in memory for the inputs of one reader, and the functions that read them.

    Attributes
    ----------
    outcomes : dict of str to int
        How many inputs led to what.
    """

    def __init__(self, reader: str, folder: Path) -> None:
        self.reader, self.folder, self.outcomes = reader, folder, {"read": 0, "refused": 0, "converted": 0}
        self._files = make_surroundings(reader, folder)
        self._before = {file.parent: {*os.listdir(file.parent), file.name} for file in self._files}
        self._around = sorted(os.listdir(folder))
        suffix = _TARGETS.get(reader, f".{reader}")
        self._target = folder / f"out{suffix}"
        self._models = folder / "out.safetensors"

    def examine(self, content: bytes) -> str:
        """Give an input to the functions; return what they said, in a line each, or raise DefectError."""
        file, number = self._files[0], zlib.crc32(content)
        if self.reader == "config":
            file, content = self._files[(content[:1] or b"\0")[0] % len(self._files)], content[1:]
        with open(file, "wb", buffering=0) as stream:
            stream.write(content)
        path = file.parent if self.reader in ("index", "config") else file
        started = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said = self._read(path, number)
            if time.monotonic() - started > LONGEST_SECONDS:  # the machine may be busy: what it takes itself counts
                started = time.thread_time()
                self._read(path, number)
                if (seconds := time.thread_time() - started) > LONGEST_SECONDS:
                    raise DefectError(f"it takes {seconds:.1f} s")
        if number % ONE_IN == 0:
            self._check_files(file)
        return said

    def _check_files(self, file: Path) -> None:
        left = set(os.listdir(file.parent)) - self._before[file.parent]
        if left or sorted(os.listdir(self.folder)) != self._around:
            raise DefectError(f"it leaves files behind: {sorted(left) or sorted(os.listdir(self.folder))}")

    def _read(self, path: Path, number: int) -> str:
        entries, said = self._call(path, "inspect", lambda: checkpoints.inspect(path))
        if entries is None and number % ONE_IN:  # all functions open a file in the same way
            self.outcomes["refused"] += 1
            return said
        opened, refused = self._call(path, "open", lambda: self._open(path))
        if self.reader not in ("config", "index") and entries is None and opened is not None:
            raise DefectError("open reads what inspect refuses")
        if entries is not None:
            said += self._call(path, "inspect", lambda: checkpoints.inspect(path, stats=True))[1]
        said += refused + "".join(opened or ())
        said += self._call(path, "check", lambda: checkpoints.check(path, values=True))[1]
        if self.reader in ("npy", "npz"):
            said += self._call(path, "read_array", lambda: checkpoints.read_array(path))[1]
        self.outcomes["refused" if entries is None or opened is None else "read"] += 1
        if entries is not None and number % ONE_IN == 0:
            said += self._convert(path, number // ONE_IN)
        return said

    def _open(self, path: Path) -> list[str]:
        """Read every tensor as it is stored, and as values."""
        said = []
        with checkpoints.open(path) as opened:
            for name in list(opened)[:32]:
                opened.info(name)
                said.append(self._call(path, "read", partial(opened.read, name))[1])
                rows = slice(0, 1) if opened.info(name).shape else None
                said.append(self._call(path, "read", partial(opened.read, name, rows=rows))[1])
        return said

    def _convert(self, path: Path, number: int) -> str:
        options = CONVERSIONS[number % len(CONVERSIONS)]
        target = self._target
        if self.reader == "gguf" and "recipe" not in options:
            target = self._models
        verify = number % 5 == 0
        done, said = self._call(
            path, "convert", lambda: checkpoints.convert(path, target, threads=1, verify=verify, **options)
        )
        exists = target.exists()
        if exists:
            (shutil.rmtree if target.is_dir() else os.remove)(target)
        if self.reader == "onnx":
            for data in self.folder.glob("out.onnx*.data"):
                os.remove(data)
        if exists != (done is not None):
            raise DefectError(f"convert with {options} {'fails and leaves' if exists else 'succeeds without'} a target")
        self.outcomes["converted"] += exists
        return said

    def _call(self, path: Path, what: str, function: Callable[[], Any]) -> tuple[Any, str]:
        """Return a result, or None and the error that a user reads; raise DefectError for any other."""
        try:
            found = function()
        except FileError as error:
            text = str(error)
            self._check_text(path, what, text)
            return None, f"{what}: {text}\n"
        except DefectError:
            raise
        except Exception as error:
            raise DefectError(f"{what}: {type(error).__name__}: {str(error)[:200]}") from error
        return found, ""

    def _check_text(self, path: Path, what: str, text: str) -> None:
        if not text.isprintable():
            raise DefectError(f"{what}: the error is not one line that can be printed: {text[:300]!a}")
        if text.endswith((" ", ";", ":")):
            raise DefectError(f"{what}: the error does not say why: {text[:300]}")
        if len(text) > LONGEST_LINE:
            raise DefectError(f"{what}: the error has {len(text)} characters: {text[:300]}")
        if str(path) not in text and str(self.folder / "out") not in text:
            raise DefectError(f"{what}: the error does not name the file: {text[:300]}")


def kind_of(said: str) -> str:
    """Return what was said without names and numbers: inputs of one kind took the same way through the code."""
    lines = {re.sub(r"'[^']*'|\"[^\"]*\"|[0-9]+|/\S+|b'.*", "_", line)[:90] for line in said.splitlines()}
    return "\n".join(sorted(lines))
