/* One element, rounded by any rule: the mode, what becomes of overflow, Inf, NaN and zero, and random bits are numbers of
   `params_t`; for the compiled loops (C99) and for the CUDA text (C++17).

   A magnitude becomes a fixed-point number, the code with `round_keep` bits of fraction behind it:
       code . fraction          fraction / 2**keep: how far the value lies on the way to the next code
   To round is to add an increment, which depends on the sign and on whether a bit is odd, and to truncate. */
#ifndef LP_ROUNDING_ELEMENTS_H
#define LP_ROUNDING_ELEMENTS_H
#ifndef LP_CUDA
#include "elementwise.h"
#endif

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
