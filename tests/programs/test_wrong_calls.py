"""Wrong calls, and the first words of what each says: one line with the parameter. Others are with each function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import checkpoints, loss, reference, teaching
from lowprec.checkpoints import FileError

X = np.linspace(-3, 3, 64, dtype=np.float32).reshape(4, 16)
READ_ONLY = np.zeros(X.shape, np.uint8)
READ_ONLY.flags.writeable = False

ARRAY = "must be an array (NumPy, torch, or any array-API library); got"
AS_ARRAY = ": pass `np.asarray(...)` of it"
ROUNDINGS = (
    "nearest_even, nearest_away, nearest_zero, toward_zero, away_from_zero, toward_positive, "
    "toward_negative, to_odd, stochastic, stochastic_a, stochastic_b, stochastic_c"
)
NUMBER = "must be a decimal, a ratio, a hex-float, inf or nan (at most 1000 characters and 4 exponent digits); got"
E4M3 = "must be a format; got 'e4m3' (did you mean float8_e4m3fn or float8_e4m3?)"
FP8 = "must be a format; got 'fp8' (did you mean float8_e4m3fn or float8_e5m2?)"

CASTS = [
    ('lp.cast("1.5", "float16")', TypeError, f"`x` {ARRAY} str: the array comes first"),
    ('lp.cast(x, "e4m3")', ValueError, f"`to` {E4M3}"),
    ('lp.cast(x, "float8_e4m3fnn")', ValueError,
     "`to` must be a format; got 'float8_e4m3fnn' (did you mean float8_e4m3fn or float8_e4m3fnuz or float8_e4m3?)"),
    ('lp.cast(x, "float8_e4m3fn", saturate=False, rounding="to_odd")', ValueError,
     "`saturate` must be True, its default, where `rounding` is given; got False: `overflow` 'ovf_inf' means the same"),
    ('lp.cast(x, "float8_e8m0fnu", round_mode="up", rounding="to_odd")', ValueError,
     "`round_mode` must be None, its default, where `rounding` is given; got 'up': "
     "`rounding` 'away_from_zero' means the same"),
    ('lp.cast(x, "float8_e4m3fn", out=ro)', ValueError,
     "`out` must have shape (4, 16) and dtype float8_e4m3fn; got (4, 16), uint8"),
    ('lp.cast(x, "float16", out=np.zeros((4, 15), np.float16))', ValueError,
     "`out` must have shape (4, 16) and dtype float16; got (4, 15), float16"),
    ('lp.cast(x, "float16", out=np.zeros((4, 16), np.float32))', ValueError,
     "`out` must have shape (4, 16) and dtype float16; got (4, 16), float32"),
    ('lp.cast(x, "float16", out=[0.0])', TypeError, f"`out` {ARRAY} list{AS_ARRAY}"),
    ('lp.cast(x, "float32", source="fp8")', ValueError, f"`source` {FP8}"),
    ('lp.cast(x, "float32", source="float8_e4m3fn")', ValueError,
     "`x` must hold codes of `source` float8_e4m3fn in float8_e4m3fn or uint8; got dtype float32"),
    ("lp.cast_like(x, [1.0])", TypeError, f"`like` {ARRAY} list{AS_ARRAY}"),
    ('lp.decode(x, "float8_e4m3fn")', ValueError,
     "`codes` must hold codes of `source` float8_e4m3fn in float8_e4m3fn or uint8; got dtype float32"),
    ('lp.decode(np.array([1, 2]), "float8_e4m3fn")', ValueError,
     "`codes` must hold codes of `source` float8_e4m3fn in float8_e4m3fn or uint8; got dtype int64"),
    ('lp.unpack(np.array([1], np.uint8), "float4_e2m1fn", (5,))', ValueError,
     "`packed` must be 1-D uint8 of 3 bytes for shape (5,) in float4_e2m1fn; got uint8 of shape (1,)"),
    ('lp.unpack(x, "int4", (2,))', ValueError,
     "`packed` must be 1-D uint8 of 1 bytes for shape (2,) in int4; got float32 of shape (4, 16)"),
    ('lp.decode(np.zeros(8, np.uint8), "float8_e4m3fn", to="float17")', ValueError,
     "`to` must be a format; got 'float17' (did you mean float16 or bfloat16 or float64?)"),
]  # fmt: skip
"""Casts, codes, formats."""

QUANTIZE = [
    ('lp.absmax_scale(x, "mxfp4")', ValueError,
     "`to` must be a format; got 'mxfp4' (did you mean float4_e2m1fn? `lowprec.quantize` takes mxfp4)"),
    ('lp.absmax_scale(x, "int8", scale_format="fp8")', ValueError, f"`scale_format` {FP8}"),
    ('lp.quantize_linear(x, 0.1, output_dtype="int7")', ValueError,
     "`output_dtype` must be a format; got 'int7' (did you mean int4 or int8?)"),
    ('lp.quantize_linear(x, s, output_dtype="int8")', ValueError,
     "`axis` must be the axis of `x` along which each index has its scale, where there is more than one and "
     "`scale` lacks the 2 dimensions of `x`; got None with a scale of 1 dimensions"),
    ('lp.quantize_linear(x, s, output_dtype="int8", axis=1)', ValueError,
     "`scale` must have one element, shape (16,) for axis 1, or a `block_size` and the rank of `x`, for `x` of "
     "shape (4, 16); got shape (4,)"),
    ('lp.quantize_linear(x, lp.absmax_scale(x, "int8", axis=1, block_size=4), output_dtype="int8", axis=1)', ValueError,
     "`scale` must have for each axis of `x` of shape (4, 16) its length or 1, or there must be a "
     "`block_size`; got shape (4, 4)"),
    ('lp.quantize_linear(x, [0.1], output_dtype="int8")', TypeError, f"`scale` {ARRAY} list{AS_ARRAY}"),
    ('lp.quantize_linear(x, 0.1, 300, output_dtype="int8")', ValueError,
     "`zero_point` must be an integer from -128 to 127 for int8; got 300"),
    ('lp.quantize_linear(x, 0.1, 1.5, output_dtype="int8")', ValueError,
     "`zero_point` must be an integer from -128 to 127 for int8; got 1.5"),
    ('lp.quantize_linear(x, 0.1, np.int8(3), output_dtype="uint8")', ValueError,
     "`zero_point` must be uint8, the type of the quantized array; got int8"),
    ('lp.dequantize_linear(x.astype(np.int8).reshape(2, 2, 16), x[:2, :2] + 4, axis=(0, 1))', ValueError,
     "`axis` must have a `block_size` of two integers, or `scale` the rank of `x` with the length 1 along all other "
     "axes, where it is two; got (0, 1)"),
    ('lp.quantize(x.reshape(2, 2, 4, 4), "int8", axis=(0, 1))', ValueError,
     "`block_size` must be two positive integers, as `axis` has two axes; got 0 (a scale to each pair of indices: "
     "axis=(2, 3), block_size=(x.shape[2], x.shape[3]))"),
    ('lp.absmax_scale(x.reshape(2, 2, 16), "int8", axis=(0, 2))', ValueError,
     "`block_size` must be two positive integers, as `axis` has two axes; got 0 (a scale to each pair of indices: "
     "axis=1, block_size=x.shape[1])"),
    ('lp.minmax_scale(x, "uint8", axis=(0, 1))', ValueError,
     "`block_size` must be two positive integers, as `axis` has two axes; got 0"),
    ('lp.quantize_linear(x.astype(np.float64), 0.1, output_dtype="int8")', ValueError,
     "`x` must be a type that QuantizeLinear-28 has there: float32, float16"),
    ('lp.quantize_linear(x, s.astype(np.float64), output_dtype="int8", axis=0)', ValueError,
     "`scale` must be a type that QuantizeLinear-28 has there"),
    ('lp.quantize_linear(x.astype(np.int64), 0.1, output_dtype="int8")', ValueError,
     "`x` must be a type that QuantizeLinear-28 has there: float32, float16"),
    ('lp.quantize_linear(x, 0.1, output_dtype="int8", precision="float8")', ValueError,
     "`precision` must be a format; got 'float8' (did you mean float8_e4m3fn or float8_e5m2?)"),
    ('lp.quantize_linear(0.1, x, output_dtype="int8")', TypeError, f"`x` {ARRAY} float{AS_ARRAY}"),
    ('lp.quantize_linear(s, x, output_dtype="int8", axis=0)', ValueError,
     "`scale` must have one element, shape (4,) for axis 0, or a `block_size` and the rank of `x`, for `x` of "
     "shape (4,); got shape (4, 16)"),
    ('lp.quantize_linear(x, 0.1, output_dtype="int4", packed=True, out=np.zeros((4,8),np.uint8))', ValueError,
     "`out` must have shape (32,) and dtype uint8; got (4, 8), uint8"),
    ("lp.dequantize_linear(np.zeros((4,16),np.int8), s)", ValueError,
     "`axis` must be the axis of `x` along which each index has its scale, where there is more than one and "
     "`scale` lacks the 2 dimensions of `x`; got None with a scale of 1 dimensions"),
    ("lp.dynamic_quantize_linear([1.0])", TypeError, f"`x` {ARRAY} list{AS_ARRAY}"),
    ('lp.quantize(x, "e4m3")', ValueError, f"`to` {E4M3}"),
    ('lp.quantize(x, "mxfp5")', ValueError,
     "`to` must be a format, or one of blocks: mxfp8_e4m3, mxfp8_e5m2, mxfp6_e2m3, mxfp6_e3m2, mxfp4, mxint8, nvfp4; "
     "got 'mxfp5' (did you mean mxfp4 or mxfp8_e5m2 or mxfp8_e4m3?)"),
    ('lp.formats["binary8p9se"]', KeyError,
     "`name` must have a precision from 1 to 7 to be a signed 8-bit format of IEEE P3109; got 'binary8p9se'"),
    ('lp.quantize(x, "float8_e4m3fn", zero_point=True)', ValueError,
     "`zero_point` must be False for float8_e4m3fn: only integers have one; got True"),
    ('lp.quantize(x.astype(complex), "int8")', TypeError,
     "`x` must hold bools, integers, real floats; got dtype complex128"),
    ('lp.quantize(np.array("a"), "int8")', TypeError, "`x` must hold bools, integers, real floats; got dtype <U1"),
    ('lp.quantize([1.0], "int8")', TypeError, f"`x` {ARRAY} list{AS_ARRAY}"),
    ('lp.quantize(x, "int8", out=np.zeros((4,16),np.uint8))', ValueError,
     "`out` must have shape (4, 16) and dtype int8; got (4, 16), uint8"),
    ('lp.dequantize(q, to="e4m3")', ValueError, f"`to` {E4M3}"),
    ("lp.dequantize(q, out=np.zeros(3, np.float32))", ValueError,
     "`out` must have shape (4, 16) and dtype float32; got (3,), float32"),
    ('lp.mx_quantize(x, "mxfp4")', ValueError,
     "`to` must be a format; got 'mxfp4' (did you mean float4_e2m1fn? `lowprec.quantize` takes mxfp4)"),
    ("lp.mx_dequantize(np.zeros((4,16),np.uint8), np.zeros((4,1),np.uint8))", ValueError,
     "`elements` must be a float of up to 32 bits that has a zero, or int8; got uint8: name the format of "
     "codes by `source`"),
    ("lp.nvfp4_quantize(x, block_size=0)", ValueError, "`block_size` must be an integer from 1 up; got 0"),
    ("lp.nvfp4_dequantize(x, x, x)", ValueError,
     "`elements` must hold codes of float4_e2m1fn in float4_e2m1fn or uint8; got dtype float32"),
    ('lp.quantize_linear(x, np.ones((1,1,1,4), np.float32), output_dtype="int8")', ValueError,
     "`axis` must be the axis of `x` along which each index has its scale, where there is more than one and "
     "`scale` lacks the 2 dimensions of `x`; got None with a scale of 4 dimensions"),
    ('lp.quantize_linear(x, np.ones((3, 1), np.float32), output_dtype="int8")', ValueError,
     "`scale` must have for each axis of `x` of shape (4, 16) its length or 1, or there must be a "
     "`block_size`; got shape (3, 1)"),
    ('lp.mx_dequantize(lp.mx_quantize(x, "float4_e2m1fn")[0], np.ones((4, 2), np.float32))', ValueError,
     "`scales` must hold codes of float8_e8m0fnu in float8_e8m0fnu or uint8; got dtype float32"),
    ('lp.mx_dequantize(lp.mx_quantize(x, "float4_e2m1fn")[0], np.ones((4, 2), ml_dtypes.float8_e8m0fnu))', ValueError,
     "`scales` must have shape (4, 1), one scale for each block; got (4, 2)"),
    ("lp.nvfp4_quantize(x, axis=3)", ValueError, "`axis` must be an integer from -2 to 1; got 3"),
    ("lp.nvfp4_quantize(x.astype(np.int32))", ValueError,
     "`x` must be one of float32, float16, bfloat16, float64; got int32"),
    ('lp.nvfp4_quantize(x, specials="keep")', ValueError, "`specials` must be one of nan, ignore; got 'keep'"),
]  # fmt: skip
"""Scales and what is divided by them."""

TORCH = [
    ('lp.cast(t.to(torch.complex64), "float16")', TypeError,
     "`x` must hold bools, integers, real floats, text; got dtype torch.complex64"),
    ("lp.as_format(torch.float4_e2m1fn_x2)", ValueError, "`fmt` must be a format; got torch.float4_e2m1fn_x2"),
    ('lp.cast(torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2), "float32")', TypeError,
     "`x` must hold bools, integers, real floats, text; got dtype torch.float4_e2m1fn_x2: "
     "`x.view(torch.uint8)` holds its codes, packed"),
    ("lp.cast(x, torch.float4_e2m1fn_x2)", ValueError, "`to` must be a format; got torch.float4_e2m1fn_x2"),
    ('lp.cast(torch.zeros(4, device="meta"), "float16")', TypeError,
     "`x` must be a dense torch tensor with data; got one that is torch.strided on meta: give it data first "
     "(`torch.ops.lowprec` has the shape and dtype of the result)"),
    ('lp.cast(torch.eye(3).to_sparse(), "float16")', TypeError,
     "`x` must be a dense torch tensor with data; got one that is torch.sparse_coo on cpu: make it dense, "
     "`x.to_dense()`"),
    ('lp.cast(torch.quantize_per_tensor(t, 0.1, 0, torch.qint8), "float16")', TypeError,
     "`x` must hold bools, integers, real floats, text; got dtype torch.qint8: take the values, "
     "`x.dequantize()`, or the codes, `x.int_repr()`"),
    ('lp.cast(t, "float8_e4m3fn", rounding="stochastic", seed=torch.Generator())', ValueError,
     "`seed` must be an integer from 0 to 2**64 - 1; got <torch._C.Generator object"),
    ('lp.quantize_linear(t, 0.1, output_dtype="int8", out=torch.zeros(4, 16, dtype=torch.float8_e4m3fn))', ValueError,
     "`out` must have shape (4, 16) and dtype torch.int8; got (4, 16), torch.float8_e4m3fn"),
    ("lp.to_torch(x.astype(complex))", TypeError, "`x` must hold bools, integers, real floats; got dtype complex128"),
    ('lp.cast(t, "string")', TypeError,
     "`x` must be a NumPy array to become text, held in str objects; got a torch tensor"),
]  # fmt: skip
"""Of torch tensors."""

JAX = [
    ('lp.cast(jnp.asarray(x), "float16", out=jnp.zeros((4,16), jnp.float16))', TypeError,
     "`out` must be None where arrays cannot be written to; got a JAX array"),
    ("lp.to_jax(None)", TypeError, f"`x` {ARRAY} NoneType"),
    ('lp.cast(jnp.asarray(x), "float16", rounding="stochastic", seed=2.5)', ValueError,
     "`seed` must be an integer from 0 to 2**64 - 1; got 2.5"),
    ('lp.quantize_linear(jnp.asarray(x), s, output_dtype="int8", axis=0)', TypeError,
     "`scale` must be a JAX array, as `x` is; got a NumPy array"),
]  # fmt: skip
"""Of JAX arrays."""

FILES = [
    ('lp.convert("missing.safetensors", "o.safetensors", to="float16")', FileError,
     "missing.safetensors: No such file or directory"),
    ('lp.convert("a.npz", "b.npz", to="float16")', FileError, "b.npz: exists; say `overwrite` to replace it"),
    ('lp.convert("a.npz", "o.npz", to="e4m3")', ValueError, f"`to` {E4M3}"),
    ('lp.convert("a.npz", "o.npz", to="mxfp4")', ValueError,
     "`to` must be a format; got 'mxfp4'; did you mean `recipe` mxfp4a16 or gptoss-mxfp4 or mxfp4 or float4_e2m1fn "
     "with a `scale`?"),
    ('lp.convert("a.npz", "o.npz", recipe="fp8-dynamic")', FileError,
     "a.npz: must be a .safetensors file, or a folder of .safetensors files, for fp8-dynamic; `to` with a `scale` "
     "takes any file"),
    ('lp.convert("a.npz", "o.npz", to="fp8")', ValueError,
     "`to` must be a format; got 'fp8'; did you mean `recipe` fp8-dynamic or fp8-block or mxfp8 or float8_e4m3fn or "
     "float8_e5m2?"),
    ('lp.convert("w.safetensors", "o.safetensors", recipe="mxfp4")', FileError,
     "w.safetensors: must be a .gguf file, for mxfp4; did you mean mxfp4a16?"),
    ('lp.convert("w.safetensors", "o.safetensors", recipe="q8_0")', FileError,
     "w.safetensors: must be a .gguf file, for q8_0; llama.cpp's convert_hf_to_gguf.py makes one of a model"),
    ('lp.convert("w.safetensors", "o.safetensors", recipe="fp8-dynamic", keep="*.q")', FileError,
     "w.safetensors: has no weight that the recipe fp8-dynamic quantizes; 'a', F32 (4, 16): no .weight of two axes in "
     "bfloat16, float16, float32; 'head.weight', F32 (4, 16): not in a numbered block; 'layers.0.q.weight', "
     "F32 (4, 16): kept by name; `also` quantizes what is kept for its name"),
    ('lp.convert("w.safetensors", "o.safetensors", recipe="mxfp4a16")', FileError,
     "w.safetensors: has no weight that the recipe mxfp4a16 quantizes; 'a', F32 (4, 16): no .weight of two axes in "
     "bfloat16, float16, float32; 'head.weight', F32 (4, 16): not in a numbered block; 'layers.0.q.weight', "
     "F32 (4, 16): its rows are not divided into groups of 32"),
    ('lp.convert("w.safetensors", "o.safetensors", recipe="int8", exclude="*.q")', ValueError,
     "`exclude` must be empty where there is a `recipe`; got '*.q'; `keep` leaves weights out"),
    ('lp.convert("w.safetensors", "o.safetensors", to="float16", keep="*.q")', ValueError,
     "`keep` must be empty unless there is a `recipe`; got '*.q'; `exclude` leaves tensors out"),
    ('lp.convert("w.safetensors", "o.safetensors", recipe="int4")', ValueError,
     "`recipe` must be a recipe; got 'int4'; did you mean w4a16 or w4a16-g32 or q4_0?"),
    ('lp.convert("w.safetensors", "o.safetensors", recipe="float8_e4m3fn")', ValueError,
     "`recipe` must be a recipe; got 'float8_e4m3fn'; `to` takes formats"),
    ('lp.convert("a.npz", "o.txt", to="float16")', FileError, "o.txt: must be a .npz file, as a.npz is"),
    ('lp.convert("array.safetensors", "o.safetensors", to="float16")', FileError,
     "o.safetensors: must be a .npy or .npz file, as array.safetensors is by its content"),
    ('lp.convert("a.npz", "a.npz", to="float16")', FileError, "a.npz: must not be the input itself"),
    ('lp.convert("junk.safetensors", "o.safetensors", to="float16")', FileError,
     "junk.safetensors: must be a readable .safetensors file; it has 4 bytes, too few for a header"),
    ('lp.convert("a.npz", "nodir/o.npz", to="float16")', FileError,
     "nodir/o.npz: must be in an existing folder; nodir is none"),
    ('lp.convert("a.npz", "o.npz", to="int8", scale="row")', ValueError,
     "`scale` must be none, tensor, axis:N or block:B, B from 1 to 65536; got 'row'"),
    ('lp.convert("a.npz", "o.npz", recipe="fp7-dynamic")', ValueError,
     "`recipe` must be a recipe; got 'fp7-dynamic'; did you mean fp8-dynamic?"),
    ('lp.convert("a.npz", "o.npz", to="float16", max_memory="lots")', ValueError,
     "`max_memory` must be a number of bytes such as 256M; got 'lots'"),
    ('lp.convert("a.npz", "o.npz", to="float16", overwrite="yes")', ValueError,
     "`overwrite` must be True or False; got 'yes'"),
    ('ck.open("missing.safetensors")', FileError, "missing.safetensors: No such file or directory"),
    ("ck.open(3)", TypeError, "`path` must be a path, as text or os.PathLike; got 3"),
    ('ck.open("junk.safetensors")', FileError,
     "junk.safetensors: must be a readable .safetensors file; it has 4 bytes, too few for a header"),
    ('ck.open("meta-llama/Llama-3")', FileError,
     "meta-llama/Llama-3: No such file or directory; if it is a model of the Hub, download it first: hf "
     "download meta-llama/Llama-3 --local-dir Llama-3"),
    ('ck.open("a.npz")["v"]', KeyError, "a.npz: has no tensor 'v'"),
    ('ck.open("a.npz").read("v")', KeyError, "a.npz: has no tensor 'v'"),
    ('ck.inspect("missing.npz")', FileError, "missing.npz: No such file or directory"),
    ('ck.check("missing.npz")', FileError, "missing.npz: No such file or directory"),
    ('ck.read_array("missing.npy")', FileError, "missing.npy: No such file or directory"),
    ('ck.read_array("a.txt")', FileError, "a.txt: No such file or directory"),
    ('ck.write_array("o.npy", x, "e4m3")', ValueError, f"`to` {E4M3}"),
    ('ck.write_array("o.npy", x, "float8_e4m3fn")', ValueError,
     "`array` must hold codes of `to` float8_e4m3fn in float8_e4m3fn or uint8; got dtype float32"),
    ('ck.write_array("o.safetensors", x, "float32")', ValueError,
     "`path` must end in .npy or .npz; got 'o.safetensors'"),
    ('ck.write_array("o.npy", [1.0], "float32")', TypeError, f"`array` {ARRAY} list{AS_ARRAY}"),
    ('ck.save("o.safetensors", x)', TypeError,
     "`arrays` must be a mapping of names to arrays for .safetensors files; got ndarray"),
    ('ck.save("a.npz", {"w": x})', FileError, "a.npz: exists; say `overwrite` to replace it"),
    ('ck.save("nodir/o.npz", {"w": x})', FileError, "nodir/o.npz: must be a file in an existing folder"),
    ('lp.convert("a.npz", "o.npz", to="float16", threads=0)', ValueError,
     "`threads` must be an integer from 1 to 1024; got 0"),
    ('lp.convert("a.npz", "o.npz", to="float16", source="e4m3")', ValueError, f"`source` {E4M3}"),
    ('lp.convert("a.npz", "o.npz", to="float16", include="zzz")', FileError,
     "a.npz: has no tensor or module that `include` 'zzz' names"),
    ('ck.open("a.npz").read("w", to="e4m3")', ValueError, f"`to` {E4M3}"),
    ('ck.open("a.npz").read(3)', KeyError, "a.npz: has no tensor 3; names are texts, not int"),
    ('ck.open("a.npz").info("v")', KeyError, "a.npz: has no tensor 'v'"),
    ('ck.open(["a.npz"])', TypeError, "`path` must be a path, as text or os.PathLike; got ['a.npz']"),
    ('ck.open("a.npz", source="e4m3")', ValueError, f"`source` {E4M3}"),
    ('ck.open("a.npz", part="yes")', ValueError, "`part` must be True or False; got 'yes'"),
    ('ck.open("a.npz", max_memory=-1)', ValueError, "`max_memory` must be a number of bytes such as 256M; got -1"),
    ("ck.inspect(None)", TypeError, "`path` must be a path, as text or os.PathLike; got None"),
    ('ck.inspect("a.npz", stats="all")', ValueError, "`stats` must be True or False; got 'all'"),
    ('ck.check(b"a.npz")', TypeError, "`path` must be a path, as text or os.PathLike; got b'a.npz'"),
    ('ck.read_array("a.npz", "e4m3")', ValueError, f"`source` {E4M3}"),
    ('ck.read_array("junk.safetensors")', FileError,
     "junk.safetensors: must be a readable .npy file; it does not start as one; `convert` and `open` read .safetensors "
     "files"),
    ('ck.write_array("o.npy", t, "float32")', TypeError,
     "`array` must be a NumPy array; got a torch tensor: use `save`"),
    ('ck.save("o.npz", {"w": x}, metadata={"a": "b"})', ValueError,
     "`metadata` must be None unless `path` ends in .safetensors; got {'a': 'b'}"),
    ('ck.save("o.safetensors", {"w": x}, metadata={"a": 3})', TypeError,
     "`metadata` must be a mapping of texts to texts; got {'a': 3}"),
]  # fmt: skip
"""Files."""

ONNX = [
    ('on.from_array(x, source="e4m3")', ValueError, f"`source` {E4M3}"),
    ("on.Backend.run_model(3, [])", TypeError, "`model` must be an onnx.ModelProto; got int"),
]  # fmt: skip
"""ONNX models and tensors."""

OTHERS = [
    ('lp.explain(0.1, "e4m3")', ValueError, f"`fmt` {E4M3}"),
    ('lp.explain("abc", "float16")', ValueError, f"`x` {NUMBER} 'abc'"),
    ('lp.explain(x, "float16")', ValueError,
     "`x` must be a real number or its text; got ndarray array([[-3. , -2.9047618 , -2.8095238 , -2.7142856 , -2.6..."),
    ('lp.finfo("fp8")', ValueError, f"`fmt` {FP8}"),
    ("lp.finfo(1.5)", ValueError, "`fmt` must be a format; got 1.5"),
    ("lp.stochastic_bits(-1, 32, 3)", ValueError, "`seed` must be an integer from 0 to 2**64 - 1; got -1"),
    ('lp.storage_dtype("float8_e4m3fn", "cupy")', TypeError,
     "`xp` must be an array library that can hold float8_e4m3fn; got 'cupy'"),
    ('lp.to_numpy(np.zeros(3,np.uint8), "fp8")', ValueError, f"`source` {FP8}"),
    ('lp.float_format("mine", exponent_bits="4", mantissa_bits=3)', ValueError,
     "`exponent_bits` must be an integer; got '4'"),
    ('lp.register(lp.float_format("float8_e4m3", exponent_bits=4, mantissa_bits=3, nan="all-ones"))', ValueError,
     "`fmt` must have a name that no row of lowprec.formats has; got lp.float_format('float8_e4m3', "
     "exponent_bits=4, mantissa_bits=3, bias=7, nan='all-ones'), the row is <Format float8_e4m3: 8 bits 1-4-3,"),
    ('lp.compare(lambda a: a, "float16", "e4m3")', ValueError, f"`to` {E4M3}"),
    ('lo.measure(x, "e4m3")', ValueError, f"`to` {E4M3}"),
    ('lo.measure([1.0], "int8")', TypeError, f"`x` {ARRAY} list{AS_ARRAY}"),
    ('lo.measure(x, "int8", axis=7)', ValueError, "`axis` must be an axis of `x`, from -2 to 1, or two; got 7"),
    ('te.cast_chain("abc", ["float16"])', ValueError, f"`x` {NUMBER} 'abc'"),
    ('te.format_facts("e4m3")', ValueError, f"`fmt` {E4M3}"),
    ('lo.block_loss(x, "int9")', ValueError, "`fmt` must be a format; got 'int9' (did you mean int8 or int16?)"),
    ('lo.block_loss(x, "mxfp8")', ValueError,
     "`fmt` must be a format, or one of blocks: mxfp8_e4m3, mxfp8_e5m2, mxfp6_e2m3, mxfp6_e3m2, mxfp4, mxint8, nvfp4; "
     "got 'mxfp8' (did you mean mxfp8_e4m3 or mxfp8_e5m2?)"),
    ('lo.measure(x, "mxfp4")', ValueError,
     "`to` must be `lp.quantize(x, 'mxfp4')` to measure a block format; got its name"),
    ('lp.encode(x, "int4", packed=True, out=np.zeros((4, 8), np.uint8))', ValueError,
     "`out` must have shape (32,) and dtype uint8; got (4, 8), uint8: a view of it with one axis"),
    ("lo.block_loss(x, axis=4)", ValueError, "`axis` must be an integer from -2 to 1; got 4"),
    ("lo.block_loss(x, block_size=0)", ValueError, "`block_size` must be an integer from 1 up; got 0"),
    ('lo.block_loss(x, scale_rule="biggest")', ValueError,
     "`scale_rule` must be one of floor, ceil, rceil, even, nearest; got 'biggest'"),
    ("lo.block_loss([1.0])", TypeError, f"`x` {ARRAY} list{AS_ARRAY}"),
    ('lo.block_loss(x, "int4")', ValueError,
     "`fmt` must be a float of up to 32 bits that has a zero, or int8; got int4"),
    ('lo.block_sweep(x, formats=["int4"])', ValueError,
     "`formats` must be a float of up to 32 bits that has a zero, or int8; got int4"),
    ("lo.block_sweep(x, block_sizes=[0])", ValueError, "`block_size` must be an integer from 1 up; got 0"),
    ("lo.error_statistics(x, x[:2])", ValueError,
     "`back` must be of the dtype and the shape of `values`, float32 (4, 16); got float32 (2, 16)"),
    ('lo.saturates(x, "e4m3")', ValueError, f"`fmt` {E4M3}"),
    ('lo.measure(x, "int8", scaled="yes")', ValueError, "`scaled` must be True or False; got 'yes'"),
    ('te.error_curve("float16", 0, 1, random_bits=4)', ValueError,
     "`random_bits` must be left out unless `rounding` is stochastic; got 4"),
    ('te.error_curve("e4m3", 0, 1)', ValueError, f"`fmt` {E4M3}"),
    ('te.error_curve("float16", 1, 0)', ValueError, "`high` must be greater than `low`; got 0 and 1"),
    ('te.error_curve("float16", "a", 1)', ValueError, f"`low` {NUMBER} 'a'"),
    ('te.accumulate([1.0], "e4m3")', ValueError, f"`fmt` {E4M3}"),
    ('te.accumulate(["a"], "float16")', ValueError, f"`terms` {NUMBER} 'a'"),
    ('te.operate("add", [1], "float16")', ValueError, "`operands` must be 2 numbers for add; got 1"),
    ('re.cast(70000, "float8_e4m3fn", "float16")', ValueError, "`code` must be an integer from 0 to 255; got 70000"),
    ('re.cast(1, "e4m3", "float16")', ValueError, f"`source` {E4M3}"),
    ('re.cast(1.5, "float8_e4m3fn", "float16")', ValueError, "`code` must be an integer from 0 to 255; got 1.5"),
    ('re.encode("abc", "float16")', ValueError, f"`value` {NUMBER} 'abc'"),
    ('re.ulp("abc", "float16")', ValueError, f"`x` {NUMBER} 'abc'"),
    ('re.quantize(1.0, 0, 0, "int9", precision="float32")', ValueError,
     "`target` must be a format; got 'int9' (did you mean int8 or int16?)"),
    ('re.mx_blocks(x, "int4")', ValueError, "`element` must be a float format where `rounding` is given; got int4"),
    ('re.neighbours(-1, "float16")', ValueError, "`code` must be an integer from 0 to 65535; got -1"),
    ("lp.stochastic_bits(1, -3)", ValueError, "`shape` must be the number of elements, or a tuple of lengths; got -3"),
    ("lp.stochastic_bits(1, 3, bits=40)", ValueError, "`bits` must be an integer from 1 to 32; got 40"),
    ("lp.stochastic_bits(1, 3, offset=-1)", ValueError, "`offset` must be an integer from 0 to 2**63 - 1; got -1"),
    ('lp.explain(0.1, "float16", rounding="up")', ValueError, f"`rounding` must be one of {ROUNDINGS}; got 'up'"),
    ('lp.float_format("mine", exponent_bits=4, mantissa_bits=3, inf="no")', ValueError,
     "`inf` must be True or False; got 'no'"),
]  # fmt: skip
"""Explanations, descriptions, threads, losses, lessons, the oracle."""


class _Names(dict[str, Any]):
    """The names in the calls: arrays, modules, and what is made of a library that may be missing when it is used."""

    def __missing__(self, name: str) -> Any:
        if name in ("torch", "t"):
            torch = pytest.importorskip("torch")
            return torch if name == "torch" else torch.from_numpy(X.copy())
        if name == "jnp":
            return pytest.importorskip("jax").numpy
        if name == "on":
            pytest.importorskip("onnx")
            return lp.onnx
        raise KeyError(name)


NAMES = _Names(
    lp=lp, ck=checkpoints, lo=loss, re=reference, te=teaching, np=np, ml_dtypes=ml_dtypes, x=X, ro=READ_ONLY,
    s=lp.absmax_scale(X, "int8", axis=0), q=lp.quantize(X, "int8"),
)  # fmt: skip
CALLS = [*CASTS, *QUANTIZE, *TORCH, *JAX, *FILES, *ONNX, *OTHERS]
INNER = re.compile(r"array_api_compat|lowprec\.(?!formats\b|quantize\b|Quantized\b|torch_ops\b)")
COMMAND = re.compile(r"hf download \S+ --local-dir \S+")
"""The one command that a message gives: it is not ours."""


@pytest.mark.parametrize(("call", "error", "start"), CALLS, ids=[call for call, _, _ in CALLS])
@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning", "ignore:.*deprecated:DeprecationWarning")
def test_wrong_call(
    call: str, error: type[Exception], start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", X)
    np.savez("a.npz", w=X)
    np.savez("b.npz", w=X)
    Path("junk.safetensors").write_bytes(b"junk")
    Path("array.safetensors").write_bytes(Path("a.npy").read_bytes())
    checkpoints.save("w.safetensors", {"a": X, "head.weight": X, "layers.0.q.weight": X})
    before = sorted((one.name, one.read_bytes()) for one in tmp_path.iterdir())
    with pytest.raises(error) as raised:
        eval(call, {}, NAMES)
    message = str(raised.value.args[0])
    assert message.startswith(start)
    assert len(message.split("\n")) == 1
    assert len(message) <= 600
    assert "--" not in COMMAND.sub("", message)
    assert not INNER.search(message)
    assert re.match(r"`[a-z_\d]+(\['\w+'\])?` (must|has)|[\w./-]+: ", message)  # the parameter or the file
    assert sorted((one.name, one.read_bytes()) for one in tmp_path.iterdir()) == before
