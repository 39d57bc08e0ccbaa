/* Groups of float32 divided by scales or multiplied with them, and codes of integers: once, for every instruction set
   of vectors.h. Scales are read where they lie in memory: one for all, one for each element, or one for each run. */
#pragma once
#include "kernel_types.h"
#include "scalar_kernels.h"
#include "vector_kernels/cast.h"

enum { LP_PREPARED = 4096 }; /* elements whose runs are prepared at once */
enum { LP_SCALE_DIVIDED_RUNS = LP_SCALE_MODES }; /* runs whose scales are divided by: nothing is prepared */

#if LP_VECTORS
enum { LP_RUNS = LP_PREPARED / 16 + 1 }; /* no fewer than their runs */

/* 1 / scale as the sum of two float32. Then x * high + x * low, of which only the sum is rounded, needs no correction:
   it is off by less than 1/2 + 2**-22 units. For which quotients this could change a code is said at lp_float_quotient,
   and tests/ops/quantize/test_quotients.py has all of them. limit is the largest x that is worth a division: beyond it
   x * low may be infinite. */
typedef struct {
    lp_floats high, low, limit;
} lp_split;

typedef struct {
    const float *scale, *zero; /* zero points: float32, or int32; NULL where there are none */
    const float *reciprocal;   /* of the scales of columns */
    const int16_t *zero_words; /* of columns, from lp_zero_words */
    ptrdiff_t offset; /* of runs: from the start of the first one to the first element */
    ptrdiff_t first;  /* the first run that is prepared */
    int shift;
    int finite; /* whether there are no zero points, and scales are in reach, or none is 0, Inf or NaN */
    lp_split split;
    lp_floats one_scale, one_zero;
    lp_floats scale_of[4], zero_of[4]; /* of the columns of a group */
    lp_split split_of[4];
    float high[LP_RUNS], low[LP_RUNS], limit[LP_RUNS];
} lp_scaling;

LP_VECTOR int lp_is_finite(float scale) { return (lp_bits(scale) & ~LP_SIGN) - 1 < LP_INF - 1; }

LP_VECTOR void lp_split_reciprocal(float scale, float *high, float *low, float *limit) {
    const float reciprocal = 1 / scale, rest = __builtin_fmaf(-reciprocal, scale, 1.0f);
    *high = reciprocal;
    *low = __builtin_fmaf(rest, reciprocal, rest * (rest * reciprocal));
    *limit = scale * LP_FAR;
}
LP_VECTOR lp_split lp_split_floats(lp_floats scale, lp_floats reciprocal) {
    const lp_floats rest = floats_subtract_product(floats_all(1), reciprocal, scale);
    const lp_floats square = floats_multiply(rest, floats_multiply(rest, reciprocal));
    const lp_split split = {
        reciprocal, floats_multiply_add(rest, reciprocal, square), floats_multiply(scale, floats_all(LP_FAR))
    };
    return split;
}

LP_VECTOR void lp_scaling_of(
    lp_scaling *f, int mode, int divides, const void *scale, const void *zero, const float *reciprocal,
    const int16_t *zero_words, ptrdiff_t offset, int shift
) {
    f->scale = (const float *)scale;
    f->reciprocal = reciprocal;
    f->zero_words = zero_words;
    f->zero = (const float *)zero;
    f->offset = mode == LP_SCALE_RUNS ? offset : 0;
    f->shift = shift;
    f->first = 0;
    f->finite = divides && zero == NULL;
    if (mode == LP_SCALE_UNIFORM) {
        f->one_scale = floats_all(f->scale[0]);
        f->one_zero = floats_all(zero ? f->zero[0] : 0);
        f->finite = lp_is_finite(f->scale[0]) && f->zero == NULL;
        if (divides) {
            float high, low, limit;
            lp_split_reciprocal(f->scale[0], &high, &low, &limit);
            f->split = (lp_split){floats_all(high), floats_all(low), floats_all(limit)};
        }
    }
}

/* Whether the scales of n columns, a multiple of LP_WIDTH, are finite. */
LP_VECTOR void lp_check_columns(lp_scaling *f, int divides, ptrdiff_t n) {
    int others = f->zero != NULL;
    for (ptrdiff_t i = 0; i < n && !divides; i += LP_LANES)
        others |= ints_any(floats_are_0_inf_nan(floats_load(f->scale + i)));
    f->finite = !others;
}

