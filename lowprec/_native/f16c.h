/* float16 by the machine's own conversions (F16C), 16 elements at a time. */
#include <stdint.h>

#ifdef __F16C__
#include <immintrin.h>
#define LP_F16C 1
#else
#define LP_F16C 0
#endif

/* 16 codes of float16. The instruction rounds half to even whatever the mode is, and keeps the payload of a NaN, which
   is replaced. */
static inline void lp_encode_half(const uint32_t *s, uint16_t *d, uint32_t nan_code) {
#ifdef __F16C__
    const float *from = (const float *)s;
    const __m256i h = _mm256_set_m128i(_mm256_cvtps_ph(_mm256_loadu_ps(from + 8), _MM_FROUND_TO_NEAREST_INT),
                                       _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
    const __m256i a = _mm256_and_si256(h, _mm256_set1_epi16(0x7fff /* all but the sign */));
    const __m256i nan = _mm256_xor_si256(_mm256_set1_epi16((short)nan_code), _mm256_andnot_si256(a, h));
    _mm256_storeu_si256((__m256i *)d, _mm256_blendv_epi8(h, nan, _mm256_cmpgt_epi16(a, _mm256_set1_epi16(0x1f << 10) /* Inf */)));
#endif
}

/* 16 values of float16 as float32 bits, a NaN without its payload. */
static inline void lp_decode_half(const uint16_t *s, uint32_t *d) {
#ifdef __F16C__
    for (int j = 0; j < 16; j += 8) {
        const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + j)));
        const __m256 sign = _mm256_and_ps(y, _mm256_castsi256_ps(_mm256_set1_epi32((int)(1u << 31))));
        const __m256 nan = _mm256_or_ps(sign, _mm256_castsi256_ps(_mm256_set1_epi32(0x1ff << 22)));
        _mm256_storeu_ps((float *)d + j, _mm256_blendv_ps(y, nan, _mm256_cmp_ps(y, y, _CMP_UNORD_Q)));
    }
#endif
}
