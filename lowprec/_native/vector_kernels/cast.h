/* Groups of LP_WIDTH elements, decoded to float32 or to words of 16 bits, and encoded from them: once, for every
   instruction set of vectors.h.

   A group is whole, always; loops bring the rest to one of their own. `lp_read_` functions make a group of elements
   from `s` on, `lp_write_` functions store one. What they need of the parameters, an `lp_reader` or `lp_writer`, says
   by `fits` whether they handle these; `plain` chooses one of two texts, and is a constant of the caller. */
#pragma once
#include "scalar_kernels.h"
#include "instruction_sets/vectors.h"

#if LP_VECTORS

typedef struct { lp_floats v[4]; } lp_float_group;
typedef struct { lp_words v[2]; } lp_word_group;          /* codes of 16 bits */
typedef struct { lp_words a[2], h[2]; } lp_halves_group; /* their magnitudes, and what has their signs */

enum { LP_LANES = LP_WIDTH / 4 };
#define LP_OF_THREAD __thread

/* ---- codes of up to 8 bits, by tables ---------------------------------------------------------------------------- */

/* The upper 16 bits of a value, or its 16-bit code: what the first half of the code stands for, plus what the second
   half does. Codes in the first and in the last sixteenth of the magnitudes, which have the subnormals, Inf and NaN,
   are corrected by tables of their own, and one code 0x80 that is NaN is replaced (not `plain`). Codes of 4 bits: a
   table for all. With more than 3 mantissa bits the subnormals do not lie in one sixteenth. */
typedef struct {
    lp_bytes upper, lower[2], first[2], last[2], whole[2]; /* low and high bytes */
    lp_floats unit;
    int fits, plain;
} lp_reader;

/* Of the words of the first sixteenth, the second, the last, and of 0x80; `step` for each of the first halves. */
LP_VECTOR void lp_fill_reader(lp_reader *r, const u16 values[49], u32 step) {
    uint8_t upper[16], low[3][16], high[3][16];
    for (u32 i = 0; i < 16; i++) {
        upper[i] = (uint8_t)((((i & 7) - 1) * step >> 8) + ((i & 8) << 4));
        low[0][i] = (uint8_t)values[16 + i];
        high[0][i] = (uint8_t)(values[16 + i] >> 8);
        low[1][i] = (uint8_t)(values[i] ^ low[0][i]);
        low[2][i] = (uint8_t)(values[32 + i] ^ low[0][i]);
    }
    for (u32 i = 0; i < 16; i++) {
        high[1][i] = (uint8_t)((values[i] >> 8) ^ (uint8_t)(high[0][i] + upper[0]));
        high[2][i] = (uint8_t)((values[32 + i] >> 8) ^ (uint8_t)(high[0][i] + upper[7]));
    }
    r->upper = bytes_table(upper);
    for (int j = 0; j < 2; j++) {
        r->lower[j] = bytes_table(j ? high[0] : low[0]);
        r->first[j] = bytes_table(j ? high[1] : low[1]);
        r->last[j] = bytes_table(j ? high[2] : low[2]);
        r->whole[j] = bytes_all((u32)values[48] >> (8 * j));
    }
}

LP_VECTOR lp_reader lp_make_reader(const params_t *p, int ieee, int lift) {
    const u32 largest = p->magnitude_mask;
    u16 values[49];
    lp_reader r;
    r.fits = largest == 0x7f && p->sign_mask == 0x80 && p->first_normal <= 8 && p->mantissa_shift >= 20
        && p->inf_code >= 0x70 && p->first_nan >= 0x70;
    r.plain = p->nan_mask == largest || p->first_nan != 0x80;
    if (!r.fits) return r;
    for (u32 i = 0; i < 49; i++) {
        const u32 code = i < 32 ? i : 0x50 + i; /* 0x70 to 0x80 */
        values[i] = (u16)((ieee ? lp_decode_ieee(code, p) : lp_decode(code, p)) >> lift);
    }
    lp_fill_reader(&r, values, 1u << (p->mantissa_shift + 4 - (u32)lift));
    return r;
}

