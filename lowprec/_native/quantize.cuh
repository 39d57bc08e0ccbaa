// Scales and zero points of one element in CUDA C++: the twins of quantize_loops.pxi, on bits.
//
// Zero points are int32 where the codes are integers, float32 where they are floats; 0 is both, where there are none.

// Added to a number, they round it half to even to an integer, which is in their lowest bits then.
constexpr float ROUNDER = 0x1.8p23f;
constexpr u32 ROUNDER_BITS = 0b0'10010110'10000000000000000000000u;
constexpr double DOUBLE_ROUNDER = 0x1.8p52;

LP_INLINE u32 in_field(u32 code, const params_t &p) { return (u32)field(code, p.target_mask, p.target_sign); }

// The ends of the range less the zero point. NaN fails the first comparison and becomes low.
LP_INLINE u32 round_saturate(float v, i32 zero, const params_t &p) {
    const float low = (float)(p.code_min - zero), high = (float)(p.code_max - zero);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return in_field(as_bits(v + ROUNDER) - ROUNDER_BITS + (u32)zero, p);
}

LP_INLINE u32 round_saturate_double(double v, i32 zero, const params_t &p) {
    const double low = (double)(p.code_min - zero), high = (double)(p.code_max - zero);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return in_field((u32)as_double_bits(v + DOUBLE_ROUNDER) + (u32)zero, p);  // the lower half is the integer
}

// A NaN has the sign of the operand it came from. A new one has none: the machines differ there.
LP_INLINE u32 propagate_nan(float result, u32 a, u32 b) {
    const u32 origin = (a & ~SIGN) > INF ? a : (b & ~SIGN) > INF ? b : 0;
    return result == result ? as_bits(result) : QUIET_NAN | (origin & SIGN);
}

LP_INLINE u64 propagate_nan_double(double result, u64 a, u64 b) {
    const u64 origin = (a & ~DOUBLE_SIGN) > DOUBLE_INF ? a : (b & ~DOUBLE_SIGN) > DOUBLE_INF ? b : 0;
    return result == result ? as_double_bits(result) : DOUBLE_QUIET_NAN | (origin & DOUBLE_SIGN);
}

// ---- rounding to the precision of the division, where it is a 16-bit one --------------------------------------------

LP_INLINE u32 round_to_precision(u32 bits, const params_t &p) {
    const i32 magnitude = (i32)(bits & ~SIGN);
    const i32 clamped = magnitude < p.precision_clamp ? magnitude : p.precision_clamp;
    const i32 exponent = clamped > p.precision_smallest_normal ? clamped : p.precision_smallest_normal;
    const float rounder = as_float(((u32)exponent & INF) + p.precision_rounder_offset);
    i32 rounded = (i32)as_bits((as_float((u32)clamped) + rounder) - rounder);
    rounded = rounded > p.precision_largest ? (i32)INF : rounded;
    rounded = magnitude > (i32)INF ? magnitude : rounded;
    return (u32)rounded | (bits & SIGN);
}

LP_INLINE u32 round_to_upper16(u32 bits, const params_t &p) { return (u32)encode_upper16(bits, p) << 16; }

// ---- value / scale + zero point -> code of an integer ---------------------------------------------------------------

#define LP_QUANTIZE(BITS)                                                                                             \
    LP_INLINE u##BITS quantize32_to##BITS(u32 v, u32 scale, u32 zero, const params_t &p) {                            \
        return (u##BITS)round_saturate(as_float(v) / as_float(scale), (i32)zero, p);                                  \
    }                                                                                                                 \
    LP_INLINE u##BITS quantize64_to##BITS(u64 v, u64 scale, u32 zero, const params_t &p) {                            \
        return (u##BITS)round_saturate_double(as_double(v) / as_double(scale), (i32)zero, p);                         \
    }                                                                                                                 \
    LP_INLINE u##BITS round_saturate##BITS(u32 v, u64, u32 zero, const params_t &p) {                                 \
        return (u##BITS)round_saturate(as_float(v), (i32)zero, p);                                                    \
    }
LP_QUANTIZE(8) LP_QUANTIZE(16)

// ---- value / scale, value + zero point, (value - zero point) * scale -> value ---------------------------------------

LP_INLINE u32 divide(u32 v, u32 scale, u32, const params_t &) {
    return propagate_nan(as_float(v) / as_float(scale), v, scale);
}

LP_INLINE u8 divide_encode8(u32 v, u32 scale, u32 zero, const params_t &p) {
    return encode8(divide(v, scale, zero, p), p);
}

LP_INLINE u64 divide64(u64 v, u64 scale, u32, const params_t &) {
    return propagate_nan_double(as_double(v) / as_double(scale), v, scale);
}

LP_INLINE u32 add_zero_point(u32 v, u64, u32 zero, const params_t &) {
    return propagate_nan(as_float(v) + as_float(zero), v, zero);
}

LP_INLINE u32 dequantize(u32 v, u32 scale, u32 zero, const params_t &) {
    return propagate_nan((as_float(v) - as_float(zero)) * as_float(scale), v, scale);
}
