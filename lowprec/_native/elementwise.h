/* One element: every function that decodes, rounds, encodes or rescales a single number, for the compiled loops (C99) and
   for the CUDA text (C++17).

   They are branch-free and work on integers that hold bits: a float32 travels as its bits in u32, a float64 in u64. A wide
   source is narrowed to float32 by rounding to odd, which keeps what a later rounding to at most 22 mantissa bits needs.
   A function has the name of the loop that applies it, after `lp_`. */
#ifndef LP_ELEMENTWISE_H
#define LP_ELEMENTWISE_H

#ifdef LP_CUDA /* NVRTC has no headers */
#ifndef __CUDACC__
#include <string.h>
#endif
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
#else
#include <float.h>
#include <stdint.h>
#include <string.h>
#include "params.h"
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
#endif

/* Every operation rounds once, to the type of its operands, and NaN and Inf are numbers of their own. */
#ifndef LP_CUDA
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "lowprec needs IEEE 754 arithmetic: compile it without -ffast-math, -Ofast, -ffinite-math-only and /fp:fast"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "lowprec needs arithmetic in the types of its operands: on 32-bit x86 compile it with -msse2 -mfpmath=sse"
#endif
#endif

#if defined(__CUDACC__)
#define LP_INLINE __device__ __forceinline__
#elif defined(__cplusplus)
#define LP_INLINE inline
#elif defined(__GNUC__)
#define LP_INLINE static inline __attribute__((always_inline, unused))
#else
#define LP_INLINE static inline
#endif

/* Whether arithmetic returns the NaN of an operand with its sign, and its payload, as it is. */
#if !defined(LP_CUDA) && (defined(__x86_64__) || defined(__aarch64__))
#define LP_NAN_PASSES_THROUGH 1
#else
#define LP_NAN_PASSES_THROUGH 0
#endif

/* float32:  s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm, bias 127;  the exponent begins at bit 23 */
#define LP_SIGN (1u << 31)
#define LP_INF (0xffu << 23)
#define LP_QUIET_NAN (0x1ffu << 22)
#define LP_HIDDEN_BIT (1u << 23)
#define LP_FRACTION (LP_HIDDEN_BIT - 1)
#define LP_TWO_31 ((127u + 31) << 23)

/* float64:  s eeeeeeeeeee m...m, bias 1023;  the exponent begins at bit 52 */
#define LP_DOUBLE_SIGN ((u64)1 << 63)
#define LP_DOUBLE_INF ((u64)0x7ff << 52)
#define LP_DOUBLE_QUIET_NAN ((u64)0xfff << 51)
#define LP_DOUBLE_HIDDEN_BIT ((u64)1 << 52)
#define LP_DOUBLE_FRACTION (LP_DOUBLE_HIDDEN_BIT - 1)
#define LP_DOUBLE_TWO_31 ((u64)(1023 + 31) << 52)
#define LP_DOUBLE_TWO_52 ((u64)(1023 + 52) << 52)
#define LP_DOUBLE_TWO_63 ((u64)(1023 + 63) << 52)
#define LP_DOUBLE_TWO_84 ((u64)(1023 + 84) << 52)

/* Added to a number, they round it half to even to an integer, which is in their lowest bits then. */
#define LP_ROUNDER 0x1.8p23f
#define LP_ROUNDER_BITS (((127u + 23) << 23) | (1u << 22))
#define LP_DOUBLE_ROUNDER 0x1.8p52
#define LP_BEYOND_INT16 0x1p20f

LP_INLINE float lp_float(u32 u) { float f; memcpy(&f, &u, 4); return f; }
LP_INLINE u32 lp_bits(float f) { u32 u; memcpy(&u, &f, 4); return u; }
LP_INLINE double lp_double(u64 u) { double d; memcpy(&d, &u, 8); return d; }
LP_INLINE u64 lp_double_bits(double d) { u64 u; memcpy(&u, &d, 8); return u; }

/* ---- code -> float32 bits --------------------------------------------------------------------------------------- */

