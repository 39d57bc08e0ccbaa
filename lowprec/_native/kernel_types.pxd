# The types that the loops and their callers share: parameters, signatures, scales.
from libc.stdint cimport int16_t, int32_t, uint8_t, uint32_t, uint64_t

cdef extern from "params.h" nogil:
    ctypedef struct params_t:  # what each field is stands there
        uint32_t magnitude_mask
        uint32_t mantissa_shift
        uint32_t rebias
        uint32_t first_normal
        uint32_t implicit_one
        uint32_t nan_mask
        uint32_t first_nan
        uint32_t nan_range
        uint32_t inf_code
        uint32_t inf_bits
        uint32_t nan_bits
        uint32_t sign_mask
        uint32_t sign_shift
        uint32_t code16_shift
        uint32_t first_float32
        uint32_t lifted_rebias
        uint32_t lifted_implicit_one
        uint32_t lowering
        int32_t clamp
        int32_t smallest_normal
        uint32_t rounder_offset
        uint32_t dropped_bits
        uint32_t exponent_offset
        int32_t nan_above
        uint32_t nan_code
        uint32_t sign_bit
        uint32_t sign_offset
        int32_t sign_limit
        uint32_t power_increment
        int32_t power_underflow
        uint32_t power_lowest
        uint32_t power_range
        uint64_t source_mask
        uint64_t source_sign
        uint64_t target_mask
        uint64_t target_sign
        uint64_t always_true
        int32_t code_min
        int32_t code_max
        int32_t precision_clamp
        int32_t precision_smallest_normal
        uint32_t precision_rounder_offset
        int32_t precision_largest
        uint32_t round_keep
        uint32_t round_slot_shift
        uint32_t round_random_shift
        uint32_t round_slot_bits
        uint32_t round_mantissa
        int32_t round_exponent
        int32_t round_cap
        int32_t round_cap_negative
        int32_t round_rare
        uint32_t round_unsigned_zero
        uint64_t round_odd_bit
        uint64_t round_odd_increment
        uint64_t round_increment
        uint64_t round_increment_negative
        uint64_t round_smallest_normal
        uint64_t round_base
        uint64_t round_factor
        uint64_t round_sticky
        uint64_t round_code_offset
        uint64_t round_sign
        uint64_t round_last
        uint64_t round_largest
        uint64_t round_largest_negative
        uint64_t round_overflow
        uint64_t round_overflow_negative
        uint64_t round_infinity
        uint64_t round_infinity_negative
        uint64_t round_nan
        uint64_t round_nan_negative
        uint64_t round_zero
        uint64_t round_zero_negative

cdef extern from "kernel_types.h" nogil:
    enum:
        TILE "LP_TILE"
        RUN_SHIFT "LP_RUN_SHIFT"
        REPEAT_WIDTH "LP_REPEAT_WIDTH"
        SCALE_UNIFORM "LP_SCALE_UNIFORM"
        SCALE_ELEMENTWISE "LP_SCALE_ELEMENTWISE"
        SCALE_RUNS "LP_SCALE_RUNS"
        SCALE_COLUMNS "LP_SCALE_COLUMNS"
        SCALE_MODES "LP_SCALE_MODES"


# How many elements of the source and of the output follow those of a loop in memory and will be needed after them: the
# loop may prefetch so far.
cdef struct remaining_t:
    Py_ssize_t src
    Py_ssize_t dst


# The scales and zero points of the elements that a loop converts.
cdef struct scales_t:
    const void *scale
    const void *zero         # 4 bytes each
    const float *reciprocal  # SCALE_COLUMNS: one for each scale; NULL where not all are known to be in reach
    Py_ssize_t offset        # SCALE_RUNS: from the start of the first run to the first element
    int run_shift            # SCALE_RUNS: a run has 1 << run_shift elements
    Py_ssize_t columns       # SCALE_COLUMNS: the elements of a row, a multiple of 64
    int mode
    const int16_t *zero_words  # SCALE_COLUMNS: zero points as vectors add them to words; NULL where there are none


# The random numbers of the elements that a loop converts: the seed of the stream, the slot of the first element.
cdef struct stream_t:
    uint64_t seed
    uint64_t position


ctypedef void (*loop_t)(
    const void *src, void *dst, Py_ssize_t n, remaining_t remaining, const params_t *params,
) noexcept nogil
ctypedef void (*random_loop_t)(
    const void *src, void *dst, Py_ssize_t n, remaining_t remaining, const stream_t *stream, const params_t *params,
) noexcept nogil
ctypedef void (*scale_loop_t)(
    const void *src, void *dst, Py_ssize_t n, remaining_t remaining, const scales_t *scales, const params_t *params,
) noexcept nogil
ctypedef void (*repeat_t)(
    const void *src, void *dst, Py_ssize_t n, Py_ssize_t offset, Py_ssize_t length,
) noexcept nogil
ctypedef bint (*reciprocals_t)(const float *scale, Py_ssize_t count, float *reciprocal) noexcept nogil
ctypedef void (*zero_words_t)(const void *zero, Py_ssize_t count, int16_t *words) noexcept nogil


# The error statistics of `compare` so far.
cdef struct seen_t:
    float low               # the ends of the finite values
    float high
    float error             # the largest error of finite values, and the largest ratio of error and magnitude
    float ratio
    Py_ssize_t flushed      # values other than zero that became zero
    Py_ssize_t nan
    Py_ssize_t inf
    Py_ssize_t saturated    # values that their scale takes beyond a range
    double signal[17]       # the sums of squares of finite values in 16 lanes, and of those that fill no lane
    double noise[17]        # those of their errors


ctypedef void (*compare_t)(
    const float *x, const float *y, Py_ssize_t n, const scales_t *scales, float low, float high, seen_t *seen,
) noexcept nogil

ctypedef void (*range_t)(
    const void *src, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t block, uint64_t mask, uint64_t last,
    void *low, void *high,
) noexcept nogil

# The loops of a type of blocks: blocks from values, values of blocks, how many values are beyond their blocks; or NULL.
ctypedef void (*encode_blocks_t)(const float *x, uint8_t *blocks, Py_ssize_t count) noexcept nogil
ctypedef void (*decode_blocks_t)(const uint8_t *blocks, float *x, Py_ssize_t count) noexcept nogil
ctypedef Py_ssize_t (*beyond_blocks_t)(const float *x, const uint8_t *blocks, Py_ssize_t count) noexcept nogil
