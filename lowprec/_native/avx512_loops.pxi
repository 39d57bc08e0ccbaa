# The AVX-512 overlays of loops that are not fused, 64 elements at a time; loop_table.pxi.in says where they are used.
#
# Parameters that an overlay does not handle go to the loop that it stands for.
from libc.string cimport memset

from lowprec._native.loop_types cimport (
    RUN_SHIFT, SCALE_ELEMENTWISE, SCALE_RUNS, SCALE_UNIFORM, TILE, params_t, remaining_t, scales_t,
)

cdef enum:
    MAX_RECIPROCALS = (TILE >> RUN_SHIFT) + 1  # of the runs in a tile, of which the first and the last may be cut

cdef extern from "avx512.h" nogil:
    ctypedef struct lp_encoder:
        bint fits   # whether the format can be encoded in words of 16 bits
        bint plain  # whether every code has the sign of its value, in the first bit of a byte
    ctypedef struct lp_integer_range:
        pass
    const bint HAS_AVX512 "LP_AVX512"
    void truncate_64 "lp_truncate" (
        const uint32_t *s, uint8_t *d, Py_ssize_t n, uint32_t mask, uint32_t sign,
    ) noexcept
    void pack_128 "lp_pack" (const uint8_t *s, uint8_t *d) noexcept
    void unpack_64 "lp_unpack" (const uint8_t *s, uint8_t *d) noexcept
    lp_encoder encoder_of "lp_encoder_of" (const params_t *params) noexcept
    lp_integer_range integer_range_of "lp_integer_range_of" (int32_t zero, const params_t *params) noexcept
    void encode_64 "lp_encode" (
        const uint32_t *s, uint8_t *d, Py_ssize_t n, const lp_encoder *w, bint plain,
    ) noexcept
    void encode_64_doubles "lp_encode_doubles" (
        const double *s, uint8_t *d, Py_ssize_t n, const lp_encoder *w, bint plain,
    ) noexcept
    void encode_64_halves "lp_encode_halves" (
        const uint16_t *s, uint8_t *d, Py_ssize_t n, uint32_t code16_shift, const lp_encoder *w, bint plain,
    ) noexcept
    void divide_encode_64 "lp_divide_encode" (
        int mode, const float *s, uint8_t *d, Py_ssize_t n, const void *scale, Py_ssize_t at, int shift,
        const lp_encoder *w, bint plain,
    ) noexcept
    void quantize_64 "lp_quantize" (
        int mode, bint by_reciprocal, const float *s, uint8_t *d, Py_ssize_t n, const float *scale,
        const float *reciprocal, const int32_t *zero, Py_ssize_t at, int shift, const lp_integer_range *code_range,
    ) noexcept
    void dequantize_64 "lp_dequantize_group" (
        int mode, const float *s, uint32_t *d, Py_ssize_t n, const void *scale, const void *zero, Py_ssize_t at,
        int shift,
    ) noexcept


cdef void pack4_avx512(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 128 * 64 if HAS_AVX512 else 0
    cdef Py_ssize_t length = block_length(2, 1)
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, 2, d, 1, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole), 64):
            pack_128(s + 2 * i, d + i)
    if 2 * whole < n:
        pack4(s + 2 * whole, d + whole, n - 2 * whole, remaining, params)


cdef void unpack4_avx512(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 64 * 32 if HAS_AVX512 else 0
    cdef Py_ssize_t length = block_length(1, 2)
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, 1, d, 2, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole), 32):
            unpack_64(s + i, d + 2 * i)
    if 2 * whole < n:
        unpack4(s + whole, d + 2 * whole, n - 2 * whole, remaining, params)


