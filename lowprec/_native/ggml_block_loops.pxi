# Blocks of 32 elements as GGUF has them: blocks from values, values of blocks, and which values a block cannot reach.
#
# The arithmetic is that of ggml's reference quantizers, in float32 and without fused operations. Values to be encoded
# are finite. Codes go through buffers of a block: bytes may alias anything, and gcc would check that for every block.
from libc.stdint cimport int8_t
from libc.string cimport memcpy

cdef extern from * nogil:
    """
    static const uint32_t lp_bit[32] = {
        1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7, 1u << 8, 1u << 9, 1u << 10, 1u << 11,
        1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22,
        1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31
    };
    #define LP_BELOW_HALF 0x3effffffu          /* the largest float32 below 0.5 */
    #define LP_LOW_NIBBLES 0x0f0f0f0f0f0f0f0fu /* of 8 bytes */
    """
    const uint32_t BIT "lp_bit" [32]
    const uint32_t BELOW_HALF "LP_BELOW_HALF"
    const uint64_t LOW_NIBBLES "LP_LOW_NIBBLES"

cdef extern from "vector_kernels/ggml_blocks.h" nogil:  # how many blocks, from the first one on: none without vectors
    Py_ssize_t encode_some_q8_0 "lp_encode_q8_0" (const float *s, uint8_t *d, Py_ssize_t n) noexcept
    Py_ssize_t encode_some_q4_0 "lp_encode_q4_0" (const float *s, uint8_t *d, Py_ssize_t n) noexcept
    Py_ssize_t encode_some_mxfp4 "lp_encode_mxfp4" (const float *s, uint8_t *d, Py_ssize_t n) noexcept
    Py_ssize_t decode_some_q8_0 "lp_decode_q8_0" (const uint8_t *s, float *d, Py_ssize_t n) noexcept
    Py_ssize_t decode_some_q4_0 "lp_decode_q4_0" (const uint8_t *s, float *d, Py_ssize_t n) noexcept
    Py_ssize_t decode_some_q4_1 "lp_decode_q4_1" (const uint8_t *s, float *d, Py_ssize_t n) noexcept
    Py_ssize_t decode_some_q5_0 "lp_decode_q5_0" (const uint8_t *s, float *d, Py_ssize_t n) noexcept
    Py_ssize_t decode_some_q5_1 "lp_decode_q5_1" (const uint8_t *s, float *d, Py_ssize_t n) noexcept
    Py_ssize_t decode_some_mxfp4 "lp_decode_mxfp4" (const uint8_t *s, float *d, Py_ssize_t n) noexcept
    uint32_t fp4_exponent "lp_fp4_exponent" (uint32_t largest) noexcept
    float half_power "lp_half_power" (uint32_t exponent) noexcept

cdef enum:
    ELEMENTS = 32    # of a block
    PAIRS = 16       # bytes of two codes: the elements of the first half are in the low bits


# ---- one number of a block -------------------------------------------------------------------------------------------

cdef inline uint32_t half_one(uint32_t bits) noexcept nogil:
    # encode16_one for float16. No number is NaN; what is 2**16 or more becomes Inf.
    cdef uint32_t magnitude = bits & ~SIGN
    cdef uint32_t clamped = magnitude if magnitude < (127u + 16) << 23 else (127u + 16) << 23
    cdef uint32_t smallest = (127u - 14) << 23
    cdef uint32_t exponent = (clamped if clamped > smallest else smallest) & INF
    cdef uint32_t rounder = exponent + (13u << 23)
    cdef uint32_t code = as_bits(as_float(clamped) + as_float(rounder)) - rounder
    return (code + (exponent >> 13) - (113u << 10)) | ((bits & SIGN) >> 16)


cdef inline float float_of_half(const uint8_t *s) noexcept nogil:
    # The float16 at an address; a NaN stays one.
    cdef uint32_t code = s[0] | <uint32_t>s[1] << 8
    cdef uint32_t magnitude = code & 0x7fff
    cdef uint32_t bits = (magnitude << 13) + ((127u - 15) << 23)
    cdef uint32_t subnormal = as_bits(as_float(bits + HIDDEN_BIT) - as_float((127u - 14) << 23))
    bits = bits if magnitude >= 1 << 10 else subnormal
    bits = (magnitude << 13) | INF if magnitude >= 31 << 10 else bits
    return as_float(bits | (code & 0x8000) << 16)


cdef inline void put_half(uint8_t *d, float v) noexcept nogil:
    cdef uint32_t code = half_one(as_bits(v))
    d[0] = <uint8_t>code
    d[1] = <uint8_t>(code >> 8)


cdef inline float inverse_of(float scale) noexcept nogil:
    # 0 where it is not finite: such blocks are stored as zeros.
    cdef float inverse = <float>1 / scale
    return inverse if (as_bits(inverse) & ~SIGN) < INF else <float>0


