"""Write the programs that test_torch_programs.py loads: a call of every operator of torch, exported and traced.

`PYTHONPATH=tests python tests/torch_ops/write_torch_programs.py VERSION`, run with the lowprec to be kept.
The files of 0.2.0 were written on commit e334a53.
"""

from __future__ import annotations

import io
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

from support.optional import optional

import lowprec as lp

torch: Any = optional("torch")

GOLDEN = Path(__file__).with_name("golden")


class Program(torch.nn.Module):
    """Call each of the eight operators of 0.2.0 on (4, 8) values."""

    def forward(self, x: Any) -> Any:
        """Return what they give; scales are made by torch."""
        scale = x.abs().nan_to_num(1.0).amax(1) + 1
        codes = lp.quantize_linear(x, scale, 3, axis=0, output_dtype="int4", packed=True)
        rules: dict[str, Any] = {"rounding": "stochastic", "seed": 2**64 - 5, "random_bits": 7, "offset": 11}
        return (
            lp.cast(x, "float8_e4m3fn", saturate=False), lp.cast(x, "float8_e5m2", **rules),
            torch.ops.lowprec.bitcast(lp.cast(x, "int8"), "uint8"), lp.encode(x, "float6_e2m3fn", packed=True),
            lp.decode(lp.encode(x, "float16"), "float16", to="bfloat16"), codes,
            lp.dequantize_linear(codes, scale, -2, source="int4", packed=True, shape=(4, 8), axis=0),
            lp.quantize_linear(x, 0.3, output_dtype="float8_e4m3fnuz", **rules),
            *lp.dynamic_quantize_linear(x.nan_to_num(1.0)),
        )  # fmt: skip


def values() -> Any:
    """Return the input of the programs."""
    x = torch.linspace(-500, 500, 32).reshape(4, 8) ** 3 / 1e5
    x[0, :4] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-42])
    return x


def _traced(program: Any) -> bytes:
    """Return a program of torch.jit without the names of the files that it was traced in."""
    whole, kept = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.trace(program, (torch.ones(4, 8),), check_trace=False), whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(kept, "w") as target:
        for name in source.namelist():
            if not name.endswith(".debug_pkl"):
                target.writestr(name, source.read(name))
    return kept.getvalue()


def main() -> None:
    """Write a program of torch.export, one of torch.jit.trace, and the results."""
    version, program, x = sys.argv[1], Program(), values()
    warnings.simplefilter("ignore")
    GOLDEN.mkdir(exist_ok=True)
    exported = torch.export.export(program, (torch.ones(4, 8),))
    for node in exported.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(exported, GOLDEN / f"{version}.pt2")
    (GOLDEN / f"{version}.pt").write_bytes(_traced(program))
    codes = [y.contiguous().view(getattr(torch, f"int{8 * y.itemsize}")) for y in program(x)]
    torch.save({"x": x, "codes": codes, "dtypes": [y.dtype for y in program(x)]}, GOLDEN / f"{version}_results.pt")


if __name__ == "__main__":
    main()
