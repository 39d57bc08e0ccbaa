/* AVX-512 on a machine with AVX2: the intrinsics that the loops use, by SIMDe and, where it has none, by those below.

   Include it before everything else. */
#include <immintrin.h>
#include <string.h>
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define __AVX512F__ 1
#define __AVX512BW__ 1
#define __AVX512CD__ 1
#define __AVX512DQ__ 1
#define __AVX512VL__ 1
#define LP_VBMI /* what has tables of VBMI is compiled for this machine too */

#define EMULATED static inline __attribute__((always_inline, unused))
#define VECTOR_OF(TYPE, COUNT) TYPE __attribute__((vector_size(sizeof(TYPE) * COUNT)))

/* Every element becomes one of another type. */
#define CONVERSION(NAME, RESULT, TO, ARGUMENT, FROM, COUNT)                                                    \
    EMULATED RESULT emulated_##NAME(ARGUMENT a) {                                                              \
        VECTOR_OF(FROM, COUNT) x;                                                                              \
        VECTOR_OF(TO, COUNT) y;                                                                                \
        RESULT result;                                                                                         \
        memcpy(&x, &a, sizeof x);                                                                              \
        y = __builtin_convertvector(x, VECTOR_OF(TO, COUNT));                                                  \
        memcpy(&result, &y, sizeof y);                                                                         \
        return result;                                                                                         \
    }
CONVERSION(cvtepi8_epi32, __m512i, int32_t, __m128i, int8_t, 16)
CONVERSION(cvtepu8_epi32, __m512i, int32_t, __m128i, uint8_t, 16)
CONVERSION(cvtepu8_epi16, __m512i, int16_t, __m256i, uint8_t, 32)
CONVERSION(cvtepu16_epi32, __m512i, int32_t, __m256i, uint16_t, 16)
CONVERSION(cvtepi32_epi8, __m128i, int8_t, __m512i, int32_t, 16)
CONVERSION(cvtepi32_ps, __m512, float, __m512i, int32_t, 16)
CONVERSION(cvtps_pd, __m512d, double, __m256, float, 8)
CONVERSION(cvtpd_ps, __m256, float, __m512d, double, 8)
#define _mm512_cvtepi8_epi32 emulated_cvtepi8_epi32
#define _mm512_cvtepu8_epi32 emulated_cvtepu8_epi32
#define _mm512_cvtepu8_epi16 emulated_cvtepu8_epi16
#define _mm512_cvtepu16_epi32 emulated_cvtepu16_epi32
#define _mm512_cvtepi32_epi8 emulated_cvtepi32_epi8
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
#define _mm512_cvtps_pd emulated_cvtps_pd
#define _mm512_cvtpd_ps emulated_cvtpd_ps

/* Each half by an instruction of AVX2. */
#define HALVES(NAME, RESULT, TO, ARGUMENT, FROM, OPERATION)                                                    \
    EMULATED RESULT emulated_##NAME(ARGUMENT a) {                                                              \
        FROM x[2];                                                                                             \
        TO y[2];                                                                                               \
        RESULT result;                                                                                         \
        memcpy(x, &a, sizeof x);                                                                               \
        for (int j = 0; j < 2; j++) y[j] = OPERATION;                                                          \
        memcpy(&result, y, sizeof y);                                                                          \
        return result;                                                                                         \
    }
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
HALVES(cvttps_epi32, __m512i, __m256i, __m512, __m256, _mm256_cvttps_epi32(x[j]))
HALVES(rounded_epi32, __m512i, __m256i, __m512, __m256, _mm256_cvttps_epi32(_mm256_round_ps(x[j], NEAREST)))
HALVES(cvtph_ps, __m512, __m256, __m256i, __m128i, _mm256_cvtph_ps(x[j]))
HALVES(cvtps_ph, __m256i, __m128i, __m512, __m256, _mm256_cvtps_ph(x[j], _MM_FROUND_TO_NEAREST_INT))
#define _mm512_cvttps_epi32 emulated_cvttps_epi32
#define _mm512_cvt_roundps_epi32(a, rounding) emulated_rounded_epi32(a)
#define _mm512_cvtph_ps emulated_cvtph_ps
#define _mm512_cvtps_ph(a, rounding) emulated_cvtps_ph(a)

/* A mask of the elements for which a condition of x[i] and y[i] holds. */
#define COMPARISON(NAME, MASK, ARGUMENT, TYPE, CONDITION)                                                      \
    EMULATED MASK emulated_##NAME(ARGUMENT a, ARGUMENT b) {                                                    \
        TYPE x[64 / sizeof(TYPE)], y[64 / sizeof(TYPE)];                                                       \
        MASK mask = 0;                                                                                         \
        memcpy(x, &a, 64);                                                                                     \
        memcpy(y, &b, 64);                                                                                     \
        for (unsigned i = 0; i < 64 / sizeof(TYPE); i++) mask |= (MASK)((MASK)(CONDITION) << i);               \
        return mask;                                                                                           \
    }
