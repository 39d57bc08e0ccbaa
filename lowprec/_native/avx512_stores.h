/* AVX-512, groups of 64 elements of the fused loops: codes of every target from float32, or from it and scales. */
#pragma once
#include "avx512_scales.h"

#if LP_AVX512
/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* Bytes are compared as signed ones: `flip`, and `bias` in words before, move unsigned codes there and back. */
typedef struct {
    __m512 far;
    __m512i beyond, bias, low, high, flip, mask, dwords;
} lp_rounder;

LP_GROUP lp_rounder lp_rounder_of(const params_t *p) {
    const int flip = p->code_max > 127 ? 128 : 0;
    lp_rounder r;
    r.far = _mm512_set1_ps(LP_BEYOND_INT16);
    r.beyond = _mm512_set1_epi32(1 << 20);
    r.bias = _mm512_set1_epi16((short)-flip);
    r.low = _mm512_set1_epi8((char)(p->code_min - flip));
    r.high = _mm512_set1_epi8((char)(p->code_max - flip));
    r.flip = _mm512_set1_epi8((char)flip);
    r.mask = _mm512_set1_epi8((char)(p->target_sign ? 0xff : p->target_mask));
    r.dwords = lp_dwords();
    return r;
}

/* x / scale rounded half to even by the machine's own conversion, which returns the least integer for NaN and beyond
   its range: what is far above goes another way. */
