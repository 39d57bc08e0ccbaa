/* MX blocks of 32 and NVFP4 blocks of 16 elements that follow each other, many at a time: once, for every instruction
   set of vectors.h. scalar_block_kernels.h says what each step is. */
#pragma once
#include "scalar_block_kernels.h"
#include "vector_kernels/quantize.h"
#include "vector_kernels/round.h"

/* The kinds of scales: powers of two, quotients by which elements are divided, those with whose inverse they are
   multiplied. */
#define LP_POWERS 0
#define LP_QUOTIENTS 1
#define LP_PRODUCTS 2

#if LP_VECTORS
enum { LP_AHEAD = 2048 }; /* elements from those that are quantized to those that are prefetched */

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* What rounds words as lp_writer has them; NaN does not come here. `added` is what a positive number with an even code
   has added before it is cut off; for the others the bits of `odd` and of `negative` are changed. `integers`: codes
   are two's complement numbers. `drops`: a code of -0 becomes 0. */
typedef struct {
    lp_writer words;
    lp_words added, odd, negative, sign, zero_sign;
    lp_bytes negative_zero;
    int sign_shift, fits, even, drops, integers;
} lp_block_writer;

/* What is added below the last of `keep` bits, for 9 bits; the sign bit where there is no such number. */
LP_VECTOR u32 lp_word_increment(u32 increment, u32 keep) {
    const u32 half = 1u << keep >> 1;
    return increment == 0 ? 0 : increment == half - 1 ? 0xff : increment == half ? 0x100
        : increment == 2 * half - 1 ? 0x1ff : LP_SIGN;
}

LP_VECTOR lp_block_writer lp_block_writer_of(const block_params_t *p, int integers, int negative_zero) {
    const u32 first = p->increment, other = first + p->increment_change;
    const u32 added = lp_word_increment(first, p->keep), odd = lp_word_increment(first + p->odd_increment, p->keep);
    const u32 negative = lp_word_increment(other, p->keep);
    const u32 both = lp_word_increment(other + p->odd_increment, p->keep);
    const u32 exponent = ((u32)p->smallest_normal >> 23) + p->keep; /* of the number that rounds subnormals when added */
    lp_block_writer b;
    params_t t;
    memset(&t, 0, sizeof t);
    t.clamp = p->most;
    t.smallest_normal = p->smallest_normal;
    t.dropped_bits = p->keep;
    t.rounder_offset = (p->keep << 23) + ((0u - (exponent << (23 - p->keep))) & 0xff);
    t.nan_above = 0x7fffffff;
    t.nan_code = ((u32)p->most - (u32)p->smallest_normal + LP_HIDDEN_BIT) >> p->keep; /* the largest */
    t.sign_bit = p->sign_mask;
    t.sign_limit = -1;
    b.words = lp_writer_of_float8(&t);
    b.added = words_all(added);
    b.odd = words_all(added ^ odd);
    b.negative = words_all(added ^ negative);
    b.sign_shift = (int)p->sign_shift - 24;
    b.sign = words_all(p->sign_mask << 8);
    b.zero_sign = words_all(p->zero_sign);
    b.negative_zero = bytes_all((u32)negative_zero);
    b.drops = negative_zero >= 0;
    b.integers = integers;
    b.even = added == 0xff && odd == 0x100 && p->increment_change == 0 && p->odd_bit == p->keep
        && (integers || b.words.adds == LP_ADDS_TO_ROUND);
    b.fits = p->sign_mask != 0 && (integers ? b.even : b.words.fits)
        && (p->smallest_normal > (i32)LP_HIDDEN_BIT || integers) && (p->odd_increment == 0 || p->odd_bit == p->keep)
        && ((added | odd | negative | both) & LP_SIGN) == 0 && (added ^ odd ^ negative) == both;
    return b;
}

/* As lp_code_words, rounded by any rule that takes no random numbers (not `even`). `lowest` is 0 where the element is,
   and 1 elsewhere: what is left of numbers far below the smallest element. */
