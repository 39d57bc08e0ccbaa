/* One element: every function that decodes, rounds, encodes or scales a single number, or rounds it by any rule, for the compiled loops (C99) and
   for the CUDA text (C++17).

   They are branch-free and work on integers that hold bits: a float32 travels as its bits in u32, a float64 in u64. A wide
   source is narrowed to float32 by rounding to odd, which keeps what a later rounding to at most 22 mantissa bits needs.
   A function has the name of the loop that applies it, after `lp_`. */
#ifndef LP_SCALAR_KERNELS_H
#define LP_SCALAR_KERNELS_H

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
/* 16: only half-precision types of C, which are not used here, could have more digits. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "lowprec needs arithmetic in the types of its operands: on 32-bit x86 compile it with -msse2 -mfpmath=sse"
#endif
#endif

#if defined(__CUDACC__)
#define LP_INLINE __device__ __forceinline__
#elif defined(__cplusplus)
#define LP_INLINE inline
#elif defined(__GNUC__) || defined(__clang__)
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

/* One element of which one end, or both, is an integer: integers to floats, floats to integers, integers to each other. */

/* ---- integer -> float32 or float64 ------------------------------------------------------------------------------ */

LP_INLINE u32 lp_integer8_to_float32(u8 v, const params_t *p) {
    const i32 sign = (i32)p->source_sign;
    return lp_bits((float)((((i32)v & (i32)p->source_mask) ^ sign) - sign));
}

LP_INLINE u32 lp_integer16_to_float32(u16 v, const params_t *p) {
    const i32 sign = (i32)p->source_sign;
    return lp_bits((float)(((i32)v ^ sign) - sign));
}

/* Rounded once by the machine, which has an instruction for any of them from AVX-512 on. */
LP_INLINE u32 lp_int32_to_float32(u32 v, const params_t *p) { (void)p; return lp_bits((float)(i32)v); }
LP_INLINE u32 lp_uint32_to_float32(u32 v, const params_t *p) { (void)p; return lp_bits((float)v); }
LP_INLINE u32 lp_int64_to_float32(u64 v, const params_t *p) { (void)p; return lp_bits((float)(i64)v); }
LP_INLINE u32 lp_uint64_to_float32(u64 v, const params_t *p) { (void)p; return lp_bits((float)v); }
LP_INLINE u64 lp_int32_to_float64(u32 v, const params_t *p) { (void)p; return lp_double_bits((double)(i32)v); }
LP_INLINE u64 lp_uint32_to_float64(u32 v, const params_t *p) { (void)p; return lp_double_bits((double)v); }

#ifdef LP_CUDA
LP_INLINE u64 lp_int64_to_float64(u64 v, const params_t *) { return lp_double_bits((double)(i64)v); }
LP_INLINE u64 lp_uint64_to_float64(u64 v, const params_t *) { return lp_double_bits((double)v); }
#else /* few machines have vector instructions for these */
/* Each half becomes the lowest bits of a double: 2**84 + upper * 2**32 and 2**52 + lower are exact, and so is the
   difference of the first and 2**84 + 2**52. The last addition is the only one that rounds. */
LP_INLINE u64 lp_uint64_to_float64(u64 v, const params_t *p) {
    const double upper = lp_double((v >> 32) | LP_DOUBLE_TWO_84);
    const double lower = lp_double((v & 0xffffffffu) | LP_DOUBLE_TWO_52);
    (void)p;
    return lp_double_bits((upper - lp_double(LP_DOUBLE_TWO_84 | (u64)1 << (52 - 32))) + lower);
}

/* The same with 2**31 added to the upper half, to make it positive. */
LP_INLINE u64 lp_int64_to_float64(u64 v, const params_t *p) {
    const double upper = lp_double(((v >> 32) ^ (u64)1 << 31) | LP_DOUBLE_TWO_84);
    const double lower = lp_double((v & 0xffffffffu) | LP_DOUBLE_TWO_52);
    (void)p;
    return lp_double_bits((upper - lp_double(LP_DOUBLE_TWO_84 | (u64)1 << 31 | (u64)1 << (52 - 32))) + lower);
}
#endif