cdef inline float or_nan(float product, uint32_t nan) noexcept nogil:
    # A NaN of a product has the sign of the scale that it came from, as `propagate_nan` has it.
    return product if product == product else as_float(nan)


cdef inline uint32_t nan_from(float scale) noexcept nogil:
    return QUIET_NAN | (as_bits(scale) & SIGN if scale != scale else 0)


cdef inline uint32_t largest_magnitude(const float *x) noexcept nogil:
    cdef uint32_t largest = 0, magnitude
    cdef int i
    for i in range(ELEMENTS):
        magnitude = as_bits(x[i]) & ~SIGN
        largest = magnitude if magnitude > largest else largest
    return largest


cdef inline void join_pairs(const uint8_t *codes, uint8_t *pairs) noexcept nogil:
    cdef uint64_t words[4]
    memcpy(words, codes, ELEMENTS)
    words[0] |= words[2] << 4
    words[1] |= words[3] << 4
    memcpy(pairs, words, PAIRS)


cdef inline void split_pairs(const uint8_t *pairs, uint8_t *codes) noexcept nogil:
    cdef uint64_t words[4]
    memcpy(words, pairs, PAIRS)
    words[2] = (words[0] >> 4) & LOW_NIBBLES
    words[3] = (words[1] >> 4) & LOW_NIBBLES
    words[0] &= LOW_NIBBLES
    words[1] &= LOW_NIBBLES
    memcpy(codes, words, ELEMENTS)


# ---- 8-bit integers, a float16 scale ---------------------------------------------------------------------------------

cdef void encode_q8_0(const float *s, uint8_t *d, Py_ssize_t n) noexcept nogil:
    # Adding just under half and cutting off rounds to nearest, ties away from 0.
    cdef uint8_t codes[ELEMENTS]
    cdef float scale, inverse, product
    cdef Py_ssize_t block, done = encode_some_q8_0(s, d, n)
    cdef int i
    s += done * ELEMENTS
    d += done * (2 + ELEMENTS)
    for block in range(n - done):
        scale = as_float(largest_magnitude(s)) / <float>127
        inverse = inverse_of(scale)
        put_half(d, scale)
        for i in range(ELEMENTS):
            product = s[i] * inverse
            product = product + as_float((as_bits(product) & SIGN) | BELOW_HALF)
            codes[i] = <uint8_t><int32_t>product
        memcpy(d + 2, codes, ELEMENTS)
        s += ELEMENTS
        d += 2 + ELEMENTS


cdef void decode_q8_0(const uint8_t *s, float *d, Py_ssize_t n) noexcept nogil:
    cdef int8_t codes[ELEMENTS]
    cdef float scale
    cdef uint32_t nan
    cdef Py_ssize_t block, done = decode_some_q8_0(s, d, n)
    cdef int i
    s += done * (2 + ELEMENTS)
    d += done * ELEMENTS
    for block in range(n - done):
        scale = float_of_half(s)
        nan = nan_from(scale)
        memcpy(codes, s + 2, ELEMENTS)
        for i in range(ELEMENTS):
            d[i] = or_nan(<float>codes[i] * scale, nan)
        s += 2 + ELEMENTS
        d += ELEMENTS


# ---- 4-bit integers, a float16 scale ---------------------------------------------------------------------------------

cdef inline float extreme(const float *x) noexcept nogil:
    # The first number with the largest magnitude. Numbers with a sign are the largest unsigned integers.
    cdef uint32_t negative = 0, bits
    cdef int32_t positive = <int32_t>SIGN, first = ELEMENTS, place
    cdef int i
    for i in range(ELEMENTS):
        bits = as_bits(x[i])
        negative = bits if bits > negative else negative
        positive = <int32_t>bits if <int32_t>bits > positive else positive
    if negative < SIGN or <int32_t>(negative & ~SIGN) < positive:
        return as_float(<uint32_t>positive)
    if <int32_t>(negative & ~SIGN) > positive:
        return as_float(negative)
    for i in range(ELEMENTS):
        place = i if (as_bits(x[i]) & ~SIGN) == <uint32_t>positive else ELEMENTS
        first = place if place < first else first
    return x[first]


cdef void encode_q4_0(const float *s, uint8_t *d, Py_ssize_t n) noexcept nogil:
    # The extreme number becomes -8, which has the code 0; adding 8.5 and cutting off rounds. 16 becomes 15.
    cdef uint8_t codes[ELEMENTS]
    cdef float scale, inverse
    cdef int32_t code
    cdef Py_ssize_t block, done = encode_some_q4_0(s, d, n)
    cdef int i
    s += done * ELEMENTS
    d += done * (2 + PAIRS)
    for block in range(n - done):
        scale = extreme(s) / <float>-8
        inverse = inverse_of(scale)
        put_half(d, scale)
        for i in range(ELEMENTS):
            code = <int32_t>(s[i] * inverse + <float>8.5)
            codes[i] = <uint8_t>(code - (code >> 4))
        join_pairs(codes, d + 2)
        s += ELEMENTS
        d += 2 + PAIRS


