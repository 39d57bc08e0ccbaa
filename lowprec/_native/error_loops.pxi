# The error statistics of float32 values and of the values that a conversion gave back for them.
from lowprec._native.loop_types cimport SCALE_ELEMENTWISE, SCALE_RUNS, SCALE_UNIFORM, scales_t, seen_t

cdef extern from * nogil:
    """
    /* Negative where error exceeds ratio * magnitude: the sign of a difference that is rounded once (FMA), or of one
       that float64 has exactly. And the sum of a square that float64 has exactly: the same with FMA and without. */
    #ifdef __FMA__
    static inline int32_t lp_exceeds(float ratio, float magnitude, float error) {
        return (int32_t)lp_bits(__builtin_fmaf(ratio, magnitude, -error));
    }
    static inline double lp_add_square(double sum, double v) { return __builtin_fma(v, v, sum); }
    #else
    static inline int32_t lp_exceeds(float ratio, float magnitude, float error) {
        return (int32_t)(lp_double_bits((double)ratio * magnitude - error) >> 32);
    }
    static inline double lp_add_square(double sum, double v) { return sum + v * v; }
    #endif
    """
    int32_t exceeds "lp_exceeds" (float ratio, float magnitude, float error) noexcept
    double add_square "lp_add_square" (double total, double value) noexcept

cdef extern from "avx512_stats.h" nogil:
    Py_ssize_t count_outside_64 "lp_count_outside" (
        int mode, const float *s, Py_ssize_t n, const float *scale, Py_ssize_t at, int shift, float low, float high,
    ) noexcept

cdef enum:
    LANES = 16     # accumulators side by side, so that none waits for another
    BLOCK = 256    # elements that are looked at one by one where one of them is NaN or Inf


cdef inline bint is_finite(const float *x, Py_ssize_t n) noexcept nogil:
    cdef uint32_t largest = 0, bits
    cdef Py_ssize_t i
    for i in range(n):
        bits = as_bits(x[i]) & ~SIGN
        largest = bits if bits > largest else largest
    return largest < INF


cdef float largest_ratio(const float *x, const float *y, Py_ssize_t n, float ratio) noexcept nogil:
    # Of error and magnitude; a zero has none.
    cdef float magnitude, quotient
    cdef Py_ssize_t i
    for i in range(n):
        magnitude = as_float(as_bits(x[i]) & ~SIGN)
        quotient = as_float(as_bits(x[i] - y[i]) & ~SIGN) / magnitude
        quotient = quotient if magnitude != 0 else <float>0
        ratio = quotient if quotient > ratio else ratio
    return ratio


cdef void compare_one(float v, float w, seen_t *seen) noexcept nogil:
    cdef float error = as_float(as_bits(v - w) & ~SIGN)
    if not is_finite(&v, 1):
        seen.nan += v != v
        seen.inf += v == v
        return
    seen.low = v if v < seen.low else seen.low
    seen.high = v if v > seen.high else seen.high
    seen.error = error if error > seen.error else seen.error
    seen.ratio = largest_ratio(&v, &w, 1, seen.ratio)
    seen.signal = add_square(seen.signal, v)
    seen.noise = add_square(seen.noise, error)
    seen.flushed += v != 0 and w == 0


