"""The entry points of the compiled loops: memory in, chunks over threads, the table of the loops in use."""
import importlib.util
import sys

from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_STRIDED, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Clear
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF
from cython.parallel cimport prange
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, rint
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cimport cython
cimport numpy as cnp

from lowprec._native.block_types cimport (
    block_params_t, block_slots_t, clear_codes_t, drop_negative_zero_t, find_codes_t, find_scales_t, mark_nan_t,
    raise_columns_t, to_integers_t, whole_blocks_t,
)
from lowprec._native.kernel_types cimport (
    RUN_SHIFT, SCALE_COLUMNS, SCALE_ELEMENTWISE, SCALE_MODES, SCALE_RUNS, SCALE_UNIFORM, TILE, beyond_blocks_t,
    compare_t, decode_blocks_t, encode_blocks_t, loop_t, params_t, random_loop_t, range_t, reciprocals_t, remaining_t,
    repeat_t, scale_loop_t, scales_t, seen_t, stream_t, zero_words_t,
)

cdef extern from "float_mode.h" nogil:
    ctypedef struct lp_mode:
        pass
    lp_mode lp_mode_enter() noexcept
    void lp_mode_leave(lp_mode old) noexcept

cdef extern from "cpu_features.h" nogil:
    int lp_has_v3() noexcept
    int lp_has_v4() noexcept
    int lp_has_v4_vbmi() noexcept
    const int LP_OPENMP

cdef extern from "thread_tiles.h" nogil:
    enum:
        COMPARED "LP_COMPARED"
        STREAMED_BYTES "LP_STREAMED_BYTES"
    ctypedef struct tiles_t "lp_tiles":
        uint64_t *even
        uint64_t *odd
        uint64_t *gathered
        uint64_t *converted
        uint64_t *scale
        uint32_t *zero
        float *reciprocal
        float *each_reciprocal
        uint64_t *streamed
        float *values
        float *again
    tiles_t *thread_tiles "lp_thread_tiles" () noexcept

cdef extern from *:
    ctypedef struct PyObject
    bint PyUnicode_CHECK_INTERNED(object text)
    PyObject *PyTuple_GET_ITEM(tuple values, Py_ssize_t index)

cdef extern from "numpy/arrayobject.h":
    """
    #define lp_new_array(rank, shape, dtype) \\
        PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)(dtype), rank, shape, NULL, NULL, 0, NULL)
    """
    cnp.ndarray new_array "lp_new_array" (int rank, cnp.npy_intp *shape, cnp.dtype dtype)
    cnp.ndarray new_like "PyArray_NewLikeArray" (cnp.ndarray array, cnp.NPY_ORDER order, cnp.dtype dtype, int subclass)

cnp.import_array()

cdef extern from "scalar_kernels.h" nogil:
    const float LP_REACH
    const float LP_FAR
    uint32_t lp_bits(float f) noexcept

cdef uint32_t INFINITY_BITS = lp_bits(INFINITY)
cdef uint32_t FAR = lp_bits(LP_FAR)
cdef uint32_t SMALLEST_IN_REACH = lp_bits(1 / LP_FAR)

cdef enum:
    NO_LOOP = -1
    CHUNK = 64 * TILE     # elements that a thread takes at once
    MAX_LOOPS = 96
    MAX_SCALE_LOOPS = 16  # loops that take scales and zero points; a program numbers them from MAX_LOOPS on
    MAX_RANDOM_LOOPS = 16  # those that take random numbers; numbered after these
    MAX_FUSED = 96        # fused loops, without scales and with them
    MAX_STEPS = 10        # loops of a program
    MAX_RANK = 64
    MAX_BLOCKS = 16       # types of blocks
    GROUP = 64            # elements that a loop by columns takes together, or a divisor

cdef struct block_loops_t:
    Py_ssize_t nbytes
    encode_blocks_t encode  # NULL: blocks are only read
    decode_blocks_t decode
    beyond_blocks_t beyond  # NULL: nothing is beyond a block