COMPARISON(cmpgt_epi16_mask, __mmask32, __m512i, int16_t, x[i] > y[i])
COMPARISON(cmpgt_epu16_mask, __mmask32, __m512i, uint16_t, x[i] > y[i])
COMPARISON(cmplt_epi32_mask, __mmask16, __m512i, int32_t, x[i] < y[i])
COMPARISON(testn_epi32_mask, __mmask16, __m512i, uint32_t, (x[i] & y[i]) == 0)
COMPARISON(zero_inf_nan_mask, __mmask16, __m512, uint32_t, (x[i] & y[i]) - 1 >= 0x7f7fffff) /* classes 0x9f */
#define _mm512_cmpgt_epi16_mask emulated_cmpgt_epi16_mask
#define _mm512_cmpgt_epu16_mask emulated_cmpgt_epu16_mask
#define _mm512_cmplt_epi32_mask emulated_cmplt_epi32_mask
#define _mm512_testn_epi32_mask emulated_testn_epi32_mask
#define ALL_BUT_SIGN _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff))
#define _mm512_fpclass_ps_mask(a, classes) emulated_zero_inf_nan_mask(a, ALL_BUT_SIGN)
#define _kortestz_mask16_u8(a, b) (((a) | (b)) == 0)

/* Elements that a mask leaves out are not touched in memory. */
#define MASKED_LOAD(NAME, RESULT, MASK, TYPE, COUNT)                                                           \
    EMULATED RESULT emulated_maskz_##NAME(MASK mask, const void *s) {                                          \
        TYPE x[COUNT] = {0};                                                                                   \
        RESULT result;                                                                                         \
        for (int i = 0; i < COUNT; i++)                                                                        \
            if (mask >> i & 1) memcpy(x + i, (const TYPE *)s + i, sizeof(TYPE));                               \
        memcpy(&result, x, sizeof x);                                                                          \
        return result;                                                                                         \
    }
#define MASKED_STORE(NAME, MASK, ARGUMENT, TYPE, COUNT)                                                        \
    EMULATED void emulated_mask_##NAME(void *d, MASK mask, ARGUMENT a) {                                       \
        TYPE x[COUNT];                                                                                         \
        memcpy(x, &a, sizeof x);                                                                               \
        for (int i = 0; i < COUNT; i++)                                                                        \
            if (mask >> i & 1) memcpy((TYPE *)d + i, x + i, sizeof(TYPE));                                     \
    }
MASKED_LOAD(loadu_epi16, __m512i, __mmask32, uint16_t, 32)
MASKED_LOAD(loadu_epi32, __m512i, __mmask16, uint32_t, 16)
MASKED_LOAD(loadu_epi64, __m512i, __mmask8, uint64_t, 8)
MASKED_LOAD(loadu_ps, __m512, __mmask16, float, 16)
MASKED_LOAD(loadu_words256, __m256i, __mmask16, uint16_t, 16)
MASKED_STORE(storeu_epi8, __mmask64, __m512i, uint8_t, 64)
MASKED_STORE(storeu_ps, __mmask16, __m512, float, 16)
MASKED_STORE(storeu_bytes256, __mmask32, __m256i, uint8_t, 32)
#undef _mm512_maskz_loadu_epi16
#define _mm512_maskz_loadu_epi16 emulated_maskz_loadu_epi16
#undef _mm512_maskz_loadu_epi32
#define _mm512_maskz_loadu_epi32 emulated_maskz_loadu_epi32
#undef _mm512_maskz_loadu_epi64
#define _mm512_maskz_loadu_epi64 emulated_maskz_loadu_epi64
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps emulated_maskz_loadu_ps
#undef _mm256_maskz_loadu_epi16
#define _mm256_maskz_loadu_epi16 emulated_maskz_loadu_words256
#undef _mm512_mask_storeu_epi8
#define _mm512_mask_storeu_epi8 emulated_mask_storeu_epi8
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps emulated_mask_storeu_ps
#undef _mm256_mask_storeu_epi8
#define _mm256_mask_storeu_epi8 emulated_mask_storeu_bytes256

EMULATED __m512i emulated_srai_epi32(__m512i a, unsigned count) {
    VECTOR_OF(int32_t, 16) x;
    memcpy(&x, &a, 64);
    x >>= (int)count;
    memcpy(&a, &x, 64);
    return a;
}
#define _mm512_srai_epi32 emulated_srai_epi32
EMULATED uint32_t emulated_reduce_max_epu32(__m512i a) {
    uint32_t x[16], most = 0;
    memcpy(x, &a, 64);
    for (int i = 0; i < 16; i++) most = x[i] > most ? x[i] : most;
    return most;
}
#define _mm512_reduce_max_epu32 emulated_reduce_max_epu32
EMULATED __m256 emulated_extractf32x8_ps(__m512 a, int part) {
    __m256 x[2];
    memcpy(x, &a, 64);
    return x[part];
}
#undef _mm512_extractf32x8_ps
#define _mm512_extractf32x8_ps emulated_extractf32x8_ps
#undef _mm512_madd_epi16 /* SIMDe gives it the arguments of the one with a mask */
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)
