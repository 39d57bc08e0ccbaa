# The loops that need no hub: integers, bools, packing, byte order.

cdef void wrap(const from_t *s, to_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    # In lanes of the target: where it is the narrower one, the source's upper bits and sign do not matter.
    cdef params_t p = numbers[0]
    cdef to_t from_mask = <to_t>p.from_mask
    cdef to_t from_sign = <to_t>p.from_sign
    cdef to_t to_mask = <to_t>p.to_mask
    cdef to_t to_sign = <to_t>p.to_sign
    cdef to_t v
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            v = <to_t>(((<to_t>s[i] & from_mask) ^ from_sign) - from_sign)
            d[i] = <to_t>(((v & to_mask) ^ to_sign) - to_sign)


cdef void nonzero(const from_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef from_t mask = <from_t>p.from_mask
    cdef uint8_t always = <uint8_t>p.always
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint8_t>((s[i] & mask) != 0) | always


cdef void pack2(const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t span = span_of(4, 1)
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, 4, d, 1, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole)):
            d[i] = s[4 * i] | (s[4 * i + 1] << 2) | (s[4 * i + 2] << 4) | (s[4 * i + 3] << 6)
    if n % 4 != 0:
        d[whole] = 0
        for i in range(n % 4):
            d[whole] |= <uint8_t>(s[4 * whole + i] << (2 * i))


cdef void pack4(const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t whole = n // 2
    cdef Py_ssize_t span = span_of(2, 1)
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, 2, d, 1, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole)):
            d[i] = s[2 * i] | (s[2 * i + 1] << 4)
    if n % 2 != 0:
        d[whole] = s[n - 1]


cdef void pack6(const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t span = span_of(4, 3)
    cdef Py_ssize_t block, i
    cdef uint32_t word
    for block in range(blocks(whole, span)):
        ahead(s, 4, d, 3, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole)):
            d[3 * i] = s[4 * i] | (s[4 * i + 1] << 6)
            d[3 * i + 1] = (s[4 * i + 1] >> 2) | (s[4 * i + 2] << 4)
            d[3 * i + 2] = (s[4 * i + 2] >> 4) | (s[4 * i + 3] << 2)
    if n % 4 != 0:
        word = 0
        for i in range(n % 4):
            word |= <uint32_t>s[4 * whole + i] << (6 * i)
        for i in range((6 * (n % 4) + 7) // 8):
            d[3 * whole + i] = <uint8_t>(word >> (8 * i))


cdef void unpack2(const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t span = span_of(1, 4)
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, 1, d, 4, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole)):
            d[4 * i] = s[i] & 3
            d[4 * i + 1] = (s[i] >> 2) & 3
            d[4 * i + 2] = (s[i] >> 4) & 3
            d[4 * i + 3] = s[i] >> 6
    for i in range(n % 4):
        d[4 * whole + i] = (s[whole] >> (2 * i)) & 3


cdef void unpack4(const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t whole = n // 2
    cdef Py_ssize_t span = span_of(1, 2)
    cdef Py_ssize_t block, i
    for block in range(blocks(whole, span)):
        ahead(s, 1, d, 2, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole)):
            d[2 * i] = s[i] & 15
            d[2 * i + 1] = s[i] >> 4
    if n % 2 != 0:
        d[n - 1] = s[whole] & 15


cdef void unpack6(const uint8_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t span = span_of(3, 4)
    cdef Py_ssize_t block, i
    cdef uint32_t word
    for block in range(blocks(whole, span)):
        ahead(s, 3, d, 4, block * span, span, whole, rest)
        for i in range(block * span, min(block * span + span, whole)):
            d[4 * i] = s[3 * i] & 63
            d[4 * i + 1] = ((s[3 * i] >> 6) | (s[3 * i + 1] << 2)) & 63
            d[4 * i + 2] = ((s[3 * i + 1] >> 4) | (s[3 * i + 2] << 4)) & 63
            d[4 * i + 3] = s[3 * i + 2] >> 2
    if n % 4 != 0:
        word = 0
        for i in range((6 * (n % 4) + 7) // 8):
            word |= <uint32_t>s[3 * whole + i] << (8 * i)
        for i in range(n % 4):
            d[4 * whole + i] = (word >> (6 * i)) & 63


cdef void swap16(const uint16_t *s, uint16_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = <uint16_t>((s[i] >> 8) | (s[i] << 8))


cdef inline uint32_t swap_one(uint32_t v) noexcept nogil:
    cdef uint32_t odd = <uint32_t>0xff00ff00
    v = ((v << 8) & odd) | ((v & odd) >> 8)
    return (v << 16) | (v >> 16)


cdef void swap32(const uint32_t *s, uint32_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = swap_one(s[i])


cdef void swap64(const uint64_t *s, uint64_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil:
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        for i in range(block * span, min(block * span + span, n)):
            d[i] = (<uint64_t>swap_one(<uint32_t>s[i]) << 32) | swap_one(<uint32_t>(s[i] >> 32))
