// One element in CUDA C++: the twins of elementwise.pxi, under the names of the loops that programs are made of.
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

// float32:  s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm
constexpr u32 SIGN = 0b1'00000000'00000000000000000000000u;
constexpr u32 INF = 0b0'11111111'00000000000000000000000u;
constexpr u32 QUIET_NAN = 0b0'11111111'10000000000000000000000u;
constexpr u32 FRACTION = 0b0'00000000'11111111111111111111111u;
constexpr u32 HIDDEN_BIT = 0b0'00000001'00000000000000000000000u;
// float64:  s eeeeeeeeeee m…m, with 52 m
constexpr u64 DOUBLE_SIGN = 0b1'00000000000ull << 52;
constexpr u64 DOUBLE_INF = 0b0'11111111111ull << 52;
constexpr u64 DOUBLE_QUIET_NAN = 0b0'11111111111'1ull << 51;
constexpr u64 DOUBLE_HIDDEN_BIT = 1ull << 52;
constexpr u64 DOUBLE_FRACTION = DOUBLE_HIDDEN_BIT - 1;

LP_INLINE float as_float(u32 u) { float f; memcpy(&f, &u, 4); return f; }
LP_INLINE u32 as_bits(float f) { u32 u; memcpy(&u, &f, 4); return u; }
LP_INLINE double as_double(u64 u) { double d; memcpy(&d, &u, 8); return d; }
LP_INLINE u64 as_double_bits(double d) { u64 u; memcpy(&u, &d, 8); return u; }

// ---- code -> float32 bits -------------------------------------------------------------------------------------------

// Why each works is said in elementwise.pxi.
LP_INLINE u32 decode_finite(u32 code, const params_t &p) {
    const u32 magnitude = code & p.magnitude_mask;
    const u32 normal = (magnitude << p.mantissa_shift) + p.rebias;
    const u32 subnormal = as_bits(as_float(normal + HIDDEN_BIT) - as_float(p.implicit_one));
    return magnitude >= p.first_normal ? normal : subnormal;
}

LP_INLINE u32 decode(u32 code, const params_t &p) {
    const u32 bits = (code & p.nan_mask) == p.first_nan ? p.nan_bits : decode_finite(code, p);
    return bits | ((code & p.sign_mask) << p.sign_shift);
}

LP_INLINE u32 decode_ieee(u32 code, const params_t &p) {
    const u32 magnitude = code & p.magnitude_mask;
    u32 bits = decode_finite(code, p);
    bits = magnitude == p.inf_code ? p.inf_bits : bits;
    bits = (code & p.nan_mask) - p.first_nan <= p.nan_range ? p.nan_bits : bits;
    return bits | ((code & p.sign_mask) << p.sign_shift);
}

LP_INLINE u32 decode8(u8 code, const params_t &p) { return decode(code, p); }
LP_INLINE u32 decode16(u16 code, const params_t &p) { return decode(code, p); }
LP_INLINE u32 decode_ieee8(u8 code, const params_t &p) { return decode_ieee(code, p); }
LP_INLINE u32 decode_ieee16(u16 code, const params_t &p) { return decode_ieee(code, p); }
LP_INLINE u32 decode_half16(u16 code, const params_t &p) { return decode_ieee(code, p); }
LP_INLINE u16 decode8_to16(u8 code, const params_t &p) { return (u16)(decode(code, p) >> p.code16_shift); }
LP_INLINE u16 decode_ieee8_to16(u8 code, const params_t &p) { return (u16)(decode_ieee(code, p) >> p.code16_shift); }

LP_INLINE u32 decode_upper16(u16 code, const params_t &) {
    const u32 bits = (u32)code << 16;
    return (bits & ~SIGN) > INF ? QUIET_NAN | (bits & SIGN) : bits;
}

LP_INLINE u32 decode_power8(u8 code, const params_t &) {
    const u32 bits = code == 0 ? HIDDEN_BIT >> 1 : (u32)code << 23;
    return bits == INF ? QUIET_NAN : bits;
}

// ---- integer -> float32 or float64 ----------------------------------------------------------------------------------

LP_INLINE u32 integer8_to_float32(u8 v, const params_t &p) {
    const i32 sign = (i32)p.source_sign;
    return as_bits((float)((((i32)v & (i32)p.source_mask) ^ sign) - sign));
}

LP_INLINE u32 integer16_to_float32(u16 v, const params_t &p) {
    const i32 sign = (i32)p.source_sign;
    return as_bits((float)(((i32)v ^ sign) - sign));
}

