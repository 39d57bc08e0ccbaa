"""`lowprec.checkpoints.open`: values, laziness, rows, libraries, and errors that name what is wrong, a path once."""

from __future__ import annotations

import json
import os
import pickle
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, save, sizes_of_reads, traced
from support.containers import SOURCES, X
from support.optional import optional
from support.paths import printed
from support.quantized_checkpoints import LAYOUTS, write, write_folder
from support.typed_tensors import (
    BF16,
    F8,
    FP8_BLOCKS,
    W,
    block_model,
    nibbles,
    random_codes,
    random_scales,
    rounded,
    write_model,
    write_tensors,
)

import lowprec as lp
from lowprec.checkpoints import Checkpoint, FileError, read_array, write_array

torch: Any = optional("torch")

E = "model.layers.0.mlp.experts."


def test_what_is_said_of_a_weight() -> None:
    tensors = {W + "_packed": nibbles(np.zeros((7, 64))), W + "_scale": random_scales((7, 4)).astype(F8),
               W + "_global_scale": np.ones(1, np.float32)}  # fmt: skip
    config = {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {}}}
    with lp.checkpoints.open(write_model(Path("in"), {"a.safetensors": tensors}, config)) as checkpoint:
        info = checkpoint.info(W)
    assert (info.layout, info.shape, info.format) == ("compressed-tensors", (7, 64), "bfloat16")
    assert info.scheme == "float4_e2m1fn, a float8_e4m3fn scale to 16 columns, divided by a second one"
    assert info.codes is not None
    assert (info.codes.name, info.codes.format, info.codes.shape) == (W + "_packed", "uint8", (7, 32))
    assert info.scales is not None
    assert (info.scales.name, info.scales.shape) == (W + "_scale", (7, 4))
    assert [one.name for one in info.others] == [W + "_global_scale"]
    assert info.nbytes == 7 * 32 + 7 * 4 + 4


@pytest.mark.parametrize("kind", SOURCES)
def test_every_container(kind: str) -> None:
    source = SOURCES[kind][0](Path())
    with lp.checkpoints.open(source) as checkpoint:
        if kind == "folder":
            assert len(checkpoint) > 2
            assert all(checkpoint[name].shape == checkpoint.info(name).shape for name in checkpoint)
            return
        names = {"npy": {"x.npy": "w"}, "onnx": {"w": "w"}}.get(kind, {"w": "w", "i": "i"})
        assert checkpoint.keys() == names.keys()
        for name, key in names.items():
            assert checkpoint[name].dtype == X[key].dtype
            assert checkpoint[name].tobytes() == X[key].tobytes()
            assert checkpoint.read(name, rows=slice(2, 5)).tobytes() == X[key][2:5].tobytes()
        first = next(iter(names))
        assert checkpoint.read(first, to="float16").tobytes() == lp.cast(X["w"], "float16").tobytes()


def test_arrays_of_every_order() -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    arrays = {"c": x, "f": np.asfortranarray(x), "big": x.astype(">f4"), "both": np.asfortranarray(x.astype(">f4"))}
    arrays |= {"flags": np.array([True, False]), "scalar": np.array(3.0), "none": np.zeros((0, 3), np.int16)}
    np.savez("x.npz", **arrays)
    with lp.checkpoints.open("x.npz") as checkpoint:
        for name, array in arrays.items():
            assert np.array_equal(checkpoint[name], array)
            assert checkpoint[name].dtype == array.dtype.newbyteorder("=")
        for name in ("c", "f", "big", "both"):
            assert np.array_equal(checkpoint.read(name, rows=slice(1, 3)), x[1:3])
            assert np.array_equal(checkpoint.read(name, to="bfloat16"), x.astype(BF16))
        assert checkpoint.read("flags", to="float32").dtype == np.bool_


def test_nothing_is_read_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    (folder, _), bytes_read = block_model(), sizes_of_reads(monkeypatch)
    with lp.checkpoints.open(folder) as checkpoint:
        assert (len(checkpoint), W in checkpoint, W + "_scale_inv" in checkpoint) == (2, True, False)
        assert list(checkpoint.keys()) == [W, "n.weight"]
        assert checkpoint.info(W).layout == "FP8"
        text = f"<Checkpoint 'model': DeepSeek block FP8 128x128, 1 layer: {(60000 + 24 + 6) / 1024:.1f} KiB"
        assert repr(checkpoint) == text + "; 2 tensors, 1 of them quantized>"
        assert not bytes_read
        checkpoint.read(W, rows=slice(100, 102))
        assert sum(bytes_read) == 2 * 200 + 24
        bytes_read.clear()
        checkpoint.read(W, rows=slice(3, 4))  # the scales are known by now
        assert sum(bytes_read) == 200
        bytes_read.clear()
        checkpoint.read("n.weight", rows=slice(1, 2))
        assert sum(bytes_read) == 2
    assert repr(checkpoint).endswith("; closed>")
    checkpoint.close()
    with pytest.raises(ValueError, match="the checkpoint 'model' is closed"):
        checkpoint[W]
    assert len(checkpoint) == 2


