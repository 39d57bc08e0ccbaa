/* AVX-512, groups of 64 elements of the fused loops: codes of every source, loaded as float32.

   All functions take the index `at` of the first element, and the number n of elements that are left: a full group if
   that is 64 or more. */
#pragma once
#include "avx512.h"

#if LP_AVX512
#include "scaled_elements.h"

#define LP_GROUP static inline __attribute__((always_inline))

typedef struct {
    __m512 v[4];
} lp_group;

/* What the loads of codes use; `fits` is whether they read this format. */
typedef struct {
    __m512i shift, mask, sign_shift, sign, special_mask, special, infinity, table, nibbles;
    __m512 unit;
    int has_inf, fits;
} lp_decoder;

LP_GROUP __m256i lp_load_words(const uint16_t *s, ptrdiff_t n, int j) {
    return n >= 64 ? _mm256_loadu_si256((const __m256i *)(s + 16 * j))
                   : _mm256_maskz_loadu_epi16(lp_mask(n, j), s + 16 * j);
}

LP_GROUP __m128i lp_load_bytes(const uint8_t *s, ptrdiff_t n, int j) {
    return n >= 64 ? _mm_loadu_si128((const __m128i *)(s + 16 * j)) : _mm_maskz_loadu_epi8(lp_mask(n, j), s + 16 * j);
}

LP_GROUP lp_decoder lp_decoder_of_float32(const params_t *p) { (void)p; lp_decoder c; c.fits = 1; return c; }
LP_GROUP lp_group lp_load_float32(const uint32_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    lp_group x;
    (void)c;
    for (int j = 0; j < 4; j++)
        x.v[j] = n >= 64 ? _mm512_loadu_ps(s + at + 16 * j) : _mm512_maskz_loadu_ps(lp_mask(n, j), s + at + 16 * j);
    return x;
}

/* A NaN keeps its payload: every store replaces it. */
LP_GROUP lp_decoder lp_decoder_of_upper16(const params_t *p) { return lp_decoder_of_float32(p); }
LP_GROUP lp_group lp_load_upper16(const uint16_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    lp_group x;
    (void)c;
    for (int j = 0; j < 4; j++)
        x.v[j] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(lp_load_words(s + at, n, j)), 16));
    return x;
}

LP_GROUP lp_decoder lp_decoder_of_half16(const params_t *p) { return lp_decoder_of_float32(p); }
LP_GROUP lp_group lp_load_half16(const uint16_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    lp_group x;
    (void)c;
    for (int j = 0; j < 4; j++) x.v[j] = _mm512_cvtph_ps(lp_load_words(s + at, n, j));
    return x;
}

/* The code with its sign bit flipped, in the lowest bits of 2**23: the float is 2**23 + 2**(bits - 1) more than it. */
LP_GROUP lp_decoder lp_decoder_of_integer8(const params_t *p) {
    const uint32_t sign = (uint32_t)p->source_sign, magic = (127u + 23) << 23;
    lp_decoder c;
    c.mask = _mm512_set1_epi32((int)(p->source_mask & 0xff));
    c.sign = _mm512_set1_epi32((int)(magic | sign));
    c.unit = _mm512_set1_ps(0x1p23f + (float)sign);
    c.fits = 1;
    return c;
}
LP_GROUP lp_group lp_load_integer8(const uint8_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    lp_group x;
    for (int j = 0; j < 4; j++) {
        const __m512i code = _mm512_cvtepu8_epi32(lp_load_bytes(s + at, n, j));
        const __m512i bits = _mm512_ternarylogic_epi32(code, c->mask, c->sign, 0x6a); /* (code & mask) ^ sign */
        x.v[j] = _mm512_sub_ps(_mm512_castsi512_ps(bits), c->unit);
    }
    return x;
}

