"""Wrong calls, and what each says: one line that names the parameter. Others are with each function."""

from __future__ import annotations

import builtins
import re
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import checkpoints, loss, reference, teaching
from lowprec.checkpoints import FileError
from lowprec.spec.formats import Format, Kind, NaNRule

X = np.linspace(-3, 3, 64, dtype=np.float32).reshape(4, 16)
READ_ONLY = np.zeros(X.shape, np.uint8)
READ_ONLY.flags.writeable = False

E5M2 = {
    "name": "e5m2", "onnx_name": "E5M2", "onnx_enum": 1001, "kind": Kind.FLOAT, "exponent_bits": 5, "mantissa_bits": 2,
    "bias": 15, "signed": True, "has_inf": True, "nan": NaNRule.IEEE, "has_zero": True, "torch_name": None, "since": 28,
    "reference": "this test",
}  # fmt: skip

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
        if name == "jnp":
            return pytest.importorskip("jax").numpy
        if name == "on":
            pytest.importorskip("onnx")
            return lp.onnx
        raise KeyError(name)


NAMES = _Names(
    lp=lp, ck=checkpoints, lo=loss, re=reference, te=teaching, np=np, ml_dtypes=ml_dtypes, x=X, ro=READ_ONLY,
    s=lp.absmax_scale(X, "int8", axis=0), q=lp.quantize(X, "int8"), ones=partial(np.ones, dtype=np.float32),
    c=np.ones((2, 6), np.int8), Format=Format, Kind=Kind, NaNRule=NaNRule, e5m2=E5M2,
)  # fmt: skip
INNER = re.compile(r"array_api_compat|lowprec\.(?!formats\b|quantize\b|Quantized\b|torch_ops\b)")
COMMAND = re.compile(r"hf download \S+ --local-dir \S+")
"""The one command that a message gives: it is not ours."""


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
            eval(call, {}, NAMES)
        message = str(raised.value.args[0])
        assert re.match(pattern, message), message
    assert len(message.split("\n")) == 1
    assert len(message) <= 600
    assert not re.search(r" --[a-z]", COMMAND.sub("", message))  # options are of the command line
    assert not INNER.search(message)
    assert re.match(r"`\w+(\[['\w]+\])?`(,? (and )?`\w+`)* (must|has)|[\w./-]+: ", message)  # the parameter, the file
    assert sorted((one.name, one.read_bytes()) for one in files.iterdir()) == before
