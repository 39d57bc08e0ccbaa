/* One element of a quantization: scales and zero points, for the compiled loops (C99) and for the CUDA text (C++17).

   Zero points are int32 where the codes are integers, float32 where they are floats; 0 is both, where there are none. */
#ifndef LP_SCALED_ELEMENTS_H
#define LP_SCALED_ELEMENTS_H
#ifndef LP_CUDA
#include "integer_elements.h"
#endif

/* ---- quotients -------------------------------------------------------------------------------------------------- */

/* A NaN has the sign of the operand it came from. A new one has none: the machines differ there. */
LP_INLINE u32 lp_propagate_nan(float result, u32 a, u32 b) {
    const u32 second = (b & ~LP_SIGN) > LP_INF ? b & LP_SIGN : 0;
    const u32 sign = (a & ~LP_SIGN) > LP_INF ? a & LP_SIGN : second;
    return result == result ? lp_bits(result) : LP_QUIET_NAN | sign;
}

LP_INLINE u64 lp_propagate_nan_double(double result, u64 a, u64 b) {
    const u64 second = (b & ~LP_DOUBLE_SIGN) > LP_DOUBLE_INF ? b & LP_DOUBLE_SIGN : 0;
    const u64 sign = (a & ~LP_DOUBLE_SIGN) > LP_DOUBLE_INF ? a & LP_DOUBLE_SIGN : second;
    return result == result ? lp_double_bits(result) : LP_DOUBLE_QUIET_NAN | sign;
}

/* A number that rounds to the same integer, or to the same code of up to 8 bits, as x / scale does, for scales in reach
   (LP_REACH): the product with the reciprocal, corrected once. Not every bit is that of the division: the product is up
   to 1.5 units off, so what is rounded last is up to 3.5 * 2**-24 units from x / scale and may be rounded to the other
   neighbour where a midpoint of two float32 is between. The code differs only if one of the two is a tie: an odd number
   of at most 9 bits, times a power of two. All such x and scale can be listed (tests/quantize/test_quotients.py does
   so), and none of them differs. Without FMA the machine divides. */
#define LP_REACH 0x1p60f
#define LP_FAR 0x1p30f /* beyond every range of codes of up to 8 bits that is encoded so */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define LP_BY_RECIPROCAL 1
/* For integers: values beyond any range are brought to LP_BEYOND_INT16 first; at the other end, and from NaN, NaN or
   anything below the range may come out. */
LP_INLINE float lp_integer_quotient(float x, float scale, float reciprocal) {
    const float largest = scale * LP_BEYOND_INT16;
    const float v = largest < x ? largest : x, q = v * reciprocal; /* NaN stays NaN */
    return __builtin_fmaf(__builtin_fmaf(-q, scale, v), reciprocal, q);
}
/* For floats: Inf, NaN and what is far beyond any range stay what the product is. A positive scale changes no sign. */
LP_INLINE u32 lp_float_quotient(u32 bits, float scale, float reciprocal) {
    const float x = lp_float(bits), q = x * reciprocal;
    const float corrected = __builtin_fmaf(__builtin_fmaf(-q, scale, x), reciprocal, q);
    const u32 magnitude = lp_bits(q) & ~LP_SIGN;
    const u32 quotient = (i32)magnitude < (i32)lp_bits(LP_FAR) ? lp_bits(corrected) & ~LP_SIGN : magnitude;
    return quotient | (bits & LP_SIGN);
}
#else
#define LP_BY_RECIPROCAL 0
LP_INLINE float lp_integer_quotient(float x, float scale, float reciprocal) { (void)reciprocal; return x / scale; }
LP_INLINE u32 lp_float_quotient(u32 bits, float scale, float reciprocal) {
    (void)reciprocal;
    return (lp_bits(lp_float(bits) / scale) & ~LP_SIGN) | (bits & LP_SIGN);
}
#endif

/* ---- values -> codes of integers -------------------------------------------------------------------------------- */

LP_INLINE u32 lp_in_field(u32 code, const params_t *p) { return LP_FIELD(u32, code, p->target_mask, p->target_sign); }

/* Round to an integer, add the zero point, saturate. low and high are the ends of the range less the zero point; NaN fails
   the first comparison and becomes low. 1.5 * 2**23 is far beyond any range of 16 bits. */
LP_INLINE u32 lp_round_saturate(float v, u32 zero, const params_t *p) {
    const float low = (float)(p->code_min - (i32)zero), high = (float)(p->code_max - (i32)zero);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return lp_in_field(lp_bits(v + LP_ROUNDER) - LP_ROUNDER_BITS + zero, p);
}

/* The same where zero points differ: values are clamped to beyond any range, rounded, then clamped to the range. */
LP_INLINE u32 lp_round_add_saturate(float v, u32 zero, const params_t *p) {
    v = v > -LP_BEYOND_INT16 ? v : -LP_BEYOND_INT16;
    v = v < LP_BEYOND_INT16 ? v : LP_BEYOND_INT16;
    i32 code = (i32)(lp_bits(v + LP_ROUNDER) - LP_ROUNDER_BITS + zero);
    code = code > p->code_min ? code : p->code_min;
    code = code < p->code_max ? code : p->code_max;
    return lp_in_field((u32)code, p);
}

