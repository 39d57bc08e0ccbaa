// One-element functions in CUDA C++: the twins of elements.pxi and float_loops.pxi, under the names that stages.py composes.
//
// Integers in, integers out: a float32 travels as its bits in u32, a float64 in u64, so no NaN is ever touched by an
// instruction that may change its payload. Nothing here is CUDA's alone; the tests compile this file for the host.
#ifdef __CUDACC__
#define LP_INLINE __device__ __forceinline__
#define LP_CONSTEXPR __host__ __device__ constexpr
#define LP_UNROLL _Pragma("unroll")
#else
#include <string.h>
#define LP_INLINE inline
#define LP_CONSTEXPR constexpr
#define LP_UNROLL
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

// The numbers of a conversion: the struct of params.pxd, which says what each is.
struct params_t {
    u32 magnitude, shift, rebias, hidden, one, nan_mask, nan_match, nan_span, inf_match, infinity, quiet, sign, sign_shift,
        lift;
    i32 clamp, floor;
    u32 magic, keep, base;
    i32 nan_above;
    u32 nan_code, sign_bit, sign_bias;
    i32 sign_last;
    u32 power_add;
    i32 power_first;
    u32 power_low, power_span;
    u64 from_mask, from_sign, to_mask, to_sign, always;
    i32 low, high, grid_clamp, grid_floor;
    u32 grid_magic;
    i32 grid_last;
};

constexpr u32 SIGN = 0x80000000u;
constexpr u32 INF = 0x7f800000u;
constexpr u32 QUIET = 0x7fc00000u;
constexpr u32 FRACTION = 0x007fffffu;
constexpr u32 HIDDEN = 0x00800000u;
constexpr u64 WIDE_SIGN = 0x8000000000000000ull;
constexpr u64 WIDE_INF = 0x7ff0000000000000ull;
constexpr u64 WIDE_QUIET = 0x7ff8000000000000ull;
constexpr u64 WIDE_FRACTION = 0x000fffffffffffffull;
constexpr u64 WIDE_HIDDEN = 0x0010000000000000ull;

LP_INLINE float as_float(u32 u) { float f; memcpy(&f, &u, 4); return f; }
LP_INLINE u32 as_bits(float f) { u32 u; memcpy(&u, &f, 4); return u; }
LP_INLINE double as_double(u64 u) { double d; memcpy(&d, &u, 8); return d; }
LP_INLINE u64 as_wide_bits(double d) { u64 u; memcpy(&u, &d, 8); return u; }

// ---- code -> float32 bits -------------------------------------------------------------------------------------------

// Subnormals get the exponent of the smallest normal value, then lose the 1 that stands before their mantissa.
LP_INLINE u32 decode_finite(u32 code, const params_t &p) {
    const u32 magnitude = code & p.magnitude;
    const u32 normal = (magnitude << p.shift) + p.rebias;
    const u32 subnormal = as_bits(as_float(normal + HIDDEN) - as_float(p.one));
    return magnitude >= p.hidden ? normal : subnormal;
}

LP_INLINE u32 decode(u32 code, const params_t &p) {
    const u32 bits = (code & p.nan_mask) == p.nan_match ? p.quiet : decode_finite(code, p);
    return bits | ((code & p.sign) << p.sign_shift);
}

// With Inf and a range of NaN codes, as IEEE's formats have them.
LP_INLINE u32 decode_ieee(u32 code, const params_t &p) {
    const u32 magnitude = code & p.magnitude;
    u32 bits = decode_finite(code, p);
    bits = magnitude == p.inf_match ? p.infinity : bits;
    bits = (code & p.nan_mask) - p.nan_match <= p.nan_span ? p.quiet : bits;
    return bits | ((code & p.sign) << p.sign_shift);
}

LP_INLINE u32 decode8(u8 code, const params_t &p) { return decode(code, p); }
LP_INLINE u32 decode16(u16 code, const params_t &p) { return decode(code, p); }
LP_INLINE u32 decode_ieee8(u8 code, const params_t &p) { return decode_ieee(code, p); }
LP_INLINE u32 decode_ieee16(u16 code, const params_t &p) { return decode_ieee(code, p); }
LP_INLINE u32 decode_half16(u16 code, const params_t &p) { return decode_ieee(code, p); }
LP_INLINE u16 decode8_to16(u8 code, const params_t &p) { return (u16)(decode(code, p) >> p.lift); }
LP_INLINE u16 decode_ieee8_to16(u8 code, const params_t &p) { return (u16)(decode_ieee(code, p) >> p.lift); }

LP_INLINE u32 decode_upper16(u16 code, const params_t &) {
    const u32 bits = (u32)code << 16;
    return (bits & ~SIGN) > INF ? QUIET | (bits & SIGN) : bits;
}

// 2**-127, code 0, is a float32 subnormal.
LP_INLINE u32 decode_power8(u8 code, const params_t &) {
    const u32 bits = code == 0 ? HIDDEN >> 1 : (u32)code << 23;
    return bits == INF ? QUIET : bits;
}

