# The types that the loops over MX and NVFP4 blocks and their callers share.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

cdef extern from "scalar_block_kernels.h" nogil:
    ctypedef struct block_params_t:  # what each field is stands there
        int32_t rule_addend
        int32_t rule_offset
        int32_t quotient_rule
        float largest_value
        float largest_factor
        float first_divisor
        float second_divisor
        float quotient_of_0
        float scale_least
        float scale_most
        int32_t scale_code_least
        float scale_unit
        float factor_unit
        float factor_most
        int32_t scale_normal
        float scale_factor
        uint32_t scale_keep
        float scale_value
        uint32_t scale_nan
        int32_t last
        int32_t most
        int32_t smallest_normal
        float factor
        uint32_t keep
        uint32_t rounder_offset
        uint32_t increment
        uint32_t increment_change
        uint32_t odd_bit
        uint32_t odd_increment
        uint32_t slot_shift
        uint32_t random_shift
        uint32_t slot_bits
        uint32_t sign_shift
        uint32_t sign_mask
        uint32_t zero_sign
        uint32_t nan
        uint32_t nan_negative


# Largest magnitudes become the codes of scales, and what elements are multiplied or divided by: NaN where a scale is.
# Whether one is.
ctypedef bint (*find_scales_t)(
    const int32_t *largest, uint8_t *scales, float *factors, Py_ssize_t n, const block_params_t *p,
) noexcept nogil

# Elements become codes; `slots` are read where random bits are taken.
ctypedef void (*find_codes_t)(
    const uint32_t *x, const float *factors, const uint32_t *slots, uint8_t *codes, Py_ssize_t n,
    const block_params_t *p,
) noexcept nogil

# The slots of elements from a position of a stream on.
ctypedef void (*block_slots_t)(
    uint64_t position, uint64_t seed, uint32_t slot_bits, uint32_t *slots, Py_ssize_t n,
) noexcept nogil

# What is done to codes afterwards: 0 where a factor is NaN, that is, in blocks whose scale is; codes of NaN; no -0;
# two's complement instead of a sign and a magnitude.
ctypedef void (*clear_codes_t)(const float *factors, uint8_t *codes, Py_ssize_t n) noexcept nogil
ctypedef void (*mark_nan_t)(const uint32_t *x, uint8_t *codes, Py_ssize_t n, const block_params_t *p) noexcept nogil
ctypedef void (*drop_negative_zero_t)(uint8_t *codes, Py_ssize_t n, uint8_t negative_zero) noexcept nogil
ctypedef void (*to_integers_t)(uint8_t *codes, Py_ssize_t n) noexcept nogil

# The largest magnitudes of columns, with one row more.
ctypedef void (*raise_columns_t)(
    const int32_t *x, int32_t *largest, Py_ssize_t n, int32_t last,
) noexcept nogil

# Blocks from the first one on, scales and elements at once: how many, which may be none. `kind` is that of the scales,
# `ahead` elements from x on may be prefetched, `position` is that of the first one in the stream of the seed.
ctypedef Py_ssize_t (*whole_blocks_t)(
    const float *x, uint8_t *scales, uint8_t *codes, Py_ssize_t count, Py_ssize_t ahead, int kind, Py_ssize_t block,
    bint packs, bint integers, int negative_zero, uint64_t seed, uint64_t position, const block_params_t *p,
) noexcept nogil
