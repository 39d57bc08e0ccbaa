# One element: every function that decodes, rounds, encodes or rescales a single number; the loops call them.
#
# They are branch-free and work on integers that hold bits. Values travel as float32 bits ("bits") or as float64. A wide
# source is narrowed to float32 by rounding to odd, which keeps what a later rounding to at most 22 mantissa bits needs.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from lowprec._native.loop_types cimport params_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>
    static inline float lp_float(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
    static inline uint32_t lp_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
    static inline double lp_double(uint64_t u) { double d; memcpy(&d, &u, 8); return d; }
    static inline uint64_t lp_double_bits(double d) { uint64_t u; memcpy(&u, &d, 8); return u; }

    /* float32:  s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm, bias 127;  the exponent begins at bit 23 */
    #define LP_SIGN (1u << 31)
    #define LP_INF (0xffu << 23)
    #define LP_QUIET_NAN (0x1ffu << 22)
    #define LP_FRACTION (LP_HIDDEN_BIT - 1)
    #define LP_HIDDEN_BIT (1u << 23)
    #define LP_TWO_31 ((127u + 31) << 23)

    /* float64:  s eeeeeeeeeee m...m, bias 1023;  the exponent begins at bit 52 */
    #define LP_DOUBLE_SIGN ((uint64_t)1 << 63)
    #define LP_DOUBLE_INF ((uint64_t)0x7ff << 52)
    #define LP_DOUBLE_QUIET_NAN ((uint64_t)0xfff << 51)
    #define LP_DOUBLE_FRACTION (LP_DOUBLE_HIDDEN_BIT - 1)
    #define LP_DOUBLE_HIDDEN_BIT ((uint64_t)1 << 52)
    #define LP_DOUBLE_TINY ((uint64_t)(1023 - 100) << 52)
    #define LP_DOUBLE_TWO_31 ((uint64_t)(1023 + 31) << 52)
    #define LP_DOUBLE_TWO_52 ((uint64_t)(1023 + 52) << 52)
    #define LP_DOUBLE_TWO_63 ((uint64_t)(1023 + 63) << 52)
    #define LP_DOUBLE_TWO_84 ((uint64_t)(1023 + 84) << 52)

    /* Added to a number, they round it half to even to an integer, which is in their lowest bits then. */
    #define LP_ROUNDER 0x1.8p23f
    #define LP_ROUNDER_BITS (((127u + 23) << 23) | (1u << 22))
    #define LP_DOUBLE_ROUNDER 0x1.8p52
    #define LP_BEYOND_INT16 0x1p20f

    /* Whether arithmetic returns the NaN of an operand with its sign, and its payload, as it is. */
    #if defined(__x86_64__) || defined(__aarch64__)
    #define LP_NAN_PASSES_THROUGH 1
    #else
    #define LP_NAN_PASSES_THROUGH 0
    #endif
    """
    float as_float "lp_float" (uint32_t u) noexcept
    uint32_t as_bits "lp_bits" (float f) noexcept
    double as_double "lp_double" (uint64_t u) noexcept
    uint64_t as_double_bits "lp_double_bits" (double d) noexcept
    const uint32_t SIGN "LP_SIGN"
    const uint32_t INF "LP_INF"
    const uint32_t QUIET_NAN "LP_QUIET_NAN"
    const uint32_t FRACTION "LP_FRACTION"
    const uint32_t HIDDEN_BIT "LP_HIDDEN_BIT"
    const uint32_t TWO_31 "LP_TWO_31"
    const uint64_t DOUBLE_SIGN "LP_DOUBLE_SIGN"
    const uint64_t DOUBLE_INF "LP_DOUBLE_INF"
    const uint64_t DOUBLE_QUIET_NAN "LP_DOUBLE_QUIET_NAN"
    const uint64_t DOUBLE_FRACTION "LP_DOUBLE_FRACTION"
    const uint64_t DOUBLE_HIDDEN_BIT "LP_DOUBLE_HIDDEN_BIT"
    const uint64_t DOUBLE_TINY "LP_DOUBLE_TINY"
    const uint64_t DOUBLE_TWO_31 "LP_DOUBLE_TWO_31"
    const uint64_t DOUBLE_TWO_52 "LP_DOUBLE_TWO_52"
    const uint64_t DOUBLE_TWO_63 "LP_DOUBLE_TWO_63"
    const uint64_t DOUBLE_TWO_84 "LP_DOUBLE_TWO_84"
    const float ROUNDER "LP_ROUNDER"
    const uint32_t ROUNDER_BITS "LP_ROUNDER_BITS"
    const double DOUBLE_ROUNDER "LP_DOUBLE_ROUNDER"
    const float BEYOND_INT16 "LP_BEYOND_INT16"
    const bint NAN_PASSES_THROUGH "LP_NAN_PASSES_THROUGH"


# ---- one element: code -> float32 bits --------------------------------------------------------------------------

cdef inline uint32_t decode_finite(uint32_t code, params_t p) noexcept nogil:
    # A subnormal code is read with the smallest normal exponent, as 1.mmm. Its value is 0.mmm there: 1.000, the
    # smallest normal value, is subtracted.
    #     0 0000 mmm  ->  1.mmm * 2**emin - 1.000 * 2**emin
    cdef uint32_t magnitude = code & p.magnitude_mask
    cdef uint32_t normal = (magnitude << p.mantissa_shift) + p.rebias
    cdef uint32_t subnormal = as_bits(as_float(normal + HIDDEN_BIT) - as_float(p.implicit_one))
    return normal if magnitude >= p.first_normal else subnormal


cdef inline uint32_t decode_one(uint32_t code, params_t p) noexcept nogil:
    cdef uint32_t bits = decode_finite(code, p)
    bits = p.nan_bits if (code & p.nan_mask) == p.first_nan else bits
    return bits | ((code & p.sign_mask) << p.sign_shift)


cdef inline uint32_t decode_ieee_one(uint32_t code, params_t p) noexcept nogil:
    # With Inf and a range of NaN codes, as IEEE's formats have them.
    cdef uint32_t magnitude = code & p.magnitude_mask
    cdef uint32_t bits = decode_finite(code, p)
    bits = p.inf_bits if magnitude == p.inf_code else bits
    bits = p.nan_bits if (code & p.nan_mask) - p.first_nan <= p.nan_range else bits
    return bits | ((code & p.sign_mask) << p.sign_shift)


cdef inline uint32_t decode_upper_one(uint32_t code) noexcept nogil:
    cdef uint32_t bits = code << 16
    cdef uint32_t magnitude = bits & ~SIGN
    return (QUIET_NAN | (bits & SIGN)) if magnitude > INF else bits


cdef inline uint32_t decode_power_one(uint32_t code) noexcept nogil:
    # 2**-127, code 0, is a float32 subnormal.
    cdef uint32_t bits = code << 23
    bits = (HIDDEN_BIT >> 1) if code == 0 else bits
    return QUIET_NAN if bits == INF else bits


# ---- one element: float32 bits -> code --------------------------------------------------------------------------

cdef inline uint32_t encode8_one(uint32_t bits, params_t p) noexcept nogil:
    # Round by adding a power of two so large that the last bit of the sum is the last bit of the code:
    #     value          1 m m m | h s s s …      kept bits | half | sticky
    #     rounder  1 0 … 0 0 0 0 |
    #     sum      1 0 … 1 m m m |                half to even, as every addition
    # The rounder stops at the smallest normal exponent: subnormals are multiples of the same last bit. The sum ends in
    # 1mmm, of a subnormal in 0mmm, and its exponent, shifted by dropped_bits, is that of the code plus a constant. The
    # low bits of rounder_offset subtract the constant, which is even: a tie depends on the parity of the code.
    cdef int32_t magnitude = <int32_t>(bits & ~SIGN)
    cdef int32_t clamped = magnitude if magnitude < p.clamp else p.clamp
    cdef int32_t exponent = clamped if clamped > p.smallest_normal else p.smallest_normal
    cdef uint32_t rounder = (<uint32_t>exponent & INF) + p.rounder_offset
    cdef uint32_t code = as_bits(as_float(<uint32_t>clamped) + as_float(rounder))
    code = code + (code >> p.dropped_bits)
    code = p.nan_code if magnitude > p.nan_above else code
    return code ^ (p.sign_bit if <int32_t>(bits + p.sign_offset) <= p.sign_limit else 0)


cdef inline uint32_t encode16_one(uint32_t bits, params_t p) noexcept nogil:
    # The same for codes so wide that such a number would run into the exponent: the rounder is taken away again, its
    # exponent added to the code.
    cdef int32_t magnitude = <int32_t>(bits & ~SIGN)
    cdef int32_t clamped = magnitude if magnitude < p.clamp else p.clamp
    cdef int32_t exponent = clamped if clamped > p.smallest_normal else p.smallest_normal
    cdef uint32_t rounder = (<uint32_t>exponent & INF) + p.rounder_offset
    cdef uint32_t code = as_bits(as_float(<uint32_t>clamped) + as_float(rounder))
    code = (code - rounder) + ((rounder >> p.dropped_bits) - p.exponent_offset)
    code = p.nan_code if magnitude > p.nan_above else code
    return code ^ (p.sign_bit if <int32_t>(bits + p.sign_offset) <= p.sign_limit else 0)


cdef inline uint32_t encode_upper_one(uint32_t bits) noexcept nogil:
    # The code is the upper half. Just under half of its last bit is added, and on a tie one more where that bit is odd:
    #     s eeeeeeee mmmmmm o | h sssssssssssssss
    #                         + 0 111111111111111 + o
    # This works on the magnitude, so that `bits` is used only twice: gcc loads it again for every use.
    cdef uint32_t magnitude = bits & ~SIGN
    cdef uint32_t rounded = magnitude + <uint32_t>0b0111_1111_1111_1111 + ((magnitude >> 16) & 1)
    rounded = rounded if <int32_t>magnitude <= <int32_t>INF else QUIET_NAN
    return (rounded | (bits & SIGN)) >> 16


cdef inline uint32_t encode_power_one(uint32_t bits, params_t p) noexcept nogil:
    # The code is the exponent field, after a carry: power_increment, which depends on the round_mode, is added to the
    # fraction. Below 2**-126 float32 is subnormal, the carry comes too early, and every magnitude up to power_underflow
    # has the smallest code.
    cdef uint32_t magnitude = bits & ~SIGN
    cdef int32_t clamped = <int32_t>magnitude if <int32_t>magnitude < p.clamp else p.clamp
    cdef uint32_t code = ((<uint32_t>clamped + p.power_increment) >> 23) if clamped > p.power_underflow else 0
    return code if magnitude - p.power_lowest <= p.power_range else p.nan_code


cdef inline uint32_t round_to_precision_one(uint32_t bits, params_t p) noexcept nogil:
    # The rounder of encode8_one, added and taken away: the value, rounded at the last bit that the precision has.
    cdef int32_t magnitude = <int32_t>(bits & ~SIGN)
    cdef int32_t clamped = magnitude if magnitude < p.precision_clamp else p.precision_clamp
    cdef int32_t exponent = clamped if clamped > p.precision_smallest_normal else p.precision_smallest_normal
    cdef float rounder = as_float((<uint32_t>exponent & INF) + p.precision_rounder_offset)
    cdef int32_t rounded = <int32_t>as_bits((as_float(<uint32_t>clamped) + rounder) - rounder)
    rounded = <int32_t>INF if rounded > p.precision_largest else rounded
    rounded = magnitude if magnitude > <int32_t>INF else rounded
    return <uint32_t>rounded | (bits & SIGN)


# ---- one element: between float32, float64 and wide integers ------------------------------------------------------

cdef inline uint32_t float64_to_float32_odd_one(double x) noexcept nogil:
    # Round to odd: truncate, then set the last bit if anything was lost. The machine rounds to nearest, which is one
    # code too high where that magnitude is the larger one.
    cdef float nearest = <float>x
    cdef double exact = as_double(as_double_bits(x) & ~DOUBLE_SIGN)
    cdef double rounded = as_double(as_double_bits(<double>nearest) & ~DOUBLE_SIGN)
    cdef uint32_t bits = as_bits(nearest)
    bits = bits - (1 if rounded > exact else 0)
    return bits | (1 if rounded != exact else 0)


cdef inline uint32_t float64_to_float32_sticky_one(double x) noexcept nogil:
    # Fold the lower half of the bits into the bit above, which makes 20 fraction bits, the last one sticky:
    #     s eeeeeeeeeee mmmmmmmmmmmmmmmmmmmm | llll…l   ->   the last m |= (l != 0), for l + 0xffffffff carries then
    # float32 stores them exactly. What is beyond its exponents becomes Inf or 0: right for targets to which that is the
    # same, and whose exponents reach far less.
    cdef uint64_t low = <uint64_t>0xffffffff
    cdef uint64_t wide = as_double_bits(x)
    return as_bits(<float>as_double((wide | ((wide & low) + low)) & ~low))


cdef inline uint32_t float64_to_float32_one(double x) noexcept nogil:
    cdef uint32_t bits = as_bits(<float>x)
    return (QUIET_NAN | (bits & SIGN)) if (bits & ~SIGN) > INF else bits


cdef inline uint64_t float32_to_float64_one(uint32_t bits) noexcept nogil:
    cdef uint64_t wide = as_double_bits(<double>as_float(bits))
    return (DOUBLE_QUIET_NAN | (wide & DOUBLE_SIGN)) if (bits & ~SIGN) > INF else wide


cdef inline double uint64_to_double(uint64_t v) noexcept nogil:
    # Each half becomes the lowest bits of a double: 2**84 + upper * 2**32 and 2**52 + lower are exact, and so is the
    # difference of the first and 2**84 + 2**52. The last addition is the only one that rounds.
    cdef double upper = as_double((v >> 32) | DOUBLE_TWO_84)
    cdef double lower = as_double((v & <uint64_t>0xffffffff) | DOUBLE_TWO_52)
    return (upper - as_double(DOUBLE_TWO_84 | <uint64_t>1 << (52 - 32))) + lower


cdef inline double int64_to_double(uint64_t v) noexcept nogil:
    # The same with 2**31 added to the upper half, to make it positive.
    cdef double upper = as_double(((v >> 32) ^ <uint64_t>1 << 31) | DOUBLE_TWO_84)
    cdef double lower = as_double((v & <uint64_t>0xffffffff) | DOUBLE_TWO_52)
    return (upper - as_double(DOUBLE_TWO_84 | <uint64_t>1 << 31 | <uint64_t>1 << (52 - 32))) + lower


cdef inline uint64_t fold_low_bits(uint64_t v, uint64_t magnitude) noexcept nogil:
    # From 2**53 on fold the low 12 bits into the bit above, as a sticky one: float64 stores the rest exactly.
    cdef uint64_t low = 0b1111_1111_1111
    cdef uint64_t folded = (v | ((v & low) + low)) & ~low
    return folded if (magnitude >> 53) != 0 else v


# ---- one element: values -> integers ----------------------------------------------------------------------------

cdef inline uint32_t integer_part32(uint32_t bits) noexcept nogil:
    # The low 32 bits of the integer part, two's complement: the significand 1mmm…m as an integer, shifted by the
    # exponent. NaN and Inf have exponents beyond reach and give 0.
    cdef uint32_t significand = (bits & FRACTION) | HIDDEN_BIT
    cdef int32_t left = <int32_t>((bits & ~SIGN) >> 23) - (127 + 23)
    cdef int32_t right = -left
    cdef uint32_t up = (significand << (left & 31)) if left < 32 else 0
    cdef uint32_t down = (significand >> (right & 31)) if right < 32 else 0
    cdef uint32_t magnitude = up if left >= 0 else down
    cdef uint32_t negative = 0 - (bits >> 31)
    return (magnitude ^ negative) - negative


cdef inline uint64_t integer_part64(uint64_t bits) noexcept nogil:
    cdef uint64_t significand = (bits & DOUBLE_FRACTION) | DOUBLE_HIDDEN_BIT
    cdef int64_t left = <int64_t>((bits & ~DOUBLE_SIGN) >> 52) - (1023 + 52)
    cdef int64_t right = -left
    cdef uint64_t up = (significand << (left & 63)) if left < 64 else 0
    cdef uint64_t down = (significand >> (right & 63)) if right < 64 else 0
    cdef uint64_t magnitude = up if left >= 0 else down
    cdef uint64_t negative = 0 - (bits >> 63)
    return (magnitude ^ negative) - negative


# ---- one element: zero points, and the NaN of a product or quotient ------------------------------------------------

cdef inline uint32_t round_saturate_one(float v, int32_t zero, float low, float high, params_t p) noexcept nogil:
    # Round to an integer, add the zero point, saturate. low and high are the ends of the range less the zero point; NaN
    # fails the first comparison and becomes low. 1.5 * 2**23 is far beyond any range of 16 bits.
    v = v if v > low else low
    v = v if v < high else high
    cdef uint32_t code = as_bits(v + ROUNDER) - ROUNDER_BITS + <uint32_t>zero
    return ((code & <uint32_t>p.target_mask) ^ <uint32_t>p.target_sign) - <uint32_t>p.target_sign


cdef inline uint32_t saturate_sum_one(float v, int32_t zero, params_t p) noexcept nogil:
    # The same where zero points differ: values are clamped to beyond any range, rounded, then clamped to the range.
    v = v if v > -BEYOND_INT16 else -BEYOND_INT16
    v = v if v < BEYOND_INT16 else BEYOND_INT16
    cdef int32_t code = <int32_t>(as_bits(v + ROUNDER) - ROUNDER_BITS) + zero
    code = code if code > p.code_min else p.code_min
    code = code if code < p.code_max else p.code_max
    return ((<uint32_t>code & <uint32_t>p.target_mask) ^ <uint32_t>p.target_sign) - <uint32_t>p.target_sign


cdef inline uint32_t round_saturate_double_one(
    double v, int32_t zero, double low, double high, params_t p,
) noexcept nogil:
    v = v if v > low else low
    v = v if v < high else high
    cdef uint32_t code = <uint32_t>as_double_bits(v + DOUBLE_ROUNDER) + <uint32_t>zero  # the lower half is the integer
    return ((code & <uint32_t>p.target_mask) ^ <uint32_t>p.target_sign) - <uint32_t>p.target_sign


cdef inline uint32_t propagate_nan(float result, float a, float b) noexcept nogil:
    # A NaN has the sign of the operand it came from. A new one has none: the machines differ there.
    cdef uint32_t origin = as_bits(a) if a != a else (as_bits(b) if b != b else 0)
    return as_bits(result) if result == result else QUIET_NAN | (origin & SIGN)


cdef inline uint64_t propagate_nan_double(double result, double a, double b) noexcept nogil:
    cdef uint64_t origin = as_double_bits(a) if a != a else (as_double_bits(b) if b != b else 0)
    return as_double_bits(result) if result == result else DOUBLE_QUIET_NAN | (origin & DOUBLE_SIGN)
