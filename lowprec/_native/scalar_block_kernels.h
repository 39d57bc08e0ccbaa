/* One element of a block and one scale, for the loops over MX and NVFP4 blocks. */
#ifndef LP_BLOCK_ELEMENTS_H
#define LP_BLOCK_ELEMENTS_H
#include "scalar_kernels.h"

/* The parameters of a block quantization: those of its scales, then those of its elements. */
typedef struct {
    i32 rule_addend;      /* to the bits of the largest magnitude of a block; the sum's exponent field */
    i32 rule_offset;      /* less this is the code of a scale that is a power of two */
    i32 quotient_rule;    /* of scales that are quotients: LP_OWN or one of the others; */
    float largest_value;  /* of an element; */
    float largest_factor; /* the largest magnitude of a block is multiplied by this, */
    float first_divisor;  /* divided by this, */
    float second_divisor; /* then by this, */
    float quotient_of_0;  /* is this where it became 0, */
    float scale_least;    /* and clamped: these are a scale, */
    float scale_most;
    i32 scale_code_least; /* this its code at least where a block is not zero; */
    float scale_unit;     /* an element is divided by the scale times this, */
    float factor_unit;    /* or multiplied by this over that product, */
    float factor_most;    /* which is no more than this; */
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
    u32 zero_sign;        /* all bits where a quotient of 0 has a sign */
    u32 nan;              /* the codes of NaN, where blocks may hold it */
    u32 nan_negative;
} block_params_t;

LP_INLINE i32 lp_lesser(i32 a, i32 b) { return a < b ? a : b; }
LP_INLINE i32 lp_greater(i32 a, i32 b) { return a > b ? a : b; }

/* A magnitude, given by its bits, as a fixed-point number: a code with bits of fraction behind it, the last one set
   where more was lost. Subnormal ones are integers after a multiplication; beyond, the bits of a float32 have the same
   steps. */
LP_INLINE i32 lp_fixed_point(i32 bits, i32 smallest_normal, float factor) {
    const i32 low = lp_lesser(bits, smallest_normal);
    const float scaled = lp_float((u32)low) * factor;
    const i32 whole = (i32)scaled;
    return (whole | ((float)whole != scaled ? 1 : 0)) + (bits - low);
}

LP_INLINE u32 lp_sign_of_code(u32 x, i32 magnitude, const block_params_t *p) {
    return (x >> p->sign_shift) & p->sign_mask & (magnitude != 0 ? ~0u : p->zero_sign);
}

/* The code of a number whose magnitude over its scale has these bits. */
LP_INLINE u32 lp_block_code(u32 x, i32 magnitude, u32 slot, const block_params_t *p) {
    const u32 fixed = (u32)lp_fixed_point(lp_lesser(magnitude, p->most), p->smallest_normal, p->factor);
    const u32 odd = (0 - ((fixed >> p->odd_bit) & 1)) & p->odd_increment;
    const u32 negative = (u32)((i32)x >> 31) & p->increment_change;
    const u32 random = (slot >> p->slot_shift) << p->random_shift;
    const u32 code = (fixed + (p->increment + negative) + odd + random) >> p->keep;
    return code | lp_sign_of_code(x, magnitude, p);
}

/* Over a power of two, by its inverse. */
LP_INLINE i32 lp_power_product(u32 x, float inverse) { return (i32)lp_bits(lp_float(x & ~LP_SIGN) * inverse); }

/* The same for every rounding: what is too small for a float32 then is not 0: it has the smallest magnitude. */
LP_INLINE i32 lp_power_quotient(u32 x, float inverse) {
    return lp_greater(lp_power_product(x, inverse), lp_lesser((i32)(x & ~LP_SIGN), 1));
}

/* Over any scale, rounded to float32. Inf / Inf is a NaN whose sign depends on the machine. */
LP_INLINE i32 lp_true_quotient(u32 x, float divisor) {
    return (i32)(lp_bits(lp_float(x & ~LP_SIGN) / divisor) & ~LP_SIGN);
}

/* Times any factor, rounded to float32; 0 times Inf is 0. */
LP_INLINE i32 lp_true_product(u32 x, float factor) {
    const i32 product = (i32)(lp_bits(lp_float(x & ~LP_SIGN) * factor) & ~LP_SIGN);
    return (x & ~LP_SIGN) == 0 ? 0 : product;
}

/* The same code, rounded to nearest even by an addition, as lp_encode8 does: bits above the code are left over. */
LP_INLINE u32 lp_block_code_by_adding(u32 x, i32 magnitude, const block_params_t *p) {
    const i32 clamped = lp_lesser(magnitude, p->most);
    const u32 rounder = ((u32)lp_greater(clamped, p->smallest_normal) & LP_INF) + p->rounder_offset;
    const u32 sum = lp_bits(lp_float((u32)clamped) + lp_float(rounder));
    return (sum + (sum >> p->keep)) | lp_sign_of_code(x, magnitude, p);
}

/* Codes by a factor or a divisor: rounded by any rule, to nearest even by adding, with random bits. */
#define LP_BLOCK_KIND(KIND, QUOTIENT, QUOTIENT_TO_EVEN)                                                                \
    LP_INLINE u32 lp_##KIND##_code(u32 x, float factor, const block_params_t *p) {                                     \
        return lp_block_code(x, QUOTIENT(x, factor), 0, p);                                                            \
    }                                                                                                                  \
    LP_INLINE u32 lp_##KIND##_code_by_adding(u32 x, float factor, const block_params_t *p) {                           \
        return lp_block_code_by_adding(x, QUOTIENT_TO_EVEN(x, factor), p);                                             \
    }                                                                                                                  \
    LP_INLINE u32 lp_##KIND##_code_random(u32 x, float factor, u32 slot, const block_params_t *p) {                    \
        return lp_block_code(x, QUOTIENT(x, factor), slot, p);                                                         \
    }
