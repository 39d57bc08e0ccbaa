/* One element of a block and one scale, for the loops over MX and NVFP4 blocks. */
#ifndef LP_BLOCK_ELEMENTS_H
#define LP_BLOCK_ELEMENTS_H
#include "elementwise.h"

/* The parameters of a block quantization: those of its scales, then those of its elements. */
typedef struct {
    i32 rule_addend;      /* to the bits of the largest magnitude of a block; the sum's exponent field */
    i32 rule_offset;      /* less this is the code of a scale that is a power of two */
    float global_scale;   /* of scales that are quotients: */
    float largest_value;  /* of an element, */
    float scale_most;     /* of a scale, */
    i32 scale_normal;     /* the bits of the smallest normal scale; */
    float scale_factor;   /* makes the step between subnormal scales 2**scale_keep */
    u32 scale_keep;       /* bits that a scale has less than a float32 */
    float scale_value;    /* a code that is moved to the bits of a float32 is the scale over this */
    u32 scale_nan;        /* the code of NaN */
    i32 last;             /* magnitudes up to these bits count; larger ones are NaN or Inf */
    i32 most;             /* bits of the largest element */
    i32 smallest_normal;  /* bits of the smallest normal one */
    float factor;         /* makes the step between subnormal ones 2**keep */
    u32 keep;             /* bits of fraction behind the code of an element */
    u32 rounder_offset;   /* from the exponent of a value to the number that rounds it to even when added */
    u32 increment;        /* what is added to it, and for negative numbers as well */
    u32 increment_change;
    u32 odd_bit;          /* and where this bit is set */
    u32 odd_increment;
    u32 slot_shift;       /* and random bits: slot >> slot_shift << random_shift */
    u32 random_shift;
    u32 slot_bits;
    u32 sign_shift;       /* from bit 31 to the sign of a code */
    u32 sign_mask;
    u32 nan;              /* the codes of NaN, where blocks may hold it */
    u32 nan_negative;
} block_params_t;

LP_INLINE i32 lp_lesser(i32 a, i32 b) { return a < b ? a : b; }
LP_INLINE i32 lp_greater(i32 a, i32 b) { return a > b ? a : b; }

/* A magnitude, given by its bits, as a fixed-point number: a code with bits of fraction behind it, the last one set where
   more was lost. Subnormal ones are integers after a multiplication; beyond, the bits of a float32 have the same steps. */
LP_INLINE i32 lp_fixed_point(i32 bits, i32 smallest_normal, float factor) {
    const i32 low = lp_lesser(bits, smallest_normal);
    const float scaled = lp_float((u32)low) * factor;
    const i32 whole = (i32)scaled;
    return (whole | ((float)whole != scaled ? 1 : 0)) + (bits - low);
}

/* The code of a number whose magnitude over its scale has these bits. */
LP_INLINE u32 lp_block_code(u32 x, i32 magnitude, u32 slot, const block_params_t *p) {
    const u32 fixed = (u32)lp_fixed_point(lp_lesser(magnitude, p->most), p->smallest_normal, p->factor);
    const u32 odd = (0 - ((fixed >> p->odd_bit) & 1)) & p->odd_increment;
    const u32 negative = (u32)((i32)x >> 31) & p->increment_change;
    const u32 random = (slot >> p->slot_shift) << p->random_shift;
    const u32 code = (fixed + (p->increment + negative) + odd + random) >> p->keep;
    return code | ((x >> p->sign_shift) & p->sign_mask);
}

/* Over a power of two, by its inverse. What is too small for a float32 then is not 0: it has the smallest magnitude. */
LP_INLINE i32 lp_power_quotient(u32 x, float inverse) {
    const i32 magnitude = (i32)(x & ~LP_SIGN);
    return lp_greater((i32)lp_bits(lp_float((u32)magnitude) * inverse), lp_lesser(magnitude, 1));
}