/* Zero points of n columns as lp_saturated adds them: half the memory of what else, with scales, fills the L1 cache. */
LP_VECTOR void lp_zero_words(const void *zero, ptrdiff_t n, int16_t *words) {
    for (ptrdiff_t i = 0; i < n; i += 2 * LP_LANES) {
        const lp_ints *both = (const lp_ints *)((const int32_t *)zero + i);
        bits_store(words + i, words_packed(ints_load(both), ints_load(both + 1)));
    }
}

/* Prepare the columns of a group. */
LP_VECTOR void lp_prepare_columns(lp_scaling *f, int divides, ptrdiff_t at) {
    for (int j = 0; j < 4; j++) {
        f->scale_of[j] = floats_load(f->scale + at + LP_LANES * j);
        f->zero_of[j] = f->zero ? floats_load(f->zero + at + LP_LANES * j) : floats_all(0);
        if (divides) f->split_of[j] = lp_split_floats(f->scale_of[j], floats_load(f->reciprocal + at + LP_LANES * j));
    }
}

/* Prepare the runs of n elements from `at` on. */
LP_VECTOR void lp_prepare_scales(lp_scaling *f, int divides, ptrdiff_t at, ptrdiff_t n) {
    f->first = (f->offset + at) >> f->shift;
    const ptrdiff_t count = ((f->offset + at + n - 1) >> f->shift) - f->first + 1;
    const float *scale = f->scale + f->first;
    int others = f->zero != NULL;
    ptrdiff_t i = 0;
    for (; i + LP_LANES <= count; i += LP_LANES) {
        const lp_floats x = floats_load(scale + i);
        if (divides) {
            const lp_split split = lp_split_floats(x, floats_divide(floats_all(1), x));
            floats_store(f->high + i, split.high);
            floats_store(f->low + i, split.low);
            floats_store(f->limit + i, split.limit);
        } else {
            others |= ints_any(floats_are_0_inf_nan(x));
        }
    }
    for (; i < count; i++) {
        if (divides) lp_split_reciprocal(scale[i], f->high + i, f->low + i, f->limit + i);
        else others |= !lp_is_finite(scale[i]);
    }
    f->finite = !others;
}

/* Of vector j of the group that begins with element `at`. A run begins with a multiple of 16 elements: vectors of fewer
   may share one, and what it takes to find it. */
LP_VECTOR ptrdiff_t lp_run_at(const lp_scaling *f, ptrdiff_t at, int j) {
    return (f->offset + at + LP_LANES * j / 16 * 16) >> f->shift;
}
LP_VECTOR lp_floats lp_operand_at(
    int mode, const lp_scaling *f, const float *each, lp_floats one, const lp_floats column[4], ptrdiff_t at, int j
) {
    if (mode == LP_SCALE_ELEMENTWISE) return floats_load(each + at + LP_LANES * j);
    if (mode == LP_SCALE_RUNS || mode == LP_SCALE_DIVIDED_RUNS) return floats_all(each[lp_run_at(f, at, j)]);
    return mode == LP_SCALE_COLUMNS ? column[j] : one;
}
LP_VECTOR lp_floats lp_scale_at(int mode, const lp_scaling *f, ptrdiff_t at, int j) {
    return lp_operand_at(mode, f, f->scale, f->one_scale, f->scale_of, at, j);
}
LP_VECTOR lp_floats lp_zero_at(int mode, const lp_scaling *f, ptrdiff_t at, int j) {
    return lp_operand_at(mode, f, f->zero, f->one_zero, f->zero_of, at, j);
}
LP_VECTOR lp_split lp_split_at(int mode, const lp_scaling *f, ptrdiff_t at, int j) {
    if (mode == LP_SCALE_UNIFORM) return f->split;
    if (mode == LP_SCALE_COLUMNS) return f->split_of[j];
    const ptrdiff_t run = lp_run_at(f, at, j) - f->first;
    return (lp_split){floats_all(f->high[run]), floats_all(f->low[run]), floats_all(f->limit[run])};
}

LP_VECTOR int lp_divides(int mode) { return mode == LP_SCALE_ELEMENTWISE || mode == LP_SCALE_DIVIDED_RUNS; }

/* ---- quotients and products -------------------------------------------------------------------------------------- */