/* A subnormal code is read with the smallest normal exponent, as 1.mmm. Its value is 0.mmm there: 1.000, the smallest
   normal value, is subtracted.
       0 0000 mmm  ->  1.mmm * 2**emin - 1.000 * 2**emin */
LP_INLINE u32 lp_decode_finite(u32 code, const params_t *p) {
    const u32 magnitude = code & p->magnitude_mask;
    const u32 normal = (magnitude << p->mantissa_shift) + p->rebias;
    const u32 subnormal = lp_bits(lp_float(normal + LP_HIDDEN_BIT) - lp_float(p->implicit_one));
    return magnitude >= p->first_normal ? normal : subnormal;
}

LP_INLINE u32 lp_decode(u32 code, const params_t *p) {
    u32 bits = lp_decode_finite(code, p);
    bits = (code & p->nan_mask) == p->first_nan ? p->nan_bits : bits;
    return bits | ((code & p->sign_mask) << p->sign_shift);
}

/* With Inf and a range of NaN codes, as IEEE's formats have them. */
LP_INLINE u32 lp_decode_ieee(u32 code, const params_t *p) {
    u32 bits = lp_decode_finite(code, p);
    bits = (code & p->magnitude_mask) == p->inf_code ? p->inf_bits : bits;
    bits = (code & p->nan_mask) - p->first_nan <= p->nan_range ? p->nan_bits : bits;
    return bits | ((code & p->sign_mask) << p->sign_shift);
}

/* With exponents below those of normal float32 numbers, and any special codes. */
LP_INLINE u32 lp_decode_lifted(u32 code, const params_t *p) {
    const u32 magnitude = code & p->magnitude_mask, shifted = magnitude << p->mantissa_shift;
    const u32 normal = shifted + p->lifted_rebias;
    const u32 subnormal = lp_bits(lp_float(normal + LP_HIDDEN_BIT) - lp_float(p->lifted_implicit_one));
    const u32 lifted = magnitude >= p->first_normal ? normal : subnormal;
    u32 bits = lp_bits(lp_float(lifted) * lp_float(p->lowering));
    bits = magnitude >= p->first_float32 ? shifted + p->rebias : bits;
    bits = magnitude == p->inf_code ? p->inf_bits : bits;
    bits = (code & p->nan_mask) - p->first_nan <= p->nan_range ? p->nan_bits : bits;
    return bits | ((code & p->sign_mask) << p->sign_shift);
}

LP_INLINE u32 lp_decode_lifted8(u8 code, const params_t *p) { return lp_decode_lifted(code, p); }
LP_INLINE u32 lp_decode_lifted16(u16 code, const params_t *p) { return lp_decode_lifted(code, p); }
LP_INLINE u32 lp_decode8(u8 code, const params_t *p) { return lp_decode(code, p); }
LP_INLINE u32 lp_decode16(u16 code, const params_t *p) { return lp_decode(code, p); }
LP_INLINE u32 lp_decode_ieee8(u8 code, const params_t *p) { return lp_decode_ieee(code, p); }
LP_INLINE u32 lp_decode_ieee16(u16 code, const params_t *p) { return lp_decode_ieee(code, p); }
LP_INLINE u32 lp_decode_half16(u16 code, const params_t *p) { return lp_decode_ieee(code, p); }
LP_INLINE u16 lp_decode8_to16(u8 code, const params_t *p) { return (u16)(lp_decode(code, p) >> p->code16_shift); }
LP_INLINE u16 lp_decode_ieee8_to16(u8 code, const params_t *p) {
    return (u16)(lp_decode_ieee(code, p) >> p->code16_shift);
}

LP_INLINE u32 lp_decode_upper16(u16 code, const params_t *p) {
    const u32 bits = (u32)code << 16, sign = bits & LP_SIGN;
    (void)p;
    return (bits & ~LP_SIGN) > LP_INF ? LP_QUIET_NAN | sign : bits;
}

/* 2**-127, code 0, is a float32 subnormal. */
LP_INLINE u32 lp_decode_power8(u8 code, const params_t *p) {
    const u32 shifted = (u32)code << 23, bits = shifted == 0 ? LP_HIDDEN_BIT >> 1 : shifted;
    (void)p;
    return bits == LP_INF ? LP_QUIET_NAN : bits;
}

