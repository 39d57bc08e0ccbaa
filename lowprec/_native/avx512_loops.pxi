# The AVX-512 overlays of loops that are not fused, 64 elements at a time; loop_table.pxi.in says where they are used.
#
# Parameters that an overlay does not handle go to the loop that it stands for.
from lowprec._native.loop_types cimport params_t, remaining_t

cdef extern from "avx512.h" nogil:
    ctypedef struct lp_encoder:
        bint fits   # whether the format can be encoded in words of 16 bits
        bint plain  # whether every code has the sign of its value, in the first bit of a byte
    const bint HAS_AVX512 "LP_AVX512"
    void truncate_64 "lp_truncate" (
        const uint32_t *s, uint8_t *d, Py_ssize_t n, uint32_t mask, uint32_t sign,
    ) noexcept
    void pack_128 "lp_pack" (const uint8_t *s, uint8_t *d) noexcept
    void unpack_64 "lp_unpack" (const uint8_t *s, uint8_t *d) noexcept
    lp_encoder encoder_of "lp_encoder_of" (const params_t *params) noexcept
    void encode_64_doubles "lp_encode_doubles" (
        const double *s, uint8_t *d, Py_ssize_t n, const lp_encoder *w, bint plain,
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
