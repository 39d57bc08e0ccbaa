/* AVX-512, 64 elements at a time: what the overlays for blocks, roundings and error statistics have in common. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "loop_types.h"
#include "params.h"

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#define LP_AVX512 1

static inline __mmask16 lp_mask(ptrdiff_t n, int part) {
    const ptrdiff_t left = n - 16 * part;
    return left >= 16 ? 0xffff : left <= 0 ? 0 : (__mmask16)((1u << left) - 1);
}

static inline void lp_load(const void *s, ptrdiff_t n, __m512i x[4]) {
    for (int j = 0; j < 4; j++)
        x[j] = n >= 64 ? _mm512_loadu_si512((const char *)s + 64 * j)
                       : _mm512_maskz_loadu_epi32(lp_mask(n, j), (const char *)s + 64 * j);
}

static inline void lp_store(void *d, ptrdiff_t n, __m512i codes) {
    if (n >= 64) _mm512_storeu_si512(d, codes);
    else _mm512_mask_storeu_epi8(d, (1ull << n) - 1, codes);
}

/* The scales, or zero points, of 64 elements, of which the first is element `at` of the first run. */
static inline void lp_scales(int mode, const void *scales, ptrdiff_t at, int shift, ptrdiff_t n, __m512i x[4]) {
    const int32_t *scale = (const int32_t *)scales;
    if (mode == LP_SCALE_ELEMENTWISE) lp_load(scale + at, n, x);
    else for (int j = 0; j < 4; j++)
        x[j] = _mm512_set1_epi32(mode == LP_SCALE_UNIFORM ? scale[0] : n > 16 * j ? scale[(at + 16 * j) >> shift] : 0);
}

static inline __m512i lp_dwords(void) { /* from the order that packing 4 vectors leaves, 4 elements of each in turn */
    return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

/* ---- float8 and less ------------------------------------------------------------------------------------------- */

/* A word is the upper half of a float32, s eeeeeeee mmmmmmm, its last bit set if the lower half is not 0 (sticky): all
   that rounding to 5 mantissa bits or fewer depends on. The code comes out in the upper byte of its word. */
typedef struct {
    __m512i magnitude, clamp, start, fraction, hidden_bit, shift_range, shift, half_down, half_up, last_bit, one;
    __m512i nan_above, nan_code, sign_offset, sign_limit, sign_bit, up, down, lower_bytes, bytes, dwords;
    int fits;  /* whether words are enough for this format; the other loop encodes every one */
    int plain; /* whether every code has the sign of its value, in the first bit of a byte */
} lp_encoder;

static inline lp_encoder lp_encoder_of(const params_t *p) {
    const uint32_t mantissa_bits = 23 - p->dropped_bits, left = mantissa_bits + 2, top = 0x7fff;
    const uint32_t lowest = (uint32_t)p->smallest_normal >> 16, clamp = (uint32_t)p->clamp;
    const uint32_t nan_above = (uint32_t)p->nan_above, sign_limit = (uint32_t)p->sign_limit;
    const uint32_t tiny = 0u - p->sign_offset; /* the first magnitude whose negative has a sign */
    const uint32_t first = (tiny + 0xffff) >> 16, last = (sign_limit + tiny - (1u << 31)) >> 16;
    const int same_range = lowest == 1 << 7; /* the subnormals of the format are those of float32 */
    lp_encoder w;
    w.magnitude = _mm512_set1_epi16(0x7fff);
    w.clamp = _mm512_set1_epi16((short)(clamp >> 16));
    w.start = _mm512_set1_epi16((short)(lowest - (1 << 7)));
    w.fraction = _mm512_set1_epi16((1 << 7) - 1);
    w.hidden_bit = _mm512_set1_epi16(same_range ? 0 : 1 << 7);
    w.shift_range = _mm512_set1_epi16(same_range ? 0 : 0xff);
    w.shift = _mm512_set1_epi16((short)(same_range ? left : left - 1));
    w.half_down = _mm512_set1_epi16((1 << 8) - 2);
    w.half_up = _mm512_set1_epi16((1 << 8) - 1);
    w.last_bit = _mm512_set1_epi16(1 << 9);
    w.one = _mm512_set1_epi16(1);
    w.nan_above = _mm512_set1_epi16((short)(nan_above >> 16));
    w.nan_code = _mm512_set1_epi16((short)(p->nan_code << 8));
    w.sign_offset = _mm512_set1_epi16((short)((1 << 15) + first));
    w.sign_limit = _mm512_set1_epi16((short)((last < top ? last : top) - first));
    w.sign_bit = _mm512_set1_epi16((short)(p->sign_bit << 8));
    w.up = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13));
    w.down = _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15));
    w.lower_bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15));
    w.bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15));
    w.dwords = lp_dwords();
    w.plain = p->sign_offset == 0 && sign_limit == 0xffffffffu && p->sign_bit == 1 << 7;
    w.fits = mantissa_bits <= 5 && p->sign_bit <= 1 << 7 && (same_range || lowest >> 7 > left) && (clamp & 0xffff) == 0
        && ((((clamp >> 16) - lowest + (1 << 7)) << left) >> 9) < 1 << 7 && (tiny & 0x1ffff) <= 1
        && ((nan_above & 0x1ffff) == 0 || (nan_above & 0x1ffff) == 0x1ffff);
    return w;
}

