# What is made of scales before a loop reads them: one for every element, and reciprocals.
from libc.string cimport memcpy

from lowprec._native.loop_types cimport REPEAT_WIDTH

cdef extern from "scaled_elements.h" nogil:
    const float REACH "LP_REACH"


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


cdef bint reciprocals(const float *scale, Py_ssize_t count, float *reciprocal) noexcept nogil:
    # Return whether all scales are in reach: positive, and with a reciprocal that loses nothing.
    cdef uint32_t outside = 0
    cdef Py_ssize_t i
    for i in range(count):
        outside |= 0 if (scale[i] > 1 / REACH) & (scale[i] < REACH) else 1
        reciprocal[i] = 1 / scale[i]
    return outside == 0
