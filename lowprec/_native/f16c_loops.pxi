# The F16C overlays of the float16 loops, 16 elements at a time; the other loops convert what is left over, or all.
from lowprec._native.loop_types cimport params_t, remaining_t

cdef extern from "f16c.h" nogil:
    const bint HAS_F16C "LP_F16C"
    void encode_16_half "lp_encode_half" (const uint32_t *s, uint16_t *d, uint32_t nan_code) noexcept
    void decode_16_half "lp_decode_half" (const uint16_t *s, uint32_t *d) noexcept


cdef void encode_half16(
    const uint32_t *s, uint16_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef uint32_t nan_code = params.nan_code
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t whole = n // 16 * 16 if HAS_F16C else 0
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, whole), 16):
            encode_16_half(s + i, d + i, nan_code)
    if whole < n:
        encode16(s + whole, d + whole, n - whole, remaining, params)


cdef void decode_half16(
    const uint16_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t whole = n // 16 * 16 if HAS_F16C else 0
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, whole), 16):
            decode_16_half(s + i, d + i)
    if whole < n:
        decode_ieee16(s + whole, d + whole, n - whole, remaining, params)