/* Over any scale, rounded to float32. Inf / Inf is a NaN whose sign depends on the machine. */
LP_INLINE i32 lp_true_quotient(u32 x, float divisor) {
    return (i32)(lp_bits(lp_float(x & ~LP_SIGN) / divisor) & ~LP_SIGN);
}

/* The same code, rounded to nearest even by an addition, as lp_encode8 does: bits above the code are left over. */
LP_INLINE u32 lp_block_code_by_adding(u32 x, i32 magnitude, const block_params_t *p) {
    const i32 clamped = lp_lesser(magnitude, p->most);
    const u32 rounder = ((u32)lp_greater(clamped, p->smallest_normal) & LP_INF) + p->rounder_offset;
    const u32 sum = lp_bits(lp_float((u32)clamped) + lp_float(rounder));
    return (sum + (sum >> p->keep)) | ((x >> p->sign_shift) & p->sign_mask);
}

LP_INLINE u32 lp_power_code_by_adding(u32 x, float inverse, const block_params_t *p) {
    return lp_block_code_by_adding(x, (i32)lp_bits(lp_float(x & ~LP_SIGN) * inverse), p);
}
LP_INLINE u32 lp_quotient_code_by_adding(u32 x, float divisor, const block_params_t *p) {
    return lp_block_code_by_adding(x, lp_true_quotient(x, divisor), p);
}
LP_INLINE u32 lp_power_code(u32 x, float inverse, const block_params_t *p) {
    return lp_block_code(x, lp_power_quotient(x, inverse), 0, p);
}
LP_INLINE u32 lp_quotient_code(u32 x, float divisor, const block_params_t *p) {
    return lp_block_code(x, lp_true_quotient(x, divisor), 0, p);
}
LP_INLINE u32 lp_power_code_random(u32 x, float inverse, u32 slot, const block_params_t *p) {
    return lp_block_code(x, lp_power_quotient(x, inverse), slot, p);
}
LP_INLINE u32 lp_quotient_code_random(u32 x, float divisor, u32 slot, const block_params_t *p) {
    return lp_block_code(x, lp_true_quotient(x, divisor), slot, p);
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

/* The code of the power of two for a largest magnitude; that of a subnormal one has an exponent below all others. */
LP_INLINE i32 lp_power_scale(i32 largest, const block_params_t *p) {
    const i32 normalized = (i32)lp_bits(lp_float((u32)largest) * 0x1p23f) - (23 << 23);
    const i32 bits = largest < (i32)LP_HIDDEN_BIT ? normalized : largest;
    const i32 code = ((bits + p->rule_addend) >> 23) - p->rule_offset;
    return lp_lesser(lp_greater(code, 0), 254);
}

/* 2**-E for the code E + 127; the last one is subnormal. */
LP_INLINE float lp_inverse_power(i32 code) {
    return lp_float(code == 254 ? LP_HIDDEN_BIT >> 1 : (u32)(254 - code) << 23);
}

/* The code of the quotient of a largest magnitude, rounded to nearest even; not 0 where the magnitude is not. */
LP_INLINE i32 lp_quotient_scale(i32 largest, const block_params_t *p) {
    const float quotient = lp_float((u32)largest) / p->largest_value / p->global_scale;
    const float clamped = quotient < p->scale_most ? quotient : p->scale_most;
    const u32 fixed = (u32)lp_fixed_point((i32)lp_bits(clamped), p->scale_normal, p->scale_factor);
    const u32 half = (1u << p->scale_keep >> 1) - 1;
    const i32 code = (i32)((fixed + half + ((fixed >> p->scale_keep) & 1)) >> p->scale_keep);
    return lp_greater(code, lp_lesser(largest, 1));
}

/* A scale times the global one; Inf instead of 0, which makes zeros. */
LP_INLINE float lp_scale_divisor(i32 code, const block_params_t *p) {
    const float divisor = p->global_scale * (lp_float((u32)code << p->scale_keep) * p->scale_value);
    return divisor == 0 ? lp_float(LP_INF) : divisor;
}
#endif
