"""Arguments and geometry of CUDA launches, and which arrays take the CUDA back end: all that needs no GPU."""

from __future__ import annotations

import math
import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.optional import optional
from support.paths import printed

import lowprec as lp
from lowprec.backends import cuda
from lowprec.backends.jobs import Job, Scales
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.plan import copy_plan
from lowprec.plans.quantize_plan import QuantizeOptions, quantize_plan
from lowprec.plans.scale_shapes import Granularity, granularity_of
from lowprec.spec.formats import FORMATS
from lowprec.spec.operator_versions import cast_rules
from lowprec.spec.rounding_modes import Stream

torch: Any = optional("torch")
FLOAT32 = FORMATS["float32"]

NATIVE = Path(lp.__file__).parent / "_native"
HEADERS = ("scalar_kernels.h",)
ENDS = [(a, b) for a in (2, 4, 6, 8, 16, 32, 64) for b in (2, 4, 6, 8, 16, 32, 64)]


@pytest.mark.parametrize(("source_bits", "target_bits"), ENDS)
def test_vectors(source_bits: int, target_bits: int) -> None:
    length = cuda.Conversion(("load8",), source_bits, target_bits).vector_length
    for bits in (source_bits, target_bits):
        assert length * bits % (32 if bits < 8 else bits) == 0  # packed codes fill whole words
    assert length & (length - 1) == 0
    unpacked = min(source_bits, target_bits) >= 8
    assert length * max(source_bits, target_bits) == 128 if unpacked else length in (8, 16)


@pytest.mark.parametrize("n", [0, 1, 4, 1023, 1024, 1025, 10**6, 2**26, 2**26 + 1, 2**40])
def test_geometry(n: int) -> None:
    made = cuda.Conversion(("encode8",), 32, 8)
    blocks, threads = cuda.geometry(made, n)
    assert f"__launch_bounds__({threads})" in cuda.kernel_source({})
    assert 1 <= blocks <= 2**16
    if blocks < 2**16:  # a thread for each vector, and no block without work
        assert blocks * threads * made.vector_length >= n > (blocks - 1) * threads * made.vector_length or blocks == 1


def _program(source: str, target: str, **ends: bool) -> Any:
    rows = FORMATS[source], FORMATS[target]
    return make_program(make_plan(*rows, cast_rules(*rows)), **ends)


def test_arguments_are_passed_by_value() -> None:
    program = _program("int8", "uint16")
    count, params, operands = cuda.arguments(program, 2**33)
    assert count.dtype == np.uint64
    assert count == 2**33
    assert params.size == operands.size == 1  # CuPy passes a NumPy array of one element by value, and refuses others
    words = np.frombuffer(params.tobytes(), np.uint64).tolist()
    first = words.index(0xFF)
    assert words[first : first + 8] == [0xFF, 0x80, 0xFFFF, *[0] * 5]  # source_mask, source_sign, target_mask, others


def _between(file: str, start: str, end: str) -> str:
    return (NATIVE / file).read_text(encoding="utf-8").partition(start)[2].partition(end)[0]


C_TYPES = {"unsigned int": "uint32_t", "int": "int32_t", "unsigned long long": "uint64_t"}
SIZES = {"uint32_t": 4, "int32_t": 4, "uint64_t": 8}


def test_cython_declares_the_struct_of_params() -> None:
    """params.h is the one struct of the compiled loops and of the CUDA text; Cython needs the names and types again."""
    header = _between("params.h", "typedef struct {", "} params_t;")
    fields = re.findall(r"^    (int|unsigned [a-z ]+) (\w+);", header, re.MULTILINE)
    fields = [(C_TYPES[kind], name) for kind, name in fields]
    cython = _between("kernel_types.pxd", "params_t:", "\n\n")
    declared = re.findall(r"^        (u?int\d\d_t) (\w+)", cython, re.MULTILINE)
    assert declared == fields
    assert len(fields) == header.count(";") > 30
    assert sum(SIZES[kind] for kind, _ in fields) == len(_program("int8", "uint16").params)  # no padding
    assert cuda.kernel_source({}).count("} params_t;") == 1


