/* Codes looked up in tables that another loop made: where the machine has tables of 128 bytes.

   What has 8 bits becomes 16 by a table of all 256. What is bfloat16 and becomes a float of 8 bits needs fewer than all
   65,536: a table of 128 for each exponent whose results are subnormal, and one for all others, whose codes are those
   of the one before and a step more. */
#pragma once
#include "vector_kernels/cast.h"

#ifndef LP_LEAST_LOOKED_UP
#define LP_LEAST_LOOKED_UP 8192 /* elements: for fewer it does not pay to make the tables */
#endif
enum { LP_SAMPLES = 11 * 128 }; /* of bfloat16: at most six tables, four exponents to verify, and three more */

#if LP_TABLES
#include "instruction_sets/avx512_vbmi.h"

enum { LP_ANY_WORDS, LP_SIGNED_WORDS, LP_ODD_WORDS };
typedef struct {
    lp_table128 low[2], high[2]; /* bytes of the values of codes below 128 and from there on */
    int kind; /* the latter are those of code - 128, or of 256 - code but for 128, with another first bit; or any */
    uint8_t least_low, least_high; /* of code 128 */
} lp_word_table;

LP_VBMI static void lp_make_word_table(const u16 values[256], lp_word_table *table) {
    uint8_t low[256], high[256];
    int is_signed = 1, is_odd = 1;
    for (int i = 0; i < 256; i++) {
        low[i] = (uint8_t)values[i];
        high[i] = (uint8_t)(values[i] >> 8);
    }
    for (int i = 0; i < 128; i++) {
        is_signed &= values[i + 128] == (values[i] ^ 0x8000);
        if (i) is_odd &= values[256 - i] == (values[i] ^ 0x8000);
    }
    table->least_low = low[128];
    table->least_high = high[128];
    table->kind = is_signed ? LP_SIGNED_WORDS : is_odd ? LP_ODD_WORDS : LP_ANY_WORDS;
    for (int j = 0; j < 2; j++) {
        table128_load(table->low[j], low + 128 * j);
        table128_load(table->high[j], high + 128 * j);
    }
}

LP_TABLED void lp_look_up_words_by(
    int kind, const lp_word_table *in_memory, const uint8_t *s, u16 *d, ptrdiff_t n, ptrdiff_t s_ahead,
    ptrdiff_t d_ahead
) {
    const lp_word_table table = *in_memory; /* which no store of the loop changes */
    for (ptrdiff_t at = 0; at < n; at += LP_WIDTH) {
        lp_words x[2];
        const lp_bytes code = bytes_load_for_words(s + at);
        const lp_bytes index = kind == LP_ODD_WORDS ? bytes_absolute(code) : code;
        lp_bytes low = bytes_look_up_128(table.low[0], index), high = bytes_look_up_128(table.high[0], index);
        if (kind == LP_ANY_WORDS) {
            const lp_byte_mask upper = bytes_are_negative(code);
            low = bytes_select(upper, bytes_look_up_128(table.low[1], code), low);
            high = bytes_select(upper, bytes_look_up_128(table.high[1], code), high);
        } else {
            high = bits_xor(high, bits_and(code, bytes_all(0x80)));
        }
        if (kind == LP_ODD_WORDS) {
            const lp_byte_mask least = bytes_equal(code, bytes_all(0x80));
            low = bytes_select(least, bytes_all(table.least_low), low);
            high = bytes_select(least, bytes_all(table.least_high), high);
        }
        words_of_planes(low, high, x);
        LP_PREFETCH((const char *)(s + at) + s_ahead);
        for (int j = 0; j < 2; j++) {
            LP_PREFETCH((const char *)(d + at + 32 * j) + d_ahead);
            bits_store(d + at + 32 * j, x[j]);
        }
    }
}
/* n: a multiple of LP_WIDTH. */
LP_VBMI static void lp_look_up_words(
    const lp_word_table *table, const uint8_t *s, u16 *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    if (table->kind == LP_SIGNED_WORDS) lp_look_up_words_by(LP_SIGNED_WORDS, table, s, d, n, s_ahead, d_ahead);
    else if (table->kind == LP_ODD_WORDS) lp_look_up_words_by(LP_ODD_WORDS, table, s, d, n, s_ahead, d_ahead);
    else lp_look_up_words_by(LP_ANY_WORDS, table, s, d, n, s_ahead, d_ahead);
}

