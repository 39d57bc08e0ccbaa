// The parameters of a conversion, which its loops share: one struct for the compiled loops and for the CUDA text.
//
// "unsigned int" and "unsigned long long" have 32 and 64 bits wherever this compiles; NVRTC has no <stdint.h>. Without
// padding equal parameters are equal bytes. loop_types.pxd repeats the names for Cython (a test compares).
#ifndef LP_PARAMS_H
#define LP_PARAMS_H
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#endif

typedef struct {
    // decode: code -> float32 bits
    unsigned int magnitude_mask;  // of the code without its sign
    unsigned int mantissa_shift;  // moves the mantissa field to float32's place
    unsigned int rebias;          // (127 - bias) << 23
    unsigned int first_normal;    // the first normal magnitude, 1 << mantissa_bits
    unsigned int implicit_one;    // float32 bits of the smallest normal value: what subnormals have too much
    unsigned int nan_mask;        // the code is NaN where code & nan_mask == first_nan,
    unsigned int first_nan;
    unsigned int nan_range;       // or, in the loops with Inf, is from there to first_nan + nan_range
    unsigned int inf_code;        // magnitude of Inf
    unsigned int inf_bits;        // what Inf and NaN become
    unsigned int nan_bits;
    unsigned int sign_mask;       // of the code
    unsigned int sign_shift;      // moves the sign to bit 31, or to bit 15 + code16_shift
    unsigned int code16_shift;    // where a 16-bit code begins in the float32 bits of x, or of x * 2**-112
    // decode where values are float32 subnormals: magnitudes below `first_float32` are decoded times a power of two,
    unsigned int first_float32;
    unsigned int lifted_rebias;       // with these in place of rebias and implicit_one,
    unsigned int lifted_implicit_one;
    unsigned int lowering;            // then multiplied by this, float32 bits
    // encode: float32 bits -> code
    int clamp;                    // the largest magnitude that is encoded as it is
    int smallest_normal;          // float32 bits
    unsigned int rounder_offset;  // from the exponent of a value to the number that rounds it when added
    unsigned int dropped_bits;    // 23 - mantissa_bits
    unsigned int exponent_offset; // what the exponent field starts from (16-bit codes)
    int nan_above;                // larger magnitudes become nan_code
    unsigned int nan_code;
    unsigned int sign_bit;        // xor-ed in where int32(bits + sign_offset) <= sign_limit
    unsigned int sign_offset;
    int sign_limit;
    // encode to a power of two
    unsigned int power_increment; // what the round_mode adds below the exponent
    int power_underflow;          // the last magnitude that takes the smallest code
    unsigned int power_lowest;    // magnitudes from power_lowest to power_lowest + power_range have a code, others are
    unsigned int power_range;     // nan_code
    // integers and bools: ((v & mask) ^ sign) - sign
    unsigned long long source_mask;
    unsigned long long source_sign;
    unsigned long long target_mask;
    unsigned long long target_sign;
    unsigned long long always_true; // 1 where every code is True
    // quantize and dequantize
    int code_min;                 // the range of the integer codes
    int code_max;
    // rounding float32 bits to a 16-bit precision
    int precision_clamp;          // the first power of two beyond its range
    int precision_smallest_normal;
    unsigned int precision_rounder_offset;
    int precision_largest;
    // round by any rule: a magnitude as fixed-point number, the code and `round_keep` bits of fraction; the functions from
    // float32 take the lower half of what has 64 bits
    unsigned int round_keep;
    unsigned int round_slot_shift;   // the random bits of an element are its slot >> slot_shift << random_shift
    unsigned int round_random_shift;
    unsigned int round_slot_bits;
    unsigned int round_mantissa;     // mantissa bits, and the exponent of the smallest normal value
    int round_exponent;
    int round_cap;                   // what larger codes become, for either sign, up to round_rare: only larger ones may
    int round_cap_negative;          // stand for Inf, NaN, or an overflow that is no such code
    int round_rare;
    unsigned int round_unsigned_zero; // all bits where the code of zero has no sign
    unsigned long long round_odd_bit;       // where this bit of the number is set,
    unsigned long long round_odd_increment; // this is added,
    unsigned long long round_increment;     // with what is added in any case, for either sign
    unsigned long long round_increment_negative;
    unsigned long long round_smallest_normal; // bits of the hub; magnitudes from there on
    unsigned long long round_base;            // are the number after this is subtracted
    unsigned long long round_factor;          // the others when multiplied by this, also bits of the hub
    unsigned long long round_sticky;          // 1, or 0 where those are zero
    unsigned long long round_code_offset;     // 1 where the number of the smallest code 0 is 1
    unsigned long long round_sign;            // added to the code of a negative number
    unsigned long long round_last;            // larger magnitudes have no code, however they round (from float64)
    unsigned long long round_largest;         // codes above, for either sign,
    unsigned long long round_largest_negative;
    unsigned long long round_overflow;        // become these
    unsigned long long round_overflow_negative;
    unsigned long long round_infinity;
    unsigned long long round_infinity_negative;
    unsigned long long round_nan;
    unsigned long long round_nan_negative;
    unsigned long long round_zero;
    unsigned long long round_zero_negative;
} params_t;

#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic pop
#endif
#endif