def test_every_loop_has_a_function_but_those_of_the_ends() -> None:
    # bytes in the other order cannot be on a CUDA device, and packing belongs to the vectors
    text = "".join((NATIVE / name).read_text(encoding="utf-8") for name in HEADERS)
    made = set(re.findall(r"LP_INLINE u\d+ lp_(\w+)\(", text))
    for macro, widths in re.findall(r"\bLP_([A-Z_]+)\((\d+(?:, \d+)?)\)", text):
        names = ("quantize32_to", "quantize64_to", "round_saturate") if macro == "QUANTIZE" else (macro.lower(),)
        made |= {name + widths.replace(", ", "_to") for name in names}
    tier = import_module(f"lowprec._native.tier_{lp.build_info()['isas'][0]}")
    loops = {name for name in tier.LOOPS if not name.startswith(("pack", "unpack", "byteswap"))}
    assert len(loops) > 50
    assert loops | set(tier.SCALE_LOOPS) | set(tier.RANDOM_LOOPS) <= made


def test_loops_that_take_scales_are_known_by_their_names() -> None:
    tier = import_module(f"lowprec._native.tier_{lp.build_info()['isas'][0]}")
    for name in (*tier.LOOPS, *tier.SCALE_LOOPS):
        width = cuda.Conversion((name,), 32, 8).scale_bits
        assert width == (0 if name in tier.LOOPS else 64 if "64" in name else 32), name


def test_operands_are_passed_by_value() -> None:
    packed = cuda.operands_bytes(2**40, 0, Granularity(0, 3, 4, 1, 0, 1))
    assert np.frombuffer(packed, np.uint64).tolist() == [2**40, 0, 3, 4, 1, 0, 1, 0, 0]
    streamed = cuda.operands_bytes(*cuda.NO_SCALES, Stream(2**63 + 1, 7))
    assert np.frombuffer(streamed, np.uint64).tolist() == [0, 0, 1, 1, 1, 0, 1, 2**63 + 1, 7]
    fields = re.findall(r"\w+(?=[,;])", re.sub("//.*", "", _between("cuda_kernel.cuh", "struct operands_t {", "};")))
    assert fields == ["scale", "zero", "inner", "length", "block", "outer_step", "width", "seed", "slot"]
    assert [*Granularity._fields[1:], "seed", "slot"] == fields[2:]
    assert cuda.arguments(_program("int8", "uint16"), 1, packed)[2].tobytes() == packed


def test_packing_is_a_matter_of_the_ends() -> None:
    made = cuda.conversion(_program("float4_e2m1fn", "float6_e3m2fn", unpacked=True, packed=True))
    assert made == cuda.Conversion(("decode8", "encode8"), 4, 6)
    text = cuda.kernel_source({"convert": made})
    assert "source_bits = 4, target_bits = 6;\n    static constexpr int vector_length = 16;" in text


@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x.transpose(2, 0, 1), lambda x: x.transpose(1, 2, 0)[None, :, None], lambda x: x[1],
    lambda x: x[1, 2, 3], lambda x: x[:1].transpose(2, 1, 0), lambda x: np.asfortranarray(x),
])  # fmt: skip
def test_order_of_dense_memory(view: object) -> None:
    x = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    array = view(np.concatenate([x, x]))
    axes = cuda.memory_order(array.shape, array.strides, array.itemsize)
    assert axes is not None
    assert sorted(axes) == list(range(array.ndim))
    assert array.transpose(axes).flags.c_contiguous


