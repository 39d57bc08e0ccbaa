/* AVX-512: error statistics, 16 elements at a time; how many values their scales take beyond a range, 64 at a time. */
#include <string.h>

#include "avx512.h"

/* What `lp_compare` carries from block to block, in lanes: element i goes to lane i % 16, as in every tier. */
typedef struct {
    uint32_t top[16], bottom[16]; /* the codes that are largest as signed and as unsigned integers */
    float error[16];
} lp_lanes;

#if LP_AVX512
/* Rounding keeps order: a quotient beyond `high` has a dividend of at least the rounded product of scale and `high`. Only
   where there is such a dividend is anything divided. Infinite quotients are left out. */
static inline ptrdiff_t lp_count_outside(
    int mode, const float *s, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, float low, float high
) {
    const __m512 least = _mm512_set1_ps(low), most = _mm512_set1_ps(high), infinity = _mm512_set1_ps(__builtin_inff());
    __m512i x[4], f[4];
    ptrdiff_t outside = 0;
    lp_load(s, n, x);
    lp_scales(mode, scale, at, shift, n, f);
    for (int j = 0; j < 4; j++) {
        const __m512 v = _mm512_castsi512_ps(x[j]), divisor = _mm512_castsi512_ps(f[j]);
        const __m512 a = _mm512_mul_ps(divisor, least), b = _mm512_mul_ps(divisor, most);
        const __mmask16 candidates = _mm512_cmp_ps_mask(v, _mm512_max_ps(a, b), _CMP_GE_OQ)
            | _mm512_cmp_ps_mask(v, _mm512_min_ps(a, b), _CMP_LE_OQ);
        if (__builtin_expect(candidates, 0)) {
            const __m512 q = _mm512_div_ps(v, divisor);
            const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_abs_ps(q), infinity, _CMP_LT_OQ);
            outside += __builtin_popcount(
                finite & (_mm512_cmp_ps_mask(q, most, _CMP_GT_OQ) | _mm512_cmp_ps_mask(q, least, _CMP_LT_OQ))
            );
        }
    }
    return outside;
}

/* The float32 of 16 elements: those of the source, or with 0 bits after those of a source of 16 bits. */
static inline __m512 lp_values(int halves, const void *s, ptrdiff_t i) {
    if (!halves) return _mm512_loadu_ps((const float *)s + i);
    const __m512i order = _mm512_set_epi16(
        15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0
    );
    const __m256i codes = _mm256_loadu_si256((const __m256i *)((const uint16_t *)s + i));
    return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xaaaaaaaau, order, _mm512_castsi256_si512(codes)));
}

/* Whether all of n elements are finite, n a multiple of 16; if so, take in the ends. As signed integers the codes of
   positive values are the largest, as unsigned ones those of negative values, and both are in the order of magnitudes. */
static inline int lp_ends(int halves, const void *s, ptrdiff_t n, lp_lanes *lanes) {
    const __m512i inf = _mm512_set1_epi32(0xff << 23), sign = _mm512_set1_epi32((int)(1u << 31));
    __m512i top = sign, bottom = _mm512_setzero_si512();
    ptrdiff_t i = 0;
    if (halves) {
        const __m512i upper = _mm512_set1_epi32((int)0xffff0000u);
        __m512i high = _mm512_set1_epi16((short)(1 << 15)), low = _mm512_setzero_si512();
        for (; i + 32 <= n; i += 32) {
            const __m512i v = _mm512_loadu_si512((const uint16_t *)s + i);
            high = _mm512_max_epi16(high, v);
            low = _mm512_max_epu16(low, v);
        }
        top = _mm512_max_epi32(_mm512_slli_epi32(high, 16), _mm512_and_si512(high, upper));
        bottom = _mm512_max_epu32(_mm512_slli_epi32(low, 16), _mm512_and_si512(low, upper));
    }
    for (; i < n; i += 16) {
        const __m512i v = _mm512_castps_si512(lp_values(halves, s, i));
        top = _mm512_max_epi32(top, v);
        bottom = _mm512_max_epu32(bottom, v);
    }
    if (_mm512_cmpge_epi32_mask(top, inf) | _mm512_cmpge_epu32_mask(bottom, _mm512_or_si512(inf, sign))) return 0;
    _mm512_storeu_si512(lanes->top, _mm512_max_epi32(top, _mm512_loadu_si512(lanes->top)));
    _mm512_storeu_si512(lanes->bottom, _mm512_max_epu32(bottom, _mm512_loadu_si512(lanes->bottom)));
    return 1;
}

