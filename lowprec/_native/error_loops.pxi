# The error statistics of float32 values and of the values that a conversion gave back for them.
from libc.stdint cimport int64_t

from lowprec._native.kernel_types cimport SCALE_ELEMENTWISE, SCALE_RUNS, SCALE_UNIFORM, scales_t, seen_t

cdef extern from * nogil:
    """
    /* Negative where error exceeds ratio * magnitude: the sign of a difference that is rounded once (FMA), or of one
       that float64 has exactly. And the sum of a square that float64 has exactly: the same with FMA and without. */
    #if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
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

cdef extern from "vector_kernels/compare.h" nogil:
    ctypedef struct lp_lanes:
        int32_t *top
        int32_t *bottom
        float *error
    bint take_ends "lp_take_ends" (const float *s, Py_ssize_t n, lp_lanes *lanes) noexcept
    bint compare_256 "lp_compare" (
        int mode, const float *s, const float *y, Py_ssize_t n, const float *scale, Py_ssize_t at, int shift,
        float bound, float ratio, double *signal, double *noise, lp_lanes *lanes, Py_ssize_t *flushed, uint8_t *beyond,
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
    seen.signal[LANES] = add_square(seen.signal[LANES], v)
    seen.noise[LANES] = add_square(seen.noise[LANES], error)
    seen.flushed += v != 0 and w == 0


cdef void compare_values(const float *x, const float *y, Py_ssize_t n, seen_t *seen) noexcept nogil:
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
        signal[j] = seen.signal[j]
        noise[j] = seen.noise[j]
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
        seen.signal[j] = signal[j]
        seen.noise[j] = noise[j]
        seen.flushed += flushed[j]


# ---- values that their scales take beyond the range of a format ------------------------------------------------------

cdef enum:
    GROUP = 64     # elements that are divided where one of them may be beyond the range
    GROUPS = 4     # in a block


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


cdef Py_ssize_t count_saturated(
    const float *x, Py_ssize_t start, Py_ssize_t n, const scales_t *scales, float low, float high,
) noexcept nogil:
    # Of the elements from `start` on, at x: a group that has one scale, or one for each.
    cdef const float *scale = <const float *>scales.scale
    cdef Py_ssize_t length = LANES if scales.mode == SCALE_RUNS else GROUP
    cdef Py_ssize_t group, first, size, count = 0
    for group in range(block_count(n, length)):
        first = group * length
        size = min(length, n - first)
        if scales.mode == SCALE_ELEMENTWISE:
            if may_exceed(x + first, size, scale + start + first, 1, low, high):
                count += count_outside(x + first, size, scale + start + first, 1, low, high)
            continue
        if scales.mode == SCALE_RUNS:
            scale = <const float *>scales.scale + (scales.offset + start + first >> scales.run_shift)
        if may_exceed(x + first, size, scale, 0, low, high):
            count += count_outside(x + first, size, scale, 0, low, high)
    return count


# ---- by vectors ------------------------------------------------------------------------------------------------------

cdef inline int32_t ordered(int32_t bits) noexcept nogil:
    # Codes of float32 in the order of the values, and back.
    return bits ^ (bits >> 31 & 0x7fffffff)


cdef void finite_ends(const float *x, Py_ssize_t n, seen_t *seen) noexcept nogil:
    cdef int32_t low = ordered(<int32_t>as_bits(seen.low)), high = ordered(<int32_t>as_bits(seen.high)), key
    cdef int32_t infinity = <int32_t>INF, first, second
    cdef Py_ssize_t i
    for i in range(n):
        key = ordered(<int32_t>as_bits(x[i]))
        first = key if key > ~infinity else infinity
        second = key if key < infinity else ~infinity
        low = first if first < low else low
        high = second if second > high else high
    seen.low = as_float(<uint32_t>ordered(low))
    seen.high = as_float(<uint32_t>ordered(high))


cdef void compare_vectors(
    const float *x, const float *y, Py_ssize_t n, const scales_t *scales, float low, float high, seen_t *seen,
) noexcept nogil:
    # What shares one scale is counted at the end, where the ends of the values say that there may be something.
    cdef const float *scale = NULL  # a conditional expression would drop the const in C
    cdef int mode = SCALE_UNIFORM if scales == NULL else scales.mode
    cdef float bound = high if high < -low else -low
    cdef float first, second
    cdef uint8_t beyond[GROUPS]
    cdef int32_t top = <int32_t>SIGN, bottom = <int32_t>SIGN
    cdef bint regular = True
    cdef Py_ssize_t block, group, start, count, whole, i
    cdef lp_lanes lanes
    if scales != NULL:
        scale = <const float *>scales.scale
    memset(&lanes, 0, sizeof(lanes))
    for i in range(LANES):
        lanes.top[i] = lanes.bottom[i] = <int32_t>SIGN
    for block in range(block_count(n, BLOCK)):
        start = block * BLOCK
        count = min(<Py_ssize_t>BLOCK, n - start)
        whole = count // LANES * LANES
        if not take_ends(x + start, whole, &lanes):
            whole = 0
        if compare_256(
            mode, x + start, y + start, whole, scale, start + (scales.offset if mode == SCALE_RUNS else 0),
            scales.run_shift if mode == SCALE_RUNS else 0, bound, seen.ratio, seen.signal, seen.noise, &lanes,
            &seen.flushed, beyond,
        ):
            seen.ratio = largest_ratio(x + start, y + start, whole, seen.ratio)
        if mode != SCALE_UNIFORM:
            for group in range(block_count(whole, GROUP)):
                i = group * GROUP
                if beyond[group]:
                    seen.saturated += count_saturated(
                        x + start + i, start + i, min(<Py_ssize_t>GROUP, whole - i), scales, low, high,
                    )
        if whole < count:
            regular = False
            for i in range(start + whole, start + count):
                compare_one(x[i], y[i], seen)
            if mode != SCALE_UNIFORM:
                seen.saturated += count_saturated(
                    x + start + whole, start + whole, count - whole, scales, low, high,
                )
    for i in range(LANES):
        top = lanes.top[i] if lanes.top[i] > top else top
        bottom = lanes.bottom[i] if lanes.bottom[i] > bottom else bottom
        seen.error = lanes.error[i] if lanes.error[i] > seen.error else seen.error
    if (bottom < 0 and seen.low > 0) or (top < 0 and seen.high < 0):  # nothing so far had the other sign
        finite_ends(x, n, seen)
    first = -as_float(<uint32_t>bottom) if bottom >= 0 else <float>0
    second = as_float(<uint32_t>top) if top >= 0 else <float>0
    seen.low = first if bottom >= 0 and first < seen.low else seen.low
    seen.high = second if top >= 0 and second > seen.high else seen.high
    if scales == NULL or mode != SCALE_UNIFORM:
        return
    if regular and not (may_exceed(&first, 1, scale, 0, low, high) or may_exceed(&second, 1, scale, 0, low, high)):
        return
    seen.saturated += count_saturated(x, 0, n, scales, low, high)


cdef void compare(
    const float *x, const float *y, Py_ssize_t n, const scales_t *scales, float low, float high, seen_t *seen,
) noexcept nogil:
    # The error statistics; of values that have scales also how many these take beyond a range.
    if HAS_VECTORS:
        compare_vectors(x, y, n, scales, low, high, seen)
        return
    compare_values(x, y, n, seen)
    if scales != NULL:
        seen.saturated += count_saturated(x, 0, n, scales, low, high)


COMPARE = <size_t>&compare