/* The one that this thread made last, where it is the same. */
LP_VECTOR lp_reader lp_reader_of_tables(const params_t *p, int ieee, int lift) {
    static LP_OF_THREAD struct { params_t params; int ieee, lift; lp_reader reader; } kept;
    if (kept.ieee != ieee || kept.lift != lift || memcmp(&kept.params, p, sizeof *p) != 0) {
        kept.reader = lp_make_reader(p, ieee, lift);
        kept.params = *p;
        kept.ieee = ieee;
        kept.lift = lift;
    }
    return kept.reader;
}

/* The planes of low and of high bytes. */
LP_VECTOR void lp_planes_of_codes(lp_bytes code, const lp_reader *r, int plain, lp_bytes plane[2]) {
    const lp_bytes second = bits_and(code, bytes_all(15)), magnitude = bits_and(code, bytes_all(0x7f));
    const lp_bytes from_last = bytes_subtract(magnitude, bytes_all(0x70)); /* 0 to 15, or above 127 */
    plane[0] = bytes_look_up(r->lower[0], second);
    plane[1] = bytes_add(bytes_look_up(r->lower[1], second), bytes_look_up(r->upper, bytes_upper_halves(code)));
    for (int j = 0; j < 2; j++) {
        const lp_bytes first = bytes_look_up_or_0(r->first[j], magnitude), last = bytes_look_up(r->last[j], from_last);
        plane[j] = bits_xor(plane[j], bits_xor(first, last));
        if (!plain) plane[j] = bytes_select(bytes_equal(code, bytes_all(0x80)), r->whole[j], plane[j]);
    }
}

LP_VECTOR lp_float_group lp_floats_of_planes(const lp_bytes plane[2]) {
    lp_float_group x;
    lp_ints bits[4];
    ints_of_planes(words_all(0), plane[0], plane[1], bits);
    for (int j = 0; j < 4; j++) x.v[j] = floats_of_bits(bits[j]);
    return x;
}

LP_VECTOR lp_reader lp_reader_of_float8(const params_t *p) { return lp_reader_of_tables(p, 0, 16); }
LP_VECTOR lp_reader lp_reader_of_ieee8(const params_t *p) { return lp_reader_of_tables(p, 1, 16); }
LP_VECTOR lp_reader lp_reader_of_float8_words(const params_t *p) {
    return lp_reader_of_tables(p, 0, (int)p->code16_shift);
}
LP_VECTOR lp_reader lp_reader_of_ieee8_words(const params_t *p) {
    return lp_reader_of_tables(p, 1, (int)p->code16_shift);
}
LP_VECTOR lp_float_group lp_read_float8(int plain, const uint8_t *s, const lp_reader *r) {
    lp_bytes plane[2];
    lp_planes_of_codes(bytes_load_for_ints(s), r, plain, plane);
    return lp_floats_of_planes(plane);
}
LP_VECTOR lp_word_group lp_read_float8_words(int plain, const uint8_t *s, const lp_reader *r) {
    lp_word_group x;
    lp_bytes plane[2];
    lp_planes_of_codes(bytes_load_for_words(s), r, plain, plane);
    words_of_planes(plane[0], plane[1], x.v);
    return x;
}
#define lp_read_ieee8 lp_read_float8
#define lp_read_ieee8_words lp_read_float8_words

/* Packed codes of 4 bits: a table of 16 values. */
LP_VECTOR lp_reader lp_reader_of_pairs(const u16 values[16]) {
    uint8_t low[16], high[16];
    lp_reader r;
    for (int i = 0; i < 16; i++) low[i] = (uint8_t)values[i], high[i] = (uint8_t)(values[i] >> 8);
    r.lower[0] = bytes_table(low);
    r.lower[1] = bytes_table(high);
    r.fits = 1;
    return r;
}
LP_VECTOR lp_reader lp_reader_of_packed_float(const params_t *p) {
    u16 values[16];
    for (u32 i = 0; i < 16; i++) values[i] = (u16)(lp_decode(i, p) >> 16);
    return lp_reader_of_pairs(values);
}
LP_VECTOR lp_reader lp_reader_of_packed_integer(const params_t *p) {
    u16 values[16];
    for (u32 i = 0; i < 16; i++) values[i] = (u16)(lp_integer8_to_float32((u8)i, p) >> 16);
    return lp_reader_of_pairs(values);
}
LP_VECTOR lp_reader lp_reader_of_packed_float_words(const params_t *p) {
    u16 values[16];
    for (u32 i = 0; i < 16; i++) values[i] = lp_decode8_to16((u8)i, p);
    return lp_reader_of_pairs(values);
}
LP_VECTOR lp_float_group lp_read_packed_float(int plain, const uint8_t *s, const lp_reader *r) {
    const lp_bytes codes = bytes_load_pairs_for_ints(s);
    const lp_bytes plane[2] = {bytes_look_up(r->lower[0], codes), bytes_look_up(r->lower[1], codes)};
    (void)plain;
    return lp_floats_of_planes(plane);
}
#define lp_read_packed_integer lp_read_packed_float
LP_VECTOR lp_word_group lp_read_packed_float_words(int plain, const uint8_t *s, const lp_reader *r) {
    const lp_bytes codes = bytes_load_pairs_for_words(s);
    lp_word_group x;
    (void)plain;
    words_of_planes(bytes_look_up(r->lower[0], codes), bytes_look_up(r->lower[1], codes), x.v);
    return x;
}

