/* AVX-512, MX blocks of 32 and NVFP4 blocks of 16 elements that follow each other: 16 blocks at a time. */
#ifndef LP_AVX512_MX_H
#define LP_AVX512_MX_H
#include "avx512.h"
#include "block_elements.h"
#include "scaled_elements.h"

#if LP_AVX512
#define LP_AHEAD 2048 /* elements from those that are quantized to those that are prefetched */
#if defined(__GNUC__)
#define LP_WRITTEN_OUT static inline __attribute__((always_inline))
#else
#define LP_WRITTEN_OUT static inline
#endif

/* What rounds words as lp_encoder has them; NaN does not come here, and signs stay in the first bit of a byte. */
typedef struct {
    lp_encoder encoder;
    __m512i even, odd; /* one less than what is added to a word, by its last kept bit */
    int fits;
} lp_block_encoder;

/* The words lose the last bits of numbers far below the smallest element: only rounding to nearest does not ask for
   them. */
LP_WRITTEN_OUT lp_block_encoder lp_block_encoder_of(const block_params_t *p) {
    const u32 half = 1u << p->keep >> 1;
    const int by_odd = p->odd_increment == 1 && p->odd_bit == p->keep;
    lp_block_encoder b;
    params_t t;
    memset(&t, 0, sizeof t);
    t.clamp = p->most;
    t.smallest_normal = p->smallest_normal;
    t.dropped_bits = p->keep;
    t.nan_above = 0x7fffffff;
    t.sign_bit = p->sign_mask;
    t.sign_limit = -1;
    b.encoder = lp_encoder_of(&t);
    b.even = _mm512_set1_epi16((short)(p->increment == half ? 0xff : 0xfe));
    b.odd = _mm512_set1_epi16((short)((p->increment == half ? 0xff : 0xfe) + by_odd));
    b.fits = b.encoder.fits && (p->increment == half || p->increment == half - 1) && p->increment_change == 0
        && (by_odd || p->odd_increment == 0) && p->sign_mask != 0 && p->smallest_normal > (i32)LP_HIDDEN_BIT;
    return b;
}

/* As lp_code, but for NaN. */
LP_WRITTEN_OUT __m512i lp_block_words(__m512i p, __m512i q, const lp_block_encoder *b) {
    const lp_encoder *w = &b->encoder;
    const __m512i h = _mm512_mask_shuffle_epi8(q, 0x3333333333333333ull, p, w->down);
    const __m512i low = _mm512_mask_shuffle_epi8(p, 0xccccccccccccccccull, q, w->up);
    const __m512i a = _mm512_ternarylogic_epi32(h, _mm512_min_epu16(low, w->one), w->magnitude, 0xa8);
    const __m512i c = _mm512_min_epu16(a, w->clamp);
    const __m512i y = _mm512_sub_epi16(c, w->start);
    const __m512i small = _mm512_ternarylogic_epi32(c, w->fraction, w->hidden_bit, 0xea); /* c & fraction | hidden */
    const __m512i shift = _mm512_add_epi16(_mm512_srai_epi16(_mm512_min_epi16(y, w->shift_range), 7), w->shift);
    const __m512i m = _mm512_sllv_epi16(_mm512_max_epi16(y, small), shift);
    const __mmask32 odd = _mm512_test_epi16_mask(m, w->last_bit);
    const __m512i t = _mm512_avg_epu16(m, _mm512_mask_mov_epi16(b->even, odd, b->odd));
    return _mm512_ternarylogic_epi32(t, h, w->magnitude, 0xb4); /* t ^ (h & ~magnitude) */
}

/* 64 codes of quotients; `pack` puts two of 4 bits into a byte. */
LP_WRITTEN_OUT void lp_store_block_codes(
    const __m512i x[4], const lp_block_encoder *b, const block_params_t *p, int bits, int pack, uint8_t *d
) {
    const __m512i first = lp_block_words(x[0], x[1], b), second = lp_block_words(x[2], x[3], b);
    const __m512i mixed = _mm512_mask_shuffle_epi8(second, 0x5555555555555555ull, first, b->encoder.lower_bytes);
    __m512i codes = _mm512_permutexvar_epi32(b->encoder.dwords, _mm512_shuffle_epi8(mixed, b->encoder.bytes));
    if (bits < 8) {
        const __m512i sign = _mm512_set1_epi8((char)p->sign_mask), all = _mm512_set1_epi8((char)(2 * p->sign_mask - 1));
        const __m512i moved = _mm512_srl_epi16(codes, _mm_cvtsi32_si128(8 - bits));
        codes = _mm512_and_si512(_mm512_ternarylogic_epi32(sign, moved, codes, 0xca), all); /* sign ? moved : codes */
    }
    if (pack) {
        const __m512i pairs = _mm512_maddubs_epi16(codes, _mm512_set1_epi16(0x1001));
        _mm256_storeu_si256((__m256i *)d, _mm512_cvtepi16_epi8(pairs));
    } else {
        _mm512_storeu_si512(d, codes);
    }
}