// ---- integer -> float32 or float64 ----------------------------------------------------------------------------------

LP_INLINE u32 load8(u8 v, const params_t &p) {
    const i32 sign = (i32)p.from_sign;
    return as_bits((float)((((i32)v & (i32)p.from_mask) ^ sign) - sign));
}

LP_INLINE u32 load16(u16 v, const params_t &p) {
    const i32 sign = (i32)p.from_sign;
    return as_bits((float)(((i32)v ^ sign) - sign));
}

// Beyond 2**53 fold the low 12 bits into one odd bit, so that float64 holds the number without rounding it.
LP_INLINE u64 fold_low(u64 v, u64 magnitude) {
    const u64 low = 0xfff;
    return (magnitude >> 53) != 0 ? (v | ((v & low) + low)) & ~low : v;
}

LP_INLINE u64 load_int32(u32 v, const params_t &) { return as_wide_bits((double)(i32)v); }
LP_INLINE u64 load_uint32(u32 v, const params_t &) { return as_wide_bits((double)v); }
LP_INLINE u64 load_int64(u64 v, const params_t &) { return as_wide_bits((double)(i64)v); }
LP_INLINE u64 load_uint64(u64 v, const params_t &) { return as_wide_bits((double)v); }
LP_INLINE u32 single_int32(u32 v, const params_t &) { return as_bits((float)(i32)v); }
LP_INLINE u32 single_uint32(u32 v, const params_t &) { return as_bits((float)v); }
LP_INLINE u32 single_int64(u64 v, const params_t &) { return as_bits((float)(i64)v); }
LP_INLINE u32 single_uint64(u64 v, const params_t &) { return as_bits((float)v); }
LP_INLINE u64 sticky_uint64(u64 v, const params_t &p) { return load_uint64(fold_low(v, v), p); }

LP_INLINE u64 sticky_int64(u64 v, const params_t &p) {
    const u64 negative = 0 - (v >> 63);
    return load_int64(fold_low(v, (v ^ negative) - negative), p);
}

// ---- float32 bits -> code -------------------------------------------------------------------------------------------

//  c + m, where m is a power of two so large that the adder's last bit is the code's last bit:
//     kept bits | half | sticky
//  The adder rounds half to even there, subnormals included (m stops at the smallest normal exponent).
struct rounded_t {
    u32 sum, adder;
};

LP_INLINE rounded_t round_by_adding(u32 a, const params_t &p) {
    const i32 c = (i32)a < p.clamp ? (i32)a : p.clamp;
    const i32 e = c > p.floor ? c : p.floor;
    const u32 m = ((u32)e & INF) + p.magic;
    return {as_bits(as_float((u32)c) + as_float(m)), m};
}

LP_INLINE u32 with_nan_and_sign(u32 code, u32 bits, const params_t &p) {
    code = (i32)(bits & ~SIGN) > p.nan_above ? p.nan_code : code;
    return code ^ ((i32)(bits + p.sign_bias) <= p.sign_last ? p.sign_bit : 0);
}

// The offset in `magic` is even, so parity is the code's own, and makes the exponent field come out right.
LP_INLINE u8 encode8(u32 bits, const params_t &p) {
    const u32 t = round_by_adding(bits & ~SIGN, p).sum;
    return (u8)with_nan_and_sign(t + (t >> p.keep), bits, p);
}

LP_INLINE u8 encode8_from16(u16 code, const params_t &p) {
    return encode8((((u32)code & 0x7fff) << p.lift) | (((u32)code & 0x8000) << 16), p);
}

// For codes so wide that an offset would run into the exponent: take m away, add its exponent.
LP_INLINE u16 encode16(u32 bits, const params_t &p) {
    const rounded_t r = round_by_adding(bits & ~SIGN, p);
    return (u16)with_nan_and_sign((r.sum - r.adder) + ((r.adder >> p.keep) - p.base), bits, p);
}

LP_INLINE u16 encode_half16(u32 bits, const params_t &p) { return encode16(bits, p); }

// The code is the upper half: add just under half of its last bit, and the last bit itself on a tie.
LP_INLINE u16 encode_upper16(u32 bits, const params_t &) {
    const u32 a = bits & ~SIGN;
    const u32 rounded = a > INF ? QUIET : a + 0x7fff + ((a >> 16) & 1);
    return (u16)((rounded | (bits & SIGN)) >> 16);
}

// The exponent field, moved by what the round_mode lets the fraction carry into it. Below 2**-126 float32 is subnormal,
// the carry comes too early, and everything up to power_first has the smallest code.
LP_INLINE u8 encode_power8(u32 bits, const params_t &p) {
    const u32 a = bits & ~SIGN;
    const i32 c = (i32)a < p.clamp ? (i32)a : p.clamp;
    const u32 t = c > p.power_first ? ((u32)c + p.power_add) >> 23 : 0;
    return (u8)(a - p.power_low <= p.power_span ? t : p.nan_code);
}

// ---- between float32 and float64 ------------------------------------------------------------------------------------

