# What became of float32 values: extremes, errors and sums of squares.
from lowprec._native.loop_types cimport seen_t

cdef extern from * nogil:
    """
    /* Negative, as a number of 32 bits, where error is more than ratio * magnitude: the sign of a difference that is
       rounded once, or of one that float64 has exactly. */
    #ifdef __FMA__
    static inline int32_t lp_beyond(float ratio, float magnitude, float error) {
        return (int32_t)lp_bits(__builtin_fmaf(ratio, magnitude, -error));
    }
    #else
    static inline int32_t lp_beyond(float ratio, float magnitude, float error) {
        return (int32_t)(lp_double_bits((double)ratio * magnitude - error) >> 32);
    }
    #endif
    #define LP_SMALL 0x1p-45f
    #define LP_LARGE 0x1p55f
    #define LP_GROW 0x1p100f
    #define LP_SHRINK 0x1p-70f
    """
    const float SMALL "LP_SMALL"
    const float LARGE "LP_LARGE"
    const float GROW "LP_GROW"
    const float SHRINK "LP_SHRINK"
    int32_t beyond "lp_beyond" (float ratio, float magnitude, float error) noexcept

cdef enum:
    LANES = 16      # accounts that run beside each other, so that none waits for another
    SHORT = 256     # elements whose squares are summed in float32
    SEGMENT = 2048  # elements whose account is drawn up at a time


cdef bint count_swiftly(const float *x, const float *y, Py_ssize_t n, seen_t *seen, float *units) noexcept nogil:
    # n is a multiple of LANES. False, and nothing counted, where an element is NaN or Inf, or where squares may be out
    # of float32's reach. They are those of values times units[0] and of errors times units[1], which are set anew then.
    cdef float unit = units[0], error_unit = units[1]
    cdef float low[LANES]
    cdef float high[LANES]
    cdef float error[LANES]
    cdef float signal[LANES]
    cdef float noise[LANES]
    cdef double signals[LANES]
    cdef double noises[LANES]
    cdef int32_t flushed[LANES]
    cdef int32_t more[LANES]
    cdef float ratio, v, w, m, e
    cdef double all_signal = 0, all_noise = 0
    cdef Py_ssize_t block, i
    cdef int32_t worst_ratio = seen.ratio, any_more
    cdef int j
    for j in range(LANES):
        low[j] = as_float(INF)
        high[j] = -as_float(INF)
        error[j] = 0
        flushed[j] = 0
        signals[j] = 0
        noises[j] = 0
    for block in range(block_count(n, SHORT)):
        ratio = as_float(<uint32_t>worst_ratio)
        for j in range(LANES):
            signal[j] = 0
            noise[j] = 0
            more[j] = 0
        for i in range(block * SHORT, min(block * SHORT + SHORT, n), 16):
            for j in range(LANES):
                v = x[i + j]
                w = y[i + j]
                m = as_float(as_bits(v) & ~SIGN)
                e = as_float(as_bits(v - w) & ~SIGN)
                low[j] = v if v < low[j] else low[j]
                high[j] = v if v > high[j] else high[j]
                error[j] = e if e > error[j] else error[j]
                more[j] |= beyond(ratio, m, e)
                m = m * unit
                e = e * error_unit
                signal[j] = signal[j] + m * m
                noise[j] = noise[j] + e * e
                flushed[j] += <int32_t>(w == 0) & <int32_t>(v != 0)
        any_more = 0
        for j in range(LANES):
            signals[j] += signal[j]
            noises[j] += noise[j]
            any_more |= more[j]
        if any_more < 0:
            i = block * SHORT
            worst_ratio = largest_ratio(x + i, y + i, min(<Py_ssize_t>SHORT, n - i), worst_ratio)
    for j in range(LANES):
        all_signal += signals[j]
        all_noise += noises[j]
        low[0] = low[j] if low[j] < low[0] else low[0]
        high[0] = high[j] if high[j] > high[0] else high[0]
        error[0] = error[j] if error[j] > error[0] else error[0]
    m = -low[0] if -low[0] > high[0] else high[0]
    if not (in_reach(all_signal, m) and in_reach(all_noise, error[0])):
        units[0] = unit_for(m)
        units[1] = unit_for(error[0])
        return False
    all_signal = all_signal / (<double>unit * unit)
    all_noise = all_noise / (<double>error_unit * error_unit)
    take(seen, low[0], high[0], error[0], all_signal, all_noise)
    for j in range(LANES):
        seen.flushed += flushed[j]
    seen.ratio = worst_ratio
    return True


cdef inline bint in_reach(double total, float peak) noexcept nogil:
    # Inf and NaN are not; small squares have lost bits, but few beside a sum of 2**-100.
    return total < as_double(DOUBLE_INF) and (total > as_double(DOUBLE_TINY) or peak == 0)


cdef inline float unit_for(float peak) noexcept nogil:
    return 1 if peak == 0 else GROW if peak < SMALL else SHRINK if peak > LARGE else 1


cdef inline void take(seen_t *seen, float low, float high, float error, double signal, double noise) noexcept nogil:
    cdef float magnitude = -low if -low > high else high
    seen.low = low if low < seen.low else seen.low
    seen.high = high if high > seen.high else seen.high
    seen.magnitude = magnitude if magnitude > seen.magnitude else seen.magnitude
    seen.error = error if error > seen.error else seen.error
    seen.signal += signal
    seen.noise += noise


cdef int32_t largest_ratio(const float *x, const float *y, Py_ssize_t n, int32_t ratio) noexcept nogil:
    # Of error and magnitude, as bits; a zero has none. Positive numbers are in the order of their bits.
    cdef int32_t m, r
    cdef Py_ssize_t i
    for i in range(n):
        m = <int32_t>(as_bits(x[i]) & ~SIGN)
        r = <int32_t>as_bits(as_float(as_bits(x[i] - y[i]) & ~SIGN) / as_float(<uint32_t>m))
        r = r if m != 0 else 0
        ratio = r if r > ratio else ratio
    return ratio


cdef void count_one(float v, float w, seen_t *seen) noexcept nogil:
    cdef double wide = v
    cdef float e = as_float(as_bits(v - w) & ~SIGN)
    cdef double wide_error = e
    if not wide * 0 == 0:
        seen.special = 1
        return
    take(seen, v, v, e, wide * wide, wide_error * wide_error)
    if v != 0:
        seen.flushed += w == 0
        seen.ratio = largest_ratio(&v, &w, 1, seen.ratio)


cdef void compare(const float *x, const float *y, Py_ssize_t n, seen_t *seen) noexcept nogil:
    cdef float units[2]
    cdef Py_ssize_t segment, start, count, whole, i
    units[0] = units[1] = 1
    for segment in range((n + SEGMENT - 1) // SEGMENT):
        start = segment * SEGMENT
        count = min(<Py_ssize_t>SEGMENT, n - start)
        whole = count - count % LANES
        i = start
        if count_swiftly(x + start, y + start, whole, seen, units) \
                or count_swiftly(x + start, y + start, whole, seen, units):
            i += whole
        while i < start + count:
            count_one(x[i], y[i], seen)
            i += 1


COMPARE = <size_t>&compare