/* ---- largest magnitudes ------------------------------------------------------------------------------------------ */

LP_WRITTEN_OUT __m512i lp_block_magnitudes(const float *x, int block) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512i a = _mm512_and_si512(_mm512_loadu_si512(x), magnitude);
    return block == 16 ? a : _mm512_max_epi32(a, _mm512_and_si512(_mm512_loadu_si512(x + 16), magnitude));
}

/* Of four blocks: in every 128 bits those of what was there. */
LP_WRITTEN_OUT __m512i lp_largest_of_4(const float *x, int block) {
    __m512i m[4], t[2];
    for (int j = 0; j < 4; j++) m[j] = lp_block_magnitudes(x + block * j, block);
    for (int j = 0; j < 2; j++) {
        const __m512i a = m[2 * j], b = m[2 * j + 1];
        t[j] = _mm512_max_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    }
    return _mm512_max_epi32(_mm512_unpacklo_epi64(t[0], t[1]), _mm512_unpackhi_epi64(t[0], t[1]));
}

LP_WRITTEN_OUT __m512i lp_largest_of_16(const float *x, int block) {
    __m512i v[4], w[2];
    for (int j = 0; j < 4; j++) v[j] = lp_largest_of_4(x + 4 * block * j, block);
    for (int j = 0; j < 2; j++)
        w[j] = _mm512_max_epi32(
            _mm512_shuffle_i32x4(v[2 * j], v[2 * j + 1], 0x44), _mm512_shuffle_i32x4(v[2 * j], v[2 * j + 1], 0xee));
    return _mm512_max_epi32(_mm512_shuffle_i32x4(w[0], w[1], 0x88), _mm512_shuffle_i32x4(w[0], w[1], 0xdd));
}

/* ---- scales, as block_elements.h has them ------------------------------------------------------------------------ */

LP_WRITTEN_OUT __m512i lp_power_scales(__m512i largest, const block_params_t *p) {
    const __m512i top = _mm512_set1_epi32(254);
    const __m512 lifted = _mm512_mul_ps(_mm512_castsi512_ps(largest), _mm512_set1_ps(0x1p23f));
    const __m512i normalized = _mm512_sub_epi32(_mm512_castps_si512(lifted), _mm512_set1_epi32(23 << 23));
    const __mmask16 is_small = _mm512_cmplt_epi32_mask(largest, _mm512_set1_epi32((int)LP_HIDDEN_BIT));
    const __m512i bits = _mm512_mask_mov_epi32(largest, is_small, normalized);
    const __m512i sum = _mm512_srai_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(p->rule_addend)), 23);
    const __m512i code = _mm512_sub_epi32(sum, _mm512_set1_epi32(p->rule_offset));
    return _mm512_min_epi32(_mm512_max_epi32(code, _mm512_setzero_si512()), top);
}

LP_WRITTEN_OUT __m512 lp_inverse_powers(__m512i codes) {
    const __m512i top = _mm512_set1_epi32(254);
    const __m512i bits = _mm512_slli_epi32(_mm512_sub_epi32(top, codes), 23);
    const __mmask16 last = _mm512_cmpeq_epi32_mask(codes, top);
    return _mm512_castsi512_ps(_mm512_mask_mov_epi32(bits, last, _mm512_set1_epi32((int)(LP_HIDDEN_BIT >> 1))));
}

