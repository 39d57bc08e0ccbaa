/* Groups of float32 rounded to codes of 8 and of 16 bits by any rule, with random numbers and without: once, for every
   instruction set of vectors.h.

   The codes are those of the quick functions of scalar_kernels.h, by the same steps. A group with an element that
   these leave to the whole rule is rounded again, element by element. */
#pragma once
#include "philox.h"
#include "scalar_kernels.h"
#include "vector_kernels/cast.h"

#if LP_VECTORS

/* `plain`: words are enough, in which a code has 7 kept bits and 9 of fraction, the last one sticky. Else, and with random
   numbers, a code and its fraction are a fixed-point number in 32 bits; or each has 32 bits (`fine`). */
typedef struct {
    lp_words start, hidden_bit, least_shift, shift_range, shift, even, odd, beyond, sign, below_negative;
    lp_words cap, cap_difference; /* the largest code, or word; what it has not in common with that of negative numbers */
    lp_floats factor, counts;
    lp_ints smallest, keep, left, increment, increment_difference, odd_bit, odd_increment, rare;
    lp_ints kept, place; /* of a slot: the bits that count, and how far they are shifted */
    int fits, plain, by_sign, is_odd, is_sticky;
    const params_t *rule;
} lp_rounding;

LP_VECTOR u32 lp_word_of_code(int code, const params_t *p) {
    return code == 0 ? 0 : (((u32)code << p->round_keep) + (u32)p->round_base) >> 16;
}

/* What is added to a word, less the one that an average adds. Where nothing is to be added, the one is below all that a
   fraction holds. */
LP_VECTOR lp_words lp_added_to_word(u32 increment, const params_t *p) {
    const u32 scaled = increment >> (p->round_keep - 9);
    return words_all(scaled != 0 ? scaled - 1 : 0);
}