/* ---- float32 bits -> code --------------------------------------------------------------------------------------- */

/* The sum of a value and its rounder, a power of two so large that the last bit of the sum is the last bit of the code:
       value          1 m m m | h s s s …      kept bits | half | sticky
       rounder  1 0 … 0 0 0 0 |
       sum      1 0 … 1 m m m |                half to even, as every addition
   The rounder stops at the smallest normal exponent: subnormals are multiples of the same last bit. */
typedef struct {
    u32 sum, rounder;
} lp_rounded_t;

LP_INLINE lp_rounded_t lp_round_by_adding(u32 bits, const params_t *p) {
    const i32 magnitude = (i32)(bits & ~LP_SIGN);
    const i32 clamped = magnitude < p->clamp ? magnitude : p->clamp;
    const i32 exponent = clamped > p->smallest_normal ? clamped : p->smallest_normal;
    lp_rounded_t r;
    r.rounder = ((u32)exponent & LP_INF) + p->rounder_offset;
    r.sum = lp_bits(lp_float((u32)clamped) + lp_float(r.rounder));
    return r;
}

LP_INLINE u32 lp_with_nan_and_sign(u32 code, u32 bits, const params_t *p) {
    code = (i32)(bits & ~LP_SIGN) > p->nan_above ? p->nan_code : code;
    return code ^ ((i32)(bits + p->sign_offset) <= p->sign_limit ? p->sign_bit : 0);
}

/* The sum ends in 1mmm, of a subnormal in 0mmm, and its exponent, shifted by dropped_bits, is that of the code plus a
   constant. The low bits of rounder_offset subtract the constant, which is even: a tie depends on the parity of the
   code. */
LP_INLINE u8 lp_encode8(u32 bits, const params_t *p) {
    const u32 sum = lp_round_by_adding(bits, p).sum;
    return (u8)lp_with_nan_and_sign(sum + (sum >> p->dropped_bits), bits, p);
}

/* The same for codes so wide that such a number would run into the exponent: the rounder is taken away again, its
   exponent added to the code. */
LP_INLINE u16 lp_encode16(u32 bits, const params_t *p) {
    const lp_rounded_t r = lp_round_by_adding(bits, p);
    return (u16)lp_with_nan_and_sign((r.sum - r.rounder) + ((r.rounder >> p->dropped_bits) - p->exponent_offset), bits, p);
}

LP_INLINE u16 lp_encode_half16(u32 bits, const params_t *p) { return lp_encode16(bits, p); }

LP_INLINE u8 lp_encode8_from16(u16 code, const params_t *p) {
    return lp_encode8((((u32)code & 0x7fff) << p->code16_shift) | (((u32)code & 0x8000) << 16), p);
}

/* The code is the upper half. Just under half of its last bit is added, and on a tie one more where that bit is odd:
       s eeeeeeee mmmmmm o | h sssssssssssssss
                           + 0 111111111111111 + o
   This works on the magnitude, so that `bits` is used only twice: gcc loads it again for every use. */
LP_INLINE u32 lp_round_to_upper16(u32 bits, const params_t *p) {
    const u32 magnitude = bits & ~LP_SIGN;
    const u32 sum = magnitude + 0x7fffu + ((magnitude >> 16) & 1);
    const u32 rounded = (i32)magnitude <= (i32)LP_INF ? sum : LP_QUIET_NAN;
    (void)p;
    return (rounded | (bits & LP_SIGN)) & 0xffff0000u;
}

LP_INLINE u16 lp_encode_upper16(u32 bits, const params_t *p) { return (u16)(lp_round_to_upper16(bits, p) >> 16); }

/* The code is the exponent field, after a carry: power_increment, which depends on the round_mode, is added to the
   fraction. Below 2**-126 float32 is subnormal, the carry comes too early, and every magnitude up to power_underflow
   has the smallest code. */
