/* The error statistics of float32 values and of what became of them: once, for every instruction set of vectors.h. */
#pragma once
#include "kernel_types.h"
#include "vector_kernels/cast.h"

enum { LP_SUMS = 16, LP_MARKED = 64 };

/* What is carried from block to block, of which a vector is in use: the codes of positive and of negative values with
   the largest magnitudes, and the largest errors. */
typedef struct {
    int32_t top[LP_SUMS], bottom[LP_SUMS]; /* the latter without their sign; negative where there is none */
    float error[LP_SUMS];
} lp_lanes;

#if LP_VECTORS
enum { LP_VECTORS_OF_SUMS = LP_SUMS / LP_LANES };

/* Whether all of n elements are finite, n a multiple of 16; if so, take in the ends. As signed integers the codes of
   positive values are the largest, and without their sign those of negative ones. */
LP_VECTOR int lp_take_ends(const float *s, ptrdiff_t n, lp_lanes *lanes) {
    lp_ints top = ints_all(LP_SIGN), bottom = top;
    for (ptrdiff_t i = 0; i < n; i += LP_LANES) {
        const lp_ints v = ints_load(s + i);
        top = ints_max_signed(top, v);
        bottom = ints_max_signed(bottom, bits_xor(v, ints_all(LP_SIGN)));
    }
    if (ints_any(ints_greater_signed(ints_max_signed(top, bottom), ints_all(LP_INF - 1)))) return 0;
    floats_store(lanes->top, floats_of_bits(ints_max_signed(top, ints_load(lanes->top))));
    floats_store(lanes->bottom, floats_of_bits(ints_max_signed(bottom, ints_load(lanes->bottom))));
    return 1;
}

/* Take in n finite elements, n a multiple of 16 up to 256: element i goes to sum i % 16. Return whether a ratio of
   error and magnitude is larger than `ratio`; count elements that became zero, and mark each 64 of which one may lie
   beyond the range: its magnitude is at least the product of its scale and `bound`. Not marked in the uniform mode. */
LP_VECTOR int lp_compare_one_way(
    int mode, const float *s, const float *y, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, float bound,
    float ratio, double *signal, double *noise, lp_lanes *lanes, ptrdiff_t *flushed, uint8_t *beyond
) {
    const lp_ints magnitude_bits = ints_all(~LP_SIGN), one = ints_all(1), zero = ints_all(0);
    lp_doubles sums[2][2 * LP_VECTORS_OF_SUMS];
    lp_floats largest = floats_load(lanes->error);
    lp_ints larger = zero, lost = zero;
    u32 counts[LP_LANES];
    for (int j = 0; j < 2 * LP_VECTORS_OF_SUMS; j++) {
        sums[0][j] = doubles_load(signal + LP_LANES / 2 * j);
        sums[1][j] = doubles_load(noise + LP_LANES / 2 * j);
    }
    for (ptrdiff_t start = 0; start < n; start += LP_MARKED) {
        lp_ints marked = zero;
        for (ptrdiff_t i = start; i < n && i < start + LP_MARKED; i += LP_SUMS)
            for (int j = 0; j < LP_VECTORS_OF_SUMS; j++) {
                const ptrdiff_t here = i + LP_LANES * j;
                const lp_floats v = floats_load(s + here), w = floats_load(y + here);
                const lp_ints m = bits_and(bits_of_floats(v), magnitude_bits);
                const lp_ints result = bits_and(bits_of_floats(w), magnitude_bits);
                const lp_floats magnitude = floats_of_bits(m);
                const lp_ints difference = bits_of_floats(floats_subtract(v, w));
                const lp_floats error = floats_of_bits(bits_and(difference, magnitude_bits));
                const lp_floats minus = floats_of_bits(bits_or(difference, ints_all(LP_SIGN)));
                const lp_floats rest = floats_multiply_add(floats_all(ratio), magnitude, minus); /* may become -0 */
                lp_doubles x[2], e[2];
                largest = floats_max(error, largest); /* the second one where there is a NaN */
                larger = bits_or(larger, bits_of_floats(rest));
                lost = ints_add(lost, ints_select(ints_equal(result, zero), ints_min_signed(m, one), zero));
                if (mode != LP_SCALE_UNIFORM) {
                    const lp_floats factor = mode == LP_SCALE_ELEMENTWISE
                        ? floats_load(scale + at + here) : floats_all(scale[(at + i) >> shift]);
                    const lp_floats limit = floats_multiply(factor, floats_all(bound));
                    marked = ints_select(floats_at_least(magnitude, limit), one, marked);
                }
                doubles_of_floats(magnitude, x);
                doubles_of_floats(error, e);
                for (int k = 0; k < 2; k++) {
                    sums[0][2 * j + k] = doubles_multiply_add(x[k], x[k], sums[0][2 * j + k]);
                    sums[1][2 * j + k] = doubles_multiply_add(e[k], e[k], sums[1][2 * j + k]);
                }
            }
        if (mode != LP_SCALE_UNIFORM) beyond[start / LP_MARKED] = ints_any(ints_greater_signed(marked, zero));
    }
    for (int j = 0; j < 2 * LP_VECTORS_OF_SUMS; j++) {
        doubles_store(signal + LP_LANES / 2 * j, sums[0][j]);
        doubles_store(noise + LP_LANES / 2 * j, sums[1][j]);
    }
    floats_store(lanes->error, largest);
    floats_store(counts, floats_of_bits(lost));
    for (int j = 0; j < LP_LANES; j++) *flushed += counts[j];
    return ints_any(ints_greater_signed(zero, larger));
}

static int lp_compare(
    int mode, const float *s, const float *y, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, float bound,
    float ratio, double *signal, double *noise, lp_lanes *lanes, ptrdiff_t *flushed, uint8_t *beyond
) {
#define LP_COMPARE(mode) \
    lp_compare_one_way(mode, s, y, n, scale, at, shift, bound, ratio, signal, noise, lanes, flushed, beyond)
    if (mode == LP_SCALE_UNIFORM) return LP_COMPARE(LP_SCALE_UNIFORM);
    return mode == LP_SCALE_RUNS ? LP_COMPARE(LP_SCALE_RUNS) : LP_COMPARE(LP_SCALE_ELEMENTWISE);
#undef LP_COMPARE
}

#else /* never called */
static inline int lp_take_ends(const float *s, ptrdiff_t n, lp_lanes *lanes) { return 0; }
static inline int lp_compare(
    int mode, const float *s, const float *y, ptrdiff_t n, const float *scale, ptrdiff_t at, int shift, float bound,
    float ratio, double *signal, double *noise, lp_lanes *lanes, ptrdiff_t *flushed, uint8_t *beyond
) { return 0; }
#endif
