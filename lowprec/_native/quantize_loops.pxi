# The loops of QuantizeLinear and DequantizeLinear: they read a scale and a zero point for each element.
#
# Every loop exists twice: `_uniform` reads one scale and one zero point for all elements, `_elementwise` one for each.
# Zero points are int32 where the codes are integers, float32 where they are floats.

from libc.string cimport memcpy

from lowprec._native.loop_types cimport REPEAT_WIDTH, remaining_t, scales_t


# ---- loops: value / scale + zero point -> code of an integer ----------------------------------------------------

cdef void quantize_uniform(
    const float *s, code_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef const int32_t *zero = <const int32_t *>scales.zero
    cdef params_t p = params[0]
    cdef float divisor = scale[0]
    cdef int32_t offset = zero[0]
    cdef float low = <float>(p.code_min - offset)
    cdef float high = <float>(p.code_max - offset)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <code_t>round_saturate_one(s[i] / divisor, offset, low, high, p)


cdef void quantize_elementwise(
    const float *s, code_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef const int32_t *zero = <const int32_t *>scales.zero
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <code_t>saturate_sum_one(s[i] / scale[i], zero[i], p)


cdef void quantize64_uniform(
    const double *s, code_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const double *scale = <const double *>scales.scale
    cdef const int32_t *zero = <const int32_t *>scales.zero
    cdef params_t p = params[0]
    cdef double divisor = scale[0]
    cdef int32_t offset = zero[0]
    cdef double low = <double>(p.code_min - offset)
    cdef double high = <double>(p.code_max - offset)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <code_t>round_saturate_double_one(s[i] / divisor, offset, low, high, p)


cdef void quantize64_elementwise(
    const double *s, code_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const double *scale = <const double *>scales.scale
    cdef const int32_t *zero = <const int32_t *>scales.zero
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <code_t>round_saturate_double_one(
                s[i] / scale[i], zero[i], <double>(p.code_min - zero[i]), <double>(p.code_max - zero[i]), p
            )


cdef void round_saturate_uniform(
    const float *s, code_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const int32_t *zero = <const int32_t *>scales.zero
    cdef params_t p = params[0]
    cdef int32_t offset = zero[0]
    cdef float low = <float>(p.code_min - offset)
    cdef float high = <float>(p.code_max - offset)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <code_t>round_saturate_one(s[i], offset, low, high, p)


cdef void round_saturate_elementwise(
    const float *s, code_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const int32_t *zero = <const int32_t *>scales.zero
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <code_t>saturate_sum_one(s[i], zero[i], p)


# ---- loops: value / scale, + zero point, (value - zero point) * scale -> value ----------------------------------

cdef void divide_uniform(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef float divisor = scale[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = propagate_nan(s[i] / divisor, s[i], divisor)


cdef void divide_elementwise(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = propagate_nan(s[i] / scale[i], s[i], scale[i])


cdef void divide_encode8_uniform(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    # One loop instead of `divide` and `encode8`: the divider works while other instructions encode. A positive scale
    # changes no sign, not even that of a NaN.
    cdef params_t p = params[0]
    cdef float divisor = scale[0]
    cdef bint keeps_sign = 0 < divisor < as_float(INF)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, first, last, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        first = block * length
        last = min(first + length, n)
        if keeps_sign:
            for i in range(first, last):
                d[i] = <uint8_t>encode8_one((as_bits(s[i] / divisor) & ~SIGN) | (as_bits(s[i]) & SIGN), p)
        else:
            for i in range(first, last):
                d[i] = <uint8_t>encode8_one(propagate_nan(s[i] / divisor, s[i], divisor), p)


cdef void divide_encode8_elementwise(
    const float *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint8_t>encode8_one(propagate_nan(s[i] / scale[i], s[i], scale[i]), p)


cdef void divide64_uniform(
    const double *s, uint64_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const double *scale = <const double *>scales.scale
    cdef double divisor = scale[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = propagate_nan_double(s[i] / divisor, s[i], divisor)


cdef void divide64_elementwise(
    const double *s, uint64_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const double *scale = <const double *>scales.scale
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = propagate_nan_double(s[i] / scale[i], s[i], scale[i])


cdef void add_zero_point_uniform(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *zero = <const float *>scales.zero
    cdef float offset = zero[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = propagate_nan(s[i] + offset, s[i], offset)


cdef void add_zero_point_elementwise(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *zero = <const float *>scales.zero
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = propagate_nan(s[i] + zero[i], s[i], zero[i])


cdef void dequantize_uniform(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef const float *zero = <const float *>scales.zero
    cdef float factor = scale[0]
    cdef float offset = zero[0]
    cdef bint keeps_nan = NAN_PASSES_THROUGH and 0 < abs(factor) < as_float(INF) and abs(offset) < as_float(INF)
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        if keeps_nan:  # a NaN comes from the value alone, as it is
            for i in range(block * length, min(block * length + length, n)):
                d[i] = as_bits((s[i] - offset) * factor)
        else:
            for i in range(block * length, min(block * length + length, n)):
                d[i] = propagate_nan((s[i] - offset) * factor, s[i], factor)


cdef void dequantize_elementwise(
    const float *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef const float *zero = <const float *>scales.zero
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = propagate_nan((s[i] - zero[i]) * scale[i], s[i], scale[i])


# ---- scales or zero points, one for every `length` elements -> one for every element -------------------------------

ctypedef fused scale_bits_t:
    uint32_t
    uint64_t


cdef void repeat_scales(
    const scale_bits_t *s, scale_bits_t *d, Py_ssize_t n, Py_ssize_t offset, Py_ssize_t length,
) noexcept nogil:
    # The first run has begun `offset` elements before. REPEAT_WIDTH copies are written at a time, past the end of the
    # run: the next run overwrites them.
    cdef scale_bits_t v
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t run = length - offset
    cdef Py_ssize_t i, j
    if length == 1:
        memcpy(d, s, n * sizeof(s[0]))
        return
    while done < n:
        v = s[0]
        run = min(run, n - done)
        for i in range((run + REPEAT_WIDTH - 1) // REPEAT_WIDTH):
            for j in range(REPEAT_WIDTH):
                d[done + i * REPEAT_WIDTH + j] = v
        done += run
        run = length
        s += 1


REPEATS = (<size_t>&repeat_scales[uint32_t], <size_t>&repeat_scales[uint64_t])