/* ---- other sources ----------------------------------------------------------------------------------------------- */

LP_VECTOR lp_reader lp_reader_of_float32(const params_t *p) { lp_reader r; (void)p; r.fits = 1; return r; }
LP_VECTOR lp_float_group lp_read_float32(int plain, const void *s, const lp_reader *r) {
    lp_float_group x;
    (void)plain, (void)r;
    for (int j = 0; j < 4; j++) x.v[j] = floats_load((const float *)s + LP_LANES * j);
    return x;
}

/* A NaN keeps its payload: what writes it replaces that. */
#define lp_reader_of_upper16 lp_reader_of_float32
#define lp_reader_of_half16 lp_reader_of_float32
LP_VECTOR lp_float_group lp_read_upper16(int plain, const uint16_t *s, const lp_reader *r) {
    lp_float_group x;
    (void)plain, (void)r;
    for (int j = 0; j < 2; j++) floats_load_upper_halves(s + 2 * LP_LANES * j, x.v + 2 * j);
    return x;
}
LP_VECTOR lp_float_group lp_read_half16(int plain, const uint16_t *s, const lp_reader *r) {
    lp_float_group x;
    (void)plain, (void)r;
    for (int j = 0; j < 2; j++) floats_load_float16(s + 2 * LP_LANES * j, x.v + 2 * j);
    return x;
}

/* Folded as lp_float64_to_float32_sticky does: for formats of at most 16 bits. A NaN keeps its payload. */
#define lp_reader_of_float64 lp_reader_of_float32
LP_VECTOR lp_float_group lp_read_float64(int plain, const void *s, const lp_reader *r) {
    lp_float_group x;
    (void)plain, (void)r;
    for (int j = 0; j < 4; j++) x.v[j] = floats_load_folded_float64((const u64 *)s + LP_LANES * j);
    return x;
}

/* int8 (`plain`), or the code with its sign bit flipped, in the lowest bits of 2**23: the float is
   2**23 + 2**(bits - 1) more than it. */
LP_VECTOR lp_reader lp_reader_of_integer8(const params_t *p) {
    lp_reader r;
    r.lower[0] = bytes_all((u32)p->source_mask);
    r.lower[1] = bytes_all((u32)p->source_sign);
    r.unit = floats_all(0x1p23f + (float)(u32)p->source_sign);
    r.fits = 1;
    r.plain = p->source_mask == 0xff && p->source_sign == 0x80;
    return r;
}
LP_VECTOR lp_float_group lp_read_integer8(int plain, const uint8_t *s, const lp_reader *r) {
    lp_float_group x;
    lp_ints bits[4];
    if (plain) {
        floats_load_int8(s, x.v);
        return x;
    }
    const lp_bytes codes = bits_xor(bits_and(bytes_load_for_ints(s), r->lower[0]), r->lower[1]);
    ints_of_bytes(codes, words_all((127u + 23) << 7), bits);
    for (int j = 0; j < 4; j++) x.v[j] = floats_subtract(floats_of_bits(bits[j]), r->unit);
    return x;
}

/* Codes of 16 bits that are the upper halves of float32 (`plain`), or begin 3 bits further down: magnitudes as the
   former have them, their last bit sticky. */
