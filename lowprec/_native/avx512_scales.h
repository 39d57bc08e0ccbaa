/* AVX-512, groups of 64 elements of the fused loops: scales where they lie in memory, quotients, products. */
#pragma once
#include "avx512_loads.h"

#if LP_AVX512
#define LP_BLOCK 1024                /* elements whose runs are prepared at once */
#define LP_RUNS (LP_BLOCK / 16 + 16) /* no fewer than their runs, and whole vectors */

/* 1 / scale as the sum of two float32. Then x * high + x * low, of which only the sum is rounded, needs no correction:
   it is off by less than 1/2 + 2**-22 units. For which quotients this could change a code is said at lp_float_quotient,
   and tests/quantize/test_quotients.py has all of them. limit is the largest x that is worth a division: beyond it
   x * low may be infinite. */
typedef struct {
    __m512 high, low, limit;
} lp_split;
LP_GROUP lp_split lp_split_reciprocal(__m512 scale, __m512 reciprocal) {
    const __m512 rest = _mm512_fnmadd_ps(reciprocal, scale, _mm512_set1_ps(1.0f));
    lp_split y;
    y.high = reciprocal;
    y.low = _mm512_fmadd_ps(rest, reciprocal, _mm512_mul_ps(rest, _mm512_mul_ps(rest, reciprocal)));
    y.limit = _mm512_mul_ps(scale, _mm512_set1_ps(LP_FAR));
    return y;
}

typedef struct {
    const float *scale, *reciprocal;
    const int32_t *zero;
    ptrdiff_t offset; /* of runs: from the start of the first one to the first element */
    ptrdiff_t first;  /* the first run that is prepared */
    int shift;
    lp_split split;
    __m512 one_scale, one_zero;
    float high[LP_RUNS], low[LP_RUNS], limit[LP_RUNS];
} lp_factors;

LP_GROUP void lp_factors_of(
    lp_factors *f, int mode, int divides, const void *scale, const void *zero, const float *reciprocal,
    ptrdiff_t offset, int shift
) {
    f->scale = (const float *)scale;
    f->reciprocal = reciprocal;
    f->zero = (const int32_t *)zero;
    f->offset = offset;
    f->shift = shift;
    f->first = 0;
    if (mode == LP_SCALE_UNIFORM) {
        f->one_scale = _mm512_set1_ps(f->scale[0]);
        f->one_zero = _mm512_castsi512_ps(_mm512_set1_epi32(zero ? f->zero[0] : 0));
        if (divides) f->split = lp_split_reciprocal(f->one_scale, _mm512_set1_ps(reciprocal[0]));
    }
}

/* Prepare the runs of n elements from `at` on. */
LP_GROUP void lp_prepare_runs(lp_factors *f, ptrdiff_t at, ptrdiff_t n) {
    f->first = (f->offset + at) >> f->shift;
    const ptrdiff_t count = ((f->offset + at + n - 1) >> f->shift) - f->first + 1;
    for (ptrdiff_t i = 0; i < count; i += 16) {
        const __mmask16 mask = lp_mask(count - i, 0);
        const __m512 scale = _mm512_maskz_loadu_ps(mask, f->scale + f->first + i);
        const lp_split y = lp_split_reciprocal(scale, _mm512_maskz_loadu_ps(mask, f->reciprocal + f->first + i));
        _mm512_storeu_ps(f->high + i, y.high);
        _mm512_storeu_ps(f->low + i, y.low);
        _mm512_storeu_ps(f->limit + i, y.limit);
    }
}

LP_GROUP ptrdiff_t lp_run(const lp_factors *f, ptrdiff_t at, ptrdiff_t n, int j) {
    return (f->offset + at + (n >= 64 || n > 16 * j ? 16 * j : 0)) >> f->shift;
}

LP_GROUP __m512 lp_load_each(const void *s, ptrdiff_t at, ptrdiff_t n, int j) {
    const float *from = (const float *)s + at + 16 * j;
    return n >= 64 ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps(lp_mask(n, j), from);
}

LP_GROUP __m512 lp_scale(int mode, const lp_factors *f, ptrdiff_t at, ptrdiff_t n, int j) {
    if (mode == LP_SCALE_ELEMENTWISE) return lp_load_each(f->scale, at, n, j);
    return mode == LP_SCALE_RUNS ? _mm512_set1_ps(f->scale[lp_run(f, at, n, j)]) : f->one_scale;
}