LP_WRITTEN_OUT __m512i lp_quotient_scales(__m512i largest, const block_params_t *p) {
    const __m512i one = _mm512_set1_epi32(1);
    const __m512 over = _mm512_div_ps(_mm512_castsi512_ps(largest), _mm512_set1_ps(p->largest_value));
    const __m512 quotient = _mm512_div_ps(over, _mm512_set1_ps(p->global_scale));
    const __m512i bits = _mm512_castps_si512(_mm512_min_ps(quotient, _mm512_set1_ps(p->scale_most)));
    const __m512i low = _mm512_min_epi32(bits, _mm512_set1_epi32(p->scale_normal));
    const __m512 scaled = _mm512_mul_ps(_mm512_castsi512_ps(low), _mm512_set1_ps(p->scale_factor));
    const __m512i whole = _mm512_cvttps_epi32(scaled);
    const __mmask16 lost = _mm512_cmp_ps_mask(_mm512_cvtepi32_ps(whole), scaled, _CMP_NEQ_UQ);
    const __m512i fixed = _mm512_add_epi32(_mm512_mask_or_epi32(whole, lost, whole, one), _mm512_sub_epi32(bits, low));
    const __m128i keep = _mm_cvtsi32_si128((int)p->scale_keep);
    const __m512i odd = _mm512_and_si512(_mm512_srl_epi32(fixed, keep), one);
    const __m512i half = _mm512_set1_epi32((int)((1u << p->scale_keep >> 1) - 1));
    const __m512i codes = _mm512_srl_epi32(_mm512_add_epi32(_mm512_add_epi32(fixed, half), odd), keep);
    return _mm512_max_epi32(codes, _mm512_min_epi32(largest, one));
}

LP_WRITTEN_OUT __m512 lp_scale_divisors(__m512i codes, const block_params_t *p) {
    const __m512 moved = _mm512_castsi512_ps(_mm512_sll_epi32(codes, _mm_cvtsi32_si128((int)p->scale_keep)));
    const __m512 divisor = _mm512_mul_ps(
        _mm512_set1_ps(p->global_scale), _mm512_mul_ps(moved, _mm512_set1_ps(p->scale_value)));
    const __mmask16 is_zero = _mm512_cmp_ps_mask(divisor, _mm512_setzero_ps(), _CMP_EQ_OQ);
    return _mm512_mask_mov_ps(divisor, is_zero, _mm512_castsi512_ps(_mm512_set1_epi32((int)LP_INF)));
}

/* Whether all quotients may be found by the reciprocals (scaled_elements.h): what is known of them concerns ties to
   even. A block of zeros has divisor 1 then. */
LP_WRITTEN_OUT int lp_blocks_in_reach(
    __m512i largest, __m512 *divisor, __m512 *reciprocal, const block_params_t *p
) {
    const __mmask16 zeros = _mm512_testn_epi32_mask(largest, largest);
    const __m512 reach = _mm512_set1_ps(LP_REACH), one = _mm512_set1_ps(1);
    *divisor = _mm512_mask_mov_ps(*divisor, zeros, one);
    *reciprocal = _mm512_div_ps(one, *divisor);
    const __m512 most = _mm512_mul_ps(_mm512_castsi512_ps(largest), *reciprocal);
    const __mmask16 near = _mm512_cmp_ps_mask(most, _mm512_set1_ps(LP_FAR), _CMP_LT_OQ);
    const __mmask16 large = _mm512_cmp_ps_mask(*reciprocal, reach, _CMP_LE_OQ);
    return p->odd_increment != 0 && (near & large & _mm512_cmp_ps_mask(*divisor, reach, _CMP_LE_OQ)) == 0xffff;
}

/* ---- 16 blocks --------------------------------------------------------------------------------------------------- */

#define LP_BY_POWER 0
#define LP_BY_PRODUCT 1
#define LP_BY_DIVISION 2

LP_WRITTEN_OUT __m512i lp_quotient_vector(int how, const float *x, float divisor, float reciprocal) {
    const __m512 v = _mm512_loadu_ps(x), by = _mm512_set1_ps(divisor), inverse = _mm512_set1_ps(reciprocal);
    if (how == LP_BY_DIVISION) return _mm512_castps_si512(_mm512_div_ps(v, by));
    const __m512 q = _mm512_mul_ps(v, inverse);
    if (how == LP_BY_POWER) return _mm512_castps_si512(q);
    const __m512 corrected = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, by, v), inverse, q); /* of -0: 0 */
    const __m512i sign = _mm512_set1_epi32((int)LP_SIGN);
    return _mm512_ternarylogic_epi32(sign, _mm512_castps_si512(v), _mm512_castps_si512(corrected), 0xca);
}