LP_VECTOR lp_words lp_block_words(lp_words a, lp_words h, lp_words lowest, const lp_block_writer *b, int even) {
    const lp_words fixed = lp_fixed_words(a, &b->words);
    const lp_words sign = bits_and(words_shift_right(h, b->sign_shift), b->sign);
    if (even) {
        const lp_words half = bits_or(bits_and(words_shift_right(fixed, 9), words_all(1)), words_all((1 << 8) - 2));
        return bits_or(words_average(fixed, half), sign);
    }
    const lp_words none = words_all(0), m = words_max(fixed, lowest);
    const lp_words odd = words_subtract(none, bits_and(words_shift_right(m, 9), words_all(1)));
    const lp_words negative = bits_and(words_shift_right_signed(h, 15), b->negative);
    const lp_words added = bits_xor(b->added, bits_xor(bits_and(odd, b->odd), negative));
    const lp_words is_there = bits_or(b->zero_sign, words_subtract(none, words_min(a, words_all(1))));
    return bits_or(words_shift_right(words_add(m, added), 1), bits_and(sign, is_there));
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

LP_VECTOR lp_ints lp_magnitudes_at(const float *x) { return bits_and(ints_load(x), ints_all(~LP_SIGN)); }

/* The largest magnitude of each of LP_LANES blocks. */
LP_VECTOR lp_ints lp_largest_of_blocks(int block, const float *x) {
    lp_ints m[LP_LANES];
    for (int i = 0; i < LP_LANES; i++) {
        m[i] = lp_magnitudes_at(x + block * i);
        for (int j = LP_LANES; j < block; j += LP_LANES)
            m[i] = ints_max_signed(m[i], lp_magnitudes_at(x + block * i + j));
    }
    return ints_largest_of_each(m);
}

LP_VECTOR lp_ints lp_power_scales(lp_ints largest, const block_params_t *p) {
    const lp_floats lifted = floats_multiply(floats_of_bits(largest), floats_all(0x1p23f));
    const lp_ints normalized = ints_subtract(bits_of_floats(lifted), ints_all(23u << 23));
    const lp_int_mask is_small = ints_greater_signed(ints_all(LP_HIDDEN_BIT), largest);
    const lp_ints sum = ints_add(ints_select(is_small, normalized, largest), ints_all((u32)p->rule_addend));
    const lp_ints code = ints_subtract(ints_shift_right_signed(sum, 23), ints_all((u32)p->rule_offset));
    return ints_min_signed(ints_max_signed(code, ints_all(0)), ints_all(254));
}
LP_VECTOR lp_floats lp_power_factors(lp_ints codes) {
    const lp_ints bits = ints_shift_left(ints_subtract(ints_all(254), codes), 23);
    return floats_of_bits(ints_select(ints_equal(codes, ints_all(254)), ints_all(LP_HIDDEN_BIT >> 1), bits));
}

/* Floats that are not negative are compared by their bits. */
LP_VECTOR lp_ints lp_quotient_scales(lp_ints largest, const block_params_t *p) {
    const lp_ints one = ints_all(1);
    const lp_floats product = floats_multiply(floats_of_bits(largest), floats_all(p->largest_factor));
    const lp_floats first = floats_divide(product, floats_all(p->first_divisor));
    const lp_ints over = bits_of_floats(floats_divide(first, floats_all(p->second_divisor)));
    const lp_ints quotient = ints_select(ints_equal(over, ints_all(0)), ints_all(lp_bits(p->quotient_of_0)), over);
    const lp_ints limited = ints_min_signed(quotient, ints_all(lp_bits(p->scale_most)));
    const lp_ints bits = ints_max_signed(limited, ints_all(lp_bits(p->scale_least)));
    const lp_ints low = ints_min_signed(bits, ints_all((u32)p->scale_normal));
    const lp_floats scaled = floats_multiply(floats_of_bits(low), floats_all(p->scale_factor));
    const lp_ints whole = ints_truncated(scaled), kept = bits_of_floats(floats_of_ints(whole));
    const lp_ints lost = ints_select(ints_equal(kept, bits_of_floats(scaled)), ints_all(0), one);
    const lp_ints fixed = ints_add(bits_or(whole, lost), ints_subtract(bits, low));
    const lp_ints odd = bits_and(ints_shift_right(fixed, p->scale_keep), one);
    const lp_ints half = ints_all((1u << p->scale_keep >> 1) - 1);
    const lp_ints codes = ints_shift_right(ints_add(ints_add(fixed, half), odd), p->scale_keep);
    return ints_max_signed(codes, ints_min_signed(largest, ints_all((u32)p->scale_code_least)));
}
LP_VECTOR lp_floats lp_whole_scales(lp_ints codes, const block_params_t *p) {
    const lp_floats moved = floats_of_bits(ints_shift_left(codes, p->scale_keep));
    return floats_multiply(floats_all(p->scale_unit), floats_multiply(moved, floats_all(p->scale_value)));
}
LP_VECTOR lp_floats lp_quotient_factors(lp_ints codes, const block_params_t *p) {
    const lp_ints divisor = bits_of_floats(lp_whole_scales(codes, p));
    return floats_of_bits(ints_select(ints_equal(divisor, ints_all(0)), ints_all(LP_INF), divisor));
}
LP_VECTOR lp_floats lp_product_factors(lp_ints codes, const block_params_t *p) {
    return floats_min(floats_divide(floats_all(p->factor_unit), lp_whole_scales(codes, p)), floats_all(p->factor_most));
}

/* Both parts of reciprocals (quantize.h), by which quotients may be found where all are in reach: what is known of them
   concerns ties to even. A block of zeros has divisor 1 then. */
LP_VECTOR int lp_blocks_in_reach(lp_ints largest, lp_floats divisor, lp_split *by) {
    const lp_floats one = floats_all(1);
    const lp_int_mask zeros = ints_equal(largest, ints_all(0));
    const lp_floats scale = floats_of_bits(ints_select(zeros, bits_of_floats(one), bits_of_floats(divisor)));
    by->high = floats_divide(one, scale);
    const lp_floats rest = floats_subtract_product(one, by->high, scale);
    by->low = floats_multiply_add(rest, by->high, floats_multiply(rest, floats_multiply(rest, by->high)));
    const lp_floats most = floats_multiply(floats_of_bits(largest), by->high);
    const lp_ints factors = ints_max_signed(bits_of_floats(by->high), bits_of_floats(scale));
    return !ints_any(ints_greater_signed(bits_of_floats(most), ints_all(lp_bits(LP_FAR) - 1)))
        && !ints_any(ints_greater_signed(factors, ints_all(lp_bits(LP_REACH))));
}

/* ---- some blocks ------------------------------------------------------------------------------------------------- */

enum { LP_BY_FACTOR, LP_BY_SPLIT, LP_BY_DIVISION, LP_TO_INTEGERS };

/* Blocks whose scales are found before the first one's codes: the steps of a scale wait for each other, those of others
   need not. */
enum { LP_SOME_BLOCKS = 32, LP_LINE = 64 };

/* Factors, divisors, or both parts of reciprocals. */
typedef struct { float whole[LP_SOME_BLOCKS], high[LP_SOME_BLOCKS], low[LP_SOME_BLOCKS]; } lp_block_factors;

LP_VECTOR lp_floats lp_block_quotient(int how, lp_floats x, const lp_block_factors *f, unsigned i) {
    if (how == LP_BY_SPLIT)
        return floats_multiply_add(x, floats_all(f->high[i]), floats_multiply(x, floats_all(f->low[i])));
    const lp_floats by = floats_all(f->whole[i]);
    return how == LP_BY_DIVISION ? floats_divide(x, by) : floats_multiply(x, by);
}

LP_VECTOR lp_bytes lp_without_negative_zero(lp_bytes codes, const lp_block_writer *b) {
    return b->drops ? bytes_select(bytes_equal(codes, b->negative_zero), bytes_all(0), codes) : codes;
}

/* The codes of a group, of which the first element is the one with the number `at`. */
LP_VECTOR lp_bytes lp_block_codes(
    int how, int block, int even, const float *x, int at, const lp_block_factors *f, const lp_block_writer *b
) {
    lp_ints q[4], v[4];
    lp_float_group elements, quotients;
    lp_words code[2];
    for (int j = 0; j < 4; j++) {
        const lp_floats y = floats_load(x + at + LP_LANES * j);
        const int further = block < LP_WIDTH ? LP_LANES * j / block : 0;
        const lp_floats quotient = lp_block_quotient(how, y, f, at / (unsigned)block + further);
        elements.v[j] = y;
        quotients.v[j] = quotient;
        v[j] = bits_of_floats(y);
        q[j] = bits_of_floats(quotient);
        if (how == LP_TO_INTEGERS) q[j] = ints_rounded(floats_multiply(quotient, floats_all(64)));
    }
    if (how == LP_TO_INTEGERS) {
        const lp_bytes codes = bytes_packed(words_packed(q[0], q[1]), words_packed(q[2], q[3]));
        return bytes_packed_in_order(bytes_max_signed(codes, bytes_all((u32)-127)));
    }
    if (LP_ADDS_TO_ROUND && even)
        return lp_without_negative_zero(
            lp_codes_by_adding(lp_magnitudes(quotients), lp_packed_signs(elements), &b->words, 0, 1), b);
    for (int j = 0; j < 2; j++) {
        const lp_words words = lp_sticky_words(q[2 * j], q[2 * j + 1]), a = bits_and(words, words_all(0x7fff));
        lp_words h = words, lowest = words_min(a, words_all(1));
        if (how == LP_BY_SPLIT) h = words_of_upper_halves(v[2 * j], v[2 * j + 1]); /* -0 may have become 0 */
        if (block == 32 && !even) { /* the quotient may be 0 where the element is not */
            const lp_words element = lp_sticky_words(v[2 * j], v[2 * j + 1]);
            lowest = words_min(bits_and(element, words_all(0x7fff)), words_all(1));
        }
        code[j] = lp_block_words(a, h, lowest, b, even);
    }
    return lp_without_negative_zero(bytes_of_mixed_words(code[0], code[1]), b);
}

LP_VECTOR void lp_write_block_codes(
    int how, int block, int even, int pack, int count, const float *x, const lp_block_factors *f,
    const lp_block_writer *b, uint8_t *d
) {
    for (int i = 0; i < count * block; i += LP_WIDTH) {
        const lp_bytes codes = lp_block_codes(how, block, even, x, i, f, b);
        if (pack) bytes_store_pairs(d + i / 2, codes);
        else bits_store(d + i, codes);
    }
}

/* ---- with random numbers ----------------------------------------------------------------------------------------- */

/* The slots of the elements of some blocks; the sums that round them are those of round.h. Bits far below the random
   ones change no code: `fits` says that there are such. */
typedef struct {
    lp_rounding rounding;
    lp_keys keys;
    u32 slot_bits;
    u64 position; /* of the first element */
} lp_block_numbers;

LP_VECTOR lp_block_numbers lp_block_numbers_of(const block_params_t *p, u64 seed, u64 position) {
    lp_block_numbers r;
    params_t t;
    memset(&t, 0, sizeof t);
    t.round_smallest_normal = (u32)p->smallest_normal;
    t.round_factor = lp_bits(p->factor);
    t.round_keep = p->keep;
    t.round_increment = p->increment;
    t.round_increment_negative = p->increment + p->increment_change;
    t.round_odd_bit = p->odd_increment ? 1u << p->odd_bit : 0;
    t.round_odd_increment = p->odd_increment;
    t.round_slot_shift = p->slot_shift;
    t.round_random_shift = p->random_shift;
    t.round_slot_bits = p->slot_bits;
    t.round_cap = t.round_cap_negative = lp_fixed_point(p->most, p->smallest_normal, p->factor) >> p->keep;
    t.round_rare = 0x7ffe; /* no code */
    t.round_sign = p->sign_mask;
    r.rounding = lp_random_rounding_of(&t, 8, 0);
    r.rounding.fits &= p->random_shift > 1 && p->zero_sign != 0 && p->sign_mask != 0;
    r.rounding.rule = NULL;
    r.keys = lp_keys_of(seed);
    r.slot_bits = p->slot_bits;
    r.position = position;
    return r;
}

/* One function for all: what takes long is the making of the numbers. */
static __attribute__((noinline)) void lp_write_random_block_codes(
    int divides, int block, int pack, int count, const float *x, const lp_block_factors *f, const lp_block_writer *b,
    const lp_block_numbers *r, uint8_t *d
) {
    uint32_t slots[LP_SOME_BLOCKS * 32];
    const int item = (int)r->slot_bits / 8;
    lp_slots_by(slots, r->position, count * block, &r->keys, r->slot_bits);
    for (int at = 0; at < count * block; at += LP_WIDTH) {
        const void *here = (const char *)slots + at * item;
        lp_float_group q;
        lp_words code[2];
        for (int j = 0; j < 4; j++) {
            const int i = at + LP_LANES * j;
            const lp_floats y = floats_load(x + i), by = floats_all(f->whole[(unsigned)i / (unsigned)block]);
            q.v[j] = divides ? floats_divide(y, by) : floats_multiply(y, by);
        }
        if (item == 2) lp_round_integers(8, 0, 16, &q, here, code, &r->rounding);
        else if (item == 1) lp_round_integers(8, 0, 8, &q, here, code, &r->rounding);
        else lp_round_integers(8, 0, 32, &q, here, code, &r->rounding);
        const lp_bytes codes = lp_without_negative_zero(lp_bytes_of_codes(code), b);
        if (pack) bytes_store_pairs(d + at / 2, codes);
        else bits_store(d + at, codes);
    }
}

/* Quantize `count` blocks, a multiple of LP_LANES; return 0 where NaN or Inf is among the numbers or the factors. */
LP_VECTOR int lp_quantize_some(
    int kind, int pack, int count, const float *x, uint8_t *scales, uint8_t *d, const lp_block_writer *b,
    const lp_block_numbers *r, const block_params_t *p
) {
    const int block = kind == LP_POWERS ? 32 : 16;
    lp_block_factors f;
    lp_ints most = ints_all(0);
    int in_reach = 1;
    for (int i = 0; i < count; i += LP_LANES) {
        const lp_ints largest = lp_largest_of_blocks(block, x + i * block);
        const lp_ints codes = kind == LP_POWERS ? lp_power_scales(largest, p) : lp_quotient_scales(largest, p);
        const lp_floats factors = kind == LP_POWERS ? lp_power_factors(codes)
            : kind == LP_QUOTIENTS ? lp_quotient_factors(codes, p) : lp_product_factors(codes, p);
        most = ints_max_signed(most, largest);
        if (kind == LP_PRODUCTS) most = ints_max_signed(most, bits_of_floats(factors));
        ints_store_bytes(scales + i, codes);
        floats_store(f.whole + i, factors);
        if (kind != LP_QUOTIENTS || r) continue;
        lp_split by;
        in_reach &= lp_blocks_in_reach(largest, factors, &by);
        floats_store(f.high + i, by.high);
        floats_store(f.low + i, by.low);
    }
    if (ints_any(ints_greater_signed(most, ints_all(LP_INF - 1)))) return 0;
    if (r) {
        lp_write_random_block_codes(kind == LP_QUOTIENTS, block, pack, count, x, &f, b, r, d);
    } else if (kind == LP_QUOTIENTS) {
        if (in_reach && b->even && p->zero_sign) lp_write_block_codes(LP_BY_SPLIT, block, 1, pack, count, x, &f, b, d);
        else lp_write_block_codes(LP_BY_DIVISION, block, 0, pack, count, x, &f, b, d);
    } else if (kind == LP_POWERS && !pack && b->integers) {
        lp_write_block_codes(LP_TO_INTEGERS, block, 1, 0, count, x, &f, b, d);
    } else if (b->even) {
        lp_write_block_codes(LP_BY_FACTOR, block, 1, pack, count, x, &f, b, d);
    } else {
        lp_write_block_codes(LP_BY_FACTOR, block, 0, pack, count, x, &f, b, d);
    }
    return 1;
}

LP_VECTOR ptrdiff_t lp_quantize_blocks(
    int kind, int pack, const float *x, uint8_t *scales, uint8_t *d, ptrdiff_t count, ptrdiff_t ahead,
    const lp_block_writer *b, lp_block_numbers *r, const block_params_t *p
) {
    const int block = kind == LP_POWERS ? 32 : 16, size = LP_SOME_BLOCKS * block / (pack ? 2 : 1);
    ptrdiff_t done = 0;
    for (; done + LP_SOME_BLOCKS <= count; done += LP_SOME_BLOCKS, x += LP_SOME_BLOCKS * block, d += size) {
        if ((done + LP_SOME_BLOCKS) * block + LP_AHEAD <= ahead) {
            for (int i = 0; i < LP_SOME_BLOCKS * block; i += LP_LINE / 4) __builtin_prefetch(x + LP_AHEAD + i);
            for (int i = 0; i < size; i += LP_LINE) __builtin_prefetch(d + (pack ? LP_AHEAD / 2 : LP_AHEAD) + i, 1);
        }
        if (!lp_quantize_some(kind, pack, LP_SOME_BLOCKS, x, scales + done, d, b, r, p)) return done;
        if (r) r->position += (u64)(LP_SOME_BLOCKS * block);
    }
    if (done == count) return done;
    float rest[LP_SOME_BLOCKS * 32];
    uint8_t rest_scales[LP_SOME_BLOCKS], codes[LP_SOME_BLOCKS * 32];
    const int left = (int)(count - done), whole = (left + LP_LANES - 1) / LP_LANES * LP_LANES;
    memset(rest + left * block, 0, (size_t)((whole - left) * block) * sizeof(float));
    memcpy(rest, x, (size_t)(left * block) * sizeof(float));
    if (!lp_quantize_some(kind, pack, whole, rest, rest_scales, codes, b, r, p)) return done;
    memcpy(scales + done, rest_scales, (size_t)left);
    memcpy(d, codes, (size_t)(left * block / (pack ? 2 : 1)));
    return count;
}

/* Quantize blocks from the first one on, up to some of which one has NaN or Inf; return how many, which are none where
   the format, the rounding or the block is another one. Packed codes have 4 bits; `ahead` elements from x on may be
   prefetched; `position` is that of the first element in the stream of the seed, where slots have bits. */
static ptrdiff_t lp_whole_blocks(
    const float *x, uint8_t *scales, uint8_t *d, ptrdiff_t count, ptrdiff_t ahead, int kind, ptrdiff_t block, int pack,
    int integers, int negative_zero, u64 seed, u64 position, const block_params_t *p
) {
    const lp_block_writer b = lp_block_writer_of(p, integers, negative_zero);
    lp_block_numbers numbers, *r = NULL;
    if (block != (kind == LP_POWERS ? 32 : 16) || (pack && p->sign_mask != 8)) return 0;
    if (p->slot_bits) {
        numbers = lp_block_numbers_of(p, seed, position);
        if (!numbers.rounding.fits || integers) return 0;
        r = &numbers;
    } else if (!b.fits) {
        return 0;
    }
    if (kind == LP_POWERS)
        return pack ? lp_quantize_blocks(LP_POWERS, 1, x, scales, d, count, ahead, &b, r, p)
                    : lp_quantize_blocks(LP_POWERS, 0, x, scales, d, count, ahead, &b, r, p);
    if (kind == LP_QUOTIENTS)
        return pack ? lp_quantize_blocks(LP_QUOTIENTS, 1, x, scales, d, count, ahead, &b, r, p)
                    : lp_quantize_blocks(LP_QUOTIENTS, 0, x, scales, d, count, ahead, &b, r, p);
    return pack ? lp_quantize_blocks(LP_PRODUCTS, 1, x, scales, d, count, ahead, &b, r, p)
                : lp_quantize_blocks(LP_PRODUCTS, 0, x, scales, d, count, ahead, &b, r, p);
}
#else
static ptrdiff_t lp_whole_blocks(
    const float *x, uint8_t *scales, uint8_t *d, ptrdiff_t count, ptrdiff_t ahead, int kind, ptrdiff_t block, int pack,
    int integers, int negative_zero, u64 seed, u64 position, const block_params_t *p
) {
    (void)x, (void)scales, (void)d, (void)count, (void)ahead, (void)kind, (void)block, (void)pack, (void)integers;
    (void)negative_zero, (void)seed, (void)position, (void)p;
    return 0;
}
#endif