/* The table of a loop without scales; `is_made`: this thread made it last. */
LP_VECTOR lp_word_table *lp_kept_word_table(const void *loop, const params_t *p, int *is_made) {
    static LP_OF_THREAD struct { const void *loop; params_t params; lp_word_table table; } kept;
    *is_made = kept.loop == loop && memcmp(&kept.params, p, sizeof *p) == 0;
    kept.loop = loop;
    kept.params = *p;
    return &kept.table;
}

typedef struct {
    lp_table128 subnormal[5], normal;
    lp_bytes exponent[5], first, first_normal, steps, largest;
    u8 infinity, nan;
    int mantissa_bits;
} lp_bfloat16_table;

/* The exponents of bfloat16 that have tables, from `first` to `first + count`, and the first one that is verified. */
typedef struct { int first, count, verified; } lp_exponents;

/* x / scale lies between 2**(e - 1) and 2**(e + 1), where e is the difference of their exponents. */
LP_VECTOR lp_exponents lp_exponents_of(const params_t *p, float scale) {
    const int mantissa_bits = 23 - (int)p->dropped_bits, scaled = (int)(lp_bits(scale) >> 23) - 127;
    const lp_exponents found = {
        (p->smallest_normal >> 23) - mantissa_bits - 1 + scaled, mantissa_bits + 2, (p->clamp >> 23) - 1 + scaled
    };
    return found;
}

/* The bfloat16 whose codes the table needs; how many, or 0 where it cannot be made: codes must have the sign of x in
   their first bit, and beyond the ones that are verified all must have the same. */
LP_VECTOR ptrdiff_t lp_samples_of_bfloat16(const params_t *p, float scale, u16 x[LP_SAMPLES]) {
    const lp_exponents e = lp_exponents_of(p, scale);
    const u32 mantissa_bits = 23 - p->dropped_bits, nan_above = (u32)p->nan_above;
    const int is_plain = p->sign_offset == 0 && (u32)p->sign_limit == 0xffffffffu && p->sign_bit == 1 << 7;
    ptrdiff_t count = 0;
    if (!is_plain || (mantissa_bits != 2 && mantissa_bits != 3) || lp_bits(scale) - 1 >= LP_INF - 1) return 0;
    if (nan_above < LP_INF - 1 && (int)(nan_above >> 23) > (p->clamp >> 23) + 1) return 0;
    if (e.first < 1 || e.first + e.count + (127 >> mantissa_bits) > 254 || e.verified + 4 > 254) return 0;
    if (e.verified <= e.first + e.count) return 0;
    for (int k = 0; k <= e.count + 4; k++) {
        const int exponent = k <= e.count ? e.first + k : e.verified + k - e.count - 1;
        for (int i = 0; i < 128; i++) x[count++] = (u16)(exponent << 7 | i);
    }
    x[count++] = 0x7f7f;
    x[count++] = 0x7f80;
    x[count++] = 0x7fc0;
    return count;
}

/* Whether the codes of those samples are such that the table has every code. */
LP_VBMI static int lp_make_bfloat16_table(
    const params_t *p, float scale, const uint8_t codes[LP_SAMPLES], lp_bfloat16_table *table
) {
    const lp_exponents e = lp_exponents_of(p, scale);
    const int mantissa_bits = 23 - (int)p->dropped_bits, steps = 127 >> mantissa_bits;
    const uint8_t *normal = codes + 128 * e.count, *more = normal + 128, largest = more[4 * 128];
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 128; i++) {
            const int step = e.verified + k - e.first - e.count;
            const int code = normal[i] + ((step < steps ? step : steps) << mantissa_bits);
            if (more[128 * k + i] != (code < largest ? code : largest)) return 0;
        }
    }
    for (int k = 0; k < e.count; k++) {
        table128_load(table->subnormal[k], codes + 128 * k);
        table->exponent[k] = bytes_all((u32)(e.first + k));
    }
    table128_load(table->normal, normal);
    table->first = bytes_all((u32)e.first);
    table->first_normal = bytes_all((u32)(e.first + e.count));
    table->steps = bytes_all((u32)steps);
    table->largest = bytes_all(largest);
    table->infinity = more[4 * 128 + 1];
    table->nan = more[4 * 128 + 2];
    table->mantissa_bits = mantissa_bits;
    return 1;
}

