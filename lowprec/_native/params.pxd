# The numbers a loop takes by value, and the one signature every loop has.
from libc.stdint cimport int32_t, uint32_t, uint64_t


cdef struct params_t:
    # decode: code -> float32 bits
    uint32_t magnitude      # mask of the code without its sign
    uint32_t shift          # moves the mantissa field to float32's place
    uint32_t rebias         # (127 - bias) << 23
    uint32_t hidden         # first normal magnitude, 1 << mantissa_bits
    uint32_t one            # float32 bits of the smallest normal value
    uint32_t nan_mask       # the code is NaN where code & nan_mask == nan_match,
    uint32_t nan_match
    uint32_t nan_span       # or, in the loops with Inf, is from there to nan_match + nan_span
    uint32_t inf_match      # magnitude of Inf
    uint32_t infinity       # what Inf and NaN become
    uint32_t quiet
    uint32_t sign           # mask of the sign
    uint32_t sign_shift     # moves the sign to bit 31, or to bit 15 + lift
    uint32_t lift           # the upper bits of a float32 that are a 16-bit code, or of x * 2**-112, start here
    # encode: float32 bits -> code
    int32_t clamp           # largest magnitude that is encoded as it is
    int32_t floor           # float32 bits of the smallest normal value
    uint32_t magic          # what makes the adder round at the last mantissa bit
    uint32_t keep           # 23 - mantissa_bits
    uint32_t base           # what the exponent field starts from (16-bit codes)
    int32_t nan_above       # larger magnitudes become nan_code
    uint32_t nan_code
    uint32_t sign_bit       # xor-ed in where int32(bits + sign_bias) <= sign_last
    uint32_t sign_bias
    int32_t sign_last
    # encode to a power of two
    uint32_t power_add      # what the round_mode adds below the exponent
    int32_t power_first     # the last magnitude that takes the smallest code
    uint32_t power_low      # magnitudes from power_low to power_low + power_span have a code, others are nan_code
    uint32_t power_span
    # integers and bools: ((v & mask) ^ sign) - sign
    uint64_t from_mask
    uint64_t from_sign
    uint64_t to_mask
    uint64_t to_sign
    uint64_t always         # 1 where every code is True
    # quantize and dequantize
    int32_t low             # the range of the integer codes
    int32_t high
    int32_t grid_clamp      # rounding float32 bits to a 16-bit precision: what is beyond its range,
    int32_t grid_floor      # its smallest normal value,
    uint32_t grid_magic     # what makes the adder round at its last mantissa bit,
    int32_t grid_last       # and its largest value


# How many elements of the source and of the output stand behind those a loop is given, and will be wanted after them.
cdef struct rest_t:
    Py_ssize_t src
    Py_ssize_t dst


ctypedef void (*stage_t)(const void *src, void *dst, Py_ssize_t n, rest_t rest, const params_t *numbers) noexcept nogil
# The scales and zero points beside the elements that a loop is given: one of each for all of them, one for each, or one
# for every 1 << shift, the first of which stands `within` elements after the start of its run.
cdef enum:
    ROW = 0
    EACH = 1
    RUNS = 2

cdef struct beside_t:
    const void *scale
    const void *zero        # 4 bytes each
    const float *inverse    # of scales, one for each element, that are in reach of `inverses`; or NULL
    Py_ssize_t within
    int shift
    int way


ctypedef void (*linear_t)(
    const void *src, void *dst, Py_ssize_t n, rest_t rest, const beside_t *beside, const params_t *numbers,
) noexcept nogil
ctypedef void (*spread_t)(
    const void *src, void *dst, Py_ssize_t n, Py_ssize_t within, Py_ssize_t length,
) noexcept nogil

ctypedef bint (*inverses_t)(const float *scale, Py_ssize_t count, float *inverse) noexcept nogil

cdef enum:
    SPREAD = 16  # scales that are written at once, past the end of a tile if need be


# The error statistics of `compare` so far.
cdef struct seen_t:
    float low               # the ends of the finite values
    float high
    float error             # the largest error of finite values, and the largest ratio of error and magnitude
    float ratio
    Py_ssize_t flushed      # values other than zero that became zero
    Py_ssize_t nan
    Py_ssize_t inf
    double signal           # the sums of squares of finite values and of their errors
    double noise


ctypedef void (*compare_t)(const float *x, const float *y, Py_ssize_t n, seen_t *seen) noexcept nogil

ctypedef void (*range_t)(
    const void *src, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t block, uint64_t mask, uint64_t last,
    void *low, void *high,
) noexcept nogil
