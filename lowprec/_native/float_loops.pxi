# Loops between floats: codes -> float32 or float64, one to the other, float32 or float64 -> codes.
#
# Each copies the parameters first: a store through uint8_t* may alias what any pointer points to, and gcc would load
# them again for every element. Each goes block by block, to prefetch.

ctypedef fused code_t:
    uint8_t
    uint16_t


# ---- loops: codes -> float32 -------------------------------------------------------------------------------------

cdef void decode(
    const code_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = decode_one(s[i], p)


cdef void decode_ieee(
    const code_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = decode_ieee_one(s[i], p)


cdef void decode8_to16(
    const uint8_t *s, uint16_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint16_t>(decode_one(s[i], p) >> p.code16_shift)


cdef void decode_ieee8_to16(
    const uint8_t *s, uint16_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint16_t>(decode_ieee_one(s[i], p) >> p.code16_shift)


cdef void decode_upper16(
    const uint16_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = decode_upper_one(s[i])


cdef void decode_power8(
    const uint8_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = decode_power_one(s[i])


# ---- loops: between float32 and float64 --------------------------------------------------------------------------

cdef void float64_to_float32_odd(
    const double *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = float64_to_float32_odd_one(s[i])


cdef void float64_to_float32_sticky(
    const double *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = float64_to_float32_sticky_one(s[i])


cdef void float64_to_float32(
    const double *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = float64_to_float32_one(s[i])


cdef void float32_to_float64(
    const uint32_t *s, uint64_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = float32_to_float64_one(s[i])


# ---- loops: float32 or float64 -> codes --------------------------------------------------------------------------

cdef void encode8(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint8_t>encode8_one(s[i], p)


cdef void encode8_from64(
    const double *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint8_t>encode8_one(float64_to_float32_sticky_one(s[i]), p)


cdef void encode8_from16(
    const uint16_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef uint32_t code
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            code = s[i]
            d[i] = <uint8_t>encode8_one(((code & 0x7fff) << p.code16_shift) | ((code & 0x8000) << 16), p)


cdef void encode16(
    const uint32_t *s, uint16_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint16_t>encode16_one(s[i], p)


cdef void encode_upper16(
    const uint32_t *s, uint16_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint16_t>encode_upper_one(s[i])


cdef void encode_power8(
    const uint32_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint8_t>encode_power_one(s[i], p)


# ---- loops: float32 -> float32 of a 16-bit precision -------------------------------------------------------------

cdef void round_to_precision(
    const uint32_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef params_t p = params[0]
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = round_to_precision_one(s[i], p)


cdef void round_to_upper16(
    const uint32_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = encode_upper_one(s[i]) << 16