LP_INLINE u8 lp_encode_power8(u32 bits, const params_t *p) {
    const u32 magnitude = bits & ~LP_SIGN;
    const i32 clamped = (i32)magnitude < p->clamp ? (i32)magnitude : p->clamp;
    const u32 code = clamped > p->power_underflow ? ((u32)clamped + p->power_increment) >> 23 : 0;
    return (u8)(magnitude - p->power_lowest <= p->power_range ? code : p->nan_code);
}

/* The rounder, added and taken away: the value, rounded at the last bit that the precision has. */
LP_INLINE u32 lp_round_to_precision(u32 bits, const params_t *p) {
    const i32 magnitude = (i32)(bits & ~LP_SIGN);
    const i32 clamped = magnitude < p->precision_clamp ? magnitude : p->precision_clamp;
    const i32 exponent = clamped > p->precision_smallest_normal ? clamped : p->precision_smallest_normal;
    const float rounder = lp_float(((u32)exponent & LP_INF) + p->precision_rounder_offset);
    i32 rounded = (i32)lp_bits((lp_float((u32)clamped) + rounder) - rounder);
    rounded = rounded > p->precision_largest ? (i32)LP_INF : rounded;
    rounded = magnitude > (i32)LP_INF ? magnitude : rounded;
    return (u32)rounded | (bits & LP_SIGN);
}

/* ---- between float32 and float64 -------------------------------------------------------------------------------- */

/* What a conversion of the machine returned, or the NaN that it should have returned. */
LP_INLINE u32 lp_narrowed_nan(u32 bits, u64 wide) {
    const u32 nan = LP_QUIET_NAN | ((u32)(wide >> 32) & LP_SIGN);
    return !LP_NAN_PASSES_THROUGH && (wide & ~LP_DOUBLE_SIGN) > LP_DOUBLE_INF ? nan : bits;
}

/* Round to odd: truncate, then set the last bit if anything was lost. The machine rounds to nearest, which is one code
   too high where that magnitude is the larger one. */
LP_INLINE u32 lp_float64_to_float32_odd(u64 wide, const params_t *p) {
    const float nearest = (float)lp_double(wide);
    const double exact = lp_double(wide & ~LP_DOUBLE_SIGN);
    const double rounded = lp_double(lp_double_bits((double)nearest) & ~LP_DOUBLE_SIGN);
    u32 bits = lp_bits(nearest);
    (void)p;
    bits = bits - (rounded > exact ? 1 : 0);
    bits = bits | (rounded != exact ? 1 : 0);
    return lp_narrowed_nan(bits, wide);
}

/* Fold the lower half of the bits into the bit above, which makes 20 fraction bits, the last one sticky:
       s eeeeeeeeeee mmmmmmmmmmmmmmmmmmmm | llll…l   ->   the last m |= (l != 0), for l + 0xffffffff carries then
   float32 stores them exactly. What is beyond its exponents becomes Inf or 0: right for targets to which that is the
   same, and whose exponents reach far less. */
LP_INLINE u32 lp_float64_to_float32_sticky(u64 wide, const params_t *p) {
    const u64 low = 0xffffffffu;
    const u64 folded = (wide | ((wide & low) + low)) & ~low;
    (void)p;
    return lp_narrowed_nan(lp_bits((float)lp_double(folded)), wide);
}

LP_INLINE u8 lp_encode8_from64(u64 wide, const params_t *p) { return lp_encode8(lp_float64_to_float32_sticky(wide, p), p); }

LP_INLINE u32 lp_float64_to_float32(u64 wide, const params_t *p) {
    const u32 bits = lp_bits((float)lp_double(wide));
    (void)p;
#if LP_NAN_PASSES_THROUGH
    return (bits & ~LP_SIGN) > LP_INF ? LP_QUIET_NAN | (bits & LP_SIGN) : bits;
#else
    return lp_narrowed_nan(bits, wide);
#endif
}

LP_INLINE u64 lp_float32_to_float64(u32 bits, const params_t *p) {
    const u64 wide = lp_double_bits((double)lp_float(bits));
    (void)p;
    return (bits & ~LP_SIGN) > LP_INF ? LP_DOUBLE_QUIET_NAN | ((u64)(bits & LP_SIGN) << 32) : wide;
}

#endif
