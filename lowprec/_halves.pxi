# Codes of 16-bit floats in lanes of 16 bits, where the machine can shift each lane by its own amount (AVX-512).

cdef extern from * nogil:
    """
    #ifdef __AVX512BW__
    #include <immintrin.h>
    #define LP_HALVES 32
    typedef struct {
        __m512i magnitude, clamp, lowest, hidden, fraction, one, most, drop, nan_above, nan_code;
        __m512i sign_bias, sign_last, sign;
        __m128i exponent, mantissa;
    } lp_halves;

    /* From the numbers of the float32 loop, which are for the bits of a code shifted up by `lift`. */
    static inline lp_halves lp_halves_of(
        uint32_t lift, uint32_t clamp, uint32_t floor, uint32_t keep, uint32_t nan_above, uint32_t nan_code,
        uint32_t sign_bit, uint32_t sign_bias, uint32_t sign_last
    ) {
        const uint32_t mantissa = 23 - lift, most = 0x7fff, tiny = 0u - sign_bias;
        const uint32_t first = (tiny + (1u << lift) - 1) >> lift, last = (sign_last + tiny - LP_SIGN) >> lift;
        lp_halves h;
        h.magnitude = _mm512_set1_epi16(0x7fff);
        h.clamp = _mm512_set1_epi16((short)(clamp >> lift));
        h.lowest = _mm512_set1_epi16((short)(floor >> 23));
        h.hidden = _mm512_set1_epi16((short)(1 << mantissa));
        h.fraction = _mm512_set1_epi16((short)((1 << mantissa) - 1));
        h.one = _mm512_set1_epi16(1);
        h.most = _mm512_set1_epi16(15);
        h.drop = _mm512_set1_epi16((short)(keep - lift + (floor >> 23)));
        h.nan_above = _mm512_set1_epi16((short)(nan_above >> lift));
        h.nan_code = _mm512_set1_epi16((short)nan_code);
        h.sign_bias = _mm512_set1_epi16((short)(0x8000 + first));
        h.sign_last = _mm512_set1_epi16((short)((last < most ? last : most) - first));
        h.sign = _mm512_set1_epi16((short)sign_bit);
        h.exponent = _mm_cvtsi32_si128((int)mantissa);
        h.mantissa = _mm_cvtsi32_si128(23 - (int)keep);
        return h;
    }

    /* Half to even at the target's last bit: a normal value drops as many bits as any other, one below the smallest
       normal exponent drops one more for each exponent. */
    static inline void lp_encode_halves(const void *s, void *d, const lp_halves *h) {
        const __m512i bits = _mm512_loadu_si512(s);
        const __m512i a = _mm512_and_si512(bits, h->magnitude);
        const __m512i c = _mm512_min_epu16(a, h->clamp);
        const __m512i field = _mm512_srl_epi16(c, h->exponent);
        const __m512i fraction = _mm512_and_si512(c, h->fraction);
        const __m512i m = _mm512_or_si512(
            fraction, _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(field, field), h->hidden));
        const __m512i e = _mm512_max_epu16(field, h->one);
        const __m512i low = _mm512_min_epu16(e, h->lowest);
        const __m512i drop = _mm512_min_epu16(_mm512_sub_epi16(h->drop, low), h->most);
        const __m512i half = _mm512_sub_epi16(_mm512_sllv_epi16(h->one, _mm512_sub_epi16(drop, h->one)), h->one);
        const __m512i even = _mm512_and_si512(_mm512_srlv_epi16(m, drop), h->one);
        const __m512i kept = _mm512_srlv_epi16(_mm512_add_epi16(_mm512_add_epi16(m, half), even), drop);
        __m512i t = _mm512_add_epi16(kept, _mm512_sll_epi16(_mm512_sub_epi16(e, low), h->mantissa));
        t = _mm512_mask_mov_epi16(t, _mm512_cmpgt_epu16_mask(a, h->nan_above), h->nan_code);
        const __mmask32 negative = _mm512_cmple_epu16_mask(_mm512_sub_epi16(bits, h->sign_bias), h->sign_last);
        t = _mm512_xor_si512(t, _mm512_maskz_mov_epi16(negative, h->sign));
        _mm256_storeu_si256((__m256i *)d, _mm512_cvtepi16_epi8(t));
    }
    #else
    #define LP_HALVES 0
    typedef int lp_halves;
    #define lp_halves_of(...) 0
    static inline void lp_encode_halves(const void *s, void *d, const lp_halves *h) { (void)s; (void)d; (void)h; }
    #endif
    """
    ctypedef struct lp_halves:
        pass
    const int HALVES "LP_HALVES"  # codes that are encoded at once; 0 where none are
    lp_halves halves_of "lp_halves_of" (
        uint32_t lift, uint32_t clamp, uint32_t floor, uint32_t keep, uint32_t nan_above, uint32_t nan_code,
        uint32_t sign_bit, uint32_t sign_bias, uint32_t sign_last,
    ) noexcept
    void encode_halves "lp_encode_halves" (const void *s, void *d, const lp_halves *h) noexcept


cdef void encode8_from16(
    const uint16_t *s, uint8_t *d, Py_ssize_t n, rest_t rest, const params_t *numbers,
) noexcept nogil:
    cdef params_t p = numbers[0]
    cdef lp_halves halves = halves_of(
        p.lift, <uint32_t>p.clamp, <uint32_t>p.floor, p.keep, <uint32_t>p.nan_above, p.nan_code, p.sign_bit,
        p.sign_bias, <uint32_t>p.sign_last,
    )
    cdef uint32_t code
    cdef Py_ssize_t span = span_of(sizeof(s[0]), sizeof(d[0]))
    cdef Py_ssize_t block, first, last, i
    for block in range(blocks(n, span)):
        ahead(s, sizeof(s[0]), d, sizeof(d[0]), block * span, span, n, rest)
        first = block * span
        last = min(first + span, n)
        while HALVES != 0 and first + HALVES <= last:
            encode_halves(s + first, d + first, &halves)
            first += HALVES
        for i in range(first, last):
            code = s[i]
            d[i] = <uint8_t>encode_one(((code & 0x7fff) << p.lift) | ((code & 0x8000) << 16), p)
