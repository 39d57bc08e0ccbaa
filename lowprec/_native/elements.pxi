# One-element functions: branch-free, on integers that hold the bits; and what asks for memory ahead.
#
# Values travel as float32 bits ("bits") or as float64; a wide source is narrowed to float32 by rounding to odd, which
# keeps what a later rounding to at most 22 mantissa bits needs.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from lowprec._native.params cimport EACH, ROW, RUNS, beside_t, params_t, rest_t, stage_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>
    static inline float lp_float(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
    static inline uint32_t lp_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
    static inline double lp_double(uint64_t u) { double d; memcpy(&d, &u, 8); return d; }
    static inline uint64_t lp_wide_bits(double d) { uint64_t u; memcpy(&u, &d, 8); return u; }
    #define LP_SIGN 0x80000000u
    #define LP_INF 0x7f800000u
    #define LP_NAN 0x7fc00000u
    #define LP_FRACTION 0x007fffffu
    #define LP_HIDDEN 0x00800000u
    #define LP_TWO_31 0x4f000000u
    #define LP_WIDE_SIGN 0x8000000000000000u
    #define LP_WIDE_NAN 0x7ff8000000000000u
    #define LP_WIDE_FRACTION 0x000fffffffffffffu
    #define LP_WIDE_HIDDEN 0x0010000000000000u
    #define LP_WIDE_INF 0x7ff0000000000000u
    #define LP_WIDE_TINY 0x39b0000000000000u
    #define LP_WIDE_TWO_31 0x41e0000000000000u
    #define LP_WIDE_TWO_63 0x43e0000000000000u
    #define LP_ROUNDER 0x1.8p23f
    #define LP_FAR 0x1p20f
    #define LP_ROUNDER_BITS 0x4b400000u
    #define LP_WIDE_ROUNDER 0x1.8p52
    #if defined(__x86_64__) || defined(__aarch64__)
    #define LP_HANDS_NAN_ON 1
    #else
    #define LP_HANDS_NAN_ON 0
    #endif
    #if defined(__GNUC__)
    #define LP_PREFETCH(p) __builtin_prefetch(p)
    #else
    #define LP_PREFETCH(p) ((void)(p))
    #endif
    """
    float as_float "lp_float" (uint32_t u) noexcept
    uint32_t as_bits "lp_bits" (float f) noexcept
    double as_double "lp_double" (uint64_t u) noexcept
    uint64_t as_wide_bits "lp_wide_bits" (double d) noexcept
    const uint32_t SIGN "LP_SIGN"
    const uint32_t INF "LP_INF"
    const uint32_t QUIET "LP_NAN"
    const uint32_t FRACTION "LP_FRACTION"
    const uint32_t HIDDEN "LP_HIDDEN"
    const uint32_t TWO_31 "LP_TWO_31"
    const uint64_t WIDE_SIGN "LP_WIDE_SIGN"
    const uint64_t WIDE_QUIET "LP_WIDE_NAN"
    const uint64_t WIDE_FRACTION "LP_WIDE_FRACTION"
    const uint64_t WIDE_HIDDEN "LP_WIDE_HIDDEN"
    const uint64_t WIDE_INF "LP_WIDE_INF"
    const uint64_t WIDE_TINY "LP_WIDE_TINY"
    const uint64_t WIDE_TWO_31 "LP_WIDE_TWO_31"
    const uint64_t WIDE_TWO_63 "LP_WIDE_TWO_63"
    const float ROUNDER "LP_ROUNDER"
    const float FAR "LP_FAR"
    const uint32_t ROUNDER_BITS "LP_ROUNDER_BITS"
    const double WIDE_ROUNDER "LP_WIDE_ROUNDER"
    const bint HANDS_NAN_ON "LP_HANDS_NAN_ON"
    void prefetch "LP_PREFETCH" (const void *p) noexcept

cdef enum:
    SPAN = 1024   # bytes between two requests for memory: as many lines of it as a core can wait for at once
    AHEAD = 2048  # elements from a block to the memory that it asks for

# ---- memory ahead -----------------------------------------------------------------------------------------------

cdef inline Py_ssize_t span_of(size_t s_size, size_t d_size) noexcept nogil:
    # Elements of a block: a constant wherever it is inlined.
    return SPAN // (s_size if s_size > d_size else d_size)


cdef inline Py_ssize_t blocks(Py_ssize_t n, Py_ssize_t span) noexcept nogil:
    return (n + span - 1) // span


cdef inline void ahead(
    const void *s, size_t s_size, const void *d, size_t d_size, Py_ssize_t first, Py_ssize_t span, Py_ssize_t n,
    rest_t rest,
) noexcept nogil:
    # The machine's own prefetcher stops at the end of a page, and is late for the output.
    cdef Py_ssize_t there = first + AHEAD
    cdef size_t line
    if there < n + rest.src:
        for line in range(0, span * s_size, 64):
            prefetch(<const char *>s + there * s_size + line)
    if there < n + rest.dst:
        for line in range(0, span * d_size, 64):
            prefetch(<const char *>d + there * d_size + line)


# ---- one element: code -> float32 bits --------------------------------------------------------------------------

cdef inline uint32_t decode_finite(uint32_t code, params_t p) noexcept nogil:
    # Subnormals get the exponent of the smallest normal value, then lose the 1 that stands before their mantissa.
    cdef uint32_t magnitude = code & p.magnitude
    cdef uint32_t normal = (magnitude << p.shift) + p.rebias
    cdef uint32_t subnormal = as_bits(as_float(normal + HIDDEN) - as_float(p.one))
    return normal if magnitude >= p.hidden else subnormal


cdef inline uint32_t decode_one(uint32_t code, params_t p) noexcept nogil:
    cdef uint32_t bits = decode_finite(code, p)
    bits = p.quiet if (code & p.nan_mask) == p.nan_match else bits
    return bits | ((code & p.sign) << p.sign_shift)


cdef inline uint32_t decode_ieee_one(uint32_t code, params_t p) noexcept nogil:
    # With Inf and a range of NaN codes, as IEEE's formats have them.
    cdef uint32_t magnitude = code & p.magnitude
    cdef uint32_t bits = decode_finite(code, p)
    bits = p.infinity if magnitude == p.inf_match else bits
    bits = p.quiet if (code & p.nan_mask) - p.nan_match <= p.nan_span else bits
    return bits | ((code & p.sign) << p.sign_shift)


cdef inline uint32_t decode_upper_one(uint32_t code) noexcept nogil:
    cdef uint32_t bits = code << 16
    cdef uint32_t magnitude = bits & ~SIGN
    return (QUIET | (bits & SIGN)) if magnitude > INF else bits


cdef inline uint32_t decode_power_one(uint32_t code) noexcept nogil:
    # 2**-127, code 0, is a float32 subnormal.
    cdef uint32_t bits = code << 23
    bits = (HIDDEN >> 1) if code == 0 else bits
    return QUIET if bits == INF else bits


# ---- one element: float32 bits -> code --------------------------------------------------------------------------

cdef inline uint32_t encode_one(uint32_t bits, params_t p) noexcept nogil:
    #  c + m, where m is a power of two so large that the adder's last bit is the code's last bit:
    #     kept bits | half | sticky
    #  The adder rounds half to even there, subnormals included (m stops at the smallest normal exponent). The offset in
    #  `magic` is even, so parity is the code's own, and makes the exponent field come out right in t + (t >> keep).
    cdef int32_t a = <int32_t>(bits & ~SIGN)
    cdef int32_t c = a if a < p.clamp else p.clamp
    cdef int32_t e = c if c > p.floor else p.floor
    cdef uint32_t m = (<uint32_t>e & INF) + p.magic
    cdef uint32_t t = as_bits(as_float(<uint32_t>c) + as_float(m))
    t = t + (t >> p.keep)
    t = p.nan_code if a > p.nan_above else t
    return t ^ (p.sign_bit if <int32_t>(bits + p.sign_bias) <= p.sign_last else 0)


cdef inline uint32_t encode_wide_one(uint32_t bits, params_t p) noexcept nogil:
    # As above, for codes so wide that an offset would run into the exponent: take m away, add its exponent.
    cdef int32_t a = <int32_t>(bits & ~SIGN)
    cdef int32_t c = a if a < p.clamp else p.clamp
    cdef int32_t e = c if c > p.floor else p.floor
    cdef uint32_t m = (<uint32_t>e & INF) + p.magic
    cdef uint32_t t = as_bits(as_float(<uint32_t>c) + as_float(m))
    t = (t - m) + ((m >> p.keep) - p.base)
    t = p.nan_code if a > p.nan_above else t
    return t ^ (p.sign_bit if <int32_t>(bits + p.sign_bias) <= p.sign_last else 0)


cdef inline uint32_t encode_upper_one(uint32_t bits) noexcept nogil:
    # The code is the upper half: add just under half of its last bit, and the last bit itself on a tie.
    # On the magnitude, so that `bits` is needed but twice: gcc reads it from memory again for every use.
    cdef uint32_t a = bits & ~SIGN
    cdef uint32_t rounded = a + <uint32_t>0x7fff + ((a >> 16) & 1)
    rounded = rounded if <int32_t>a <= <int32_t>INF else QUIET
    return (rounded | (bits & SIGN)) >> 16


cdef inline uint32_t encode_power_one(uint32_t bits, params_t p) noexcept nogil:
    # The exponent field, moved by what the round_mode lets the fraction carry into it. Below 2**-126 float32 is
    # subnormal, the carry comes too early, and everything up to power_first has the smallest code.
    cdef uint32_t a = bits & ~SIGN
    cdef int32_t c = <int32_t>a if <int32_t>a < p.clamp else p.clamp
    cdef uint32_t t = ((<uint32_t>c + p.power_add) >> 23) if c > p.power_first else 0
    return t if a - p.power_low <= p.power_span else p.nan_code


# ---- one element: between the two hubs --------------------------------------------------------------------------

cdef inline uint32_t narrow_odd_one(double x) noexcept nogil:
    # Round to odd: truncate, then set the last bit if anything was lost.
    cdef float near = <float>x
    cdef double back = <double>near
    cdef double a = as_double(as_wide_bits(x) & ~WIDE_SIGN)
    cdef double b = as_double(as_wide_bits(back) & ~WIDE_SIGN)
    cdef uint32_t bits = as_bits(near)
    bits = bits - (1 if b > a else 0)
    return bits | (1 if b != a else 0)


cdef inline uint32_t narrow_sticky_one(double x) noexcept nogil:
    # Fold the lower half into its top neighbour: 20 bits and a sticky one, which float32 holds exactly. What is beyond
    # its exponents becomes Inf or 0: good for targets that make the same of both, and reach far less.
    cdef uint64_t low = <uint64_t>0xffffffff
    cdef uint64_t wide = as_wide_bits(x)
    return as_bits(<float>as_double((wide | ((wide & low) + low)) & ~low))


cdef inline uint32_t narrow_one(double x) noexcept nogil:
    cdef uint32_t bits = as_bits(<float>x)
    return (QUIET | (bits & SIGN)) if (bits & ~SIGN) > INF else bits


cdef inline uint64_t widen_one(uint32_t bits) noexcept nogil:
    cdef uint64_t wide = as_wide_bits(<double>as_float(bits))
    return (WIDE_QUIET | (wide & WIDE_SIGN)) if (bits & ~SIGN) > INF else wide


cdef inline double unsigned_one(uint64_t v) noexcept nogil:
    # 2**84 + upper half * 2**32, and 2**52 + lower half, are exact; the last addition is the only one that rounds.
    cdef double upper = as_double((v >> 32) | <uint64_t>0x4530000000000000)
    cdef double lower = as_double((v & <uint64_t>0xffffffff) | <uint64_t>0x4330000000000000)
    return (upper - as_double(<uint64_t>0x4530000000100000)) + lower


cdef inline double signed_one(uint64_t v) noexcept nogil:
    # The same with the upper half offset by 2**31 to make it positive.
    cdef double upper = as_double(((v >> 32) ^ <uint64_t>0x80000000) | <uint64_t>0x4530000000000000)
    cdef double lower = as_double((v & <uint64_t>0xffffffff) | <uint64_t>0x4330000000000000)
    return (upper - as_double(<uint64_t>0x4530000080100000)) + lower


cdef inline uint64_t sticky_one(uint64_t v, uint64_t magnitude) noexcept nogil:
    # Beyond 2**53 fold the low 12 bits into one odd bit, so that float64 holds the number without rounding it.
    cdef uint64_t low = 0xfff
    cdef uint64_t folded = (v | ((v & low) + low)) & ~low
    return folded if (magnitude >> 53) != 0 else v


# ---- one element: values -> integers ----------------------------------------------------------------------------

cdef inline uint32_t truncate_one(uint32_t bits) noexcept nogil:
    # The low 32 bits of the integer part, two's complement; NaN and Inf have exponents beyond reach and give 0.
    cdef uint32_t significand = (bits & FRACTION) | HIDDEN
    cdef int32_t left = <int32_t>((bits & ~SIGN) >> 23) - 150
    cdef int32_t right = -left
    cdef uint32_t up = (significand << (left & 31)) if left < 32 else 0
    cdef uint32_t down = (significand >> (right & 31)) if right < 32 else 0
    cdef uint32_t magnitude = up if left >= 0 else down
    cdef uint32_t negative = 0 - (bits >> 31)
    return (magnitude ^ negative) - negative


cdef inline uint64_t truncate_wide_one(uint64_t bits) noexcept nogil:
    cdef uint64_t significand = (bits & WIDE_FRACTION) | WIDE_HIDDEN
    cdef int64_t left = <int64_t>((bits & ~WIDE_SIGN) >> 52) - 1075
    cdef int64_t right = -left
    cdef uint64_t up = (significand << (left & 63)) if left < 64 else 0
    cdef uint64_t down = (significand >> (right & 63)) if right < 64 else 0
    cdef uint64_t magnitude = up if left >= 0 else down
    cdef uint64_t negative = 0 - (bits >> 63)
    return (magnitude ^ negative) - negative
