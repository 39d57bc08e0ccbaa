/* Codes looked up in tables that another loop made: where the machine has tables of 128 bytes, and elsewhere, by those of
   a reader, from floats of 8 bits to 16.

   What has 8 bits becomes 8, 16 or 32 by a table of all 256. What is bfloat16 and becomes a float of 8 bits needs fewer
   than all 65,536: a table of 128 for each exponent whose results are subnormal, and one for all others, whose codes are
   those of the one before and a step more. A thread keeps the last table of each kind. */
#pragma once
#include "vector_kernels/cast.h"

#ifndef LP_LEAST_LOOKED_UP
#define LP_LEAST_LOOKED_UP 8192 /* elements: for fewer it does not pay to make the tables */
#endif
enum { LP_SAMPLES = 11 * 128 }; /* of bfloat16: at most six tables, four exponents to verify, and three more */

#if LP_VECTORS
/* What a table was made for: a loop, its parameters, the scale and the zero point that all elements share. */
typedef struct {
    const void *loop;
    params_t params;
    u32 scale, zero;
    int has_zero;
} lp_table_key;

/* Whether the key is that of these, which become its own. */
LP_VECTOR int lp_is_key_of(
    lp_table_key *key, const void *loop, const params_t *p, const void *scale, const void *zero
) {
    u32 its_scale = 0, its_zero = 0;
    if (scale) memcpy(&its_scale, scale, sizeof its_scale);
    if (zero) memcpy(&its_zero, zero, sizeof its_zero);
    if (key->loop == loop && key->scale == its_scale && key->zero == its_zero && key->has_zero == (zero != NULL)
        && memcmp(&key->params, p, sizeof *p) == 0) return 1;
    key->loop = loop;
    key->params = *p;
    key->scale = its_scale;
    key->zero = its_zero;
    key->has_zero = zero != NULL;
    return 0;
}