LP_GROUP __m512i lp_integers(
    int mode, __m512 x, const lp_factors *f, ptrdiff_t at, ptrdiff_t n, int j, const lp_rounder *r
) {
    if (mode == LP_SCALE_ELEMENTWISE) {
        const __m512 scale = lp_load_each(f->scale, at, n, j), reciprocal = lp_load_each(f->reciprocal, at, n, j);
        const __m512 q = _mm512_mul_ps(x, reciprocal);
        const __m512 corrected = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, scale, x), reciprocal, q);
        const __mmask16 near = _mm512_cmp_ps_mask(q, r->far, _CMP_NGE_UQ);
        return _mm512_mask_cvt_roundps_epi32(r->beyond, near, corrected, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    const lp_split y = lp_split_at(mode, f, at, n, j);
    x = _mm512_min_ps(y.limit, x); /* NaN stays NaN */
    const __m512 q = _mm512_fmadd_ps(x, y.high, _mm512_mul_ps(x, y.low));
    return _mm512_cvt_roundps_epi32(q, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Codes in the order that packing leaves (lp_dwords). */
LP_GROUP __m512i lp_saturate(
    int mode, const __m512i x[4], const lp_factors *f, ptrdiff_t at, ptrdiff_t n, const lp_rounder *r
) {
    __m512i words[2];
    for (int j = 0; j < 2; j++) {
        words[j] = _mm512_packs_epi32(x[2 * j], x[2 * j + 1]);
        if (f->zero)
            words[j] = _mm512_adds_epi16(
                words[j], _mm512_packs_epi32(lp_zeros(mode, f, at, n, 2 * j), lp_zeros(mode, f, at, n, 2 * j + 1)));
        words[j] = _mm512_adds_epi16(words[j], r->bias);
    }
    const __m512i codes = _mm512_packs_epi16(words[0], words[1]);
    const __m512i clamped = _mm512_min_epi8(_mm512_max_epi8(codes, r->low), r->high);
    return _mm512_ternarylogic_epi32(clamped, r->flip, r->mask, 0x28); /* (clamped ^ flip) & mask */
}

LP_GROUP __m512i lp_quantize_group(
    int mode, lp_group x, const lp_factors *f, ptrdiff_t at, ptrdiff_t n, const lp_rounder *r
) {
    __m512i y[4];
    for (int j = 0; j < 4; j++) y[j] = lp_integers(mode, x.v[j], f, at, n, j, r);
    return lp_saturate(mode, y, f, at, n, r);
}

/* ---- every target ------------------------------------------------------------------------------------------------ */

/* What the stores use; `fits` is whether they write this format. */
typedef struct {
    lp_encoder encoder;
    lp_rounder rounder;
    uint32_t nan_code;
    int fits, plain;
} lp_target;

LP_GROUP void lp_store_packed(uint8_t *d, ptrdiff_t at, ptrdiff_t n, __m512i codes) {
    if (n < 64) codes = _mm512_maskz_mov_epi8((1ull << n) - 1, codes); /* after an odd number comes 0 */
    const __m256i bytes = _mm512_cvtepi16_epi8(_mm512_maddubs_epi16(codes, _mm512_set1_epi16(0x1001)));
    if (n >= 64) _mm256_storeu_si256((__m256i *)(d + at / 2), bytes);
    else _mm256_mask_storeu_epi8(d + at / 2, (__mmask32)((1ull << (n + 1) / 2) - 1), bytes);
}

LP_GROUP void lp_store_words(uint16_t *d, ptrdiff_t n, int j, __m256i words) {
    if (n >= 64) _mm256_storeu_si256((__m256i *)(d + 16 * j), words);
    else _mm256_mask_storeu_epi16(d + 16 * j, lp_mask(n, j), words);
}

LP_GROUP __m512i lp_encode_group(lp_group x, const lp_encoder *w, int plain) {
    __m512i bits[4];
    for (int j = 0; j < 4; j++) bits[j] = _mm512_castps_si512(x.v[j]);
    return lp_codes(bits, w, plain);
}

LP_GROUP lp_target lp_target_of_float8(const params_t *p) {
    lp_target t;
    t.encoder = lp_encoder_of(p);
    t.fits = t.encoder.fits;
    t.plain = t.encoder.plain;
    return t;
}
LP_GROUP void lp_store_float8(
    int mode, int plain, lp_group x, const lp_factors *f, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    (void)mode, (void)f;
    lp_store(d + at, n, lp_encode_group(x, &t->encoder, plain));
}
LP_GROUP void lp_store_packed_float8(
    int mode, int plain, lp_group x, const lp_factors *f, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    (void)mode, (void)f;
    lp_store_packed(d, at, n, lp_encode_group(x, &t->encoder, plain));
}

LP_GROUP lp_target lp_target_of_integer8(const params_t *p) {
    lp_target t;
    t.rounder = lp_rounder_of(p);
    t.fits = 1;
    t.plain = 0;
    return t;
}
/* From values, by their scales. */
LP_GROUP void lp_store_quotients(
    int mode, int plain, lp_group x, const lp_factors *f, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    (void)plain;
    const __m512i codes = lp_quantize_group(mode, x, f, at, n, &t->rounder);
    lp_store(d + at, n, _mm512_permutexvar_epi32(t->rounder.dwords, codes));
}
LP_GROUP void lp_store_packed_quotients(
    int mode, int plain, lp_group x, const lp_factors *f, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    (void)plain;
    const __m512i codes = lp_quantize_group(mode, x, f, at, n, &t->rounder);
    lp_store_packed(d, at, n, _mm512_permutexvar_epi32(t->rounder.dwords, codes));
}
/* From quotients. */
LP_GROUP __m512i lp_round_group(
    int mode, lp_group x, const lp_factors *f, ptrdiff_t at, ptrdiff_t n, const lp_rounder *r
) {
    __m512i y[4];
    for (int j = 0; j < 4; j++)
        y[j] = _mm512_cvt_roundps_epi32(_mm512_min_ps(r->far, x.v[j]), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_permutexvar_epi32(r->dwords, lp_saturate(mode, y, f, at, n, r));
}
LP_GROUP void lp_store_rounded(
    int mode, int plain, lp_group x, const lp_factors *f, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    (void)plain;
    lp_store(d + at, n, lp_round_group(mode, x, f, at, n, &t->rounder));
}
LP_GROUP void lp_store_packed_rounded(
    int mode, int plain, lp_group x, const lp_factors *f, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    (void)plain;
    lp_store_packed(d, at, n, lp_round_group(mode, x, f, at, n, &t->rounder));
}

LP_GROUP lp_target lp_target_of_float32(const params_t *p) {
    lp_target t;
    t.nan_code = p->nan_code;
    t.fits = 1;
    t.plain = 0;
    return t;
}
LP_GROUP void lp_store_float32(
    int mode, int plain, lp_group x, const lp_factors *f, uint32_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    (void)mode, (void)plain, (void)f, (void)t;
    for (int j = 0; j < 4; j++) {
        if (n >= 64) _mm512_storeu_ps(d + at + 16 * j, x.v[j]);
        else _mm512_mask_storeu_ps(d + at + 16 * j, lp_mask(n, j), x.v[j]);
    }
}

LP_GROUP int lp_has_nan(lp_group x) {
    return _mm512_cmp_ps_mask(x.v[0], x.v[1], _CMP_UNORD_Q) | _mm512_cmp_ps_mask(x.v[2], x.v[3], _CMP_UNORD_Q);
}

/* The instruction keeps the payload of a NaN, which is replaced. */
LP_GROUP void lp_store_half16(
    int mode, int plain, lp_group x, const lp_factors *f, uint16_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    const int nan = lp_has_nan(x);
    (void)mode, (void)plain, (void)f;
    for (int j = 0; j < 4; j++) {
        __m256i h = _mm512_cvtps_ph(x.v[j], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        if (__builtin_expect(nan, 0)) {
            const __m256i sign = _mm256_and_si256(h, _mm256_set1_epi16((short)(1 << 15)));
            const __m256i code = _mm256_xor_si256(sign, _mm256_set1_epi16((short)t->nan_code));
            h = _mm256_mask_mov_epi16(h, _mm512_cmp_ps_mask(x.v[j], x.v[j], _CMP_UNORD_Q), code);
        }
        lp_store_words(d + at, n, j, h);
    }
}

/* As lp_round_to_upper16, in words: the upper halves of two vectors are interleaved, and so are the lower ones, of
   which the carry is taken. */
LP_GROUP void lp_store_upper16(
    int mode, int plain, lp_group x, const lp_factors *f, uint16_t *d, ptrdiff_t at, ptrdiff_t n, const lp_target *t
) {
    const __m512i down = _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15));
    const __m512i up = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13));
    const __m512i order = _mm512_set_epi16(
        31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,
        30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    (void)mode, (void)plain, (void)f, (void)t;
    if (__builtin_expect(lp_has_nan(x), 0))
        for (int j = 0; j < 4; j++) {
            const __m512i sign = _mm512_and_si512(_mm512_castps_si512(x.v[j]), _mm512_set1_epi32((int)(1u << 31)));
            const __m512i nan = _mm512_or_si512(sign, _mm512_set1_epi32(0x1ff << 22));
            const __mmask16 is_nan = _mm512_cmp_ps_mask(x.v[j], x.v[j], _CMP_UNORD_Q);
            x.v[j] = _mm512_mask_mov_ps(x.v[j], is_nan, _mm512_castsi512_ps(nan));
        }
    for (int j = 0; j < 2; j++) {
        const __m512i p = _mm512_castps_si512(x.v[2 * j]), q = _mm512_castps_si512(x.v[2 * j + 1]);
        const __m512i h = _mm512_mask_shuffle_epi8(q, 0x3333333333333333ull, p, down);
        const __m512i low = _mm512_mask_shuffle_epi8(p, 0xccccccccccccccccull, q, up);
        const __m512i half = _mm512_ternarylogic_epi32(h, _mm512_set1_epi16(1), _mm512_set1_epi16(0x7ffe), 0xea);
        const __m512i carry = _mm512_srli_epi16(_mm512_avg_epu16(low, half), 15);
        const __m512i words = _mm512_permutexvar_epi16(order, _mm512_add_epi16(h, carry));
        if (n >= 64) {
            _mm512_storeu_si512(d + at + 32 * j, words);
        } else {
            lp_store_words(d + at, n, 2 * j, _mm512_castsi512_si256(words));
            lp_store_words(d + at, n, 2 * j + 1, _mm512_extracti64x4_epi64(words, 1));
        }
    }
}
#endif