/* From 2**53 on fold the low 12 bits into the bit above, as a sticky one: float64 stores the rest exactly. */
LP_INLINE u64 lp_fold_low_bits(u64 v, u64 magnitude) {
    const u64 low = 0xfff;
    const u64 folded = (v | ((v & low) + low)) & ~low;
    return (magnitude >> 53) != 0 ? folded : v;
}

LP_INLINE u64 lp_uint64_to_float64_odd(u64 v, const params_t *p) {
    return lp_uint64_to_float64(lp_fold_low_bits(v, v), p);
}

LP_INLINE u64 lp_int64_to_float64_odd(u64 v, const params_t *p) {
    const u64 negative = 0 - (v >> 63);
    return lp_int64_to_float64(lp_fold_low_bits(v, (v ^ negative) - negative), p);
}

/* ---- values -> integers and bools ------------------------------------------------------------------------------- */

/* The low 32 bits of the integer part, two's complement: the significand 1mmm…m as an integer, shifted by the exponent.
   NaN and Inf have exponents beyond reach and give 0. */
LP_INLINE u32 lp_integer_part32(u32 bits) {
    const u32 significand = (bits & LP_FRACTION) | LP_HIDDEN_BIT;
    const i32 left = (i32)((bits & ~LP_SIGN) >> 23) - (127 + 23), right = -left;
    const u32 up = left < 32 ? significand << (left & 31) : 0;
    const u32 down = right < 32 ? significand >> (right & 31) : 0;
    const u32 magnitude = left >= 0 ? up : down, negative = 0 - (bits >> 31);
    return (magnitude ^ negative) - negative;
}

LP_INLINE u64 lp_integer_part64(u64 bits) {
    const u64 significand = (bits & LP_DOUBLE_FRACTION) | LP_DOUBLE_HIDDEN_BIT;
    const i64 left = (i64)((bits & ~LP_DOUBLE_SIGN) >> 52) - (1023 + 52), right = -left;
    const u64 up = left < 64 ? significand << (left & 63) : 0;
    const u64 down = right < 64 ? significand >> (right & 63) : 0;
    const u64 magnitude = left >= 0 ? up : down, negative = 0 - (bits >> 63);
    return (magnitude ^ negative) - negative;
}

/* Keep a field of bits and, where `sign` is its highest one, fill the bits above with it. Computed in the width of T:
   where that is narrower than the source, upper bits and sign of the source do not matter. */
#define LP_FIELD(T, v, mask, sign) ((T)((((T)(v) & (T)(mask)) ^ (T)(sign)) - (T)(sign)))

#define LP_TRUNCATE(FROM, TO)                                                                                          \
    LP_INLINE u##TO lp_truncate##FROM##_to##TO(u##FROM bits, const params_t *p) {                                      \
        return (u##TO)LP_FIELD(u##FROM, lp_integer_part##FROM(bits), p->target_mask, p->target_sign);                  \
    }