cdef loop_t loops[MAX_LOOPS]
cdef scale_loop_t scale_loops[SCALE_MODES][MAX_SCALE_LOOPS]  # NULL: not in that mode
cdef random_loop_t random_loops[MAX_RANDOM_LOOPS]
cdef loop_t fused_loops[MAX_FUSED]
cdef scale_loop_t fused_scale_loops[SCALE_MODES][MAX_FUSED]
cdef compare_t compare_in_use
cdef reciprocals_t reciprocals_in_use  # NULL where no loop takes them
cdef zero_words_t zero_words_in_use    # the same
cdef repeat_t repeat_in_use[2]  # of 4 and of 8 bytes
cdef range_t ranges_in_use[4][2]  # by the width of a code; the largest magnitude, both ends
cdef block_loops_t blocks_in_use[MAX_BLOCKS]
cdef dict loop_index = {}
cdef dict fused_index = {}  # the names of a chain, joined by dots -> its index in fused_loops or fused_scale_loops
cdef frozenset multiplying = frozenset()  # the fused loops that multiply by reciprocals of scales
cdef dict block_index = {}
cdef str isa_in_use = ""


def available_isas() -> tuple[str, ...]:
    """Return the instruction sets of this build that this machine has, the best one last."""
    isas = ["base"]
    for name, has in (("v3", lp_has_v3()), ("v4", lp_has_v4()), ("v4_vbmi", lp_has_v4_vbmi())):
        if has and importlib.util.find_spec(f"lowprec._native.tier_{name.removesuffix('_vbmi')}") is not None:
            isas.append(name)
    return tuple(isas)


def use_isa(str name) -> None:
    """Switch every conversion to the loops of one instruction set; not while others convert."""
    global isa_in_use, compare_in_use, reciprocals_in_use, zero_words_in_use, multiplying
    known = available_isas()
    if name not in known:
        raise ValueError(f"`name` must be one of {', '.join(known)} on this machine; got {name!r}")
    tier = importlib.import_module(f"lowprec._native.tier_{name}")
    for table, most in (
        ("LOOPS", MAX_LOOPS), ("SCALE_LOOPS", MAX_SCALE_LOOPS), ("RANDOM_LOOPS", MAX_RANDOM_LOOPS),
        ("FUSED_LOOPS", MAX_FUSED), ("FUSED_SCALE_LOOPS", MAX_FUSED), ("BLOCKS", MAX_BLOCKS),
    ):
        count = len(getattr(tier, table))
        if count > most:
            raise ImportError(f"{tier.__name__} must have at most {most} loops in {table}; got {count}")
    same = loop_index.keys() == {*tier.LOOPS, *tier.SCALE_LOOPS, *tier.RANDOM_LOOPS}
    if loop_index and not (same and fused_index.keys() == {*tier.FUSED_LOOPS, *tier.FUSED_SCALE_LOOPS}):
        # programs know loops by their numbers
        raise ImportError(f"{tier.__name__} must have the loops of the other instruction sets")
    for index, loop in enumerate(sorted(tier.LOOPS)):
        loop_index[loop] = index
        loops[index] = <loop_t><size_t>tier.LOOPS[loop]
    for index, loop in enumerate(sorted(tier.SCALE_LOOPS)):
        loop_index[loop] = MAX_LOOPS + index
        for mode in range(SCALE_MODES):
            scale_loops[mode][index] = <scale_loop_t><size_t>(*tier.SCALE_LOOPS[loop], 0)[mode]
    for index, loop in enumerate(sorted(tier.RANDOM_LOOPS)):
        loop_index[loop] = MAX_LOOPS + MAX_SCALE_LOOPS + index
        random_loops[index] = <random_loop_t><size_t>tier.RANDOM_LOOPS[loop]
    for index, loop in enumerate(sorted(tier.FUSED_LOOPS)):
        fused_index[loop] = index
        fused_loops[index] = <loop_t><size_t>tier.FUSED_LOOPS[loop]
    for index, loop in enumerate(sorted(tier.FUSED_SCALE_LOOPS)):
        fused_index[loop] = index
        for mode in range(SCALE_MODES):
            fused_scale_loops[mode][index] = <scale_loop_t><size_t>(*tier.FUSED_SCALE_LOOPS[loop], 0)[mode]
    multiplying = tier.BY_RECIPROCAL
    repeat_in_use[0], repeat_in_use[1] = <repeat_t><size_t>tier.REPEATS[0], <repeat_t><size_t>tier.REPEATS[1]
    compare_in_use = <compare_t><size_t>tier.COMPARE
    reciprocals_in_use = <reciprocals_t><size_t>tier.RECIPROCALS
    zero_words_in_use = <zero_words_t><size_t>tier.ZERO_WORDS
    for width in range(4):
        for ends in range(2):
            ranges_in_use[width][ends] = <range_t><size_t>tier.RANGES[width][ends]
    for index, (kind, (nbytes, encode, decode, beyond)) in enumerate(tier.BLOCKS.items()):
        block_index[kind] = index
        blocks_in_use[index].nbytes = nbytes
        blocks_in_use[index].encode = <encode_blocks_t><size_t>encode
        blocks_in_use[index].decode = <decode_blocks_t><size_t>decode
        blocks_in_use[index].beyond = <beyond_blocks_t><size_t>beyond
    use_block_loops(tier)
    isa_in_use = name


