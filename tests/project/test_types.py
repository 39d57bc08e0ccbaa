"""Types: options with a closed list of names are refused by mypy, arrays come out as the type that went in."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from support.paths import ROOT

import lowprec as lp
from lowprec.checkpoints.conversion import LayoutName, RecipeName
from lowprec.checkpoints.planning.plan_for_layout import LAYOUTS
from lowprec.checkpoints.recipes import CHANGES, RECIPES
from lowprec.spec.custom_formats import NaNCodesName
from lowprec.spec.formats import NaNRule
from lowprec.spec.rounding_modes import RoundingName

PROGRAM = """
import numpy as np
from numpy.typing import NDArray
import lowprec as lp

class Tensor: ...

x: NDArray[np.float32] = np.zeros(4, np.float32)
t = Tensor()
reveal_type(lp.cast(x, "float8_e4m3fn"))  # ndarray[tuple[Any, ...], dtype[floating[_32Bit]]]
reveal_type(lp.cast(t, "float8_e4m3fn"))  # Tensor
reveal_type(lp.cast_like(t, x))  # Tensor
reveal_type(lp.bitcast(t, "uint8"))  # Tensor
reveal_type(lp.encode(t, "float8_e4m3fn", rounding="to_odd", overflow="ovf_inf", nan="zero"))  # Tensor
reveal_type(lp.decode(t, "float8_e4m3fn"))  # Tensor
reveal_type(lp.pack(t, "int4"))  # Tensor
reveal_type(lp.unpack(t, "int4", 4))  # Tensor
reveal_type(lp.absmax_scale(t, "int8"))  # Tensor
reveal_type(lp.minmax_scale(t, "int8"))  # tuple[Tensor, Tensor]
reveal_type(lp.mx_quantize(t, scale_rule="rceil"))  # tuple[Tensor, Tensor]
reveal_type(lp.mx_dequantize(t, t))  # Tensor
reveal_type(lp.nvfp4_quantize(t, scale_rule="torchao", specials="ignore"))  # tuple[Tensor, Tensor, Tensor]
reveal_type(lp.nvfp4_dequantize(t, t, 1.0))  # Tensor
reveal_type(lp.quantize_linear(t, 0.5, output_dtype="int8", rounding="to_odd"))  # Tensor
reveal_type(lp.dequantize_linear(t, 0.5))  # Tensor
reveal_type(lp.dynamic_quantize_linear(t))  # tuple[Tensor, Tensor, Tensor]
lp.cast(x, "int8", rounding="to_od")  # error
lp.cast(x, "float16", overflow="wrap")  # error
lp.encode(x, "float16", nan="quiet")  # error
lp.cast(x, "float8_e8m0fnu", round_mode="sideways")  # error
lp.absmax_scale(x, "int8", scale_rule="ceiling")  # error
lp.mx_quantize(x, specials="keep")  # error
lp.nvfp4_quantize(x, scale_rule="floor")  # error
lp.quantize_linear(x, 0.5, output_dtype="float8_e5m2", rounding="to_od")  # error
lp.quantize(x, "float8_e5m2", rounding="to_od")  # error
lp.quantize(x, "mxfp4", scale_rule="absmax")  # error
lp.compare(lambda codes: codes, "float16", "bfloat16", rounding="to_od")  # error
lp.explain(0.3, "float16", rounding="nearest")  # error
lp.float_format("a", exponent_bits=3, mantissa_bits=3, nan="all_ones")  # error
lp.convert("a", "b", recipe="fp8")  # error
lp.convert("a", "b", progress="lines")  # error
lp.convert("a", "b", layout="gptq")  # error
lp.checkpoints.open("a").read("w", library="jax")  # error
lp.castt(x, "int8")  # error
lp.roundings["to_odd"].upper()
lp.teaching.accumulate([1, 2], "float16", rounding="to_odd")
"""


@pytest.mark.slow
def test_mypy_reads_the_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    cache = str(ROOT / ".mypy_cache" / "types")
    options = ["--strict", "--follow-imports=silent", "--config-file", "", "--cache-dir", cache]
    command = [sys.executable, "-m", "mypy", *options, str(tmp_path / "program.py")]
    text = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout
    said = {int(number): line for number, line in re.findall(r"program\.py:(\d+): (\w+: .*)", text)}
    for number, line in enumerate(PROGRAM.split("\n"), 1):
        wanted = line.partition("  # ")[2]
        if wanted == "error":
            assert said.pop(number, "").startswith("error: "), line
        elif wanted:
            found = re.sub(r"\b[a-z_]+\.(?=[\w.]*\w)", "", said.pop(number).partition('"')[2].rstrip('"'))
            assert found == wanted, line
    assert said == {}, text


def test_lists_and_types_have_the_same_names() -> None:
    assert get_args(NaNCodesName) == tuple(rule.value for rule in NaNRule)
    assert sorted(get_args(LayoutName)) == sorted(LAYOUTS)
    assert get_args(RecipeName) == tuple(one.name for one in (*RECIPES, *CHANGES))
    assert tuple(lp.roundings) == get_args(RoundingName)


def test_roundings_are_listed_with_what_they_do() -> None:
    lines = repr(lp.roundings).split("\n")
    assert [line.split()[0] for line in lines] == ["rounding", *lp.roundings]
    assert all(line.endswith(text) for line, text in zip(lines[1:], lp.roundings.values(), strict=True))
    page = (ROOT / "docs" / "rounding.md").read_text(encoding="utf-8")
    assert [name for name in lp.roundings if f'`"{name}"`' not in page] == []
    with pytest.raises(KeyError):
        lp.roundings["to_od"]
