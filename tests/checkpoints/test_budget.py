"""Threads and chunks within a limit of memory, where tensors cannot be cut: fewer threads, or an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import convert_fails, parse, sizes_of_reads
from support.typed_tensors import BF16, FP4, nibbles, random_codes, random_scales, read_tensors, write_tensors

from lowprec.checkpoints import conversion, convert
from lowprec.checkpoints.memory_limit import choose_chunks

Choice = tuple[Any, int, int]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[Choice]:
    """Return what was chosen: for which operations, threads, and bytes of a chunk."""
    seen: list[Choice] = []

    def choose(*arguments: Any) -> tuple[int, int]:
        threads, nbytes = choose_chunks(*arguments)
        seen.append((arguments[0], threads, nbytes))
        return threads, nbytes

    monkeypatch.setattr(conversion, "choose_chunks", choose)
    return seen


def test_fewer_threads_for_large_matrices(chosen: list[Choice]) -> None:
    """A matrix of gpt-oss is read whole, since its axes are exchanged: 16 threads would have 2.5 MB each."""
    rows, columns = 5760, 2880
    blocks = nibbles(np.random.default_rng(0).integers(0, 16, (1, rows, columns))).reshape(1, rows, columns // 32, 16)
    scales = np.full((1, rows, columns // 32), 120, np.uint8)
    source = write_tensors(Path("x.safetensors"), {"experts.w_blocks": blocks, "experts.w_scales": scales})
    convert(source, "y.safetensors", to="bfloat16", threads=16)
    ((_, threads, nbytes),) = chosen
    assert threads == (160 << 20) // (4 * rows * columns // 2 // 2)
    assert 2 * nbytes >= rows * columns // 2
    assert read_tensors(Path("y.safetensors"))["experts.w"].shape == (1, columns, rows)
    why = r"'experts.w_blocks': cannot be converted within `max_memory`: it is read in parts that need 112M"
    convert_fails(why, source, "z.safetensors", to="bfloat16", max_memory="111M")
    convert(source, "w.safetensors", to="bfloat16", max_memory="112M")


def test_rows_that_are_quantized_together(chosen: list[Choice]) -> None:
    """128 rows share scales, and are read together."""
    tensors = {"a.0.o.weight": np.ones((2, 40), BF16), "a.0.q.weight": np.ones((128, 40_000), BF16)}
    source = write_tensors(Path("x.safetensors"), tensors)
    why = r"'a.0.q.weight': cannot be converted within `max_memory`"
    convert_fails(why, source, "y.safetensors", recipe="fp8-block", max_memory="108M")
    convert(source, "y.safetensors", recipe="fp8-block", max_memory="128M", threads=8)
    assert chosen[0][1:] == (1, 8 << 20)


def test_scales_that_are_held() -> None:
    """They may take an eighth of the memory, 16 bytes each; rows of 64 elements and more have theirs in each chunk."""
    most = (98 << 20) // 8 // 16
    for rows in (most, most + 1):
        tensors = {"x": np.ones((4, 64), np.float32), "y": np.ones((rows, 1), np.float32)}
        source, options = write_tensors(Path("x.safetensors"), tensors), {"to": "int8", "scale": "axis:0"}
        if rows == most:
            convert(source, "y.safetensors", max_memory="98M", **options)
            continue
        why = r"x\.safetensors: 'y': cannot be converted within `max_memory`: it has scales that need 99M"
        convert_fails(why, source, "z.safetensors", max_memory="98M", **options)


def test_pieces_get_smaller_where_tensors_are_many(chosen: list[Choice], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "PER_TENSOR", 1 << 20)
    source = write_tensors(Path("x.safetensors"), {f"t{i}": np.zeros(1, np.uint8) for i in range(190)})
    convert(source, "y.safetensors", to="int8", raw=True, threads=4, max_memory="256M")
    assert chosen[0][1:] == (4, (18 << 20) // 16)
    with pytest.raises(ValueError, match="`max_memory` must be at least 240M; got 250609664 bytes"):
        convert(source, "z.safetensors", to="int8", raw=True, max_memory=(239 << 20))


FP4_CODES = np.random.default_rng(3).integers(0, 16, 400_001, np.uint8)


@pytest.mark.parametrize(
    ("x", "expected"),
    [(FP4[FP4_CODES], nibbles(np.append(FP4_CODES, 0)).tobytes()), (np.ones(1_600_001, np.int8), b"\x01" * 1_600_001)],
    ids=["packed", "copied"],
)
def test_numbers_of_elements_that_are_no_multiple_of_eight(
    x: np.ndarray, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """98M of memory have room for chunks of 512 KiB: no more is read at once."""
    sizes = sizes_of_reads(monkeypatch)
    source = write_tensors(Path("x.safetensors"), {"x": x})
    convert(source, "y.safetensors", to="float4_e2m1fn", max_memory="98M")
    assert parse(Path("y.safetensors"))[1][: len(expected)] == expected
    assert max(sizes) <= 512 << 10


FLOATS = {"a.0.q.weight": np.ones((256, 512), np.float32)}
CODES = {"a.0.q.weight": random_codes((256, 512)), "a.0.q.weight_scale_inv": random_scales((2, 4))}


@pytest.mark.parametrize(
    ("tensors", "options"),
    [
        (FLOATS, {"to": "float8_e4m3fn"}), (FLOATS, {"to": "float8_e4m3fn", "scale": "tensor"}),
        (FLOATS, {"recipe": "fp8-dynamic"}), (CODES, {"to": "bfloat16"}), (CODES, {"recipe": "int8"}),
        (CODES, {"recipe": "fnuz"}),
    ],
)  # fmt: skip
def test_chunks_are_no_larger_than_asked_for(
    tensors: dict[str, np.ndarray], options: dict[str, Any], chosen: list[Choice]
) -> None:
    """All of these have a float32 for each element, and 256 rows of 512 are 8 chunks of 64 KiB."""
    convert(write_tensors(Path("x.safetensors"), tensors), Path("y.safetensors"), **options)
    cut = next(one for one in chosen[0][0] if one.tensor.name == "a.0.q.weight").cut
    assert [cut.chunk_bytes(chunk) for chunk in cut.chunks(64 << 10)] == [64 << 10] * 8