cdef void truncate32_to8_avx512(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef uint32_t mask = <uint32_t>params.target_mask
    cdef uint32_t sign = <uint32_t>params.target_sign
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_AVX512:
        truncate[uint8_t](s, d, n, remaining, params)
        return
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        last = min(block * length + length, n)
        for i in range(block * length, last, 64):
            truncate_64(s + i, d + i, last - i, mask, sign)


cdef void encode8_avx512(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef lp_encoder encoder = encoder_of(params)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_AVX512 or not encoder.fits:
        encode8(s, d, n, remaining, params)
        return
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        last = min(block * length + length, n)
        if encoder.plain:
            for i in range(block * length, last, 64):
                encode_64(s + i, d + i, last - i, &encoder, True)
        else:
            for i in range(block * length, last, 64):
                encode_64(s + i, d + i, last - i, &encoder, False)


cdef void encode8_from64_avx512(
    const double *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef lp_encoder encoder = encoder_of(params)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_AVX512 or not encoder.fits:
        encode8_from64(<const uint64_t *>s, d, n, remaining, params)
        return
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        last = min(block * length + length, n)
        if encoder.plain:
            for i in range(block * length, last, 64):
                encode_64_doubles(s + i, d + i, last - i, &encoder, True)
        else:
            for i in range(block * length, last, 64):
                encode_64_doubles(s + i, d + i, last - i, &encoder, False)


cdef void encode8_from16_avx512(
    const uint16_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef lp_encoder encoder = encoder_of(params)
    cdef uint32_t code16_shift = params.code16_shift
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    if not HAS_AVX512 or not encoder.fits:
        encode8_from16(s, d, n, remaining, params)
        return
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        last = min(block * length + length, n)
        if encoder.plain:
            for i in range(block * length, last, 64):
                encode_64_halves(s + i, d + i, last - i, code16_shift, &encoder, True)
        else:
            for i in range(block * length, last, 64):
                encode_64_halves(s + i, d + i, last - i, code16_shift, &encoder, False)


# ---- loops with scales --------------------------------------------------------------------------------------------

cdef inline void divide_encode8_avx512(
    int mode, const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales,
    const params_t *params,
) noexcept nogil:
    cdef lp_encoder encoder = encoder_of(params)
    cdef const void *scale = scales.scale
    cdef Py_ssize_t offset = scales.offset if mode == SCALE_RUNS else 0
    cdef int shift = scales.run_shift
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        last = min(block * length + length, n)
        if encoder.plain:
            for i in range(block * length, last, 64):
                divide_encode_64(mode, s + i, d + i, last - i, scale, offset + i, shift, &encoder, True)
        else:
            for i in range(block * length, last, 64):
                divide_encode_64(mode, s + i, d + i, last - i, scale, offset + i, shift, &encoder, False)


cdef inline void quantize8_avx512(
    int mode, const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales,
    const params_t *params,
) noexcept nogil:
    # A scale of many elements is replaced by its reciprocal: a product takes less time than a division.
    cdef float computed[MAX_RECIPROCALS]
    cdef const float *reciprocal = scales.reciprocal if mode == SCALE_ELEMENTWISE else NULL
    cdef const float *scale = <const float *>scales.scale
    cdef const int32_t *zero = <const int32_t *>scales.zero
    cdef Py_ssize_t offset = scales.offset if mode == SCALE_RUNS else 0
    cdef int shift = scales.run_shift
    cdef Py_ssize_t count = ((offset + n - 1) >> shift) + 1 if mode == SCALE_RUNS else 1
    if mode != SCALE_ELEMENTWISE and count <= MAX_RECIPROCALS:
        memset(computed, 0, sizeof(computed))
        if reciprocals(scale, count, computed):
            reciprocal = computed
    cdef lp_integer_range code_range = integer_range_of(zero[0], params)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, at, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        last = min(block * length + length, n)
        if reciprocal != NULL:
            for i in range(block * length, last, 64):
                at = offset + i
                quantize_64(mode, True, s + i, d + i, last - i, scale, reciprocal, zero, at, shift, &code_range)
        else:
            for i in range(block * length, last, 64):
                at = offset + i
                quantize_64(mode, False, s + i, d + i, last - i, scale, reciprocal, zero, at, shift, &code_range)


cdef void divide_encode8_uniform_avx512(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    if HAS_AVX512 and encoder_of(params).fits:
        divide_encode8_avx512(SCALE_UNIFORM, s, d, n, remaining, scales, params)
    else:
        divide_encode8_uniform(<const uint32_t *>s, d, n, remaining, scales, params)


cdef void divide_encode8_elementwise_avx512(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    if HAS_AVX512 and encoder_of(params).fits:
        divide_encode8_avx512(SCALE_ELEMENTWISE, s, d, n, remaining, scales, params)
    else:
        divide_encode8_elementwise(<const uint32_t *>s, d, n, remaining, scales, params)


cdef void divide_encode8_runs_avx512(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const uint32_t *scale = <const uint32_t *>scales.scale
    cdef Py_ssize_t i
    if HAS_AVX512 and encoder_of(params).fits:
        divide_encode8_avx512(SCALE_RUNS, s, d, n, remaining, scales, params)
        return
    for i in range(n):
        d[i] = lp_divide_encode8(as_bits(s[i]), scale[(scales.offset + i) >> scales.run_shift], 0, params)


cdef void quantize8_uniform_avx512(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    quantize8_avx512(SCALE_UNIFORM, s, d, n, remaining, scales, params)


cdef void quantize8_elementwise_avx512(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    quantize8_avx512(SCALE_ELEMENTWISE, s, d, n, remaining, scales, params)


cdef void quantize8_runs_avx512(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    quantize8_avx512(SCALE_RUNS, s, d, n, remaining, scales, params)


cdef inline void dequantize_avx512(
    int mode, const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales,
) noexcept nogil:
    cdef const void *scale = scales.scale
    cdef const void *zero = scales.zero
    cdef Py_ssize_t offset = scales.offset if mode == SCALE_RUNS else 0
    cdef int shift = scales.run_shift
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, last, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        last = min(block * length + length, n)
        for i in range(block * length, last, 64):
            dequantize_64(mode, s + i, d + i, last - i, scale, zero, offset + i, shift)


cdef void dequantize_elementwise_avx512(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    dequantize_avx512(SCALE_ELEMENTWISE, s, d, n, remaining, scales)


cdef void dequantize_runs_avx512(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    dequantize_avx512(SCALE_RUNS, s, d, n, remaining, scales)