// Round to odd: truncate, then set the last bit if anything was lost.
LP_INLINE u32 narrow_odd(u64 wide, const params_t &) {
    const float near = (float)as_double(wide);
    const u64 a = wide & ~WIDE_SIGN;
    const u64 b = as_wide_bits((double)near) & ~WIDE_SIGN;
    if (a > WIDE_INF) return QUIET | ((u32)(wide >> 32) & SIGN);
    return (as_bits(near) - (b > a ? 1 : 0)) | (b != a ? 1 : 0);
}

// Fold the lower half into its top neighbour: 20 bits and a sticky one, which float32 holds exactly. What is beyond its
// exponents becomes Inf or 0: good for targets that make the same of both, and reach far less.
LP_INLINE u32 narrow_sticky(u64 wide, const params_t &) {
    const u64 low = 0xffffffffull;
    const u64 folded = (wide | ((wide & low) + low)) & ~low;
    if ((wide & ~WIDE_SIGN) > WIDE_INF) return QUIET | ((u32)(wide >> 32) & SIGN);
    return as_bits((float)as_double(folded));
}

LP_INLINE u8 encode8_from64(u64 wide, const params_t &p) { return encode8(narrow_sticky(wide, p), p); }

LP_INLINE u32 narrow(u64 wide, const params_t &) {
    if ((wide & ~WIDE_SIGN) > WIDE_INF) return QUIET | ((u32)(wide >> 32) & SIGN);
    return as_bits((float)as_double(wide));
}

LP_INLINE u64 widen(u32 bits, const params_t &) {
    if ((bits & ~SIGN) > INF) return WIDE_QUIET | ((u64)(bits & SIGN) << 32);
    return as_wide_bits((double)as_float(bits));
}

// ---- values -> integers and bools -----------------------------------------------------------------------------------

// The low bits of the integer part, two's complement; NaN and Inf have exponents beyond reach and give 0.
LP_INLINE u32 integer_part(u32 bits) {
    const u32 significand = (bits & FRACTION) | HIDDEN;
    const i32 left = (i32)((bits & ~SIGN) >> 23) - 150;
    const u32 up = left < 32 ? significand << (left & 31) : 0;
    const u32 down = left > -32 ? significand >> (-left & 31) : 0;
    const u32 negative = 0 - (bits >> 31);
    return ((left >= 0 ? up : down) ^ negative) - negative;
}

LP_INLINE u64 wide_integer_part(u64 bits) {
    const u64 significand = (bits & WIDE_FRACTION) | WIDE_HIDDEN;
    const i32 left = (i32)((bits & ~WIDE_SIGN) >> 52) - 1075;
    const u64 up = left < 64 ? significand << (left & 63) : 0;
    const u64 down = left > -64 ? significand >> (-left & 63) : 0;
    const u64 negative = 0 - (bits >> 63);
    return ((left >= 0 ? up : down) ^ negative) - negative;
}

// Keep a field of bits and, where `sign` is its highest one, fill the bits above with it.
LP_INLINE u64 field(u64 v, u64 mask, u64 sign) { return ((v & mask) ^ sign) - sign; }

#define LP_TRUNCATE(BITS)                                                                                             \
    LP_INLINE u##BITS truncate##BITS(u32 bits, const params_t &p) {                                                   \
        return (u##BITS)field(integer_part(bits), p.to_mask, p.to_sign);                                              \
    }
#define LP_TRUNCATE_WIDE(BITS)                                                                                        \
    LP_INLINE u##BITS truncate_wide##BITS(u64 bits, const params_t &p) {                                              \
        return (u##BITS)field(wide_integer_part(bits), p.to_mask, p.to_sign);                                         \
    }
#define LP_NONZERO(BITS)                                                                                              \
    LP_INLINE u8 nonzero##BITS(u##BITS v, const params_t &p) { return (v & p.from_mask) != 0 ? 1 : (u8)p.always; }
#define LP_WRAP(FROM, TO)                                                                                             \
    LP_INLINE u##TO wrap##FROM##_##TO(u##FROM v, const params_t &p) {                                                 \
        return (u##TO)field(field(v, p.from_mask, p.from_sign), p.to_mask, p.to_sign);                                \
    }
LP_TRUNCATE(8) LP_TRUNCATE(16) LP_TRUNCATE(32)
LP_TRUNCATE_WIDE(8) LP_TRUNCATE_WIDE(16) LP_TRUNCATE_WIDE(32) LP_TRUNCATE_WIDE(64)
LP_NONZERO(8) LP_NONZERO(16) LP_NONZERO(32) LP_NONZERO(64)
LP_WRAP(8, 8) LP_WRAP(8, 16) LP_WRAP(8, 32) LP_WRAP(8, 64)
LP_WRAP(16, 8) LP_WRAP(16, 16) LP_WRAP(16, 32) LP_WRAP(16, 64)
LP_WRAP(32, 8) LP_WRAP(32, 16) LP_WRAP(32, 32) LP_WRAP(32, 64)
LP_WRAP(64, 8) LP_WRAP(64, 16) LP_WRAP(64, 32) LP_WRAP(64, 64)
