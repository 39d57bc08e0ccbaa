"""torch.compile, export and autograd give the bits of the eager call; the operators and what they refuse."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from support.paths import printed
from support.torch_calls import CALLS, FUNCTIONS, bits, sample
from torch.fx.experimental.proxy_tensor import make_fx

import lowprec as lp
import lowprec.torch_ops
from lowprec.arrays import torch_tensors
from lowprec.spec.formats import NUMERIC, Format

OPERATORS = torch.ops.lowprec


@pytest.fixture(autouse=True)
def _compiled_afresh() -> Iterator[None]:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(error_on_recompile=True):
        yield


# ---- one graph, the same bits
@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [name for name in CALLS if name not in FUNCTIONS])  # those are compiled elsewhere
def test_compiled(name: str) -> None:
    call = CALLS[name]
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        compiled = torch.compile(call, backend=backend, fullgraph=True)
        for seed in (0, 1):
            assert bits(compiled(sample(seed))) == bits(call(sample(seed)))


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_compiled_formats(fmt: Format) -> None:
    def call(x: Any) -> Any:
        codes = lp.encode(x, fmt.name)
        return lp.cast(x, fmt), codes, lp.decode(codes, fmt.onnx_enum or fmt.name, to="float64")

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    assert bits(compiled(sample())) == bits(call(sample()))


def test_the_first_call_of_a_process_can_be_compiled() -> None:
    code = """
import sys
import lowprec as lp, torch
assert 'lowprec.torch_ops' not in sys.modules
x = torch.tensor([0.3, -1000.0, 1e9])
with torch._dynamo.config.patch(error_on_recompile=True):
    compiled = torch.compile(lambda x: lp.cast(x, 'int4', saturate=True), backend='eager', fullgraph=True)
    compiled(x), lp.cast(x, 'int4')
    print(compiled(x).tolist())
"""
    assert printed(code) == "[0, -8, 0]\n"


def test_plain_tensors_need_no_operator() -> None:
    code = """
