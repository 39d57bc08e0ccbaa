/* AVX-512, 64 elements at a time: how many values their scales take beyond a range. */
#include "avx512.h"

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
#else /* never called */
static inline ptrdiff_t lp_count_outside(
    int mode, const float *s, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, float low, float high
) { return 0; }
#endif
