"""The order of writes to the disk: the new files and folders, then the rename, then the folder it is in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.checkpoint_files import everything
from support.containers import SOURCES

from lowprec.checkpoints import convert
from lowprec.checkpoints.files import atomic_output


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc which file a descriptor is")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", SOURCES)
def test_everything_is_on_the_disk_before_it_has_its_name(
    kind: str, overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, name = SOURCES[kind]
    (tmp_path / "y").mkdir()
    source, target = build(tmp_path), tmp_path / "y" / name
    if overwrite:
        convert(source, target, to="int8", raw=True)
    steps: list[tuple[str, str]] = []

    def recorded(home: Any, function: str, word: str, which: int) -> None:
        original = getattr(home, function)

        def call(*arguments: Any) -> Any:
            what = os.readlink(f"/proc/self/fd/{arguments[0]}") if word == "sync" else str(arguments[which])
            steps.append((word, what))
            return original(*arguments)

        monkeypatch.setattr(home, function, call)

    recorded(os, "fsync", "sync", 0)
    recorded(os, "replace", "name", 0)
    recorded(atomic_output, "_renameat2", "name", 0)
    convert(source, target, to="int4", raw=True, overwrite=overwrite)
    monkeypatch.undo()
    first = next(index for index, (word, _) in enumerate(steps) if word == "name")
    last = max(index for index, (word, _) in enumerate(steps) if word == "name")
    before, after = steps[:first], steps[last + 1 :]
    staging = {what.split("/new")[0] for _, what in before if ".tmp-" in what}
    assert len(staging) == 1
    new = Path(staging.pop(), "new")
    assert new.parent.parent == tmp_path / "y"
    synced = {what for _, what in before}
    assert str(new) in synced
    if kind == "folder":
        wanted = {str(new / path) for path in everything(target)} | {str(new / "sub")}
    else:
        wanted = {str(new / path) for path in os.listdir(tmp_path / "y")}
    assert wanted <= synced
    assert ("sync", str(tmp_path / "y")) in after
    assert {what for word, what in steps if word == "name"} <= wanted | {str(new)}


# --- what else survived in mutated code ---
