"""A checkpoint in three shards, conversions of it that stop in the last one, and what a resumed one reads."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lowprec.checkpoints import convert
from lowprec.checkpoints.execution.worker import Worker
from lowprec.checkpoints.files.errors import FileError
from support.checkpoint_files import save
from support.forked_programs import Program

SHARDS = [f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3)]
LAST = SHARDS[2]


def three_shards(folder: Path) -> Path:
    """Write a folder whose q_proj and k_proj, which share a scale in some recipes, lie in the first and last shard."""
    folder.mkdir()
    rng = np.random.default_rng(15)
    places: dict[str, str] = {}
    for number, shard in enumerate(SHARDS):
        names = [f"model.layers.{number}.mlp.{name}_proj.weight" for name in ("gate", "up", "down")]
        names.append(f"model.layers.7.self_attn.{'qok'[number]}_proj.weight")
        names.append(f"model.layers.{number}.input_layernorm.weight")
        tensors = {}
        for at, name in enumerate(names):
            shape = (64,) if "norm" in name else (32, 64)
            tensors[name] = (rng.standard_normal(shape) * (1 + at + 5 * number)).astype(ml_dtypes.bfloat16)
        save(folder / shard, tensors, {"format": "pt"})
        places |= dict.fromkeys(names, shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / "config.json").write_text('{"model_type": "llama", "torch_dtype": "bfloat16"}')
    (folder / "sub").mkdir()
    (folder / "sub" / "tokenizer.model").write_bytes(bytes(range(256)))
    return folder


BLOCKED = """
import json, sys, time
from lowprec.checkpoints import convert
from lowprec.checkpoints.execution.worker import Worker
original = Worker.convert
def block(worker, task):
    if task.operation.tensor.location.path.name == sys.argv[4]:
        print("blocked", flush=True)
        time.sleep(600)
    return original(worker, task)
Worker.convert = block
convert(sys.argv[1], sys.argv[2], resume=True, threads=1, **json.loads(sys.argv[3]))
"""


def start_blocked(source: Path, target: Path, finished: int, **options: Any) -> Program:
    """Start a conversion in another process, and wait until it has finished some files and stops in the last one."""
    child = Program(BLOCKED, str(source), str(target), json.dumps(options), LAST)
    child.until("blocked\n")
    deadline = time.monotonic() + 60
    while len(list(records(target))) < finished:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return child


def records(target: Path) -> list[Path]:
    """Return the records of finished files."""
    return sorted(target.with_name(f"{target.name}.tmp-resume").glob("finished/*.json"))


def fails_in_last(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have the conversion of the last shard fail."""
    original = Worker._write

    def write(self: Worker, position: Any, at: int, content: Any) -> None:
        if position.path.name == LAST:
            raise error
        original(self, position, at, content)

    monkeypatch.setattr(Worker, "_write", write)


def fail(source: Path, target: Path, **options: Any) -> None:
    """Leave a conversion that can be resumed, with two finished files."""
    with pytest.MonkeyPatch.context() as patch:
        fails_in_last(patch, FileError("full"))
        with pytest.raises(FileError, match="full"):
            convert(source, target, resume=True, **options)
    assert len(records(target)) == 2


def untimed(report: Any) -> dict[str, Any]:
    """Return what a report says but for times, paths, and that the conversion was resumed."""
    fields = {name: value for name, value in report.as_dict().items() if name not in ("source", "target", "remarks")}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(one) for name, one in value.items() if name not in ("seconds", "bytes_per_second")}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return dict(plain(fields))
