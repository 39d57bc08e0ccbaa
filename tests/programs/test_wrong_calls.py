"""Wrong calls, and what each says: one line that names the parameter. Others are with each function."""

from __future__ import annotations

import builtins
import re
from functools import partial
from pathlib import Path
from typing import Any

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest
from support.custom_formats import E5M2

import lowprec as lp
from lowprec import checkpoints, loss, reference, teaching
from lowprec.checkpoints import FileError
from lowprec.spec.formats import Format, Kind, NaNRule

X = np.linspace(-3, 3, 64, dtype=np.float32).reshape(4, 16)
READ_ONLY = np.zeros(X.shape, np.uint8)
READ_ONLY.flags.writeable = False
ROW, ZERO = np.linspace(0.5, 2, 16, dtype=np.float32), np.arange(-8, 8, dtype=np.int8)

TEXT = Path(__file__).with_name("wrong_calls.txt").read_text(encoding="utf-8")
CALLS = re.findall(r"^([^ #\n].*)\n    (\w+): (.+(?:\n    .+)*)", TEXT, re.MULTILINE)
"""Each call, its error, and how the message begins, whose lines are joined."""
PHRASES = dict(re.findall(r"^# (\w+): (.+)", TEXT, re.MULTILINE))
"""What stands for a word in braces."""


class _Names(dict[str, Any]):
    """The names in the calls: arrays, modules, and what is made of a library that may be missing when it is used."""

    def __missing__(self, name: str) -> Any:
        if name in ("torch", "t"):
            torch = pytest.importorskip("torch")
            return torch if name == "torch" else torch.from_numpy(X.copy())
        if name == "traced":
            make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
            return lambda call: make_fx(call, tracing_mode="fake")(self["t"])
        if name == "batched":
            return lambda call: self["torch"].vmap(call)(self["torch"].ones(3, 4))
        if name == "jnp":
            return pytest.importorskip("jax").numpy
        if name == "on":
            pytest.importorskip("onnx")
            return lp.onnx
        raise KeyError(name)


NAMES = _Names(
    lp=lp, ck=checkpoints, lo=loss, re=reference, te=teaching, np=np, ml_dtypes=ml_dtypes, x=X, ro=READ_ONLY,
    r=ROW, z=ZERO, s=lp.absmax_scale(X, "int8", axis=0), q=lp.quantize(X, "int8"), c=np.ones((2, 6), np.int8),
    ones=partial(np.ones, dtype=np.float32), zeros=np.zeros, strided=np.lib.stride_tricks.as_strided,
    strict=strict, Format=Format, Kind=Kind, NaNRule=NaNRule, e5m2=E5M2,
)  # fmt: skip
INNER = re.compile(r"array_api_compat|lowprec\.(?!formats\b|quantize\b|Quantized\b|torch_ops\b)")
COMMAND = re.compile(r"hf download \S+ --local-dir \S+")
"""The one command that a message gives: it is not ours."""


@pytest.fixture(scope="module", autouse=True)
def _right_calls() -> None:
    """Make calls that are right, to which some that must be refused are next: none is taken for one of them."""
    zeros, integers = np.zeros(16, lp.formats["float8_e4m3fn"].dtype), X.astype(np.int32)
    for _ in range(2):
        lp.quantize_linear(X, ROW, ZERO, axis=1)
        lp.quantize_linear(X, ROW, ZERO, output_dtype="int8", axis=1)
        lp.quantize_linear(X, ROW, zeros, axis=1)
        lp.quantize_linear(X, 0.5, 3, output_dtype="int8")
        lp.quantize_linear(integers, 2, output_dtype="int8", scale_format="int32")
        lp.quantize_linear(X, 0.5, 0, output_dtype="float8_e4m3fn")
        lp.dequantize_linear(X.astype(np.int8), ROW, ZERO, axis=1)
        lp.dequantize_linear(integers, 0.5, 0)
        lp.absmax_scale(X, "int8", axis=1)
        lp.nvfp4_quantize(X, global_scale=0.5), lp.nvfp4_quantize(X, global_scale=np.float32([1]))
        for blocks in (lp.mx_quantize, lp.nvfp4_quantize):
            blocks(X), blocks(X, rounding="stochastic", seed=3, offset=5)
        lp.cast(X, 1)  # the number of float32, and equal to True


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the files in the calls."""
    folder = tmp_path_factory.mktemp("wrong")
    np.save(folder / "a.npy", X)
    for name in ("a.npz", "b.npz"):
        np.savez(folder / name, w=X)
    (folder / "junk.safetensors").write_bytes(b"junk")
    (folder / "array.safetensors").write_bytes((folder / "a.npy").read_bytes())
    checkpoints.save(folder / "w.safetensors", {"a": X, "head.weight": X, "layers.0.q.weight": X})
    return folder


@pytest.mark.parametrize(("call", "error", "start"), CALLS, ids=[call for call, _, _ in CALLS])
@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning", "ignore:.*deprecated:DeprecationWarning")
def test_wrong_call(call: str, error: str, start: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    start = re.sub(r"\{(\w+)\}", lambda word: PHRASES[word[1]], " ".join(start.split()))
    pattern = re.escape(start).replace(r"\ \.\.\.\ ", " .* ")
    before = sorted((one.name, one.read_bytes()) for one in files.iterdir())
    for _ in range(2):  # the second call finds whatever the first one left in a cache
        with pytest.raises(getattr(builtins, error, FileError)) as raised:
            eval(call, dict(NAMES), NAMES)
        message = str(raised.value.args[0])
        assert re.match(pattern, message), message
    assert len(message.split("\n")) == 1
    assert len(message) <= 600
    assert not re.search(r" --[a-z]", COMMAND.sub("", message))  # options are of the command line
    assert not INNER.search(message)
    assert re.match(r"`\w+(\[['\w]+\])?`(,? (and )?`\w+`)* (must|has)|[\w./-]+: ", message)  # the parameter, the file
    assert sorted((one.name, one.read_bytes()) for one in files.iterdir()) == before
