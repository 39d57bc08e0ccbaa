/* AVX-512, groups of 64 elements rounded to 8 bits by any rule: in words where no number is random, else in float32.

   Both have the codes of the quick functions of rounding_elements.h. A group with an element that these leave to the
   whole rule is rounded again, element by element. */
#pragma once
#include "avx512.h"

#if LP_AVX512
#include "rounding_elements.h"

enum { LP_FROM_FLOAT32, LP_FROM_UPPER16, LP_FROM_HALF16 };

/* A word is made of a float32 as in avx512.h, and rounded as there: 7 kept bits, and 9 of fraction, the last ones
   sticky. Only what is added differs: `even` and `odd`, for the last kept bit, or for a sign where `by_sign`. */
typedef struct {
    __m512i start, fraction, hidden_bit, shift_range, shift, last_bit, even, odd, clamp, clamp_negative, rare;
    __m512i sign, least_negative, magnitude, one, up, down, lower_bytes, bytes, dwords;
    int by_sign, fits;
    const params_t *rule;
} lp_rounding;

LP_GROUP uint32_t lp_word_of_code(int code, const params_t *p) {
    return code == 0 ? 0 : (((uint32_t)code << p->round_keep) + (uint32_t)p->round_base) >> 16;
}

/* What is added to a word, less the one that VPAVGW adds. Where nothing is to be added, the one is below all that a
   fraction holds. */
LP_GROUP __m512i lp_added_to_word(uint32_t increment, const params_t *p) {
    const uint32_t scaled = increment >> (p->round_keep - 9);
    return _mm512_set1_epi16((short)(scaled != 0 ? scaled - 1 : 0));
}

LP_GROUP lp_rounding lp_rounding_of(const params_t *p) {
    const int mantissa_bits = 23 - (int)p->round_keep, left = mantissa_bits + 2;
    const uint32_t lowest = (uint32_t)p->round_smallest_normal >> 16;
    const int same_range = lowest == 0; /* the subnormals of the format are those of float32 */
    const int capped = p->round_rare != (int)p->round_largest;
    const uint32_t increment = (uint32_t)p->round_increment, odd_increment = (uint32_t)p->round_odd_increment;
    const int first_normal = same_range ? 1 : 1 << mantissa_bits, top = 127;
    const int cap = p->round_cap, negative = p->round_cap_negative;
    lp_rounding w;
    w.rule = p;
    w.by_sign = odd_increment == 0;
    w.fits = mantissa_bits <= 5 && p->round_rare >= (int)p->round_largest && p->round_code_offset == 0
        && (cap == 0 || cap >= first_normal) && (negative == 0 || negative >= first_normal) && cap <= top
        && negative <= top && (same_range || (int)(lowest >> 7) >= left) && p->round_sign <= 1 << 7;
    if (!w.fits) return w;
    w.start = _mm512_set1_epi16((short)(p->round_base >> 16));
    w.fraction = _mm512_set1_epi16((1 << 7) - 1);
    w.hidden_bit = _mm512_set1_epi16(same_range ? 0 : 1 << 7);
    w.shift_range = _mm512_set1_epi16(same_range ? 0 : 0xff);
    w.shift = _mm512_set1_epi16((short)(same_range ? left : left - 1));
    w.last_bit = _mm512_set1_epi16(1 << 9);
    w.even = lp_added_to_word(increment, p);
    w.odd = lp_added_to_word(w.by_sign ? (uint32_t)p->round_increment_negative : increment + odd_increment, p);
    w.clamp = _mm512_set1_epi16((short)lp_word_of_code(cap, p));
    w.clamp_negative = _mm512_set1_epi16((short)lp_word_of_code(negative, p));
    w.rare = _mm512_set1_epi16((short)(capped ? 0x7f7f : lp_word_of_code((int)p->round_largest, p)));
    w.sign = _mm512_set1_epi16((short)(p->round_sign << 8));
    w.least_negative = _mm512_set1_epi16(p->round_unsigned_zero ? 1 << 8 : 0);
    w.magnitude = _mm512_set1_epi16(0x7fff);
    w.one = _mm512_set1_epi16(1);
    w.up = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13));
    w.down = _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15));
    w.lower_bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15));
    w.bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15));
    w.dwords = lp_dwords();
    return w;
}

