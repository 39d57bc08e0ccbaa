"""Dask arrays: laziness, keys that differ, chunks that belong together, other processes."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.paths import printed

import lowprec as lp
from lowprec.backends import dask as backend
from lowprec.backends import threads
from lowprec.spec.formats import NUMERIC, Format, Kind, NaNRule

da = pytest.importorskip("dask.array")
cloudpickle = pytest.importorskip("cloudpickle")
X = np.random.default_rng(0).normal(0, 30, (13, 24)).astype(np.float32)


@pytest.fixture
def x() -> Any:
    return da.from_array(X, chunks=(5, 7))


def test_nothing_is_computed_before(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(backend, "_cast_block", lambda block, **names: seen.append(names) or block)
    x = da.from_array(X, chunks=(5, 7))
    lazy = lp.cast(x, "float8_e5m2")
    packed = lp.encode(x, "int4", packed=True)
    scaled = lp.dynamic_quantize_linear(x)
    assert (lazy.shape, packed.shape, scaled[0].shape) == (X.shape, (X.size // 2,), X.shape)
    bits = lp.bitcast(x, "uint32")
    assert (bits.shape, bits.dtype) == (X.shape, np.uint32)
    assert not seen


def test_a_global_scale_is_computed_with_the_rest(x: Any) -> None:
    seen = []
    scale = da.from_array(np.float32([0.5]), chunks=1)
    scale = scale.map_blocks(lambda block: seen.append(block) or block, meta=np.empty(0, np.float32))
    lazy = lp.nvfp4_quantize(x, global_scale=scale[0])
    assert not seen
    for one, wanted in zip(lazy, lp.nvfp4_quantize(X, global_scale=0.5), strict=True):
        assert np.asarray(one.compute()).tobytes() == wanted.tobytes()
    assert seen


def test_two_formats_never_share_a_key(x: Any) -> None:
    bytes_ = da.from_array(X.astype(np.uint8), chunks=(5, 7))
    options = [{"saturate": False}, {"opset": 19}, {}]
    groups = [
        [lp.cast(x, fmt) for fmt in NUMERIC], [lp.encode(x, fmt) for fmt in NUMERIC],
        [lp.decode(bytes_, fmt) for fmt in NUMERIC if fmt.storage_bits == 8],
        [lp.bitcast(bytes_, fmt, source="float8_e5m2") for fmt in ("int8", "bool")],
        [lp.cast(x, "float8_e4m3fnuz", **how) for how in options],
        [lp.cast(x, "float8_e8m0fnu", round_mode=mode) for mode in ("up", "down", "nearest")],
        [lp.quantize_linear(x, 0.5, output_dtype=fmt) for fmt in ("int8", "uint8", "float8_e5m2", "float4_e2m1fn")],
        [lp.quantize_linear(x, 0.25, output_dtype="uint8"), lp.quantize_linear(x, 0.5, 3, output_dtype="uint8"),
         lp.quantize_linear(x, 0.5, output_dtype="uint8")],
        [lp.dequantize_linear(bytes_, 0.5, source=fmt) for fmt in ("uint8", "float8_e5m2", "uint4")],
    ]  # fmt: skip
    for group in groups:
        assert len({array.name for array in group}) == len(group), group


def test_tasks_hold_plans_and_little_else(x: Any) -> None:
    half, codes = da.from_array(np.ones(24, np.float32)), da.from_array(X.astype(np.uint8), chunks=(5, 7))
    lazy = [
        lp.cast(x, "float8_e5m2"), lp.encode(x, "int4", packed=True),
        lp.quantize_linear(x, half, axis=1, output_dtype="float8_e5m2"),
        lp.cast(codes, "bfloat16", source="float8_e5m2"), lp.bitcast(codes, "float8_e5m2"),
    ]  # fmt: skip
    for array in lazy:
        graph = cloudpickle.dumps(dict(array.__dask_graph__()))
        assert b"lowprec" in graph
        for kind in (b"ml_dtypes", b"Program"):
            assert kind not in graph, kind
    layer = lazy[0].__dask_graph__().layers[lazy[0].name]
    assert b"float8_e5m2" in cloudpickle.dumps(layer)
    sizes = []
    for rows in (1, 1001):
        blocks = lp.cast(da.zeros((rows, 10), chunks=(1, 10), dtype=np.float32), _described(16))
        sizes.append(len(cloudpickle.dumps(dict(blocks.__dask_graph__().layers[blocks.name]))))
    assert sizes[0] < 1000
    assert sizes[1] - sizes[0] < 1000 * 100, "the plan is stored once, not with each task"


def _described(bias: int) -> Format:
    fields = (5, 2, bias, True, True, NaNRule.NEGATIVE_ZERO)
    return Format("binary8p3se", "BINARY8P3SE", 1001, Kind.FLOAT, *fields, True, None, 28, "IEEE P3109")


def test_custom_formats(x: Any) -> None:
    fmt, other = _described(16), _described(15)
    assert len({lp.cast(x, row).name for row in (fmt, other, "float8_e5m2")}) == 3
    assert lp.cast(x, fmt).name == lp.cast(x, pickle.loads(pickle.dumps(fmt))).name
    expected = lp.encode(X, fmt)
    for scheduler in ("synchronous", "threads", "processes"):
        lazy = lp.cast(x, fmt)
        assert lazy.dtype == np.uint8
        assert np.array_equal(lazy.compute(scheduler=scheduler), expected)
    values = lp.decode(da.from_array(expected, chunks=4), fmt).compute()
    assert np.array_equal(values, lp.decode(expected, fmt), equal_nan=True)
    scale = da.from_array(np.linspace(0.1, 2, 24, dtype=np.float32))
    codes = lp.quantize_linear(x, scale, axis=1, output_dtype=fmt)
    assert np.array_equal(codes.compute(), lp.quantize_linear(X, scale.compute(), axis=1, output_dtype=fmt))
    back = lp.dequantize_linear(codes, scale, axis=1, source=fmt)
    assert np.array_equal(back.compute(), lp.dequantize_linear(codes.compute(), scale.compute(), axis=1, source=fmt))


def test_keys_are_the_same_in_another_process() -> None:
    code = (
        "import dask.array as da, numpy as np, lowprec as lp, sys, pickle; x = da.zeros((4, 4), dtype=np.float32); "
        "fmt = pickle.loads(bytes.fromhex(sys.argv[1])); print(lp.cast(x, fmt).name, "
        "lp.quantize_linear(x, 0.5, output_dtype=fmt).name)"
    )
    names = set()
    for _ in range(2):
        names.add(printed(code, pickle.dumps(_described(16)).hex()))
    assert len(names) == 1
    assert "binary8p3se" in names.pop()


def test_chunks_follow_the_blocks_of_a_quantization() -> None:
    x = da.from_array(X, chunks=((1, 12), (3, 3, 9, 9)))
    scale = np.linspace(0.1, 2, 13 * 6, dtype=np.float32).reshape(13, 6)
    got = lp.quantize_linear(x, scale, block_size=4, axis=1, output_dtype="uint8")
    assert got.chunks == ((1, 12), (4, 8, 12))
    assert np.array_equal(got.compute(), lp.quantize_linear(X, scale, block_size=4, axis=1, output_dtype="uint8"))
    per_axis = lp.quantize_linear(x, scale[0, :1].repeat(24), axis=1, output_dtype="uint8")
    assert per_axis.chunks == x.chunks


def test_unknown_chunks() -> None:
    x = da.from_array(X[:, 0], chunks=4)
    some = x[x > 0]
    assert np.array_equal(lp.encode(some, "int8").compute(), lp.encode(X[:, 0][X[:, 0] > 0], "int8"))
    with pytest.raises(ValueError, match="`x` must have chunks of known sizes"):
        lp.encode(some, "int4", packed=True)
    with pytest.raises(ValueError, match="`x` must have chunks of known sizes"):
        lp.cast(some, "float8_e5m2", rounding="stochastic", seed=1)


def test_blocks_that_lie_about_their_dtype(x: Any) -> None:
    wrong = x.map_blocks(lambda block: block.astype(np.float64), dtype=np.float32, meta=np.empty((0, 0), np.float32))
    with pytest.raises(TypeError, match="the blocks of `x` must hold float32, as the whole array says; one has dtype"):
        lp.cast(wrong, "int8").compute(scheduler="synchronous")


def test_masked_blocks_are_refused(x: Any) -> None:
    with pytest.raises(TypeError, match=r"`x` must be an array .*; got numpy\.ma\.\w*\.?MaskedArray"):
        lp.cast(da.ma.masked_less(x, 0), "int8")


def test_a_task_takes_one_thread() -> None:
    lp.set_num_threads(2)
    seen = set()

    def look(block: np.ndarray) -> np.ndarray:
        with threads.one_thread():
            seen.add((threads.threads_for(1 << 24), threading.get_ident()))
        return block

    da.ones((4, 4), chunks=2).map_blocks(look, dtype=float).compute()
    assert {count for count, _ in seen} == {1}
    assert threads.threads_for(1 << 24) == lp.get_num_threads()


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Give two worker processes, each with two threads, on this machine alone."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    before = dict(os.environ)  # what it wants of its workers, OMP_NUM_THREADS=1 for one, it leaves here too
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, **options) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found
    os.environ.clear()
    os.environ.update(before)


def _process(block: np.ndarray) -> np.ndarray:
    return np.full((1, 1), os.getpid())


@pytest.mark.slow
def test_processes(client: Any) -> None:
    rows, columns = 60, 64
    values = np.random.default_rng(1).normal(0, 30, (rows, columns)).astype(np.float32)
    x = client.persist(da.from_array(values, chunks=(7, columns)))
    scale = np.linspace(0.1, 2, rows * 4, dtype=np.float32).reshape(rows, 4)
    for fmt in NUMERIC:
        codes = lp.encode(values, fmt)
        assert np.array_equal(lp.encode(x, fmt).compute(), codes), fmt.name
        held = client.persist(lp.cast(x, fmt))
        assert np.array_equal(lp.to_numpy(held, fmt).view(fmt.code_dtype), codes), fmt.name
        again = lp.cast(held, "float32", source=fmt).compute()
        assert np.array_equal(again.view(np.uint32), lp.decode(codes, fmt).view(np.uint32)), fmt.name
        if fmt.bits <= 6:
            assert np.array_equal(lp.encode(x, fmt, packed=True).compute(), lp.encode(values, fmt, packed=True))
        if fmt.bits <= 8 and fmt.has_zero and fmt.name != "bool":
            how = {"axis": 1, "block_size": 16, "output_dtype": fmt}
            wanted = lp.quantize_linear(values, scale, **how)
            small = client.persist(lp.quantize_linear(x, scale, **how))
            assert np.array_equal(lp.to_numpy(small, fmt).view(np.uint8), wanted.view(np.uint8)), fmt.name
            back = lp.dequantize_linear(small, scale, source=fmt, block_size=16, axis=1).compute()
            assert np.array_equal(back, lp.dequantize_linear(wanted, scale, block_size=16, axis=1), equal_nan=True), (
                fmt.name
            )
    fmt = _described(16)
    codes = lp.encode(values, fmt)
    held = client.persist(lp.cast(x, fmt))
    assert np.array_equal(held.compute(), codes)
    assert np.array_equal(lp.decode(held, fmt).compute(), lp.decode(codes, fmt), equal_nan=True)
    how = {"axis": 1, "block_size": 16, "output_dtype": fmt}
    small = client.persist(lp.quantize_linear(x, scale, **how))
    assert np.array_equal(small.compute(), lp.quantize_linear(values, scale, **how))
    ids: set[int] = set()
    for worker in client.scheduler_info()["workers"]:  # left to itself, the scheduler may give one of them all chunks
        part = x.map_blocks(_process, dtype=int, chunks=(1, 1))
        ids |= set(client.compute(part, workers=[worker]).result().flatten().tolist())
        assert np.array_equal(client.compute(lp.encode(x, fmt), workers=[worker]).result(), codes)
    assert len(ids - {os.getpid()}) == 2
