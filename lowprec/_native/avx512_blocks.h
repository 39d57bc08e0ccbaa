/* AVX-512 overlays of the loops over blocks of 32 elements: two vectors. */
#include "avx512.h"

#if LP_AVX512
/* Absolute values and the bits of the largest one. */
static inline uint32_t lp_largest(const float *s, __m512i a[2]) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    a[0] = _mm512_and_si512(_mm512_loadu_si512(s), magnitude);
    a[1] = _mm512_and_si512(_mm512_loadu_si512(s + 16), magnitude);
    return _mm512_reduce_max_epu32(_mm512_max_epu32(a[0], a[1]));
}

static inline float lp_inverse(float scale) { /* 0 where it is not finite */
    const float inverse = 1 / scale;
    return (lp_bits(inverse) & 0x7fffffff) < 0xffu << 23 ? inverse : 0;
}

static inline void lp_put_half(uint8_t *d, float v) {
    const uint16_t code = _cvtss_sh(v, _MM_FROUND_TO_NEAREST_INT);
    memcpy(d, &code, 2);
}

static inline float lp_half_at(const uint8_t *s) {
    uint16_t code;
    memcpy(&code, s, 2);
    return _cvtsh_ss(code);
}

static inline __m512i lp_bytes16(const uint8_t *s) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)s)); }

static inline void lp_put_pairs(uint8_t *d, __m512i low, __m512i high) {
    _mm_storeu_si128((__m128i *)d, _mm512_cvtepi32_epi8(_mm512_or_si512(low, _mm512_slli_epi32(high, 4))));
}

/* NaN as `propagate_nan` has it. */
static inline __m512 lp_canonical(__m512 x, float scale) {
    const uint32_t nan = 0x1ffu << 22 | (scale != scale ? lp_bits(scale) & 1u << 31 : 0);
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_ps(lp_float(nan)));
}

static inline void lp_encode_q8_0(const float *s, uint8_t *d) {
    const __m512i sign = _mm512_set1_epi32(1u << 31), below_half = _mm512_set1_epi32(0x3effffff);
    __m512i a[2];
    const float scale = lp_float(lp_largest(s, a)) / 127;
    const __m512 inverse = _mm512_set1_ps(lp_inverse(scale));
    lp_put_half(d, scale);
    for (int j = 0; j < 2; j++) {
        const __m512 p = _mm512_mul_ps(_mm512_loadu_ps(s + 16 * j), inverse);
        const __m512i half = _mm512_ternarylogic_epi32(_mm512_castps_si512(p), sign, below_half, 0xea); /* p & sign | half */
        const __m512i code = _mm512_cvttps_epi32(_mm512_add_ps(p, _mm512_castsi512_ps(half)));
        _mm_storeu_si128((__m128i *)(d + 2 + 16 * j), _mm512_cvtepi32_epi8(code));
    }
}

static inline void lp_decode_q8_0(const uint8_t *s, float *d) {
    const float scale = lp_half_at(s);
    for (int j = 0; j < 2; j++) {
        const __m512i code = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(s + 2 + 16 * j)));
        const __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(code), _mm512_set1_ps(scale));
        _mm512_storeu_ps(d + 16 * j, lp_canonical(x, scale));
    }
}

static inline void lp_encode_q4_0(const float *s, uint8_t *d) {
    const __m512 rounder = _mm512_set1_ps(8.5f);
    const __m512i last = _mm512_set1_epi32(15);
    __m512i a[2], code[2];
    const uint32_t largest = lp_largest(s, a);
    uint32_t places = 0, signs = 0; /* the first number with the largest magnitude */
    for (int j = 0; j < 2; j++) {
        places |= (uint32_t)_mm512_cmpeq_epi32_mask(a[j], _mm512_set1_epi32(largest)) << 16 * j;
        signs |= (uint32_t)_mm512_movepi32_mask(_mm512_loadu_si512(s + 16 * j)) << 16 * j;
    }
    const float scale = lp_float(largest | (places & (0 - places) & signs ? 1u << 31 : 0)) / -8;
    const __m512 inverse = _mm512_set1_ps(lp_inverse(scale));
    lp_put_half(d, scale);
    for (int j = 0; j < 2; j++) {
        const __m512 p = _mm512_mul_ps(_mm512_loadu_ps(s + 16 * j), inverse);
        code[j] = _mm512_min_epi32(_mm512_cvttps_epi32(_mm512_add_ps(p, rounder)), last);
    }
    lp_put_pairs(d + 2, code[0], code[1]);
}

