"""Files with codes of described formats: what says of which format they are, values read back, hostile descriptions."""

from __future__ import annotations

import itertools
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bits import packed_bytes
from support.checkpoint_files import call_fails, convert_fails, save, values
from support.containers import SOURCES
from support.optional import optional
from support.paths import table

import lowprec as lp
from lowprec.checkpoints.containers.registry import open_container
from lowprec.checkpoints.files.errors import FileError
from lowprec.reference import exact_cast, whole_arrays
from lowprec.spec.formats import NUMERIC, Format

safe_open: Any = optional("safetensors:safe_open")

OWN = lp.float_format("e4m4", exponent_bits=4, mantissa_bits=4, nan="all-ones", reference="this test")
FORMATS = [*map(lp.as_format, ("binary8p3se", "binary6p3se", "binary5p3sf", "binary12p6se")), OWN]
BY_NAME = {"ids": lambda one: one.name if isinstance(one, Format) else None}


def _codes(x: np.ndarray, fmt: Format) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(whole_arrays.expected_from_float64(x.astype(np.float64), fmt)).astype(fmt.code_dtype)


HELD_BY = [
    *itertools.product(("safetensors", "npz", "npy", "folder", "gguf"), FORMATS),
    *itertools.product(("safetensors", "npz", "folder", "gguf"), [fmt for fmt in NUMERIC if fmt.onnx_name is None]),
]
"""Containers, and the formats that ONNX lacks: described ones, and rows of the table, which have a dtype."""


@pytest.mark.parametrize(("kind", "fmt"), HELD_BY, **BY_NAME)
def test_values_are_read_back(kind: str, fmt: Format) -> None:
    make, name = SOURCES[kind]
    source, target, again = make(Path()), Path(name), Path(f"again-{name}")
    lp.convert(source, target, to=fmt if fmt in FORMATS else fmt.name, verify=True)
    lp.convert(target, again, to="float32")
    converted, every = 0, np.float32([float(exact_cast.decode(code, fmt)) for code in range(1 << fmt.bits)])
    opened = lp.checkpoints.open
    with opened(source) as originals, opened(target) as checkpoint, opened(again) as restored:
        assert len(originals) == len(checkpoint) == len(restored)
        for tensor, x in originals.items():
            after = tensor.removesuffix(".npy")  # as the array of an archive is called
            if not np.issubdtype(x.dtype, np.floating):
                assert np.array_equal(checkpoint[after], x)
                continue
            codes = _codes(x, fmt)
            held = [checkpoint.read(after, raw=True), *([] if fmt in FORMATS else [checkpoint[after]])]
            for found in held:
                assert found.dtype == (fmt.code_dtype if fmt in FORMATS else fmt.dtype)
                assert np.array_equal(found.view(fmt.code_dtype), codes)
            expected = every[codes]
            values = [checkpoint.read(after, to="float32"), restored[after]]
            for got in [*values, *([checkpoint[after]] if fmt in FORMATS else [])]:
                assert got.dtype == np.float32
                assert np.array_equal(got, expected, equal_nan=True)
            if x.shape:
                rows = checkpoint.read(after, rows=slice(1, 3), to=None if fmt in FORMATS else "float32")
                assert np.array_equal(rows, expected[1:3], equal_nan=True)
            assert checkpoint.info(after).format == fmt.name
            converted += 1
    assert converted


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_what_safetensors_holds(fmt: Format) -> None:
    x = values((3, 5, 7))
    target = Path("y.safetensors")
    lp.convert(save(Path("x.safetensors"), {"w": x}, {"format": "pt"}), target, to=fmt)
    with safe_open(target, "np") as file:
        held, metadata = file.get_tensor("w"), file.metadata()
    assert json.loads(metadata.pop("lowprec")) == {
        "w": {
            "format": {
                "name": fmt.name, "exponent_bits": fmt.exponent_bits, "mantissa_bits": fmt.mantissa_bits,
                "bias": fmt.bias, "signed": True, "inf": fmt.has_inf, "nan": fmt.nan.value, "zero": True,
                "source": fmt.reference,
            },
            "shape": [3, 5, 7],
        }
    }  # fmt: skip
    assert metadata == {"format": "pt"}
    codes = _codes(x, fmt)
    if fmt.bits in (4, 6):  # packed as float6 is
        assert held.dtype == np.uint8
        assert held.tobytes() == packed_bytes(codes, fmt.bits).tobytes()
    else:
        assert held.dtype == (np.uint8 if fmt.bits <= 8 else np.uint16)
        assert np.array_equal(held, codes)