LP_BLOCK_KIND(power, lp_power_quotient, lp_power_product)
LP_BLOCK_KIND(quotient, lp_true_quotient, lp_true_quotient)
LP_BLOCK_KIND(product, lp_true_product, lp_true_product)

/* ---- scales ------------------------------------------------------------------------------------------------------ */

/* The code of the power of two for a largest magnitude; that of a subnormal one has an exponent below all others. */
LP_INLINE i32 lp_power_scale(i32 largest, const block_params_t *p) {
    const i32 normalized = (i32)lp_bits(lp_float((u32)largest) * 0x1p23f) - (23 << 23);
    const i32 bits = largest < (i32)LP_HIDDEN_BIT ? normalized : largest;
    const i32 code = ((bits + p->rule_addend) >> 23) - p->rule_offset;
    return lp_lesser(lp_greater(code, 0), 254);
}

/* What elements are multiplied by: 2**-E for the code E + 127; the last one is subnormal. */
LP_INLINE float lp_power_factor(i32 code, const block_params_t *p) {
    (void)p;
    return lp_float(code == 254 ? LP_HIDDEN_BIT >> 1 : (u32)(254 - code) << 23);
}

/* The rules of scales that are quotients: lowprec's, those of torchao, ModelOpt and Transformer Engine. */
enum { LP_OWN, LP_TORCHAO, LP_MODELOPT, LP_TRANSFORMER_ENGINE };

/* Set what depends on the global scale, or on what a rule has in its place, its inverse: every step is rounded. */
LP_INLINE void lp_start_scales(block_params_t *p, float start) {
    const float infinity = lp_float(LP_INF), inverse = 1 / start;
    const i32 rule = p->quotient_rule;
    p->largest_factor = rule == LP_TRANSFORMER_ENGINE ? start * (1 / p->largest_value) : 1;
    p->first_divisor = rule == LP_MODELOPT ? p->largest_value * start
        : rule == LP_TRANSFORMER_ENGINE ? 1 : p->largest_value;
    p->second_divisor = rule == LP_MODELOPT || rule == LP_TRANSFORMER_ENGINE ? 1 : start;
    p->scale_unit = rule == LP_TORCHAO ? 1 : rule == LP_TRANSFORMER_ENGINE ? inverse : start;
    p->factor_unit = rule == LP_TORCHAO ? inverse : 1;
    p->factor_most = rule == LP_TRANSFORMER_ENGINE ? lp_float(LP_INF - 1) : infinity;
}

/* What a rule starts from is the global scale, or the inverse of that, which is finite; and back. */
LP_INLINE float lp_start_of_scale(float scale, const block_params_t *p) {
    const float most = lp_float(LP_INF - 1), inverse = 1 / scale;
    return p->quotient_rule != LP_TRANSFORMER_ENGINE ? scale : inverse < most ? inverse : most;
}
LP_INLINE float lp_scale_of_start(float start, const block_params_t *p) {
    return p->quotient_rule != LP_TRANSFORMER_ENGINE ? start : 1 / start;
}

/* What Transformer Engine's starts from for the largest magnitude of a tensor. */
LP_INLINE float lp_start_of_largest(float largest, const block_params_t *p) {
    const float most = lp_float(LP_INF - 1), inverse = p->largest_value * p->scale_most / largest;
    return largest == 0 ? 1 : inverse < most ? inverse : most;
}

/* The code of the quotient of a largest magnitude, rounded to nearest even. */
#define lp_product_scale lp_quotient_scale
LP_INLINE i32 lp_quotient_scale(i32 largest, const block_params_t *p) {
    const float product = lp_float((u32)largest) * p->largest_factor;
    const float over = product / p->first_divisor / p->second_divisor;
    const float quotient = over == 0 ? p->quotient_of_0 : over;
    const float limited = quotient < p->scale_most ? quotient : p->scale_most;
    const float clamped = limited > p->scale_least ? limited : p->scale_least;
    const u32 fixed = (u32)lp_fixed_point((i32)lp_bits(clamped), p->scale_normal, p->scale_factor);
    const u32 half = (1u << p->scale_keep >> 1) - 1;
    const i32 code = (i32)((fixed + half + ((fixed >> p->scale_keep) & 1)) >> p->scale_keep);
    return lp_greater(code, lp_lesser(largest, p->scale_code_least));
}

/* A scale times its unit. */
LP_INLINE float lp_whole_scale(i32 code, const block_params_t *p) {
    return p->scale_unit * (lp_float((u32)code << p->scale_keep) * p->scale_value);
}

/* What elements are divided by: Inf instead of 0, which makes zeros. */
LP_INLINE float lp_quotient_factor(i32 code, const block_params_t *p) {
    const float divisor = lp_whole_scale(code, p);
    return divisor == 0 ? lp_float(LP_INF) : divisor;
}

/* What they are multiplied by. */
LP_INLINE float lp_product_factor(i32 code, const block_params_t *p) {
    const float factor = p->factor_unit / lp_whole_scale(code, p);
    return factor < p->factor_most ? factor : p->factor_most;
}
#endif