LP_VECTOR lp_reader lp_reader_of_halves(const params_t *p) {
    lp_reader r;
    r.plain = p->code16_shift == 16;
    r.fits = r.plain || p->code16_shift == 13;
    return r;
}
LP_VECTOR lp_halves_group lp_read_halves(int plain, const uint16_t *s, const lp_reader *r) {
    lp_halves_group x;
    (void)r;
    for (int j = 0; j < 2; j++) {
        const lp_words h = words_load(s + 2 * LP_LANES * j), magnitude = bits_and(h, words_all(0x7fff));
        const lp_words sticky = words_min(bits_and(h, words_all(7)), words_all(1));
        x.h[j] = h;
        x.a[j] = plain ? magnitude : bits_or(words_shift_right(magnitude, 3), sticky);
    }
    return x;
}

/* ---- floats of 8 bits and fewer ---------------------------------------------------------------------------------- */

/* A word is the upper half of a float32, s eeeeeeee mmmmmmm, its last bit set if the lower half is not 0 (sticky): all
   that rounding to 5 mantissa bits or fewer depends on. The code comes out in the upper byte of its word. */
typedef struct {
    lp_words clamp, start, hidden_bit, to_limit, shift, nan_above, nan_code, sign_offset, sign_limit, sign_bit;
    lp_bytes mask, extended; /* of integers: their field, and its sign bit where that is extended */
    int fits;  /* whether words are enough for this format; the other loop encodes every one */
    int plain; /* whether every code has the sign of its value, in the first bit of a byte, and `adds` where sets do */
    int adds;  /* whether lp_codes_by_adding handles this format, with what follows */
    lp_floats largest, of_nan, smallest_normal, rounder;
    lp_ints dropped_bits;
    lp_bytes sign, magnitude, never_signed;
} lp_writer;

/* NaN is read as the number that has its code: the largest one, or one beyond. Formats without -0 have NaN there, and
   neither has a sign. */
LP_VECTOR void lp_prepare_adding(lp_writer *w, const params_t *p) {
    w->adds = 0;
    if (!LP_ADDS_TO_ROUND) return;
    const u32 of_nan = (u32)p->smallest_normal + ((p->nan_code << p->dropped_bits) - LP_HIDDEN_BIT);
    const u32 beyond = (u32)p->clamp + (1u << p->dropped_bits);
    const int overflows = (u32)p->nan_above < LP_INF - 1; /* to the code of NaN */
    const int has_negative_zero = p->sign_offset == 0;
    w->adds = (u32)p->nan_above != LP_INF - 1
        && (overflows ? of_nan == beyond : of_nan >= (u32)p->clamp && of_nan < LP_INF)
        && (has_negative_zero ? (u32)p->sign_limit == 0xffffffffu : p->nan_code == 0x80 && p->sign_bit == 0x80)
        && (of_nan >> 23) + p->dropped_bits < 255; /* the exponent of the number that rounds it */
    w->largest = floats_all(lp_float(overflows ? of_nan : (u32)p->clamp));
    w->of_nan = floats_all(lp_float(of_nan));
    w->smallest_normal = floats_all(lp_float((u32)p->smallest_normal));
    w->rounder = floats_all(lp_float((127u << 23) + p->rounder_offset));
    w->dropped_bits = ints_all(p->dropped_bits);
    w->sign = bytes_all(p->sign_bit);
    w->magnitude = bytes_all(has_negative_zero ? 0 : 0x7f);
    w->never_signed = bytes_all(has_negative_zero);
}

LP_VECTOR lp_float_group lp_magnitudes(lp_float_group x) {
    for (int j = 0; j < 4; j++) x.v[j] = floats_of_bits(bits_and(bits_of_floats(x.v[j]), ints_all(~LP_SIGN)));
    return x;
}

/* Bytes with the signs of floats, as codes are packed. */
LP_VECTOR lp_bytes lp_packed_signs(lp_float_group x) {
    const lp_words a = words_packed(bits_of_floats(x.v[0]), bits_of_floats(x.v[1]));
    return bytes_packed(a, words_packed(bits_of_floats(x.v[2]), bits_of_floats(x.v[3])));
}

/* Codes of magnitudes, as lp_encode8 makes them: the exponent times a constant is the number that rounds when added.
   A minimum with NaN is the second operand; `finite`: none is NaN. */