static __attribute__((noinline)) __m512i lp_round_each(lp_group x, const params_t *p) {
    uint32_t bits[64];
    uint8_t codes[64];
    for (int j = 0; j < 4; j++) _mm512_storeu_ps(bits + 16 * j, x.v[j]);
    for (int i = 0; i < 64; i++) codes[i] = lp_round32_to8(bits[i], p);
    return _mm512_loadu_si512(codes);
}

/* Below the range of a shift to the left the hidden bit stays where nothing but a sticky bit is; zero has none. */
LP_GROUP __m512i lp_round_group64(int by_sign, lp_group x, const lp_rounding *w) {
    __m512i code[2];
    __mmask32 rare = 0;
    for (int j = 0; j < 2; j++) {
        const __m512i p = _mm512_castps_si512(x.v[2 * j]), q = _mm512_castps_si512(x.v[2 * j + 1]);
        const __m512i h = _mm512_mask_shuffle_epi8(q, 0x3333333333333333ull, p, w->down);
        const __m512i low = _mm512_mask_shuffle_epi8(p, 0xccccccccccccccccull, q, w->up);
        const __m512i a = _mm512_ternarylogic_epi32(h, _mm512_min_epu16(low, w->one), w->magnitude, 0xa8);
        const __mmask32 negative = _mm512_movepi16_mask(h);
        const __m512i c = _mm512_min_epu16(a, _mm512_mask_mov_epi16(w->clamp, negative, w->clamp_negative));
        const __m512i y = _mm512_sub_epi16(c, w->start);
        const __m512i small = _mm512_ternarylogic_epi32(c, w->fraction, w->hidden_bit, 0xea);
        const __m512i shift = _mm512_add_epi16(_mm512_srai_epi16(_mm512_min_epi16(y, w->shift_range), 7), w->shift);
        const __m512i m = _mm512_maskz_sllv_epi16(
            _mm512_test_epi16_mask(c, c), _mm512_max_epi16(y, small), _mm512_max_epi16(shift, _mm512_setzero_si512()));
        const __mmask32 other = by_sign ? negative : _mm512_test_epi16_mask(m, w->last_bit);
        const __m512i t = _mm512_avg_epu16(m, _mm512_mask_mov_epi16(w->even, other, w->odd));
        rare |= _mm512_cmpgt_epu16_mask(a, w->rare);
        code[j] = _mm512_mask_mov_epi16(
            t, _mm512_mask_cmpge_epu16_mask(negative, t, w->least_negative), _mm512_or_si512(t, w->sign));
    }
    if (__builtin_expect(rare != 0, 0)) return lp_round_each(x, w->rule);
    const __m512i mixed = _mm512_mask_shuffle_epi8(code[1], 0x5555555555555555ull, code[0], w->lower_bytes);
    return _mm512_permutexvar_epi32(w->dwords, _mm512_shuffle_epi8(mixed, w->bytes));
}

LP_GROUP void lp_round_64(
    int source, int by_sign, int packed, const void *s, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_rounding *w
) {
    const lp_group x = source == LP_FROM_UPPER16 ? lp_load_upper16((const uint16_t *)s, at, n, NULL)
                       : source == LP_FROM_HALF16 ? lp_load_half16((const uint16_t *)s, at, n, NULL)
                                                  : lp_load_float32((const uint32_t *)s, at, n, NULL);
    const __m512i codes = lp_round_group64(by_sign, x, w);
    if (packed) lp_store_packed(d, at, n, codes);
    else lp_store(d + at, n, codes);
}

/* With random numbers, which are added to fixed-point numbers of 32 bits. What is always added has no lowest bit, which
   is why none has to be sticky; it is added before the fraction below is dropped. */
typedef struct {
    __m512 factor, increment;
    __m512i magnitude, smallest, kept, turn, cap, cap_negative, rare, sign, least_negative, dwords;
    __m128i keep;
    int fits;
    const params_t *rule;
} lp_random_rounding;

