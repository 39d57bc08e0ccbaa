"""Arguments and reports of conversions by the rules beyond ONNX, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import save, stored_bytes, values
from support.command_line import fail, run

import lowprec as lp
from lowprec.checkpoints import convert

SEED = 0x0123_4567_89AB_CDEF
STOCHASTIC: dict[str, Any] = {"rounding": "stochastic", "seed": SEED}


def test_the_report_says_the_rules(tmp_path: Path) -> None:
    source = save(tmp_path / "x.safetensors", {"w": values((8, 32))})
    how: dict[str, Any] = {"scale": "block:32", "scale_format": "float8_e8m0fnu", "scale_rule": "even"}
    said = {"rounding": "stochastic_b", "overflow": "sat_finite", "nan": "signed", "seed": SEED, "random_bits": 16}
    line = "rules: rounding stochastic_b, overflow sat_finite, nan signed, "
    line += f"seed {SEED}, random bits 16, scale rule even"
    for dry_run in (True, False):
        report = convert(source, tmp_path / "y.safetensors", to="float4_e2m1fn", dry_run=dry_run, **how, **STOCHASTIC)
        assert line in report.as_text().splitlines()
        assert json.loads(report.as_json())["rules"] == {**said, "scale_rule": "even"}
        assert (tmp_path / "y.safetensors").exists() == (not dry_run)
    plain = convert(source, tmp_path / "z.safetensors", to="float4_e2m1fn", scale="block:32")
    assert (plain.rules, "rules:" in plain.as_text()) == ({}, False)
    wide = convert(source, tmp_path / "w.safetensors", to="bfloat16", rounding="to_odd")
    assert wide.rules == {"rounding": "to_odd", "overflow": "ovf_inf", "nan": "signed"}


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    x = values((24, 32), 13)
    save(Path("x.safetensors"), {"w": x})
    np.save("x.npy", x)
    options = ["--rounding", "stochastic_c", "--seed", "12", "--random-bits", "7"]
    options += ["--overflow", "ovf_inf", "--nan", "plain"]
    rules: dict[str, Any] = {"rounding": "stochastic_c", "seed": 12, "random_bits": 7}
    rules |= {"overflow": "ovf_inf", "nan": "plain"}
    expected = lp.encode(x, "float8_e4m3fn", **rules)
    text = run(
        "convert", "x.safetensors", "y.safetensors", "--to", "float8_e4m3fn", *options, "--progress", "none",
        "--report", "r.json", capsys=capsys,
    )  # fmt: skip
    assert "rules: rounding stochastic_c, overflow ovf_inf, nan plain, seed 12, random bits 7" in text
    assert json.loads(Path("r.json").read_text())["rules"]["seed"] == 12
    assert stored_bytes(Path("y.safetensors"), "w") == expected.tobytes()
    run("cast", "x.npy", "y.npz", "--to", "float8_e4m3fn", *options, capsys=capsys)
    with np.load("y.npz") as file:
        assert file["x" if "x" in file.files else file.files[0]].tobytes() == expected.tobytes()
    run("cast", "x.npy", "y.npy", "--to", "float16", *options, capsys=capsys)
    assert np.load("y.npy").tobytes() == lp.cast(x, "float16", **rules).tobytes()
    scaled = ["--to", "float4_e2m1fn", "--scale", "block:32", "--scale-format", "float8_e8m0fnu", "--progress", "none"]
    text = run("convert", "x.safetensors", "mx.safetensors", *scaled, "--scale-rule", "rceil", capsys=capsys)
    assert "rules: scale rule rceil" in text
    for command in (["cast", "x.npy", "no.npz"], ["convert", "x.safetensors", "no.safetensors", "--progress", "none"]):
        to = [*command, "--to", "float8_e4m3fn"]
        assert "--seed must be" in fail(*to, "--rounding", "stochastic", capsys=capsys)
        why = fail(*to, "--rounding", "to_odd", "--no-saturate", capsys=capsys)
        assert "`saturate` must be True, its default, where --rounding is given" in why
        why = fail(*to, "--nan", "zero", "--opset", "25", capsys=capsys)
        assert "--opset must be 28, its default, where --nan is given" in why
