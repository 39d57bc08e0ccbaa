"""The names, shapes and description that DeepSeek's block FP8 has for weights that are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..schemes.scheme import Scheme
from .output import CODES, SCALES, Output

__all__ = ["NAME", "describe", "outputs"]

NAME = "FP8 of DeepSeek"


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the codes and the scales of a weight, or of those of all experts.

    Scales are factors, although their name says that they are inverse.
    """
    *experts, rows, columns = shape
    yield Output(CODES, name, scheme.codes, shape)
    yield Output(SCALES, f"{name}_scale_inv", scheme.scale, (*experts, *scheme.grid.shape(rows, columns)))


def describe(scale_format: str, scheme: Scheme, ignore: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the entry ``quantization_config`` of config.json.

    Parameters
    ----------
    scale_format : str
        What ``scale_fmt`` says: "ue8m0" for scales that are powers of two; nothing where there is no such entry.
    scheme : Scheme
        How the weights are stored.
    ignore : sequence of str
        The modules that are kept. vLLM and SGLang read this entry too, where there is no ``ignored_layers``.
    """
    configuration = {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "modules_to_not_convert": list(ignore),
        "quant_method": "fp8",
        **({"scale_fmt": scale_format} if scale_format else {}),
        "weight_block_size": [scheme.grid.rows, scheme.grid.columns],
    }
    return {"quantization_config": configuration}