LP_GROUP lp_random_rounding lp_random_rounding_of(const params_t *p) {
    const uint32_t increment = (uint32_t)p->round_increment, slot_bits = p->round_slot_bits;
    const uint32_t all = 0xffffffffu >> (32 - slot_bits), kept = all >> p->round_slot_shift << p->round_slot_shift;
    lp_random_rounding w;
    w.rule = p;
    w.fits = p->round_odd_increment == 0 && p->round_increment == p->round_increment_negative && (increment & 1) == 0
        && p->round_random_shift != 0 && p->round_rare < 0x7fff && p->round_keep >= 17;
    w.factor = _mm512_castsi512_ps(_mm512_set1_epi32((int)p->round_factor));
    w.increment = _mm512_set1_ps((float)increment);
    w.magnitude = _mm512_set1_epi32(0x7fffffff);
    w.smallest = _mm512_set1_epi32((int)p->round_smallest_normal);
    w.kept = _mm512_set1_epi32((int)kept);
    w.turn = _mm512_set1_epi32((int)(p->round_random_shift - p->round_slot_shift) & 31);
    w.keep = _mm_cvtsi32_si128((int)p->round_keep);
    w.cap = _mm512_set1_epi16((short)p->round_cap);
    w.cap_negative = _mm512_set1_epi16((short)p->round_cap_negative);
    w.rare = _mm512_set1_epi16((short)p->round_rare);
    w.sign = _mm512_set1_epi16((short)p->round_sign);
    w.least_negative = _mm512_set1_epi16(p->round_unsigned_zero ? 1 : 0);
    w.dwords = lp_dwords();
    return w;
}

LP_GROUP __m512i lp_load_slots(uint32_t slot_bits, const void *slots, int j) {
    if (slot_bits == 8) return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)slots + j));
    if (slot_bits == 16) return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)slots + j));
    return _mm512_loadu_si512((const __m512i *)slots + j);
}

/* 64 codes, with the slots of their elements; 0 where one of them is rare: then they are no result. */
LP_GROUP int lp_stochastic_64(
    uint32_t slot_bits, const uint32_t *s, uint8_t *d, const void *slots, const lp_random_rounding *w
) {
    __m512i fixed[4], x[4], code[2];
    __mmask32 rare = 0;
    for (int j = 0; j < 4; j++) {
        const __m512i kept = _mm512_and_si512(lp_load_slots(slot_bits, slots, j), w->kept);
        const __m512i random = _mm512_rolv_epi32(kept, w->turn);
        x[j] = _mm512_loadu_si512(s + 16 * j);
        const __m512i magnitude = _mm512_and_si512(x[j], w->magnitude);
        const __m512i below = _mm512_min_epi32(magnitude, w->smallest);
        const __m512 sum = _mm512_fmadd_round_ps(
            _mm512_castsi512_ps(below), w->factor, w->increment, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        const __m512i above = _mm512_add_epi32(_mm512_sub_epi32(magnitude, below), random);
        fixed[j] = _mm512_srl_epi32(_mm512_add_epi32(_mm512_cvttps_epi32(sum), above), w->keep);
    }
    for (int j = 0; j < 2; j++) {
        const __mmask32 negative = _mm512_movepi16_mask(_mm512_packs_epi32(x[2 * j], x[2 * j + 1]));
        const __m512i found = _mm512_packs_epi32(fixed[2 * j], fixed[2 * j + 1]);
        const __m512i t = _mm512_min_epi16(found, _mm512_mask_mov_epi16(w->cap, negative, w->cap_negative));
        rare |= _mm512_cmpgt_epi16_mask(found, w->rare);
        code[j] = _mm512_mask_mov_epi16(
            t, _mm512_mask_cmpge_epi16_mask(negative, t, w->least_negative), _mm512_or_si512(t, w->sign));
    }
    _mm512_storeu_si512(d, _mm512_permutexvar_epi32(w->dwords, _mm512_packus_epi16(code[0], code[1])));
    return rare == 0;
}
#endif