/* For rules whose codes have a sign of their own, or none. */
LP_VECTOR lp_rounding lp_rounding_of(const params_t *p, int bits) {
    const int highest = bits == 8 ? 1 << 7 : 1 << 15;
    const u32 increment = (u32)p->round_increment;
    lp_rounding w;
    w.rule = p;
    w.by_sign = p->round_odd_increment == 0;
    w.is_odd = !w.by_sign;
    w.is_sticky = w.is_odd || ((increment | (u32)p->round_increment_negative) & 1);
    w.plain = 0;
    w.fits = p->round_cap <= 0x7fff && p->round_cap_negative <= 0x7fff && p->round_code_offset == 0
        && p->round_sign <= (u64)highest && (bits == 16 || p->round_rare < 0x7fff);
    w.factor = floats_of_bits(ints_all((u32)p->round_factor));
    w.smallest = ints_all((u32)p->round_smallest_normal);
    w.keep = ints_all(p->round_keep);
    w.increment = ints_all(increment);
    w.increment_difference = ints_all(increment ^ (u32)p->round_increment_negative);
    w.odd_bit = ints_all((u32)p->round_odd_bit);
    w.odd_increment = ints_all((u32)p->round_odd_increment);
    w.rare = ints_all((u32)p->round_rare);
    w.beyond = words_all((u32)p->round_rare);
    w.cap = words_all((u32)p->round_cap);
    w.cap_difference = words_all((u32)(p->round_cap ^ p->round_cap_negative));
    w.sign = words_all((u32)p->round_sign);
    w.below_negative = words_all(p->round_unsigned_zero ? 0 : 0xffff);
    return w;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

LP_VECTOR void lp_prepare_words(lp_rounding *w) {
    const params_t *p = w->rule;
    const int mantissa_bits = 23 - (int)p->round_keep, left = mantissa_bits + 2;
    const u32 lowest = (u32)p->round_smallest_normal >> 16;
    const int same_range = lowest == 0; /* the subnormals of the format are those of float32 */
    const int capped = p->round_rare != (int)p->round_largest;
    const u32 increment = (u32)p->round_increment, odd_increment = (u32)p->round_odd_increment;
    const int first_normal = same_range ? 1 : 1 << mantissa_bits, top = 127, shift = same_range ? left : left - 1;
    const int cap = p->round_cap, negative = p->round_cap_negative;
    w->plain = w->fits && mantissa_bits <= 5 && p->round_rare >= (int)p->round_largest
        && (cap == 0 || cap >= first_normal) && (negative == 0 || negative >= first_normal) && cap <= top
        && negative <= top && (same_range || (int)(lowest >> 7) >= left);
    if (!w->plain) return;
    w->start = words_all((u32)p->round_base >> 16);
    w->hidden_bit = words_all(same_range ? 0 : 1 << 7);
    w->least_shift = words_all(-(u32)shift << 7);
    w->shift_range = words_all(same_range ? 0 : 0xff);
    w->shift = words_all((u32)shift | LP_SHIFT_FLAG);
    w->even = lp_added_to_word(increment, p);
    w->odd = lp_added_to_word(w->by_sign ? (u32)p->round_increment_negative : increment + odd_increment, p);
    w->cap = words_all(lp_word_of_code(cap, p));
    w->cap_difference = words_all(lp_word_of_code(cap, p) ^ lp_word_of_code(negative, p));
    w->beyond = words_all(capped ? 0x7f7f : lp_word_of_code((int)p->round_largest, p));
    w->sign = words_all((u32)p->round_sign << 8);
    w->below_negative = words_all(p->round_unsigned_zero ? 0xff : 0xffff);
}

/* A code with the sign of `h`, but for a zero that has none. */
LP_VECTOR lp_words lp_signed_words(lp_words code, lp_word_mask negative, const lp_rounding *w) {
    const lp_words sign = words_where(words_greater_signed(code, w->below_negative), w->sign);
    return bits_or(code, words_where(negative, sign));
}

/* Codes, in the upper bytes of words, of magnitudes `a`; `h` has their signs. A word is made and shifted as by
   lp_code_words, but by no less than 0: there the hidden bit stays where nothing but a sticky bit is. Only what is added
   differs: `even` and `odd`, for the last kept bit, or for a sign. */
LP_VECTOR lp_words lp_rounded_words(lp_words a, lp_words h, const lp_rounding *w) {
    const lp_word_mask negative = words_are_negative(h);
    const lp_words c = words_min(a, bits_xor(w->cap, words_where(negative, w->cap_difference)));
    const lp_words y = words_subtract(c, w->start);
    const lp_words small = bits_or(bits_and(c, words_all((1 << 7) - 1)), words_min(c, w->hidden_bit));
    const lp_words exponent = words_max_signed(words_min_signed(y, w->shift_range), w->least_shift);
    const lp_words shift = words_add(words_shift_right_signed(exponent, 7), w->shift);
    const lp_words m = words_shift_left_each(words_max_signed(y, small), shift);
    const lp_words added = w->by_sign ? words_select(negative, w->odd, w->even)
                                      : words_select(words_have(m, words_all(1 << 9)), w->odd, w->even);
    return lp_signed_words(words_average(m, added), negative, w);
}

/* ---- in integers ------------------------------------------------------------------------------------------------- */

/* Of a fine rounding they are the upper ones. */
LP_VECTOR lp_ints lp_random_bits(int fine, u32 slot_bits, const void *slots, ptrdiff_t i, const lp_rounding *w) {
    if (slot_bits == 32) {
        const lp_ints kept = bits_and(ints_load((const u32 *)slots + i), w->kept);
        return fine ? kept : ints_shift_right_by(kept, w->place);
    }
    const lp_ints slot = slot_bits == 16 ? ints_load_words((const uint16_t *)slots + i)
                                         : ints_load_bytes((const uint8_t *)slots + i);
    return ints_shift_left_by(bits_and(slot, w->kept), w->place);
}

/* As lp_code_from32; slot_bits is 0 where no number is random. */
LP_VECTOR lp_ints lp_fixed_codes(lp_floats x, u32 slot_bits, const void *slots, ptrdiff_t i, const lp_rounding *w) {
    const lp_ints bits = bits_of_floats(x), magnitude = bits_and(bits, ints_all(~LP_SIGN));
    const lp_ints below = ints_min_signed(magnitude, w->smallest), above = ints_subtract(magnitude, below);
    const lp_floats scaled = floats_multiply(floats_of_bits(below), w->factor);
    lp_ints whole = ints_truncated(scaled), fixed, added = w->increment;
    if (w->is_sticky) {
        whole = bits_or(whole, ints_where(floats_differ(floats_of_ints(whole), scaled), ints_all(1)));
    }
    fixed = ints_add(whole, above);
    if (w->is_odd) {
        const lp_int_mask odd = ints_have(fixed, w->odd_bit);
        added = ints_add(added, ints_where(odd, w->odd_increment));
    } else if (!slot_bits) {
        added = bits_xor(added, ints_where(ints_are_negative(bits), w->increment_difference));
    }
    if (slot_bits) added = ints_add(added, lp_random_bits(0, slot_bits, slots, i, w));
    return ints_shift_right_by(ints_add(fixed, added), w->keep);
}

/* As lp_fine_code_from32. A sum that is 2**32 or more is found by a comparison of what is added with what it may at most
   be; that is of signed numbers, the sign bit of either flipped: by a constant in `increment`. */
LP_VECTOR lp_ints lp_fine_codes(lp_floats x, u32 slot_bits, const void *slots, ptrdiff_t i, const lp_rounding *w) {
    const lp_ints magnitude = bits_and(bits_of_floats(x), ints_all(~LP_SIGN));
    const lp_ints below = ints_min_signed(magnitude, w->smallest), above = ints_subtract(magnitude, below);
    const lp_floats scaled = floats_multiply(floats_of_bits(below), w->factor);
    const lp_ints whole = ints_truncated(scaled), code = ints_add(whole, ints_shift_right_by(above, w->keep));
    const lp_floats part = floats_subtract(scaled, floats_of_ints(whole)), one = floats_all(1);
    const lp_ints upper = ints_where(floats_at_least(part, floats_all(0.5f)), bits_of_floats(one));
    const lp_floats units = floats_multiply(floats_subtract(part, floats_of_bits(upper)), floats_all(0x1p32f));
    const lp_ints counted = ints_truncated(units);
    const lp_ints fraction = bits_or(counted, ints_shift_left_by(above, w->left));
    lp_ints rounded = fraction;
    if (w->is_sticky) {
        const lp_floats rest = floats_subtract(units, floats_of_ints(counted));
        rounded = ints_increment_where(floats_at_least(rest, w->counts), fraction);
        if (w->is_odd) {
            const lp_int_mask odd = ints_have(fraction, w->odd_bit);
            rounded = ints_select(odd, ints_add(fraction, ints_all(1)), rounded);
        }
    }
    const lp_ints added = ints_add(lp_random_bits(1, slot_bits, slots, i, w), w->increment);
    return ints_increment_where(ints_greater_signed(added, bits_xor(rounded, ints_all(~LP_SIGN))), code);
}

/* Codes of two vectors, limited and with their signs, in the order that packing leaves. `bits` of the target: those of 8
   are compared in words with what is rare, of which `largest` has the largest; larger ones before, by signs in `rare`. */
LP_VECTOR lp_words lp_two_codes(
    int bits, lp_floats x, lp_floats y, lp_ints p, lp_ints q, lp_words *largest, lp_ints *rare, const lp_rounding *w
) {
    const lp_word_mask negative = words_are_negative(words_packed(bits_of_floats(x), bits_of_floats(y)));
    const lp_words found = words_packed(p, q);
    if (bits == 8) *largest = words_max_signed(*largest, found);
    else *rare = bits_or(*rare, bits_or(ints_subtract(w->rare, p), ints_subtract(w->rare, q)));
    const lp_words limit = bits_xor(w->cap, words_where(negative, w->cap_difference));
    const lp_words code = words_min_signed(found, limit);
    return lp_signed_words(code, negative, w);
}

/* The codes of a group, two vectors of them; 0 where one of them is rare: then they are no result. */
LP_VECTOR int lp_round_integers(
    int bits, int fine, u32 slot_bits, const lp_float_group *x, const void *slots, lp_words code[2], const lp_rounding *w
) {
    lp_words largest = words_all(0);
    lp_ints rare = ints_all(0), found[4];
    for (int j = 0; j < 4; j++)
        found[j] = fine ? lp_fine_codes(x->v[j], slot_bits, slots, LP_LANES * j, w)
                        : lp_fixed_codes(x->v[j], slot_bits, slots, LP_LANES * j, w);
    for (int j = 0; j < 2; j++)
        code[j] = lp_two_codes(
            bits, x->v[2 * j], x->v[2 * j + 1], found[2 * j], found[2 * j + 1], &largest, &rare, w);
    if (bits == 8) return !words_any(words_greater_signed(largest, w->beyond));
    return !ints_any(ints_are_negative(rare));
}
LP_VECTOR lp_bytes lp_bytes_of_codes(const lp_words code[2]) {
    return bytes_packed_in_order(bytes_packed_unsigned(code[0], code[1]));
}
LP_VECTOR void lp_store_codes16(uint16_t *d, const lp_words code[2]) {
    for (int j = 0; j < 2; j++) bits_store(d + 2 * LP_LANES * j, words_packed_in_order(code[j]));
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

LP_VECTOR lp_rounding lp_writer_of_any_rule8(const params_t *p) {
    lp_rounding w = lp_rounding_of(p, 8);
    lp_prepare_words(&w);
    return w;
}
LP_VECTOR lp_rounding lp_writer_of_any_rule16(const params_t *p) { return lp_rounding_of(p, 16); }

/* By the whole rule. `x` is a copy: what loops have in registers has no address. */
static __attribute__((noinline)) lp_bytes lp_round_each(const lp_float_group *x, const params_t *p) {
    u32 bits[LP_WIDTH];
    uint8_t codes[LP_WIDTH];
    for (int j = 0; j < 4; j++) floats_store(bits + LP_LANES * j, x->v[j]);
    for (int i = 0; i < LP_WIDTH; i++) codes[i] = lp_round32_to8(bits[i], p);
    return bytes_load(codes);
}
static __attribute__((noinline)) void lp_round_each_to16(const lp_float_group *x, uint16_t *codes, const params_t *p) {
    u32 bits[LP_WIDTH];
    for (int j = 0; j < 4; j++) floats_store(bits + LP_LANES * j, x->v[j]);
    for (int i = 0; i < LP_WIDTH; i++) codes[i] = lp_round32_to16(bits[i], p);
}

LP_VECTOR int lp_any_beyond(lp_words a, lp_words b, const lp_rounding *w) {
    return words_any(words_greater_signed(words_max_signed(a, b), w->beyond));
}

LP_VECTOR lp_bytes lp_any_rule8(int plain, lp_float_group x, const lp_rounding *w) {
    lp_words code[2], a[2];
    lp_bytes codes;
    int is_rare;
    if (plain) {
        for (int j = 0; j < 2; j++) {
            const lp_words h = lp_sticky_words(bits_of_floats(x.v[2 * j]), bits_of_floats(x.v[2 * j + 1]));
            a[j] = bits_and(h, words_all(0x7fff));
            code[j] = lp_rounded_words(a[j], h, w);
        }
        is_rare = lp_any_beyond(a[0], a[1], w);
        codes = bytes_of_mixed_words(code[0], code[1]);
    } else {
        is_rare = !lp_round_integers(8, 0, 0, &x, NULL, code, w);
        codes = lp_bytes_of_codes(code);
    }
    if (LP_RARELY(is_rare)) {
        const lp_float_group again = x;
        codes = lp_round_each(&again, w->rule);
    }
    return codes;
}
LP_VECTOR void lp_write_any_rule8(int plain, lp_float_group x, uint8_t *d, const lp_rounding *w) {
    bits_store(d, lp_any_rule8(plain, x, w));
}
LP_VECTOR void lp_write_packed_any_rule8(int plain, lp_float_group x, uint8_t *d, const lp_rounding *w) {
    bytes_store_pairs(d, lp_any_rule8(plain, x, w));
}

/* Upper halves of float32 are words already. */
#define lp_reader_of_upper_halves lp_reader_of_float32
LP_VECTOR lp_halves_group lp_read_upper_halves(int plain, const uint16_t *s, const lp_reader *r) {
    lp_halves_group x;
    (void)plain, (void)r;
    for (int j = 0; j < 2; j++) {
        x.h[j] = words_load(s + 2 * LP_LANES * j);
        x.a[j] = bits_and(x.h[j], words_all(0x7fff));
    }
    return x;
}
LP_VECTOR lp_float_group lp_floats_of_halves(lp_halves_group x) {
    uint16_t halves[LP_WIDTH];
    for (int j = 0; j < 2; j++) bits_store(halves + 2 * LP_LANES * j, x.h[j]);
    return lp_read_upper16(0, halves, NULL);
}
LP_VECTOR lp_bytes lp_any_rule8_of_halves(int plain, lp_halves_group x, const lp_rounding *w) {
    lp_words code[2];
    if (!plain) return lp_any_rule8(0, lp_floats_of_halves(x), w);
    for (int j = 0; j < 2; j++) code[j] = lp_rounded_words(x.a[j], x.h[j], w);
    if (LP_RARELY(lp_any_beyond(x.a[0], x.a[1], w))) {
        const lp_float_group again = lp_floats_of_halves(x);
        return lp_round_each(&again, w->rule);
    }
    return bytes_of_upper_halves(code[0], code[1]);
}
LP_VECTOR void lp_write_any_rule8_of_halves(int plain, lp_halves_group x, uint8_t *d, const lp_rounding *w) {
    bits_store(d, lp_any_rule8_of_halves(plain, x, w));
}
LP_VECTOR void lp_write_packed_any_rule8_of_halves(int plain, lp_halves_group x, uint8_t *d, const lp_rounding *w) {
    bytes_store_pairs(d, lp_any_rule8_of_halves(plain, x, w));
}

LP_VECTOR void lp_write_any_rule16(int plain, lp_float_group x, uint16_t *d, const lp_rounding *w) {
    lp_words code[2];
    (void)plain;
    if (LP_RARELY(!lp_round_integers(16, 0, 0, &x, NULL, code, w))) {
        const lp_float_group again = x;
        lp_round_each_to16(&again, d, w->rule);
    } else {
        lp_store_codes16(d, code);
    }
}

/* With random numbers: whether no code of a group is rare. */
LP_VECTOR lp_rounding lp_random_rounding_of(const params_t *p, int bits, int fine) {
    const u32 slot_bits = p->round_slot_bits, all = 0xffffffffu >> (32 - slot_bits);
    const int place = (int)p->round_random_shift - (int)p->round_slot_shift - (fine ? 1 : 0);
    lp_rounding w = lp_rounding_of(p, bits);
    w.kept = ints_all(all >> p->round_slot_shift << p->round_slot_shift);
    w.place = ints_all((u32)(slot_bits == 32 ? -place : place));
    if (fine) {
        w.left = ints_all(32 - p->round_keep);
        w.counts = floats_of_bits(ints_all(w.is_odd ? 1 : 0x3f000000)); /* anything, or half a unit */
        w.increment = ints_all(((u32)p->round_increment >> 1) ^ LP_SIGN);
        w.odd_bit = ints_all((u32)(p->round_odd_bit >> 1));
        w.is_sticky = (int)p->round_increment & 1;
    }
    w.fits &= p->round_increment == p->round_increment_negative && (slot_bits == 32 ? place <= 0 : place >= 0);
    return w;
}
LP_VECTOR int lp_stochastic_group(
    int bits, int fine, u32 slot_bits, const u32 *s, void *d, const void *slots, const lp_rounding *w
) {
    const lp_float_group x = lp_read_float32(0, s, NULL);
    lp_words code[2];
    const int done = lp_round_integers(bits, fine, slot_bits, &x, slots, code, w);
    if (bits == 8) bits_store(d, lp_bytes_of_codes(code));
    else lp_store_codes16((uint16_t *)d, code);
    return done;
}

#else
typedef struct { int fits, plain; } lp_rounding;
#endif
