# Loops over MX and NVFP4 blocks: scales from largest magnitudes, codes from elements and their scales.
from lowprec._native.block_types cimport block_params_t

cdef extern from "block_elements.h" nogil:
    int32_t power_scale_one "lp_power_scale" (int32_t largest, const block_params_t *p) noexcept
    float inverse_power "lp_inverse_power" (int32_t code) noexcept
    int32_t quotient_scale_one "lp_quotient_scale" (int32_t largest, const block_params_t *p) noexcept
    float scale_divisor "lp_scale_divisor" (int32_t code, const block_params_t *p) noexcept
    uint32_t power_code "lp_power_code" (uint32_t x, float inverse, const block_params_t *p) noexcept
    uint32_t quotient_code "lp_quotient_code" (uint32_t x, float divisor, const block_params_t *p) noexcept
    uint32_t power_code_by_adding "lp_power_code_by_adding" (
        uint32_t x, float inverse, const block_params_t *p) noexcept
    uint32_t quotient_code_by_adding "lp_quotient_code_by_adding" (
        uint32_t x, float divisor, const block_params_t *p) noexcept
    uint32_t power_code_random "lp_power_code_random" (
        uint32_t x, float inverse, uint32_t slot, const block_params_t *p) noexcept
    uint32_t quotient_code_random "lp_quotient_code_random" (
        uint32_t x, float divisor, uint32_t slot, const block_params_t *p) noexcept


cdef extern from "avx512_mx.h" nogil:
    Py_ssize_t whole_blocks "lp_whole_blocks" (
        const float *x, uint8_t *scales, uint8_t *codes, Py_ssize_t count, Py_ssize_t ahead, int quotients,
        Py_ssize_t block, int packs, const block_params_t *p) noexcept


# ---- scales ----------------------------------------------------------------------------------------------------------

cdef bint power_scales(
    const int32_t *largest, uint8_t *scales, float *factors, Py_ssize_t n, const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef int32_t code, bad, found = 0
    cdef Py_ssize_t i
    for i in range(n):
        code = power_scale_one(largest[i], &p)
        bad = 1 if largest[i] >= <int32_t>INF else 0
        factors[i] = <float>0 if bad else inverse_power(code)
        scales[i] = <uint8_t>(<int32_t>p.scale_nan if bad else code)
        found |= bad
    return found != 0


cdef bint quotient_scales(
    const int32_t *largest, uint8_t *scales, float *factors, Py_ssize_t n, const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef int32_t code, bad, found = 0
    cdef Py_ssize_t i
    for i in range(n):
        code = quotient_scale_one(largest[i], &p)
        bad = 1 if largest[i] >= <int32_t>INF else 0
        factors[i] = <float>0 if bad else scale_divisor(code, &p)
        scales[i] = <uint8_t>(<int32_t>p.scale_nan if bad else code)
        found |= bad
    return found != 0


# ---- codes -----------------------------------------------------------------------------------------------------------

cdef void power_codes(
    const uint32_t *x, const float *factors, const uint32_t *slots, uint8_t *codes, Py_ssize_t n,
    const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = <uint8_t>power_code(x[i], factors[i], &p)


cdef void power_codes_random(
    const uint32_t *x, const float *factors, const uint32_t *slots, uint8_t *codes, Py_ssize_t n,
    const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = <uint8_t>power_code_random(x[i], factors[i], slots[i], &p)


cdef void power_codes_by_adding(
    const uint32_t *x, const float *factors, const uint32_t *slots, uint8_t *codes, Py_ssize_t n,
    const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = <uint8_t>power_code_by_adding(x[i], factors[i], &p)


cdef void quotient_codes_by_adding(
    const uint32_t *x, const float *factors, const uint32_t *slots, uint8_t *codes, Py_ssize_t n,
    const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = <uint8_t>quotient_code_by_adding(x[i], factors[i], &p)


cdef void quotient_codes(
    const uint32_t *x, const float *factors, const uint32_t *slots, uint8_t *codes, Py_ssize_t n,
    const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = <uint8_t>quotient_code(x[i], factors[i], &p)


cdef void quotient_codes_random(
    const uint32_t *x, const float *factors, const uint32_t *slots, uint8_t *codes, Py_ssize_t n,
    const block_params_t *params,
) noexcept nogil:
    cdef block_params_t p = params[0]
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = <uint8_t>quotient_code_random(x[i], factors[i], slots[i], &p)


# ---- what is rare, or of some formats --------------------------------------------------------------------------------

cdef void clear_codes(const float *factors, uint8_t *codes, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = codes[i] if factors[i] != 0 else 0


cdef void mark_nan(const uint32_t *x, uint8_t *codes, Py_ssize_t n, const block_params_t *params) noexcept nogil:
    cdef uint8_t nan = <uint8_t>params.nan, nan_negative = <uint8_t>params.nan_negative
    cdef uint8_t code
    cdef Py_ssize_t i
    for i in range(n):
        code = nan_negative if x[i] >= SIGN else nan
        codes[i] = code if x[i] & ~SIGN > INF else codes[i]


cdef void drop_negative_zero(uint8_t *codes, Py_ssize_t n, uint8_t negative_zero) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = codes[i] if codes[i] != negative_zero else 0


cdef void to_integers(uint8_t *codes, Py_ssize_t n) noexcept nogil:
    # From a sign and a magnitude to two's complement.
    cdef Py_ssize_t i
    for i in range(n):
        codes[i] = codes[i] if codes[i] < 0x80 else <uint8_t>(0x80 - codes[i])


cdef void raise_columns(const int32_t *x, int32_t *largest, Py_ssize_t n, int32_t last) noexcept nogil:
    # The largest magnitudes of columns, with one row more.
    cdef int32_t magnitude
    cdef Py_ssize_t i
    for i in range(n):
        magnitude = finite_magnitude(x[i], <int32_t>~SIGN, last)
        largest[i] = magnitude if magnitude > largest[i] else largest[i]


BLOCK_QUANTIZERS = (
    (
        <size_t>&power_scales, <size_t>&power_codes, <size_t>&power_codes_random, <size_t>&power_codes_by_adding,
    ),
    (
        <size_t>&quotient_scales, <size_t>&quotient_codes, <size_t>&quotient_codes_random,
        <size_t>&quotient_codes_by_adding,
    ),
)
BLOCK_REPAIRS = (
    <size_t>&clear_codes, <size_t>&mark_nan, <size_t>&drop_negative_zero, <size_t>&to_integers, <size_t>&raise_columns,
)
WHOLE_BLOCKS = <size_t>&whole_blocks  # none but in the tier with AVX-512
