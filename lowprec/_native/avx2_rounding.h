/* AVX2, groups of 64 elements rounded to 8 bits by any rule: fixed-point numbers in 32 bits, and their codes in words.

   The codes are those of the quick functions of rounding_elements.h, by the same steps. A group with an element that
   these leave to the whole rule is rounded again, element by element. */
#pragma once
#include <immintrin.h>
#include <stddef.h>

#include "rounding_elements.h"

#define LP_GROUP static inline __attribute__((always_inline))

enum { LP_FROM_FLOAT32, LP_FROM_UPPER16, LP_FROM_HALF16 };

typedef struct {
    __m256 factor;
    __m256i magnitude, smallest, one, increment, sign_difference, odd_bit, odd_increment, keep;
    __m256i kept, place; /* of a slot: the bits that count, and how far they are shifted */
    __m256i cap, cap_difference, rare, sign, below_negative, dwords;
    int by_sign, fits;
    const params_t *rule;
} lp_rounding;
typedef lp_rounding lp_random_rounding;

LP_GROUP lp_rounding lp_rounding_of(const params_t *p) {
    const uint32_t increment = (uint32_t)p->round_increment;
    lp_rounding w;
    w.rule = p;
    w.by_sign = p->round_odd_increment == 0;
    w.fits = p->round_rare < 0x7fff && p->round_cap < 0x7fff && p->round_cap_negative < 0x7fff && p->round_keep >= 16
        && p->round_code_offset == 0 && p->round_sign <= 1 << 7;
    w.factor = _mm256_castsi256_ps(_mm256_set1_epi32((int)p->round_factor));
    w.magnitude = _mm256_set1_epi32(0x7fffffff);
    w.smallest = _mm256_set1_epi32((int)p->round_smallest_normal);
    w.one = _mm256_set1_epi32(1);
    w.increment = _mm256_set1_epi32((int)increment);
    w.sign_difference = _mm256_set1_epi32((int)(increment ^ (uint32_t)p->round_increment_negative));
    w.odd_bit = _mm256_set1_epi32((int)p->round_odd_bit);
    w.odd_increment = _mm256_set1_epi32((int)p->round_odd_increment);
    w.keep = _mm256_set1_epi32((int)p->round_keep);
    w.kept = w.place = w.one;
    w.cap = _mm256_set1_epi16((short)p->round_cap);
    w.cap_difference = _mm256_set1_epi16((short)(p->round_cap ^ p->round_cap_negative));
    w.rare = _mm256_set1_epi16((short)p->round_rare);
    w.sign = _mm256_set1_epi16((short)p->round_sign);
    w.below_negative = _mm256_set1_epi16(p->round_unsigned_zero ? 0 : -1);
    w.dwords = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* from the order that packing 4 vectors leaves */
    return w;
}

/* What is always added has no lowest bit, and random bits begin above it: no bit has to be sticky. */
LP_GROUP lp_rounding lp_random_rounding_of(const params_t *p) {
    const uint32_t slot_bits = p->round_slot_bits, all = 0xffffffffu >> (32 - slot_bits);
    const int place = (int)p->round_random_shift - (int)p->round_slot_shift;
    lp_rounding w = lp_rounding_of(p);
    w.kept = _mm256_set1_epi32((int)(all >> p->round_slot_shift << p->round_slot_shift));
    w.place = _mm256_set1_epi32(slot_bits == 32 ? -place : place);
    w.fits &= w.by_sign && p->round_increment == p->round_increment_negative && (p->round_increment & 1) == 0
        && p->round_random_shift != 0 && (slot_bits == 32 ? place <= 0 : place >= 0);
    return w;
}

LP_GROUP __m256i lp_eight(int source, const void *s, ptrdiff_t i) {
    if (source == LP_FROM_FLOAT32) return _mm256_loadu_si256((const __m256i *)((const uint32_t *)s + i));
    const __m128i halves = _mm_loadu_si128((const __m128i *)((const uint16_t *)s + i));
    if (source == LP_FROM_UPPER16) return _mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
    return _mm256_castps_si256(_mm256_cvtph_ps(halves));
}

LP_GROUP __m256i lp_eight_slots(uint32_t slot_bits, const void *slots, ptrdiff_t i, const lp_rounding *w) {
    const char *at = (const char *)slots + i * (ptrdiff_t)slot_bits / 8;
    if (slot_bits == 32) {
        const __m256i word = _mm256_loadu_si256((const __m256i *)at);
        return _mm256_srlv_epi32(_mm256_and_si256(word, w->kept), w->place);
    }
    const __m256i slot = slot_bits == 16 ? _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)at))
                                         : _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)at));
    return _mm256_sllv_epi32(_mm256_and_si256(slot, w->kept), w->place);
}

