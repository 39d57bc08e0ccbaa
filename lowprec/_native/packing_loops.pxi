# Loops that move codes: packed 2-, 4- and 6-bit codes, the first in the lowest bits of a byte; the order of bytes.


# ---- loops: codes -> packed codes --------------------------------------------------------------------------------

cdef void pack2(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t length = block_length(4, 1)
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, 4, d, 1, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole)):
            d[i] = s[4 * i] | (s[4 * i + 1] << 2) | (s[4 * i + 2] << 4) | (s[4 * i + 3] << 6)
    if n % 4 != 0:
        d[whole] = 0
        for i in range(n % 4):
            d[whole] |= <uint8_t>(s[4 * whole + i] << (2 * i))


cdef void pack4(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 2
    cdef Py_ssize_t length = block_length(2, 1)
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, 2, d, 1, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole)):
            d[i] = s[2 * i] | (s[2 * i + 1] << 4)
    if n % 2 != 0:
        d[whole] = s[n - 1]


cdef void pack6(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t length = block_length(4, 3)
    cdef Py_ssize_t block, i
    cdef uint32_t word
    for block in range(block_count(whole, length)):
        prefetch_block(s, 4, d, 3, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole)):
            d[3 * i] = s[4 * i] | (s[4 * i + 1] << 6)
            d[3 * i + 1] = (s[4 * i + 1] >> 2) | (s[4 * i + 2] << 4)
            d[3 * i + 2] = (s[4 * i + 2] >> 4) | (s[4 * i + 3] << 2)
    if n % 4 != 0:
        word = 0
        for i in range(n % 4):
            word |= <uint32_t>s[4 * whole + i] << (6 * i)
        for i in range((6 * (n % 4) + 7) // 8):
            d[3 * whole + i] = <uint8_t>(word >> (8 * i))


# ---- loops: packed codes -> codes --------------------------------------------------------------------------------

cdef void unpack2(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t length = block_length(1, 4)
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, 1, d, 4, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole)):
            d[4 * i] = s[i] & 3
            d[4 * i + 1] = (s[i] >> 2) & 3
            d[4 * i + 2] = (s[i] >> 4) & 3
            d[4 * i + 3] = s[i] >> 6
    for i in range(n % 4):
        d[4 * whole + i] = (s[whole] >> (2 * i)) & 3


cdef void unpack4(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 2
    cdef Py_ssize_t length = block_length(1, 2)
    cdef Py_ssize_t block, i
    for block in range(block_count(whole, length)):
        prefetch_block(s, 1, d, 2, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole)):
            d[2 * i] = s[i] & 15
            d[2 * i + 1] = s[i] >> 4
    if n % 2 != 0:
        d[n - 1] = s[whole] & 15


cdef void unpack6(
    const uint8_t *s, uint8_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t whole = n // 4
    cdef Py_ssize_t length = block_length(3, 4)
    cdef Py_ssize_t block, i
    cdef uint32_t word
    for block in range(block_count(whole, length)):
        prefetch_block(s, 3, d, 4, block * length, length, whole, remaining)
        for i in range(block * length, min(block * length + length, whole)):
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


# ---- loops: byte order -------------------------------------------------------------------------------------------

cdef void byteswap16(
    const uint16_t *s, uint16_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = <uint16_t>((s[i] >> 8) | (s[i] << 8))


cdef inline uint32_t byteswap_one(uint32_t v) noexcept nogil:
    cdef uint32_t odd = <uint32_t>0xff00ff00
    v = ((v << 8) & odd) | ((v & odd) >> 8)
    return (v << 16) | (v >> 16)


cdef void byteswap32(
    const uint32_t *s, uint32_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = byteswap_one(s[i])


cdef void byteswap64(
    const uint64_t *s, uint64_t *d, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil:
    cdef Py_ssize_t length = block_length(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, i
    for block in range(block_count(n, length)):
        prefetch_block(s, sizeof(s[0]), d, sizeof(d[0]), block * length, length, n, remaining)
        for i in range(block * length, min(block * length + length, n)):
            d[i] = (<uint64_t>byteswap_one(<uint32_t>s[i]) << 32) | byteswap_one(<uint32_t>(s[i] >> 32))