/* The values of 16 codes by a table: a permutation reads the low 4 bits of an index. */
static inline void lp_look_up(const uint8_t *pairs, __m512 table, float *d) {
    const __m512i codes = lp_bytes16(pairs);
    _mm512_storeu_ps(d, _mm512_permutexvar_ps(codes, table));
    _mm512_storeu_ps(d + 16, _mm512_permutexvar_ps(_mm512_srli_epi32(codes, 4), table));
}

static inline void lp_decode_q4_0(const uint8_t *s, float *d) {
    const __m512 codes = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    const float scale = lp_half_at(s);
    lp_look_up(s + 2, lp_canonical(_mm512_mul_ps(codes, _mm512_set1_ps(scale)), scale), d);
}

/* How many of the values of a block are `most` or more, or `least` or less. */
static inline int lp_count_outside_block(const float *x, float least, float most) {
    int count = 0;
    for (int j = 0; j < 2; j++) {
        const __m512 v = _mm512_loadu_ps(x + 16 * j);
        count += __builtin_popcount(_mm512_cmp_ps_mask(v, _mm512_set1_ps(most), _CMP_GE_OQ)
                                    | _mm512_cmp_ps_mask(v, _mm512_set1_ps(least), _CMP_LE_OQ));
    }
    return count;
}

/* FP4 codes of magnitudes `a` over the scale. Their bits less 1 are those of a number in the interval below a tie, and
   the exponent with 2 bits of the fraction tells the intervals apart: 500 to 519 from 0.25 to 8, of which the low 5
   bits differ. 0 has no sign. */
static inline __m512i lp_fp4(const float *s, __m512i a, __m512 inverse) {
    const __m512i above = _mm512_setr_epi32(4, 5, 5, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7);  /* 512, the ratio 2, and on */
    const __m512i below = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4);  /* 500, at the fifth place */
    const __m512i ratio = _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), inverse));
    const __m512i interval = _mm512_srai_epi32(_mm512_sub_epi32(ratio, _mm512_set1_epi32(1)), 21);
    const __m512i place = _mm512_max_epi32(interval, _mm512_set1_epi32(499));
    const __m512i code = _mm512_permutex2var_epi32(above, place, below);
    const __m512i sign = _mm512_and_si512(_mm512_srli_epi32(_mm512_loadu_si512(s), 28), _mm512_set1_epi32(8));
    return _mm512_mask_or_epi32(code, _mm512_test_epi32_mask(code, code), code, sign);
}

static inline void lp_encode_fp4(const float *s, float inverse, uint8_t *d) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i code[2];
    for (int j = 0; j < 2; j++) {
        const __m512i a = _mm512_and_si512(_mm512_loadu_si512(s + 16 * j), magnitude);
        code[j] = lp_fp4(s + 16 * j, a, _mm512_set1_ps(inverse));
    }
    lp_put_pairs(d, code[0], code[1]);
}

static inline void lp_decode_fp4(const uint8_t *s, float half_scale, float *d) {
    const __m512 twice = _mm512_setr_ps(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12); /* there is no -0 */
    lp_look_up(s, _mm512_mul_ps(twice, _mm512_set1_ps(half_scale)), d);
}

static inline uint32_t lp_largest_magnitude(const float *s) { __m512i a[2]; return lp_largest(s, a); }
#else /* never called */
static inline uint32_t lp_largest_magnitude(const float *s) { return 0; }
static inline void lp_encode_q8_0(const float *s, uint8_t *d) {}
static inline void lp_decode_q8_0(const uint8_t *s, float *d) {}
static inline void lp_encode_q4_0(const float *s, uint8_t *d) {}
static inline void lp_decode_q4_0(const uint8_t *s, float *d) {}
static inline int lp_count_outside_block(const float *x, float least, float most) { return 0; }
static inline void lp_encode_fp4(const float *s, float inverse, uint8_t *d) {}
static inline void lp_decode_fp4(const uint8_t *s, float half_scale, float *d) {}
#endif
