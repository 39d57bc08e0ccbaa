# The range of finite values in groups: the largest magnitude, or both ends, of the codes of floats.
#
# Codes without their sign are in the order of their magnitudes. Codes read as two's complement numbers, with the
# magnitude bits of negative ones flipped, are in the order of their values. NaN and Inf lie above `last`; they count as
# zero. The range always holds zero, so the accumulators start from 0.
from libc.stdint cimport int8_t, int16_t

from lowprec._native.kernel_types cimport range_t

ctypedef fused signed_t:
    int8_t
    int16_t
    int32_t
    int64_t


cdef inline signed_t finite_magnitude(signed_t code, signed_t mask, signed_t last) noexcept nogil:
    cdef signed_t magnitude = code & mask
    return magnitude if magnitude <= last else <signed_t>0


cdef inline signed_t finite_key(signed_t code, signed_t mask, signed_t last) noexcept nogil:
    cdef signed_t key = code ^ (<signed_t>(code >> (8 * sizeof(signed_t) - 1)) & mask)
    return key if code & mask <= last else <signed_t>0


cdef enum:
    SHORT_BLOCK = 64    # bytes: up to here the largest magnitudes of many blocks are found at once
    SHORT_TILE = 1024   # elements, a multiple of the block


cdef inline void largest_of_pairs(const signed_t *s, signed_t *high, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        high[i] = s[2 * i] if s[2 * i] > s[2 * i + 1] else s[2 * i + 1]


cdef void absmax_short(
    const signed_t *s, Py_ssize_t count, Py_ssize_t block, signed_t mask, signed_t last, signed_t *high,
) noexcept nogil:
    # Blocks of a power of two: pairs, pairs of pairs, and so on, over all blocks of a tile. A block alone would be
    # shorter than a vector, and most of the work the last few steps within one.
    cdef signed_t buffer[2][SHORT_TILE]
    cdef Py_ssize_t tile, blocks_here, n, size, i
    cdef Py_ssize_t step = SHORT_TILE // block
    cdef int there
    for tile in range((count + step - 1) // step):
        blocks_here = min(step, count - tile * step)
        n = blocks_here * block
        for i in range(n):
            buffer[0][i] = finite_magnitude(s[i], mask, last)
        there, size = 1, block
        while size > 2:
            n //= 2
            largest_of_pairs(&buffer[1 - there][0], &buffer[there][0], n)
            there, size = 1 - there, size // 2
        largest_of_pairs(&buffer[1 - there][0], high, blocks_here)
        s += blocks_here * block
        high += blocks_here


cdef void absmax(
    const signed_t *s, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t block, uint64_t mask_bits, uint64_t last_code,
    signed_t *low, signed_t *high,
) noexcept nogil:
    # The rows, of `inner` elements each, in blocks: a magnitude for each block and inner position.
    cdef signed_t mask = <signed_t>mask_bits, last = <signed_t>last_code, best, magnitude
    cdef Py_ssize_t index, row, i, count
    if inner == 1 and 1 < block <= SHORT_BLOCK // <Py_ssize_t>sizeof(signed_t) and block & (block - 1) == 0:
        count = rows // block
        absmax_short(s, count, block, mask, last, high)
        s += count * block
        high += count
        rows -= count * block
    for index in range((rows + block - 1) // block):
        count = min(block, rows - index * block)
        if inner == 1:
            best = 0
            for i in range(count):
                magnitude = finite_magnitude(s[i], mask, last)
                best = magnitude if magnitude > best else best
            high[0] = best
            s += count
        else:
            memset(high, 0, inner * sizeof(signed_t))
            for row in range(count // 4):  # four rows at once: an accumulator is read and written once for them
                for i in range(inner):
                    best = finite_magnitude(s[i], mask, last)
                    magnitude = finite_magnitude(s[inner + i], mask, last)
                    best = magnitude if magnitude > best else best
                    magnitude = finite_magnitude(s[2 * inner + i], mask, last)
                    best = magnitude if magnitude > best else best
                    magnitude = finite_magnitude(s[3 * inner + i], mask, last)
                    best = magnitude if magnitude > best else best
                    high[i] = best if best > high[i] else high[i]
                s += 4 * inner
            for row in range(count % 4):
                for i in range(inner):
                    magnitude = finite_magnitude(s[i], mask, last)
                    high[i] = magnitude if magnitude > high[i] else high[i]
                s += inner
        high += inner


cdef void value_range(
    const signed_t *s, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t block, uint64_t mask_bits, uint64_t last_code,
    signed_t *low, signed_t *high,
) noexcept nogil:
    # As `absmax`; both ends, as codes.
    cdef signed_t mask = <signed_t>mask_bits, last = <signed_t>last_code, least, most, key
    cdef Py_ssize_t index, row, i, count
    for index in range((rows + block - 1) // block):
        count = min(block, rows - index * block)
        if inner == 1:
            least = most = 0
            for i in range(count):
                key = finite_key(s[i], mask, last)
                least = key if key < least else least
                most = key if key > most else most
            low[0] = least
            high[0] = most
            s += count
        else:
            memset(low, 0, inner * sizeof(signed_t))
            memset(high, 0, inner * sizeof(signed_t))
            for row in range(count):
                for i in range(inner):
                    key = finite_key(s[i], mask, last)
                    low[i] = key if key < low[i] else low[i]
                    high[i] = key if key > high[i] else high[i]
                s += inner
        for i in range(inner):
            low[i] = low[i] ^ (<signed_t>(low[i] >> (8 * sizeof(signed_t) - 1)) & mask)
        low += inner
        high += inner


# By the width of a code, 8 to 64 bits: the largest magnitudes, both ends.
RANGES = (
    (<size_t>&absmax[int8_t], <size_t>&value_range[int8_t]),
    (<size_t>&absmax[int16_t], <size_t>&value_range[int16_t]),
    (<size_t>&absmax[int32_t], <size_t>&value_range[int32_t]),
    (<size_t>&absmax[int64_t], <size_t>&value_range[int64_t]),
)
