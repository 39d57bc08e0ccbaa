# The loops of the hubs: codes -> float32 or float64 -> codes.
#
# Each copies the numbers first: a store through uint8_t* may alias whatever stands behind a pointer, and gcc would
# then read each of them again for every element. Each goes block by block, to ask for memory ahead of its use.

ctypedef fused from_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused narrow_t:
    uint8_t
    uint16_t

ctypedef fused wide_t:
    int32_t
    uint32_t
    int64_t
    uint64_t

ctypedef fused to_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


# ---- loops: to the hubs -----------------------------------------------------------------------------------------

cdef void decode(const narrow_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = decode_one(s[i], p)


cdef void decode_ieee(
    const narrow_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = decode_ieee_one(s[i], p)


cdef void decode8_to16(
    const uint8_t *s, uint16_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint16_t>(decode_one(s[i], p) >> p.lift)


cdef void decode_ieee8_to16(
    const uint8_t *s, uint16_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint16_t>(decode_ieee_one(s[i], p) >> p.lift)


cdef void decode_upper16(
    const uint16_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = decode_upper_one(s[i])


cdef void decode_power8(
    const uint8_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = decode_power_one(s[i])


cdef void load8(const uint8_t *s, float *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef int32_t mask = <int32_t>p.from_mask
    cdef int32_t sign = <int32_t>p.from_sign
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <float>(((<int32_t>s[i] & mask) ^ sign) - sign)


cdef void load16(const uint16_t *s, float *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef int32_t sign = <int32_t>p.from_sign
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <float>((<int32_t>s[i] ^ sign) - sign)


cdef void load_int32(const int32_t *s, double *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <double>s[i]


cdef void load_uint32(const uint32_t *s, double *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <double>s[i]


cdef void load_int64(const uint64_t *s, double *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = signed_one(s[i])


cdef void load_uint64(const uint64_t *s, double *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = unsigned_one(s[i])


cdef void sticky_int64(const uint64_t *s, double *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef uint64_t negative
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            negative = 0 - (s[i] >> 63)
            d[i] = signed_one(sticky_one(s[i], (s[i] ^ negative) - negative))


cdef void sticky_uint64(
    const uint64_t *s, double *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = unsigned_one(sticky_one(s[i], s[i]))


cdef void single(const wide_t *s, float *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    # Rounded once by the machine, which has an instruction for any of them from AVX-512 on.
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <float>s[i]


cdef void narrow_odd(const double *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = narrow_odd_one(s[i])


cdef void narrow_sticky(
    const double *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = narrow_sticky_one(s[i])


# ---- loops: from the hubs ---------------------------------------------------------------------------------------

cdef void narrow(const double *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = narrow_one(s[i])


cdef void widen(const uint32_t *s, uint64_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = widen_one(s[i])


cdef void encode8(const uint32_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint8_t>encode_one(s[i], p)


cdef void encode8_from64(
    const double *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint8_t>encode_one(narrow_sticky_one(s[i]), p)


cdef void encode8_from16(
    const uint16_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef uint32_t code
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            code = s[i]
            d[i] = <uint8_t>encode_one(((code & 0x7fff) << p.lift) | ((code & 0x8000) << 16), p)


cdef void encode16(const uint32_t *s, uint16_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint16_t>encode_wide_one(s[i], p)


cdef void encode_upper16(
    const uint32_t *s, uint16_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint16_t>encode_upper_one(s[i])


cdef void encode_power8(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint8_t>encode_power_one(s[i], p)


cdef void truncate(const uint32_t *s, to_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    # Where a whole block fits into int32 the machine's own truncation does; else every element is shifted into place.
    cdef params_t p = numbers[0]
    cdef uint32_t mask = <uint32_t>p.to_mask
    cdef uint32_t sign = <uint32_t>p.to_sign
    cdef uint32_t outside
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, start, stop, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        start = block * span
        stop = min(start + span, n)
        outside = 0
        for i in range(start, stop):
            outside |= 1 if <int32_t>(s[i] & ~SIGN) >= <int32_t>TWO_31 else 0
        if outside == 0:
            for i in range(start, stop):
                d[i] = <to_t>(((<uint32_t><int32_t>as_float(s[i]) & mask) ^ sign) - sign)
        else:
            for i in range(start, stop):
                d[i] = <to_t>(((truncate_one(s[i]) & mask) ^ sign) - sign)


cdef void truncate_wide(const uint64_t *s, to_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef uint64_t mask = p.to_mask
    cdef uint64_t sign = p.to_sign
    cdef double limit = as_double(WIDE_TWO_63 if to_t is uint64_t else WIDE_TWO_31)
    cdef uint64_t outside
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, start, stop, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        start = block * span
        stop = min(start + span, n)
        outside = 0
        for i in range(start, stop):
            outside |= 0 if as_double(s[i] & ~WIDE_SIGN) < limit else 1  # NaN is outside too
        if outside != 0:
            for i in range(start, stop):
                d[i] = <to_t>(((truncate_wide_one(s[i]) & mask) ^ sign) - sign)
        elif to_t is uint64_t:
            for i in range(start, stop):
                d[i] = <uint64_t><int64_t>as_double(s[i])
        else:
            for i in range(start, stop):
                d[i] = <to_t>(((<uint32_t><int32_t>as_double(s[i]) & <uint32_t>mask) ^ <uint32_t>sign) - <uint32_t>sign)