/* Codes of 8 elements, not limited yet; slot_bits is 0 where no number is random. */
LP_GROUP __m256i lp_code_of_eight(
    __m256i x, int by_sign, uint32_t slot_bits, const void *slots, ptrdiff_t i, const lp_rounding *w
) {
    const __m256i magnitude = _mm256_and_si256(x, w->magnitude);
    const __m256i below = _mm256_min_epi32(magnitude, w->smallest);
    const __m256 scaled = _mm256_mul_ps(_mm256_castsi256_ps(below), w->factor);
    const __m256i whole = _mm256_cvttps_epi32(scaled);
    __m256i added, fixed;
    if (slot_bits) {
        fixed = _mm256_add_epi32(whole, _mm256_sub_epi32(magnitude, below));
        added = _mm256_add_epi32(w->increment, lp_eight_slots(slot_bits, slots, i, w));
    } else {
        const __m256 is_lost = _mm256_cmp_ps(_mm256_cvtepi32_ps(whole), scaled, _CMP_NEQ_UQ);
        const __m256i lost = _mm256_and_si256(_mm256_castps_si256(is_lost), w->one);
        fixed = _mm256_add_epi32(_mm256_or_si256(whole, lost), _mm256_sub_epi32(magnitude, below));
        if (by_sign) {
            added = _mm256_xor_si256(w->increment, _mm256_and_si256(_mm256_srai_epi32(x, 31), w->sign_difference));
        } else {
            const __m256i odd = _mm256_cmpeq_epi32(_mm256_and_si256(fixed, w->odd_bit), w->odd_bit);
            added = _mm256_add_epi32(w->increment, _mm256_and_si256(odd, w->odd_increment));
        }
    }
    return _mm256_srlv_epi32(_mm256_add_epi32(fixed, added), w->keep);
}

/* 32 codes; `largest` is that of all before a limit. */
LP_GROUP __m256i lp_round_32(
    int source, int by_sign, uint32_t slot_bits, const void *s, const void *slots, ptrdiff_t at, __m256i *largest,
    const lp_rounding *w
) {
    __m256i code[2];
    for (int j = 0; j < 2; j++) {
        const ptrdiff_t i = at + 16 * j;
        const __m256i x = lp_eight(source, s, i), y = lp_eight(source, s, i + 8);
        const __m256i first = lp_code_of_eight(x, by_sign, slot_bits, slots, i, w);
        const __m256i found = _mm256_packs_epi32(first, lp_code_of_eight(y, by_sign, slot_bits, slots, i + 8, w));
        const __m256i negative = _mm256_srai_epi16(_mm256_packs_epi32(x, y), 15);
        const __m256i cap = _mm256_xor_si256(w->cap, _mm256_and_si256(negative, w->cap_difference));
        const __m256i t = _mm256_min_epi16(found, cap);
        const __m256i has_sign = _mm256_and_si256(negative, _mm256_cmpgt_epi16(t, w->below_negative));
        *largest = _mm256_max_epi16(*largest, found);
        code[j] = _mm256_or_si256(t, _mm256_and_si256(has_sign, w->sign));
    }
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(code[0], code[1]), w->dwords);
}

/* The codes of 64 elements; 0 where one of them is rare: then they are no result. */
LP_GROUP int lp_round_64_quickly(
    int source, int by_sign, int packed, uint32_t slot_bits, const void *s, uint8_t *d, const void *slots,
    const lp_rounding *w
) {
    __m256i largest = _mm256_setzero_si256();
    const __m256i a = lp_round_32(source, by_sign, slot_bits, s, slots, 0, &largest, w);
    const __m256i b = lp_round_32(source, by_sign, slot_bits, s, slots, 32, &largest, w);
    if (packed) {
        const __m256i weights = _mm256_set1_epi16(0x1001);
        const __m256i both = _mm256_packus_epi16(_mm256_maddubs_epi16(a, weights), _mm256_maddubs_epi16(b, weights));
        _mm256_storeu_si256((__m256i *)d, _mm256_permute4x64_epi64(both, 0xd8));
    } else {
        _mm256_storeu_si256((__m256i *)d, a);
        _mm256_storeu_si256((__m256i *)(d + 32), b);
    }
    return _mm256_movemask_epi8(_mm256_cmpgt_epi16(largest, w->rare)) == 0;
}

static __attribute__((noinline)) void lp_round_each(
    int source, int packed, const void *s, uint8_t *d, const params_t *p
) {
    uint32_t bits[64];
    uint8_t codes[64];
    for (int i = 0; i < 64; i += 8) _mm256_storeu_si256((__m256i *)(bits + i), lp_eight(source, s, i));
    for (int i = 0; i < 64; i++) codes[i] = lp_round32_to8(bits[i], p);
    if (packed)
        for (int i = 0; i < 32; i++) d[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
    else memcpy(d, codes, 64);
}

/* n of them, 64 or fewer: what a group lacks is 0, which is no part of the result but for the half of a byte. */
LP_GROUP void lp_round_64(
    int source, int by_sign, int packed, const void *s, uint8_t *d, ptrdiff_t at, ptrdiff_t n, const lp_rounding *w
) {
    const ptrdiff_t size = source == LP_FROM_FLOAT32 ? 4 : 2;
    const char *from = (const char *)s + at * size;
    uint8_t *to = d + (packed ? at / 2 : at);
    uint32_t rest[64] = {0};
    uint8_t codes[64];
    if (n >= 64) {
        if (__builtin_expect(!lp_round_64_quickly(source, by_sign, packed, 0, from, to, NULL, w), 0))
            lp_round_each(source, packed, from, to, w->rule);
        return;
    }
    memcpy(rest, from, (size_t)(n * size));
    if (!lp_round_64_quickly(source, by_sign, packed, 0, rest, codes, NULL, w))
        lp_round_each(source, packed, rest, codes, w->rule);
    memcpy(to, codes, (size_t)(packed ? (n + 1) / 2 : n));
}

LP_GROUP int lp_stochastic_64(
    uint32_t slot_bits, const uint32_t *s, uint8_t *d, const void *slots, const lp_rounding *w
) {
    return lp_round_64_quickly(LP_FROM_FLOAT32, 1, 0, slot_bits, s, d, slots, w);
}
