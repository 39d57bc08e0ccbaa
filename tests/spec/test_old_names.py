"""Names of parameters: each works by keyword, the old ones with a DeprecationWarning; other calls do not take them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.optional import Missing, optional

import lowprec as lp
from lowprec import checkpoints, loss

torch: Any = optional("torch")

X = np.float32([[0.3, -1.0], [2.5, 7.0]])
CODES = np.uint8([[1, 2], [3, 4]])
PACKED = lp.pack(CODES, "int4")
ELEMENTS, SCALES = lp.mx_quantize(X, "float8_e4m3fn")
FP4 = lp.nvfp4_quantize(X)

NEVER_THERE = {"LossSentence", "HeldBinade", "HeldValues", "values_held"}
"""Names of lowprec.teaching that lowprec.reference never had."""

KEYWORDS: list[tuple[Callable[..., Any], dict[str, Any]]] = [  # in the order of the positions
    (lp.cast, {"x": X, "to": "float8_e4m3fn"}), (lp.cast_like, {"x": X, "like": X.astype(np.float16)}),
    (lp.bitcast, {"x": X, "to": "uint32"}), (lp.encode, {"x": X, "to": "float8_e4m3fn"}),
    (lp.decode, {"codes": CODES, "source": "float8_e4m3fn"}), (lp.pack, {"x": CODES, "source": "int4"}),
    (lp.unpack, {"packed": PACKED, "source": "int4", "shape": (2, 2)}), (lp.absmax_scale, {"x": X, "to": "int8"}),
    (lp.minmax_scale, {"x": X, "to": "uint8"}), (lp.mx_quantize, {"x": X, "to": "float8_e4m3fn"}),
    (lp.mx_dequantize, {"elements": ELEMENTS, "scales": SCALES}), (lp.nvfp4_quantize, {"x": X}),
    (lp.nvfp4_dequantize, dict(zip(("elements", "scales", "global_scale"), FP4, strict=True))),
    (lp.to_numpy, {"x": CODES, "source": "float8_e4m3fn"}),
    (lp.stochastic_bits, {"seed": 1, "shape": 3, "bits": 4, "offset": 5}),
    (lp.explain, {"x": "0.3", "fmt": "float8_e4m3fn"}), (lp.finfo, {"fmt": "float16"}), (lp.iinfo, {"fmt": "int8"}),
    (loss.measure, {"x": X, "to": "float8_e4m3fn"}),
]  # fmt: skip
if not isinstance(torch, Missing):
    KEYWORDS.append((lp.to_torch, {"x": CODES, "source": "float8_e4m3fn"}))


def _content(found: Any) -> Any:
    if isinstance(found, tuple):
        return [_content(one) for one in found]
    return (found.dtype, found.tolist()) if hasattr(found, "dtype") and hasattr(found, "shape") else repr(found)


@pytest.mark.parametrize(("function", "arguments"), KEYWORDS, ids=lambda one: getattr(one, "__name__", ""))
def test_arrays_and_formats_by_position_or_keyword(function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    names = [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    assert names == list(arguments)
    assert _content(function(**arguments)) == _content(function(*arguments.values()))


@pytest.mark.skipif(isinstance(torch, Missing), reason="needs torch")
@pytest.mark.parametrize(("function", "arguments"), KEYWORDS, ids=lambda one: getattr(one, "__name__", ""))
def test_keywords_where_torch_traces(function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    if not any(isinstance(one, np.ndarray) for one in arguments.values()) or function in (lp.to_numpy, loss.measure):
        pytest.skip("it takes or returns no tensors")
    given = {name: lp.to_torch(one) if isinstance(one, np.ndarray) else one for name, one in arguments.items()}
    torch._dynamo.reset()
    traced = torch.compile(lambda: function(**given), backend="eager", fullgraph=True)()
    assert _content(traced) == _content(function(*given.values()))


OLD: list[tuple[str, str, str]] = [  # what takes it, the old name, the new one
    ("lowprec.checkpoints.Checkpoint.read", "dtype", "to"), ("lowprec.checkpoints.write_array", "fmt", "to"),
    ("lowprec.loss.measure", "fmt", "to"), ("lowprec.to_numpy", "fmt", "source"), ("lowprec.to_torch", "fmt", "source"),
]  # fmt: skip


def _public() -> Iterator[tuple[str, Any]]:
    """Yield the path of each public function and method, and what it is."""
    for name in ("lowprec", "lowprec.checkpoints", "lowprec.loss", "lowprec.reference", "lowprec.teaching"):
        module = importlib.import_module(name)
        for one in module.__all__:
            found = getattr(module, one)
            yield f"{name}.{one}", found
            if inspect.isclass(found):
                yield from ((f"{name}.{one}.{method}", getattr(found, method)) for method in vars(found))


def test_the_list_of_old_names_is_whole() -> None:
    found = [
        (path, *names)
        for path, function in _public()
        for names in getattr(function, "renamed_parameters", {}).items()
        if path != "lowprec.convert"
    ]
    assert sorted(found) == OLD


def _calls(tmp_path: Path) -> dict[str, Callable[..., Any]]:
    np.savez(tmp_path / "x.npz", w=X)
    opened = checkpoints.open(tmp_path / "x.npz")

    def write(**options: Any) -> list[Any]:
        checkpoints.write_array(tmp_path / "y.npz", CODES, **options)
        return list(checkpoints.read_array(tmp_path / "y.npz"))

    return {
        "lowprec.checkpoints.Checkpoint.read": lambda **options: opened.read("w", **options),
        "lowprec.checkpoints.write_array": write,
        "lowprec.loss.measure": lambda **options: loss.measure(X, **options),
        "lowprec.to_numpy": lambda **options: lp.to_numpy(CODES, **options),
        "lowprec.to_torch": lambda **options: lp.to_torch(CODES, **options),
    }


@pytest.mark.parametrize(("path", "old", "new"), OLD)
def test_old_names_work_and_warn(path: str, old: str, new: str, tmp_path: Path) -> None:
    if path == "lowprec.to_torch":
        pytest.importorskip("torch")
    call, fmt = _calls(tmp_path)[path], lp.formats["float16" if path.endswith("read") else "float8_e4m3fn"]
    function = path.rpartition(".")[2]
    with pytest.warns(DeprecationWarning, match=f"^`{old}` of `{function}` is called `{new}` now$") as caught:
        found = call(**{old: fmt})
    assert caught[0].filename == __file__
    assert repr(found) == repr(call(**{new: fmt}))
    with pytest.raises(TypeError, match=f"^`{new}` must be given once; got `{old}`, its old name, as well$"):
        call(**{old: fmt, new: fmt})


MOVED = {
    "lowprec": {"carrier": "lowprec.storage_dtype"},
    "lowprec.reference": {
        name: f"lowprec.teaching.{name}" for name in lp.teaching.__all__ if name not in NEVER_THERE
    } | {"Loss": "lowprec.teaching.LossSentence", "array_cast": "lowprec.reference.whole_arrays"},
}  # fmt: skip


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in MOVED.items() for name in names])
def test_what_has_moved_is_found_and_warns(module: str, name: str) -> None:
    home = MOVED[module][name]
    with pytest.warns(DeprecationWarning, match=f"^{module}.{name} is {home} now$") as caught:
        found = getattr(importlib.import_module(module), name)
    assert caught[0].filename == __file__
    owner, _, attribute = home.rpartition(".")
    assert found is getattr(importlib.import_module(owner), attribute)
