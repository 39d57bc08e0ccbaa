# What became of float32 values, in one pass: extremes, errors and sums of squares.
from lowprec._plan cimport seen_t


cdef void compare(const float *x, const float *y, Py_ssize_t n, seen_t *seen) noexcept nogil:
    # Magnitudes are compared as integers, which are in the same order; so are values, the negative ones turned over.
    cdef int32_t low = 0x7fffffff, high = -0x7fffffff - 1, magnitude = 0, error = 0, ratio = 0, flushed = 0
    cdef int32_t bits, m, e, r
    cdef double signal[16]
    cdef double noise[16]
    cdef double a, b
    cdef Py_ssize_t i, whole = n - n % 16
    cdef int j
    for i in range(n):
        bits = <int32_t>as_bits(x[i])
        m = bits & 0x7fffffff
        e = <int32_t>(as_bits(x[i] - y[i]) & 0x7fffffffu)
        r = <int32_t>as_bits(as_float(<uint32_t>e) / as_float(<uint32_t>m))
        r = r if m != 0 else 0  # a zero has no relative error
        flushed += <int32_t>(m != 0) & <int32_t>((as_bits(y[i]) << 1) == 0)
        bits = bits ^ ((bits >> 31) & 0x7fffffff)
        low = bits if bits < low else low
        high = bits if bits > high else high
        magnitude = m if m > magnitude else magnitude
        error = e if e > error else error
        ratio = r if r > ratio else ratio
    for j in range(16):
        signal[j] = 0
        noise[j] = 0
    for i in range(0, whole, 16):  # sixteen sums, so that none waits for another
        for j in range(16):
            a = x[i + j]
            b = x[i + j] - y[i + j]
            signal[j] += a * a
            noise[j] += b * b
    for i in range(whole, n):
        a = x[i]
        b = x[i] - y[i]
        signal[0] += a * a
        noise[0] += b * b
    for j in range(1, 16):
        signal[0] += signal[j]
        noise[0] += noise[j]
    seen.low = low ^ ((low >> 31) & 0x7fffffff)
    seen.high = high ^ ((high >> 31) & 0x7fffffff)
    seen.magnitude = magnitude
    seen.error = error
    seen.ratio = ratio
    seen.flushed = flushed
    seen.signal = signal[0]
    seen.noise = noise[0]


COMPARE = <size_t>&compare