@pytest.mark.parametrize("view", [
    lambda x: x[:, ::2], lambda x: x[..., 1:], lambda x: x[::-1], lambda x: np.broadcast_to(x[0], (5, 3, 4)),
    lambda x: np.lib.stride_tricks.sliding_window_view(x[0, 0], 2),
])  # fmt: skip
def test_memory_with_gaps_or_overlaps_has_no_order(view: object) -> None:
    array = view(np.arange(24, dtype=np.uint16).reshape(2, 3, 4))
    assert cuda.memory_order(array.shape, array.strides, array.itemsize) is None


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize(
    ("axis", "block", "shape"),
    [(0, 0, (4,)), (1, 0, (5,)), (2, 0, (6,)), (0, 3, (2, 5, 6)), (1, 2, (4, 3, 6)), (2, 4, (4, 5, 2)), (1, 0, ())],
)
def test_scales_follow_the_memory(axis: int, block: int, shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    """Read as the kernels do, by the formula of `Granularity`; the other side is NumPy's repetition."""
    scale = np.arange(1, math.prod(shape) + 1, dtype=np.float32).reshape(shape)
    by_axis = scale if block or not shape else np.expand_dims(scale, tuple({0, 1, 2} - {axis}))
    every = np.repeat(by_axis, block, axis)[tuple(map(slice, (4, 5, 6)))] if block else by_axis
    every = np.broadcast_to(every, (4, 5, 6)).transpose(order)
    plan = quantize_plan(FLOAT32, FLOAT32, None, QuantizeOptions(output_dtype=FORMATS["int8"]))
    x = np.zeros(every.shape, np.float32).transpose(np.argsort(order))
    axes = cuda.memory_order(x.shape, x.strides, x.itemsize)
    assert axes == order
    scales = Scales(scale, FLOAT32, None, granularity_of(x.shape, shape, axis, block, True, True))
    (ready,), granularity = cuda._ready_scales(Job(x, plan, scales=scales), scales, axes, every.shape, np)
    inner, length, of_block, outer_step, width = granularity[1:]
    outer, position, within = np.unravel_index(np.arange(x.size), (x.size // (inner * length), length, inner))
    numbers = (outer * outer_step + position // of_block) * width + (within if width > 1 else 0)
    assert np.array_equal(ready.view(np.float32).ravel()[numbers], every.ravel())


def test_other_arrays_stay_where_they_were() -> None:
    for x in (np.zeros(2), torch.zeros(2), strict.zeros(2)):
        assert not cuda.accepts(Job(x, copy_plan(FORMATS["float64"])))


def test_cupy_is_not_imported_for_others() -> None:
    pytest.importorskip("torch")
    code = (
        "import sys, array_api_strict as strict, torch, lowprec as lp; "
        "lp.cast(strict.ones(2), 'float16'); lp.cast(torch.ones(2), 'float16'); print('cupy' in sys.modules)"
    )
    assert printed(code) == "False\n"


def test_machine_code_is_kept_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "kept"))
    compiled: list[tuple[str, ...]] = []

    def compile_using_nvrtc(source: str, options: tuple[str, ...]) -> tuple[bytes, None]:
        compiled.append(options)
        return source.encode(), None

    def cupy(capability: str) -> Any:
        return SimpleNamespace(
            cuda=SimpleNamespace(
                nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
                compiler=SimpleNamespace(compile_using_nvrtc=compile_using_nvrtc),
                Device=lambda: SimpleNamespace(compute_capability=capability),
            )
        )

    assert [cuda._compiled("a", cupy("90")) for _ in range(2)] == [b"a", b"a"]
    assert compiled == [cuda.OPTIONS]
    assert "--ftz=false" in cuda.OPTIONS  # subnormal numbers are numbers
    for source, capability in [("b", "90"), ("a", "100")]:
        assert cuda._compiled(source, cupy(capability)) == source.encode()
    assert len(compiled) == len(list((tmp_path / "kept").iterdir())) == 3
    (tmp_path / "file").touch()
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "file"))
    assert cuda._compiled("c", cupy("90")) == b"c"  # a folder that cannot be: nothing is kept