def isa() -> str:
    """Return the instruction set in use."""
    return isa_in_use


def openmp() -> int:
    """Return the OpenMP version the kernels were compiled with, as the macro _OPENMP has it; 0 without."""
    return LP_OPENMP


def in_default_mode(function) -> object:
    """Call a function without arguments in the default floating-point mode, and put the caller's back."""
    cdef lp_mode mode = lp_mode_enter()
    try:
        return function()
    finally:
        lp_mode_leave(mode)


include "_native/entry_points/scale_lookup.pxi"
include "_native/entry_points/programs.pxi"
include "_native/entry_points/strided_arrays.pxi"


cdef int check_operands(Program program, Operands operands) except -1:
    if program.takes_scales != (operands is not None):
        raise ValueError("`operands` must be there where, and only where, the program has loops that take scales")
    return 0


cdef int check_sizes(Program program, Py_ssize_t src_size, Py_ssize_t dst_size, Py_ssize_t n) except -1:
    if n < 0 or src_size < (n * program.steps.src_bits + 7) // 8 or dst_size < (n * program.steps.dst_bits + 7) // 8:
        raise ValueError(f"`src` and `dst` must hold {n} elements; got {src_size} and {dst_size} bytes")
    return 0


include "_native/entry_points/dense_arrays.pxi"


def run(
    Program program not None, const uint8_t[::1] src, uint8_t[::1] dst, Py_ssize_t n, Operands operands,
    stream, int n_threads,
) -> None:
    """Convert `n` elements from the bytes of `src` to the bytes of `dst`, which must not overlap.

    `stream` is a seed and the place of the first random number; None without.
    """
    cdef steps_t seeded
    seed, offset = stream or (None, 0)
    cdef const uint8_t *s = &src[0] if src.shape[0] else NULL
    cdef uint8_t *d = &dst[0] if dst.shape[0] else NULL
    check_sizes(program, src.shape[0], dst.shape[0], n)
    run_dense(program, seeded_steps(&program.steps, seed, offset, &seeded), s, d, n, operands, n_threads)


include "_native/entry_points/torch_tensors.pxi"
include "_native/entry_points/call_cache.pxi"
include "_native/entry_points/compare_arrays.pxi"
include "_native/entry_points/ranges.pxi"
include "_native/entry_points/blocks.pxi"
include "_native/entry_points/array_calls.pxi"
include "_native/entry_points/random_numbers.pxi"