def test_memory_is_that_of_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.checkpoint.CHUNK", 1 << 16)
    codes = np.zeros((2048, 2048), np.uint8).view(F8)
    tensors = {W: codes, W + "_scale_inv": np.ones((16, 16), np.float32), "wide": np.zeros((2048, 2048), np.float32)}
    folder = write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": FP8_BLOCKS})
    del codes, tensors
    with lp.checkpoints.open(folder) as checkpoint:
        for name, to in ((W, None), ("wide", "bfloat16")):
            x, peak = traced(lambda name=name, to=to: checkpoint.read(name, to=to))  # type: ignore[misc]
            assert x.nbytes == 8 << 20
            assert peak < x.nbytes + (2 << 20)


def test_the_module_is_imported_when_it_is_used() -> None:
    code = "import sys, lowprec as lp; before = 'lowprec.checkpoints' in sys.modules; lp.checkpoints.open; lp.convert; "
    assert printed(f"{code}print(before, lp.checkpoints is sys.modules['lowprec.checkpoints'])") == "False True\n"


def test_a_mapping_that_cannot_be_written() -> None:
    folder, _ = block_model()
    with lp.checkpoints.open(folder) as checkpoint:
        assert isinstance(checkpoint, Mapping)
        assert isinstance(checkpoint, Checkpoint)
        assert checkpoint.path == folder
        assert checkpoint.get("nothing") is None
        with pytest.raises(TypeError):
            checkpoint["new"] = np.ones(3)
        first, second = checkpoint[W], checkpoint[W]
        first[:] = 0
        assert second.any()


def test_torch() -> None:
    folder, expected = block_model()
    write_tensors(Path("n.safetensors"), {"codes": random_codes((4, 8)), "n": np.arange(3)})
    with lp.checkpoints.open(folder) as checkpoint:
        x = checkpoint.read(W, library="torch", rows=slice(7, 9))
        assert x.dtype == torch.bfloat16
        assert x.view(torch.int16).numpy().tobytes() == rounded(np.ascontiguousarray(expected[7:9]), "bfloat16")
        assert checkpoint.read(W, library="torch", to=torch.float32).dtype == torch.float32
    with lp.checkpoints.open("n.safetensors") as checkpoint:
        x = checkpoint.read("codes", library="torch")
        assert x.dtype == torch.float8_e4m3fn
        assert x.view(torch.uint8).numpy().tobytes() == random_codes((4, 8)).tobytes()
        assert checkpoint.read("n", library="torch").tolist() == [0, 1, 2]


def test_threads_share_a_checkpoint() -> None:
    tensors = {f"w{i}": np.full((64, 1024), i, np.float32) for i in range(16)}
    save(Path("x.safetensors"), tensors)
    start = threading.Barrier(4)

    def sums(_: int) -> list[float]:
        start.wait()
        return [float(np.ptp(checkpoint[name])) + float(checkpoint[name][0, 0]) for name in tensors]

    with lp.checkpoints.open("x.safetensors") as checkpoint, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(sums, range(4))) == [[float(i) for i in range(16)]] * 4


def test_names_that_are_not_there() -> None:
    folder, _ = block_model()
    with lp.checkpoints.open(folder) as checkpoint:
        for name, text in [
            (W + "_scale_inv", "is a part of 'model.layers.0.mlp.up_proj.weight' .*raw=True"),
            ("up_proj.weight", "has no tensor 'up_proj.weight'; did you mean 'model.layers.0.mlp.up_proj.weight'"),
            ("model.layers.0.mlp.up_proj.weigth", "did you mean 'model.layers.0.mlp.up_proj.weight'"),
            ("zzz", "model: has no tensor 'zzz'\""),
        ]:
            for call in (checkpoint.__getitem__, checkpoint.read, checkpoint.info):
                with pytest.raises(KeyError, match=text):
                    call(name)
        with pytest.raises(KeyError, match="names are texts, not int"):
            checkpoint[3]
        with pytest.raises(KeyError, match=r"did you mean .* or 'n\.weight'"):
            checkpoint.read("weight", raw=True)