LP_VECTOR lp_bytes lp_codes_by_adding(lp_float_group x, lp_bytes signs, const lp_writer *w, int plain, int finite) {
    lp_ints code[4];
    for (int j = 0; j < 4; j++) {
        const lp_floats limited = floats_min(w->largest, x.v[j]), v = finite ? limited : floats_min(limited, w->of_nan);
        const lp_ints exponent = bits_and(bits_of_floats(floats_max(v, w->smallest_normal)), ints_all(LP_INF));
        const lp_ints sum = bits_of_floats(floats_multiply_add(floats_of_bits(exponent), w->rounder, v));
        code[j] = bits_and(ints_add(sum, ints_shift_right_by(sum, w->dropped_bits)), ints_all(0xff));
    }
    const lp_bytes codes = bytes_packed_unsigned(words_packed(code[0], code[1]), words_packed(code[2], code[3]));
    lp_bytes sign = bits_and(signs, bytes_all(0x80));
    if (!plain) {
        const lp_bytes none = bytes_all(0);
        sign = bytes_select(bytes_equal(sign, none), none, w->sign);
        sign = bytes_select(bytes_equal(bits_and(codes, w->magnitude), w->never_signed), none, sign);
    }
    return bytes_packed_in_order(bits_xor(codes, sign));
}

LP_VECTOR lp_writer lp_writer_of_float8(const params_t *p) {
    const u32 mantissa_bits = 23 - p->dropped_bits, left = mantissa_bits + 2, top = 0x7fff;
    const u32 lowest = (u32)p->smallest_normal >> 16, clamp = (u32)p->clamp;
    const u32 nan_above = (u32)p->nan_above, sign_limit = (u32)p->sign_limit;
    const u32 tiny = 0u - p->sign_offset; /* the first magnitude whose negative has a sign */
    const u32 first = (tiny + 0xffff) >> 16, last = (sign_limit + tiny - LP_SIGN) >> 16;
    const int same_range = lowest == 1 << 7; /* the subnormals of the format are those of float32 */
    lp_writer w;
    w.clamp = words_all(clamp >> 16);
    w.start = words_all(lowest - (1 << 7));
    w.hidden_bit = words_all(same_range ? 0 : 1 << 7);
    w.to_limit = words_all(same_range ? 0xffff : 0xffff - 0xff - (lowest - (1 << 7)));
    w.shift = words_all(left - (0xffff >> 7) + LP_SHIFT_FLAG);
    w.nan_above = words_all(nan_above >> 16);
    w.nan_code = words_all(p->nan_code << 8);
    w.sign_offset = words_all((1 << 15) + first);
    w.sign_limit = words_all((last < top ? last : top) - first);
    w.sign_bit = words_all(p->sign_bit << 8);
    w.fits = mantissa_bits <= 5 && p->sign_bit <= 1 << 7
        && (same_range || (lowest >> 7 > left && lowest >> 7 <= 128)) /* amounts of shifts: one sign, then one byte */
        && (clamp & 0xffff) == 0 && ((((clamp >> 16) - lowest + (1 << 7)) << left) >> 9) < 1 << 7
        && (tiny & 0x1ffff) <= 1 && ((nan_above & 0x1ffff) == 0 || (nan_above & 0x1ffff) == 0x1ffff);
    lp_prepare_adding(&w, p);
    w.plain = p->sign_offset == 0 && sign_limit == 0xffffffffu && p->sign_bit == 1 << 7 && w.adds == LP_ADDS_TO_ROUND;
    return w;
}

/* Magnitudes as fixed-point numbers: the code with 9 bits behind it,
       k k k k k k k | h s s s s s s s s      7 kept bits | half | sticky
   A normal word loses the difference of the biases, a smaller one gets its hidden bit and is shifted less to the left:
   of those far below the smallest element no bit is left. */
LP_VECTOR lp_words lp_fixed_words(lp_words a, const lp_writer *w) {
    const lp_words c = words_min(a, w->clamp), y = words_subtract(c, w->start);
    const lp_words small = bits_or(bits_and(c, words_all((1 << 7) - 1)), w->hidden_bit);
    const lp_words exponent = words_shift_right(words_add_unsigned_saturating(c, w->to_limit), 7);
    const lp_words shift = words_add(exponent, w->shift);
    return words_shift_left_each(words_max_signed(y, small), shift);
}

