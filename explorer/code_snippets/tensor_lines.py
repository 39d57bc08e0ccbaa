"""The Python lines that make the tensor of Quantize: sampled, typed, or read from a file or a checkpoint."""

from __future__ import annotations

from ..page_states import Quantize
from ..views.tensor import Tensor

__all__ = ["tensor_lines"]

_SAMPLES = {
    "normal": "rng.standard_normal(shape)",
    "uniform": "rng.uniform(-1, 1, shape)",
    "laplace": "rng.laplace(size=shape)",
    "student-t": "rng.standard_t(3, shape)",
    "outliers": "rng.standard_normal(shape) * np.where(rng.random(shape) < 0.01, 20, 1)",
}


def tensor_lines(state: Quantize, tensor: Tensor) -> str:
    """Return the lines that compute `x`."""
    input_format = tensor.format.name
    if state.origin == "sampled":
        shape = f"rng, shape = np.random.default_rng({state.seed}), ({state.rows}, {state.columns})"
        return f"{shape}\nx = lp.cast({_SAMPLES[state.distribution]} * {state.spread!r}, {input_format!r})"
    if state.origin == "typed":
        return f"inf, nan = np.inf, np.nan\nx = np.array({tensor.values.tolist()!r}, np.{input_format})"
    if state.origin == "folder":
        return _checkpoint_lines(state, tensor)
    if tensor.name and tensor.stored:
        fmt = tensor.stored
        read = f"codes = np.frombuffer(entry['data'], np.{fmt.code_dtype})"
        shaped = "codes.reshape(entry['shape'])"
        if fmt.bits < 8:
            shaped = f"lp.unpack(codes, {fmt.name!r}, entry['shape'])"
        return "\n".join(
            [
                "from safetensors import deserialize",
                "",
                "with open('file.safetensors', 'rb') as file:",
                f"    entry = dict(deserialize(file.read()))[{tensor.name!r}]",
                read,
                f"x = np.atleast_1d(lp.decode({shaped}, {fmt.name!r}, to={input_format!r}))",
            ]
        )
    return f"x = np.atleast_1d(lp.cast(np.load('file.npy'), {input_format!r}))"


def _checkpoint_lines(state: Quantize, tensor: Tensor) -> str:
    """Return the lines that read a tensor of a checkpoint, or the part of it that was taken."""
    rows = "" if tensor.first is None else f", rows=slice(0, {tensor.first})"
    lines = [
        f"with lp.checkpoints.open({state.folder.strip()!r}) as checkpoint:",
        f"    x = checkpoint.read({tensor.name!r}{rows})",
    ]
    if tensor.is_cut:
        rows_taken, columns = tensor.values.shape if tensor.values.ndim > 1 else (1, tensor.values.size)
        lines.append(f"x = x.reshape(-1, x.shape[-1])[:{rows_taken}, :{columns}]")
    return "\n".join([*lines, f"x = np.atleast_1d(lp.cast(x, {tensor.format.name!r}))"])