/* ---- groups for avx512_rounding.h --------------------------------------------------------------------------------- */

#define LP_GROUP static inline __attribute__((always_inline))
typedef struct {
    __m512 v[4];
} lp_group;

LP_GROUP __m256i lp_load_words(const uint16_t *s, ptrdiff_t n, int j) {
    return n >= 64 ? _mm256_loadu_si256((const __m256i *)(s + 16 * j))
                   : _mm256_maskz_loadu_epi16(lp_mask(n, j), s + 16 * j);
}
LP_GROUP lp_group lp_load_float32(const uint32_t *s, ptrdiff_t at, ptrdiff_t n, const void *none) {
    lp_group x;
    (void)none;
    for (int j = 0; j < 4; j++)
        x.v[j] = n >= 64 ? _mm512_loadu_ps(s + at + 16 * j) : _mm512_maskz_loadu_ps(lp_mask(n, j), s + at + 16 * j);
    return x;
}
LP_GROUP lp_group lp_load_upper16(const uint16_t *s, ptrdiff_t at, ptrdiff_t n, const void *none) {
    lp_group x;
    (void)none;
    for (int j = 0; j < 4; j++)
        x.v[j] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(lp_load_words(s + at, n, j)), 16));
    return x;
}
LP_GROUP lp_group lp_load_half16(const uint16_t *s, ptrdiff_t at, ptrdiff_t n, const void *none) {
    lp_group x;
    (void)none;
    for (int j = 0; j < 4; j++) x.v[j] = _mm512_cvtph_ps(lp_load_words(s + at, n, j));
    return x;
}
LP_GROUP void lp_store_packed(uint8_t *d, ptrdiff_t at, ptrdiff_t n, __m512i codes) {
    if (n < 64) codes = _mm512_maskz_mov_epi8((1ull << n) - 1, codes); /* after an odd number comes 0 */
    const __m256i bytes = _mm512_cvtepi16_epi8(_mm512_maddubs_epi16(codes, _mm512_set1_epi16(0x1001)));
    if (n >= 64) _mm256_storeu_si256((__m256i *)(d + at / 2), bytes);
    else _mm256_mask_storeu_epi8(d + at / 2, (__mmask32)((1ull << (n + 1) / 2) - 1), bytes);
}

#else /* never called: the table takes the other loops */
#define LP_AVX512 0
typedef struct { int fits, plain; } lp_encoder;
static inline lp_encoder lp_encoder_of(const params_t *p) { return (lp_encoder){0, 0}; }
#endif