/* What arithmetic returned, but NaN with the sign of the operand that it came from; a new one has none. */
LP_VECTOR lp_floats lp_with_signs_of_nan(lp_floats y, lp_floats a, lp_floats b) {
    const lp_ints second = ints_select(floats_are_nan(b), bits_of_floats(b), ints_all(0));
    const lp_ints from = ints_select(floats_are_nan(a), bits_of_floats(a), second);
    const lp_ints nan = bits_or(bits_and(from, ints_all(LP_SIGN)), ints_all(LP_QUIET_NAN));
    return floats_of_bits(ints_select(floats_are_nan(y), nan, bits_of_floats(y)));
}

/* As lp_float_quotient: 0, Inf and NaN stay what the product is. With both parts of the reciprocal the sign of -0 would
   be lost, and Inf could be subtracted from Inf. */
LP_VECTOR lp_float_group lp_divide_floats(int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at) {
    (void)plain;
    for (int j = 0; j < 4; j++) {
        const lp_floats scale = lp_scale_at(mode, f, at, j);
        if (lp_divides(mode)) {
            x.v[j] = floats_divide(x.v[j], scale);
            continue;
        }
        const lp_floats reciprocal = lp_split_at(mode, f, at, j).high;
        const lp_floats q = floats_multiply(x.v[j], reciprocal);
        const lp_floats more = floats_multiply_add(floats_subtract_product(x.v[j], q, scale), reciprocal, q);
        x.v[j] = floats_of_bits(ints_select(floats_are_0_inf_nan(q), bits_of_floats(q), bits_of_floats(more)));
    }
    return x;
}

/* A quotient, rounded as lp_round_to_upper16 does. The lower half of a NaN of the source is 0: it stays NaN. */
LP_VECTOR lp_float_group lp_divide_upper16_floats(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at
) {
    x = lp_divide_floats(mode, plain, x, f, at);
    for (int j = 0; j < 4; j++) {
        const lp_ints bits = bits_of_floats(x.v[j]), odd = bits_and(ints_shift_right(bits, 16), ints_all(1));
        const lp_ints sum = ints_add(ints_add(bits, ints_all(0x7fff)), odd);
        x.v[j] = floats_of_bits(bits_and(sum, ints_all(0xffff0000u)));
    }
    return x;
}

/* x / scale with any scale, as lp_divide, then rounded to float16 as lp_round_to_precision does. */
LP_VECTOR lp_float_group lp_divide_half16_floats(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at
) {
    (void)plain;
    for (int j = 0; j < 4; j++) {
        const lp_floats scale = lp_scale_at(mode, f, at, j);
        lp_floats y = floats_divide(x.v[j], scale);
        if (LP_RARELY(ints_any(floats_are_0_inf_nan(scale)))) y = lp_with_signs_of_nan(y, x.v[j], scale);
        x.v[j] = floats_rounded_to_float16(y);
    }
    return x;
}

/* (x - zero) * scale, as lp_dequantize; `plain`: products of numbers are numbers. */
LP_VECTOR lp_float_group lp_multiply_floats(int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at) {
    lp_float_group y;
    for (int j = 0; j < 4; j++) {
        const lp_floats v = !plain && f->zero ? floats_subtract(x.v[j], lp_zero_at(mode, f, at, j)) : x.v[j];
        y.v[j] = floats_multiply(v, lp_scale_at(mode, f, at, j));
    }
    if (!plain && LP_RARELY(floats_any_nan(y.v)))
        for (int j = 0; j < 4; j++)
            y.v[j] = lp_with_signs_of_nan(y.v[j], x.v[j], lp_scale_at(mode, f, at, j));
    return y;
}

/* ---- packed codes of 4 bits by scales, to 16 bits ---------------------------------------------------------------- */

/* What each of the 16 codes comes to by the scale of a run: tables of lower and of upper bytes, for 1024 elements. */
enum { LP_PRODUCT_ELEMENTS = 1024, LP_PRODUCT_RUNS = LP_PRODUCT_ELEMENTS / 16 + LP_WIDTH / 16 };
typedef struct {
    uint8_t low[16 * LP_PRODUCT_RUNS], high[16 * LP_PRODUCT_RUNS];
    float scale[LP_PRODUCT_RUNS], zero[LP_PRODUCT_RUNS];
    ptrdiff_t first, count; /* the first run that has tables, and how many */
} lp_products;
static const uint8_t LP_EVERY_PAIR[32] = {
    0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe,
    0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe,
}; /* a group: every code, for as many runs as have room */