import sys
import lowprec as lp, torch
x = torch.tensor([0.3, -1000.0, 1e9])
lp.cast(x, 'int8'), lp.encode(x[::2], 'float16'), lp.quantize_linear(x, 0.5, 3, output_dtype=2),
lp.decode(x.view(torch.uint32), 1)
print('lowprec.torch_ops' in sys.modules)
"""
    assert printed(code) == "False\n"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_shapes_and_numbers_may_change(backend: str) -> None:
    def call(x: Any, scale: Any, zero_point: int, block: int) -> Any:
        packed = lp.quantize_linear(x, scale, zero_point, output_dtype="int4", packed=True)
        blocks = lp.quantize_linear(
            x, x.new_ones(x.shape[0], x.shape[1] // block), block_size=block, axis=1, output_dtype="uint8"
        )
        return packed, blocks, lp.unpack(packed, "int4", x.shape)

    with torch._dynamo.config.patch(error_on_recompile=False):
        compiled = torch.compile(call, backend=backend, fullgraph=True, dynamic=True)
        for columns, scale, zero_point, block in ((8, 0.3, 1, 2), (12, 0.7, -2, 3), (20, 3, 0, 5), (6, 0.1, -8, 6)):
            x = torch.randn(3, columns) * 5
            assert bits(compiled(x, scale, zero_point, block)) == bits(call(x, scale, zero_point, block))


# ---- the operators themselves
def test_operators_take_meta_tensors() -> None:
    x = torch.empty(3, 5, device="meta")
    packed = OPERATORS.encode(x, "float6_e2m3fn", packed=True)
    assert (packed.device.type, packed.dtype, packed.shape) == ("meta", torch.uint8, (12,))
    values = OPERATORS.decode(packed, "float6_e2m3fn", to="float16", packed=True, shape=(3, 5))
    assert (values.device.type, values.dtype, values.shape) == ("meta", torch.float16, (3, 5))


def test_formats_without_a_name_are_refused_where_torch_traces() -> None:
    row = lp.float_format("nowhere_registered", exponent_bits=4, mantissa_bits=3)
    with pytest.raises(ValueError, match=r"`to` must be a row of lowprec.formats, .* or a registered one where torch"):
        make_fx(lambda x: lp.cast(x, row))(sample())


# ---- autograd
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_gradients_do_not_pass_and_nothing_raises() -> None:
    x = sample(1)[1:]

    def call(x: Any) -> Any:
        return (lp.cast(x, "int8").float() * x).sum()

    detached = lp.cast(x, "int8").float()
    assert torch.equal(torch.func.grad(call)(x), detached)
    assert torch.equal(torch.func.jacrev(call)(x), detached)
    assert torch.equal(torch.func.jvp(call, (x,), (torch.ones_like(x),))[1], detached.sum())
    assert torch.equal(torch.func.vmap(torch.func.grad(call))(x), detached)
    leaf = x.clone().requires_grad_()
    assert not torch.compile(lambda x: lp.cast(x, "bfloat16"), backend="aot_eager")(leaf).requires_grad
    torch.compile(call, backend="aot_eager", fullgraph=True)(leaf).backward()
    assert torch.equal(leaf.grad, detached)


ONES, CODES = torch.ones(2, 3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.uint8)
WRITES: dict[str, Any] = {
    "cast": lambda out: lp.cast(ONES, "float32", out=out),
    "cast strided": lambda out: lp.cast(ONES.t(), "float32", out=out.t()).t(),
    "cast_like": lambda out: lp.cast_like(ONES, ONES.float(), out=out),
    "decode": lambda out: lp.decode(CODES, "int4", out=out),
    "decode packed": lambda out: lp.decode(CODES[0], "int4", packed=True, shape=(2, 3), out=out),
    "dequantize": lambda out: lp.dequantize_linear(CODES, 2.0, out=out),
    "zero tensor": lambda out: lp.cast(torch._efficientzerotensor((2, 3)), "float32", out=out),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writing_to_out_is_seen_by_autograd(write: Any) -> None:
    x = torch.full((2, 3), 3.0)
    for out in (x, x[:], x.view(3, 2).view(2, 3), x.detach()):
        leaf = torch.ones(2, 3, requires_grad=True)
        product = leaf * x  # keeps x for the backward pass
        version = x._version
        assert write(out).data_ptr() == x.data_ptr()
        assert x._version > version
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()


def test_out_of_codes_counts_as_written_too() -> None:
    x = torch.ones(2, 3)
    for write, shape, dtype in (
        (lambda out: lp.encode(x, "float16", out=out), (2, 3), torch.uint16),
        (lambda out: lp.encode(x, "int4", packed=True, out=out), (3,), torch.uint8),
        (lambda out: lp.quantize_linear(x, 0.5, 3, out=out, output_dtype="uint8"), (2, 3), torch.uint8),
        (lambda out: lp.quantize_linear(x, 0.5, output_dtype="int2", packed=True, out=out), (2,), torch.uint8),
    ):
        out = torch.zeros(shape, dtype=dtype)
        assert write(out) is out
        assert out._version == 1
    with torch.inference_mode():  # its tensors have no version
        out = torch.zeros(2, 3, dtype=torch.uint8)
    assert lp.quantize_linear(x, 0.5, 3, out=out, output_dtype="uint8") is out
    assert out.tolist() == [[5] * 3] * 2


def test_out_in_views() -> None:
    memory = torch.zeros(4, 6, dtype=torch.int8)
    assert lp.cast(torch.full((3, 2), -3.7), "int8", out=memory[::2, 1:4].t()).shape == (3, 2)
    assert memory.tolist() == [[0, -3, -3, -3, 0, 0], [0] * 6] * 2
    x = torch.arange(6.0)
    assert lp.cast(x[:-1], "float32", out=x[1:]).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(("out", "message"), [
    (torch.eye(2).to_sparse(), "`out` must be a dense torch tensor with data; got one that is torch.sparse_coo"),
    (torch.empty(2, 2, device="meta"), "`out` must be a dense .* on meta"),
    (torch._efficientzerotensor((2, 2)), "`out` must be a dense .*without memory of its own"),
])  # fmt: skip
def test_out_that_cannot_be_written(out: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        lp.cast(torch.eye(2), "float32", out=out)


@pytest.mark.parametrize("parameter", ["scale", "zero_point"])
def test_operands_without_memory(parameter: str) -> None:
    def call(operand: Any) -> Any:
        operands = (operand, None) if parameter == "scale" else (torch.ones(2), operand)
        return lp.quantize_linear(torch.eye(2), *operands, axis=0, output_dtype="uint8")

    for operand in (torch.ones(2).to_sparse(), torch.ones(2, device="meta"), torch.ones(2).to_sparse().to_dense()[:]):
        operand = operand.to(torch.float32 if parameter == "scale" else torch.uint8)
        if operand.layout is torch.strided and not operand.is_meta:
            assert call(operand).tolist() == ([[1, 0], [0, 1]] if parameter == "scale" else [[2, 1], [1, 2]])
            continue
        with pytest.raises(TypeError, match=f"`{parameter}` must be a dense torch tensor with data"):
            call(operand)
    zeros = torch._efficientzerotensor((2,), dtype=torch.float32 if parameter == "scale" else torch.uint8)
    assert call(zeros).tolist() == ([[255, 0], [0, 255]] if parameter == "scale" else [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    "name", sorted(torch_tensors.EAGER.keys() - {"to_numpy", "stochastic_bits", "register_pytrees"})
)
def test_operators_have_the_options_of_the_functions(name: str) -> None:
    schema = getattr(OPERATORS, name).default._schema
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    theirs = {name: value[0] if isinstance(value, list) else value for name, value in defaults.items()}  # int[1]
    parameters = inspect.signature(getattr(lp, name)).parameters.values()
    ours = {p.name: p.default for p in parameters if p.default is not p.empty and p.name != "out"}
    if name in ("quantize_linear", "dequantize_linear"):  # ONNX's defaults, where the function asks
        assert (ours.pop("axis"), theirs.pop("axis")) == (None, 1)
        assert theirs.pop("float64_x", False) is False
    if "element" in theirs:
        theirs["to"] = theirs.pop("element")
    assert theirs == {name: ours[name] for name in theirs}
    assert ours.keys() - theirs.keys() <= {"source"}  # needed where torch traces, or named by the caller


def test_undefined_types_count_as_none() -> None:
    zero = torch.tensor(0, dtype=torch.int8)
    graph = make_fx(lambda x, zero: lp.quantize_linear(x, 0.5, zero, output_dtype=0, precision=0))(sample(), zero)
    assert bits(graph(sample(), zero)) == bits(lp.quantize_linear(sample(), 0.5, output_dtype="int8"))


def test_what_holds_the_operators() -> None:
    assert lowprec.torch_ops.LIBRARY.ns == "lowprec"
    assert {name.split("::")[1] for name in torch._C._dispatch_get_all_op_names() if name.startswith("lowprec::")} == {
        "absmax_scale", "bitcast", "cast", "decode", "dequantize_linear", "dynamic_quantize_linear", "encode",
        "minmax_scale", "mx_dequantize", "mx_quantize", "number", "nvfp4_dequantize", "nvfp4_quantize",
        "quantize_linear",
    }  # fmt: skip


def test_flags_are_checked_where_torch_traces() -> None:
    for call in (
        lambda x: lp.encode(x, "int4", packed="no"),
        lambda x: lp.quantize_linear(x, 0.5, output_dtype="int4", packed="no"),
        lambda x: lp.decode(x.to(torch.uint8), "int4", packed="no", shape=(2,)),
    ):
        for traced in (call, make_fx(call)):
            with pytest.raises(ValueError, match="`packed` must be True or False; got 'no'"):
                traced(sample())
