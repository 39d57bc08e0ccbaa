# The error statistics of float32 values and of the values that a conversion gave back for them.
from lowprec._native.loop_types cimport seen_t

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


COMPARE = <size_t>&compare