LP_INLINE u32 lp_round_saturate_double(double v, u32 zero, const params_t *p) {
    const double low = (double)(p->code_min - (i32)zero), high = (double)(p->code_max - (i32)zero);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return lp_in_field((u32)lp_double_bits(v + LP_DOUBLE_ROUNDER) + zero, p); /* the lower half is the integer */
}

/* `_each` is for loops in which every element has a zero point of its own, `_reciprocal` for scales in reach. */
#define LP_QUANTIZE(BITS)                                                                                              \
    LP_INLINE u##BITS lp_quantize32_to##BITS(u32 v, u32 scale, u32 zero, const params_t *p) {                          \
        return (u##BITS)lp_round_saturate(lp_float(v) / lp_float(scale), zero, p);                                     \
    }                                                                                                                  \
    LP_INLINE u##BITS lp_quantize32_to##BITS##_each(u32 v, u32 scale, u32 zero, const params_t *p) {                   \
        return (u##BITS)lp_round_add_saturate(lp_float(v) / lp_float(scale), zero, p);                                 \
    }                                                                                                                  \
    LP_INLINE u##BITS lp_quantize64_to##BITS(u64 v, u64 scale, u32 zero, const params_t *p) {                          \
        return (u##BITS)lp_round_saturate_double(lp_double(v) / lp_double(scale), zero, p);                            \
    }                                                                                                                  \
    LP_INLINE u##BITS lp_round_saturate##BITS(u32 v, u64 scale, u32 zero, const params_t *p) {                         \
        (void)scale;                                                                                                   \
        return (u##BITS)lp_round_saturate(lp_float(v), zero, p);                                                       \
    }                                                                                                                  \
    LP_INLINE u##BITS lp_round_saturate##BITS##_each(u32 v, u64 scale, u32 zero, const params_t *p) {                  \
        (void)scale;                                                                                                   \
        return (u##BITS)lp_round_add_saturate(lp_float(v), zero, p);                                                   \
    }
LP_QUANTIZE(8) LP_QUANTIZE(16)

LP_INLINE u8 lp_quantize32_to8_reciprocal(u32 v, u32 scale, u32 reciprocal, u32 zero, const params_t *p) {
    return (u8)lp_round_saturate(lp_integer_quotient(lp_float(v), lp_float(scale), lp_float(reciprocal)), zero, p);
}

LP_INLINE u8 lp_quantize32_to8_reciprocal_each(u32 v, u32 scale, u32 reciprocal, u32 zero, const params_t *p) {
    return (u8)lp_round_add_saturate(lp_integer_quotient(lp_float(v), lp_float(scale), lp_float(reciprocal)), zero, p);
}

/* ---- value / scale, value + zero point, (value - zero point) * scale -> value ------------------------------------- */

LP_INLINE u32 lp_divide(u32 v, u32 scale, u32 zero, const params_t *p) {
    (void)zero, (void)p;
    return lp_propagate_nan(lp_float(v) / lp_float(scale), v, scale);
}

LP_INLINE u32 lp_divide_reciprocal(u32 v, u32 scale, u32 reciprocal, u32 zero, const params_t *p) {
    (void)zero, (void)p;
    return lp_float_quotient(v, lp_float(scale), lp_float(reciprocal));
}

/* One loop instead of `divide` and `encode8`: the divider works while other instructions encode. */
LP_INLINE u8 lp_divide_encode8(u32 v, u32 scale, u32 zero, const params_t *p) {
    return lp_encode8(lp_divide(v, scale, zero, p), p);
}

LP_INLINE u8 lp_divide_encode8_reciprocal(u32 v, u32 scale, u32 reciprocal, u32 zero, const params_t *p) {
    (void)zero;
    return lp_encode8(lp_float_quotient(v, lp_float(scale), lp_float(reciprocal)), p);
}

LP_INLINE u64 lp_divide64(u64 v, u64 scale, u32 zero, const params_t *p) {
    (void)zero, (void)p;
    return lp_propagate_nan_double(lp_double(v) / lp_double(scale), v, scale);
}

LP_INLINE u32 lp_add_zero_point(u32 v, u64 scale, u32 zero, const params_t *p) {
    (void)scale, (void)p;
    return lp_propagate_nan(lp_float(v) + lp_float(zero), v, zero);
}

LP_INLINE u32 lp_dequantize(u32 v, u32 scale, u32 zero, const params_t *p) {
    (void)p;
    return lp_propagate_nan((lp_float(v) - lp_float(zero)) * lp_float(scale), v, scale);
}

/* With scales that are neither 0, Inf nor NaN, and finite zero points, a NaN comes from the value alone, as it is. */
LP_INLINE u32 lp_dequantize_reciprocal(u32 v, u32 scale, u32 reciprocal, u32 zero, const params_t *p) {
    (void)reciprocal;
#if LP_NAN_PASSES_THROUGH
    (void)p;
    return lp_bits((lp_float(v) - lp_float(zero)) * lp_float(scale));
#else
    return lp_dequantize(v, scale, zero, p);
#endif
}

#endif