/* `f` becomes what multiplies such groups, from 16 times a table on, by the scales that lp_copy_runs copies. */
LP_VECTOR void lp_products_of(lp_products *t, lp_scaling *f, const void *zero) {
    memset(t->scale, 0, sizeof t->scale);
    memset(t->zero, 0, sizeof t->zero);
    t->first = t->count = 0;
    lp_scaling_of(f, LP_SCALE_RUNS, 0, t->scale, zero ? t->zero : NULL, NULL, NULL, 0, 4);
}

/* Whether the runs from `first` to `last` need tables, for which their scales are copied: memory may end after them. */
LP_VECTOR int lp_copy_runs(
    lp_products *t, const float *scale, const float *zero, ptrdiff_t first, ptrdiff_t last
) {
    if (first == last && t->count && t->first + t->count - 1 == last) return 0;
    t->first = first;
    t->count = last - first + 1;
    for (ptrdiff_t i = 0; i < t->count; i++) {
        t->scale[i] = scale[first + i];
        if (zero) t->zero[i] = zero[first + i];
    }
    return 1;
}

/* Keep the words of a group, from table `run` on. */
LP_VECTOR void lp_keep_products(lp_products *t, ptrdiff_t run, const uint16_t words[LP_WIDTH]) {
    const lp_words a = words_load(words), b = words_load(words + 2 * LP_LANES);
    bits_store(t->low + 16 * run, bytes_of_upper_halves(words_shift_left(a, 8), words_shift_left(b, 8)));
    bits_store(t->high + 16 * run, bytes_of_upper_halves(a, b));
}

/* A group that begins so many elements after the first run; no half of it has elements of two. */
LP_VECTOR lp_word_group lp_read_products(const uint8_t *s, const lp_products *t, ptrdiff_t at, int shift) {
    const lp_bytes codes = bytes_load_pairs_for_words(s);
    lp_word_group x;
    for (int j = 0; j < 2; j++) {
        const ptrdiff_t table = 16 * ((at + 2 * LP_LANES * j) >> shift);
        const lp_bytes low = bytes_look_up(bytes_table(t->low + table), codes);
        lp_words half[2];
        words_of_planes(low, bytes_look_up(bytes_table(t->high + table), codes), half);
        x.v[j] = half[j];
    }
    return x;
}

/* ---- codes of integers ------------------------------------------------------------------------------------------- */

/* Bytes are compared as signed ones: `flip`, and `bias` in words before, move unsigned codes there and back. `plain`:
   there are no zero points. */
typedef struct {
    lp_words bias;
    lp_bytes low, high, flip, mask;
    int fits, plain;
} lp_code_range;

LP_VECTOR lp_code_range lp_range_of_integer8(const params_t *p) {
    const int flip = p->code_max > 127 ? 128 : 0;
    lp_code_range r;
    r.bias = words_all((u32)-flip);
    r.low = bytes_all((u32)(p->code_min - flip));
    r.high = bytes_all((u32)(p->code_max - flip));
    r.flip = bytes_all((u32)flip);
    r.mask = bytes_all(p->target_sign ? 0xff : (u32)p->target_mask);
    r.fits = 1;
    r.plain = 0;
    return r;
}

LP_VECTOR lp_bytes lp_saturated(
    int mode, int plain, const lp_ints x[4], const lp_scaling *f, ptrdiff_t at, const lp_code_range *r
) {
    lp_words words[2];
    for (int j = 0; j < 2; j++) {
        words[j] = words_packed(x[2 * j], x[2 * j + 1]);
        if (!plain && mode == LP_SCALE_ELEMENTWISE && f->zero_words) {
            words[j] = words_add_saturating(words[j], words_load(f->zero_words + at + 2 * LP_LANES * j));
        } else if (!plain && f->zero) {
            const lp_ints first = bits_of_floats(lp_zero_at(mode, f, at, 2 * j));
            const lp_ints second = bits_of_floats(lp_zero_at(mode, f, at, 2 * j + 1));
            words[j] = words_add_saturating(words[j], words_packed(first, second));
        }
        words[j] = words_add_saturating(words[j], r->bias);
    }
    const lp_bytes codes = bytes_min_signed(bytes_max_signed(bytes_packed(words[0], words[1]), r->low), r->high);
    return bytes_packed_in_order(bits_and(bits_xor(codes, r->flip), r->mask));
}