/* Take in n finite elements, n a multiple of 16 up to 256. Return whether a ratio of error and magnitude is larger than
   `ratio`; mark elements that became zero, and those that may lie beyond the range, whose magnitude is at least the
   product of their scale and `bound`. Nothing is marked so in the uniform mode. */
static inline __attribute__((always_inline)) int lp_compare_one_way(
    int halves, int mode, const void *s, const float *y, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift,
    float bound, float ratio, double *signal, double *noise, lp_lanes *lanes, uint64_t *flushed, uint64_t *beyond
) {
    const __m512i magnitude_bits = _mm512_set1_epi32(0x7fffffff);
    const __m512 limit = _mm512_set1_ps(bound), most = _mm512_set1_ps(ratio), zero = _mm512_setzero_ps();
    __m512d signal0 = _mm512_loadu_pd(signal), signal1 = _mm512_loadu_pd(signal + 8);
    __m512d noise0 = _mm512_loadu_pd(noise), noise1 = _mm512_loadu_pd(noise + 8);
    __m512 largest = _mm512_loadu_ps(lanes->error);
    __m512i larger = _mm512_setzero_si512();
    uint16_t lost[16] = {0}, marked[16] = {0};
    for (ptrdiff_t i = 0; i < n; i += 16) {
        const __m512 v = lp_values(halves, s, i), w = _mm512_loadu_ps(y + i);
        const __m512i m = _mm512_and_si512(_mm512_castps_si512(v), magnitude_bits);
        const __m512 magnitude = _mm512_castsi512_ps(m);
        const __m512 error = _mm512_castsi512_ps(
            _mm512_and_si512(_mm512_castps_si512(_mm512_sub_ps(v, w)), magnitude_bits)
        );
        largest = _mm512_max_ps(error, largest); /* the second one where there is a NaN */
        larger = _mm512_or_si512(larger, _mm512_castps_si512(_mm512_fmsub_ps(most, magnitude, error)));
        lost[i / 16] = _mm512_mask_test_epi32_mask(_mm512_cmp_ps_mask(w, zero, _CMP_EQ_OQ), m, m);
        if (mode != LP_SCALE_UNIFORM) {
            const __m512 factor = mode == LP_SCALE_ELEMENTWISE
                ? _mm512_loadu_ps(scale + at + i) : _mm512_set1_ps(scale[(at + i) >> shift]);
            marked[i / 16] = _mm512_cmp_ps_mask(magnitude, _mm512_mul_ps(factor, limit), _CMP_GE_OQ);
        }
        const __m512d v0 = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
        const __m512d v1 = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
        const __m512d e0 = _mm512_cvtps_pd(_mm512_castps512_ps256(error));
        const __m512d e1 = _mm512_cvtps_pd(_mm512_extractf32x8_ps(error, 1));
        signal0 = _mm512_fmadd_pd(v0, v0, signal0);
        signal1 = _mm512_fmadd_pd(v1, v1, signal1);
        noise0 = _mm512_fmadd_pd(e0, e0, noise0);
        noise1 = _mm512_fmadd_pd(e1, e1, noise1);
    }
    memcpy(flushed, lost, sizeof(lost));
    memcpy(beyond, marked, sizeof(marked));
    _mm512_storeu_pd(signal, signal0);
    _mm512_storeu_pd(signal + 8, signal1);
    _mm512_storeu_pd(noise, noise0);
    _mm512_storeu_pd(noise + 8, noise1);
    _mm512_storeu_ps(lanes->error, largest);
    return _mm512_movepi32_mask(larger) != 0;
}

static inline int lp_compare(
    int halves, int mode, const void *s, const float *y, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift,
    float bound, float ratio, double *signal, double *noise, lp_lanes *lanes, uint64_t *flushed, uint64_t *beyond
) {
#define LP_COMPARE(mode) \
    lp_compare_one_way(halves, mode, s, y, n, scale, at, shift, bound, ratio, signal, noise, lanes, flushed, beyond)
    if (mode == LP_SCALE_UNIFORM) return LP_COMPARE(LP_SCALE_UNIFORM);
    return mode == LP_SCALE_RUNS ? LP_COMPARE(LP_SCALE_RUNS) : LP_COMPARE(LP_SCALE_ELEMENTWISE);
#undef LP_COMPARE
}

#else /* never called */
static inline ptrdiff_t lp_count_outside(
    int mode, const float *s, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, float low, float high
) { return 0; }
static inline int lp_ends(int halves, const void *s, ptrdiff_t n, lp_lanes *lanes) { return 0; }
static inline int lp_compare(
    int halves, int mode, const void *s, const float *y, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift,
    float bound, float ratio, double *signal, double *noise, lp_lanes *lanes, uint64_t *flushed, uint64_t *beyond
) { return 0; }
#endif