#define LP_NONZERO(BITS)                                                                                               \
    LP_INLINE u8 lp_nonzero##BITS(u##BITS v, const params_t *p) {                                                      \
        return (u8)((v & (u##BITS)p->source_mask) != 0) | (u8)p->always_true;                                          \
    }
#define LP_WRAP(FROM, TO)                                                                                              \
    LP_INLINE u##TO lp_wrap##FROM##_to##TO(u##FROM v, const params_t *p) {                                             \
        return LP_FIELD(u##TO, LP_FIELD(u##TO, v, p->source_mask, p->source_sign), p->target_mask, p->target_sign);    \
    }
LP_TRUNCATE(32, 8) LP_TRUNCATE(32, 16) LP_TRUNCATE(32, 32)
LP_TRUNCATE(64, 8) LP_TRUNCATE(64, 16) LP_TRUNCATE(64, 32) LP_TRUNCATE(64, 64)
LP_INLINE u64 lp_truncate32_to64(u32 bits, const params_t *p) { /* float64 has every float32 */
    (void)p;
    return lp_integer_part64(lp_double_bits((double)lp_float(bits)));
}
LP_NONZERO(8) LP_NONZERO(16) LP_NONZERO(32) LP_NONZERO(64)
LP_WRAP(8, 8) LP_WRAP(8, 16) LP_WRAP(8, 32) LP_WRAP(8, 64)
LP_WRAP(16, 8) LP_WRAP(16, 16) LP_WRAP(16, 32) LP_WRAP(16, 64)
LP_WRAP(32, 8) LP_WRAP(32, 16) LP_WRAP(32, 32) LP_WRAP(32, 64)
LP_WRAP(64, 8) LP_WRAP(64, 16) LP_WRAP(64, 32) LP_WRAP(64, 64)

/* One element of a quantization: scales and zero points.

   Zero points are int32 where the codes are integers, float32 where they are floats; 0 is both, where there are none. */

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
   of at most 9 bits, times a power of two. All such x and scale can be listed
   (tests/ops/quantize/test_quotients.py does so), and none of them differs. Without FMA the machine divides. */
#define LP_REACH 0x1p60f
#define LP_FAR 0x1p30f /* beyond every range of codes of up to 8 bits that is encoded so */
LP_INLINE u32 lp_reciprocal(u32 scale) { return lp_bits(1 / lp_float(scale)); }
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
LP_INLINE u32 lp_dequantize_finite(u32 v, u32 scale, u32 zero, const params_t *p) {
#if LP_NAN_PASSES_THROUGH
    (void)p;
    return lp_bits((lp_float(v) - lp_float(zero)) * lp_float(scale));
#else
    return lp_dequantize(v, scale, zero, p);
#endif
}

/* One element, rounded by any rule: the mode, what becomes of overflow, Inf, NaN and zero, and random bits are numbers of
   `params_t`.

   A magnitude becomes a fixed-point number, the code with `round_keep` bits of fraction behind it:
       code . fraction          fraction / 2**keep: how far the value lies on the way to the next code
   To round is to add an increment, which depends on the sign and on whether a bit is odd, and to truncate. */

/* What is no finite value of the target, and the sign. */
LP_INLINE u64 lp_limited(u64 code, u32 negative, u32 is_inf, u32 is_nan, const params_t *p) {
    const u64 largest = negative ? p->round_largest_negative : p->round_largest;
    u64 result = code - p->round_code_offset + (negative ? p->round_sign : 0);
    result = code > largest ? (negative ? p->round_overflow_negative : p->round_overflow) : result;
    result = code == 0 ? (negative ? p->round_zero_negative : p->round_zero) : result;
    result = is_inf ? (negative ? p->round_infinity_negative : p->round_infinity) : result;
    return is_nan ? (negative ? p->round_nan_negative : p->round_nan) : result;
}

/* The increment of a fixed-point number, and the random bits of its element. */
LP_INLINE u64 lp_increment(u64 fixed, u32 negative, u32 slot, const params_t *p) {
    const u64 odd = fixed & p->round_odd_bit ? p->round_odd_increment : 0;
    const u64 random = (u64)(slot >> p->round_slot_shift) << p->round_random_shift;
    return (negative ? p->round_increment_negative : p->round_increment) + odd + random;
}

/* Normal values are a fixed-point number as their bits are, but for a constant. Below, |x| is multiplied to be an integer
   and a fraction; the integer has a last bit that is set where the fraction is not 0. 2**52 is added to find it: the sum
   has it in its lowest bits, rounded. */
LP_INLINE u64 lp_rounded64(u64 bits, u32 slot, const params_t *p) {
    const u64 magnitude = bits & ~LP_DOUBLE_SIGN;
    const u32 negative = (u32)(bits >> 63);
    const double scaled = lp_double(magnitude) * lp_double(p->round_factor);
    const double sum = scaled + 0x1p52, nearest = sum - 0x1p52;
    const u64 whole = lp_double_bits(sum) - (nearest > scaled ? 1 : 0) - LP_DOUBLE_TWO_52;
    const u64 lost = nearest != scaled || (whole == 0 && magnitude != 0) ? p->round_sticky : 0;
    const u64 fixed = magnitude < p->round_smallest_normal ? whole | lost : magnitude - p->round_base;
    const u64 rounded = (fixed + lp_increment(fixed, negative, slot, p)) >> p->round_keep;
    const u64 code = magnitude > p->round_last ? p->round_largest + 1 : rounded;
    return lp_limited(code, negative, magnitude == LP_DOUBLE_INF, magnitude > LP_DOUBLE_INF, p);
}

/* The same from float32, for targets of 16 bits. What lies below the smallest normal value, and what lies above it, are
   added: one of them is 0, or the first is a constant. */
LP_INLINE u32 lp_code_from32(u32 bits, u32 slot, const params_t *p) {
    const u32 magnitude = bits & ~LP_SIGN, negative = (u32)((i32)bits >> 31);
    const i32 smallest = (i32)p->round_smallest_normal;
    const u32 below = (u32)((i32)magnitude < smallest ? (i32)magnitude : smallest);
    const float scaled = lp_float(below) * lp_float((u32)p->round_factor);
    const i32 whole = (i32)scaled;
    const u32 lost = (float)whole != scaled ? 1 : 0;
    const u32 fixed = ((u32)whole | lost) + (magnitude - below);
    const u32 odd = fixed & (u32)p->round_odd_bit ? (u32)p->round_odd_increment : 0;
    const u32 random = (slot >> p->round_slot_shift) << p->round_random_shift;
    const u32 increment = (u32)p->round_increment, difference = increment ^ (u32)p->round_increment_negative;
    return (fixed + (increment ^ (negative & difference)) + odd + random) >> p->round_keep;
}

/* The same with a fraction of its own, of 32 bits, for more random bits than fit behind a code. Increments and the odd bit
   are those of 33 bits, of which the last one, and what is lost below, can only carry into the others: where a fraction
   has bits that are not among its 32, these are fewer than 2**24, and a sum of them and 1 is no whole. */
LP_INLINE u32 lp_fine_code_from32(u32 bits, u32 slot, const params_t *p) {
    const u32 magnitude = bits & ~LP_SIGN, keep = p->round_keep;
    const i32 smallest = (i32)p->round_smallest_normal;
    const u32 below = (u32)((i32)magnitude < smallest ? (i32)magnitude : smallest), above = magnitude - below;
    const float scaled = lp_float(below) * lp_float((u32)p->round_factor);
    const i32 whole = (i32)scaled;
    const float part = scaled - (float)whole, in_reach = part - (part >= 0.5f ? 1.0f : 0.0f);
    const float units = in_reach * 0x1p32f;
    const i32 counted = (i32)units;
    const float counts = lp_float(p->round_odd_increment != 0 ? 1 : 0x3f000000); /* anything, or half a unit */
    const u32 lost = units - (float)counted >= counts ? 1 : 0;
    const u32 fraction = (u32)counted | above << (32 - keep);
    const u32 odd = fraction & (u32)(p->round_odd_bit >> 1) ? (u32)p->round_odd_increment : 0;
    const u32 increment = (u32)p->round_increment;
    const u32 rounded = fraction + ((lost + (increment & 1) + odd) >> 1);
    const u32 added = ((slot >> p->round_slot_shift) << (p->round_random_shift - 1)) + (increment >> 1);
    return (u32)whole + (above >> keep) + (rounded + added < rounded ? 1 : 0);
}

LP_INLINE u32 lp_limited32(u32 code, u32 bits, const params_t *p) {
    const u32 magnitude = bits & ~LP_SIGN;
    return (u32)lp_limited(code, bits >> 31, magnitude == LP_INF, magnitude > LP_INF, p);
}
LP_INLINE u32 lp_rounded32(u32 bits, u32 slot, const params_t *p) {
    return lp_limited32(lp_code_from32(bits, slot, p), bits, p);
}

/* The same code, unless a bit that the sign of `rare` collects says that it may be another one. */
LP_INLINE u32 lp_quickly_limited32(u32 found, u32 bits, u32 *rare, const params_t *p) {
    const u32 negative = (u32)((i32)bits >> 31), cap = (u32)p->round_cap, difference = cap ^ (u32)p->round_cap_negative;
    const i32 code = (i32)found, limit = (i32)(cap ^ (negative & difference));
    const i32 capped = code < limit ? code : limit;
    const u32 unsigned_zero = capped == 0 ? p->round_unsigned_zero : 0;
    *rare |= (u32)(p->round_rare - code);
    return (u32)capped | (negative & (u32)p->round_sign & ~unsigned_zero);
}
LP_INLINE u32 lp_quickly_rounded32(u32 bits, u32 slot, u32 *rare, const params_t *p) {
    return lp_quickly_limited32(lp_code_from32(bits, slot, p), bits, rare, p);
}
LP_INLINE u32 lp_quickly_fine32(u32 bits, u32 slot, u32 *rare, const params_t *p) {
    return lp_quickly_limited32(lp_fine_code_from32(bits, slot, p), bits, rare, p);
}
LP_INLINE u32 lp_fine32(u32 bits, u32 slot, const params_t *p) {
    return lp_limited32(lp_fine_code_from32(bits, slot, p), bits, p);
}

LP_INLINE u8 lp_quickly_round32_to8(u32 v, u32 *rare, const params_t *p) {
    return (u8)lp_quickly_rounded32(v, 0, rare, p);
}
LP_INLINE u16 lp_quickly_round32_to16(u32 v, u32 *rare, const params_t *p) {
    return (u16)lp_quickly_rounded32(v, 0, rare, p);
}
LP_INLINE u8 lp_quickly_stochastic32_to8(u32 v, u32 slot, u32 *rare, const params_t *p) {
    return (u8)lp_quickly_rounded32(v, slot, rare, p);
}
LP_INLINE u16 lp_quickly_stochastic32_to16(u32 v, u32 slot, u32 *rare, const params_t *p) {
    return (u16)lp_quickly_rounded32(v, slot, rare, p);
}
LP_INLINE u8 lp_quickly_stochastic_fine32_to8(u32 v, u32 slot, u32 *rare, const params_t *p) {
    return (u8)lp_quickly_fine32(v, slot, rare, p);
}
LP_INLINE u16 lp_quickly_stochastic_fine32_to16(u32 v, u32 slot, u32 *rare, const params_t *p) {
    return (u16)lp_quickly_fine32(v, slot, rare, p);
}

LP_INLINE u8 lp_round32_to8(u32 v, const params_t *p) { return (u8)lp_rounded32(v, 0, p); }
LP_INLINE u16 lp_round32_to16(u32 v, const params_t *p) { return (u16)lp_rounded32(v, 0, p); }
LP_INLINE u8 lp_round64_to8(u64 v, const params_t *p) { return (u8)lp_rounded64(v, 0, p); }
LP_INLINE u16 lp_round64_to16(u64 v, const params_t *p) { return (u16)lp_rounded64(v, 0, p); }
LP_INLINE u32 lp_round64_to32(u64 v, const params_t *p) { return (u32)lp_rounded64(v, 0, p); }
LP_INLINE u64 lp_round64_to64(u64 v, const params_t *p) { return lp_rounded64(v, 0, p); }
LP_INLINE u8 lp_stochastic32_to8(u32 v, u32 slot, const params_t *p) { return (u8)lp_rounded32(v, slot, p); }
LP_INLINE u16 lp_stochastic32_to16(u32 v, u32 slot, const params_t *p) { return (u16)lp_rounded32(v, slot, p); }
LP_INLINE u8 lp_stochastic_fine32_to8(u32 v, u32 slot, const params_t *p) { return (u8)lp_fine32(v, slot, p); }
LP_INLINE u16 lp_stochastic_fine32_to16(u32 v, u32 slot, const params_t *p) { return (u16)lp_fine32(v, slot, p); }
LP_INLINE u8 lp_stochastic64_to8(u64 v, u32 slot, const params_t *p) { return (u8)lp_rounded64(v, slot, p); }
LP_INLINE u16 lp_stochastic64_to16(u64 v, u32 slot, const params_t *p) { return (u16)lp_rounded64(v, slot, p); }
LP_INLINE u32 lp_stochastic64_to32(u64 v, u32 slot, const params_t *p) { return (u32)lp_rounded64(v, slot, p); }

/* ---- all bits of the fraction ------------------------------------------------------------------------------------ */

/* How far the highest bit of a number that is not 0 is from bit 63. */
LP_INLINE u32 lp_leading_zeros(u64 v) {
    u32 zeros = 0;
    for (u32 step = 32; step > 0; step /= 2) {
        const u32 is_low = v >> (64 - step) == 0 ? step : 0;
        zeros += is_low;
        v <<= is_low;
    }
    return zeros;
}

/* Round significand * 2**(exponent - 63), the significand's highest bit set unless it is 0: the fraction has 64 bits of its
   own, the last one sticky. For targets of 32 and 64 bits, of which float64 holds fewer bits than a rule may ask for. */
LP_INLINE u64 lp_rounded_exactly(u64 significand, i32 exponent, u32 negative, u32 slot, const params_t *p) {
    const i32 smallest = (i32)p->round_exponent, used = exponent > smallest ? exponent : smallest;
    const i32 shift = 63 - (i32)p->round_mantissa + (used - exponent);
    const u64 beyond = shift > 64 && shift < 128 ? significand << (128 - shift) : shift > 64 ? significand : 0;
    const u64 kept = shift < 64 ? significand >> (shift & 63) : 0;
    const u64 below = shift < 64   ? significand << ((64 - shift) & 63)
                      : shift < 128 ? significand >> ((shift - 64) & 63)
                                    : 0;
    const u64 fraction = below | (beyond != 0 ? 1 : 0);
    const u64 code = kept + ((u64)(used - smallest) << p->round_mantissa);
    const u64 is_odd = p->round_odd_bit != 0 ? fraction & p->round_odd_bit : code & 1; /* 0: the last bit of the code */
    const u64 odd = is_odd != 0 ? p->round_odd_increment : 0;
    const u64 random = (u64)(slot >> p->round_slot_shift) << p->round_random_shift;
    const u64 sum = fraction + ((negative ? p->round_increment_negative : p->round_increment) + odd + random);
    return lp_limited(code + (sum < fraction ? 1 : 0), negative, 0, 0, p);
}

LP_INLINE u64 lp_rounded_integer(u64 magnitude, u32 negative, u32 slot, const params_t *p) {
    const u32 zeros = magnitude != 0 ? lp_leading_zeros(magnitude) : 0;
    const i32 exponent = magnitude != 0 ? 63 - (i32)zeros : (i32)p->round_exponent;
    return lp_rounded_exactly(magnitude << zeros, exponent, negative, slot, p);
}

LP_INLINE u32 lp_exact_float64_to32(u64 bits, u32 slot, const params_t *p) {
    const u64 magnitude = bits & ~LP_DOUBLE_SIGN;
    const u32 negative = (u32)(bits >> 63);
    const u64 hidden = magnitude >= LP_DOUBLE_HIDDEN_BIT ? LP_DOUBLE_HIDDEN_BIT : 0;
    const u64 significand = ((magnitude & LP_DOUBLE_FRACTION) | hidden) << 11;  /* float64's subnormals are far below */
    const u64 rounded = lp_rounded_exactly(significand, (i32)(magnitude >> 52) - 1023, negative, slot, p);
    const u64 special = lp_limited(1, negative, magnitude == LP_DOUBLE_INF, magnitude > LP_DOUBLE_INF, p);
    return (u32)(magnitude >= LP_DOUBLE_INF ? special : rounded);
}

LP_INLINE u64 lp_exact_int64_to64(u64 v, u32 slot, const params_t *p) {
    const u64 negative = 0 - (v >> 63);
    return lp_rounded_integer((v ^ negative) - negative, (u32)(v >> 63), slot, p);
}
LP_INLINE u64 lp_exact_uint64_to64(u64 v, u32 slot, const params_t *p) { return lp_rounded_integer(v, 0, slot, p); }
LP_INLINE u32 lp_exact_int64_to32(u64 v, u32 slot, const params_t *p) { return (u32)lp_exact_int64_to64(v, slot, p); }
LP_INLINE u32 lp_exact_uint64_to32(u64 v, u32 slot, const params_t *p) { return (u32)lp_exact_uint64_to64(v, slot, p); }

#endif