/* Codes, in the upper bytes of words, of magnitudes `a`; `h` has their signs. Every word is rounded at one place: plus
   just under half, plus one where the last kept bit is odd: the average with twice that, rounded up. */
LP_VECTOR lp_words lp_code_words(lp_words a, lp_words h, const lp_writer *w, int plain) {
    const lp_words m = lp_fixed_words(a, w);
    const lp_words half = bits_or(bits_and(words_shift_right(m, 9), words_all(1)), words_all((1 << 8) - 2));
    const lp_words t = words_where_greater_signed(a, w->nan_above, w->nan_code, words_average(m, half));
    const lp_words sign = bits_and(h, words_all(1u << 15));
    if (plain) return bits_xor(t, sign); /* NaN may be -0 or 0 of the other sign */
    const lp_word_mask negative = words_at_most(words_subtract(bits_or(a, sign), w->sign_offset), w->sign_limit);
    return words_select(negative, bits_xor(t, w->sign_bit), t);
}

LP_VECTOR lp_words lp_with_sticky_bits(lp_words upper_halves, lp_ints p, lp_ints q) {
    return bits_or(upper_halves, words_min(words_of_lower_halves(p, q), words_all(1)));
}
LP_VECTOR lp_words lp_sticky_words(lp_ints p, lp_ints q) {
    return lp_with_sticky_bits(words_of_upper_halves(p, q), p, q);
}

LP_VECTOR lp_bytes lp_float8_codes(lp_float_group x, const lp_writer *w, int plain) {
    lp_words code[2];
    if (LP_ADDS_TO_ROUND && (plain || w->adds))
        return lp_codes_by_adding(lp_magnitudes(x), lp_packed_signs(x), w, plain, 0);
    for (int j = 0; j < 2; j++) {
        const lp_ints p = bits_of_floats(x.v[2 * j]), q = bits_of_floats(x.v[2 * j + 1]);
        const lp_words h = words_of_upper_halves(p, q);
        code[j] = lp_code_words(bits_and(lp_with_sticky_bits(h, p, q), words_all(0x7fff)), h, w, plain);
    }
    return bytes_of_mixed_words(code[0], code[1]);
}
LP_VECTOR lp_bytes lp_float8_codes_of_halves(lp_halves_group x, const lp_writer *w, int plain) {
    lp_words code[2];
    for (int j = 0; j < 2; j++) code[j] = lp_code_words(x.a[j], x.h[j], w, plain);
    return bytes_of_upper_halves(code[0], code[1]);
}

LP_VECTOR void lp_write_float8(int plain, lp_float_group x, uint8_t *d, const lp_writer *w) {
    bits_store(d, lp_float8_codes(x, w, plain));
}
LP_VECTOR void lp_write_packed_float8(int plain, lp_float_group x, uint8_t *d, const lp_writer *w) {
    bytes_store_pairs(d, lp_float8_codes(x, w, plain));
}
LP_VECTOR void lp_write_float8_of_halves(int plain, lp_halves_group x, uint8_t *d, const lp_writer *w) {
    bits_store(d, lp_float8_codes_of_halves(x, w, plain));
}
LP_VECTOR void lp_write_packed_float8_of_halves(int plain, lp_halves_group x, uint8_t *d, const lp_writer *w) {
    bytes_store_pairs(d, lp_float8_codes_of_halves(x, w, plain));
}

/* ---- other targets ----------------------------------------------------------------------------------------------- */

LP_VECTOR lp_writer lp_writer_of_float32(const params_t *p) { lp_writer w; (void)p; w.fits = 1; return w; }
LP_VECTOR void lp_write_float32(int plain, lp_float_group x, void *d, const lp_writer *w) {
    (void)plain, (void)w;
    for (int j = 0; j < 4; j++) floats_store((float *)d + LP_LANES * j, x.v[j]);
}

/* NaN without payloads, with their signs. */
LP_VECTOR lp_float_group lp_without_payloads(lp_float_group x) {
    for (int j = 0; j < 4; j++) {
        const lp_ints bits = bits_of_floats(x.v[j]), sign = bits_and(bits, ints_all(LP_SIGN));
        const lp_ints nan = bits_or(sign, ints_all(LP_QUIET_NAN));
        x.v[j] = floats_of_bits(ints_select(floats_are_nan(x.v[j]), nan, bits));
    }
    return x;
}
#define LP_RARELY(condition) __builtin_expect(condition, 0)