LP_GROUP __m512i lp_zeros(int mode, const lp_factors *f, ptrdiff_t at, ptrdiff_t n, int j) {
    if (mode == LP_SCALE_ELEMENTWISE) return _mm512_castps_si512(lp_load_each(f->zero, at, n, j));
    return mode == LP_SCALE_RUNS ? _mm512_set1_epi32(f->zero[lp_run(f, at, n, j)]) : _mm512_castps_si512(f->one_zero);
}

LP_GROUP lp_split lp_split_at(int mode, const lp_factors *f, ptrdiff_t at, ptrdiff_t n, int j) {
    if (mode == LP_SCALE_UNIFORM) return f->split;
    const ptrdiff_t run = lp_run(f, at, n, j) - f->first;
    return (lp_split){_mm512_set1_ps(f->high[run]), _mm512_set1_ps(f->low[run]), _mm512_set1_ps(f->limit[run])};
}

LP_GROUP __m512 lp_reciprocal(int mode, const lp_factors *f, ptrdiff_t at, ptrdiff_t n, int j) {
    if (mode == LP_SCALE_ELEMENTWISE) return lp_load_each(f->reciprocal, at, n, j);
    return mode == LP_SCALE_RUNS ? _mm512_set1_ps(f->reciprocal[lp_run(f, at, n, j)]) : f->split.high;
}

/* As lp_float_quotient: 0, Inf and NaN stay what the product is. With both parts of the reciprocal the sign of -0 would
   be lost, and Inf could be subtracted from Inf. */
LP_GROUP lp_group lp_divide_group(int mode, lp_group x, const lp_factors *f, ptrdiff_t at, ptrdiff_t n) {
    for (int j = 0; j < 4; j++) {
        const __m512 scale = lp_scale(mode, f, at, n, j), reciprocal = lp_reciprocal(mode, f, at, n, j);
        const __m512 q = _mm512_mul_ps(x.v[j], reciprocal);
        const __m512 corrected = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, scale, x.v[j]), reciprocal, q);
        x.v[j] = _mm512_mask_mov_ps(corrected, _mm512_fpclass_ps_mask(q, LP_ZERO_INF_NAN), q);
    }
    return x;
}

/* x / scale with any scale, as lp_divide, then rounded to float16 as lp_round_to_precision does. */
LP_GROUP lp_group lp_divide_half16_group(int mode, lp_group x, const lp_factors *f, ptrdiff_t at, ptrdiff_t n) {
    for (int j = 0; j < 4; j++) {
        const __m512 scale = lp_scale(mode, f, at, n, j);
        __m512 y = _mm512_div_ps(x.v[j], scale);
        if (__builtin_expect(_mm512_fpclass_ps_mask(scale, LP_ZERO_INF_NAN), 0))
            y = lp_propagate_nan_vector(y, x.v[j], scale);
        x.v[j] = _mm512_cvtph_ps(_mm512_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    return x;
}

/* A quotient, rounded as lp_round_to_upper16 does. The lower half of a NaN of the source is 0: it stays NaN. */
LP_GROUP lp_group lp_divide_upper16_group(int mode, lp_group x, const lp_factors *f, ptrdiff_t at, ptrdiff_t n) {
    const __m512i one = _mm512_set1_epi32(1), below_half = _mm512_set1_epi32(0x7fff);
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000u);
    x = lp_divide_group(mode, x, f, at, n);
    for (int j = 0; j < 4; j++) {
        const __m512i bits = _mm512_castps_si512(x.v[j]), odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
        const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, below_half), odd);
        x.v[j] = _mm512_castsi512_ps(_mm512_and_si512(sum, upper));
    }
    return x;
}

/* (x - zero) * scale, as lp_dequantize: NaN is rare, and then gets its sign. */
LP_GROUP lp_group lp_multiply_group(int mode, lp_group x, const lp_factors *f, ptrdiff_t at, ptrdiff_t n) {
    lp_group y;
    for (int j = 0; j < 4; j++) {
        const __m512 v = f->zero ? _mm512_sub_ps(x.v[j], _mm512_castsi512_ps(lp_zeros(mode, f, at, n, j))) : x.v[j];
        y.v[j] = _mm512_mul_ps(v, lp_scale(mode, f, at, n, j));
    }
    const __mmask16 first = _mm512_cmp_ps_mask(y.v[0], y.v[1], _CMP_UNORD_Q);
    if (__builtin_expect(first | _mm512_cmp_ps_mask(y.v[2], y.v[3], _CMP_UNORD_Q), 0))
        for (int j = 0; j < 4; j++) y.v[j] = lp_propagate_nan_vector(y.v[j], x.v[j], lp_scale(mode, f, at, n, j));
    return y;
}
#endif
