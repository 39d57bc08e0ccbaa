# Blocks of FP4 codes and the exponent of a power of two, as GGUF has them; and the table of the loops of all blocks.

cdef extern from * nogil:
    """
    #define LP_FP4_HALF_STEP (1u << 21)        /* FP4 has one fraction bit: half of it, in the bits of a float32 */
    #define LP_FP4_SHIFT 22
    #define LP_BITS_OF_ONE (127u << 23)
    #define LP_BITS_OF_SIX ((129u << 23) | (1u << 22))
    #define LP_BITS_OF_FIRST_TIE (125u << 23)                 /* 0.25 */
    #define LP_BITS_OF_SECOND_TIE ((126u << 23) | (1u << 22)) /* 0.75 */
    """
    const uint32_t FP4_HALF_STEP "LP_FP4_HALF_STEP"
    const int FP4_SHIFT "LP_FP4_SHIFT"
    const uint32_t BITS_OF_ONE "LP_BITS_OF_ONE"
    const uint32_t BITS_OF_SIX "LP_BITS_OF_SIX"
    const uint32_t BITS_OF_FIRST_TIE "LP_BITS_OF_FIRST_TIE"
    const uint32_t BITS_OF_SECOND_TIE "LP_BITS_OF_SECOND_TIE"


cdef inline uint32_t fp4_one(float v, float inverse) noexcept nogil:
    # Ties go toward 0: one less than the bits of a magnitude, half a step added, is cut off. Below 1 a step is as long
    # as from 1 on, where its bits would be halved. 0 has no sign.
    cdef uint32_t bits = as_bits(v)
    cdef int32_t ratio = <int32_t>as_bits(as_float(bits & ~SIGN) * inverse)
    cdef int32_t clamped = ratio if ratio > <int32_t>BITS_OF_ONE else <int32_t>BITS_OF_ONE
    clamped = clamped if clamped < <int32_t>BITS_OF_SIX else <int32_t>BITS_OF_SIX
    cdef uint32_t code = ((<uint32_t>clamped + (FP4_HALF_STEP - 1)) >> FP4_SHIFT) - 252
    code = code - (1 if ratio <= <int32_t>BITS_OF_SECOND_TIE else 0)
    code = code - (1 if ratio <= <int32_t>BITS_OF_FIRST_TIE else 0)
    return code | ((bits >> 28) & 8 if code != 0 else 0)


cdef void encode_mxfp4(const float *s, uint8_t *d, Py_ssize_t n) noexcept nogil:
    # A product with a power of two is exact where it is not so small that its code is 0.
    cdef uint8_t codes[ELEMENTS]
    cdef uint32_t exponent
    cdef float inverse
    cdef Py_ssize_t block, done = encode_some_mxfp4(s, d, n)
    cdef int i
    s += done * ELEMENTS
    d += done * (1 + PAIRS)
    for block in range(n - done):
        exponent = fp4_exponent(largest_magnitude(s))
        inverse = as_float((254 - exponent) << 23)
        d[0] = <uint8_t>exponent
        for i in range(ELEMENTS):
            codes[i] = <uint8_t>fp4_one(s[i], inverse)
        join_pairs(codes, d + 1)
        s += ELEMENTS
        d += 1 + PAIRS


cdef inline float twice_fp4(uint32_t code) noexcept nogil:
    # Twice the value of a code, an integer; there is no -0. The magnitude 1 is subnormal: 0.5 instead of 0.75.
    cdef uint32_t magnitude = code & 7
    cdef uint32_t bits = (magnitude << FP4_SHIFT) + BITS_OF_ONE
    bits = BITS_OF_ONE if magnitude == 1 else bits
    return as_float(bits | (code & 8) << 28 if magnitude != 0 else 0)


cdef void decode_mxfp4(const uint8_t *s, float *d, Py_ssize_t n) noexcept nogil:
    cdef uint8_t codes[ELEMENTS]
    cdef float half_scale
    cdef Py_ssize_t block, done = decode_some_mxfp4(s, d, n)
    cdef int i
    s += done * (1 + PAIRS)
    d += done * ELEMENTS
    for block in range(n - done):
        half_scale = half_power(s[0])
        split_pairs(s + 1, codes)
        for i in range(ELEMENTS):
            d[i] = twice_fp4(codes[i]) * half_scale
        s += 1 + PAIRS
        d += ELEMENTS


cdef Py_ssize_t count_beyond_mxfp4(const float *x, const uint8_t *s, Py_ssize_t n) noexcept nogil:
    # Values of 7 times the scale and more: 7, the tie beyond the largest value, would go to the even code.
    cdef uint32_t exponent
    cdef float most
    cdef Py_ssize_t block, count = 0
    for block in range(n):
        exponent = s[0]
        most = <float>7 * as_float(HIDDEN_BIT >> 1 if exponent == 0 else exponent << 23)
        if most < as_float(INF):
            count += count_outside_block(x, -most, most)
        x += ELEMENTS
        s += 1 + PAIRS
    return count


# Type of block -> its bytes, and the addresses of what writes it, reads it, counts values beyond it; 0: nothing does.
BLOCKS = {
    "Q4_0": (18, <size_t>&encode_q4_0, <size_t>&decode_q4_0, <size_t>&count_beyond_q4_0),
    "Q4_1": (20, 0, <size_t>&decode_q4_1, 0),
    "Q5_0": (22, 0, <size_t>&decode_q5_0, 0),
    "Q5_1": (24, 0, <size_t>&decode_q5_1, 0),
    "Q8_0": (34, <size_t>&encode_q8_0, <size_t>&decode_q8_0, 0),
    "MXFP4": (17, <size_t>&encode_mxfp4, <size_t>&decode_mxfp4, <size_t>&count_beyond_mxfp4),
}
