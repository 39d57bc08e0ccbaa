"""Programs that read, convert and write files of weights: AWQ and GPTQ one by one, a folder, exchange with others."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.safetensors_writer import save_file

import lowprec as lp

CODES = np.random.default_rng(8).integers(0, 16, (16, 8))
ZEROS = np.arange(16).reshape(2, 8)[:, ::-1]
SCALES = (np.arange(1, 17).reshape(2, 8) / 64).astype(np.float16)
VALUES = ((CODES - ZEROS.repeat(8, 0)) * SCALES.astype(np.float32).repeat(8, 0)).T.astype(np.float32)
"""Of 16 inputs in two groups, for 8 outputs; a layer holds outputs by inputs."""


def words(codes: np.ndarray, order: list[int]) -> np.ndarray:
    """Return int32 words, each of eight codes along the last axis: the lowest four bits first, in an order."""
    eights = codes.reshape(*codes.shape[:-1], -1, 8)[..., order].astype(np.uint32)
    return (eights << (4 * np.arange(8, dtype=np.uint32))).sum(-1, dtype=np.uint32).view(np.int32)


def folder_of(path: Path, tensors: dict[str, np.ndarray], quantization: dict[str, object]) -> Path:
    path.mkdir()
    save_file({name: np.ascontiguousarray(one) for name, one in tensors.items()}, path / "model.safetensors")
    (path / "config.json").write_text(json.dumps({"quantization_config": quantization}))
    return path


def awq(path: Path) -> Path:
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    tensors = {"up.qweight": words(CODES, order), "up.qzeros": words(ZEROS, order), "up.scales": SCALES}
    what = {"quant_method": "awq", "bits": 4, "group_size": 8, "version": "gemm", "zero_point": True}
    return folder_of(path, {**tensors, "norm.weight": np.ones(8, np.float16)}, what)


def gptq(path: Path) -> Path:
    order = list(range(8))
    tensors = {
        "up.qweight": words(CODES.T, order).T, "up.qzeros": words((ZEROS - 1) % 16, order), "up.scales": SCALES,
        "up.g_idx": np.arange(16, dtype=np.int32) // 8,
    }  # fmt: skip
    what = {"quant_method": "gptq", "bits": 4, "group_size": 8, "desc_act": False, "checkpoint_format": "gptq"}
    return folder_of(path, {**tensors, "norm.weight": np.ones(8, np.float16)}, what)


@pytest.mark.parametrize("made", [awq, gptq])
def test_weights_are_read_one_by_one(made: object, tmp_path: Path) -> None:
    path = made(tmp_path / "model")
    with lp.checkpoints.open(path) as checkpoint:
        found = {name: checkpoint.read(name, to="float32") for name in checkpoint}
    assert sorted(found) == ["norm.weight", "up.weight"]
    assert found["up.weight"].dtype == np.float32
    assert (found["up.weight"] == VALUES).all()
    assert (found["norm.weight"] == 1).all()


def test_a_folder_is_converted_and_says_how_far_it_is(tmp_path: Path) -> None:
    source = tmp_path / "model"
    source.mkdir()
    weights = {f"layer.{n}.weight": np.linspace(-n, n, 256, dtype=np.float32).reshape(16, 16) for n in (1, 2, 3)}
    save_file(weights, source / "model.safetensors")
    (source / "config.json").write_text("{}")
    calls = []
    target = tmp_path / "half"
    report = lp.convert(source, target, to="bfloat16", progress=lambda *state: calls.append(state))
    done = [one[0] for one in calls]
    assert done == sorted(done)
    assert {total for _, total, _ in calls} == {calls[-1][0]}
    assert set(weights) <= {name for *_, name in calls}
    assert (target / "config.json").is_file()
    with lp.checkpoints.open(target) as checkpoint:
        for name, weight in weights.items():
            assert checkpoint[name].tobytes() == weight.astype(ml_dtypes.bfloat16).tobytes()
    assert "layer.2.weight" in str(report)
    assert len(str(report)) < 2000
    with pytest.raises(OSError, match=r"half: exists; say `overwrite` to replace it$"):
        lp.convert(source, target, to="bfloat16")


def test_arrays_are_saved_and_others_read_them(tmp_path: Path) -> None:
    w = np.linspace(-3, 3, 64, dtype=np.float32).reshape(4, 16)
    q = lp.quantize(w, "int8", axis=0)
    arrays = {"plain": w, "small": lp.cast(w, "float8_e5m2"), "q": q}
    lp.checkpoints.save(tmp_path / "x.safetensors", arrays)
    safetensors = pytest.importorskip("safetensors.numpy")
    torch_reads = pytest.importorskip("safetensors.torch")
    with lp.checkpoints.open(tmp_path / "x.safetensors") as checkpoint:
        scale = np.abs(w).max(1, keepdims=True) / np.float32(127)
        assert (checkpoint.read("q", to="float32") == np.rint(w / scale) * scale).all()
    tensors = torch_reads.load_file(tmp_path / "x.safetensors")
    assert str(tensors["small"].dtype) == "torch.float8_e5m2"
    assert (tensors["small"].float().numpy() == w.astype(ml_dtypes.float8_e5m2).astype(np.float32)).all()
    assert (tensors["plain"].numpy() == w).all()
    safetensors.save_file({"w": w}, tmp_path / "y.safetensors")
    with lp.checkpoints.open(tmp_path / "y.safetensors") as checkpoint:
        assert (checkpoint["w"] == w).all()


def test_columns_of_pandas_and_arrow() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": [0.1, -2.5, 1000.0], "b": [1, 2, 300]})
    for name in frame:
        values = frame[name].to_numpy()
        codes = lp.encode(values, "float8_e4m3fn")
        wanted = np.clip(values, -448, 448).astype(ml_dtypes.float8_e4m3fn)
        assert codes.tolist() == wanted.view(np.uint8).tolist()
        frame[f"{name} in float8"] = lp.decode(codes, "float8_e4m3fn")
        column = arrow.array(codes)  # Arrow has no float8: codes are uint8
        assert lp.decode(column.to_numpy(), "float8_e4m3fn").tolist() == wanted.astype(np.float32).tolist()
    assert frame["a in float8"].tolist() == [0.1015625, -2.5, 448.0]
    with pytest.raises(TypeError, match=r"pass `\.to_numpy\(\)`$"):
        lp.encode(frame["a"], "float8_e4m3fn")


def test_npz_and_back(tmp_path: Path) -> None:
    w = np.linspace(-3, 3, 64, dtype=np.float32)
    lp.checkpoints.write_array(str(tmp_path / "x.npz"), lp.encode(w, "float6_e3m2fn"), "float6_e3m2fn")
    stored, fmt = lp.checkpoints.read_array(str(tmp_path / "x.npz"))
    assert lp.decode(stored, fmt).tolist() == w.astype(ml_dtypes.float6_e3m2fn).astype(np.float32).tolist()