LP_INLINE u64 fold_low_bits(u64 v, u64 magnitude) {
    const u64 low = 0b1111'1111'1111u;
    return (magnitude >> 53) != 0 ? (v | ((v & low) + low)) & ~low : v;
}

LP_INLINE u64 int32_to_float64(u32 v, const params_t &) { return as_double_bits((double)(i32)v); }
LP_INLINE u64 uint32_to_float64(u32 v, const params_t &) { return as_double_bits((double)v); }
LP_INLINE u64 int64_to_float64(u64 v, const params_t &) { return as_double_bits((double)(i64)v); }
LP_INLINE u64 uint64_to_float64(u64 v, const params_t &) { return as_double_bits((double)v); }
LP_INLINE u32 int32_to_float32(u32 v, const params_t &) { return as_bits((float)(i32)v); }
LP_INLINE u32 uint32_to_float32(u32 v, const params_t &) { return as_bits((float)v); }
LP_INLINE u32 int64_to_float32(u64 v, const params_t &) { return as_bits((float)(i64)v); }
LP_INLINE u32 uint64_to_float32(u64 v, const params_t &) { return as_bits((float)v); }
LP_INLINE u64 uint64_to_float64_odd(u64 v, const params_t &p) { return uint64_to_float64(fold_low_bits(v, v), p); }

LP_INLINE u64 int64_to_float64_odd(u64 v, const params_t &p) {
    const u64 negative = 0 - (v >> 63);
    return int64_to_float64(fold_low_bits(v, (v ^ negative) - negative), p);
}

// ---- float32 bits -> code -------------------------------------------------------------------------------------------

// The sum of a value and its rounder: the last bit of the sum is the last bit of the code.
struct rounded_t {
    u32 sum, rounder;
};

LP_INLINE rounded_t round_by_adding(u32 magnitude, const params_t &p) {
    const i32 clamped = (i32)magnitude < p.clamp ? (i32)magnitude : p.clamp;
    const i32 exponent = clamped > p.smallest_normal ? clamped : p.smallest_normal;
    const u32 rounder = ((u32)exponent & INF) + p.rounder_offset;
    return {as_bits(as_float((u32)clamped) + as_float(rounder)), rounder};
}

LP_INLINE u32 with_nan_and_sign(u32 code, u32 bits, const params_t &p) {
    code = (i32)(bits & ~SIGN) > p.nan_above ? p.nan_code : code;
    return code ^ ((i32)(bits + p.sign_offset) <= p.sign_limit ? p.sign_bit : 0);
}

LP_INLINE u8 encode8(u32 bits, const params_t &p) {
    const u32 sum = round_by_adding(bits & ~SIGN, p).sum;
    return (u8)with_nan_and_sign(sum + (sum >> p.dropped_bits), bits, p);
}

LP_INLINE u8 encode8_from16(u16 code, const params_t &p) {
    return encode8((((u32)code & 0x7fff) << p.code16_shift) | (((u32)code & 0x8000) << 16), p);
}

LP_INLINE u16 encode16(u32 bits, const params_t &p) {
    const rounded_t r = round_by_adding(bits & ~SIGN, p);
    return (u16)with_nan_and_sign((r.sum - r.rounder) + ((r.rounder >> p.dropped_bits) - p.exponent_offset), bits, p);
}

LP_INLINE u16 encode_half16(u32 bits, const params_t &p) { return encode16(bits, p); }

LP_INLINE u16 encode_upper16(u32 bits, const params_t &) {
    const u32 magnitude = bits & ~SIGN;
    const u32 rounded = magnitude > INF ? QUIET_NAN : magnitude + 0b0111'1111'1111'1111u + ((magnitude >> 16) & 1);
    return (u16)((rounded | (bits & SIGN)) >> 16);
}

LP_INLINE u8 encode_power8(u32 bits, const params_t &p) {
    const u32 magnitude = bits & ~SIGN;
    const i32 clamped = (i32)magnitude < p.clamp ? (i32)magnitude : p.clamp;
    const u32 code = clamped > p.power_underflow ? ((u32)clamped + p.power_increment) >> 23 : 0;
    return (u8)(magnitude - p.power_lowest <= p.power_range ? code : p.nan_code);
}

// ---- between float32 and float64 ------------------------------------------------------------------------------------

