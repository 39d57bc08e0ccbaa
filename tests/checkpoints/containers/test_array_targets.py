"""Which files an array may be written to, and the names that the functions of .npy files had before."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.npy_files import INT4, UINT8, codes_of

import lowprec as lp
import lowprec.checkpoints
from lowprec.checkpoints import read_array as read
from lowprec.checkpoints import write_array as write
from lowprec.checkpoints.containers.npy_file import sidecar
from lowprec.checkpoints.containers.target_path import check_array_target
from lowprec.checkpoints.files.errors import FileError

F32 = np.array([0.0, 1.5], np.float32)


def test_check_array_target(tmp_path: Path) -> None:
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(source, F32)
    check_array_target(source, target, UINT8, overwrite=False)
    (tmp_path / "soft.npy").symlink_to("in.npy")
    (tmp_path / "hard.npz").hardlink_to(source)
    for name in ("in.npy", "soft.npy", "hard.npz", "../" + tmp_path.name + "/in.npy"):
        with pytest.raises(FileError, match="must not be the input itself"):
            check_array_target(source, tmp_path / name, UINT8, overwrite=True)
    for path in (tmp_path, tmp_path / "no" / "out.npy", tmp_path / "out.bin", Path("/dev/null"), source / "out.npy"):
        with pytest.raises(FileError, match=r"must be a \.npy or \.npz file, as .*in\.npy is, in an existing folder"):
            check_array_target(source, path, UINT8, overwrite=True)
    for name, build in {"dir.npy": Path.mkdir, "pipe.npy": os.mkfifo}.items():
        build(tmp_path / name)
        with pytest.raises(FileError, match="must be a regular file"):
            check_array_target(source, tmp_path / name, UINT8, overwrite=True)
    (tmp_path / "null.npy").symlink_to("/dev/null")
    with pytest.raises(FileError, match="must be a regular file"):
        check_array_target(source, tmp_path / "null.npy", UINT8, overwrite=True)
    write(target, codes_of(UINT8), UINT8)
    with pytest.raises(FileError, match=r"out\.npy: exists; say `overwrite`"):
        check_array_target(source, target, UINT8, overwrite=False)
    check_array_target(source, target, UINT8, overwrite=True)
    with pytest.raises(FileError, match=r"out\.npy: NumPy has no int4"):
        check_array_target(source, target, INT4, overwrite=True)
    sidecar(target).write_text('{"mine": 1}')
    with pytest.raises(FileError, match=r"out\.npy\.json: .* move it away"):
        check_array_target(source, target, UINT8, overwrite=True)


def test_the_old_module_warns(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"lowprec\.checkpoints\.npy is read_array and write_array") as old:
        npy = lowprec.checkpoints.npy
    assert (npy.read, npy.write) == (read, write)  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match=r"lowprec\.npy is read_array and write_array") as older:
        assert lp.npy is npy
    assert [one.filename for one in (*old, *older)] == [__file__] * 2  # the line that must be changed
    with pytest.raises(AttributeError, match="has no attribute 'npz'"):
        lowprec.checkpoints.npz  # noqa: B018