/* x / scale rounded half to even by the machine's own conversion, which returns the least integer for NaN and beyond
   its range: x is limited before. */
LP_VECTOR lp_bytes lp_quotients(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, const lp_code_range *r
) {
    lp_ints q[4];
    for (int j = 0; j < 4; j++) {
        if (lp_divides(mode)) {
            const lp_floats quotient = floats_divide(x.v[j], lp_scale_at(mode, f, at, j));
            q[j] = ints_rounded(floats_min(floats_all(LP_BEYOND_INT16), quotient));
        } else {
            const lp_split y = lp_split_at(mode, f, at, j);
            const lp_floats v = floats_min(y.limit, x.v[j]);
            q[j] = ints_rounded(floats_multiply_add(v, y.high, floats_multiply(v, y.low)));
        }
    }
    return lp_saturated(mode, plain, q, f, at, r);
}
LP_VECTOR void lp_write_quotients(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, uint8_t *d, const lp_code_range *r
) {
    bits_store(d, lp_quotients(mode, plain, x, f, at, r));
}
LP_VECTOR void lp_write_packed_quotients(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, uint8_t *d, const lp_code_range *r
) {
    bytes_store_pairs(d, lp_quotients(mode, plain, x, f, at, r));
}

/* From quotients. */
LP_VECTOR lp_bytes lp_rounded(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, const lp_code_range *r
) {
    lp_ints q[4];
    for (int j = 0; j < 4; j++) q[j] = ints_rounded(floats_min(floats_all(LP_BEYOND_INT16), x.v[j]));
    return lp_saturated(mode, plain, q, f, at, r);
}
LP_VECTOR void lp_write_rounded(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, uint8_t *d, const lp_code_range *r
) {
    bits_store(d, lp_rounded(mode, plain, x, f, at, r));
}
LP_VECTOR void lp_write_packed_rounded(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, uint8_t *d, const lp_code_range *r
) {
    bytes_store_pairs(d, lp_rounded(mode, plain, x, f, at, r));
}

/* ---- codes of floats of 8 bits and fewer ------------------------------------------------------------------------- */

/* |x| / scale by both parts of the reciprocal; codes have the sign of x, so that -0 and Inf need no step of their own.
   Inf becomes 2**30, which has the same code: programs to which it has not divide (`rounds_beyond_reach`). */
LP_VECTOR lp_bytes lp_float8_quotients(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, const lp_writer *w
) {
    lp_words code[2];
    lp_ints q[4];
    const lp_bytes signs = lp_packed_signs(x);
    lp_float_group quotients = lp_magnitudes(x);
    if (lp_divides(mode)) return lp_float8_codes(lp_divide_floats(mode, 0, x, f, at), w, plain);
    for (int j = 0; j < 4; j++) {
        const lp_split y = lp_split_at(mode, f, at, j);
        const lp_floats v = floats_min(y.limit, quotients.v[j]);
        quotients.v[j] = floats_multiply_add(v, y.high, floats_multiply(v, y.low));
        q[j] = bits_of_floats(quotients.v[j]);
    }
    if (LP_ADDS_TO_ROUND && (plain || w->adds)) return lp_codes_by_adding(quotients, signs, w, plain, 0);
    for (int j = 0; j < 2; j++) {
        const lp_ints a = bits_of_floats(x.v[2 * j]), b = bits_of_floats(x.v[2 * j + 1]);
        code[j] = lp_code_words(lp_sticky_words(q[2 * j], q[2 * j + 1]), words_of_upper_halves(a, b), w, plain);
    }
    return bytes_of_mixed_words(code[0], code[1]);
}
LP_VECTOR void lp_write_float8_quotients(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, uint8_t *d, const lp_writer *w
) {
    bits_store(d, lp_float8_quotients(mode, plain, x, f, at, w));
}
LP_VECTOR void lp_write_packed_float8_quotients(
    int mode, int plain, lp_float_group x, const lp_scaling *f, ptrdiff_t at, uint8_t *d, const lp_writer *w
) {
    bytes_store_pairs(d, lp_float8_quotients(mode, plain, x, f, at, w));
}

#else
typedef struct { int finite; } lp_scaling;
typedef struct { ptrdiff_t first, count; } lp_products;
typedef struct { int fits, plain; } lp_code_range;
#endif
