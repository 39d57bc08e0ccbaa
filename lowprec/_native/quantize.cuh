// QuantizeLinear and DequantizeLinear: the twins of quantize_loops.pxi, for a value, its scale and its zero point, as bits.
//
// Zero points are int32 where the codes are integers, float32 where they are floats; 0 is both, where there are none.

constexpr float ROUNDER = 12582912.0f;               // 1.5 * 2**23
constexpr u32 ROUNDER_BITS = 0x4b400000u;
constexpr double WIDE_ROUNDER = 6755399441055744.0;  // 1.5 * 2**52

LP_INLINE u32 in_field(u32 code, const params_t &p) { return (u32)field(code, p.to_mask, p.to_sign); }

// The ends of the range less the zero point. NaN fails the first comparison and becomes low. The adder rounds half to
// even at the last bit of 1.5 * 2**23, far beyond any range of 16 bits.
LP_INLINE u32 place(float v, i32 zero, const params_t &p) {
    const float low = (float)(p.low - zero), high = (float)(p.high - zero);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return in_field(as_bits(v + ROUNDER) - ROUNDER_BITS + (u32)zero, p);
}

LP_INLINE u32 place_wide(double v, i32 zero, const params_t &p) {
    const double low = (double)(p.low - zero), high = (double)(p.high - zero);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return in_field((u32)as_wide_bits(v + WIDE_ROUNDER) + (u32)zero, p);  // whose lower half is the integer
}

// A NaN keeps the sign of the operand it came from; one made here has none, whatever the machine's own default is.
LP_INLINE u32 settled(float result, u32 a, u32 b) {
    const u32 origin = (a & ~SIGN) > INF ? a : (b & ~SIGN) > INF ? b : 0;
    return result == result ? as_bits(result) : QUIET | (origin & SIGN);
}

LP_INLINE u64 settled_wide(double result, u64 a, u64 b) {
    const u64 origin = (a & ~WIDE_SIGN) > WIDE_INF ? a : (b & ~WIDE_SIGN) > WIDE_INF ? b : 0;
    return result == result ? as_wide_bits(result) : WIDE_QUIET | (origin & WIDE_SIGN);
}

// ---- rounding to the precision of the division, where it is a 16-bit one --------------------------------------------

// Adding and taking away a power of two leaves the value rounded at the last bit that the precision has.
LP_INLINE u32 grid(u32 bits, const params_t &p) {
    const i32 a = (i32)(bits & ~SIGN);
    const i32 c = a < p.grid_clamp ? a : p.grid_clamp;
    const i32 e = c > p.grid_floor ? c : p.grid_floor;
    const float m = as_float(((u32)e & INF) + p.grid_magic);
    i32 rounded = (i32)as_bits((as_float((u32)c) + m) - m);
    rounded = rounded > p.grid_last ? (i32)INF : rounded;
    rounded = a > (i32)INF ? a : rounded;
    return (u32)rounded | (bits & SIGN);
}

LP_INLINE u32 grid_upper(u32 bits, const params_t &p) { return (u32)encode_upper16(bits, p) << 16; }

// ---- value / scale + zero point -> code of an integer ---------------------------------------------------------------

#define LP_QUANTIZE(BITS)                                                                                             \
    LP_INLINE u##BITS quantize##BITS(u32 v, u32 scale, u32 zero, const params_t &p) {                                 \
        return (u##BITS)place(as_float(v) / as_float(scale), (i32)zero, p);                                           \
    }                                                                                                                 \
    LP_INLINE u##BITS quantize_wide##BITS(u64 v, u64 scale, u32 zero, const params_t &p) {                            \
        return (u##BITS)place_wide(as_double(v) / as_double(scale), (i32)zero, p);                                    \
    }                                                                                                                 \
    LP_INLINE u##BITS place##BITS(u32 v, u64, u32 zero, const params_t &p) {                                          \
        return (u##BITS)place(as_float(v), (i32)zero, p);                                                             \
    }
LP_QUANTIZE(8) LP_QUANTIZE(16)

// ---- value / scale, value + zero point, (value - zero point) * scale -> value ---------------------------------------

LP_INLINE u32 divide(u32 v, u32 scale, u32, const params_t &) {
    return settled(as_float(v) / as_float(scale), v, scale);
}

// Two in one, as for the CPU.
LP_INLINE u8 divide_encode8(u32 v, u32 scale, u32 zero, const params_t &p) {
    return encode8(divide(v, scale, zero, p), p);
}

LP_INLINE u64 divide_wide(u64 v, u64 scale, u32, const params_t &) {
    return settled_wide(as_double(v) / as_double(scale), v, scale);
}

LP_INLINE u32 shift(u32 v, u64, u32 zero, const params_t &) {
    return settled(as_float(v) + as_float(zero), v, zero);
}

LP_INLINE u32 multiply(u32 v, u32 scale, u32 zero, const params_t &) {
    return settled((as_float(v) - as_float(zero)) * as_float(scale), v, scale);
}