cdef void decode_q4_0(const uint8_t *s, float *d, Py_ssize_t n) noexcept nogil:
    cdef uint8_t codes[ELEMENTS]
    cdef float scale
    cdef uint32_t nan
    cdef Py_ssize_t block, done = decode_some_q4_0(s, d, n)
    cdef int i
    s += done * (2 + PAIRS)
    d += done * ELEMENTS
    for block in range(n - done):
        scale = float_of_half(s)
        nan = nan_from(scale)
        split_pairs(s + 2, codes)
        for i in range(ELEMENTS):
            d[i] = or_nan(<float>(<int32_t>codes[i] - 8) * scale, nan)
        s += 2 + PAIRS
        d += ELEMENTS


cdef void decode_q4_1(const uint8_t *s, float *d, Py_ssize_t n) noexcept nogil:
    # A float16 scale, a float16 least value.
    cdef uint8_t codes[ELEMENTS]
    cdef float scale, least
    cdef uint32_t nan
    cdef Py_ssize_t block, done = decode_some_q4_1(s, d, n)
    cdef int i
    s += done * (4 + PAIRS)
    d += done * ELEMENTS
    for block in range(n - done):
        scale = float_of_half(s)
        least = float_of_half(s + 2)
        nan = nan_from(least if scale == scale else scale)
        split_pairs(s + 4, codes)
        for i in range(ELEMENTS):
            d[i] = or_nan(<float><int32_t>codes[i] * scale + least, nan)
        s += 4 + PAIRS
        d += ELEMENTS


cdef inline Py_ssize_t count_outside_block(const float *x, float least, float most) noexcept nogil:
    cdef int32_t outside = 0
    cdef int i
    for i in range(ELEMENTS):
        outside += <int32_t>(x[i] >= most) + <int32_t>(x[i] <= least)
    return outside


cdef Py_ssize_t count_beyond_q4_0(const float *x, const uint8_t *s, Py_ssize_t n) noexcept nogil:
    # Values whose quotient by the scale, rounded to float32, is 7.5 or more, or less than -8.5; 0 counts as 1. float32
    # has the products of a float16 and these ends, and its next numbers are so far that their quotients do not round to
    # an end: values are compared with the products.
    cdef float scale, end, beyond, least, most
    cdef Py_ssize_t block, count = 0
    for block in range(n):
        scale = float_of_half(s)
        scale = scale if scale != 0 else <float>1
        end = scale * <float>7.5
        beyond = as_float(as_bits(scale * <float>-8.5) + 1)  # the next one has a larger magnitude
        least = end if end < beyond else beyond
        most = end if end > beyond else beyond
        count += count_outside_block(x, least, most)
        x += ELEMENTS
        s += 2 + PAIRS
    return count


# ---- 5-bit integers: 4 bytes of their high bits, 16 bytes of the others ---------------------------------------------

cdef inline void codes_of_5_bits(const uint8_t *s, uint8_t *codes) noexcept nogil:
    cdef uint32_t high = s[0] | <uint32_t>s[1] << 8 | <uint32_t>s[2] << 16 | <uint32_t>s[3] << 24
    cdef int i
    split_pairs(s + 4, codes)
    for i in range(ELEMENTS):
        codes[i] |= <uint8_t>(16 if high & BIT[i] else 0)


cdef void decode_q5_0(const uint8_t *s, float *d, Py_ssize_t n) noexcept nogil:
    cdef uint8_t codes[ELEMENTS]
    cdef float scale
    cdef uint32_t nan
    cdef Py_ssize_t block, done = decode_some_q5_0(s, d, n)
    cdef int i
    s += done * (2 + 4 + PAIRS)
    d += done * ELEMENTS
    for block in range(n - done):
        scale = float_of_half(s)
        nan = nan_from(scale)
        codes_of_5_bits(s + 2, codes)
        for i in range(ELEMENTS):
            d[i] = or_nan(<float>(<int32_t>codes[i] - 16) * scale, nan)
        s += 2 + 4 + PAIRS
        d += ELEMENTS


cdef void decode_q5_1(const uint8_t *s, float *d, Py_ssize_t n) noexcept nogil:
    cdef uint8_t codes[ELEMENTS]
    cdef float scale, least
    cdef uint32_t nan
    cdef Py_ssize_t block, done = decode_some_q5_1(s, d, n)
    cdef int i
    s += done * (4 + 4 + PAIRS)
    d += done * ELEMENTS
    for block in range(n - done):
        scale = float_of_half(s)
        least = float_of_half(s + 2)
        nan = nan_from(least if scale == scale else scale)
        codes_of_5_bits(s + 4, codes)
        for i in range(ELEMENTS):
            d[i] = or_nan(<float><int32_t>codes[i] * scale + least, nan)
        s += 4 + 4 + PAIRS
        d += ELEMENTS
