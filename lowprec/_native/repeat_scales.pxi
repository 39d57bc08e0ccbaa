# What is made of scales before a loop reads them: one for every element, and reciprocals.
from libc.string cimport memcpy

from lowprec._native.kernel_types cimport REPEAT_WIDTH

cdef extern from "scalar_kernels.h" nogil:
    const float REACH "LP_REACH"


ctypedef fused scale_bits_t:
    uint32_t
    uint64_t


cdef inline void fill(scale_bits_t *d, scale_bits_t v, Py_ssize_t n) noexcept nogil:
    # REPEAT_WIDTH copies are written at a time, past the end of the run: the next run overwrites them.
    cdef Py_ssize_t i, j
    for i in range((n + REPEAT_WIDTH - 1) // REPEAT_WIDTH):
        for j in range(REPEAT_WIDTH):
            d[i * REPEAT_WIDTH + j] = v


cdef void repeat_scales(
    const scale_bits_t *s, scale_bits_t *d, Py_ssize_t n, Py_ssize_t offset, Py_ssize_t length,
) noexcept nogil:
    # The first run has begun `offset` elements before, and the last one may be cut.
    cdef Py_ssize_t start = min(length - offset, n)
    cdef Py_ssize_t whole, i
    if length == 1:
        memcpy(d, s, n * sizeof(s[0]))
        return
    fill(d, s[0], start)
    d += start
    s += 1
    whole = (n - start) // length
    for i in range(whole):
        fill(d + i * length, s[i], length)
    if start + whole * length < n:
        fill(d + whole * length, s[whole], n - start - whole * length)


REPEATS = (<size_t>&repeat_scales[uint32_t], <size_t>&repeat_scales[uint64_t])


cdef bint reciprocals(const float *scale, Py_ssize_t count, float *reciprocal) noexcept nogil:
    # Return whether all scales are in reach: positive, and with a reciprocal that loses nothing; NULL takes none.
    cdef uint32_t outside = 0
    cdef Py_ssize_t i
    for i in range(count):
        outside |= 0 if (scale[i] > 1 / REACH) & (scale[i] < REACH) else 1
    if reciprocal != NULL:
        for i in range(count):
            reciprocal[i] = 1 / scale[i]
    return outside == 0