cdef void compare(const float *x, const float *y, Py_ssize_t n, seen_t *seen) noexcept nogil:
    cdef float low[LANES]
    cdef float high[LANES]
    cdef float largest_error[LANES]
    cdef double signal[LANES]
    cdef double noise[LANES]
    cdef int32_t flushed[LANES]
    cdef int32_t larger[LANES]
    cdef float v, w, magnitude, error
    cdef float ratio
    cdef int32_t any_larger
    cdef Py_ssize_t block, start, whole, i
    cdef int j
    for j in range(LANES):
        low[j] = as_float(INF)
        high[j] = -as_float(INF)
        largest_error[j] = 0
        signal[j] = noise[j] = 0
        flushed[j] = 0
    for block in range(block_count(n, BLOCK)):
        start = block * BLOCK
        whole = min(<Py_ssize_t>BLOCK, n - start) // LANES * LANES
        if not is_finite(x + start, whole):
            whole = 0
        ratio = seen.ratio
        for j in range(LANES):
            larger[j] = 0
        for i in range(start, start + whole, 16):
            for j in range(LANES):
                v = x[i + j]
                w = y[i + j]
                magnitude = as_float(as_bits(v) & ~SIGN)
                error = as_float(as_bits(v - w) & ~SIGN)
                low[j] = v if v < low[j] else low[j]
                high[j] = v if v > high[j] else high[j]
                largest_error[j] = error if error > largest_error[j] else largest_error[j]
                larger[j] |= exceeds(ratio, magnitude, error)
                signal[j] = add_square(signal[j], magnitude)
                noise[j] = add_square(noise[j], error)
                flushed[j] += <int32_t>(w == 0) & <int32_t>(v != 0)
        any_larger = 0
        for j in range(LANES):
            any_larger |= larger[j]
        if any_larger < 0:
            seen.ratio = largest_ratio(x + start, y + start, whole, ratio)
        for i in range(start + whole, min(start + BLOCK, n)):
            compare_one(x[i], y[i], seen)
    for j in range(LANES):
        seen.low = low[j] if low[j] < seen.low else seen.low
        seen.high = high[j] if high[j] > seen.high else seen.high
        seen.error = largest_error[j] if largest_error[j] > seen.error else seen.error
        seen.signal += signal[j]
        seen.noise += noise[j]
        seen.flushed += flushed[j]


# ---- values that their scales take beyond the range of a format ------------------------------------------------------

cdef enum:
    GROUP = 64     # elements that are divided where one of them may be beyond the range


cdef inline bint may_exceed(
    const float *x, Py_ssize_t n, const float *scale, Py_ssize_t step, float low, float high,
) noexcept nogil:
    # Rounding keeps order: a quotient beyond `high` has a dividend of at least the rounded product of scale and `high`.
    cdef int32_t found = 0
    cdef float first, second
    cdef Py_ssize_t i
    for i in range(n):
        first = scale[i * step] * low
        second = scale[i * step] * high
        found |= <int32_t>(x[i] >= (first if first > second else second))
        found |= <int32_t>(x[i] <= (first if first < second else second))
    return found


cdef inline int32_t count_outside(
    const float *x, Py_ssize_t n, const float *scale, Py_ssize_t step, float low, float high,
) noexcept nogil:
    # Infinite quotients are left out.
    cdef int32_t outside = 0
    cdef float quotient
    cdef Py_ssize_t i
    for i in range(n):
        quotient = x[i] / scale[i * step]
        outside += <int32_t>(quotient > high) & <int32_t>(quotient < as_float(INF))
        outside += <int32_t>(quotient < low) & <int32_t>(quotient > -as_float(INF))
    return outside


cdef void count_saturated(
    const float *x, Py_ssize_t n, const scales_t *scales, float low, float high, seen_t *seen,
) noexcept nogil:
    # One scale for all, or one for each: where there are loops for runs, there is the twin below.
    cdef const float *scale = <const float *>scales.scale
    cdef Py_ssize_t group, count
    for group in range(block_count(n, GROUP)):
        count = min(<Py_ssize_t>GROUP, n - group * GROUP)
        if scales.mode == SCALE_ELEMENTWISE:
            if may_exceed(x, count, scale, 1, low, high):
                seen.saturated += count_outside(x, count, scale, 1, low, high)
            scale += count
        elif may_exceed(x, count, scale, 0, low, high):
            seen.saturated += count_outside(x, count, scale, 0, low, high)
        x += count


cdef void count_saturated_avx512(
    const float *x, Py_ssize_t n, const scales_t *scales, float low, float high, seen_t *seen,
) noexcept nogil:
    cdef const float *scale = <const float *>scales.scale
    cdef Py_ssize_t i
    if scales.mode == SCALE_UNIFORM:
        for i in range(0, n, 64):
            seen.saturated += count_outside_64(SCALE_UNIFORM, x + i, n - i, scale, 0, 0, low, high)
    elif scales.mode == SCALE_ELEMENTWISE:
        for i in range(0, n, 64):
            seen.saturated += count_outside_64(SCALE_ELEMENTWISE, x + i, n - i, scale, i, 0, low, high)
    else:
        for i in range(0, n, 64):
            seen.saturated += count_outside_64(
                SCALE_RUNS, x + i, n - i, scale, scales.offset + i, scales.run_shift, low, high,
            )


COMPARE = <size_t>&compare
COUNT_SATURATED = <size_t>&count_saturated_avx512 if HAS_AVX512 else <size_t>&count_saturated