/* A code of at most 5 exponent bits becomes a float16, which the machine converts; the biases differ by a factor. */
LP_GROUP lp_decoder lp_decoder_of_float8_format(const params_t *p, int has_inf) {
    const uint32_t up = p->mantissa_shift - 13, magnitude = p->magnitude_mask;
    const uint32_t special = !has_inf ? p->first_nan : p->inf_code < p->first_nan ? p->inf_code : p->first_nan;
    const int whole = !has_inf && p->nan_mask != magnitude; /* the code of NaN has the sign and nothing else */
    const uint32_t finite = whole || special > magnitude ? magnitude : special - 1;
    lp_decoder c;
    c.shift = _mm512_set1_epi16((short)up);
    c.mask = _mm512_set1_epi16((short)magnitude);
    c.sign_shift = _mm512_set1_epi16((short)(p->sign_shift - 16));
    c.sign = _mm512_set1_epi16((short)(1 << 15));
    c.special_mask = _mm512_set1_epi16((short)(has_inf ? magnitude : p->nan_mask));
    c.special = _mm512_set1_epi16((short)(special > 0xff ? 0x7fff : special));
    c.infinity = _mm512_set1_epi16((short)(p->inf_code > 0xff ? 0x7fff : p->inf_code));
    c.unit = _mm512_castsi512_ps(_mm512_set1_epi32((int)(p->rebias + (15u << 23))));
    c.has_inf = has_inf;
    c.fits = p->mantissa_shift >= 13 && p->sign_shift >= 16 && p->sign_mask <= 1 << 7 && finite << up < 0x1f << 10
        && p->rebias + (15u << 23) < 0xffu << 23 && p->rebias + (15u << 23) >= 1u << 23
        && p->implicit_one == p->rebias + (1u << 23)
        && (!has_inf || p->first_nan + p->nan_range == magnitude || p->first_nan > 0xff);
    return c;
}
LP_GROUP lp_decoder lp_decoder_of_float8(const params_t *p) { return lp_decoder_of_float8_format(p, 0); }
LP_GROUP lp_decoder lp_decoder_of_ieee8(const params_t *p) { return lp_decoder_of_float8_format(p, 1); }
LP_GROUP __m512i lp_halves(__m256i codes, const lp_decoder *c) {
    const __m512i code = _mm512_cvtepu8_epi16(codes), masked = _mm512_and_si512(code, c->special_mask);
    const __m512i magnitude = _mm512_sllv_epi16(_mm512_and_si512(code, c->mask), c->shift);
    const __m512i signs = _mm512_sllv_epi16(code, c->sign_shift);
    const __mmask32 special = c->has_inf ? _mm512_cmpge_epu16_mask(masked, c->special)
                                         : _mm512_cmpeq_epi16_mask(masked, c->special);
    __m512i half = magnitude;
    if (__builtin_expect(special, 0)) {
        half = _mm512_mask_mov_epi16(half, special, _mm512_set1_epi16(0x3f << 9));
        if (c->has_inf) {
            const __mmask32 infinite = _mm512_cmpeq_epi16_mask(masked, c->infinity);
            half = _mm512_mask_mov_epi16(half, infinite, _mm512_set1_epi16(0x1f << 10));
        }
    }
    return _mm512_ternarylogic_epi32(signs, half, c->sign, 0xe4); /* signs where c->sign, else half */
}
LP_GROUP lp_group lp_load_float8(const uint8_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    lp_group x;
    for (int j = 0; j < 2; j++) {
        const ptrdiff_t left = n - 32 * j;
        const __mmask32 mask = left >= 32 ? 0xffffffffu : left <= 0 ? 0 : (1u << left) - 1;
        const __m256i codes = n >= 64 ? _mm256_loadu_si256((const __m256i *)(s + at + 32 * j))
                                      : _mm256_maskz_loadu_epi8(mask, s + at + 32 * j);
        const __m512i half = lp_halves(codes, c);
        x.v[2 * j] = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(half)), c->unit);
        x.v[2 * j + 1] = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(half, 1)), c->unit);
    }
    return x;
}
LP_GROUP lp_group lp_load_ieee8(const uint8_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    return lp_load_float8(s, at, n, c);
}

/* Packed codes of 4 bits: a table of 16 values. Every lane gets the 32 bits that its code is in, and shifts it down. */
LP_GROUP lp_decoder lp_decoder_of_table(__m512 table) {
    lp_decoder c;
    c.table = _mm512_castps_si512(table);
    c.nibbles = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    c.fits = 1;
    return c;
}
LP_GROUP lp_decoder lp_decoder_of_packed_integer(const params_t *p) {
    uint32_t table[16];
    for (int code = 0; code < 16; code++) table[code] = lp_integer8_to_float32((u8)code, p);
    return lp_decoder_of_table(_mm512_loadu_ps(table));
}
LP_GROUP lp_decoder lp_decoder_of_packed_float(const params_t *p) {
    uint32_t table[16];
    for (int code = 0; code < 16; code++) table[code] = lp_decode8((u8)code, p);
    return lp_decoder_of_table(_mm512_loadu_ps(table));
}
LP_GROUP lp_group lp_load_packed(const uint8_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    uint32_t words[8];
    const uint8_t *from = s + at / 2;
    lp_group x;
    if (n < 64) {
        memset(words, 0, sizeof(words));
        memcpy(words, from, (size_t)(n + 1) / 2);
        from = (const uint8_t *)words;
    }
    for (int j = 0; j < 4; j++) {
        uint32_t lower, upper;
        memcpy(&lower, from + 8 * j, 4);
        memcpy(&upper, from + 8 * j + 4, 4);
        const __m512i both = _mm512_mask_set1_epi32(_mm512_set1_epi32((int)lower), 0xff00, (int)upper);
        x.v[j] = _mm512_castsi512_ps(_mm512_permutexvar_epi32(_mm512_srlv_epi32(both, c->nibbles), c->table));
    }
    return x;
}
LP_GROUP lp_group lp_load_packed_integer(const uint8_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    return lp_load_packed(s, at, n, c);
}
LP_GROUP lp_group lp_load_packed_float(const uint8_t *s, ptrdiff_t at, ptrdiff_t n, const lp_decoder *c) {
    return lp_load_packed(s, at, n, c);
}
#endif