LP_INLINE u32 float64_to_float32_odd(u64 wide, const params_t &) {
    const float nearest = (float)as_double(wide);
    const u64 exact = wide & ~DOUBLE_SIGN;
    const u64 rounded = as_double_bits((double)nearest) & ~DOUBLE_SIGN;
    if (exact > DOUBLE_INF) return QUIET_NAN | ((u32)(wide >> 32) & SIGN);
    return (as_bits(nearest) - (rounded > exact ? 1 : 0)) | (rounded != exact ? 1 : 0);
}

LP_INLINE u32 float64_to_float32_sticky(u64 wide, const params_t &) {
    const u64 low = 0xffffffffull;
    const u64 folded = (wide | ((wide & low) + low)) & ~low;
    if ((wide & ~DOUBLE_SIGN) > DOUBLE_INF) return QUIET_NAN | ((u32)(wide >> 32) & SIGN);
    return as_bits((float)as_double(folded));
}

LP_INLINE u8 encode8_from64(u64 wide, const params_t &p) { return encode8(float64_to_float32_sticky(wide, p), p); }

LP_INLINE u32 float64_to_float32(u64 wide, const params_t &) {
    if ((wide & ~DOUBLE_SIGN) > DOUBLE_INF) return QUIET_NAN | ((u32)(wide >> 32) & SIGN);
    return as_bits((float)as_double(wide));
}

LP_INLINE u64 float32_to_float64(u32 bits, const params_t &) {
    if ((bits & ~SIGN) > INF) return DOUBLE_QUIET_NAN | ((u64)(bits & SIGN) << 32);
    return as_double_bits((double)as_float(bits));
}

// ---- values -> integers and bools -----------------------------------------------------------------------------------

LP_INLINE u32 integer_part32(u32 bits) {
    const u32 significand = (bits & FRACTION) | HIDDEN_BIT;
    const i32 left = (i32)((bits & ~SIGN) >> 23) - (127 + 23);
    const u32 up = left < 32 ? significand << (left & 31) : 0;
    const u32 down = left > -32 ? significand >> (-left & 31) : 0;
    const u32 negative = 0 - (bits >> 31);
    return ((left >= 0 ? up : down) ^ negative) - negative;
}

LP_INLINE u64 integer_part64(u64 bits) {
    const u64 significand = (bits & DOUBLE_FRACTION) | DOUBLE_HIDDEN_BIT;
    const i32 left = (i32)((bits & ~DOUBLE_SIGN) >> 52) - (1023 + 52);
    const u64 up = left < 64 ? significand << (left & 63) : 0;
    const u64 down = left > -64 ? significand >> (-left & 63) : 0;
    const u64 negative = 0 - (bits >> 63);
    return ((left >= 0 ? up : down) ^ negative) - negative;
}

// Keep a field of bits and, where `sign` is its highest one, fill the bits above with it.
LP_INLINE u64 field(u64 v, u64 mask, u64 sign) { return ((v & mask) ^ sign) - sign; }

#define LP_TRUNCATE(FROM, TO)                                                                                         \
    LP_INLINE u##TO truncate##FROM##_to##TO(u##FROM bits, const params_t &p) {                                        \
        return (u##TO)field(integer_part##FROM(bits), p.target_mask, p.target_sign);                                  \
    }
#define LP_NONZERO(BITS)                                                                                              \
    LP_INLINE u8 nonzero##BITS(u##BITS v, const params_t &p) {                                                        \
        return (v & p.source_mask) != 0 ? 1 : (u8)p.always_true;                                                      \
    }
#define LP_WRAP(FROM, TO)                                                                                             \
    LP_INLINE u##TO wrap##FROM##_to##TO(u##FROM v, const params_t &p) {                                               \
        return (u##TO)field(field(v, p.source_mask, p.source_sign), p.target_mask, p.target_sign);                    \
    }
LP_TRUNCATE(32, 8) LP_TRUNCATE(32, 16) LP_TRUNCATE(32, 32)
LP_TRUNCATE(64, 8) LP_TRUNCATE(64, 16) LP_TRUNCATE(64, 32) LP_TRUNCATE(64, 64)
LP_NONZERO(8) LP_NONZERO(16) LP_NONZERO(32) LP_NONZERO(64)
LP_WRAP(8, 8) LP_WRAP(8, 16) LP_WRAP(8, 32) LP_WRAP(8, 64)
LP_WRAP(16, 8) LP_WRAP(16, 16) LP_WRAP(16, 32) LP_WRAP(16, 64)
LP_WRAP(32, 8) LP_WRAP(32, 16) LP_WRAP(32, 32) LP_WRAP(32, 64)
LP_WRAP(64, 8) LP_WRAP(64, 16) LP_WRAP(64, 32) LP_WRAP(64, 64)