def test_a_file_describes_a_namesake_of_a_row() -> None:
    own = lp.float_format("float8_e4m3", exponent_bits=4, mantissa_bits=3, bias=8)
    for suffix in ("safetensors", "npz"):
        lp.checkpoints.save(f"x.{suffix}", {"w": np.float32([1.0, 3.0])})
        target = Path(f"y.{suffix}")
        lp.convert(f"x.{suffix}", target, to=own)
        (tensor,) = open_container(target, None).tensors
        assert tensor.fmt is own
        with lp.checkpoints.open(target) as checkpoint:
            assert checkpoint.read("w", raw=True).tolist() == [0x40, 0x4C]  # 2^0 and 1.5 * 2^1 with bias 8
            assert checkpoint["w"].tolist() == [1.0, 3.0]


def _described(path: Path, note: Any, held: np.ndarray) -> Path:
    return save(path / "x.safetensors", {"w": held}, {"lowprec": json.dumps({"w": note})})


TAKEN = {
    "name": "e4m3x", "exponent_bits": 4, "mantissa_bits": 3, "bias": 7, "signed": True, "inf": True, "nan": "ieee",
    "zero": True, "source": "",
}  # fmt: skip
HELD = np.arange(6, dtype=np.uint8).reshape(2, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [*table(__file__)["descriptions"],
     ({"nan": None}, "describes no format for tensor 'w'; `nan` must be of type str")],
)  # fmt: skip
def test_hostile_descriptions(changes: dict[str, Any], message: str) -> None:
    good = _described(Path(), {"format": TAKEN, "shape": [2, 3]}, HELD)
    with lp.checkpoints.open(good) as checkpoint:
        assert checkpoint["w"].shape == (2, 3)
    path = _described(Path(), {"format": {**TAKEN, **changes}, "shape": [2, 3]}, HELD)
    with pytest.raises(FileError, match=f"x.safetensors: must be a readable .safetensors file; .*{message}") as caught:
        lp.checkpoints.open(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "note",
    [
        {"format": TAKEN, "shape": [7]}, {"format": TAKEN, "shape": [1] * 65}, {"format": TAKEN, "shape": "6"},
        {"format": TAKEN}, {"format": {}, "shape": [6]}, {"format": [TAKEN], "shape": [6]},
        {"format": "binary8p3se", "shape": [6]}, {"format": "float8_e4m3fn", "shape": [6]},
        {"format": None, "shape": [6]}, {"format": "only_registered", "shape": [2, 3]},
        {"format": TAKEN, "shape": [2, 3]},
    ],
)  # fmt: skip
def test_hostile_notes(note: Any) -> None:
    """A file does not know registered names; codes are unsigned integers."""
    lp.register(lp.float_format("only_registered", exponent_bits=4, mantissa_bits=3))
    held = HELD.astype(np.int8) if note == {"format": TAKEN, "shape": [2, 3]} else HELD
    with pytest.raises(FileError, match=r"x\.safetensors: must be a readable .*entry 'lowprec' of"):
        lp.checkpoints.open(_described(Path(), note, held))


def test_formats_that_float32_does_not_hold() -> None:
    wide = {**TAKEN, "name": "wide", "bias": 200}
    path = _described(Path(), {"format": wide, "shape": [2, 3]}, HELD)
    message = r"'w': holds codes of wide, whose smallest value, 2\^-202, is below 2\^-149, .*raw=True reads the codes"
    with lp.checkpoints.open(path) as checkpoint:
        for dtype in (None, "float32"):
            call_fails(message, checkpoint.read, "w", to=dtype)
        assert checkpoint.read("w", raw=True).tolist() == HELD.tolist()
    with pytest.raises(ValueError, match="wide"):
        lp.convert(path, "y.safetensors", to="float32")
    assert not Path("y.safetensors").exists()


@pytest.mark.parametrize(
    "text", ["{}", '{"name":', json.dumps({**TAKEN, "bias": 0.5}), json.dumps({**TAKEN, "nan": []})]
)
def test_hostile_comments(text: str) -> None:
    np.savez("x.npz", w=HELD)
    with zipfile.ZipFile("x.npz") as archive, zipfile.ZipFile("y.npz", "w") as changed:
        info = archive.infolist()[0]
        info.comment = f"format={text}".encode()
        changed.writestr(info, archive.read(info))
    why = "its comment describes no format"
    call_fails(why, lp.checkpoints.read_array, "y.npz")
    with lp.checkpoints.open("y.npz") as checkpoint, pytest.raises(FileError, match=why):
        checkpoint["w.npy"]


def test_a_model_cannot_hold_them() -> None:
    source = SOURCES["onnx"][0](Path())
    for dry_run, to in itertools.product((False, True), ("binary8p3se", "float8_e4m3")):
        why = rf"x\.onnx: cannot hold {to}, for which ONNX has no type"
        convert_fails(why, source, "y.onnx", to=to, dry_run=dry_run)
