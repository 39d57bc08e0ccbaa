# Loops between floats and integers: the machine's own conversion takes what is in its reach.

cdef extern from * nogil:
    """
    #ifdef __AVX512DQ__
    #define LP_CONVERTS_64_BITS 1
    #else
    #define LP_CONVERTS_64_BITS 0
    #endif
    """
    bint converts_64_bits "LP_CONVERTS_64_BITS"  # whether vectors of 64-bit integers become floats by an instruction

ctypedef fused target_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef void truncate(
    const uint32_t *s, target_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    # The machine's own conversion truncates a block whose values all fit into int32; other blocks shift significands.
    cdef params_t p = params[0]
    cdef uint32_t mask = <uint32_t>p.target_mask
    cdef uint32_t sign = <uint32_t>p.target_sign
    cdef uint32_t outside
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, start, stop, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        start = block * length
        stop = min(start + length, n)
        outside = 0
        for i in range(start, stop):
            outside |= 1 if <int32_t>(s[i] & ~SIGN) >= <int32_t>TWO_31 else 0
        if outside == 0:
            for i in range(start, stop):
                d[i] = <target_t>(((<uint32_t><int32_t>as_float(s[i]) & mask) ^ sign) - sign)
        else:
            for i in range(start, stop):
                d[i] = <target_t>(((integer_part32(s[i]) & mask) ^ sign) - sign)


cdef void truncate32_to8(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    truncate[uint8_t](s, d, n, remaining, params)


cdef void truncate32_to64(
    const uint32_t *s, uint64_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    # All 64 bits are those of the target. Blocks beyond int32 shift the significands of float64, as `truncate64` does.
    cdef params_t p = params[0]
    cdef uint32_t outside
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, start, stop, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        start = block * length
        stop = min(start + length, n)
        outside = 0
        for i in range(start, stop):
            outside |= 1 if <int32_t>(s[i] & ~SIGN) >= <int32_t>TWO_31 else 0
        if outside == 0:
            for i in range(start, stop):
                d[i] = <uint64_t><int64_t><int32_t>as_float(s[i])
        else:
            for i in range(start, stop):
                d[i] = lp_truncate32_to64(s[i], &p)


cdef void int64_to_float32(
    const uint64_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    # Those of a block that are all int32 are converted as such: most machines have vectors for these alone.
    cdef uint64_t outside
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, start, stop, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        start = block * length
        stop = min(start + length, n)
        outside = converts_64_bits
        if not converts_64_bits:
            for i in range(start, stop):
                outside |= (s[i] + (<uint64_t>1 << 31)) >> 32
        if outside == 0:
            for i in range(start, stop):
                d[i] = as_bits(<float><int32_t><uint32_t>s[i])
        else:
            for i in range(start, stop):
                d[i] = as_bits(<float><int64_t>s[i])


cdef void uint64_to_float32(
    const uint64_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef uint64_t outside
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, start, stop, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        start = block * length
        stop = min(start + length, n)
        outside = converts_64_bits
        if not converts_64_bits:
            for i in range(start, stop):
                outside |= s[i] >> 31
        if outside == 0:
            for i in range(start, stop):
                d[i] = as_bits(<float><int32_t><uint32_t>s[i])
        else:
            for i in range(start, stop):
                d[i] = as_bits(<float>s[i])


cdef void truncate64(
    const uint64_t *s, target_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef uint64_t mask = p.target_mask
    cdef uint64_t sign = p.target_sign
    cdef double limit = as_double(DOUBLE_TWO_63 if target_t is uint64_t else DOUBLE_TWO_31)
    cdef uint64_t outside
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, start, stop, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        start = block * length
        stop = min(start + length, n)
        outside = 0
        for i in range(start, stop):
            outside |= 0 if as_double(s[i] & ~DOUBLE_SIGN) < limit else 1  # NaN is outside too
        if outside != 0:
            for i in range(start, stop):
                d[i] = <target_t>(((integer_part64(s[i]) & mask) ^ sign) - sign)
        elif target_t is uint64_t:
            for i in range(start, stop):
                d[i] = <uint64_t><int64_t>as_double(s[i])
        else:
            for i in range(start, stop):
                d[i] = <target_t>(
                    ((<uint32_t><int32_t>as_double(s[i]) & <uint32_t>mask) ^ <uint32_t>sign) - <uint32_t>sign
                )