/* As lp_round_to_upper16, in words: just under half of the last bit, one more where that is odd, and the carry of the
   lower halves. `plain`: there is no NaN. */
#define lp_writer_of_upper16 lp_writer_of_float32
LP_VECTOR lp_words lp_upper16_words(lp_ints p, lp_ints q) {
    const lp_words h = words_of_upper_halves(p, q), low = words_of_lower_halves(p, q);
    const lp_words half = bits_or(bits_and(h, words_all(1)), words_all(0x7ffe));
    return words_add(h, words_shift_right(words_average(low, half), 15));
}
LP_VECTOR void lp_write_upper16(int plain, lp_float_group x, uint16_t *d, const lp_writer *w) {
    (void)w;
    if (!plain && LP_RARELY(floats_any_nan(x.v))) x = lp_without_payloads(x);
    for (int j = 0; j < 2; j++) {
        const lp_ints p = bits_of_floats(x.v[2 * j]), q = bits_of_floats(x.v[2 * j + 1]);
        bits_store(d + 2 * LP_LANES * j, words_in_order(lp_upper16_words(p, q)));
    }
}

/* The machine makes the code of NaN of one without a payload. */
#define lp_writer_of_half16 lp_writer_of_float32
LP_VECTOR void lp_write_half16(int plain, lp_float_group x, uint16_t *d, const lp_writer *w) {
    (void)w;
    if (!plain && LP_RARELY(floats_any_nan(x.v))) x = lp_without_payloads(x);
    for (int j = 0; j < 2; j++) floats_store_float16(d + 2 * LP_LANES * j, x.v[2 * j], x.v[2 * j + 1]);
}

/* Values of codes of 16 bits, whose NaN may have payloads. */
#define lp_writer_of_values lp_writer_of_float32
LP_VECTOR void lp_write_values(int plain, lp_float_group x, void *d, const lp_writer *w) {
    if (LP_RARELY(floats_any_nan(x.v))) x = lp_without_payloads(x);
    lp_write_float32(plain, x, d, w);
}

/* The low bytes of integer parts: 0 from 2**31 on, as those of every float32 there, and for Inf and NaN. */
LP_VECTOR lp_writer lp_writer_of_truncated8(const params_t *p) {
    lp_writer w;
    w.mask = bytes_all((u32)p->target_mask);
    w.extended = bytes_all((u32)p->target_sign);
    w.fits = 1;
    return w;
}
LP_VECTOR lp_bytes lp_truncated_codes(lp_float_group x, const lp_writer *w) {
    lp_words low[2];
    for (int j = 0; j < 2; j++) {
        const lp_ints p = ints_whole_parts(x.v[2 * j]), q = ints_whole_parts(x.v[2 * j + 1]);
        low[j] = words_shift_left(words_of_lower_halves(p, q), 8);
    }
    const lp_bytes codes = bits_and(bytes_of_mixed_words(low[0], low[1]), w->mask);
    return bytes_subtract(bits_xor(codes, w->extended), w->extended);
}
LP_VECTOR void lp_write_truncated8(int plain, lp_float_group x, uint8_t *d, const lp_writer *w) {
    (void)plain;
    bits_store(d, lp_truncated_codes(x, w));
}
LP_VECTOR void lp_write_packed_truncated8(int plain, lp_float_group x, uint8_t *d, const lp_writer *w) {
    (void)plain;
    bytes_store_pairs(d, lp_truncated_codes(x, w));
}

#define lp_writer_of_words lp_writer_of_float32
LP_VECTOR void lp_write_words(int plain, lp_word_group x, uint16_t *d, const lp_writer *w) {
    (void)plain, (void)w;
    for (int j = 0; j < 2; j++) bits_store(d + 2 * LP_LANES * j, x.v[j]);
}

#else /* never called: the table has the other loops */
typedef struct { int none; } lp_float_group, lp_word_group, lp_halves_group;
typedef struct { int fits, plain; } lp_reader, lp_writer;
#endif
