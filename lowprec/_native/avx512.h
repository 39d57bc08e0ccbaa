/* AVX-512, 64 elements at a time: encoding to float8 and less of float64, packing, truncation. */
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

/* Codes, in the upper bytes of words, of magnitudes `a`; `h` has their signs. A normal word loses the difference of the
   biases, a smaller one gets its hidden bit and is shifted less to the left. Then every word is rounded at one place:
       k k k k k k k | h s s s s s s s s      7 kept bits | half | sticky
   plus just under half, plus one where the last kept bit is odd. VPAVGW adds, adds one and shifts to the right. */
static inline __m512i lp_code(__m512i a, __m512i h, const lp_encoder *w, int plain) {
    const __m512i c = _mm512_min_epu16(a, w->clamp);
    const __m512i y = _mm512_sub_epi16(c, w->start);
    const __m512i small = _mm512_ternarylogic_epi32(c, w->fraction, w->hidden_bit, 0xea); /* c & fraction | hidden */
    const __m512i shift = _mm512_add_epi16(_mm512_srai_epi16(_mm512_min_epi16(y, w->shift_range), 7), w->shift);
    const __m512i m = _mm512_sllv_epi16(_mm512_max_epi16(y, small), shift);
    const __mmask32 odd = _mm512_test_epi16_mask(m, w->last_bit);
    __m512i t = _mm512_avg_epu16(m, _mm512_mask_mov_epi16(w->half_down, odd, w->half_up));
    t = _mm512_mask_mov_epi16(t, _mm512_cmpgt_epu16_mask(a, w->nan_above), w->nan_code);
    if (plain) return _mm512_ternarylogic_epi32(t, h, w->magnitude, 0xb4); /* t ^ (h & ~magnitude) */
    h = _mm512_ternarylogic_epi32(a, h, w->magnitude, 0xf4);               /* a | (h & ~magnitude) */
    const __mmask32 negative = _mm512_cmple_epu16_mask(_mm512_sub_epi16(h, w->sign_offset), w->sign_limit);
    return _mm512_xor_si512(t, _mm512_maskz_mov_epi16(negative, w->sign_bit));
}

/* 64 codes from the bits of 64 float32: the words of two vectors are interleaved, then the bytes of both pairs, by
   shuffles that leave what their masks leave out; at the end the codes are put in order. */
static inline __m512i lp_codes(const __m512i x[4], const lp_encoder *w, int plain) {
    __m512i code[2];
    for (int j = 0; j < 2; j++) {
        const __m512i p = x[2 * j], q = x[2 * j + 1];
        const __m512i h = _mm512_mask_shuffle_epi8(q, 0x3333333333333333ull, p, w->down);
        const __m512i low = _mm512_mask_shuffle_epi8(p, 0xccccccccccccccccull, q, w->up);
        const __m512i a = _mm512_ternarylogic_epi32(h, _mm512_min_epu16(low, w->one), w->magnitude, 0xa8);
        code[j] = lp_code(a, h, w, plain);
    }
    const __m512i mixed = _mm512_mask_shuffle_epi8(code[1], 0x5555555555555555ull, code[0], w->lower_bytes);
    return _mm512_permutexvar_epi32(w->dwords, _mm512_shuffle_epi8(mixed, w->bytes));
}

static inline void lp_encode_doubles(const double *s, void *d, ptrdiff_t n, const lp_encoder *w, int plain) {
    const __m512i low = _mm512_set1_epi64(0xffffffffu);
    __m512i x[4];
    for (int j = 0; j < 4; j++) {
        __m256 narrowed[2];
        for (int k = 0; k < 2; k++) { /* as float64_to_float32_sticky_one: the lower half folded into one bit */
            const __mmask8 mask = (__mmask8)(lp_mask(n, j) >> (8 * k));
            const __m512i v = n >= 64 ? _mm512_loadu_si512(s + 16 * j + 8 * k)
                                      : _mm512_maskz_loadu_epi64(mask, s + 16 * j + 8 * k);
            const __m512i more = _mm512_add_epi64(_mm512_and_si512(v, low), low);
            narrowed[k] = _mm512_cvtpd_ps(_mm512_castsi512_pd(_mm512_ternarylogic_epi64(v, more, low, 0x54)));
        }
        x[j] = _mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(narrowed[0]), narrowed[1], 1));
    }
    lp_store(d, n, lp_codes(x, w, plain));
}

/* The low bytes of the integer parts. Where the machine has no integer for a value, from 2**31 on, at Inf and NaN, it
   gives one whose low byte is 0: so is that of every float32 there. */
static inline void lp_truncate(const void *s, uint8_t *d, ptrdiff_t n, uint32_t mask, uint32_t sign) {
    const __m512i byte = _mm512_set1_epi32((int)(mask & 0xff)), ext = _mm512_set1_epi8((char)sign);
    __m512i x[4];
    lp_load(s, n, x);
    for (int j = 0; j < 4; j++) x[j] = _mm512_and_si512(_mm512_cvttps_epi32(_mm512_castsi512_ps(x[j])), byte);
    const __m512i encoder = _mm512_packus_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3]));
    const __m512i codes = _mm512_permutexvar_epi32(lp_dwords(), encoder);
    lp_store(d, n, _mm512_sub_epi8(_mm512_xor_si512(codes, ext), ext));
}

/* Two codes of 4 bits to a byte, the first in its lower half: 128 codes to 64 bytes, 32 bytes to 64 codes. */
static inline void lp_pack(const uint8_t *s, uint8_t *d) {
    const __m512i weights = _mm512_set1_epi16(0x1001);
    const __m512i x = _mm512_maddubs_epi16(_mm512_loadu_si512(s), weights);
    const __m512i y = _mm512_maddubs_epi16(_mm512_loadu_si512(s + 64), weights);
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    _mm512_storeu_si512(d, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(x, y)));
}

static inline void lp_unpack(const uint8_t *s, uint8_t *d) {
    const __m512i x = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)s));
    const __m512i both = _mm512_or_si512(x, _mm512_slli_epi16(x, 4));
    _mm512_storeu_si512(d, _mm512_and_si512(both, _mm512_set1_epi8(15)));
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
static inline void lp_encode_doubles(const double *s, void *d, ptrdiff_t n, const lp_encoder *w, int plain) {}
static inline void lp_truncate(const void *s, uint8_t *d, ptrdiff_t n, uint32_t mask, uint32_t sign) {}
static inline void lp_pack(const uint8_t *s, uint8_t *d) {}
static inline void lp_unpack(const uint8_t *s, uint8_t *d) {}
#endif
