# Loops from and to integers and bools: between them, to float32 or float64, and from there.

ctypedef fused source_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused target_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused wide_integer_t:
    int32_t
    uint32_t
    int64_t
    uint64_t


# ---- loops: integers -> integers, anything -> bool ---------------------------------------------------------------

cdef void wrap(
    const source_t *s, target_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    # Computed in the target's width: where that is the narrower one, upper bits and sign of the source do not matter.
    cdef params_t p = params[0]
    cdef target_t source_mask = <target_t>p.source_mask
    cdef target_t source_sign = <target_t>p.source_sign
    cdef target_t target_mask = <target_t>p.target_mask
    cdef target_t target_sign = <target_t>p.target_sign
    cdef target_t v
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            v = <target_t>(((<target_t>s[i] & source_mask) ^ source_sign) - source_sign)
            d[i] = <target_t>(((v & target_mask) ^ target_sign) - target_sign)


cdef void nonzero(
    const source_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef source_t mask = <source_t>p.source_mask
    cdef uint8_t always_true = <uint8_t>p.always_true
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint8_t>((s[i] & mask) != 0) | always_true


# ---- loops: integers -> float32 or float64 -----------------------------------------------------------------------

cdef void integer8_to_float32(
    const uint8_t *s, float *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef int32_t mask = <int32_t>p.source_mask
    cdef int32_t sign = <int32_t>p.source_sign
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <float>(((<int32_t>s[i] & mask) ^ sign) - sign)


cdef void integer16_to_float32(
    const uint16_t *s, float *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef int32_t sign = <int32_t>p.source_sign
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <float>((<int32_t>s[i] ^ sign) - sign)


cdef void int32_to_float64(
    const int32_t *s, double *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <double>s[i]


cdef void uint32_to_float64(
    const uint32_t *s, double *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <double>s[i]


cdef void int64_to_float64(
    const uint64_t *s, double *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = int64_to_double(s[i])


cdef void uint64_to_float64(
    const uint64_t *s, double *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = uint64_to_double(s[i])


cdef void int64_to_float64_odd(
    const uint64_t *s, double *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef uint64_t negative
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            negative = 0 - (s[i] >> 63)
            d[i] = int64_to_double(fold_low_bits(s[i], (s[i] ^ negative) - negative))


cdef void uint64_to_float64_odd(
    const uint64_t *s, double *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = uint64_to_double(fold_low_bits(s[i], s[i]))


cdef void integer_to_float32(
    const wide_integer_t *s, float *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    # Rounded once by the machine, which has an instruction for any of them from AVX-512 on.
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <float>s[i]


# ---- loops: float32 or float64 -> integers -----------------------------------------------------------------------

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