LP_WRITTEN_OUT void lp_codes_of_16(
    int how, int block, int bits, int pack, const float *x, const float *divisors, const float *inverses,
    const lp_block_encoder *b, const block_params_t *p, uint8_t *d
) {
    for (int i = 0; i < 16 * block; i += 64) {
        __m512i v[4];
        for (int j = 0; j < 4; j++) {
            const int at = (i + 16 * j) / block;
            v[j] = lp_quotient_vector(how, x + i + 16 * j, divisors[at], inverses[at]);
        }
        lp_store_block_codes(v, b, p, bits, pack, d + (pack ? i / 2 : i));
    }
}

LP_WRITTEN_OUT ptrdiff_t lp_blocks_of(
    int block, int bits, int pack, const float *x, uint8_t *scales, uint8_t *d, ptrdiff_t count, ptrdiff_t ahead,
    const lp_block_encoder *b, const block_params_t *p
) {
    float divisors[16], inverses[16];
    ptrdiff_t done = 0;
    for (; done + 16 <= count; done += 16, x += 16 * block, d += pack ? 8 * block : 16 * block) {
        if ((done + 16) * block + LP_AHEAD <= ahead)
            for (int i = 0; i < 16 * block; i += 16) {
                __builtin_prefetch(x + LP_AHEAD + i);
                if (i % (pack ? 128 : 64) == 0) __builtin_prefetch(d + (pack ? (LP_AHEAD + i) / 2 : LP_AHEAD + i), 1);
            }
        const __m512i largest = lp_largest_of_16(x, block);
        if (_mm512_cmpge_epi32_mask(largest, _mm512_set1_epi32((int)LP_INF))) break;
        const __m512i codes = block == 32 ? lp_power_scales(largest, p) : lp_quotient_scales(largest, p);
        _mm_storeu_si128((__m128i *)(scales + done), _mm512_cvtepi32_epi8(codes));
        if (block == 32) {
            _mm512_storeu_ps(inverses, lp_inverse_powers(codes));
            lp_codes_of_16(LP_BY_POWER, block, bits, pack, x, inverses, inverses, b, p, d);
            continue;
        }
        __m512 divisor = lp_scale_divisors(codes, p), reciprocal;
        const __m512 all = divisor;
        const int in_reach = lp_blocks_in_reach(largest, &divisor, &reciprocal, p);
        _mm512_storeu_ps(divisors, in_reach ? divisor : all);
        _mm512_storeu_ps(inverses, reciprocal);
        if (in_reach) lp_codes_of_16(LP_BY_PRODUCT, block, bits, pack, x, divisors, inverses, b, p, d);
        else lp_codes_of_16(LP_BY_DIVISION, block, bits, pack, x, divisors, inverses, b, p, d);
    }
    return done;
}

/* Quantize blocks from the first one on, up to 16 of which one has NaN or Inf; return how many: a multiple of 16, and
   of none where the format, the rounding or the block is another one. Packed codes have 4 bits; `ahead` elements from x
   on may be prefetched. */
static ptrdiff_t lp_whole_blocks(
    const float *x, uint8_t *scales, uint8_t *d, ptrdiff_t count, ptrdiff_t ahead, int quotients, ptrdiff_t block,
    int pack, const block_params_t *p
) {
    const lp_block_encoder b = lp_block_encoder_of(p);
    if (!b.fits || block != (quotients ? 16 : 32) || (quotients && p->sign_mask != 8)) return 0;
    if (quotients)
        return pack ? lp_blocks_of(16, 4, 1, x, scales, d, count, ahead, &b, p)
                    : lp_blocks_of(16, 4, 0, x, scales, d, count, ahead, &b, p);
    if (pack) return lp_blocks_of(32, 4, 1, x, scales, d, count, ahead, &b, p);
    if (p->sign_mask == 128) return lp_blocks_of(32, 8, 0, x, scales, d, count, ahead, &b, p);
    return lp_blocks_of(32, 32 - (int)p->sign_shift, 0, x, scales, d, count, ahead, &b, p);
}
#else
static ptrdiff_t lp_whole_blocks(
    const float *x, uint8_t *scales, uint8_t *d, ptrdiff_t count, ptrdiff_t ahead, int quotients, ptrdiff_t block,
    int pack, const block_params_t *p
) {
    (void)x, (void)scales, (void)d, (void)count, (void)ahead, (void)quotients, (void)block, (void)pack, (void)p;
    return 0;
}
#endif
#endif