LP_TABLED void lp_look_up_bfloat16_by(
    int count, int mantissa_bits, const lp_bfloat16_table *in_memory, const u16 *s, uint8_t *d, ptrdiff_t n,
    ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    const lp_bfloat16_table table = *in_memory;
    for (ptrdiff_t at = 0; at < n; at += LP_WIDTH) {
        const lp_words a = words_load(s + at), b = words_load(s + at + 32), mask = words_all(0xff);
        const lp_words first = words_shift_right(words_add(a, a), 8), second = words_shift_right(words_add(b, b), 8);
        const lp_bytes exponent = bytes_packed_unsigned(first, second);
        lp_bytes code = bytes_packed_unsigned(bits_and(a, mask), bits_and(b, mask));
        const lp_byte_mask beyond = bytes_equal(exponent, bytes_all(0xff));
        const lp_bytes significand = code;
        for (int k = 0; k < count; k++)
            code = bytes_look_up_128_where(bytes_equal(exponent, table.exponent[k]), table.subnormal[k], code);
        code = bytes_look_up_128_where(bytes_at_least(exponent, table.first_normal), table.normal, code);
        const lp_bytes steps = bytes_min(bytes_subtract_saturating(exponent, table.first_normal), table.steps);
        code = bytes_add_saturating(code, words_shift_left(steps, mantissa_bits));
        code = bytes_where(bytes_at_least(exponent, table.first), bytes_min(code, table.largest));
        if (LP_RARELY(bytes_any(beyond))) {
            const lp_bytes low = bits_and(significand, bytes_all(0x7f));
            const lp_byte_mask infinite = bytes_equal(low, bytes_all(0));
            const lp_bytes other = bytes_select(infinite, bytes_all(table.infinity), bytes_all(table.nan));
            code = bytes_select(beyond, other, code);
        }
        code = bits_xor(code, bits_and(bytes_packed(a, b), bytes_all(0x80)));
        for (int j = 0; j < 2; j++) LP_PREFETCH((const char *)(s + at + 32 * j) + s_ahead);
        LP_PREFETCH((const char *)(d + at) + d_ahead);
        bits_store(d + at, words_packed_in_order(code));
    }
}
/* n: a multiple of LP_WIDTH. */
LP_VBMI static void lp_look_up_bfloat16(
    const lp_bfloat16_table *table, const u16 *s, uint8_t *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    if (table->mantissa_bits == 3) lp_look_up_bfloat16_by(5, 3, table, s, d, n, s_ahead, d_ahead);
    else lp_look_up_bfloat16_by(4, 2, table, s, d, n, s_ahead, d_ahead);
}

#else /* never called: no table has these loops */
typedef struct { int none; } lp_word_table, lp_bfloat16_table;
static inline lp_word_table *lp_kept_word_table(const void *loop, const params_t *p, int *is_made) {
    (void)loop, (void)p, (void)is_made;
    return 0;
}
static inline void lp_make_word_table(const u16 *values, lp_word_table *table) { (void)values, (void)table; }
static inline void lp_look_up_words(
    const lp_word_table *table, const uint8_t *s, u16 *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) { (void)table, (void)s, (void)d, (void)n, (void)s_ahead, (void)d_ahead; }
static inline ptrdiff_t lp_samples_of_bfloat16(const params_t *p, float scale, u16 *x) {
    (void)p, (void)scale, (void)x;
    return 0;
}
static inline int lp_make_bfloat16_table(
    const params_t *p, float scale, const uint8_t *codes, lp_bfloat16_table *table
) { (void)p, (void)scale, (void)codes, (void)table; return 0; }
static inline void lp_look_up_bfloat16(
    const lp_bfloat16_table *table, const u16 *s, uint8_t *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) { (void)table, (void)s, (void)d, (void)n, (void)s_ahead, (void)d_ahead; }
#endif
