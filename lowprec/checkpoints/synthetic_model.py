"""A synthetic checkpoint: a Llama of two layers whose weights have heavy tails and outlier channels; fixed bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..ops.codes import encode
from ..spec.formats import BFLOAT16
from .containers.container import OutputTensor
from .containers.safetensors_file import SUFFIX, arrange_safetensors
from .containers.tensors import InMemory, StoredTensor

__all__ = ["DESCRIPTION", "LARGEST", "LAYERS", "SMALLEST", "nbytes_of", "width_of", "write_model"]

Array = np.ndarray[Any, Any]

LAYERS = 2

DESCRIPTION = "Weights have heavy tails (Student t, 4 degrees of freedom); 1 channel of 256 is 4 times as large."
"""What is special in the weights, for people who read a table of losses."""

PARAMETERS = 32
"""Weights in units of the squared width: 13 of each layer, 3 of the embedding and 3 of lm_head; norms are few."""

STEP = 128
"""The width is a multiple of it, so that rows are divided into the groups of every recipe."""

SMALLEST, LARGEST = PARAMETERS * 2 * STEP**2, 1 << 30
"""Bytes of weights."""

SEED = 20261123
HEADS, KEY_VALUE_HEADS = 8, 2
OUTLIERS, OUTLIER_FACTOR = 256, 4.0
"""One channel of so many is an outlier, and its weights are larger by the factor."""

DEVIATION = 0.02
"""Of the weights that are no outliers: the one that Llama's weights are initialised with."""

CHUNK = 1 << 18
"""Elements that are made at a time."""


def width_of(nbytes: int) -> int:
    """Return the width (hidden_size) of the largest model whose weights take up to so many bytes, 1 MiB to 1 GiB."""
    if not SMALLEST <= nbytes <= LARGEST:
        raise ValueError(f"the size must be from {SMALLEST >> 20}M to {LARGEST >> 20}M; got {nbytes} bytes")
    return math.isqrt(nbytes // (2 * PARAMETERS)) // STEP * STEP


def nbytes_of(width: int) -> int:
    """Return how many bytes the tensors take."""
    return 2 * sum(math.prod(shape) for shape in _shapes(width).values())


def _shapes(width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of Llama 3 8B in proportion, by the names that transformers gives the tensors."""
    inner, keys, vocabulary = width * 7 // 2, width * KEY_VALUE_HEADS // HEADS, 3 * width
    modules = {
        "input_layernorm": (width,),
        "self_attn.q_proj": (width, width),
        "self_attn.k_proj": (keys, width),
        "self_attn.v_proj": (keys, width),
        "self_attn.o_proj": (width, width),
        "post_attention_layernorm": (width,),
        "mlp.gate_proj": (inner, width),
        "mlp.up_proj": (inner, width),
        "mlp.down_proj": (width, inner),
    }
    layers = {
        f"model.layers.{layer}.{module}.weight": shape for layer in range(LAYERS) for module, shape in modules.items()
    }
    ends = {"model.norm.weight": (width,), "lm_head.weight": (vocabulary, width)}
    return {"model.embed_tokens.weight": (vocabulary, width), **layers, **ends}


def _config(width: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": width,
        "intermediate_size": width * 7 // 2,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "head_dim": width // HEADS,
        "vocab_size": 3 * width,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "torch_dtype": BFLOAT16.name,
    }


def _quantiles() -> Array:
    """Return 65536 quantiles of Student's t with 4 degrees of freedom, scaled to a deviation of 1.

    The quantile function has a closed form (W. T. Shaw, Journal of Computational Finance 9(4), 2006). A table of it
    turns 16 random bits into a number, in the same way with every version of NumPy, whose own distributions may change.
    """
    p = (np.arange(1 << 16) + 0.5) / (1 << 16)
    root = np.sqrt(4 * p * (1 - p))
    t = np.sign(p - 0.5) * 2 * np.sqrt(np.cos(np.arccos(root) / 3) / root - 1)
    return np.asarray(t / math.sqrt(2), np.float32)


def _factors(name: str, shape: tuple[int, ...], random: np.random.PCG64) -> tuple[Array, Array]:
    """Return what rows and columns are multiplied by.

    Rows differ by a factor of up to 4. The outlier channels are the same in all layers, since these add to one stream
    of activations: columns of what reads the stream, rows of what writes to it.
    """
    rows = np.exp2(_uniform(shape[0], random) * 2 - 1) * np.float32(DEVIATION)
    columns = np.ones(shape[-1], np.float32)
    channels = rows if name.endswith(("o_proj.weight", "down_proj.weight")) else columns
    channels[OUTLIERS // 8 :: OUTLIERS] *= OUTLIER_FACTOR
    return rows, columns


def _bits(n: int, random: np.random.PCG64) -> Array:
    """Return n random integers of 16 bits; the stream of a bit generator is the same with every version of NumPy."""
    return np.asarray(random.random_raw(-(-n // 4)), "<u8").view("<u2")[:n]


def _uniform(n: int, random: np.random.PCG64) -> Array:
    return ((_bits(n, random) + np.float32(0.5)) / np.float32(1 << 16)).astype(np.float32)


def _chunks(name: str, shape: tuple[int, ...], table: Array, random: np.random.PCG64) -> Iterator[Array]:
    """Yield the values of a tensor in float32, some rows at a time."""
    if len(shape) == 1:  # norms are near 1
        yield 0.5 + _uniform(shape[0], random)
        return
    rows, columns = _factors(name, shape, random)
    step = max(1, CHUNK // shape[1])
    for start in range(0, shape[0], step):
        factors = rows[start : start + step, None]
        yield table[_bits(factors.size * shape[1], random)].reshape(-1, shape[1]) * factors * columns


def write_model(folder: Path, width: int) -> None:
    """Write model.safetensors, in bfloat16, and config.json into a folder that exists.

    Parameters
    ----------
    folder : Path
        Where they go.
    width : int
        The width of the model, a multiple of 128; `width_of` returns one for a size.

    Raises
    ------
    OSError
        If a file cannot be written.

    Notes
    -----
    The shapes are those of Llama 3 8B in proportion, with two layers and a small vocabulary. Numbers are Student t
    with 4 degrees of freedom; one channel of 256 is 4 times as large as the others. The bytes depend on the width
    alone.

    Examples
    --------
    >>> import tempfile
    >>> import lowprec as lp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(Path(folder), 128)
    ...     entries = lp.checkpoints.inspect(folder)
    >>> [(one.name, one.format, one.shape) for one in entries][1]
    ('model.layers.0.input_layernorm.weight', 'bfloat16', (128,))
    """
    nothing = InMemory(b"")
    outputs = [
        OutputTensor(
            name, shape, BFLOAT16, 2 * math.prod(shape), StoredTensor(name, shape, BFLOAT16, "", nothing), "kept"
        )
        for name, shape in _shapes(width).items()
    ]
    path = folder / f"model{SUFFIX}"
    files = arrange_safetensors(outputs, path, {"format": "pt"})
    random, table = np.random.PCG64(SEED), _quantiles()
    with path.open("wb") as stream:
        for offset, piece in files.files[0].pieces:
            stream.seek(offset)
            stream.write(piece)
        for output, slot in zip(outputs, files.slots, strict=True):
            stream.seek(slot.offset)
            for chunk in _chunks(output.name, output.shape, table, random):
                stream.write(np.asarray(encode(chunk, BFLOAT16)).astype("<u2", copy=False).tobytes())
    (folder / "config.json").write_text(json.dumps(_config(width), indent=2) + "\n", encoding="utf-8")