/* `is_made`: the table that this thread keeps is the one of these; if not, the caller makes it. */
#define LP_KEPT_TABLE(KIND)                                                                                            \
    LP_VECTOR lp_##KIND##_table *lp_kept_##KIND##_table(                                                               \
        const void *loop, const params_t *p, const void *scale, const void *zero, int *is_made                         \
    ) {                                                                                                                \
        static LP_OF_THREAD struct { lp_table_key key; lp_##KIND##_table table; } kept;                                \
        *is_made = lp_is_key_of(&kept.key, loop, p, scale, zero);                                                      \
        return &kept.table;                                                                                            \
    }

#endif

#if LP_TABLES
#include "instruction_sets/avx512_vbmi.h"

/* ---- to 8 bits --------------------------------------------------------------------------------------------------- */

typedef struct {
    lp_table128 half[2]; /* of codes below 128, and from there on */
    int usable;
} lp_bytes_table;
LP_KEPT_TABLE(bytes)

LP_VBMI static int lp_make_bytes_table(const uint8_t values[256], lp_bytes_table *table) {
    for (int j = 0; j < 2; j++) table128_load(table->half[j], values + 128 * j);
    return 1;
}

/* n: a multiple of LP_WIDTH; below as well. */
LP_VBMI static void lp_look_up_bytes(
    const lp_bytes_table *in_memory, const uint8_t *s, uint8_t *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    const lp_bytes_table table = *in_memory; /* which no store of the loop changes */
    for (ptrdiff_t at = 0; at < n; at += LP_WIDTH) {
        const lp_bytes code = bytes_load(s + at), lower = bytes_look_up_128(table.half[0], code);
        const lp_bytes upper = bytes_look_up_128(table.half[1], code);
        lp_prefetch_group(0, s + at, s_ahead, LP_WIDTH, d + at, d_ahead, LP_WIDTH);
        bits_store(d + at, bytes_select(bytes_are_negative(code), upper, lower));
    }
}

/* ---- to 16 bits, and to float32 whose lower 16 bits are 0 -------------------------------------------------------- */

enum { LP_ANY_WORDS, LP_SIGNED_WORDS, LP_ODD_WORDS };
typedef struct {
    lp_table128 low[2], high[2]; /* bytes of the values of codes below 128 and from there on */
    int kind; /* the latter are those of code - 128, or of 256 - code but for 128, with another first bit; or any */
    uint8_t least_low, least_high; /* of code 128 */
    int usable;
} lp_words_table, lp_floats_table;
LP_KEPT_TABLE(words)
LP_KEPT_TABLE(floats)

LP_VBMI static int lp_make_words_table(const u16 values[256], lp_words_table *table) {
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
    return 1;
}

LP_VBMI static int lp_make_floats_table(const u32 values[256], lp_floats_table *table) {
    u16 upper[256];
    u32 rest = 0;
    for (int i = 0; i < 256; i++) {
        upper[i] = (u16)(values[i] >> 16);
        rest |= values[i] & 0xffff;
    }
    return lp_make_words_table(upper, table) && rest == 0;
}

LP_TABLED void lp_look_up_by(
    int kind, int bits, const lp_words_table *in_memory, const uint8_t *s, char *d, ptrdiff_t n, ptrdiff_t s_ahead,
    ptrdiff_t d_ahead
) {
    const lp_words_table table = *in_memory;
    for (ptrdiff_t at = 0; at < n; at += LP_WIDTH, d += LP_WIDTH * bits / 8) {
        __m512i x[4];
        const lp_bytes code = bits == 16 ? bytes_load_for_words(s + at) : bytes_load_for_ints(s + at);
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
        if (bits == 16) words_of_planes(low, high, x);
        else ints_of_planes(words_all(0), low, high, x);
        lp_prefetch_group(bits == 32, s + at, s_ahead, LP_WIDTH, d, d_ahead, LP_WIDTH * bits / 8);
        for (int j = 0; j < bits / 8; j++) bits_store(d + 64 * j, x[j]);
    }
}
LP_VBMI static void lp_look_up_words(
    const lp_words_table *table, const uint8_t *s, u16 *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    if (table->kind == LP_SIGNED_WORDS) lp_look_up_by(LP_SIGNED_WORDS, 16, table, s, (char *)d, n, s_ahead, d_ahead);
    else if (table->kind == LP_ODD_WORDS) lp_look_up_by(LP_ODD_WORDS, 16, table, s, (char *)d, n, s_ahead, d_ahead);
    else lp_look_up_by(LP_ANY_WORDS, 16, table, s, (char *)d, n, s_ahead, d_ahead);
}
LP_VBMI static void lp_look_up_floats(
    const lp_floats_table *table, const uint8_t *s, u32 *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    if (table->kind == LP_SIGNED_WORDS) lp_look_up_by(LP_SIGNED_WORDS, 32, table, s, (char *)d, n, s_ahead, d_ahead);
    else lp_look_up_by(LP_ANY_WORDS, 32, table, s, (char *)d, n, s_ahead, d_ahead);
}

/* ---- from bfloat16, to 8 bits ------------------------------------------------------------------------------------ */

typedef struct {
    lp_table128 subnormal[5], normal;
    lp_bytes exponent[5], first, first_normal, steps, largest;
    u8 infinity, nan;
    int mantissa_bits, usable;
} lp_upper16_table;
LP_KEPT_TABLE(upper16)

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
LP_VECTOR ptrdiff_t lp_samples_of_upper16(const params_t *p, float scale, u16 x[LP_SAMPLES]) {
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
LP_VBMI static int lp_make_upper16_table(
    const params_t *p, float scale, const uint8_t codes[LP_SAMPLES], lp_upper16_table *table
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

LP_TABLED void lp_look_up_upper16_by(
    int count, int mantissa_bits, const lp_upper16_table *in_memory, const u16 *s, uint8_t *d, ptrdiff_t n,
    ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    const lp_upper16_table table = *in_memory;
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
        lp_prefetch_group(0, s + at, s_ahead, 2 * LP_WIDTH, d + at, d_ahead, LP_WIDTH);
        bits_store(d + at, words_packed_in_order(code));
    }
}
LP_VBMI static void lp_look_up_upper16(
    const lp_upper16_table *table, const u16 *s, uint8_t *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    if (table->mantissa_bits == 3) lp_look_up_upper16_by(5, 3, table, s, d, n, s_ahead, d_ahead);
    else lp_look_up_upper16_by(4, 2, table, s, d, n, s_ahead, d_ahead);
}

#else
#if LP_VECTORS

/* ---- from floats of 8 bits to 16, by one scale ------------------------------------------------------------------- */

/* Products of the values of a format have the structure of its values, if all but few are normal: a reader decodes them. */
typedef struct {
    lp_reader reader;
    int usable;
} lp_words_table;
LP_KEPT_TABLE(words)

LP_VECTOR int lp_reads_all(const u16 values[256], const lp_reader *r, int plain) {
    u32 differences = 0;
    for (int at = 0; at < 256; at += LP_WIDTH) {
        uint8_t codes[LP_WIDTH];
        u16 found[LP_WIDTH];
        for (int i = 0; i < LP_WIDTH; i++) codes[i] = (uint8_t)(at + i);
        lp_write_words(0, lp_read_float8_words(plain, codes, r), found, NULL);
        for (int i = 0; i < LP_WIDTH; i++) differences |= (u32)(found[i] ^ values[at + i]);
    }
    return !differences;
}
static int lp_make_words_table(const u16 values[256], lp_words_table *table) {
    u16 chosen[49];
    for (int i = 0; i < 49; i++) chosen[i] = values[i < 32 ? i : 0x50 + i];
    lp_fill_reader(&table->reader, chosen, (u32)(values[0x28] - values[0x18]));
    table->reader.plain = lp_reads_all(values, &table->reader, 1);
    return table->reader.plain || lp_reads_all(values, &table->reader, 0);
}

LP_VECTOR void lp_read_words_by(
    int plain, const lp_words_table *in_memory, const uint8_t *s, u16 *d, ptrdiff_t n, ptrdiff_t s_ahead,
    ptrdiff_t d_ahead
) {
    const lp_reader reader = in_memory->reader; /* which no store of the loop changes */
    for (ptrdiff_t at = 0; at < n; at += LP_WIDTH) {
        lp_prefetch_group(0, s + at, s_ahead, LP_WIDTH, d + at, d_ahead, 2 * LP_WIDTH);
        lp_write_words(0, lp_read_float8_words(plain, s + at, &reader), d + at, NULL);
    }
}
static void lp_look_up_words(
    const lp_words_table *table, const uint8_t *s, u16 *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead
) {
    if (table->reader.plain) lp_read_words_by(1, table, s, d, n, s_ahead, d_ahead);
    else lp_read_words_by(0, table, s, d, n, s_ahead, d_ahead);
}
#endif

/* Never called: no table has these loops. */
#define LP_NO_TABLE(KIND, S, D)                                                                                        \
    typedef struct { int usable; } lp_##KIND##_table;                                                                  \
    static inline lp_##KIND##_table *lp_kept_##KIND##_table(                                                           \
        const void *loop, const params_t *p, const void *scale, const void *zero, int *is_made                         \
    ) { (void)loop, (void)p, (void)scale, (void)zero, (void)is_made; return 0; }                                       \
    static inline void lp_look_up_##KIND(                                                                              \
        const lp_##KIND##_table *table, const S *s, D *d, ptrdiff_t n, ptrdiff_t s_ahead, ptrdiff_t d_ahead            \
    ) { (void)table, (void)s, (void)d, (void)n, (void)s_ahead, (void)d_ahead; }
LP_NO_TABLE(bytes, uint8_t, uint8_t)
#if !LP_VECTORS
LP_NO_TABLE(words, uint8_t, u16)
static inline int lp_make_words_table(const u16 *v, lp_words_table *table) { (void)v, (void)table; return 0; }
#endif
LP_NO_TABLE(floats, uint8_t, u32)
LP_NO_TABLE(upper16, u16, uint8_t)
static inline int lp_make_bytes_table(const uint8_t *v, lp_bytes_table *table) { (void)v, (void)table; return 0; }
static inline int lp_make_floats_table(const u32 *v, lp_floats_table *table) { (void)v, (void)table; return 0; }
static inline ptrdiff_t lp_samples_of_upper16(const params_t *p, float scale, u16 *x) {
    (void)p, (void)scale, (void)x;
    return 0;
}
static inline int lp_make_upper16_table(
    const params_t *p, float scale, const uint8_t *codes, lp_upper16_table *table
) { (void)p, (void)scale, (void)codes, (void)table; return 0; }
#endif