def test_raw_names_of_packed_weights() -> None:
    folder = write_folder(Path("in"), LAYOUTS["gpt-oss"])
    with lp.checkpoints.open(folder) as checkpoint:
        with pytest.raises(KeyError, match=r"gate_up_proj_blocks', '.*gate_up_proj_scales', which are what raw=True"):
            checkpoint.read(E + "gate_up_proj", raw=True)
        with pytest.raises(KeyError, match=r"is a part of .* \(codes\)"):
            checkpoint[E + "gate_up_proj_blocks"]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [({"to": "int8"}, ValueError, "`to` must be bfloat16, float16, float32 or None; got 'int8'"),
     ({"library": "jax"}, ValueError, "`library` must be one of numpy, torch; got 'jax'"),
     ({"rows": 3}, TypeError, "`rows` must be a slice; got int"),
     ({"rows": slice(0, 4, 2)}, ValueError, "`rows` must be a slice without a step"),
     ({"name": "s", "rows": slice(0, 1)}, ValueError, "`rows` must be None for a tensor without axes")],
)  # fmt: skip
def test_arguments(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    np.savez("x.npz", w=np.ones((4, 4)), s=np.float32(1))
    with pytest.raises(error, match=text), lp.checkpoints.open("x.npz") as checkpoint:
        checkpoint.read(**{"name": "w", **arguments})


def test_broken_files() -> None:
    call_fails("nothing: No such file", lp.checkpoints.open, "nothing")
    folder, _ = block_model()
    with lp.checkpoints.open(folder) as checkpoint:
        shard = folder / "a.safetensors"
        shard.write_bytes(shard.read_bytes()[:-100])
        call_fails(r"a\.safetensors: cannot be read; it ended early", checkpoint.__getitem__, W)
    call_fails(r"a\.safetensors: must be a readable \.safetensors file", lp.checkpoints.open, folder)
    write_tensors(Path("y.safetensors"), {W: random_codes((130, 200)), W + "_scale_inv": np.ones((3, 3), np.float32)})
    call_fails(r"y\.safetensors: .*fits no weight of shape", lp.checkpoints.open, "y.safetensors")


def test_two_tensors_of_one_name() -> None:
    Path("in").mkdir()
    for shard in "ab":
        write_tensors(Path(f"in/{shard}.safetensors"), {"w": np.ones(3, np.float32)})
    call_fails("in: has two tensors for the name 'w'", lp.checkpoints.open, "in")


def test_scales_of_columns() -> None:
    """ModelOpt's AWQ multiplies the inputs by them: without, the values would be others."""
    names = ("weight", "weight_scale", "weight_scale_2", "pre_quant_scale")
    types = (("U8", (4, 8)), ("F8_E4M3", (4, 1)), ("F32", ()), ("BF16", (16,)))
    path = write(Path("x.safetensors"), {f"a.{name}": one for name, one in zip(names, types, strict=True)})
    call_fails(r"'a\.pre_quant_scale': is a scale of columns, which is not supported", lp.checkpoints.open, path)


def deep(path: Path) -> Path:
    """Make a folder whose parts are too deep: `files_in` refuses it, inside the loop over what it holds."""
    path.mkdir()
    os.makedirs(path.joinpath(*["a"] * 105))
    return path


def large_configuration(path: Path) -> Path:
    path.mkdir()
    save(path / "model.safetensors", {"w.weight": np.float32([[1, 2], [3, 4]])})
    (path / "config.json").write_text(json.dumps({"a": "x" * (17 << 20)}), encoding="utf-8")
    return path


def _convert(path: Path, **options: Any) -> object:
    return lp.convert(path, path.with_name(f"out{path.suffix}"), to="float16", **options)


NO_FILES: dict[str, tuple[Callable[[Path], Any], Callable[[Path], object]]] = {
    "open what is missing": (lambda path: path / "m.safetensors", lp.checkpoints.open),
    "convert what is missing": (lambda path: path / "m.gguf", _convert),
    "read what is missing": (lambda path: path / "m.npy", read_array),
    "open what is deep": (lambda path: deep(path / "d"), lp.checkpoints.open),
    "convert with a large description": (lambda path: large_configuration(path / "d"), _convert),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_it_is_an_os_error_that_names_the_path_once(name: str) -> None:
    make, call = NO_FILES[name]
    path = make(Path.cwd())
    with pytest.raises(OSError, match=f"^{path}") as caught:
        call(path)
    text = str(caught.value)
    assert isinstance(caught.value, FileError)
    assert text.count(str(path)) == 1, text
    assert text.count("cannot be") + text.count("No such file") <= 1, text
    assert (caught.value.errno, caught.value.filename) == (None, None)
    assert caught.value.__cause__ is None
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), text)


@pytest.mark.parametrize("kind", [str, Path, lambda path: type("", (), {"__fspath__": lambda _: str(path)})()])
@pytest.mark.parametrize(
    "spelled", ["float8_e4m3fn", 17, lp.formats["float8_e4m3fn"], lp.formats["float8_e4m3fn"].dtype]
)
@pytest.mark.parametrize("name", ["x.npz", "x.npy"])
def test_paths_and_formats_in_any_spelling(kind: Any, spelled: object, name: str) -> None:
    path, codes = Path(name), np.uint8([1, 0x7F, 0xFF])
    if name == "x.npz":
        write_array(kind(path), codes, spelled)
    else:
        np.save(path, codes)
    array, fmt = read_array(kind(path), None if name == "x.npz" else spelled)
    assert (array.tobytes(), fmt) == (codes.tobytes(), lp.formats["float8_e4m3fn"])
